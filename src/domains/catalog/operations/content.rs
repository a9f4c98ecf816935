//! The content of a product as it is stored, made from a checked input.

use super::super::{
    documents::{Content, Details, Dimensions, Pricing, Property, Shipping, Track},
    types::{
        AlbumInput, BookInput, DimensionsInput, FilmInput, GenericProductInput, PricingInput,
        ProductContentInput, ProductDetailsInput, PropertyInput, ShippingInput, TrackInput,
    },
};
use crate::{
    app::App,
    graphql::{input, scalars::LocaleTag},
};

impl Content {
    pub(crate) fn of(app: &App, content: ProductContentInput) -> Self {
        let (kind, details, properties) = stored_details(content.details);
        Self {
            kind,
            title_key: input::folded(&content.title),
            title: content.title,
            description: content.description.unwrap_or_default(),
            stemming: LocaleTag::stemming_of(content.language.as_ref(), &app.config().site_locale)
                .to_owned(),
            language: content.language,
            asin: content.asin,
            issued: content.issue_date.map(String::from).unwrap_or_default(),
            shipping: content.shipping.map(Shipping::from),
            details,
            properties,
        }
    }
}

/// The type of a product, its data and its properties.
fn stored_details(details: ProductDetailsInput) -> (String, Details, Vec<Property>) {
    let (kind, details) = match details {
        ProductDetailsInput::Album(AlbumInput { genres, label, tracks }) => {
            let track = |TrackInput { title, seconds }| Track { title, seconds };
            let tracks = tracks.into_iter().map(track).collect();
            ("album", Details { genres, label, tracks, ..Details::default() })
        }
        ProductDetailsInput::Film(FilmInput { genres, certificate, aspect_ratio }) => {
            ("film", Details { genres, certificate, aspect_ratio, ..Details::default() })
        }
        ProductDetailsInput::Book(BookInput { isbn, pages }) => {
            ("book", Details { isbn, pages, ..Details::default() })
        }
        ProductDetailsInput::Generic(GenericProductInput { kind, properties }) => {
            let properties = properties.into_iter().map(Property::from).collect();
            return (kind.into(), Details::default(), properties);
        }
    };
    (kind.to_owned(), details, Vec::new())
}

impl From<PropertyInput> for Property {
    fn from(PropertyInput { key, value }: PropertyInput) -> Self {
        Self { key, value }
    }
}

impl From<ShippingInput> for Shipping {
    fn from(ShippingInput { weight, dimensions }: ShippingInput) -> Self {
        let size = |DimensionsInput { width, height, depth }| Dimensions { width, height, depth };
        Self { weight: weight.into(), dimensions: dimensions.map(size) }
    }
}

impl From<PricingInput> for Pricing {
    fn from(PricingInput { list, retail, currency }: PricingInput) -> Self {
        Self::of(list.0, retail.0, currency)
    }
}
