//! The shop's goods: albums, films, books, instruments and audio gear.

mod albums;
mod books;
mod films;
mod gear;
mod texts;

use std::collections::HashSet;

use super::{people::Cast, random::Random, tree::Category};

/// A SKU that every demo has: the first album.
pub const FIRST_SKU: &str = "ALB-00001";

/// One product, before it is in the catalog.
#[derive(Debug, Default)]
pub struct Product {
    pub sku: String,
    /// `album`, `film`, `book`, `instrument` or `audio`.
    pub kind: &'static str,
    pub title: String,
    pub description: String,
    pub language: &'static str,
    pub asin: String,
    /// Day on which it came out.
    pub issued: String,
    /// In grams.
    pub weight: i64,
    /// Width, height and depth in millimetres.
    pub size: [i32; 3],
    /// List price in cents.
    pub list: i64,
    /// What it is sold for, in cents.
    pub retail: i64,
    pub genres: Vec<String>,
    pub label: Option<String>,
    /// Title and seconds of each piece.
    pub tracks: Vec<(String, i32)>,
    pub certificate: Option<&'static str>,
    pub aspect_ratio: Option<&'static str>,
    pub isbn: Option<String>,
    pub pages: Option<i32>,
    pub properties: Vec<(&'static str, String)>,
    /// Paths of its categories.
    pub categories: Vec<String>,
    /// How many are on the shelf.
    pub stock: i64,
    /// Positions in the cast, with what they did.
    pub credits: Vec<(usize, &'static str)>,
}

/// How many of each kind a shop of `products` has: albums, films, books, gear.
pub fn shares(products: usize) -> [usize; 4] {
    let (albums, films, books) = (products * 36 / 100, products * 24 / 100, products * 28 / 100);
    [albums, films, books, products - albums - films - books]
}

/// What every kind of product is made with.
struct Workshop<'a> {
    random: Random,
    cast: &'a Cast,
    tree: &'a [Category],
    titles: HashSet<String>,
}

/// Every product of a shop of that size, the same ones each time.
pub fn products(count: usize, cast: &Cast, tree: &[Category]) -> Vec<Product> {
    let mut workshop = Workshop { random: Random::new(1959), cast, tree, titles: HashSet::new() };
    let [albums, films, books, gear] = shares(count);
    let mut all = Vec::with_capacity(count);
    let mut add = |count: usize, make: fn(&mut Workshop<'_>) -> Product, prefix: &str| {
        for number in 1..=count {
            let sku = format!("{prefix}-{number:05}");
            let product = make(&mut workshop);
            let asin = asin(&mut workshop.random);
            let stock = stock(&mut workshop.random);
            all.push(Product { sku, asin, stock, ..product });
        }
    };
    add(albums, albums::album, "ALB");
    add(films, films::film, "FLM");
    add(books, books::book, "BOK");
    add(gear, gear::gear, "AUD");
    all
}

impl<'a> Workshop<'a> {
    /// A category without children below the root `root`.
    fn leaf(&mut self, root: &str) -> &'a Category {
        let below = format!("/{root}/");
        let leaves: Vec<&Category> =
            self.tree.iter().filter(|one| one.is_leaf && one.path.starts_with(&below)).collect();
        leaves[self.random.below(leaves.len())]
    }

    /// Names of the category and of those above it but the root: `Bebop`, `Modern Jazz`, `Jazz`.
    fn genres(&self, leaf: &Category) -> Vec<String> {
        let mut genres = vec![leaf.english.clone()];
        let mut above = leaf.parent.as_deref();
        while let Some(category) = self.tree.iter().find(|one| Some(one.path.as_str()) == above) {
            if category.parent.is_some() {
                genres.push(category.english.clone());
            }
            above = category.parent.as_deref();
        }
        genres
    }

    /// A title that no other product has.
    fn title(&mut self, mut make: impl FnMut(&mut Random) -> String) -> String {
        for _ in 0..20 {
            let title = make(&mut self.random);
            for number in ["", " II", " III"] {
                let title = format!("{title}{number}");
                if self.titles.insert(title.clone()) {
                    return title;
                }
            }
        }
        // The words of a very large shop are used up.
        let title = format!("{} No. {}", make(&mut self.random), self.titles.len());
        self.titles.insert(title.clone());
        title
    }

    /// A day between two years.
    fn day(&mut self, first: i64, last: i64) -> String {
        let (year, month) = (self.random.between(first, last), self.random.between(1, 12));
        format!("{year}-{month:02}-{:02}", self.random.between(1, 28))
    }

    /// A list price between two amounts of whole euros, and what it is sold for.
    fn prices(&mut self, least: i64, most: i64) -> (i64, i64) {
        const DISCOUNTS: &[i64] = &[0, 0, 0, 0, 5, 10, 10, 15, 20, 25, 30, 40, 50];
        let list = self.random.between(least, most) * 100 - 1;
        let discount = *self.random.choose(DISCOUNTS);
        let reduced = list * (100 - discount) / 100;
        let retail = if discount == 0 { list } else { reduced / 10 * 10 + 9 };
        (list, retail.min(list))
    }
}

/// Most things are there in some number, some are about to run out.
fn stock(random: &mut Random) -> i64 {
    if random.chance(6) { random.between(1, 3) } else { random.between(8, 250) }
}

fn asin(random: &mut Random) -> String {
    const LETTERS: &[u8] = b"0123456789ABCDEFGHJKLMNPQRSTUVWXYZ";
    let letters = (0..8).map(|_| char::from(*random.choose(LETTERS)));
    format!("B0{}", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::categories;

    fn shop(count: usize) -> (Cast, Vec<Product>) {
        let [albums, films, books, _] = shares(count);
        let cast = Cast::of(&mut Random::new(7), albums, films, books);
        let products = products(count, &cast, &categories());
        (cast, products)
    }

    #[test]
    fn a_shop_is_the_same_each_time_and_nothing_is_twice() {
        let (_, products) = shop(5_000);
        assert_eq!(products.len(), 5_000);
        assert_eq!(products[0].sku, FIRST_SKU);
        let again = shop(5_000).1;
        assert!(products.iter().zip(&again).all(|(one, other)| {
            (&one.sku, &one.title, one.retail) == (&other.sku, &other.title, other.retail)
        }));
        let titles: HashSet<_> = products.iter().map(|one| &one.title).collect();
        assert_eq!(titles.len(), products.len());
    }

    #[test]
    fn everything_is_believable() {
        let (cast, products) = shop(2_000);
        for one in &products {
            assert!(one.retail > 0 && one.retail <= one.list, "{one:?}");
            assert!(!one.categories.is_empty() && one.weight > 0, "{one:?}");
            assert!(one.description.len() > 60 && !one.description.contains('{'), "{one:?}");
            assert!(one.credits.iter().all(|(person, _)| *person < cast.names.len()));
            match one.kind {
                "album" => assert!(one.tracks.len() >= 4 && !one.genres.is_empty()),
                "film" => assert!(one.credits.iter().any(|(_, role)| *role == "actor")),
                "book" => assert_eq!(one.isbn.as_ref().map(String::len), Some(13)),
                _ => assert!(one.properties.len() >= 3),
            }
        }
        let mut works = vec![0; cast.names.len()];
        for (person, _) in products.iter().flat_map(|one| &one.credits) {
            works[*person] += 1;
        }
        assert!(works.iter().all(|count| *count < 100), "{:?}", works.iter().max());
    }
}
