//! The columns of variants in files of products.
//!
//! The row of a product can have a variant. Each row below it that has the SKU of the product, or none, and a variant has
//! another variant of the product. Its other cells are empty, or as in the row of the product.

use serde_json::{Value, json};

use super::{
    Cell, Column, Misfit, Rows, armed, filled, major_units, minor_units, put, tables::PRODUCTS,
};
use crate::graphql::node_id::NodeKind;

/// Beginning of the paths of the columns. Behind it stands the path of the field in the variant.
const OF_VARIANT: &str = "variants.";
const SKU: &str = "variants.sku";
const OPTIONS: &str = "variants.options";
const DIFFERENCE: &str = "variants.priceDifference";
const IMAGE: &str = "variants.imageId";
/// Maximum number of options of a variant that have columns. An import takes no more.
const MOST_OPTIONS: usize = 5;
/// Maximum number of variants of a product that are kept. An import takes one less.
const MOST: usize = 101;

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

    /// Whether the column has images.
    pub(in crate::cli) fn is_of_image(&self) -> bool {
        self.path == IMAGE
    }
}

/// Whether rows with this header can have variants.
///
/// # Errors
/// A column of variants is there, but not that of their SKUs; as a sentence.
pub(super) fn are_in(header: &[&Column]) -> Result<bool, String> {
    let has_sku = header.iter().any(|column| column.path == SKU);
    if !has_sku && header.iter().any(|column| column.is_of_variant()) {
        return Err("the column variantSku is missing".to_owned());
    }
    Ok(has_sku)
}

/// The rows of one product.
pub(in crate::cli) struct ProductRows {
    header: Vec<&'static Column>,
    /// The cells of the product's row that aren't empty.
    first: Vec<(&'static Column, String)>,
    digits: u8,
    line: Value,
    variants: Vec<Value>,
}

impl ProductRows {
    /// The row of a product.
    ///
    /// # Errors
    /// The first cell that doesn't fit.
    pub(in crate::cli) fn begin(
        header: &[&'static Column],
        row: &[String],
    ) -> Result<Self, Misfit> {
        let first = filled(header, row);
        let line = Rows::Products.line(header, row)?.unwrap_or_else(|| json!({}));
        let digits = super::digits(&line);
        let mut rows = Self { header: header.to_vec(), first, digits, line, variants: Vec::new() };
        let variant = rows.variant(&rows.first)?;
        rows.variants.extend(variant);
        Ok(rows)
    }

    /// Adds the variant of a row that is [`one`](is_of) of the product.
    ///
    /// # Errors
    /// The first cell that doesn't fit.
    pub(in crate::cli) fn add(&mut self, row: &[String]) -> Result<(), Misfit> {
        let cells = filled(&self.header, row);
        let of_product = cells.iter().filter(|(column, _)| !column.is_of_variant());
        for (column, text) in of_product {
            if cell(&self.first, column.path).is_none_or(|own| own.trim() != text.trim()) {
                let reason = "must be empty, or as in the row of the product above";
                return Err((column.name.to_owned(), reason.to_owned()));
            }
        }
        let variant = self.variant(&cells)?;
        if self.variants.len() < MOST {
            self.variants.extend(variant);
        }
        Ok(())
    }

    /// The line of the import.
    pub(in crate::cli) fn into_line(mut self) -> Value {
        if !self.variants.is_empty() {
            put(&mut self.line, "variants", self.variants.into());
        }
        self.line
    }

    /// Number of variants.
    pub(in crate::cli) fn variants(&self) -> usize {
        self.variants.len()
    }

    /// The variant of a row, if it has one.
    fn variant(&self, cells: &[(&Column, String)]) -> Result<Option<Value>, Misfit> {
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
            let name = cell(cells, &path("name")).or_else(|| cell(&self.first, &path("name")));
            let Some(name) = name else {
                return misfit(&format!("option{}Name", at + 1), "is empty");
            };
            options.push(json!({ "name": name, "value": value }));
        }
        put(&mut variant, "options", options.into());
        if let Some(difference) = cell(cells, DIFFERENCE) {
            let difference = signed(difference.trim(), self.digits);
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
}

/// The fault of a row that isn't below the row of a product, if it has a variant and nothing else.
pub(in crate::cli) fn orphan(header: &[&'static Column], row: &[String]) -> Option<Misfit> {
    let cells = filled(header, row);
    let is_only_variant =
        cells.iter().all(|(column, _)| column.is_of_variant() || column.path == "sku");
    (is_only_variant && cell(&cells, SKU).is_some()).then(|| {
        let reason = "the row of the product isn't above this row of a variant";
        ("variantSku".to_owned(), reason.to_owned())
    })
}

/// Whether a row has another variant of the product whose row is `first`.
pub(in crate::cli) fn is_of(header: &[&'static Column], first: &[String], row: &[String]) -> bool {
    let (first, cells) = (filled(header, first), filled(header, row));
    let sku = cell(&cells, "sku").map(str::trim);
    let is_same = sku.is_none_or(|sku| cell(&first, "sku").map(str::trim) == Some(sku));
    is_same && cell(&cells, SKU).is_some()
}

fn cell<'a>(cells: &'a [(&Column, String)], path: &str) -> Option<&'a str> {
    cells.iter().find(|(column, _)| column.path == path).map(|(_, text)| text.as_str())
}

/// The rows of a product with variants: behind `first`, which has no variant yet, one row for each further variant.
pub(super) fn rows(line: &Value, first: Vec<String>) -> Vec<Vec<String>> {
    let none = Vec::new();
    let variants = line.get("variants").and_then(Value::as_array).unwrap_or(&none);
    let digits = super::digits(line);
    let mut rows = vec![first];
    let sku = PRODUCTS.iter().position(|column| column.path == "sku").unwrap_or_default();
    for (at, variant) in variants.iter().enumerate() {
        if at > 0 {
            let mut further = vec![String::new(); PRODUCTS.len()];
            further[sku].clone_from(&rows[0][sku]);
            rows.push(further);
        }
        for (place, column) in PRODUCTS.iter().enumerate() {
            if let Some(path) = column.path.strip_prefix(OF_VARIANT) {
                rows[at][place] = shown(column, path, variant, digits);
            }
        }
    }
    rows
}

/// The cell of a column of variants.
fn shown(column: &Column, path: &str, variant: &Value, digits: u8) -> String {
    let pointer = format!("/{}", path.replace('[', "/").replace(']', "").replace('.', "/"));
    match (column.cell, variant.pointer(&pointer)) {
        // Zero is what an empty cell means.
        (Cell::Difference, Some(amount)) => match amount.as_i64().unwrap_or_default() {
            0 => String::new(),
            amount if amount < 0 => format!("-{}", major_units(-amount, digits)),
            amount => major_units(amount, digits),
        },
        (_, Some(text)) => armed(text.as_str().unwrap_or_default()),
        (_, None) => String::new(),
    }
}

/// The variant, and the rest of the path, that the path of a field in a line begins with.
fn split(field: &str) -> Option<(usize, &str)> {
    let (at, rest) = field.strip_prefix("variants[")?.split_once(']')?;
    Some((at.parse().ok()?, rest))
}

/// The position of the variant that a field of a line is in.
pub(in crate::cli) fn variant_of(field: &str) -> Option<usize> {
    split(field).map(|(at, _)| at)
}

/// The column of a field of variants in a line.
pub(super) fn column_of(field: &str) -> Option<&'static str> {
    let rest = match split(field) {
        Some((_, rest)) => rest,
        None if field == "variants" => "",
        None => return None,
    };
    let path = format!("variants{rest}");
    let of_path = PRODUCTS.iter().find(|column| column.is_of_variant() && column.path == path);
    Some(match of_path {
        Some(column) => column.name,
        None if path.starts_with(OPTIONS) => "option1Value",
        None => "variantSku",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ];
        Rows::Products.header(&owned(&names)).expect("a header")
    }

    const FIRST: [&str; 13] = [
        "s",
        "Shirt",
        "shirt",
        "9",
        "9",
        "EUR",
        "s.a",
        "colour",
        "red",
        "size",
        "M",
        "",
        "YXNzZXQ6aW1n",
    ];

    #[test]
    fn rows_become_a_line_and_back() {
        let mut rows = ProductRows::begin(&header(), &owned(&FIRST)).expect("a product");
        let further = ["", "", "", "", "", "", "s.b", "", "=red", "size", "L", "-1,50", ""];
        assert!(is_of(&header(), &owned(&FIRST), &owned(&further)));
        rows.add(&owned(&further)).expect("a variant");
        let line = rows.into_line();
        let options = |colour: &str, size: &str| json!([{ "name": "colour", "value": colour }, { "name": "size", "value": size }]);
        let variants = json!([
            { "sku": "s.a", "options": options("red", "M"), "imageId": "YXNzZXQ6aW1n" },
            { "sku": "s.b", "options": options("=red", "L"), "priceDifference": -150 },
        ]);
        assert_eq!(line["variants"], variants);
        let all: Vec<&Column> = PRODUCTS.iter().collect();
        let written = Rows::Products.rows(&line);
        assert_eq!(written.len(), 2);
        assert!(
            written[1].contains(&"'=red".to_owned()) && written[1].contains(&"-1.50".to_owned())
        );
        let mut rows = ProductRows::begin(&all, &written[0]).expect("a product");
        rows.add(&written[1]).expect("a variant");
        assert_eq!(rows.into_line(), line);
    }

    #[test]
    fn faults_name_the_column() {
        for (row, column) in [
            (["s", "", "", "", "", "", "", "", "red", "", "", "", ""], "variantSku"),
            (["s", "", "", "", "", "", "s.b", "", "", "size", "M", "", ""], "option1Value"),
            (["s", "", "", "", "", "", "s.b", "colour", "red", "", "", "x", ""], "priceDifference"),
            (["s", "Other", "", "", "", "", "s.b", "", "red", "", "", "", ""], "title"),
        ] {
            let mut rows = ProductRows::begin(&header(), &owned(&FIRST)).expect("a product");
            assert_eq!(rows.add(&owned(&row)).expect_err("a fault").0, column, "{row:?}");
        }
        let alone = ["s", "", "", "", "", "", "s.b", "colour", "red", "", "", "", ""];
        assert_eq!(orphan(&header(), &owned(&alone)).expect("a fault").0, "variantSku");
        assert_eq!(orphan(&header(), &owned(&FIRST)), None);
        for (field, column) in [
            ("variants", "variantSku"),
            ("variants[2]", "variantSku"),
            ("variants[2].sku", "variantSku"),
            ("variants[2].options", "option1Value"),
            ("variants[2].options[1].name", "option2Name"),
            ("variants[2].priceDifference", "priceDifference"),
            ("variants[2].imageId", "variantImage"),
        ] {
            assert_eq!(super::super::of_field(PRODUCTS, field), column);
        }
        assert_eq!(variant_of("variants[12].sku"), Some(12));
        assert_eq!(variant_of("content.title"), None);
        assert!(are_in(&header()).expect("a header"));
        let without = ["sku", "title", "type", "list", "retail", "currency", "option1Name"];
        assert!(Rows::Products.header(&owned(&without)).is_err());
    }
}
