//! Generated pictures of goods and people: flat shapes in a few colours of one hue.

use png::{BitDepth, ColorType, Compression, Encoder};

/// Width and height in pixels.
const SIZE: i64 = 400;
const MIDDLE: i64 = SIZE / 2;

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motif {
    Album,
    Film,
    Book,
    /// A piece of audio gear.
    Gear,
    /// The same in black.
    BlackGear,
    /// The same in walnut.
    WalnutGear,
    Instrument,
    /// The same in black.
    BlackInstrument,
    /// The same in walnut.
    WalnutInstrument,
    Person,
    /// Something of the game.
    Item,
}

impl Motif {
    /// Every motif, with the number of its pictures.
    pub const ALL: [(Self, usize); 11] = [
        (Self::Album, 6),
        (Self::Film, 6),
        (Self::Book, 6),
        (Self::Gear, 6),
        (Self::BlackGear, 3),
        (Self::WalnutGear, 3),
        (Self::Instrument, 6),
        (Self::BlackInstrument, 3),
        (Self::WalnutInstrument, 3),
        (Self::Person, 6),
        (Self::Item, 8),
    ];

    /// Its name, as a part of a slug.
    pub fn name(self) -> &'static str {
        match self {
            Self::Album => "album",
            Self::Film => "film",
            Self::Book => "book",
            Self::Gear => "gear",
            Self::BlackGear => "black-gear",
            Self::WalnutGear => "walnut-gear",
            Self::Instrument => "instrument",
            Self::BlackInstrument => "black-instrument",
            Self::WalnutInstrument => "walnut-instrument",
            Self::Person => "person",
            Self::Item => "item",
        }
    }

    /// The motif of a product of this type, or of a category below this path.
    pub fn of(kind: &str) -> Self {
        let is = |names: [&str; 2]| names.iter().any(|name| kind.starts_with(name));
        if is(["album", "/music"]) {
            Self::Album
        } else if is(["film", "/film"]) {
            Self::Film
        } else if is(["book", "/book"]) {
            Self::Book
        } else if is(["instrument", "/instrument"]) {
            Self::Instrument
        } else {
            Self::Gear
        }
    }

    /// The motif in a finish, if there are pictures of it.
    #[must_use]
    pub fn in_finish(self, finish: &str) -> Self {
        match (self, finish) {
            (Self::Gear, "black") => Self::BlackGear,
            (Self::Gear, "walnut") => Self::WalnutGear,
            (Self::Instrument, "black") => Self::BlackInstrument,
            (Self::Instrument, "walnut") => Self::WalnutInstrument,
            _ => self,
        }
    }

    /// Whether it is the cover of something that is read, seen or heard.
    pub fn is_cover(self) -> bool {
        matches!(self, Self::Album | Self::Film | Self::Book)
    }

    /// Draws a picture of it as PNG: the same one each time.
    pub fn draw(self, variant: usize) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let number = i64::try_from(variant)?;
        let hue = (number * 67 + self.name().bytes().map(i64::from).sum::<i64>()) % 360;
        let row = |y| (0..SIZE).map(move |x| self.shade(x, y, number));
        let dots: Vec<u8> = (0..SIZE).flat_map(row).map(Shade::index).collect();
        let colour = |shade: &Shade| self.finish(*shade).unwrap_or_else(|| shade.colour(hue));
        let palette: Vec<u8> = Shade::ALL.iter().flat_map(colour).collect();
        let mut file = Vec::new();
        let size = u32::try_from(SIZE)?;
        let mut encoder = Encoder::new(&mut file, size, size);
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_palette(palette);
        encoder.set_compression(Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&dots)?;
        writer.finish()?;
        Ok(file)
    }

    /// Red, green and blue of a shade, if the motif has it in a colour of its own.
    fn finish(self, shade: Shade) -> Option<[u8; 3]> {
        Some(match (self, shade) {
            (Self::BlackGear | Self::BlackInstrument, Shade::Strong) => [46, 46, 50],
            (Self::BlackGear | Self::BlackInstrument, Shade::Dark) => [26, 26, 30],
            (Self::BlackGear | Self::BlackInstrument, Shade::Black) => [96, 96, 102],
            (Self::WalnutGear | Self::WalnutInstrument, Shade::Strong) => [124, 78, 46],
            (Self::WalnutGear | Self::WalnutInstrument, Shade::Dark) => [82, 50, 28],
            _ => return None,
        })
    }

    fn shade(self, x: i64, y: i64, variant: i64) -> Shade {
        let draw = match self {
            Self::Album => album,
            Self::Film => film,
            Self::Book => book,
            Self::Gear | Self::BlackGear | Self::WalnutGear => gear,
            Self::Instrument | Self::BlackInstrument | Self::WalnutInstrument => instrument,
            Self::Person => person,
            Self::Item => item,
        };
        draw(x, y, variant)
    }
}

/// Whether a dot is on the disc around a middle.
fn is_disc((x, y): (i64, i64), (across, down): (i64, i64), radius: i64) -> bool {
    (x - across).pow(2) + (y - down).pow(2) < radius.pow(2)
}

/// A record that looks out of its sleeve.
fn album(x: i64, y: i64, variant: i64) -> Shade {
    let is_disc = |radius| is_disc((x, y), (MIDDLE, MIDDLE), radius);
    let out = (x - MIDDLE).pow(2) + (y - MIDDLE).pow(2);
    if is_disc(12) {
        Shade::White
    } else if is_disc(60) {
        Shade::Strong
    } else if is_disc(150) && out / (1_400 + 200 * variant) % 2 == 0 {
        Shade::Black
    } else if is_disc(150) || x < 30 + 20 * variant {
        Shade::Dark
    } else {
        Shade::Light
    }
}

/// A clapper over a horizon.
fn film(x: i64, y: i64, variant: i64) -> Shade {
    if y < 80 {
        if (x + y) / 40 % 2 == 0 { Shade::White } else { Shade::Black }
    } else if y > 290 {
        Shade::Dark
    } else if is_disc((x, y), (80 + 45 * variant, 250), 90) {
        Shade::Strong
    } else {
        Shade::Light
    }
}

/// A back, and two lines of a title.
fn book(x: i64, y: i64, variant: i64) -> Shade {
    let is_line = |end, from, to| (70..end).contains(&x) && (from..to).contains(&y);
    if x < 36 {
        Shade::Black
    } else if is_line(350, 60, 84) || is_line(250, 104, 120) {
        Shade::White
    } else if is_disc((x, y), (210, 270), 50 + 10 * variant) {
        Shade::Light
    } else {
        Shade::Strong
    }
}

/// A box with knobs.
fn gear(x: i64, y: i64, variant: i64) -> Shade {
    if !(40..360).contains(&x) || !(90..310).contains(&y) {
        return Shade::White;
    }
    let pitch = 320 / (2 + variant % 3);
    let knob = (40 + (x - 40) / pitch * pitch + pitch / 2, MIDDLE);
    if is_disc((x, y), knob, 12) {
        Shade::Light
    } else if is_disc((x, y), knob, 46) {
        Shade::Black
    } else if y > 280 {
        Shade::Dark
    } else {
        Shade::Strong
    }
}

/// A body with a waist and a hole, a neck, and strings.
fn instrument(x: i64, y: i64, variant: i64) -> Shade {
    let is_disc = |down, radius| is_disc((x, y), (MIDDLE, down), radius);
    let out = (x - MIDDLE).abs();
    if out < 12 && out % 6 < 2 && (40..310).contains(&y) {
        Shade::White
    } else if is_disc(232, 30) || (out < 24 && (24..64).contains(&y)) {
        Shade::Black
    } else if (out < 14 && (64..210).contains(&y)) || (out < 40 && (302..316).contains(&y)) {
        Shade::Dark
    } else if is_disc(206, 62 + 4 * variant) || is_disc(296, 86 + 2 * variant) {
        Shade::Strong
    } else {
        Shade::Light
    }
}

/// A head and shoulders.
fn person(x: i64, y: i64, variant: i64) -> Shade {
    let is_disc = |down, radius| is_disc((x, y), (MIDDLE, down), radius);
    if is_disc(150 + 6 * variant, 76) && y > 110 + 10 * variant {
        Shade::White
    } else if is_disc(140, 96) {
        Shade::Black
    } else if is_disc(400, 150) {
        Shade::Strong
    } else {
        Shade::Light
    }
}

/// Something like a coin, a ring, a gem or a scroll.
fn item(x: i64, y: i64, variant: i64) -> Shade {
    let is_disc = |radius| is_disc((x, y), (MIDDLE, MIDDLE), radius);
    let is_gem = (x - MIDDLE).abs() + (y - MIDDLE).abs() < 130;
    let is_scroll = (120..280).contains(&x) && (80..320).contains(&y);
    let (is_strong, is_dark) = match variant % 4 {
        0 => (is_disc(110), false),
        1 => (is_disc(120) && !is_disc(70), false),
        2 => (is_gem && x < MIDDLE, is_gem),
        _ => (false, is_scroll && y / 20 % 2 == 0),
    };
    if is_strong {
        Shade::Strong
    } else if is_dark {
        Shade::Dark
    } else {
        Shade::Light
    }
}

/// The colours of a picture.
#[derive(Clone, Copy)]
enum Shade {
    Light,
    Strong,
    Dark,
    White,
    Black,
}

impl Shade {
    const ALL: [Self; 5] = [Self::Light, Self::Strong, Self::Dark, Self::White, Self::Black];

    fn index(self) -> u8 {
        match self {
            Self::Light => 0,
            Self::Strong => 1,
            Self::Dark => 2,
            Self::White => 3,
            Self::Black => 4,
        }
    }

    /// Red, green and blue of the shade of a hue, in degrees.
    fn colour(self, hue: i64) -> [u8; 3] {
        let (least, most) = match self {
            Self::Light => (170, 235),
            Self::Strong => (60, 205),
            Self::Dark => (30, 110),
            Self::White => (240, 250),
            Self::Black => (24, 40),
        };
        // Each primary colour is 120 degrees from the others, and fades out between 60 and 120 degrees from its own.
        let part = |own: i64| {
            let away = (hue - own).rem_euclid(360);
            let away = away.min(360 - away);
            let strength = (120 - away).clamp(0, 60);
            u8::try_from(least + (most - least) * strength / 60).unwrap_or(u8::MAX)
        };
        [part(0), part(120), part(240)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_is_small_and_differs_from_the_others() {
        let mut drawn = Vec::new();
        for (motif, count) in Motif::ALL {
            for variant in 0..count {
                let file = motif.draw(variant).expect("a picture");
                assert!(file.starts_with(b"\x89PNG") && file.len() < 40_000, "{}", file.len());
                assert_eq!(motif.draw(variant).expect("a picture"), file);
                drawn.push(file);
            }
        }
        let count = drawn.len();
        drawn.sort();
        drawn.dedup();
        assert_eq!(drawn.len(), count, "two are the same");
    }

    #[test]
    fn colours_follow_the_hue() {
        assert_eq!(Shade::Strong.colour(0), [205, 60, 60]);
        assert_eq!(Shade::Strong.colour(60), [205, 205, 60]);
        assert_eq!(Shade::Strong.colour(240), [60, 60, 205]);
    }
}
