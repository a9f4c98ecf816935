//! Generated pictures of hills under a sky, with the Exif metadata that a camera would write.

use std::io::Cursor;

use exif::{Field, In, Rational, Tag, Value as Exif, experimental::Writer};
use png::{BitDepth, ColorType, Compression, Encoder, Info};

use crate::random::Random;

const WIDTH: usize = 360;
const HEIGHT: usize = 240;
/// Places where the pictures are taken, in degrees north and east.
const PLACES: &[(&str, i64, i64)] = &[
    ("Lisbon", 38, -9),
    ("Porto", 41, -8),
    ("Trieste", 45, 13),
    ("Tromsø", 69, 18),
    ("Tbilisi", 41, 44),
    ("Salta", -24, -65),
];
const SUBJECTS: &[&str] = &["Hills", "Ridge", "Valley", "Slope", "Range", "Pass"];
const HOURS: &[(&str, i64)] =
    &[("at dawn", 6), ("in the morning", 9), ("at noon", 12), ("at dusk", 19)];
const CAMERAS: &[(&str, &str)] = &[("Fenner", "F-2"), ("Fenner", "F-3 II"), ("Oberon", "Mark 5")];

/// The motif of a picture, and the settings of the camera.
#[derive(Debug)]
pub struct Picture {
    /// Place where it is taken, with its degrees north and east.
    pub place: (&'static str, i64, i64),
    subject: &'static str,
    /// Time of day, and its hour.
    pub hour: (&'static str, i64),
    camera: (&'static str, &'static str),
    day: i64,
}

type Colour = [i64; 3];

impl Picture {
    /// A picture of a random motif.
    pub fn of(random: &mut Random) -> Self {
        Self {
            place: *random.choose(PLACES),
            subject: random.pick(SUBJECTS),
            hour: *random.choose(HOURS),
            camera: *random.choose(CAMERAS),
            day: random.between(1, 28),
        }
    }

    /// Its title.
    pub fn title(&self) -> String {
        format!("{} near {} {}", self.subject, self.place.0, self.hour.0)
    }

    /// Its title as a part of a slug.
    pub fn slug(&self) -> String {
        let place: String = self.place.0.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("{}-{}", self.subject, place).to_lowercase()
    }

    /// Renders the picture as PNG.
    pub fn paint(&self, random: &mut Random) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let [above, below, land] = match self.hour.1 {
            6 => [[92, 110, 168], [250, 190, 160], [70, 84, 92]],
            9 => [[96, 158, 220], [214, 232, 246], [74, 120, 84]],
            12 => [[58, 132, 214], [190, 220, 244], [96, 146, 78]],
            _ => [[44, 40, 92], [240, 140, 90], [52, 48, 66]],
        };
        let mut pixels = vec![[0; 3]; WIDTH * HEIGHT];
        for (at, pixel) in pixels.iter_mut().enumerate() {
            *pixel = between(above, below, at / WIDTH, HEIGHT);
        }
        sun(&mut pixels, random, between(below, [255, 255, 235], 1, 2));
        for layer in 0..4 {
            // Farther hills are closer to the colour of the sky.
            hills(&mut pixels, random, layer, between(below, land, layer + 1, 4));
        }
        let pixels: Vec<u8> =
            pixels.iter().flatten().map(|part| u8::try_from(*part).unwrap_or(u8::MAX)).collect();
        self.encode(&pixels)
    }

    fn encode(&self, pixels: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut info = Info::with_size(u32::try_from(WIDTH)?, u32::try_from(HEIGHT)?);
        info.color_type = ColorType::Rgb;
        info.bit_depth = BitDepth::Eight;
        info.exif_metadata = Some(self.exif()?.into());
        let mut file = Vec::new();
        let mut encoder = Encoder::with_info(&mut file, info)?;
        encoder.set_compression(Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels)?;
        writer.finish()?;
        Ok(file)
    }

    /// The Exif metadata of the picture.
    fn exif(&self) -> Result<Vec<u8>, exif::Error> {
        let field = |tag, value| Field { tag, ifd_num: In::PRIMARY, value };
        let text = |text: &str| Exif::Ascii(vec![text.as_bytes().to_vec()]);
        let number = |num, denom| Exif::Rational(vec![Rational { num, denom }]);
        let degrees = |degrees: i64| {
            let whole = u32::try_from(degrees.unsigned_abs()).unwrap_or(0);
            let part = |num| Rational { num, denom: 1 };
            Exif::Rational(vec![part(whole), part(30), part(0)])
        };
        let (_, north, east) = self.place;
        let taken = format!("2024:05:{:02} {:02}:15:00", self.day, self.hour.1);
        let fields = [
            field(Tag::Make, text(self.camera.0)),
            field(Tag::Model, text(self.camera.1)),
            field(Tag::DateTimeOriginal, text(&taken)),
            field(Tag::ExposureTime, number(1, if self.hour.1 == 12 { 500 } else { 60 })),
            field(Tag::FNumber, number(28, 10)),
            field(
                Tag::PhotographicSensitivity,
                Exif::Short(vec![if self.hour.1 == 12 { 100 } else { 800 }]),
            ),
            field(Tag::GPSLatitudeRef, text(if north < 0 { "S" } else { "N" })),
            field(Tag::GPSLatitude, degrees(north)),
            field(Tag::GPSLongitudeRef, text(if east < 0 { "W" } else { "E" })),
            field(Tag::GPSLongitude, degrees(east)),
        ];
        let mut writer = Writer::new();
        for field in &fields {
            writer.push_field(field);
        }
        let mut written = Cursor::new(Vec::new());
        writer.write(&mut written, false)?;
        Ok(written.into_inner())
    }
}

/// The colour at a step between two colours.
fn between(from: Colour, to: Colour, step: usize, of: usize) -> Colour {
    let (step, of) = (i64::try_from(step).unwrap_or(0), i64::try_from(of.max(1)).unwrap_or(1));
    std::array::from_fn(|part| from[part] + (to[part] - from[part]) * step / of)
}

fn sun(pixels: &mut [Colour], random: &mut Random, colour: Colour) {
    let (x, y) = (random.below(WIDTH), HEIGHT / 6 + random.below(HEIGHT / 4));
    let radius = 12 + random.below(10);
    for (at, pixel) in pixels.iter_mut().enumerate() {
        if (at % WIDTH).abs_diff(x).pow(2) + (at / WIDTH).abs_diff(y).pow(2) < radius * radius {
            *pixel = colour;
        }
    }
}

/// Draws a ridge from left to right and fills everything below it.
fn hills(pixels: &mut [Colour], random: &mut Random, layer: usize, colour: Colour) {
    let top = i64::try_from(HEIGHT * (2 * layer + 5) / 14).unwrap_or(0);
    let lowest = i64::try_from(HEIGHT - 8).unwrap_or(0);
    let (mut height, mut slope) = (top, 0);
    for x in 0..WIDTH {
        slope = (slope + random.between(-1, 1)).clamp(-2, 2);
        // Pulls the ridge back towards its height.
        let back = (top - height) / 16;
        height = (height + slope / 2 + back).clamp(8, lowest);
        let from = usize::try_from(height).unwrap_or(0);
        for y in from..HEIGHT {
            pixels[y * WIDTH + x] = colour;
        }
    }
}
