//! The columns of a product's images; see [`ProductRows`](super::ProductRows).

use serde_json::{Value, json};

use super::{Column, Misfit, armed, cell};
use crate::graphql::node_id::NodeKind;

/// Beginning of the paths of the columns.
const OF_IMAGE: &str = "images.";
/// Path of the column that makes a row have an image.
pub(super) const ASSET: &str = "images.assetId";
const POSITION: &str = "images.position";
const TEXT: &str = "images.alternativeText";

impl Column {
    /// Whether the column is of a product's images.
    pub(super) fn is_of_image(&self) -> bool {
        self.path.starts_with(OF_IMAGE)
    }
}

/// The image of a row.
pub(super) struct Image {
    /// Its place among the images of the product, from 1. Images without one come last, in the order of their rows.
    pub(super) position: Option<u32>,
    /// The image as a line has it.
    pub(super) value: Value,
}

/// The image of a row, if it has one.
///
/// # Errors
/// The first cell that doesn't fit.
pub(super) fn image(cells: &[(&Column, String)]) -> Result<Option<Image>, Misfit> {
    let misfit = |column: &str, why: &str| Err((column.to_owned(), why.to_owned()));
    let Some(asset) = cell(cells, ASSET).map(str::trim) else {
        if cells.iter().any(|(column, _)| column.is_of_image()) {
            return misfit("image", "is empty, but the row has cells of an image");
        }
        return Ok(None);
    };
    if NodeKind::ASSET.key(asset).is_none() {
        return misfit("image", "is no global id of an asset");
    }
    let position = match cell(cells, POSITION).map(|text| text.trim().parse()) {
        None => None,
        Some(Ok(position)) if position > 0 => Some(position),
        Some(_) => return misfit("imagePosition", "must be a whole number from 1 on"),
    };
    let value = match cell(cells, TEXT) {
        Some(text) => json!({ "assetId": asset, "alternativeText": text }),
        None => json!({ "assetId": asset }),
    };
    Ok(Some(Image { position, value }))
}

/// The cell of a column of images, for the image at this index; none if the column isn't of images.
pub(super) fn shown(column: &Column, image: &Value, at: usize) -> Option<String> {
    let field = column.path.strip_prefix(OF_IMAGE)?;
    if column.path == POSITION {
        return Some((at + 1).to_string());
    }
    Some(armed(image.get(field).and_then(Value::as_str).unwrap_or_default()))
}
