//! What a look at the blobs costs.

use mongodb::bson::{Bson, DateTime, Document, doc, oid::ObjectId};
use serde_json::json;

use super::{counts, file, noise, uploaded};
use crate::support::Gateway;

/// Looks at the blobs as if the time for it had come; answers the commands that went to the chunks.
async fn look(gateway: &Gateway) -> u64 {
    let leases = gateway.database.collection::<Document>("leases");
    let over = doc! { "$set": { "until": DateTime::from_millis(0) } };
    leases.update_one(doc! { "_id": "assets.blobs" }, over).await.expect("updated");
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("a profile");
    gateway.sweep_room(&docgate::domains::assets::ROOM).await;
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("no profile");
    let profile = gateway.database.collection::<Document>("system.profile");
    let chunks = doc! { "ns": format!("{}.assets.chunks", gateway.database.name()) };
    let sent = profile.aggregate([doc! { "$match": chunks }, doc! { "$count": "sent" }]).await;
    let mut sent = sent.expect("a count");
    let count = if sent.advance().await.expect("a count") {
        sent.deserialize_current().expect("a count").get_i32("sent").expect("a number")
    } else {
        0
    };
    profile.drop().await.expect("dropped");
    u64::try_from(count).expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_takes_few_commands_and_only_what_is_new() {
    let gateway = Gateway::with(|config| {
        config.asset_stall_seconds = 1;
        config.asset_transfer_seconds = 1;
    })
    .await;
    // An upload may take longer on a busy machine.
    let patient = gateway
        .sibling_with(|config| {
            config.asset_stall_seconds = 300;
            config.asset_transfer_seconds = 3_600;
        })
        .await;
    for number in 0..12 {
        let input = json!({ "slug": format!("a-{number}") });
        uploaded(&patient, input, &file("a", "x/y", noise(number * 100_000))).await;
    }
    let whole = counts(&gateway).await;
    let chunks = gateway.database.collection::<Document>("assets.chunks");
    let stray = async |seconds: i64| {
        let seconds = u32::try_from(seconds).expect("a time");
        let blob = ObjectId::from_parts(seconds, [1; 5], [1; 3]);
        let chunk = doc! { "files_id": blob, "n": 7, "data": "" };
        chunks.insert_one(chunk).await.expect("inserted");
    };
    let seconds = || ObjectId::new().timestamp().timestamp_millis() / 1_000;
    // The first look goes through all there is.
    stray(2).await;
    stray(seconds() - 2).await;
    assert!(look(&gateway).await <= 3, "one for all files, and one for each that is removed");
    assert_eq!(counts(&gateway).await, whole);
    // The next one through what may have come since.
    stray(seconds() - 2).await;
    assert!(look(&gateway).await <= 2);
    assert_eq!(counts(&gateway).await, whole);
    stray(2).await;
    assert_eq!(look(&gateway).await, 1);
    assert_eq!(counts(&gateway).await[2], whole[2] + 1, "what is old was looked at before");
    // Who wants to know looks at everything.
    let report = gateway.check().await;
    assert!(report.rules.iter().any(|(_, broken)| !broken.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_another_shape_end_no_look() {
    let gateway = Gateway::with(|config| {
        config.asset_stall_seconds = 1;
        config.asset_transfer_seconds = 1;
    })
    .await;
    let id = |number: u8| ObjectId::from_parts(2, [number; 5], [1; 3]);
    let files = gateway.database.collection::<Document>("assets.files");
    let newer = doc! { "_id": id(1), "length": 1_i64, "metadata": { "v": 9 } };
    let foreign = doc! { "_id": id(2), "length": "one", "metadata": Bson::Null };
    files.insert_many([newer.clone(), foreign]).await.expect("inserted");
    let chunks = gateway.database.collection::<Document>("assets.chunks");
    for number in 1..=3 {
        let chunk = doc! { "files_id": id(number), "n": 0, "data": "" };
        chunks.insert_one(chunk).await.expect("inserted");
    }
    look(&gateway).await;
    let left = chunks.count_documents(doc! { "files_id": id(3) }).await;
    assert_eq!(left.expect("a count"), 0, "it has no file");
    let kept = files.find_one(doc! { "_id": id(1) }).await.expect("a read");
    assert_eq!(kept, Some(newer), "it isn't marked for removal");
}
