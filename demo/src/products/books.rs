//! Books, most of them in English, some in German and French.

use super::{Product, Workshop, texts};
use crate::{
    random::Random,
    tree::Category,
    words::{
        ADJECTIVES, FRENCH_GENITIVES, FRENCH_HEADS, GERMAN_GENITIVES, GERMAN_HEADS, NOUNS, PLACES,
        TOPICS, one_first, plural,
    },
};

pub(super) fn book(workshop: &mut Workshop<'_>) -> Product {
    let leaf = workshop.leaf("books");
    let language = *workshop.random.choose(&["en", "en", "en", "en", "en", "de", "fr"]);
    let title = workshop.title(|random| title(random, language, leaf));
    let issued = workshop.day(1962, 2025);
    let (list, retail) = workshop.prices(9, 46);
    let random = &mut workshop.random;
    let author = *random.favour(&workshop.cast.authors);
    let mut credits = vec![(author, "author")];
    if random.chance(12) {
        let second = *random.favour(&workshop.cast.authors);
        if second != author {
            credits.push((second, "author"));
        }
    }
    let description = description(random, language, leaf, workshop.cast.name(author));
    let pages = random.between(72, 860);
    Product {
        kind: "book",
        title,
        description,
        language,
        issued,
        weight: 90 + pages * 7 / 10,
        size: [135, 210, i32::try_from(8 + pages / 16).unwrap_or(30)],
        list,
        retail,
        isbn: Some(isbn(random)),
        pages: i32::try_from(pages).ok(),
        categories: vec![leaf.path.clone()],
        credits,
        ..Product::default()
    }
}

fn tells_a_story(leaf: &Category) -> bool {
    leaf.path.starts_with("/books/fiction/") || leaf.path.starts_with("/books/childrens-books/")
}

fn title(random: &mut Random, language: &str, leaf: &Category) -> String {
    let (adjective, noun, place) =
        (random.pick(ADJECTIVES), random.pick(NOUNS), random.pick(PLACES));
    let topic = random.pick(TOPICS);
    match language {
        "de" => format!("{} {}", random.pick(GERMAN_HEADS), random.pick(GERMAN_GENITIVES)),
        "fr" => format!("{} {}", random.pick(FRENCH_HEADS), random.pick(FRENCH_GENITIVES)),
        _ if tells_a_story(leaf) => match random.below(6) {
            0 => format!("The {noun} of {place}"),
            1 => format!("The {adjective} {noun}"),
            2 => format!("{} in {place}", one_first(noun)),
            3 => format!("All the {} of {place}", plural(noun)),
            4 => format!("The {noun}'s {}", random.pick(NOUNS)),
            _ => format!("{noun}, {}", random.pick(NOUNS)),
        },
        _ => match random.below(6) {
            0 => format!("A Short History of {topic}"),
            1 => format!("{topic} and {}", random.pick(TOPICS)),
            2 => format!("The {adjective} Book of {topic}"),
            3 => format!("{}: An Introduction", leaf.english),
            4 => format!("{topic} of {place}"),
            _ => format!("The {noun} and the Art of {}", leaf.english),
        },
    }
}

fn description(random: &mut Random, language: &str, leaf: &Category, name: &str) -> String {
    let genre = leaf.english.to_lowercase();
    match language {
        "de" => texts::filled(random, texts::GERMAN_BOOKS, &genre, name),
        "fr" => texts::filled(random, texts::FRENCH_BOOKS, &genre, name),
        _ => {
            let openings =
                if tells_a_story(leaf) { texts::STORY_OPENINGS } else { texts::KNOWLEDGE_OPENINGS };
            let opening = texts::filled(random, openings, &genre, name);
            format!("{opening} {}", texts::filled(random, texts::BOOK_ENDINGS, &genre, name))
        }
    }
}

/// An ISBN-13 with a sound check digit, in a range that isn't given to publishers.
fn isbn(random: &mut Random) -> String {
    let mut digits = vec![9, 7, 9, 9];
    digits.extend((0..8).map(|_| random.between(0, 9)));
    let weighted = digits.iter().zip([1, 3].into_iter().cycle());
    let sum: i64 = weighted.map(|(digit, weight)| digit * weight).sum();
    digits.push((10 - sum % 10) % 10);
    digits.iter().map(i64::to_string).collect()
}
