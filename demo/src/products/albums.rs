//! Albums.

use super::{Product, Workshop, texts};
use crate::{
    random::Random,
    words::{ADJECTIVES, LABELS, NOUNS, PLACES, one, one_first, plural},
};

pub(super) fn album(workshop: &mut Workshop<'_>) -> Product {
    let title = workshop.title(title);
    let leaf = workshop.leaf("music");
    let genres = workshop.genres(leaf);
    let issued = workshop.day(1956, 2025);
    let is_vinyl = workshop.random.chance(40);
    let (list, retail) = if is_vinyl { workshop.prices(18, 42) } else { workshop.prices(8, 22) };
    let random = &mut workshop.random;
    let artist = *random.favour(&workshop.cast.artists);
    let mut credits = vec![(artist, "artist")];
    if random.chance(10) {
        credits.push((*random.favour(&workshop.cast.artists), "composer"));
    }
    let name = workshop.cast.name(artist);
    let opening = texts::filled(random, texts::ALBUM_OPENINGS, &leaf.english, name);
    let ending = texts::filled(random, texts::ALBUM_ENDINGS, &leaf.english, name);
    let pieces = random.between(5, 14);
    Product {
        kind: "album",
        title,
        description: format!("{opening} {ending}"),
        language: "en",
        issued,
        weight: if is_vinyl { random.between(280, 460) } else { random.between(88, 130) },
        size: if is_vinyl { [315, 315, 5] } else { [142, 125, 10] },
        list,
        retail,
        genres,
        label: Some(random.pick(LABELS).to_owned()),
        tracks: (0..pieces).map(|_| (track(random), length(random))).collect(),
        categories: vec![leaf.path.clone()],
        credits,
        ..Product::default()
    }
}

fn title(random: &mut Random) -> String {
    let (adjective, noun, place) =
        (random.pick(ADJECTIVES), random.pick(NOUNS), random.pick(PLACES));
    match random.below(8) {
        0 => format!("Live at {place}"),
        1 => format!("The {noun} Sessions"),
        2 => format!("Songs from the {adjective} {noun}"),
        3 => format!("{noun} and {}", random.pick(NOUNS)),
        4 => format!("{adjective} {}", plural(noun)),
        5 => format!("{} in {place}", one_first(noun)),
        _ => format!("{adjective} {noun}"),
    }
}

fn track(random: &mut Random) -> String {
    let (adjective, noun) = (random.pick(ADJECTIVES), random.pick(NOUNS));
    match random.below(6) {
        0 => format!("{noun} Song"),
        1 => format!("{noun} at {}", random.pick(PLACES)),
        2 => format!("Blues for {}", one(noun)),
        3 => format!("The {noun}"),
        _ => format!("{adjective} {noun}"),
    }
}

fn length(random: &mut Random) -> i32 {
    i32::try_from(random.between(95, 620)).unwrap_or(240)
}
