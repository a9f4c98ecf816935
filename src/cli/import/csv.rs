//! CSV files: each row becomes a line of the import, and the rows of a product with variants or images become one line.

mod text;

use std::io;

use super::{
    faults::Fault,
    lines::{Line, Lines, MAX_LENGTH, Place},
    reader::Source,
};
use crate::cli::columns::{Column, Misfit, ProductRows, Rows, is_of, orphan};
use text::{Quotes, cells, most};

/// The rows of a file with a header.
pub(super) struct CsvRows {
    lines: Lines,
    rows: Rows,
    separator: u8,
    header: Vec<&'static Column>,
    /// Whether a product can have several rows.
    can_be_several: bool,
    /// What was read behind the rows of a product to find their end, with the place before it.
    ahead: Option<(Place, io::Result<(u64, Row)>)>,
}

/// A row.
enum Row {
    Cells(Vec<String>),
    /// An empty row, or one that can't be read.
    Other(Line),
}

/// Why a file can't be read as CSV.
pub(super) enum Unusable {
    /// The file can't be read.
    Unread(io::Error),
    /// Its header doesn't fit, with the reason.
    Header(String),
}

impl From<io::Error> for Unusable {
    fn from(fault: io::Error) -> Self {
        Self::Unread(fault)
    }
}

impl CsvRows {
    /// Reads the header. Without a given `separator`, it is the one that the header has most.
    pub(super) fn open(
        mut lines: Lines,
        rows: Rows,
        separator: Option<u8>,
    ) -> Result<Self, Unusable> {
        let empty = || Unusable::Header("the file has no header".to_owned());
        let (mut separator, mut first) = (separator, next_text(&mut lines)?.ok_or_else(empty)?);
        // Some spreadsheets write the separator into a line of its own.
        if let Some(named) = first.strip_prefix("sep=").map(str::as_bytes)
            && let &[named] = named
        {
            separator = separator.or(Some(named));
            first = next_text(&mut lines)?.ok_or_else(empty)?;
        }
        let separator = separator.unwrap_or_else(|| most(&first));
        let names = cells(&first, separator).map_err(Unusable::Header)?;
        let header = rows.header(&names).map_err(Unusable::Header)?;
        let can_be_several = rows.can_be_several(&header);
        Ok(Self { lines, rows, separator, header, can_be_several, ahead: None })
    }

    /// Skips lines of the file that were imported; see [`Lines::skip`].
    pub(super) fn skip(&mut self, count: u64, digest: &str) -> io::Result<bool> {
        self.lines.skip(count, digest)
    }

    /// The row of a text.
    fn row(&self, text: &str) -> Row {
        let cells = match cells(text, self.separator) {
            Ok(cells) => cells,
            Err(why) => return Row::Other(Line::Bad(why)),
        };
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            return Row::Other(Line::Text(String::new()));
        }
        if cells.len() != self.header.len() {
            let (cells, columns) = (cells.len(), self.header.len());
            let why = format!("has {cells} cells, but the header has {columns}");
            return Row::Other(Line::Bad(why));
        }
        Row::Cells(cells)
    }

    /// The next row with the number of its first line; none at the end.
    fn read(&mut self) -> io::Result<Option<(u64, Row)>> {
        if let Some((_, ahead)) = self.ahead.take() {
            return ahead.map(Some);
        }
        let Some(first) = self.lines.next()? else { return Ok(None) };
        let number = self.lines.number();
        // A row that isn't UTF-8 is read to its end too, so that the rest of it isn't taken for rows.
        let (mut text, mut fault) = match (first, self.lines.lossy()) {
            (Line::Text(text), _) => (text, None),
            (bad, Some(text)) => (text.to_owned(), Some(bad)),
            (bad, None) => return Ok(Some((number, Row::Other(bad)))),
        };
        let mut quotes = Quotes::of(self.separator);
        let mut is_open = quotes.are_open_after(&text);
        while is_open {
            let end = self.lines.end().to_owned();
            let more = match (self.lines.next()?, self.lines.lossy()) {
                (None, _) => None,
                (Some(Line::Text(more)), _) => Some(more),
                (Some(bad), Some(more)) => {
                    fault = fault.or(Some(bad));
                    Some(more.to_owned())
                }
                (Some(bad), None) => return Ok(Some((number, Row::Other(bad)))),
            };
            let Some(more) = more.filter(|more| text.len() + more.len() < MAX_LENGTH) else {
                let why = "has a quote that isn't closed".to_owned();
                return Ok(Some((number, Row::Other(Line::Bad(why)))));
            };
            // A line break in a cell stays as it is written.
            text.push_str(&end);
            text.push_str(&more);
            is_open = quotes.are_open_after(&more);
        }
        Ok(Some((number, fault.map_or_else(|| self.row(&text), Row::Other))))
    }

    /// The line of the import for a row.
    fn line(&self, cells: &[String]) -> Line {
        match self.rows.line(&self.header, cells) {
            Ok(line) => Line::Text(line.map_or_else(String::new, |line| line.to_string())),
            Err(misfit) => unfit(misfit),
        }
    }

    /// The line of the import for all rows of a product, and its number: that of the row with a fault, else of the first
    /// row. A row of a variant or an image without that of its product is a line of its own.
    fn product(&mut self, number: u64, first: &[String]) -> (u64, Line) {
        if let Some(misfit) = orphan(&self.header, first) {
            return (number, unfit(misfit));
        }
        let mut length = size(first);
        let (mut product, mut fault) = match ProductRows::begin(&self.header, number, first) {
            Ok(product) => (Some(product), None),
            Err(misfit) => (None, Some((number, unfit(misfit)))),
        };
        loop {
            let place = self.lines.place();
            match self.read() {
                Ok(None) => break,
                Ok(Some((_, Row::Other(Line::Text(_))))) => {}
                Ok(Some((row, Row::Cells(cells)))) if is_of(&self.header, first, &cells) => {
                    // Behind a fault no row is kept.
                    let Some(rows) = &mut product else { continue };
                    length += size(&cells);
                    let added = rows.add(row, &cells).map_err(unfit);
                    let added = if length > MAX_LENGTH { Err(too_long()) } else { added };
                    if let Err(line) = added {
                        (product, fault) = (None, Some((row, line)));
                    }
                }
                Ok(Some(other)) => {
                    self.ahead = Some((place, Ok(other)));
                    break;
                }
                Err(failed) => {
                    self.ahead = Some((place, Err(failed)));
                    break;
                }
            }
        }
        match (fault, product) {
            (Some(fault), _) => fault,
            (None, Some(product)) => {
                let (line, places) = product.into_line();
                let text = line.to_string();
                let is_alone = places.is_empty();
                (number, if is_alone { Line::Text(text) } else { Line::Rows(text, places) })
            }
            (None, None) => (number, Line::Text(String::new())),
        }
    }
}

/// Number of bytes of a row.
fn size(cells: &[String]) -> usize {
    cells.iter().map(|cell| cell.len() + 1).sum()
}

/// The fault of a product whose rows are too long together.
fn too_long() -> Line {
    Line::Bad(format!("is longer than {MAX_LENGTH} bytes with the rows of the product above it"))
}

fn unfit((column, reason): Misfit) -> Line {
    Line::Unfit(Fault { field: Some(column), reason })
}

impl Source for CsvRows {
    fn next(&mut self) -> io::Result<Option<(u64, Line)>> {
        Ok(match self.read()? {
            None => None,
            Some((number, Row::Other(line))) => Some((number, line)),
            Some((number, Row::Cells(cells))) if self.can_be_several => {
                Some(self.product(number, &cells))
            }
            Some((number, Row::Cells(cells))) => Some((number, self.line(&cells))),
        })
    }

    fn number(&self) -> u64 {
        self.ahead.as_ref().map_or_else(|| self.lines.number(), |(place, _)| place.count)
    }

    fn digest(&self) -> String {
        self.ahead.as_ref().map_or_else(|| self.lines.digest(), |(place, _)| place.digest())
    }
}

/// The next line, if it is a text.
fn next_text(lines: &mut Lines) -> Result<Option<String>, Unusable> {
    match lines.next()? {
        None => Ok(None),
        Some(Line::Text(text)) => Ok(Some(text)),
        Some(_) => Err(Unusable::Header("the first line isn't a header in UTF-8".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn rows(text: &str) -> Result<Vec<(u64, Line)>, String> {
        let lines = Lines::of(Cursor::new(text.as_bytes().to_vec())).expect("lines");
        let mut rows = CsvRows::open(lines, Rows::People, None).map_err(|fault| match fault {
            Unusable::Header(why) => why,
            Unusable::Unread(fault) => fault.to_string(),
        })?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().expect("a row") {
            all.push(row);
        }
        Ok(all)
    }

    fn person(key: &str, name: &str) -> Line {
        Line::Text(serde_json::json!({ "key": key, "name": name }).to_string())
    }

    #[test]
    fn the_habits_of_spreadsheets_are_known() {
        let found = rows("\u{feff}key;name\r\na;\"A;\r\n\"\"B\"\"\"\r\n;\r\nb;5\" disc\r\n");
        let found = found.expect("rows");
        assert_eq!(found[0], (2, person("a", "A;\r\n\"B\"")));
        assert_eq!(found[1], (4, Line::Text(String::new())), "an empty row");
        assert_eq!(found[2], (5, person("b", "5\" disc")));
        for text in ["key,name\na,A\n", "key\tname\na\tA", "sep=;\nkey;name\na;A\n"] {
            let found = rows(text).expect("rows");
            assert_eq!(found[0].1, person("a", "A"), "{text:?}");
        }
    }

    #[test]
    fn rows_of_one_product_are_one_line() {
        let text = "sku,title,type,list,retail,currency,variantSku,option1Name,option1Value\n\
            s,Shirt,shirt,1,1,EUR,s.a,size,M\n\n,,,,,,s.b,,L\nt,Tie,tie,1,1,EUR,,,\n\
            u,Cap,cap,1,1,EUR,,,\nu,,,,,,u.a,,M\n,,,,,,u.b,size,L\n";
        let lines = Lines::of(Cursor::new(text.as_bytes().to_vec())).expect("lines");
        let Ok(mut rows) = CsvRows::open(lines, Rows::Products, None) else { panic!("a header") };
        let Some((2, shirt)) = rows.next().expect("a product") else { panic!("the shirt") };
        assert_eq!(shirt.row_of("variants[1].options"), Some(4));
        assert_eq!(shirt.row_of("content.title"), None);
        assert!(shirt.text().is_some_and(|text| text.contains("s.b")));
        // The next row was read to find the end, but isn't done.
        let first = text.split_inclusive('\n').take(4).collect::<String>();
        let mut before = Lines::of(Cursor::new(first.into_bytes())).expect("lines");
        while before.next().expect("a line").is_some() {}
        assert_eq!((rows.number(), rows.digest()), (4, before.digest()));
        assert!(matches!(rows.next(), Ok(Some((5, Line::Text(text)))) if text.contains("Tie")));
        let cap = rows.next().expect("a product").expect("the cap");
        assert_eq!(cap.0, 7, "the row with the fault");
        assert!(
            matches!(&cap.1, Line::Unfit(fault) if fault.field.as_deref() == Some("option1Name"))
        );
        assert_eq!(rows.next().expect("the end"), None);
        assert_eq!(rows.number(), 8);
    }

    fn of_products(rows: &str) -> Vec<(u64, Line)> {
        let text = format!(
            "sku,title,type,list,retail,currency,variantSku,option1Name,option1Value\n{rows}"
        );
        let lines = Lines::of(Cursor::new(text.into_bytes())).expect("lines");
        let Ok(mut rows) = CsvRows::open(lines, Rows::Products, None) else { panic!("a header") };
        std::iter::from_fn(|| rows.next().expect("a row")).collect()
    }

    #[test]
    fn a_variant_without_a_product_above_it_is_alone() {
        let found = of_products(
            "s,,,,,,s.z,size,Z\n,,,,,,s.y,size,Y\ns,Shirt,shirt,1,1,EUR,s.a,size,M\ns,,,,,,s.b,,L\n",
        );
        let [(2, Line::Unfit(first)), (3, Line::Unfit(second)), (4, shirt)] = &found[..] else {
            panic!("{found:?}")
        };
        let field = Some("variantSku");
        assert_eq!((first.field.as_deref(), second.field.as_deref()), (field, field));
        assert_eq!(shirt.row_of("variants[1].sku"), Some(5));
    }

    #[test]
    fn the_rows_of_a_product_are_no_longer_than_a_line() {
        let long = "x".repeat(MAX_LENGTH / 4);
        let row = |code: char| format!("s,,,,,,s.{code},,{long}\n");
        let further: String = "abcde".chars().map(row).collect();
        let found = of_products(&format!(
            "s,Shirt,shirt,1,1,EUR,s.m,size,M\n{further}t,Tie,tie,1,1,EUR,,,\n"
        ));
        // The fourth further row is one too many; no row behind it is a line of its own.
        let [(6, Line::Bad(why)), (8, Line::Text(tie))] = &found[..] else { panic!("lines") };
        assert!(why.contains("longer") && tie.contains("Tie"), "{why}");
        let fewer: String = "abc".chars().map(row).collect();
        let found = of_products(&format!("s,Shirt,shirt,1,1,EUR,s.m,size,M\n{fewer}"));
        let [(2, shirt)] = &found[..] else { panic!("one line") };
        assert_eq!(shirt.row_of("variants[3].sku"), Some(5));
    }

    #[test]
    fn no_row_hides_behind_a_carriage_return() {
        let found = rows("key,name\na,A\rb,B\nc,\"C\rC\"\nd,D\r").expect("rows");
        let [(2, Line::Bad(why)), (3, quoted), (4, last)] = &found[..] else { panic!("{found:?}") };
        assert!(why.contains("carriage return"), "{why}");
        assert_eq!((quoted, last), (&person("c", "C\rC"), &person("d", "D")));
        for text in ["key,name\ra,A\rb,B\r", "key,name\ra,A\nb,B\n"] {
            assert!(rows(text).is_err_and(|why| why.contains("carriage return")), "{text:?}");
        }
    }

    #[test]
    fn faults_are_those_of_their_rows() {
        assert!(rows("").is_err_and(|why| why.contains("no header")));
        assert!(rows("key,nam\n").is_err_and(|why| why.contains("no column")));
        let found = rows("key,name\na,A,x\nb,B\nc,\"C\n").expect("rows");
        assert!(matches!(&found[0].1, Line::Bad(why) if why.contains("3 cells")));
        assert_eq!(found[1], (3, person("b", "B")));
        assert!(matches!(&found[2].1, Line::Bad(why) if why.contains("isn't closed")));
    }
}
