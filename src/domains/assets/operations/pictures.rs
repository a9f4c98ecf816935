//! Makes smaller pictures. It decodes untrusted bytes, so it runs on a thread of its own, with limits.

use std::io::Cursor;

use image::{
    DynamicImage, ImageDecoder as _, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits,
    codecs::{
        jpeg::JpegEncoder,
        png::{CompressionType, FilterType as PngFilter, PngEncoder},
    },
    imageops::FilterType,
    metadata::Orientation,
};

/// A picture that was made smaller.
#[derive(Debug)]
pub(super) struct Smaller {
    pub(super) bytes: Vec<u8>,
    pub(super) media_type: &'static str,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Quality of JPEG, of 100.
const QUALITY: u8 = 82;
const JPEG: &str = "image/jpeg";
const PNG: &str = "image/png";
/// Memory for what a PNG has beside its pixels, in bytes: its texts and its colour profile, each held twice while it is
/// read.
const BESIDE: u64 = 16 << 20;

/// The format of pictures of this media type, if they can be made smaller.
pub(super) fn format_of(media_type: &str) -> Option<ImageFormat> {
    match media_type {
        JPEG => Some(ImageFormat::Jpeg),
        PNG => Some(ImageFormat::Png),
        "image/webp" => Some(ImageFormat::WebP),
        _ => None,
    }
}

/// Makes a picture at most this wide, and never wider than it is. A picture that was taken with a turned camera is
/// turned. PNG stays PNG, as does transparency; everything else becomes JPEG. Only the first frame is kept. The
/// dimensions are read before anything is decoded.
///
/// # Errors
/// The bytes aren't a whole picture of the format, or it has more pixels than `pixels`.
pub(super) fn smaller(
    bytes: &[u8],
    format: ImageFormat,
    width: u32,
    pixels: u64,
) -> Result<Smaller, ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::no_limits();
    // Four channels of two bytes. The decoder of PNG counts the chunks before the pixels against the same limit.
    limits.max_alloc = Some(pixels.saturating_mul(8).saturating_add(BESIDE));
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let (across, down) = decoder.dimensions();
    if u64::from(across) * u64::from(down) > pixels {
        let kind = image::error::LimitErrorKind::DimensionError;
        return Err(ImageError::Limits(image::error::LimitError::from_kind(kind)));
    }
    // A picture without a readable note of its orientation is taken as it is.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let profile = decoder.icc_profile().ok().flatten().filter(|profile| is_rgb(profile));
    let mut picture = DynamicImage::from_decoder(decoder)?;
    let has_alpha = picture.color().has_alpha();
    picture = if has_alpha {
        DynamicImage::ImageRgba8(picture.into_rgba8())
    } else {
        DynamicImage::ImageRgb8(picture.into_rgb8())
    };
    picture.apply_orientation(orientation);
    let (across, down) = (picture.width(), picture.height());
    if width < across {
        let down = u64::from(down) * u64::from(width) / u64::from(across.max(1));
        let down = u32::try_from(down).unwrap_or(u32::MAX).max(1);
        picture = picture.resize_exact(width, down, FilterType::CatmullRom);
    }
    let mut encoded = Vec::new();
    let media_type = if has_alpha || format == ImageFormat::Png {
        let (kind, filter) = (CompressionType::Default, PngFilter::Adaptive);
        write(&picture, PngEncoder::new_with_quality(&mut encoded, kind, filter), profile)?;
        PNG
    } else {
        write(&picture, JpegEncoder::new_with_quality(&mut encoded, QUALITY), profile)?;
        JPEG
    };
    let (width, height) = (picture.width(), picture.height());
    Ok(Smaller { bytes: encoded, media_type, width, height })
}

fn write(
    picture: &DynamicImage,
    mut encoder: impl ImageEncoder,
    profile: Option<Vec<u8>>,
) -> Result<(), ImageError> {
    if let Some(profile) = profile {
        // An encoder that takes none writes the picture without it.
        encoder.set_icc_profile(profile).unwrap_or_default();
    }
    picture.write_with_encoder(encoder)
}

/// Whether a colour profile describes red, green and blue. Pictures in other colours were converted to these.
/// <https://www.color.org/specification/ICC.1-2022-05.pdf>, 7.2.6
fn is_rgb(profile: &[u8]) -> bool {
    profile.get(16..20) == Some(b"RGB ")
}

#[cfg(test)]
mod tests {
    use image::{ImageBuffer, Rgb, Rgba};

    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let byte = |number: u32| u8::try_from(number % 256).expect("a byte");
        let dot = |x: u32, y: u32| Rgb([byte(x), byte(y), 9]);
        let picture = DynamicImage::ImageRgb8(ImageBuffer::from_fn(width, height, dot));
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, ImageFormat::Png).expect("a picture");
        bytes.into_inner()
    }

    #[test]
    fn a_picture_keeps_its_form() {
        let made = smaller(&png(64, 32), ImageFormat::Png, 16, 1 << 20).expect("a picture");
        assert_eq!((made.width, made.height, made.media_type), (16, 8, PNG));
        let made = smaller(&png(8, 900), ImageFormat::Png, 4, 1 << 20).expect("a picture");
        assert_eq!((made.width, made.height), (4, 450));
        let made = smaller(&png(900, 1), ImageFormat::Png, 4, 1 << 20).expect("a picture");
        assert_eq!((made.width, made.height), (4, 1), "at least one pixel");
        let made = smaller(&png(8, 8), ImageFormat::Png, 16, 1 << 20).expect("a picture");
        assert_eq!((made.width, made.height), (8, 8), "never larger");
    }

    #[test]
    fn transparency_stays_and_the_rest_is_jpeg() {
        let glass = ImageBuffer::from_fn(20, 20, |_, _| Rgba([9_u8, 9, 9, 100]));
        let glass = DynamicImage::ImageRgba8(glass);
        let plain = DynamicImage::ImageRgb8(glass.to_rgb8());
        for (picture, of) in [(glass, PNG), (plain, JPEG)] {
            let mut bytes = Cursor::new(Vec::new());
            picture.write_to(&mut bytes, ImageFormat::WebP).expect("a picture");
            let made = smaller(&bytes.into_inner(), ImageFormat::WebP, 10, 1 << 20);
            assert_eq!(made.expect("a picture").media_type, of);
        }
    }

    #[test]
    fn too_many_pixels_are_refused_before_they_are_decoded() {
        let bytes = png(100, 100);
        assert!(smaller(&bytes, ImageFormat::Png, 10, 9_999).is_err());
        assert!(smaller(&bytes, ImageFormat::Png, 10, 10_000).is_ok());
        // The header promises what isn't there.
        let mut bomb = png(1, 1);
        bomb[16..24].copy_from_slice(&[0, 0, 0x7f, 0xff, 0, 0, 0x7f, 0xff]);
        assert!(smaller(&bomb, ImageFormat::Png, 10, 1 << 20).is_err());
        assert!(smaller(&bytes[..bytes.len() / 2], ImageFormat::Png, 10, 10_000).is_err());
        assert!(smaller(b"", ImageFormat::Jpeg, 10, 10_000).is_err());
        // A text of 32 MB behind the header.
        let (head, rest) = bytes.split_at(33);
        let text = vec![b'x'; 32 << 20];
        let long = [head, &[2, 0, 0, 0], b"tEXt", &text, &[0; 4], rest].concat();
        assert!(smaller(&long, ImageFormat::Png, 10, 10_000).is_err());
    }
}
