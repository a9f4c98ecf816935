//! The content of a product as it is stored, made from a checked input.

use mongodb::bson::{Bson, Document};

use super::super::{
    documents::{Content, Dimensions, Pricing, ProductTranslation, Shipping},
    types::{
        DimensionsInput, PricingInput, ProductContentInput, ProductDetailsInput,
        ProductTranslationInput, ShippingInput,
    },
};
use crate::{graphql::prelude::*, mongo::expression::stored_fields};

impl Content {
    pub(crate) fn of(app: &App, content: ProductContentInput) -> Self {
        let (mut properties, mut numbers) = (Vec::new(), Vec::new());
        let (kind, details) = match content.details {
            ProductDetailsInput::Album(album) => ("album".to_owned(), stored_fields(&album)),
            ProductDetailsInput::Film(film) => ("film".to_owned(), stored_fields(&film)),
            ProductDetailsInput::Book(book) => ("book".to_owned(), stored_fields(&book)),
            ProductDetailsInput::Generic(generic) => {
                (properties, numbers) = (generic.properties, generic.numbers);
                (generic.kind.into(), Document::new())
            }
        };
        let size = |DimensionsInput { width, height, depth }| Dimensions { width, height, depth };
        let shipping = |ShippingInput { weight, dimensions }| Shipping {
            weight: weight.into(),
            dimensions: dimensions.map(size),
        };
        let translation = |ProductTranslationInput { locale, title, description }| {
            let description = description.filter(|description| !description.is_empty());
            ProductTranslation { locale, title, description }
        };
        let mut content = Self {
            kind,
            title_key: input::folded(&content.title),
            title: content.title,
            description: content.description.unwrap_or_default(),
            stemming: LocaleTag::stemming_of(content.language.as_ref(), &app.config().site_locale)
                .to_owned(),
            language: content.language,
            translations: content.translations.into_iter().map(translation).collect(),
            asin: content.asin,
            issued: content.issue_date.map(String::from).unwrap_or_default(),
            shipping: content.shipping.map(shipping),
            details: without_blanks(details),
            properties,
            numbers,
            search: None,
        };
        content.search = Some(content.terms());
        content
    }
}

impl From<PricingInput> for Pricing {
    fn from(PricingInput { list, retail, currency }: PricingInput) -> Self {
        Self::of(list.0, retail.0, currency)
    }
}

/// The fields except for nulls and empty lists, also in the elements of lists.
fn without_blanks(fields: Document) -> Document {
    let blanks = [Bson::Null, Bson::Array(Vec::new())];
    let element = |value| match value {
        Bson::Document(fields) => without_blanks(fields).into(),
        other => other,
    };
    let value = |value| match value {
        Bson::Array(values) => Bson::Array(values.into_iter().map(element).collect()),
        other => other,
    };
    let fields = fields.into_iter().filter(|(_, value)| !blanks.contains(value));
    fields.map(|(name, given)| (name, value(given))).collect()
}
