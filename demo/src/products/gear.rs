//! Instruments and audio gear: products whose facts are key and value pairs.

use super::{Product, Workshop, texts};
use crate::{
    random::Random,
    words::{BRANDS, FINISHES, SERIES},
};

pub(super) fn gear(workshop: &mut Workshop<'_>) -> Product {
    let is_instrument = workshop.random.chance(60);
    let leaf = workshop.leaf(if is_instrument { "instruments" } else { "audio" });
    let brand = workshop.random.pick(BRANDS);
    let thing = singular(&leaf.english);
    let title = workshop.title(|random| {
        let (series, number) = (random.pick(SERIES), random.between(1, 99) * 10);
        format!("{brand} {series} {number} {thing}")
    });
    let issued = workshop.day(2012, 2025);
    let (list, retail) =
        if is_instrument { workshop.prices(59, 2_400) } else { workshop.prices(39, 1_200) };
    let random = &mut workshop.random;
    let opening = texts::filled(random, texts::GEAR_OPENINGS, &thing, brand);
    let ending = texts::filled(random, texts::GEAR_ENDINGS, &thing, brand);
    let mut properties = vec![("brand", brand.to_owned())];
    properties.push(("finish", random.pick(FINISHES).to_owned()));
    properties
        .push(("made in", random.pick(&["Denmark", "France", "Germany", "Japan"]).to_owned()));
    properties.extend(facts(random, &leaf.path));
    Product {
        kind: if is_instrument { "instrument" } else { "audio" },
        title,
        description: format!("{opening} {ending}"),
        language: "en",
        issued,
        weight: weight(random, &leaf.path),
        size: [side(random, 120, 1_400), side(random, 60, 500), side(random, 60, 600)],
        list,
        retail,
        properties,
        categories: vec![leaf.path.clone()],
        ..Product::default()
    }
}

fn side(random: &mut Random, least: i64, most: i64) -> i32 {
    i32::try_from(random.between(least, most)).unwrap_or(100)
}

/// One of what a category is called by: `Double Basses` to `Double Bass`.
fn singular(plural: &str) -> String {
    const SAME: &[&str] = &["Basses", "Brass"];
    if SAME.iter().any(|word| plural.ends_with(word)) {
        return plural.strip_suffix("es").unwrap_or(plural).to_owned();
    }
    plural.strip_suffix('s').unwrap_or(plural).to_owned()
}

/// In grams.
fn weight(random: &mut Random, path: &str) -> i64 {
    let is = |step: &str| path.contains(step);
    let (least, most) = if is("/in-ear") {
        (15, 60)
    } else if is("/digital-pianos") || is("/drum-kits") || is("/double-basses") {
        (9_000, 42_000)
    } else if is("/headphones") || is("/microphones") {
        (120, 900)
    } else if is("/loudspeakers") {
        (2_500, 16_000)
    } else if is("/wind-instruments") || is("/bowed-strings") || is("/ukuleles") {
        (350, 3_500)
    } else {
        (900, 8_000)
    };
    random.between(least, most)
}

/// Facts that only this class of product has.
fn facts(random: &mut Random, path: &str) -> Vec<(&'static str, String)> {
    let mut pick = |from: &[&str]| random.pick(from).to_owned();
    if path.contains("headphones") || path.contains("in-ear") {
        vec![
            ("impedance", pick(&["16 ohm", "32 ohm", "80 ohm", "250 ohm", "300 ohm"])),
            ("cable", pick(&["1.2 m", "3 m", "wireless"])),
        ]
    } else if path.contains("microphones") {
        vec![
            ("pattern", pick(&["cardioid", "figure of eight", "omnidirectional", "supercardioid"])),
            ("connector", pick(&["USB-C", "XLR"])),
        ]
    } else if path.contains("guitars") || path.contains("basses") || path.contains("bowed") {
        vec![
            ("top", pick(&["cedar", "mahogany", "maple", "spruce"])),
            ("strings", pick(&["4", "5", "6", "7"])),
            ("orientation", pick(&["left-handed", "right-handed", "right-handed"])),
        ]
    } else if path.contains("keyboards") {
        vec![
            ("keys", pick(&["25", "49", "61", "73", "88"])),
            ("action", pick(&["hammer", "semi-weighted", "synth"])),
        ]
    } else if path.contains("wind-instruments") {
        vec![
            ("key", pick(&["B flat", "C", "E flat", "F"])),
            ("material", pick(&["brass", "grenadilla", "nickel silver", "silver"])),
        ]
    } else if path.contains("loudspeakers") || path.contains("recording") {
        vec![
            ("power", pick(&["10 W", "30 W", "50 W", "100 W"])),
            ("inputs", pick(&["2", "4", "8", "16"])),
        ]
    } else {
        vec![
            ("material", pick(&["aluminium", "birch", "bronze", "maple", "steel"])),
            ("level", pick(&["advanced", "beginner", "professional"])),
        ]
    }
}
