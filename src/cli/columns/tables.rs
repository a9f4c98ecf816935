//! The columns of each kind of rows, in the order of an export.

use super::{
    Cell, Column,
    details::{DETAILS, TYPE},
};

const fn column(name: &'static str, path: &'static str, cell: Cell) -> Column {
    Column { name, path, cell, is_required: false }
}

const fn required(name: &'static str, path: &'static str, cell: Cell) -> Column {
    Column { name, path, cell, is_required: true }
}

pub(super) const PRODUCTS: &[Column] = &[
    required("sku", "sku", Cell::Text),
    required("title", "content.title", Cell::Text),
    required("type", TYPE, Cell::Text),
    required("list", "pricing.list", Cell::Price),
    required("retail", "pricing.retail", Cell::Price),
    required("currency", "pricing.currency", Cell::Text),
    column("categories", "categories", Cell::List),
    column("contributors", "contributors", Cell::Contributors),
    column("description", "content.description", Cell::Text),
    column("language", "content.language", Cell::Text),
    column("translations", "content.translations", Cell::JsonList),
    column("slug", "slug", Cell::Text),
    column("issueDate", "content.issueDate", Cell::Text),
    column("asin", "content.asin", Cell::Text),
    column("weight", "content.shipping.weight", Cell::Number),
    column("width", "content.shipping.dimensions.width", Cell::Number),
    column("height", "content.shipping.dimensions.height", Cell::Number),
    column("depth", "content.shipping.dimensions.depth", Cell::Number),
    column("details", DETAILS, Cell::Json),
    column("image", "images.assetId", Cell::Text),
    column("imagePosition", "images.position", Cell::Number),
    column("imageAlternativeText", "images.alternativeText", Cell::Text),
    column("variantSku", "variants.sku", Cell::Text),
    column("option1Name", "variants.options[0].name", Cell::Text),
    column("option1Value", "variants.options[0].value", Cell::Text),
    column("option2Name", "variants.options[1].name", Cell::Text),
    column("option2Value", "variants.options[1].value", Cell::Text),
    column("option3Name", "variants.options[2].name", Cell::Text),
    column("option3Value", "variants.options[2].value", Cell::Text),
    column("option4Name", "variants.options[3].name", Cell::Text),
    column("option4Value", "variants.options[3].value", Cell::Text),
    column("option5Name", "variants.options[4].name", Cell::Text),
    column("option5Value", "variants.options[4].value", Cell::Text),
    column("priceDifference", "variants.priceDifference", Cell::Difference),
    column("variantImage", "variants.imageId", Cell::Text),
];

pub(super) const STOCK: &[Column] = &[
    required("sku", "sku", Cell::Text),
    required("quantity", "quantity", Cell::Number),
    column("receipt", "receipt", Cell::Text),
    column("available", "available", Cell::Said),
    column("reserved", "reserved", Cell::Said),
    column("sold", "sold", Cell::Said),
];

pub(super) const PEOPLE: &[Column] = &[
    column("key", "key", Cell::Text),
    column("id", "id", Cell::Text),
    required("name", "name", Cell::Text),
    column("street", "address.street", Cell::Text),
    column("city", "address.city", Cell::Text),
    column("country", "address.country", Cell::Text),
];
