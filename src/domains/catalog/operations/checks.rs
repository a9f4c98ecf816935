//! Checks of product input: content, prices and properties.

use serde::Serialize;

use super::super::{
    documents::{Details, Dimensions, Pricing, Property, Shipping, Track},
    types::{
        AlbumInput, BookInput, FilmInput, GenericProductInput, PricingInput, ProductContentInput,
        ProductDetailsInput, PropertyInput, ShippingInput, TrackInput,
    },
};
use crate::{
    app::App,
    graphql::{input, refusals::InvalidInput, scalars::LocaleTag},
};

/// Maximum price, in minor units.
const PRICE: i64 = 100_000_000_000;
/// Maximum weight, in grams.
const WEIGHT: i64 = 1_000_000_000;
/// Types with fields of their own.
const OWN_FIELDS: [&str; 3] = ["album", "film", "book"];

/// A checked content, with its derived fields.
#[derive(Debug, Clone, Serialize)]
pub(in super::super) struct Content {
    pub(in super::super) kind: String,
    pub(in super::super) title: String,
    pub(in super::super) title_key: String,
    pub(in super::super) description: String,
    pub(in super::super) language: Option<LocaleTag>,
    /// Derived from the language and the configuration. It isn't part of the input, whose digest identifies a
    /// repeat.
    #[serde(skip)]
    pub(in super::super) stemming: &'static str,
    pub(in super::super) asin: Option<String>,
    pub(in super::super) issued: String,
    pub(in super::super) shipping: Option<Shipping>,
    pub(in super::super) details: Details,
    pub(in super::super) properties: Vec<Property>,
}

/// Checks the content of a product.
pub(in super::super) fn checked_content(
    app: &App,
    content: &ProductContentInput,
) -> Result<Content, InvalidInput> {
    let title = input::text("content.title", &content.title, 1..=300)?;
    let description = content.description.as_deref().unwrap_or_default();
    let (kind, details, properties) = checked_details(&content.details)?;
    Ok(Content {
        kind,
        title_key: input::folded(&title),
        title,
        description: input::text("content.description", description, 0..=10_000)?,
        stemming: LocaleTag::stemming_of(content.language.as_ref(), &app.config().site_locale),
        language: content.language.clone(),
        asin: content.asin.as_deref().map(checked_asin).transpose()?,
        issued: content.issue_date.clone().map(String::from).unwrap_or_default(),
        shipping: content.shipping.as_ref().map(checked_shipping).transpose()?,
        details,
        properties,
    })
}

/// Checks prices: the list price must not be lower than the retail price.
pub(in super::super) fn checked_pricing(pricing: &PricingInput) -> Result<Pricing, InvalidInput> {
    let list = checked_price("pricing.list", pricing.list.0)?;
    let retail = checked_price("pricing.retail", pricing.retail.0)?;
    if retail > list {
        return Err(InvalidInput::new("pricing.retail", "is above the list price"));
    }
    Ok(Pricing::of(list, retail, pricing.currency))
}

/// Checks one amount.
pub(super) fn checked_price(field: &str, amount: i64) -> Result<i64, InvalidInput> {
    input::within(field, amount, 0..=PRICE)
}

/// Checks key-value pairs under the path `field`.
pub(super) fn checked_properties(
    field: &str,
    properties: &[PropertyInput],
) -> Result<Vec<Property>, InvalidInput> {
    let each = |(at, property): (usize, &PropertyInput)| {
        Ok(Property {
            key: input::text(&format!("{field}.{at}.key"), &property.key, 1..=64)?,
            value: input::text(&format!("{field}.{at}.value"), &property.value, 1..=300)?,
        })
    };
    properties.iter().enumerate().map(each).collect()
}

fn checked_asin(asin: &str) -> Result<String, InvalidInput> {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    if asin.len() == 10 && asin.bytes().all(fits) {
        return Ok(asin.to_owned());
    }
    Err(InvalidInput::new("content.asin", "takes ten capital letters or digits"))
}

fn checked_shipping(shipping: &ShippingInput) -> Result<Shipping, InvalidInput> {
    let length = |side: &str, length: i32| {
        let field = format!("content.shipping.dimensions.{side}");
        input::within(&field, length.into(), 1..=1_000_000).map(|_| length)
    };
    let dimensions = match &shipping.dimensions {
        Some(size) => Some(Dimensions {
            width: length("width", size.width)?,
            height: length("height", size.height)?,
            depth: length("depth", size.depth)?,
        }),
        None => None,
    };
    let weight = input::within("content.shipping.weight", shipping.weight.0, 0..=WEIGHT)?;
    Ok(Shipping { weight, dimensions })
}

type Typed = (String, Details, Vec<Property>);

fn checked_details(details: &ProductDetailsInput) -> Result<Typed, InvalidInput> {
    let without_properties = |kind: &str, details| (kind.to_owned(), details, Vec::new());
    match details {
        ProductDetailsInput::Album(album) => Ok(without_properties("album", checked_album(album)?)),
        ProductDetailsInput::Film(film) => Ok(without_properties("film", checked_film(film)?)),
        ProductDetailsInput::Book(book) => Ok(without_properties("book", checked_book(book)?)),
        ProductDetailsInput::Generic(generic) => checked_generic(generic),
    }
}

fn checked_album(album: &AlbumInput) -> Result<Details, InvalidInput> {
    const FIELD: &str = "content.details.album";
    let tracks = format!("{FIELD}.tracks");
    input::at_most(&tracks, &album.tracks, 100)?;
    let track = |(at, track): (usize, &TrackInput)| {
        let title = input::text(&format!("{tracks}.{at}.title"), &track.title, 1..=300)?;
        if let Some(seconds) = track.seconds {
            input::within(&format!("{tracks}.{at}.seconds"), seconds.into(), 1..=86_400)?;
        }
        Ok(Track { title, seconds: track.seconds })
    };
    Ok(Details {
        genres: checked_genres(&format!("{FIELD}.genres"), &album.genres)?,
        label: checked_optional(&format!("{FIELD}.label"), album.label.as_deref(), 200)?,
        tracks: album.tracks.iter().enumerate().map(track).collect::<Result<_, InvalidInput>>()?,
        ..Details::default()
    })
}

fn checked_film(film: &FilmInput) -> Result<Details, InvalidInput> {
    const FIELD: &str = "content.details.film";
    let (certificate, ratio) = (film.certificate.as_deref(), film.aspect_ratio.as_deref());
    Ok(Details {
        genres: checked_genres(&format!("{FIELD}.genres"), &film.genres)?,
        certificate: checked_optional(&format!("{FIELD}.certificate"), certificate, 50)?,
        aspect_ratio: checked_optional(&format!("{FIELD}.aspectRatio"), ratio, 20)?,
        ..Details::default()
    })
}

fn checked_book(book: &BookInput) -> Result<Details, InvalidInput> {
    if let Some(pages) = book.pages {
        input::within("content.details.book.pages", pages.into(), 1..=100_000)?;
    }
    let isbn = book.isbn.as_deref().map(checked_isbn).transpose()?;
    Ok(Details { isbn, pages: book.pages, ..Details::default() })
}

fn checked_generic(generic: &GenericProductInput) -> Result<Typed, InvalidInput> {
    const FIELD: &str = "content.details.generic";
    let kind = generic.kind.as_str();
    if OWN_FIELDS.contains(&kind) {
        let reason = format!("{kind:?} has fields of its own: use `{kind}`");
        return Err(InvalidInput::new(&format!("{FIELD}.type"), reason));
    }
    let properties = format!("{FIELD}.properties");
    input::at_most(&properties, &generic.properties, 50)?;
    let checked = checked_properties(&properties, &generic.properties)?;
    Ok((kind.to_owned(), Details::default(), checked))
}

/// Checks the check digit of an ISBN-10 or ISBN-13, and removes hyphens.
fn checked_isbn(isbn: &str) -> Result<String, InvalidInput> {
    let invalid = || InvalidInput::new("content.details.book.isbn", "isn't an ISBN-10 or ISBN-13");
    if isbn.len() > 20 {
        return Err(invalid());
    }
    let digits: String = isbn.chars().filter(|character| *character != '-').collect();
    let value = |(at, character): (usize, char)| match character {
        'X' if at == 9 && digits.len() == 10 => Some(10),
        other => other.to_digit(10),
    };
    let values: Vec<u32> =
        digits.chars().enumerate().map(value).collect::<Option<_>>().ok_or_else(invalid)?;
    // ISO 2108: weights 10 to 1 modulo 11, or 1 and 3 in turn modulo 10.
    let sound = match values.len() {
        10 => values.iter().zip((1..=10).rev()).map(|(v, w)| v * w).sum::<u32>() % 11 == 0,
        13 => {
            values.iter().zip([1, 3].into_iter().cycle()).map(|(v, w)| v * w).sum::<u32>() % 10 == 0
        }
        _ => false,
    };
    if sound { Ok(digits) } else { Err(invalid()) }
}

fn checked_genres(field: &str, genres: &[String]) -> Result<Vec<String>, InvalidInput> {
    input::at_most(field, genres, 20)?;
    let each = |(at, genre): (usize, &String)| input::text(&format!("{field}.{at}"), genre, 1..=50);
    genres.iter().enumerate().map(each).collect()
}

fn checked_optional(
    field: &str,
    text: Option<&str>,
    length: usize,
) -> Result<Option<String>, InvalidInput> {
    text.map(|text| input::text(field, text, 1..=length)).transpose()
}
