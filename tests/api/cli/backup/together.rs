//! Two restores of one database at once.

use std::collections::BTreeMap;

use mongodb::{
    Database,
    bson::{Document, doc},
};

use super::{
    Drill, Running, contents, database, finished, fresh_name, time_passes, with_few_rooms,
};
use crate::support::{FailPoint, until};

/// A database with the versions in force, and some documents in a collection of its own.
async fn filled(count: i32) -> String {
    let name = fresh_name();
    assert_eq!(finished(with_few_rooms(&["indexes", "apply"], &name)).await.0, 0);
    let many: Vec<Document> =
        (0..count).map(|n| doc! { "_id": n, "text": "x".repeat(200) }).collect();
    database(&name).await.collection("many").insert_many(many).await.expect("inserted");
    name
}

/// The contents of the collections that aren't empty.
async fn documents(database: &Database) -> BTreeMap<String, Vec<String>> {
    let mut all = contents(database).await;
    all.retain(|_, documents| !documents.is_empty());
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_restore_is_refused_while_the_first_one_runs() {
    let (drill, own, target) = (Drill::new(), filled(20_000).await, fresh_name());
    assert_eq!(drill.export(&own, "whole", "none").await.0, 0);
    time_passes(&own).await;
    assert_eq!(drill.export(&own, "again", "none").await.0, 0);
    let restored = database(&target).await;
    let slow = doc! {
        "failCommands": ["insert"], "namespace": format!("{target}.many"),
        "blockConnection": true, "blockTimeMS": 8_000,
    };
    let slow = FailPoint::on(&restored, doc! { "times": 10_000 }, slow).await;
    let first = Running::start(drill.restoring("whole", &target));
    let many = restored.collection::<Document>("many");
    let has_begun = async || many.estimated_document_count().await.expect("a count") > 0;
    until("the restore has begun", has_begun).await;
    let (code, out, said) = drill.restore("whole", &target).await;
    assert_eq!((code, out.as_str()), (3, ""), "{said}");
    assert!(
        said.contains(&format!("another restore of the database {target} is running")),
        "{said}"
    );
    let (code, _, said) = drill.restore("again", &target).await;
    assert!(code == 2 && said.contains("from another export"), "{said}");
    slow.off().await;
    assert_eq!(first.ends(), 0);
    assert_eq!(documents(&restored).await, documents(&database(&own).await).await);
    restored.drop().await.expect("dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_restores_that_begin_at_once_one_restores_all() {
    let (drill, own) = (Drill::new(), filled(2_000).await);
    assert_eq!(drill.export(&own, "whole", "none").await.0, 0);
    let expected = documents(&database(&own).await).await;
    assert!(expected.contains_key("schemaVersions"));
    for _ in 0..3 {
        let target = fresh_name();
        let (one, other) =
            tokio::join!(drill.restore("whole", &target), drill.restore("whole", &target));
        let mut codes = [one.0, other.0];
        codes.sort_unstable();
        assert_eq!(codes[0], 0, "{one:?} {other:?}");
        // The other one finds it running, or complete.
        assert!(matches!(codes[1], 2 | 3), "{one:?} {other:?}");
        let restored = database(&target).await;
        assert_eq!(documents(&restored).await, expected);
        restored.drop().await.expect("dropped");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_doesnt_answer_is_taken_over_and_ends() {
    let (drill, own, target) = (Drill::new(), filled(20_000).await, fresh_name());
    assert_eq!(drill.export(&own, "whole", "none").await.0, 0);
    let restored = database(&target).await;
    let slow = doc! {
        "failCommands": ["insert"], "namespace": format!("{target}.many"),
        "blockConnection": true, "blockTimeMS": 5_000,
    };
    let slow = FailPoint::on(&restored, doc! { "times": 10_000 }, slow).await;
    let first = Running::start(drill.restoring("whole", &target));
    // As if another restore had taken it over.
    let markers = restored.collection::<Document>("docgate_restore");
    let begun = doc! { "_id": "restore", "unchecked": { "$exists": false } };
    let set = doc! { "$set": { "holder": "another" } };
    until("the restore has begun", async || {
        let taken = markers.update_one(begun.clone(), set.clone()).await;
        taken.expect("an answer").matched_count == 1
    })
    .await;
    let said = first.says("another restore has taken over");
    assert!(said.contains("ten seconds"), "{said}");
    assert_eq!(first.ends(), 3);
    slow.off().await;
    // Nobody extends the deadline of the other one.
    let (code, _, said) = drill.restore("whole", &target).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(documents(&restored).await, documents(&database(&own).await).await);
    restored.drop().await.expect("dropped");
}
