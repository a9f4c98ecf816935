//! What is printed: results to stdout, everything else to stderr.

use std::{
    fmt::Display,
    io::{self, Write},
    process,
};

/// One line of a command's result.
pub(super) fn say(line: impl Display) {
    print(format_args!("{line}\n"));
}

/// A command's result as it stands.
pub(super) fn print(text: impl Display) {
    let mut stdout = io::stdout().lock();
    if write!(stdout, "{text}").and_then(|()| stdout.flush()).is_err() {
        // Whoever read it has heard enough, as `head` does.
        process::exit(0);
    }
}

/// What went wrong.
pub(super) fn complain(sentence: impl Display) {
    // Nobody is left to be told when stderr is closed too.
    let _closed = writeln!(io::stderr().lock(), "docgate: {sentence}");
}

/// What is going on.
pub(super) fn remark(sentence: impl Display) {
    let _closed = writeln!(io::stderr().lock(), "{sentence}");
}

/// Rows as aligned columns; the last column isn't padded.
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
