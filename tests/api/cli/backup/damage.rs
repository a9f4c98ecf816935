//! Exports that are cut or changed, databases that aren't empty, and restores that are cut.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    thread,
};

use mongodb::{
    Database,
    bson::{Document, doc},
};

use super::{
    Drill, Running, contents, database, finished, fresh_name, time_passes, with_few_rooms,
};
use crate::support::{FailPoint, until};

/// A database with some documents in collections of its own.
async fn filled(count: i32) -> String {
    let name = fresh_name();
    let database = database(&name).await;
    let ring = doc! { "create": "ring", "capped": true, "size": 65_536 };
    database.run_command(ring).await.expect("created");
    database.collection("ring").insert_one(doc! { "_id": "m" }).await.expect("inserted");
    let many: Vec<Document> =
        (0..count).map(|n| doc! { "_id": n, "text": format!("{n} {}", "x".repeat(200)) }).collect();
    database.collection("many").insert_many(many).await.expect("inserted");
    name
}

/// A damage, how it is done to an export, and what is said about it.
type Damage = (&'static str, fn(&Path), &'static str);

/// A copy of an export, to be damaged.
fn copy(drill: &Drill, from: &str, to: &str) {
    fs::create_dir(drill.path(to)).expect("created");
    for entry in fs::read_dir(drill.path(from)).expect("a folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, drill.path(to).join(path.file_name().expect("a name"))).expect("copied");
    }
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("the file");
    change(&mut bytes);
    fs::write(path, bytes).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_export_is_refused_before_anything_is_written() {
    let (drill, own, target) = (Drill::new(), filled(1_000).await, fresh_name());
    assert_eq!(drill.export(&own, "whole", "zstd").await.0, 0);
    let file = "many.jsonl.zst";
    let damages: [Damage; 6] = [
        (
            "an export that was cut",
            |folder| fs::remove_file(folder.join("manifest.json")).expect("removed"),
            "without it an export is incomplete",
        ),
        (
            "a missing file",
            |folder| fs::remove_file(folder.join("many.jsonl.zst")).expect("removed"),
            "is missing",
        ),
        (
            "a file that was cut",
            |folder| {
                change(&folder.join("many.jsonl.zst"), |bytes| bytes.truncate(bytes.len() - 9));
            },
            "it was cut or changed",
        ),
        (
            "a changed byte",
            |folder| change(&folder.join("many.jsonl.zst"), |bytes| bytes[40] ^= 1),
            "doesn't have the checksum",
        ),
        (
            "no manifest",
            |folder| change(&folder.join("manifest.json"), |bytes| bytes.truncate(30)),
            "is no manifest",
        ),
        (
            "a file elsewhere",
            |folder| {
                change(&folder.join("manifest.json"), |bytes| {
                    let text = String::from_utf8(bytes.clone()).expect("UTF-8");
                    *bytes = text.replace("many.jsonl.zst", "../many.jsonl.zst").into_bytes();
                });
            },
            "which is elsewhere",
        ),
    ];
    assert!(drill.path("whole").join(file).is_file());
    for (number, (what, damage, told)) in damages.into_iter().enumerate() {
        let name = format!("damaged-{number}");
        copy(&drill, "whole", &name);
        damage(&drill.path(&name));
        let (code, out, said) = drill.restore(&name, &target).await;
        assert_eq!((code, out.as_str()), (3, ""), "{what}: {said}");
        assert!(said.contains(told), "{what}: {said}");
    }
    let database = database(&target).await;
    assert!(database.list_collection_names().await.expect("names").is_empty());
    assert_eq!(drill.restore("whole", &target).await.0, 0, "the whole one is fine");
    database.drop().await.expect("dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_empty_database_and_an_empty_folder_are_written_to() {
    let (drill, own, target) = (Drill::new(), filled(10).await, fresh_name());
    assert_eq!(drill.export(&own, "whole", "none").await.0, 0);
    let (code, _, said) = drill.export(&own, "whole", "none").await;
    assert!(code == 2 && said.contains("whole isn't empty"), "{said}");

    let target_database = database(&target).await;
    // Indexes alone, and the versions in force that come with them, are nothing to lose.
    assert_eq!(finished(with_few_rooms(&["indexes", "apply"], &target)).await.0, 0);
    target_database.collection("jobs").insert_one(doc! { "_id": "j" }).await.expect("inserted");
    let before = contents(&target_database).await;
    let (code, out, said) = drill.restore("whole", &target).await;
    assert_eq!((code, out.as_str()), (2, ""), "{said}");
    assert!(said.contains(&format!("{target} isn't empty: jobs has documents")), "{said}");
    assert_eq!(contents(&target_database).await, before);
    target_database.collection::<Document>("jobs").delete_one(doc! {}).await.expect("removed");
    let (code, _, said) = drill.restore("whole", &target).await;
    assert_eq!(code, 0, "{said}");

    let (code, _, said) = drill.export(&fresh_name(), "nothing", "none").await;
    assert!(code == 3 && said.contains("nothing to export"), "{said}");
    let (code, _, said) = finished(super::on(&target, &["import"])).await;
    assert!(code == 2 && said.contains("--restore"), "{said}");
    target_database.drop().await.expect("dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_was_cut_is_continued_with_the_same_export_only() {
    let (drill, own, target) = (Drill::new(), filled(40_000).await, fresh_name());
    assert_eq!(drill.export(&own, "whole", "gzip").await.0, 0);
    time_passes(&own).await;
    assert_eq!(drill.export(&own, "again", "gzip").await.0, 0);
    let restored = database(&target).await;
    // Its 40 inserts, of which four run at once, take so long that the signal comes before the last one, also on a busy
    // machine.
    let slow = doc! {
        "failCommands": ["insert"], "namespace": format!("{target}.many"),
        "blockConnection": true, "blockTimeMS": 2_000,
    };
    let slow = FailPoint::on(&restored, doc! { "times": 10_000 }, slow).await;
    for signal in ["KILL", "INT"] {
        let running = Running::start(drill.restoring("whole", &target));
        // Until it holds the marker, inserts of the restore before may still end.
        let marker = restored.collection::<Document>("docgate_restore");
        let mine = doc! { "_id": "restore", "process": i64::from(running.id()) };
        until("the marker", async || {
            marker.find_one(mine.clone()).await.expect("a marker").is_some()
        })
        .await;
        let many = restored.collection::<Document>("many");
        let before = many.estimated_document_count().await.expect("a count");
        until("an insert", async || {
            many.estimated_document_count().await.expect("a count") > before
        })
        .await;
        running.signal(signal);
        if signal == "INT" {
            let said = running.says("interrupted");
            assert!(said.contains("the same command continues"), "{said}");
            assert_eq!(running.ends(), 3);
        } else {
            drop(running);
        }
        let (code, _, said) = drill.export(&target, &format!("half-{signal}"), "none").await;
        assert!(code == 3 && said.contains("isn't completely restored"), "{said}");
        let (code, _, said) = drill.restore("again", &target).await;
        assert!(code == 2 && said.contains("from another export"), "{said}");
    }
    slow.off().await;
    let (code, out, said) = drill.restore("whole", &target).await;
    assert_eq!(code, 0, "{out}{said}");
    let mut all = contents(&restored).await;
    // The empty collections of the rooms are there besides.
    all.retain(|_, documents| !documents.is_empty());
    assert_eq!(all, contents(&database(&own).await).await);
    let (code, _, said) = drill.restore("whole", &target).await;
    assert!(code == 2 && said.contains("isn't empty"), "it is complete: {said}");
    restored.drop().await.expect("dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interruption_doesnt_wait_until_all_files_are_verified() {
    let (drill, own, target) = (Drill::new(), filled(10).await, fresh_name());
    assert_eq!(drill.export(&own, "whole", "none").await.0, 0);
    // A pipe as a file that takes long to read.
    let file = drill.path("whole").join("many.jsonl");
    fs::remove_file(&file).expect("removed");
    let made = Command::new("mkfifo").arg(&file).status();
    assert!(made.expect("mkfifo runs").success());
    let running = Running::start(drill.restoring("whole", &target));
    // It is open as soon as the command reads it, and stays so.
    let writer = thread::spawn(move || File::options().write(true).open(file));
    until("the command reads the file", async || writer.is_finished()).await;
    running.signal("TERM");
    assert_eq!(running.ends(), 3);
    drop(writer.join().expect("no panic").expect("opened"));
    let names = database(&target).await.list_collection_names().await.expect("names");
    assert!(names.is_empty(), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_isnt_as_in_the_export_is_told_before_anything_is_written() {
    let (drill, own, target) = (Drill::new(), fresh_name(), fresh_name());
    let (exported, other) = (database(&own).await, database(&target).await);
    exported.collection("things").insert_one(doc! { "_id": 1, "a": 1 }).await.expect("inserted");
    let index = |database: &Database, keys: Document, is_unique: bool| {
        let mut index = doc! { "name": "by_a", "key": keys };
        if is_unique {
            index.insert("unique", true);
        }
        let create = doc! { "createIndexes": "things", "indexes": [index] };
        let database = database.clone();
        async move { database.run_command(create).await.expect("built") }
    };
    index(&exported, doc! { "a": 1 }, false).await;
    index(&other, doc! { "a": -1 }, true).await;
    assert_eq!(drill.export(&own, "whole", "none").await.0, 0);
    let (code, out, said) = drill.restore("whole", &target).await;
    assert_eq!((code, out.as_str()), (2, ""), "{said}");
    let told =
        format!("things in the database {target} has an index by_a that isn't as in the export");
    assert!(said.contains(&told) && said.contains("These differ: key, unique."), "{said}");
    let things = other.collection::<Document>("things");
    assert_eq!(things.count_documents(doc! {}).await.expect("a count"), 0);
    assert_eq!(other.list_collection_names().await.expect("names"), ["things"], "nor a marker");

    // It is done as it is told.
    things.drop_index("by_a").await.expect("dropped");
    let (code, _, said) = drill.restore("whole", &target).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(things.count_documents(doc! {}).await.expect("a count"), 1);
    for database in [exported, other] {
        database.drop().await.expect("dropped");
    }
}
