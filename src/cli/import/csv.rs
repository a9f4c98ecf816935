//! CSV files: each row becomes a line of the import.

use std::io;

use super::{
    faults::Fault,
    lines::{Line, Lines, MAX_LENGTH},
    reader::Source,
};
use crate::cli::columns::{Column, Rows};

/// The rows of a file with a header.
pub(super) struct CsvRows {
    lines: Lines,
    rows: Rows,
    separator: u8,
    header: Vec<&'static Column>,
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

/// Separators that are recognised.
const SEPARATORS: [u8; 3] = *b",;\t";

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
        Ok(Self { lines, rows, separator, header })
    }

    /// Skips lines of the file that were imported; see [`Lines::skip`].
    pub(super) fn skip(&mut self, count: u64, digest: &str) -> io::Result<bool> {
        self.lines.skip(count, digest)
    }

    /// The line of the import for a row.
    fn line(&self, row: &str) -> Line {
        let cells = match cells(row, self.separator) {
            Ok(cells) => cells,
            Err(why) => return Line::Bad(why),
        };
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            return Line::Text(String::new());
        }
        if cells.len() != self.header.len() {
            let (cells, columns) = (cells.len(), self.header.len());
            return Line::Bad(format!("has {cells} cells, but the header has {columns}"));
        }
        match self.rows.line(&self.header, &cells) {
            Ok(line) => Line::Text(line.map_or_else(String::new, |line| line.to_string())),
            Err((column, why)) => Line::Unfit(Fault { field: Some(column), reason: why }),
        }
    }
}

impl Source for CsvRows {
    fn next(&mut self) -> io::Result<Option<(u64, Line)>> {
        let Some(first) = self.lines.next()? else { return Ok(None) };
        let number = self.lines.number();
        let mut row = match first {
            Line::Text(text) => text,
            other => return Ok(Some((number, other))),
        };
        while is_open(&row, self.separator) {
            let more = match self.lines.next()? {
                Some(Line::Text(text)) if row.len() + text.len() < MAX_LENGTH => text,
                Some(Line::Text(_)) | None => {
                    return Ok(Some((
                        number,
                        Line::Bad("has a quote that isn't closed".to_owned()),
                    )));
                }
                Some(other) => return Ok(Some((number, other))),
            };
            row.push('\n');
            row.push_str(&more);
        }
        Ok(Some((number, self.line(&row))))
    }

    fn number(&self) -> u64 {
        self.lines.number()
    }

    fn digest(&self) -> String {
        self.lines.digest()
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

/// The separator that a header has most; a comma if it has none.
fn most(header: &str) -> u8 {
    let count = |separator: u8| header.bytes().filter(|byte| *byte == separator).count();
    // Of equal ones the first.
    SEPARATORS.into_iter().rev().max_by_key(|separator| count(*separator)).unwrap_or(b',')
}

/// Whether a quoted cell goes on behind the end of the text. A quote begins one only at the start of a cell.
fn is_open(text: &str, separator: u8) -> bool {
    let (mut is_quoted, mut is_start) = (false, true);
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_quoted => is_quoted = bytes.next_if_eq(&b'"').is_some(),
            b'"' if is_start => is_quoted = true,
            _ => {}
        }
        is_start = !is_quoted && byte == separator;
    }
    is_quoted
}

/// The cells of a row.
fn cells(row: &str, separator: u8) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .buffer_capacity(row.len().clamp(64, 1 << 16))
        .from_reader(row.as_bytes());
    match reader.records().next() {
        None => Ok(Vec::new()),
        Some(Ok(record)) => Ok(record.iter().map(str::to_owned).collect()),
        Some(Err(fault)) => Err(format!("isn't CSV: {fault}")),
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
        assert_eq!(found[0], (2, person("a", "A;\n\"B\"")));
        assert_eq!(found[1], (4, Line::Text(String::new())), "an empty row");
        assert_eq!(found[2], (5, person("b", "5\" disc")));
        for text in ["key,name\na,A\n", "key\tname\na\tA", "sep=;\nkey;name\na;A\n"] {
            let found = rows(text).expect("rows");
            assert_eq!(found[0].1, person("a", "A"), "{text:?}");
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
