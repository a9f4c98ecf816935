//! Commands whose results nobody reads, or whose results can't be written.

use std::{
    fs::File,
    io::pipe,
    process::{Command, Output, Stdio},
};

use mongodb::bson::{Document, doc};

use super::{database, docgate, done, on_shop};
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
pub(super) fn unread(command: Command) -> (i32, String) {
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

/// An export that read on would come to a document that it can't read.
/// The old content stays until the new one is complete.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_fails_leaves_the_file_that_it_was_to_replace() {
    let name = fresh_name();
    assert_eq!(done(on_shop(&name, &["indexes", "apply"])).0, 0);
    let people = database(&name).await.collection::<Document>("people");
    people.insert_one(doc! { "_id": "b", "v": 1 }).await.expect("inserted");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("people.csv");
    std::fs::write(&file, "the export of yesterday").expect("written");
    let path = file.display().to_string();
    let export = || done(on_shop(&name, &["export", "csv", "people", &path, "--force"]));
    let files = || std::fs::read_dir(folder.path()).expect("a folder").count();
    let (code, _, said) = export();
    assert_eq!(code, 3, "a person can't be read: {said}");
    let text = || std::fs::read_to_string(&file).expect("a file");
    assert_eq!((text().as_str(), files()), ("the export of yesterday", 1));
    people.delete_one(doc! { "_id": "b" }).await.expect("removed");
    let (code, _, said) = export();
    assert_eq!(code, 0, "{said}");
    assert!(text().starts_with("key,"), "{}", text());
    assert_eq!(files(), 1);
    // What a link leads to is written, and the link stays.
    let link = folder.path().join("link.csv");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    std::fs::write(&file, "the export of yesterday").expect("written");
    let path = link.display().to_string();
    assert_eq!(done(on_shop(&name, &["export", "csv", "people", &path, "--force"])).0, 0);
    assert!(text().starts_with("key,"), "{}", text());
    assert!(link.is_symlink());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_reads_no_further_than_it_can_write() {
    let name = fresh_name();
    assert_eq!(done(on_shop(&name, &["indexes", "apply"])).0, 0);
    // More than are read at once, and more than are kept before they are written.
    let person = |number: usize| {
        let (id, title) = (format!("a{number:04}"), format!("{number} {}", "x".repeat(100)));
        doc! {
            "_id": id, "name": &title, "nameKey": &title, "works": [], "version": 1_i64,
            "outbox": [], "origin": "", "v": 1,
        }
    };
    let people = database(&name).await.collection::<Document>("people");
    people.insert_many((0..1_000).map(person)).await.expect("inserted");
    people.insert_one(doc! { "_id": "b", "v": 1 }).await.expect("inserted");
    let export = || on_shop(&name, &["export", "csv", "people"]);
    let (code, _, said) = done(export());
    assert!(code == 3 && !said.contains("can't write"), "the last one can't be read: {said}");
    // On a busy machine the last one may be read before a write fails.
    let ended_early = |write: &dyn Fn() -> (i32, String)| {
        let mut tries = (0..20).map(|_| write());
        let ended = tries.find(|(code, said)| *code == 141 || said.contains("can't write"));
        ended.expect("an export that hasn't read the last one")
    };
    assert_eq!(ended_early(&|| unread(export())), (141, String::new()));
    let full = || File::options().write(true).open("/dev/full").expect("a full disk");
    let (code, said) = ended_early(&|| writing_to(full(), export()));
    assert!(code == 3 && said.starts_with("docgate: can't write stdout: "), "{said}");
}
