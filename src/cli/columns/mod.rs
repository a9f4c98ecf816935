//! The columns of CSV files: how a row becomes a line of an import, and back.
//!
//! A column stands for a field of the line. A cell that is empty leaves the field out. Lists are divided by `|`, prices
//! are in the major unit of the currency, and a cell that a spreadsheet would take for a formula begins with an
//! apostrophe.

mod cells;
mod details;
mod images;
mod places;
mod product;
mod tables;
mod variants;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::graphql::scalars::CurrencyCode;
use cells::{armed, contributors, list, listed, major_units, minor_units, object, shown, unarmed};
use details::{DETAILS, GENERIC_TYPE, TYPE, typed, untyped};
pub(super) use places::Places;
pub(super) use product::{ProductRows, is_of, orphan};
use tables::{PEOPLE, PRODUCTS, STOCK};

/// What the rows of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Rows {
    /// Products: sku, title, type, list, retail, currency, and others.
    Products,
    /// Receipts of stock: sku, quantity, receipt.
    Stock,
    /// People: key or id, name, street, city, country.
    People,
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    /// Name in the header.
    pub(super) name: &'static str,
    /// Path of the field in the line; none for what an import ignores.
    pub(super) path: &'static str,
    cell: Cell,
    is_required: bool,
}

/// How a cell holds its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Text,
    Number,
    /// In the major unit.
    Price,
    /// Like [`Self::Price`], and may be negative.
    Difference,
    /// Divided by `|`, or a JSON array.
    List,
    /// `ROLE:KEY`, or `ROLE:#ID` with a global id, divided by `|`, or a JSON array.
    Contributors,
    /// A JSON object.
    Json,
    /// A JSON array.
    JsonList,
    /// Said by an export, and ignored by an import.
    Said,
}

/// The fault of a cell: the name of the column, and the reason.
pub(super) type Misfit = (String, String);

impl Rows {
    /// Name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Products => "products",
            Self::Stock => "stock",
            Self::People => "people",
        }
    }

    /// The columns, in the order of an export.
    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            Self::Products => PRODUCTS,
            Self::Stock => STOCK,
            Self::People => PEOPLE,
        }
    }

    /// The columns of a header.
    ///
    /// # Errors
    /// A name is unknown or there twice, or a required one is missing; as a sentence.
    pub(super) fn header(self, names: &[String]) -> Result<Vec<&'static Column>, String> {
        let mut header: Vec<&Column> = Vec::new();
        for name in names {
            let name = name.trim();
            let found = self.columns().iter().find(|column| column.name.eq_ignore_ascii_case(name));
            let Some(column) = found else {
                let all: Vec<_> = self.columns().iter().map(|column| column.name).collect();
                return Err(format!("{name:?} is no column; the columns are {}", all.join(", ")));
            };
            if header.iter().any(|other| other.name == column.name) {
                return Err(format!("the column {name} is there twice"));
            }
            header.push(column);
        }
        let is_missing = |column: &&Column| {
            column.is_required && !header.iter().any(|one| one.name == column.name)
        };
        match self.columns().iter().find(is_missing) {
            Some(column) => Err(format!("the column {} is missing", column.name)),
            None => product::are_several(&header).map(|_| header),
        }
    }

    /// Whether rows with this header can have variants or images, so that a product can have several rows; see
    /// [`ProductRows`].
    pub(super) fn can_be_several(self, header: &[&Column]) -> bool {
        self == Self::Products && product::are_several(header) == Ok(true)
    }

    /// The line of a row without its variant and its image; none if the row says nothing.
    ///
    /// # Errors
    /// The first cell that doesn't fit.
    pub(super) fn line(
        self,
        header: &[&'static Column],
        row: &[String],
    ) -> Result<Option<Value>, Misfit> {
        let misfit = |column: &Column, why: String| (column.name.to_owned(), why);
        let cells = filled(header, row);
        let of = |name: &str| cells.iter().find(|(column, _)| column.name == name);
        let is_only_said =
            self == Self::Stock && of("quantity").is_none() && of("receipt").is_none();
        if cells.is_empty() || is_only_said {
            return Ok(None);
        }
        if self == Self::People {
            demand_whole_address(&cells)?;
        }
        let currency = of("currency").and_then(|(_, code)| CurrencyCode::from_code(code.trim()));
        let digits = currency.map_or(2, CurrencyCode::digits);
        let mut line = Value::Object(Map::new());
        for (column, cell) in &cells {
            let value = match column.cell {
                _ if column.path == TYPE || column.path == DETAILS => continue,
                _ if column.is_per_row() => continue,
                Cell::Text | Cell::Said | Cell::Difference => Value::from(cell.as_str()),
                Cell::Number => {
                    let number: i64 = cell
                        .trim()
                        .parse()
                        .map_err(|_| misfit(column, "must be a whole number".to_owned()))?;
                    number.into()
                }
                Cell::Price => {
                    let price = minor_units(cell.trim(), digits);
                    price.map_err(|why| misfit(column, why))?.into()
                }
                Cell::List => listed(cell).map_err(|why| misfit(column, why))?.into(),
                Cell::Contributors => contributors(cell).map_err(|why| misfit(column, why))?,
                Cell::Json => object(cell).map_err(|why| misfit(column, why))?,
                Cell::JsonList => list(cell).map_err(|why| misfit(column, why))?,
            };
            put(&mut line, column.path, value);
        }
        if self == Self::Products {
            let details =
                of("details").map(|(column, cell)| object(cell).map_err(|why| misfit(column, why)));
            let details = details.transpose()?.unwrap_or_else(|| json!({}));
            if let Some((_, kind)) = of("type") {
                put(&mut line, DETAILS, typed(kind.trim(), details));
            }
        }
        Ok(Some(line))
    }

    /// The rows of a line, in the order of [`Self::columns`]. A product has one for each of its variants and images, whichever
    /// are more.
    pub(super) fn rows(self, line: &Value) -> Vec<Vec<String>> {
        let first = self.row(line);
        if self == Self::Products { product::rows(line, first) } else { vec![first] }
    }

    /// The row of a line without its variants and images.
    fn row(self, line: &Value) -> Vec<String> {
        let digits = digits(line);
        let cell = |column: &Column| {
            let (kind, details) = untyped(line);
            let value = match column.path {
                TYPE => return armed(&kind),
                DETAILS => Some(&details).filter(|details| **details != json!({})),
                path => line.pointer(&format!("/{}", path.replace('.', "/"))),
            };
            armed(&value.map_or_else(String::new, |value| shown(column.cell, value, digits)))
        };
        self.columns().iter().map(cell).collect()
    }
}

/// The cells of a row that aren't empty, without those that an import ignores.
fn filled(header: &[&'static Column], row: &[String]) -> Vec<(&'static Column, String)> {
    header
        .iter()
        .zip(row)
        .filter(|(column, _)| column.cell != Cell::Said)
        .map(|(column, cell)| (*column, unarmed(cell).to_owned()))
        .filter(|(_, cell)| !cell.trim().is_empty())
        .collect()
}

/// The text of the column with this path, if its cell isn't empty.
fn cell<'a>(cells: &'a [(&Column, String)], path: &str) -> Option<&'a str> {
    cells.iter().find(|(column, _)| column.path == path).map(|(_, text)| text.as_str())
}

/// Checks that a person has a whole address, or none.
///
/// # Errors
/// The first column that is missing.
fn demand_whole_address(cells: &[(&Column, String)]) -> Result<(), Misfit> {
    let of_address = PEOPLE.iter().filter(|column| column.path.starts_with("address."));
    let (given, missing): (Vec<&Column>, Vec<&Column>) =
        of_address.partition(|column| cell(cells, column.path).is_some());
    match missing.first() {
        Some(column) if !given.is_empty() => {
            let reason = "is missing: an address needs a street, a city and a country";
            Err((column.name.to_owned(), reason.to_owned()))
        }
        _ => Ok(()),
    }
}

/// The number of digits behind the point of a product's prices.
fn digits(line: &Value) -> u8 {
    let currency = line.pointer("/pricing/currency").and_then(Value::as_str);
    let currency = currency.and_then(|code| CurrencyCode::from_code(code.trim()));
    currency.map_or(2, CurrencyCode::digits)
}

/// The name of a column, and the rest of the path, for the path of a field in a line.
pub(super) fn of_field(columns: &[Column], field: &str) -> String {
    if let Some(column) = places::column_of(field) {
        return column.to_owned();
    }
    let field = if field == GENERIC_TYPE { TYPE } else { field };
    // The longest path is the nearest.
    let longest = columns
        .iter()
        .filter(|column| {
            let rest = field.strip_prefix(column.path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
        .max_by_key(|column| column.path.len());
    longest.map_or_else(
        || field.to_owned(),
        |column| format!("{}{}", column.name, &field[column.path.len()..]),
    )
}

/// Sets the field at a path.
fn put(line: &mut Value, path: &str, value: Value) {
    let mut at = line;
    for step in path.split('.') {
        let Value::Object(fields) = at else { return };
        at = fields.entry(step).or_insert_with(|| Value::Object(Map::new()));
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rows: Rows, header: &[&str], row: &[&str]) -> Result<Option<Value>, Misfit> {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let header = rows.header(&owned(header)).expect("a header");
        rows.line(&header, &owned(row))
    }

    #[test]
    fn a_row_is_a_line_and_back() {
        let product = json!({
            "sku": "a", "categories": ["/music", "/film"],
            "pricing": { "list": 1_999, "retail": 5, "currency": "EUR" },
            "contributors": [{ "personId": "eA", "role": "author" }],
            "content": {
                "title": "=1+1", "description": "'-x\nand more", "issueDate": "1959-08-17",
                "shipping": { "weight": 110 },
                "details": { "album": { "genres": ["Jazz"] } },
            },
        });
        let row = Rows::Products.row(&product);
        let header: Vec<&Column> = Rows::Products.columns().iter().collect();
        assert_eq!(row[1], "'=1+1");
        assert_eq!((&*row[3], &*row[4], &*row[6]), ("19.99", "0.05", "/music|/film"));
        assert_eq!(Rows::Products.line(&header, &row), Ok(Some(product)));
    }

    #[test]
    fn a_type_without_own_fields_is_generic() {
        let header = ["sku", "title", "type", "list", "retail", "currency", "details"];
        let row = ["a", "T", "headphones", "1", "1", "JPY", r#"{"properties": []}"#];
        let line = line(Rows::Products, &header, &row).expect("a line").expect("a line");
        let generic = json!({ "properties": [], "type": "headphones" });
        assert_eq!(line["content"]["details"]["generic"], generic);
        assert_eq!(line["pricing"]["list"], 1);
        assert_eq!(Rows::Products.row(&line)[2], "headphones");
    }

    #[test]
    fn faults_name_the_column() {
        let header = ["sku", "title", "type", "list", "retail", "currency"];
        for (list, fits) in [("17.99", true), ("17,9", true), ("17", true), ("1.799", false)] {
            let row = ["a", "T", "album", list, "1", "EUR"];
            let found = line(Rows::Products, &header, &row);
            assert_eq!(found.is_ok(), fits, "{list}");
            assert!(fits || found.is_err_and(|(column, _)| column == "list"));
        }
        for text in ["", "-1", "1.2.3", "1 000", "1e3", "99999999999999999999"] {
            assert!(minor_units(text, 2).is_err(), "{text}");
        }
        let fields = [
            ("content.details.album.tracks[0].title", "details.album.tracks[0].title"),
            ("content.details.generic.type", "type"),
            ("pricing.retail", "retail"),
            ("contributors[1].role", "contributors[1].role"),
            ("content", "content"),
        ];
        for (field, column) in fields {
            assert_eq!(of_field(PRODUCTS, field), column);
        }
    }

    #[test]
    fn an_address_is_whole() {
        let header = ["key", "name", "street", "city", "country"];
        let person = |address: [&str; 3]| {
            line(Rows::People, &header, &[&["ann", "Ann"][..], &address[..]].concat())
        };
        assert!(person(["", " ", ""]).is_ok() && person(["1 Main Street", "Plain", "US"]).is_ok());
        for (address, column) in [
            (["", "", "US"], "street"),
            (["1 Main Street", "", "US"], "city"),
            (["1 Main Street", "Plain", ""], "country"),
        ] {
            let (named, reason) = person(address).expect_err("a part of an address");
            assert_eq!(named, column);
            assert!(reason.contains("a street, a city and a country"), "{reason}");
        }
        let short = line(Rows::People, &["key", "name", "country"], &["ann", "Ann", "US"]);
        assert_eq!(short.expect_err("a part of an address").0, "street");
    }

    #[test]
    fn headers_are_checked() {
        let header = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            Rows::Stock.header(&names).map(|header| header.len())
        };
        assert_eq!(header(&[" SKU", "quantity"]), Ok(2));
        assert!(header(&["sku"]).is_err_and(|why| why.contains("quantity is missing")));
        assert!(header(&["sku", "sku", "quantity"]).is_err_and(|why| why.contains("twice")));
        assert!(header(&["sku", "price"]).is_err_and(|why| why.contains("no column")));
    }

    #[test]
    fn rows_without_a_receipt_say_nothing() {
        let header = ["sku", "quantity", "receipt", "available"];
        assert_eq!(line(Rows::Stock, &header, &["a", "", "", "7"]), Ok(None));
        let booked = line(Rows::Stock, &header, &["a", "2", "", "7"]);
        assert_eq!(booked, Ok(Some(json!({ "sku": "a", "quantity": 2 }))));
    }
}
