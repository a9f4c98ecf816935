//! The text of CSV: its separator, its quotes and its cells.

/// Separators that are recognised.
const SEPARATORS: [u8; 3] = *b",;\t";

/// The separator that a header has most; a comma if it has none.
pub(super) fn most(header: &str) -> u8 {
    let count = |separator: u8| header.bytes().filter(|byte| *byte == separator).count();
    // Of equal ones the first.
    SEPARATORS.into_iter().rev().max_by_key(|separator| count(*separator)).unwrap_or(b',')
}

/// Reads the quotes of a row line by line.
pub(super) struct Quotes {
    separator: u8,
    is_quoted: bool,
    is_start: bool,
}

impl Quotes {
    /// Before the first line.
    pub(super) fn of(separator: u8) -> Self {
        Self { separator, is_quoted: false, is_start: true }
    }

    /// Whether a quoted cell goes on behind the end of this line, which follows those before it. A quote begins one only at
    /// the start of a cell.
    pub(super) fn are_open_after(&mut self, line: &str) -> bool {
        let mut bytes = line.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' if self.is_quoted => self.is_quoted = bytes.next_if_eq(&b'"').is_some(),
                b'"' if self.is_start => self.is_quoted = true,
                _ => {}
            }
            self.is_start = !self.is_quoted && byte == self.separator;
        }
        self.is_quoted
    }
}

/// The cells of a row.
pub(super) fn cells(row: &str, separator: u8) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .buffer_capacity(row.len().clamp(64, 1 << 16))
        .from_reader(row.as_bytes());
    let mut records = reader.records();
    match (records.next(), records.next()) {
        (None, _) => Ok(Vec::new()),
        (Some(Ok(record)), None) => Ok(record.iter().map(str::to_owned).collect()),
        (Some(Err(fault)), _) => Err(format!("isn't CSV: {fault}")),
        // Lines end with a line feed, but the parser also ends rows at a carriage return.
        (Some(Ok(_)), Some(_)) => Err("has a carriage return outside of quotes: lines end with \
                                       a line feed, with or without a carriage return before it"
            .to_owned()),
    }
}
