//! The columns of variants in files of products; see [`ProductRows`](super::ProductRows).

use serde_json::{Value, json};

use super::{Cell, Column, Misfit, armed, cell, major_units, minor_units, put};
use crate::graphql::node_id::NodeKind;

/// Beginning of the paths of the columns. Behind it stands the path of the field in the variant.
const OF_VARIANT: &str = "variants.";
/// Path of the column that makes a row have a variant.
pub(super) const SKU: &str = "variants.sku";
pub(super) const OPTIONS: &str = "variants.options";
const DIFFERENCE: &str = "variants.priceDifference";
pub(super) const IMAGE: &str = "variants.imageId";
/// Maximum number of options of a variant that have columns. An import takes no more.
const MOST_OPTIONS: usize = 5;

/// A price difference in minor units.
fn signed(text: &str, digits: u8) -> Result<i64, String> {
    match text.strip_prefix('-') {
        Some(amount) => minor_units(amount, digits).map(|amount| -amount),
        None => minor_units(text.strip_prefix('+').unwrap_or(text), digits),
    }
}

impl Column {
    /// Whether the column is of variants.
    pub(super) fn is_of_variant(&self) -> bool {
        self.path.starts_with(OF_VARIANT)
    }
}

/// The variant of a row, if it has one. Names of options that are empty are those of `first`, the row of the product.
///
/// # Errors
/// The first cell that doesn't fit.
pub(super) fn variant(
    cells: &[(&Column, String)],
    first: &[(&Column, String)],
    digits: u8,
) -> Result<Option<Value>, Misfit> {
    let misfit = |column: &str, why: &str| Err((column.to_owned(), why.to_owned()));
    let Some(sku) = cell(cells, SKU) else {
        if cells.iter().any(|(column, _)| column.is_of_variant()) {
            return misfit("variantSku", "is empty, but the row has cells of a variant");
        }
        return Ok(None);
    };
    let mut variant = json!({ "sku": sku.trim() });
    let mut options = Vec::new();
    for at in 0..MOST_OPTIONS {
        let path = |field: &str| format!("{OPTIONS}[{at}].{field}");
        let Some(value) = cell(cells, &path("value")) else { continue };
        if options.len() < at {
            let before = format!("option{}Value", options.len() + 1);
            return misfit(&before, "is empty, but a later option has a value");
        }
        let name = cell(cells, &path("name")).or_else(|| cell(first, &path("name")));
        let Some(name) = name else {
            return misfit(&format!("option{}Name", at + 1), "is empty");
        };
        options.push(json!({ "name": name, "value": value }));
    }
    put(&mut variant, "options", options.into());
    if let Some(difference) = cell(cells, DIFFERENCE) {
        let difference = signed(difference.trim(), digits);
        let difference = difference.map_err(|why| ("priceDifference".to_owned(), why))?;
        put(&mut variant, "priceDifference", difference.into());
    }
    if let Some(image) = cell(cells, IMAGE) {
        if NodeKind::ASSET.key(image.trim()).is_none() {
            return misfit("variantImage", "is no global id of an asset");
        }
        put(&mut variant, "imageId", image.trim().into());
    }
    Ok(Some(variant))
}

/// The cell of a column of variants; none if the column isn't of variants.
pub(super) fn shown(column: &Column, variant: &Value, digits: u8) -> Option<String> {
    let path = column.path.strip_prefix(OF_VARIANT)?;
    let pointer = format!("/{}", path.replace('[', "/").replace(']', "").replace('.', "/"));
    Some(match (column.cell, variant.pointer(&pointer)) {
        // Zero is what an empty cell means.
        (Cell::Difference, Some(amount)) => match amount.as_i64().unwrap_or_default() {
            0 => String::new(),
            amount if amount < 0 => format!("-{}", major_units(-amount, digits)),
            amount => major_units(amount, digits),
        },
        (_, Some(text)) => armed(text.as_str().unwrap_or_default()),
        (_, None) => String::new(),
    })
}
