//! The file of `docgate person export --out`.

use std::{os::unix::fs::symlink, path::Path, process::Command};

use mongodb::bson::doc;

use super::super::{Running, database, done, on};
use crate::support::{FailPoint, fresh_name, until};

/// A command of a database with few collections to search.
fn with_few_rooms(database: &str, arguments: &[&str]) -> Command {
    let mut command = on(database, arguments);
    command.env("DOCGATE_ROOMS", "queue");
    command
}

fn exporting(database: &str, out: &Path) -> Command {
    with_few_rooms(database, &["person", "export", "nobody", "--out", &out.display().to_string()])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_is_interrupted_leaves_no_file() {
    let name = fresh_name();
    assert_eq!(done(with_few_rooms(&name, &["indexes", "apply"])).0, 0);
    let (folder, database) = (tempfile::tempdir().expect("a folder"), database(&name).await);
    let file = folder.path().join("nobody.jsonl");
    let slow = doc! {
        "failCommands": ["find"], "namespace": format!("{name}.jobs"), "blockConnection": true,
        "blockTimeMS": 20_000,
    };
    let slow = FailPoint::on(&database, doc! { "times": 10_000 }, slow).await;
    let running = Running::start(exporting(&name, &file));
    until("the file", async || file.exists()).await;
    running.signal("TERM");
    assert_eq!(running.ends(), 3);
    assert!(!file.exists());
    slow.off().await;
}

/// Of nobody, because an export without anything removes its file.
#[test]
fn an_export_into_a_device_leaves_the_device() {
    let (name, folder) = (fresh_name(), tempfile::tempdir().expect("a folder"));
    assert_eq!(done(with_few_rooms(&name, &["indexes", "apply"])).0, 0);
    let device = folder.path().join("null");
    symlink("/dev/null", &device).expect("a link");
    let (code, _, said) = done(exporting(&name, &device));
    assert_eq!(code, 0, "{said}");
    assert!(device.is_symlink());
}
