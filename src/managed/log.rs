//! The log of a mongod.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The text of a log from a position on.
pub(super) fn read_from(file: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(file)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last five errors in mongod's log, whose lines are JSON, and in the plain text that mongod or the shell
/// printed before the log was open.
/// <https://www.mongodb.com/docs/manual/reference/log-messages/>
pub(super) fn errors_in(text: &str) -> String {
    let mut errors: Vec<_> = text.lines().rev().filter_map(error_of).take(5).collect();
    errors.reverse();
    errors.join("\n")
}

fn error_of(line: &str) -> Option<String> {
    let Ok(entry) = serde_json::from_str::<serde_json::Value>(line) else {
        return Some(line.to_owned());
    };
    let is_error = matches!(entry["s"].as_str(), Some("E" | "F"));
    let message = entry["msg"].as_str().unwrap_or_default().trim();
    is_error.then(|| match entry.get("attr") {
        Some(details) => format!("{message} {details}"),
        None => message.to_owned(),
    })
}
