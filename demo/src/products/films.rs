//! Films.

use super::{Product, Workshop, texts};
use crate::{
    random::Random,
    words::{ADJECTIVES, FRENCH_GENITIVES, FRENCH_HEADS, NOUNS, PLACES, one_first},
};

pub(super) fn film(workshop: &mut Workshop<'_>) -> Product {
    let title = workshop.title(title);
    let leaf = workshop.leaf("film");
    let genres = workshop.genres(leaf);
    let issued = workshop.day(1948, 2025);
    let (list, retail) = workshop.prices(7, 32);
    let random = &mut workshop.random;
    let cast = workshop.cast;
    let director = *random.favour(&cast.directors);
    let mut credits = vec![(director, "director")];
    for _ in 0..random.between(1, 3) {
        let actor = *random.favour(&cast.actors);
        if credits.iter().all(|credit| *credit != (actor, "actor")) {
            credits.push((actor, "actor"));
        }
    }
    let (genre, name) = (leaf.english.to_lowercase(), cast.name(director));
    let opening = texts::filled(random, texts::FILM_OPENINGS, &genre, name);
    let ending = texts::filled(random, texts::FILM_ENDINGS, &genre, name);
    Product {
        kind: "film",
        title,
        description: format!("{opening} {ending}"),
        language: "en",
        issued,
        weight: random.between(70, 180),
        size: [135, 190, 15],
        list,
        retail,
        genres,
        certificate: Some(random.pick(&["0", "6", "12", "12", "16", "18"])),
        aspect_ratio: Some(random.pick(&["1.33:1", "1.66:1", "1.78:1", "1.85:1", "2.39:1"])),
        categories: vec![leaf.path.clone()],
        credits,
        ..Product::default()
    }
}

fn title(random: &mut Random) -> String {
    let (adjective, noun, place) =
        (random.pick(ADJECTIVES), random.pick(NOUNS), random.pick(PLACES));
    match random.below(9) {
        0 => format!("The {noun} of {place}"),
        1 => place.to_owned(),
        2 => format!("The {adjective} {noun}"),
        3 => format!("{} for {place}", one_first(noun)),
        4 => format!("The {noun} Without {}", one_first(random.pick(NOUNS))),
        5 => format!("{adjective} Road to {place}"),
        6 => format!("{} {}", random.pick(FRENCH_HEADS), random.pick(FRENCH_GENITIVES)),
        7 => format!("Return to the {noun}"),
        _ => format!("The {noun} and the {}", random.pick(NOUNS)),
    }
}
