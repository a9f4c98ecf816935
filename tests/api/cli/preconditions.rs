//! What commands refuse before their work: rooms that are switched off, missing indexes and mistyped databases.

use std::path::Path;

use super::{database, done, on};
use crate::support::fresh_name;
use mongodb::bson::doc;

/// Asserts that nobody but the owner can use a file or a folder.
pub(super) fn assert_private(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let found = std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!(found, mode, "{} has mode {found:o}", path.display());
}

#[test]
fn imports_and_exports_of_rooms_that_are_switched_off_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines");
    std::fs::write(&file, "key,name\nann,Ann\n").expect("written");
    let file = file.display().to_string();
    for (arguments, room) in [
        (&["import", "categories", &file][..], "categories"),
        (&["import", "people", &file], "people"),
        (&["import", "products", &file], "catalog"),
        (&["import", "stock", &file], "inventory"),
        (&["import", "discussions", &file], "comments"),
        (&["import", "world", &file], "game"),
        (&["import", "people", &file, "--dry-run"], "people"),
        (&["import", "csv", "people", &file], "people"),
        (&["import", "csv", "products", &file], "catalog"),
        (&["export", "csv", "people"], "people"),
        (&["export", "csv", "stock"], "inventory"),
    ] {
        let mut command = on(&fresh_name(), arguments);
        command.env("DOCGATE_ROOMS", "queue");
        let (code, out, said) = done(command);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {said}");
        let told = format!("the room {room} is switched off");
        assert!(said.contains(&told), "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_without_indexes_is_refused() {
    let name = fresh_name();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let json = file("people.jsonl", "{\"key\": \"ann\", \"name\": \"Ann\"}\n");
    let csv = file("people.csv", "key,name\nann,Ann\n");
    let commands = [
        &["import", "people", &json][..],
        &["import", "people", &json, "--dry-run"],
        &["import", "csv", "people", &csv],
    ];
    for arguments in commands {
        let (code, out, said) = done(on(&name, arguments));
        assert_eq!((code, out.as_str()), (3, ""), "{arguments:?}: {said}");
        let told = "indexes are missing: run `docgate indexes apply`";
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
    let people = database(&name).await.collection::<mongodb::bson::Document>("people");
    assert_eq!(people.count_documents(doc! {}).await.expect("a count"), 0);
    assert_eq!(done(on(&name, &["indexes", "apply"])).0, 0);
    for arguments in commands {
        let (code, _, said) = done(on(&name, arguments));
        assert_eq!(code, 0, "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistyped_database_is_no_success() {
    let name = fresh_name();
    // What others have in it isn't docgate's.
    let foreign = database(&name).await.collection::<mongodb::bson::Document>("notOfDocgate");
    foreign.insert_one(doc! { "_id": 1 }).await.expect("inserted");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("products.csv");
    let path = file.display().to_string();
    for arguments in [
        &["check"][..],
        &["check", "--repair"],
        &["migrate"],
        &["migrate", "--dry-run"],
        &["person", "export", "eve"],
        &["person", "export", "eve", "--out", &path],
        &["person", "erase", "eve", "--dry-run"],
        &["person", "erase", "eve", "--yes"],
        &["export", "csv", "products"],
        &["export", "csv", "products", &path],
    ] {
        let (code, out, said) = done(on(&name, arguments));
        assert_eq!((code, out.as_str()), (3, ""), "{arguments:?}: {said}");
        let told = format!("the database {name} has none of docgate's collections");
        assert!(said.contains(&told), "{arguments:?}: {said}");
        assert!(!file.exists(), "{arguments:?} leaves a file");
    }
    let names = database(&name).await.list_collection_names().await.expect("names");
    assert_eq!(names, ["notOfDocgate"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_that_were_not_searched_for_a_person_are_named() {
    let name = fresh_name();
    assert_eq!(done(on(&name, &["indexes", "apply"])).0, 0);
    let person = |arguments: &[&str], rooms: Option<&str>| {
        let mut command = on(&name, arguments);
        if let Some(rooms) = rooms {
            command.env("DOCGATE_ROOMS", rooms);
        }
        let (code, _, said) = done(command);
        assert_eq!(code, 0, "{arguments:?}: {said}");
        said
    };
    for arguments in [&["person", "export", "eve"][..], &["person", "erase", "eve", "--dry-run"]] {
        let said = person(arguments, Some("queue,events"));
        let told = said.lines().find(|line| line.starts_with("not searched"));
        let told = told.expect("the rooms that weren't searched");
        assert!(told.contains("orders") && told.contains("game"), "{told}");
        assert!(!told.contains("queue") && !told.contains("events"), "{told}");
        assert!(!person(arguments, None).contains("not searched"), "{arguments:?}");
    }
    // An erasure searches them, and is finished if they hold nothing of the person.
    let said = person(&["person", "erase", "eve", "--yes"], Some("queue,events"));
    assert!(!said.contains("not searched"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_can_be_read_by_their_owner_alone() {
    let name = fresh_name();
    assert_eq!(done(on(&name, &["indexes", "apply"])).0, 0);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("people.csv");
    // A file of an earlier export, which others may read.
    std::fs::write(&file, "a longer text than that of the next export").expect("written");
    let path = file.display().to_string();
    let (code, out, said) = done(on(&name, &["export", "csv", "people", &path]));
    assert_eq!((code, out.as_str()), (2, ""), "{said}");
    assert!(said.contains(&format!("{path} exists")) && said.contains("--force"), "{said}");
    let text = std::fs::read_to_string(&file).expect("a file");
    assert_eq!(text, "a longer text than that of the next export");
    assert_eq!(done(on(&name, &["export", "csv", "people", &path, "--force"])).0, 0);
    assert_private(&file, 0o600);
    let text = std::fs::read_to_string(&file).expect("a file");
    assert!(text.starts_with("key,") && text.lines().count() == 1, "{text}");

    let backup = folder.path().join("below/backup");
    let (code, _, said) = done(on(&name, &["export", &backup.display().to_string()]));
    assert_eq!(code, 0, "{said}");
    assert_private(&backup, 0o700);
    for entry in std::fs::read_dir(&backup).expect("a folder") {
        assert_private(&entry.expect("an entry").path(), 0o600);
    }
}
