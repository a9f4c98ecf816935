//! Products as clients see them. The fields that all products have are generated for each type.
//!
//! The future of an object has room for that of its largest field, and a list has many of them at once. So reads that lists
//! seldom show are boxed.

use std::{iter, sync::Arc};

use async_graphql::Result;

use super::{
    super::{
        DISCUSSED,
        documents::{Pricing, Shipping},
        operations,
        view::{
            ContributorView, DetailsView, ProductNumber, ProductProperty, ProductTranslationView,
            ProductView, StoredProduct, Track,
        },
    },
    TotalCount,
    ahead::{Ahead, listed},
    variants::{ProductOption, ProductVariant, availability},
};
use crate::{
    domains::{
        categories::{self, Category, CategoryBy, CategoryCopyView, name_in},
        comments::{AverageRating, Discussion},
        images::{self, Image, Pictures},
        inventory::{self, Availability, Stock, operations::Levels},
        metadata::Metadata,
        orders,
        people::{self, Person},
    },
    engine::caching::cache_control,
    graphql::{interface::interface, page::ConnectionWith, prelude::*},
    mongo::lazy_document::Owned,
};

/// A product, and the `locale` argument of the field that returned it.
#[derive(Debug)]
pub struct Shown {
    product: StoredProduct,
    locale: Option<LocaleTag>,
    /// What its list has read for it.
    ahead: Option<Arc<Ahead>>,
}

impl Shown {
    fn product(&self) -> &ProductView<'_> {
        self.product.get()
    }

    fn levels(&self) -> Option<&Levels> {
        self.ahead.as_ref()?.levels.as_ref()
    }

    fn pictures(&self) -> Option<&Pictures> {
        self.ahead.as_ref()?.pictures.as_ref()
    }

    /// Data that depends on the type of the product.
    fn details(&self) -> Result<DetailsView<'_>> {
        Ok(self.product().details.get()?.unwrap_or_default())
    }

    fn categories(&self) -> Result<Vec<ProductCategory<'_>>> {
        let shown = |copy| ProductCategory { copy, locale: self.locale.as_ref() };
        Ok(self.product().categories.get()?.into_iter().map(shown).collect())
    }

    fn metadata(&self, cx: Cx<'_>) -> Result<Metadata> {
        let stored = self.product().meta.get()?.map(|Owned(stored)| stored);
        Ok(Metadata::of(cx, stored.as_ref()))
    }

    /// A text of the product in another language than its own, with that language; `None` if the text in its own
    /// language is shown.
    fn translated<'a>(
        &'a self,
        of: impl Fn(&ProductTranslationView<'a>) -> Option<&'a str>,
    ) -> Result<Option<(&'a str, LocaleTag)>> {
        let Some(locale) = &self.locale else { return Ok(None) };
        let translations = self.product().translations.get()?;
        if translations.is_empty() {
            return Ok(None);
        }
        let own = self.product().language.get()?;
        // A product whose language is unknown has an empty tag, which nobody asks for.
        let own = own.as_ref().map_or("", LocaleTag::as_str);
        let others = translations.iter().filter_map(|other| Some((&other.locale, of(other)?)));
        let others = others.map(|(tag, text)| (tag.as_str(), Some((text, tag))));
        let all: Vec<_> = iter::once((own, None)).chain(others).collect();
        let found = name_in(all.iter().copied(), Some(locale), own).flatten();
        Ok(found.map(|(text, tag)| (text, tag.clone())))
    }

    /// The title in the language that was asked for, and that language if it isn't the product's own.
    fn title(&self) -> Result<(&str, Option<LocaleTag>)> {
        let translated = self.translated(|other| Some(other.title))?;
        Ok(translated.map_or((self.product().title, None), |(title, tag)| (title, Some(tag))))
    }

    fn description(&self) -> Result<&str> {
        let translated = self.translated(|other| other.description)?;
        let own = || self.product().description.unwrap_or_default();
        Ok(translated.map_or_else(own, |(description, _)| description))
    }

    /// The language of the title that is shown.
    fn language(&self) -> Result<Option<LocaleTag>> {
        match self.title()? {
            (_, None) => Ok(self.product().language.get()?),
            (_, other) => Ok(other),
        }
    }

    fn rating(&self) -> Result<Option<AverageRating>> {
        let discussion = self.product().discussion.get()?;
        Ok(discussion.and_then(|Owned(discussion)| AverageRating::of(&discussion)))
    }

    fn discussion(&self) -> Result<Option<Discussion>> {
        let product = self.product();
        let shown = |Owned(found)| Discussion::of(&DISCUSSED, product.sku, found);
        Ok(product.discussion.get()?.map(shown))
    }
}

interface! {
    /// Something that can be bought.
    pub enum Product: Album | Film | Book | GenericProduct;
}

impl Product {
    /// The product as an object of its GraphQL type.
    pub fn of(product: StoredProduct, locale: Option<LocaleTag>) -> Self {
        Self::with(product, locale, None)
    }

    /// Likewise, with what its list has read for it.
    pub(super) fn with(
        product: StoredProduct,
        locale: Option<LocaleTag>,
        ahead: Option<Arc<Ahead>>,
    ) -> Self {
        let shown = Shown { product, locale, ahead };
        match shown.product().kind {
            "album" => Self::Album(Album(shown)),
            "film" => Self::Film(Film(shown)),
            "book" => Self::Book(Book(shown)),
            _ => Self::GenericProduct(GenericProduct(shown)),
        }
    }
}

/// The types of products: each has the common fields and its own.
macro_rules! product_types {
    ($shown:ident: $($(#[doc = $about:literal])+ $name:ident { $($own:tt)* })+) => {$(
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name(Shown);

        object! {
            $(#[doc = $about])+
            impl $name as $shown {
                /// Global id of the product.
                pub id: ID = NodeKind::PRODUCT.id($shown.0.product().sku),
                /// SKU, the key of the product in the catalog, in stock, in carts and in orders. Variants have their own.
                sku: ID = $shown.0.product().sku.into(),
                /// Slug for the product's URL, for `product(by: {slug})`. Null until `setProductSlug` sets one.
                slug: Option<&str> = $shown.0.product().slug,
                /// Slugs that the product had before. `product(by: {slug})` finds it by each of them too.
                former_slugs?: Vec<&str> = {
                    let product = $shown.0.product();
                    let former = |slug: &&str| product.slug != Some(*slug);
                    product.slugs.get()?.into_iter().filter(former).collect()
                },
                /// Type of the product: `album`, `film`, `book` or any other.
                #[graphql(name = "type")]
                kind: &str = $shown.0.product().kind,
                /// Title as it is displayed, 1 to 300 characters, in the language `language`: for exactly the tag of the
                /// `locale` argument of the field that returned the product, else for the language without region, else
                /// for another region of the language, else in the product's own language, also without `locale`.
                title?: &str = $shown.0.title()?.0,
                /// Description in plain text; may be empty. Its language is chosen as that of the title, among the
                /// languages that have a description.
                description?: &str = $shown.0.description()?,
                /// Language of the title that is shown; null if unknown.
                language?: Option<LocaleTag> = $shown.0.language()?,
                /// Title and description in other languages than the product's own.
                translations?: Vec<ProductTranslationView<'_>> = $shown.0.product().translations.get()?,
                /// Amazon Standard Identification Number; null if the product has none.
                asin: Option<&str> = $shown.0.product().asin,
                /// Release date; null if unknown.
                issue_date: Option<Date> = $shown.0.product().issued.and_then(Date::parse_date),
                /// Weight and size of the parcel; null if unknown.
                shipping?: Option<Shipping> = $shown.0.product().shipping.get()?,
                /// Current prices. Cart lines and order lines keep the price at which they were added.
                pricing: Pricing = $shown.0.product().pricing,
                /// Variants of the product in the order in which they were added, at most 100. Empty if it has none.
                variants?: Vec<ProductVariant> = ProductVariant::all($shown.0.product())?,
                /// Options in which the variants differ, with their values.
                options?: Vec<ProductOption> = ProductOption::all($shown.0.product())?,
                /// Stock of the product without its variants, as the query `stock` returns it: all counters are zero if nothing was ever
                /// received. Null if the product was just deleted.
                #[graphql(directive = cache_control::apply(0))]
                stock(context)?: Option<Stock> = {
                    let ProductView { sku, generation, .. } = $shown.0.product();
                    let found = inventory::operations::stock_of(app(context), sku, generation);
                    Box::pin(found).await?.map(Stock::from)
                },
                /// Whether the product can be ordered now, by the free pieces of the product and of all its variants. In a
                /// list one command reads it for all products. Null if the product was just deleted.
                #[graphql(directive = cache_control::apply(0))]
                availability(context)?: Option<Availability> =
                    availability(app(context), $shown.0.levels(), $shown.0.product()).await?,
                /// Categories that the product is in; empty if it is in none.
                categories?: Vec<ProductCategory<'_>> = $shown.0.categories()?,
                /// People who contributed to the product, with their roles.
                contributors?: Vec<ContributorView<'_>> = $shown.0.product().contributors.get()?,
                /// Other products of the same type to which the first contributor of this one contributed in the same
                /// role, newest release first. Empty if the product has no contributors.
                related(context)?: ConnectionWith<Product, TotalCount> = {
                    let (product, locale) = ($shown.0.product(), $shown.0.locale.as_ref());
                    let found = operations::related(app(context), product, paging(context)?);
                    let found = Box::pin(found).await?;
                    Box::pin(listed(context, found, locale, TotalCount::UNKNOWN)).await
                },
                /// Products that were bought with this one in at least two orders, those of most orders first. The newest 500
                /// orders of the product and its variants are counted, without cancelled ones. The counts follow orders with a
                /// delay of about a minute.
                bought_together(
                    context,
                    #[graphql(desc = "Maximum number, 1 to 20.", default = 10)] first: i32,
                )?: Vec<Product> = {
                    let (product, locale) = ($shown.0.product(), &$shown.0.locale);
                    let found = orders::operations::bought_together(app(context), product.sku, first);
                    let shown = |product| Product::of(product, locale.clone());
                    Box::pin(found).await?.into_iter().map(shown).collect()
                },
                /// Pictures of the product in order, without those that the caller can't see; at most 20.
                #[graphql(directive = cache_control::apply(0))]
                images(
                    context,
                    #[graphql(desc = "Maximum number of images, 1 to 20. Default: all.")]
                    first: Option<i32>,
                )?: Vec<Image<'_>> = {
                    let images = $shown.0.product().images.get()?;
                    let images = images.iter().map(|one| (one.asset_id, one.alternative_text));
                    images::first_of(cx(context), $shown.0.pictures(), images, first).await?
                },
                /// Average of the stars of all reviews in the discussion; null if there are none.
                rating?: Option<AverageRating> = $shown.0.rating()?,
                /// Discussion of the product with its newest comments; null if none was opened.
                discussion?: Option<Discussion> = $shown.0.discussion()?,
                /// Metadata of the product: pairs that the site adds to it.
                #[graphql(directive = cache_control::apply(0))]
                metadata(context)?: Metadata = $shown.0.metadata(cx(context))?,
                /// Version of the content; it changes with every update. `updateProduct` takes it and refuses the
                /// update of a product that changed since it was read.
                version: ID = $shown.0.product().content_version.into(),
                $($own)*
            }
        }
    )+};
}

product_types! {
    shown:
    /// A product of the type `album`: music with its genres, label and tracks.
    Album {
        /// Musical genres, in the order in which the merchant gave them. Empty if none is stored.
        genres?: Vec<&str> = shown.0.details()?.genres,
        /// Record label; null if unknown.
        label?: Option<&str> = shown.0.details()?.label,
        /// Tracks in playing order.
        tracks?: Vec<Track<'_>> = shown.0.details()?.tracks,
    }

    /// A product of the type `film`, with its genres, age rating and aspect ratio.
    Film {
        /// Genres of the film, in the order in which the merchant gave them. Empty if none is
        /// stored.
        genres?: Vec<&str> = shown.0.details()?.genres,
        /// Age rating; null if unknown.
        certificate?: Option<&str> = shown.0.details()?.certificate,
        /// Ratio of width to height, such as `2.39:1`; null if unknown.
        aspect_ratio?: Option<&str> = shown.0.details()?.aspect_ratio,
    }

    /// A product of the type `book`, with its genres, ISBN and number of pages.
    Book {
        /// Genres of the book, in the order in which the merchant gave them. Empty if none is stored.
        genres?: Vec<&str> = shown.0.details()?.genres,
        /// ISBN-10 or ISBN-13 without hyphens; null if the book has none.
        isbn?: Option<&str> = shown.0.details()?.isbn,
        /// Number of pages; null if unknown.
        pages?: Option<i32> = shown.0.details()?.pages,
    }

    /// A product whose type has no fields of its own.
    GenericProduct {
        /// Properties such as a colour, as the merchant gave them. Empty if there are none.
        properties?: Vec<ProductProperty<'_>> = shown.0.product().properties.get()?,
        /// Numeric properties such as a length, as the merchant gave them. Empty if there are none.
        numbers?: Vec<ProductNumber<'_>> = shown.0.product().numbers.get()?,
    }
}

object! {
    /// List price and retail price of one piece, in the same currency.
    impl Pricing as pricing {
        /// Price from which the savings are computed. It is at least the retail price.
        list: Money = Money::new(pricing.list, pricing.currency),
        /// Price at which the product is sold.
        retail: Money = Money::new(pricing.retail, pricing.currency),
        /// List price minus retail price; zero if the two are equal.
        savings: Money = Money::new(pricing.savings, pricing.currency),
        /// Savings in per cent of the list price, rounded down.
        pct_savings: i32 = pricing.pct_savings,
    }
}

object! {
    /// A person who contributed to a product.
    impl ContributorView<'_> = "Contributor" as contributor {
        /// Global id of the person, for `person` and `node`.
        person_id: ID = NodeKind::PERSON.id(contributor.person_id),
        /// The person, with all works.
        person(context)?: Option<Person> = {
            let id = NodeKind::PERSON.id(contributor.person_id);
            Box::pin(people::operations::person(app(context), &id)).await?.map(Person::from)
        },
        /// Name of the person. It is a copy: a new name reaches it with a delay.
        name: &str = contributor.name,
        /// Role of the person, such as `author`.
        role: &str = contributor.role,
    }
}

/// The copy of a category in a product, and the `locale` argument of the field that returned the product.
#[derive(Debug)]
pub struct ProductCategory<'a> {
    copy: CategoryCopyView<'a>,
    locale: Option<&'a LocaleTag>,
}

object! {
    /// A category of a product. It is a copy: a change of the category reaches it with a delay.
    impl ProductCategory<'_> as category {
        /// Global id of the category.
        pub id: ID = NodeKind::CATEGORY.id(category.copy.id),
        /// The category itself, with its parent and all its names. Null if it was just deleted.
        category(context)?: Option<Category> = {
            let by = CategoryBy::Id(NodeKind::CATEGORY.id(category.copy.id));
            Box::pin(categories::operations::category(app(context), by)).await?.map(Category::from)
        },
        /// Slug, the last step of the path.
        slug: &str = category.copy.slug,
        /// Path of slugs from the root, such as `/music/jazz`.
        path: &str = category.copy.path,
        /// Path of the parent category; `/` for a root.
        parent_path: &str = category.copy.parent_path,
        /// Paths from the root down to the category itself.
        paths?: Vec<&str> = category.copy.within.get()?,
        /// Name of the category in a language: the name for exactly this tag, else for the language without
        /// region, else for another region of the language, else for the site's default language, else any.
        name(
            context,
            #[graphql(
                desc = "Language of the name. Default: the `locale` argument of the field that returned the product."
            )]
            locale: Option<LocaleTag>,
        )?: &str = {
            let (wanted, names) = (locale.as_ref().or(category.locale), category.copy.names.get()?.0);
            let site = &app(context).config().site_locale;
            name_in(names.iter().copied(), wanted, site).unwrap_or_default()
        },
    }
}
