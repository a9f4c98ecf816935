//! Detects the media type of a file by its first bytes, because what the client states about it isn't reliable.

use std::io::Cursor;

use bytes::Bytes;
use exif::{Exif, Field, In, Tag, Value};
use mongodb::bson::{Bson, DateTime};

use super::{
    super::documents::{Attribute, OF_FILE},
    pictures::format_of,
};

/// What is known from the beginning of a file.
#[derive(Debug, Default)]
pub(super) struct Media {
    /// Its media type.
    pub(super) kind: String,
    /// Width and height of a picture as it is shown, in pixels.
    pub(super) size: Option<(i64, i64)>,
    /// Attributes that a camera wrote into it.
    pub(super) attributes: Vec<Attribute>,
}

/// Media type of unrecognised files.
const UNKNOWN: &str = "application/octet-stream";
const PLAIN: &str = "text/plain";
const SVG: &str = "image/svg+xml";
/// Media types that can't be distinguished from plain text: here the client's statement is accepted.
const TEXTS: &[&str] = &[
    "application/json",
    "text/calendar",
    "text/css",
    "text/csv",
    "text/javascript",
    "text/markdown",
    "text/vcard",
    "text/vtt",
];
/// Text formats that have a reliable signature.
const LIKE_TEXT: &[&str] = &[
    "application/pdf",
    "application/postscript",
    "application/rtf",
    "text/html",
    "text/x-shellscript",
    "text/xml",
];

/// Examines the first bytes of a file; `is_all` says whether they are the whole file. `declared` is the media
/// type that the client states.
pub(super) async fn look(head: &Bytes, is_all: bool, declared: Option<&str>) -> Media {
    let kind = media_type(head, is_all, declared);
    let mut media = Media { kind, ..Media::default() };
    if media.kind.starts_with("image/") && media.kind != SVG {
        let head = head.clone();
        // Parsers of untrusted bytes: a panic in them doesn't affect the request.
        let parsed = tokio::task::spawn_blocking(move || (size(&head), facts(&head))).await;
        (media.size, media.attributes) = parsed.unwrap_or_default();
        if is_turned(&media.kind, &media.attributes) {
            media.size = media.size.map(|(width, height)| (height, width));
        }
    }
    media
}

/// Whether a picture was taken with a camera turned to its side: it is shown with width and height exchanged. Browsers turn
/// pictures of the formats that can be made smaller, and so does the code that makes them smaller.
fn is_turned(kind: &str, attributes: &[Attribute]) -> bool {
    let orientation = attributes.iter().find(|one| one.key.strip_prefix(OF_FILE) == Some(TURN));
    let orientation = orientation.and_then(|one| one.value.as_f64());
    format_of(kind).is_some() && orientation.is_some_and(|way| (5.0..=8.0).contains(&way))
}

fn media_type(head: &[u8], is_all: bool, declared: Option<&str>) -> String {
    let found = infer::get(head).map(|found| found.mime_type());
    if !is_text(head, is_all) {
        return found.unwrap_or(UNKNOWN).to_owned();
    }
    if head.is_empty() {
        return UNKNOWN.to_owned();
    }
    if is_svg(head) {
        return SVG.to_owned();
    }
    // The signatures of some binary formats have only two letters, which many texts begin with.
    if let Some(found) = found.filter(|found| LIKE_TEXT.contains(found)) {
        return found.to_owned();
    }
    let declared = declared.and_then(|declared| declared.split(';').next()).unwrap_or_default();
    match declared.trim().to_ascii_lowercase().as_str() {
        "application/javascript" => "text/javascript",
        text if TEXTS.contains(&text) => text,
        _ => PLAIN,
    }
    .to_owned()
}

/// Whether the bytes are UTF-8 without control characters that no text has; the last character may be
/// incomplete.
fn is_text(head: &[u8], is_all: bool) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if !is_all && error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'))
}

/// Whether a text is an SVG picture, with or without an XML prologue.
fn is_svg(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(4_096)]).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with("<svg")
        || (text.starts_with("<?xml") || text.starts_with("<!")) && text.contains("<svg")
}

fn size(head: &[u8]) -> Option<(i64, i64)> {
    let size = imagesize::blob_size(head).ok()?;
    Some((i64::try_from(size.width).ok()?, i64::try_from(size.height).ok()?))
}

/// Name of the tag of how the camera was turned.
const TURN: &str = "Orientation";

/// The Exif tags that become attributes, under the names of the standard.
/// <https://www.cipa.jp/std/documents/e/DC-X008-Translation-2019-E.pdf>
const FACTS: &[(&str, Tag, Kind)] = &[
    ("Copyright", Tag::Copyright, Kind::Text),
    ("DateTimeOriginal", Tag::DateTimeOriginal, Kind::Moment),
    ("ExposureTime", Tag::ExposureTime, Kind::Number),
    ("FNumber", Tag::FNumber, Kind::Number),
    ("FocalLength", Tag::FocalLength, Kind::Number),
    ("GPSAltitude", Tag::GPSAltitude, Kind::Number),
    ("GPSLatitude", Tag::GPSLatitude, Kind::Degrees(Tag::GPSLatitudeRef)),
    ("GPSLongitude", Tag::GPSLongitude, Kind::Degrees(Tag::GPSLongitudeRef)),
    ("ImageDescription", Tag::ImageDescription, Kind::Text),
    ("LensModel", Tag::LensModel, Kind::Text),
    ("Make", Tag::Make, Kind::Text),
    ("Model", Tag::Model, Kind::Text),
    (TURN, Tag::Orientation, Kind::Number),
    ("PhotographicSensitivity", Tag::PhotographicSensitivity, Kind::Number),
    ("Software", Tag::Software, Kind::Text),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Number,
    /// UTC unless an offset is given in another tag.
    Moment,
    /// Degrees, minutes and seconds; the hemisphere is in the other tag.
    Degrees(Tag),
}

/// Maximum length of a text, in characters.
const LONGEST: usize = 200;

fn facts(head: &[u8]) -> Vec<Attribute> {
    let mut reader = exif::Reader::new();
    reader.continue_on_error(true);
    let read = reader.read_from_container(&mut Cursor::new(head));
    let read = read.or_else(|error| error.distill_partial_result(|_faults| {}));
    let Ok(read) = read else { return Vec::new() };
    let fact = |(name, tag, kind): &(&str, Tag, Kind)| {
        let field = read.get_field(*tag, In::PRIMARY)?;
        let value = match kind {
            Kind::Text => text(field).map(Bson::from),
            Kind::Number => number(field, 0).map(Bson::from),
            Kind::Moment => moment(&read, field).map(Bson::from),
            Kind::Degrees(half) => degrees(&read, field, *half).map(Bson::from),
        };
        Some(Attribute { key: format!("{OF_FILE}{name}"), value: value? })
    };
    FACTS.iter().filter_map(fact).collect()
}

fn ascii(field: &Field) -> Option<&[u8]> {
    match &field.value {
        Value::Ascii(lines) => lines.first().map(Vec::as_slice),
        _ => None,
    }
}

fn text(field: &Field) -> Option<String> {
    let text = String::from_utf8_lossy(ascii(field)?);
    let text: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number(field: &Field, at: usize) -> Option<f64> {
    let number = match &field.value {
        Value::Rational(all) => all.get(at)?.to_f64(),
        Value::SRational(all) => all.get(at)?.to_f64(),
        value => f64::from(value.get_uint(at)?),
    };
    number.is_finite().then_some(number)
}

fn moment(read: &Exif, field: &Field) -> Option<DateTime> {
    let mut found = exif::DateTime::from_ascii(ascii(field)?).ok()?;
    if let Some(offset) = read.get_field(Tag::OffsetTimeOriginal, In::PRIMARY).and_then(ascii) {
        // An unreadable offset is ignored.
        found.parse_offset(offset).unwrap_or_default();
    }
    let moment = DateTime::builder()
        .year(found.year.into())
        .month(found.month)
        .day(found.day)
        .hour(found.hour)
        .minute(found.minute)
        .second(found.second)
        .build()
        .ok()?;
    let offset = i64::from(found.offset.unwrap_or(0)) * 60_000;
    Some(DateTime::from_millis(moment.timestamp_millis() - offset))
}

fn degrees(read: &Exif, field: &Field, half: Tag) -> Option<f64> {
    let [degrees, minutes, seconds] = [number(field, 0)?, number(field, 1)?, number(field, 2)?];
    let degrees = degrees + minutes / 60.0 + seconds / 3_600.0;
    let half = read.get_field(half, In::PRIMARY).and_then(ascii)?;
    let is_other_half = matches!(half.first(), Some(b'S' | b'W'));
    (degrees <= 180.0).then_some(if is_other_half { -degrees } else { degrees })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_what_a_file_is() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        for (head, declared, found) in [
            (png.as_slice(), "text/html", "image/png"),
            (b"<!DOCTYPE html><script>alert(1)</script>", "image/png", "text/html"),
            (b"  \n<html>", "image/png", "text/html"),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "image/png", "image/svg+xml"),
            (b"<?xml version=\"1.0\"?><!-- a --><svg/>", "image/png", "image/svg+xml"),
            (b"<?xml version=\"1.0\"?><feed/>", "image/png", "text/xml"),
            (b"BMW is a car", "text/plain", "text/plain"),
            (b"a,b\n1,2\n", "text/csv; charset=utf-8", "text/csv"),
            (b"alert(1)", "application/javascript", "text/javascript"),
            (b"alert(1)", "image/png", "text/plain"),
            (b"%PDF-1.4\n", "text/plain", "application/pdf"),
            (b"\0\x01\x02", "text/plain", "application/octet-stream"),
            (b"", "image/png", "application/octet-stream"),
            ("gr\u{fc}n".as_bytes(), "x", "text/plain"),
        ] {
            assert_eq!(media_type(head, true, Some(declared)), found, "{}", head.escape_ascii());
        }
        let cut = &"\u{fc}".as_bytes()[..1];
        assert_eq!(media_type(cut, false, None), "text/plain");
        assert_eq!(media_type(cut, true, None), "application/octet-stream");
    }
}
