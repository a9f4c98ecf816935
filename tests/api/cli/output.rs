//! Commands whose results nobody reads, or whose results can't be written.

use std::{
    fs::File,
    io::pipe,
    process::{Command, Output, Stdio},
};

use super::{docgate, done, on_shop};
use crate::support::{
    fresh_name,
    recorded::{assert_routed, database_of},
};

/// Runs it to its end with this stdout. Returns its exit code, and what it says on stderr.
fn writing_to(stdout: impl Into<Stdio>, mut command: Command) -> (i32, String) {
    let database = database_of(&command);
    let output = command.stdin(Stdio::null()).stdout(stdout).output();
    let Output { status, stderr, .. } = output.expect("the binary runs");
    assert_routed(database.as_deref());
    (status.code().expect("an exit code"), String::from_utf8(stderr).expect("UTF-8"))
}

/// As [`writing_to`], with a reader that is gone, as `head` is after its lines.
fn unread(command: Command) -> (i32, String) {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    writing_to(writer, command)
}

#[test]
fn a_command_whose_reader_is_gone_does_its_work() {
    let name = fresh_name();
    let (code, said) = unread(on_shop(&name, &["indexes", "plan"]));
    assert_eq!((code, said.as_str()), (1, ""), "indexes are missing");
    let (code, said) = unread(on_shop(&name, &["indexes", "apply"]));
    assert_eq!((code, said.as_str()), (0, ""));
    let (code, table, _) = done(on_shop(&name, &["indexes", "plan"]));
    assert_eq!(code, 0, "{table}");
}

#[test]
fn a_result_that_cant_be_written_is_no_success() {
    for arguments in [&["schema"][..], &["schema", "documents"], &["shards", "plan"]] {
        let full = File::options().write(true).open("/dev/full").expect("a full disk");
        let (code, said) = writing_to(full, docgate(arguments));
        assert_eq!(code, 3, "{arguments:?}: {said}");
        assert!(said.starts_with("docgate: can't write stdout: "), "{arguments:?}: {said}");
    }
}
