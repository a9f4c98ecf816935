//! The rows and columns that the fields of a product's line come from.

use super::{tables::PRODUCTS, variants::OPTIONS};

/// The numbers of the rows that have the variants and the images of a product.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Places {
    pub(super) variants: Vec<u64>,
    pub(super) images: Vec<u64>,
}

impl Places {
    /// Whether the product has neither variants nor images.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.variants.is_empty() && self.images.is_empty()
    }

    /// The number of the row with the variant or the image that a field of the line is in.
    pub(in crate::cli) fn row_of(&self, field: &str) -> Option<u64> {
        let (list, at, _) = split(field)?;
        let rows = match list {
            "variants" => &self.variants,
            "images" => &self.images,
            _ => return None,
        };
        rows.get(at).copied()
    }
}

/// The list, the index in it and the rest of the path that the path of a field in a line begins with.
fn split(field: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = field.split_once('[')?;
    let (at, rest) = rest.split_once(']')?;
    Some((list, at.parse().ok()?, rest))
}

/// The column of a field of variants or images in a line.
pub(super) fn column_of(field: &str) -> Option<&'static str> {
    let (list, rest) = split(field).map_or((field, ""), |(list, _, rest)| (list, rest));
    let main = match list {
        "variants" => "variantSku",
        "images" => "image",
        _ => return None,
    };
    let path = format!("{list}{rest}");
    let of_path = PRODUCTS.iter().find(|column| column.is_per_row() && column.path == path);
    Some(match of_path {
        Some(column) => column.name,
        None if path.starts_with(OPTIONS) => "option1Value",
        None => main,
    })
}
