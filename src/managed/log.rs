//! The log of a mongod.

use std::fs::{self, File};
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

/// Maximum number of bytes that are read of a long log.
const END: u64 = 256 << 10;

/// The text of the last whole lines of a log, from a position on.
pub(super) fn read_end(file: &Path, start: u64) -> io::Result<String> {
    let end = fs::metadata(file)?.len().saturating_sub(END);
    if end <= start {
        return read_from(file, start);
    }
    let text = read_from(file, end)?;
    // The first line is probably cut.
    Ok(text.split_once('\n').map_or_else(String::new, |(_, whole)| whole.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_log_has_whole_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("log");
        let line = format!("{}\n", "x".repeat(999));
        fs::write(&file, line.repeat(1_000)).expect("written");
        assert_eq!(read_end(&file, 0).expect("read"), line.repeat(262));
        assert_eq!(read_end(&file, 999_000).expect("read"), line);
    }
}
