//! Terminal output: results to stdout, everything else to stderr.

use std::{
    fmt::Display,
    io::{self, Write},
    sync::OnceLock,
};

use super::failure::Failure;

/// Why a result couldn't be written, the first time.
static UNWRITTEN: OnceLock<String> = OnceLock::new();

/// Prints one line of a command's result.
pub(super) fn say(line: impl Display) {
    print(format_args!("{line}\n"));
}

/// Prints a command's result as it is. The command goes on with its work if that fails: [`written`] tells so at the end.
pub(super) fn print(text: impl Display) {
    let mut stdout = io::stdout().lock();
    let printed = write!(stdout, "{text}").and_then(|()| stdout.flush());
    // A reader that has closed the pipe, as `head` does, wants no more.
    if let Err(fault) = printed
        && fault.kind() != io::ErrorKind::BrokenPipe
    {
        let _earlier = UNWRITTEN.set(fault.to_string());
    }
}

/// Whether all results could be written.
///
/// # Errors
/// One couldn't: exit code 3.
pub(super) fn written() -> Result<(), Failure> {
    match UNWRITTEN.get() {
        Some(fault) => Err(Failure::trouble(format!("can't write stdout: {fault}"))),
        None => Ok(()),
    }
}

/// Prints an error.
pub(super) fn complain(sentence: impl Display) {
    // If stderr is closed too, the error can't be reported.
    let _closed = writeln!(io::stderr().lock(), "docgate: {sentence}");
}

/// Prints progress.
pub(super) fn remark(sentence: impl Display) {
    let _closed = writeln!(io::stderr().lock(), "{sentence}");
}

/// A number and its noun.
pub(super) fn counted<N>(count: N, one: &str, several: &str) -> String
where
    N: Display + PartialEq + From<u8>,
{
    let noun = if count == N::from(1) { one } else { several };
    format!("{count} {noun}")
}

/// Formats rows as aligned columns; the last column isn't padded.
pub(super) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    rows.iter().map(line).collect()
}
