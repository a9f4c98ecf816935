//! The rows of a product in CSV files.
//!
//! A product with several variants or images has several rows. Each row can have one variant and one image. The row of the
//! product comes first, and can have the first of both. Each row below it that has the SKU of the product, or none, and a
//! variant or an image belongs to the product. Its other cells are empty, or as in the row of the product.

use serde_json::{Value, json};

use super::{
    Column, Misfit, Rows, cell, digits, filled,
    images::{self, Image},
    places::Places,
    put,
    tables::PRODUCTS,
    variants,
};
use crate::domains::images::IMAGES;

/// Maximum number of variants of a product that are kept. An import takes one less.
const MOST_VARIANTS: usize = 101;

impl Column {
    /// Whether each row of a product has a value of its own: the column is of variants or of images.
    pub(super) fn is_per_row(&self) -> bool {
        self.is_of_variant() || self.is_of_image()
    }

    /// Whether the column names images, which other shops don't have.
    pub(in crate::cli) fn names_images(&self) -> bool {
        self.is_of_image() || self.path == variants::IMAGE
    }
}

/// Whether products with this header can have several rows.
///
/// # Errors
/// A column of variants or images is there, but not the one without which a row has none of them; as a sentence.
pub(super) fn are_several(header: &[&Column]) -> Result<bool, String> {
    let has = |path: &str| header.iter().any(|column| column.path == path);
    let (has_variants, has_images) = (has(variants::SKU), has(images::ASSET));
    if !has_variants && header.iter().any(|column| column.is_of_variant()) {
        return Err("the column variantSku is missing".to_owned());
    }
    if !has_images && header.iter().any(|column| column.is_of_image()) {
        return Err("the column image is missing".to_owned());
    }
    Ok(has_variants || has_images)
}

/// The rows of one product.
pub(in crate::cli) struct ProductRows {
    header: Vec<&'static Column>,
    /// The cells of the product's row that aren't empty.
    first: Vec<(&'static Column, String)>,
    digits: u8,
    line: Value,
    variants: Vec<(u64, Value)>,
    images: Vec<(u64, Image)>,
}

impl ProductRows {
    /// The row of a product, with its number.
    ///
    /// # Errors
    /// The first cell that doesn't fit.
    pub(in crate::cli) fn begin(
        header: &[&'static Column],
        number: u64,
        row: &[String],
    ) -> Result<Self, Misfit> {
        let first = filled(header, row);
        let line = Rows::Products.line(header, row)?.unwrap_or_else(|| json!({}));
        let (header, digits) = (header.to_vec(), digits(&line));
        let (variants, images) = (Vec::new(), Vec::new());
        let mut rows = Self { header, first: first.clone(), digits, line, variants, images };
        rows.keep(number, &first)?;
        Ok(rows)
    }

    /// Adds the variant and the image of a further row that is [`one`](is_of) of the product.
    ///
    /// # Errors
    /// The first cell that doesn't fit.
    pub(in crate::cli) fn add(&mut self, number: u64, row: &[String]) -> Result<(), Misfit> {
        let cells = filled(&self.header, row);
        let of_product = cells.iter().filter(|(column, _)| !column.is_per_row());
        for (column, text) in of_product {
            if cell(&self.first, column.path).is_none_or(|own| own.trim() != text.trim()) {
                let reason = "must be empty, or as in the row of the product above";
                return Err((column.name.to_owned(), reason.to_owned()));
            }
        }
        self.keep(number, &cells)
    }

    /// Keeps the variant and the image of a row.
    fn keep(&mut self, number: u64, cells: &[(&Column, String)]) -> Result<(), Misfit> {
        let variant = variants::variant(cells, &self.first, self.digits)?;
        let image = images::image(cells)?;
        if self.variants.len() < MOST_VARIANTS {
            self.variants.extend(variant.map(|variant| (number, variant)));
        }
        let Some(image) = image else { return Ok(()) };
        let misfit = |column: &str, why: String| Err((column.to_owned(), why));
        if self.images.len() >= IMAGES {
            return misfit("image", format!("is more than the {IMAGES} that a product can have"));
        }
        let has_position = |other: &(u64, Image)| other.1.position == image.position;
        if image.position.is_some() && self.images.iter().any(has_position) {
            return misfit(
                "imagePosition",
                "is that of an earlier image of the product".to_owned(),
            );
        }
        self.images.push((number, image));
        Ok(())
    }

    /// The line of the import, and where its variants and images come from.
    pub(in crate::cli) fn into_line(mut self) -> (Value, Places) {
        self.images.sort_by_key(|(_, image)| image.position.unwrap_or(u32::MAX));
        let (variant_rows, variants): (Vec<u64>, Vec<Value>) = self.variants.into_iter().unzip();
        let images = self.images.into_iter().map(|(row, image)| (row, image.value));
        let (image_rows, images): (Vec<u64>, Vec<Value>) = images.unzip();
        for (field, all) in [("variants", variants), ("images", images)] {
            if !all.is_empty() {
                put(&mut self.line, field, all.into());
            }
        }
        (self.line, Places { variants: variant_rows, images: image_rows })
    }
}

/// The fault of a row that isn't below the row of a product, if it has a variant or an image and nothing else.
pub(in crate::cli) fn orphan(header: &[&'static Column], row: &[String]) -> Option<Misfit> {
    let cells = filled(header, row);
    let is_of_product =
        |(column, _): &(&Column, String)| !column.is_per_row() && column.path != "sku";
    if cells.iter().any(is_of_product) {
        return None;
    }
    let (column, what) = if cell(&cells, variants::SKU).is_some() {
        ("variantSku", "a variant")
    } else {
        cell(&cells, images::ASSET)?;
        ("image", "an image")
    };
    let reason = format!("the row of the product isn't above this row of {what}");
    Some((column.to_owned(), reason))
}

/// Whether a row has another variant or image of the product whose row is `first`.
pub(in crate::cli) fn is_of(header: &[&'static Column], first: &[String], row: &[String]) -> bool {
    let (first, cells) = (filled(header, first), filled(header, row));
    let sku = cell(&cells, "sku").map(str::trim);
    let is_same = sku.is_none_or(|sku| cell(&first, "sku").map(str::trim) == Some(sku));
    let has = |path: &str| cell(&cells, path).is_some();
    is_same && (has(variants::SKU) || has(images::ASSET))
}

/// The rows of a product. `first` is its row without a variant and an image. The others have its SKU.
pub(super) fn rows(line: &Value, first: Vec<String>) -> Vec<Vec<String>> {
    let list =
        |field: &str| line.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (variants, images) = (list("variants"), list("images"));
    let digits = digits(line);
    let sku = PRODUCTS.iter().position(|column| column.path == "sku").unwrap_or_default();
    let mut further = vec![String::new(); PRODUCTS.len()];
    further[sku].clone_from(&first[sku]);
    let count = variants.len().max(images.len()).max(1);
    let mut rows = vec![first];
    rows.resize(count, further);
    for (at, row) in rows.iter_mut().enumerate() {
        for (cell, column) in row.iter_mut().zip(PRODUCTS) {
            let of_variant = variants.get(at).and_then(|one| variants::shown(column, one, digits));
            let of_image = images.get(at).and_then(|one| images::shown(column, one, at));
            if let Some(shown) = of_variant.or(of_image) {
                *cell = shown;
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphql::node_id::NodeKind;

    fn owned(row: &[&str]) -> Vec<String> {
        row.iter().map(|cell| (*cell).to_owned()).collect()
    }

    fn header() -> Vec<&'static Column> {
        let names = [
            "sku",
            "title",
            "type",
            "list",
            "retail",
            "currency",
            "variantSku",
            "option1Name",
            "option1Value",
            "option2Name",
            "option2Value",
            "priceDifference",
            "variantImage",
            "image",
            "imagePosition",
            "imageAlternativeText",
        ];
        Rows::Products.header(&owned(&names)).expect("a header")
    }

    /// A row with these cells of the product, of a variant and of an image.
    fn row(product: [&str; 6], variant: [&str; 7], image: [&str; 3]) -> Vec<String> {
        owned(&[&product[..], &variant[..], &image[..]].concat())
    }

    const NONE: [&str; 6] = [""; 6];
    const NO_VARIANT: [&str; 7] = [""; 7];
    const NO_IMAGE: [&str; 3] = [""; 3];

    fn first() -> Vec<String> {
        row(
            ["s", "Shirt", "shirt", "9", "9", "EUR"],
            ["s.a", "colour", "red", "size", "M", "", "YXNzZXQ6aW1n"],
            ["YXNzZXQ6aW1n", "2", "=red"],
        )
    }

    #[test]
    fn rows_become_a_line_and_back() {
        let mut rows = ProductRows::begin(&header(), 2, &first()).expect("a product");
        let image = NodeKind::ASSET.id("front").0;
        let further = [
            row(NONE, ["s.b", "", "=red", "size", "L", "-1,50", ""], [&image, "1", ""]),
            row(["s", "", "", "", "", ""], NO_VARIANT, [&image, "", "last"]),
        ];
        for (number, further) in (3..).zip(&further) {
            assert!(is_of(&header(), &first(), further));
            rows.add(number, further).expect("a variant or an image");
        }
        let (line, places) = rows.into_line();
        let options = |colour: &str, size: &str| json!([{ "name": "colour", "value": colour }, { "name": "size", "value": size }]);
        let variants = json!([
            { "sku": "s.a", "options": options("red", "M"), "imageId": "YXNzZXQ6aW1n" },
            { "sku": "s.b", "options": options("=red", "L"), "priceDifference": -150 },
        ]);
        assert_eq!(line["variants"], variants);
        let images = json!([
            { "assetId": image },
            { "assetId": "YXNzZXQ6aW1n", "alternativeText": "=red" },
            { "assetId": image, "alternativeText": "last" },
        ]);
        assert_eq!(line["images"], images, "by position, and those without one last");
        for (field, row) in [
            ("variants[0].sku", Some(2)),
            ("variants[1].options[0].value", Some(3)),
            ("images[0].assetId", Some(3)),
            ("images[1]", Some(2)),
            ("images[2].alternativeText", Some(4)),
            ("images[3].assetId", None),
            ("images", None),
            ("content.title", None),
        ] {
            assert_eq!(places.row_of(field), row, "{field}");
        }
        let all: Vec<&Column> = PRODUCTS.iter().collect();
        let written = Rows::Products.rows(&line);
        assert_eq!(written.len(), 3);
        assert!(
            written[1].contains(&"'=red".to_owned()) && written[1].contains(&"-1.50".to_owned())
        );
        let mut rows = ProductRows::begin(&all, 2, &written[0]).expect("a product");
        rows.add(3, &written[1]).expect("a variant and an image");
        rows.add(4, &written[2]).expect("an image");
        assert_eq!(rows.into_line().0, line);
    }

    #[test]
    fn faults_name_the_column() {
        let product = ["s", "", "", "", "", ""];
        let image = "YXNzZXQ6aW1n";
        for (row, column) in [
            (row(product, ["", "", "red", "", "", "", ""], NO_IMAGE), "variantSku"),
            (row(product, ["s.b", "", "", "size", "M", "", ""], NO_IMAGE), "option1Value"),
            (row(product, ["s.b", "colour", "red", "", "", "x", ""], NO_IMAGE), "priceDifference"),
            (
                row(["s", "Other", "", "", "", ""], ["s.b", "", "red", "", "", "", ""], NO_IMAGE),
                "title",
            ),
            (row(["s", "Other", "", "", "", ""], NO_VARIANT, [image, "", ""]), "title"),
            (row(product, NO_VARIANT, ["red.png", "", ""]), "image"),
            (row(product, ["s.b", "", "red", "", "", "", ""], ["", "", "red"]), "image"),
            (row(product, NO_VARIANT, [image, "2", ""]), "imagePosition"),
            (row(product, NO_VARIANT, [image, "0", ""]), "imagePosition"),
            (row(product, NO_VARIANT, [image, "first", ""]), "imagePosition"),
        ] {
            let mut rows = ProductRows::begin(&header(), 2, &first()).expect("a product");
            assert_eq!(rows.add(3, &row).expect_err("a fault").0, column, "{row:?}");
        }
        let alone = row(product, ["s.b", "colour", "red", "", "", "", ""], NO_IMAGE);
        assert_eq!(orphan(&header(), &alone).expect("a fault").0, "variantSku");
        let alone = row(NONE, NO_VARIANT, [image, "", ""]);
        assert_eq!(orphan(&header(), &alone).expect("a fault").0, "image");
        assert_eq!(orphan(&header(), &first()), None);
        for (field, column) in [
            ("variants", "variantSku"),
            ("variants[2]", "variantSku"),
            ("variants[2].sku", "variantSku"),
            ("variants[2].options", "option1Value"),
            ("variants[2].options[1].name", "option2Name"),
            ("variants[2].priceDifference", "priceDifference"),
            ("variants[2].imageId", "variantImage"),
            ("images", "image"),
            ("images[2]", "image"),
            ("images[2].assetId", "image"),
            ("images[2].alternativeText", "imageAlternativeText"),
        ] {
            assert_eq!(super::super::of_field(PRODUCTS, field), column);
        }
    }

    #[test]
    fn a_product_has_no_more_images_than_it_may() {
        let mut rows = ProductRows::begin(&header(), 2, &first()).expect("a product");
        let image = row(NONE, NO_VARIANT, ["YXNzZXQ6aW1n", "", ""]);
        for number in (3..).take(IMAGES - 1) {
            rows.add(number, &image).expect("an image");
        }
        let (column, reason) = rows.add(99, &image).expect_err("a fault");
        assert_eq!((column.as_str(), reason.contains("20")), ("image", true), "{reason}");
    }

    #[test]
    fn headers_have_the_columns_that_others_need() {
        assert!(are_several(&header()).expect("a header"));
        let required = ["sku", "title", "type", "list", "retail", "currency"];
        let with = |more: &str| {
            Rows::Products.header(&owned(&[&required[..], &[more]].concat())).map(|_| ())
        };
        for (more, missing) in [
            ("option1Name", "variantSku is missing"),
            ("imagePosition", "image is missing"),
            ("imageAlternativeText", "image is missing"),
        ] {
            assert!(with(more).is_err_and(|why| why.contains(missing)), "{more}");
        }
        assert!(with("image").is_ok() && with("variantSku").is_ok());
    }
}
