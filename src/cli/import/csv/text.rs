//! The text of CSV: its separator, its quotes and its cells.

/// Separators that are recognised.
const SEPARATORS: [u8; 3] = *b",;\t";

/// The separator that a header has most; a comma if it has none.
pub(super) fn most(header: &str) -> u8 {
    let count = |separator: u8| header.bytes().filter(|byte| *byte == separator).count();
    // Of equal ones the first.
    SEPARATORS.into_iter().rev().max_by_key(|separator| count(*separator)).unwrap_or(b',')
}

/// Whether a quoted cell goes on behind the end of the text. A quote begins one only at the start of a cell.
pub(super) fn is_open(text: &str, separator: u8) -> bool {
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
pub(super) fn cells(row: &str, separator: u8) -> Result<Vec<String>, String> {
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
