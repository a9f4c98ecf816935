//! Other files, deletions, and who is reading meanwhile.

use docgate::graphql::node_id::NodeKind;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{
    Door, ask, blob_of, counts, editor, file, let_time_pass, noise, send_file, send_form, stored,
    uploaded, with_file,
};
use crate::support::{Gateway, cuts, long_bounds, proxy::Seen, short_bounds};

/// More than sockets hold, so that a reader who waits has read only a part.
const LARGE: usize = 24 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_gets_the_old_file_or_the_new_one() {
    let gateway = Gateway::start().await;
    let (old, new) = (noise(LARGE), noise(LARGE - 1));
    let asset = uploaded(&gateway, json!({ "slug": "it" }), &file("old", "x/y", old.clone())).await;
    let door = Door::open(&gateway);
    let mut reading = door.get("/it", &[]).await;
    let mut read = reading.chunk().await.expect("bytes").expect("some").to_vec();

    let input = json!({ "assetId": asset["id"], "version": asset["version"] });
    let replaced =
        send_file(&editor(&gateway), "replaceAsset", input, &file("new", "x/y", new.clone())).await;
    assert_eq!((&replaced["__typename"], &replaced["fileName"]), (&json!("Asset"), &json!("new")));
    assert_ne!(replaced["version"], asset["version"]);
    assert!(door.bytes("/it", &[]).await == (200, new), "the new file isn't whole");
    // Only what nobody can be reading goes.
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await[1], 2);
    while let Some(bytes) = reading.chunk().await.expect("bytes") {
        read.extend_from_slice(&bytes);
    }
    assert!(read == old, "the old file isn't whole");
    // A range of the old one isn't mixed with the new one.
    let tag = format!("\"{}\"", asset["sha256"].as_str().expect("a digest"));
    let (status, _) = door.bytes("/it", &[("range", "bytes=5-9"), ("if-range", &tag)]).await;
    assert_eq!(status, 200);
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await[1], 1);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_asset_is_read_to_its_end() {
    let gateway = Gateway::start().await;
    let bytes = noise(LARGE);
    let asset =
        uploaded(&gateway, json!({ "slug": "it" }), &file("it", "x/y", bytes.clone())).await;
    let mut reading = Door::open(&gateway).get("/it", &[]).await;
    let mut read = reading.chunk().await.expect("bytes").expect("some").to_vec();
    let gone = ask(&editor(&gateway), "deleteAsset", json!({ "assetId": asset["id"] })).await;
    assert_eq!(gone["id"], asset["id"], "{gone:#}");
    assert_eq!(Door::open(&gateway).get("/it", &[]).await.status(), 404);
    let again = ask(&editor(&gateway), "deleteAsset", json!({ "assetId": asset["id"] })).await;
    assert_eq!(again["__typename"], "NotFound");
    // The slug is free at once.
    uploaded(&gateway, json!({ "slug": "it" }), &file("it", "x/y", "x")).await;
    while let Some(more) = reading.chunk().await.expect("bytes") {
        read.extend_from_slice(&more);
    }
    assert!(read == bytes, "the file isn't whole");
    gateway.assert_sound().await;
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [1, 1, 1]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_replaced_once_per_op_id() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let asset =
        uploaded(&gateway, json!({ "slug": "it", "tags": ["t"] }), &file("1", "x/y", noise(9)))
            .await;
    let input =
        json!({ "assetId": asset["id"], "version": asset["version"], "idempotencyKey": "one" });
    let second = file("2.txt", "text/plain", "two");
    let replaced = send_file(&client, "replaceAsset", input.clone(), &second).await;
    assert_eq!(
        (&replaced["length"], &replaced["tags"]),
        (&json!(3), &json!(["t"])),
        "{replaced:#}"
    );
    assert_eq!((&replaced["title"], &replaced["path"]), (&asset["title"], &json!("/it")));
    let before = gateway.snapshot().await;
    let again = send_file(&client, "replaceAsset", input.clone(), &second).await;
    assert_eq!(again, replaced);
    let other = file("2.txt", "text/plain", "other");
    let conflict = send_file(&client, "replaceAsset", input.clone(), &other).await;
    assert_eq!(conflict["__typename"], "Conflict");
    // The first version is stale under another op.
    let stale = json!({ "assetId": asset["id"], "version": asset["version"] });
    let conflict = send_file(&client, "replaceAsset", stale, &other).await;
    assert_eq!(conflict["__typename"], "AssetConflict");
    assert_eq!(conflict["current"]["version"], replaced["version"], "{conflict:#}");
    let nobody = NodeKind::ASSET.id("nobody").0;
    for id in [&nobody, "nonsense", "", &NodeKind::CART.id("nobody").0] {
        let missing = send_file(&client, "replaceAsset", json!({ "assetId": id }), &other).await;
        assert_eq!(missing["__typename"], "NotFound", "{id:?}: {missing:#}");
    }
    assert!(gateway.snapshot().await == before, "a refusal changed something");
    // What was applied under its op is answered as it now stands.
    let third = send_file(&client, "replaceAsset", json!({ "assetId": asset["id"] }), &other).await;
    assert_eq!(third["length"], 5);
    assert_eq!(send_file(&client, "replaceAsset", input, &second).await["length"], 5);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_replacements_of_one_version_one_wins() {
    let started = Gateway::start().await;
    let gateway = started.patient_sibling().await;
    let asset = uploaded(&gateway, json!({ "slug": "it" }), &file("1", "x/y", noise(9))).await;
    let input = json!({ "assetId": asset["id"], "version": asset["version"] });
    let sends = (1..=8).map(|number| {
        let client = editor(&gateway);
        let body =
            with_file("replaceAsset", input.clone(), &file("n", "x/y", noise(300_000 + number)));
        tokio::spawn(async move { send_form(&client, body).await.expect("an answer").1 })
    });
    let mut won = 0;
    for sent in sends.collect::<Vec<_>>() {
        let answer = sent.await.expect("an answer");
        match answer["data"]["replaceAsset"]["__typename"].as_str() {
            Some("Asset") => won += 1,
            Some("AssetConflict" | "InUse") => {}
            _ => assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer:#}"),
        }
    }
    assert_eq!(won, 1);
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [1, 1, 2]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_under_way_is_a_lock_until_it_stalls() {
    let short = Gateway::with(|config| {
        short_bounds(config);
        config.asset_stall_seconds = 1;
    })
    .await;
    let gateway = short.patient_sibling().await;
    let asset = uploaded(&gateway, json!({ "slug": "it" }), &file("1", "x/y", noise(9))).await;
    let entries = gateway.database.collection::<Document>("assetEntries");
    let lost = mongodb::bson::oid::ObjectId::from_parts(1, [1; 5], [1; 3]);
    let now = gateway.begin().await.now();
    // It doesn't stall before the test wants it to, however busy the machine is.
    let later = mongodb::bson::DateTime::from_millis(now.timestamp_millis() + 3_600_000);
    let upload = doc! { "token": "t", "blob": lost, "at": later, "op": "o" };
    let this = doc! { "_id": crate::support::key(asset["id"].as_str().expect("an id")) };
    let set = doc! { "$set": { "upload": upload } };
    entries.update_one(this.clone(), set).await.expect("set");
    let input = json!({ "assetId": asset["id"] });
    let second = file("2", "x/y", noise(10));
    let locked = send_file(&editor(&gateway), "replaceAsset", input.clone(), &second).await;
    assert_eq!(locked["__typename"], "InUse", "{locked:#}");
    // Everything else goes on.
    let tagged =
        ask(&editor(&gateway), "tagAsset", json!({ "assetId": asset["id"], "tags": ["t"] })).await;
    assert_eq!(tagged["tags"], json!(["t"]));
    assert_eq!(Door::open(&gateway).get("/it", &[]).await.status(), 200);
    entries.update_one(this, doc! { "$set": { "upload.at": now } }).await.expect("set");
    gateway.sweep().await;
    let replaced = send_file(&editor(&gateway), "replaceAsset", input, &second).await;
    assert_eq!(replaced["length"], 10, "{replaced:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_reservation_harms_no_file() {
    let base = Gateway::with(long_bounds).await;
    let asset = uploaded(&base, json!({ "slug": "it" }), &file("1", "x/y", noise(9))).await;
    let (input, bytes) = (json!({ "assetId": asset["id"] }), noise(10));
    let second = file("2", "x/y", bytes.clone());
    let is_reserve =
        |seen: &Seen| seen.collection == "assetEntries" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| {
        let replaced = send_file(&editor(gateway), "replaceAsset", input.clone(), &second).await;
        assert_eq!(replaced["length"], 10, "{replaced:#}");
    };
    cuts::with_late_copy(&base, is_reserve, first, async || {}).await;
    // If an upload is in progress again, it has stalled.
    let entries = base.database.collection::<Document>("assetEntries");
    let key = crate::support::key(asset["id"].as_str().expect("an id"));
    let reserved = doc! { "_id": key, "upload": { "$exists": true } };
    let long_ago = doc! { "$set": { "upload.at": mongodb::bson::DateTime::from_millis(0) } };
    entries.update_one(reserved, long_ago).await.expect("updated");
    base.sweep().await;
    assert!(Door::open(&base).bytes("/it", &[]).await == (200, bytes), "the file is lost");
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_need_the_nonce_and_tags_do_not() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let attributes = json!([{ "key": "a.b", "value": { "number": 1.5 } }, { "key": "$c", "value": { "text": "$x" } }]);
    let input = json!({ "slug": "it", "attributes": attributes, "tags": ["$set", "a.b"] });
    let asset = uploaded(&gateway, input, &file("1", "x/y", "x")).await;
    assert_eq!(asset["tags"], json!(["$set", "a.b"]));
    let id = &asset["id"];
    let edit = json!({
        "assetId": id, "version": asset["version"], "title": "$title", "access": ["player"],
        "publishAt": "2020-01-01T00:00:00Z", "attributes": [{ "key": "d", "value": { "flag": true } }],
    });
    let edited = ask(&client, "editAsset", edit.clone()).await;
    assert_eq!(
        (&edited["title"], &edited["access"]),
        (&json!("$title"), &json!(["player"])),
        "{edited:#}"
    );
    assert_eq!(edited["attributes"].as_array().map(Vec::len), Some(1));
    assert_eq!(edited["attributes"][0]["flag"], true);
    let before = gateway.snapshot().await;
    let stale = ask(&client, "editAsset", edit).await;
    assert_eq!(
        (&stale["__typename"], &stale["current"]),
        (&json!("AssetConflict"), &json!({ "title": "$title", "version": edited["version"] }))
    );
    for (field, input, wrong) in [
        ("editAsset", json!({ "title": "" }), "input.title"),
        ("editAsset", json!({ "access": ["king"] }), "input.access"),
        (
            "editAsset",
            json!({ "attributes": [{ "key": "exif:Make", "value": { "text": "x" } }] }),
            "input.attributes.0.key",
        ),
        (
            "editAsset",
            json!({ "attributes": [{ "key": "", "value": { "text": "x" } }] }),
            "input.attributes.0.key",
        ),
        ("tagAsset", json!({ "tags": [""] }), "input.tags.0"),
        ("tagAsset", json!({ "tags": ["a", "x".repeat(65)] }), "input.tags.1"),
        ("tagAsset", json!({ "tags": ["a\nb"] }), "input.tags.0"),
        ("tagAsset", json!({ "tags": [" a"] }), "input.tags.0"),
        ("tagAsset", json!({ "tags": vec!["a"; 31] }), "input.tags"),
    ] {
        let mut input = input;
        input["assetId"] = id.clone();
        if field == "editAsset" {
            input["version"] = edited["version"].clone();
        }
        let refused = ask(&client, field, input).await;
        assert_eq!(
            (&refused["__typename"], &refused["field"]),
            (&json!("InvalidInput"), &json!(wrong)),
            "{refused:#}"
        );
    }
    let twice = json!([{ "key": "k", "value": { "flag": true } }, { "key": "k", "value": { "flag": false } }]);
    let input = json!({ "assetId": id, "version": edited["version"], "attributes": twice });
    assert_eq!(ask(&client, "editAsset", input).await["field"], "input.attributes.1.key");
    assert!(gateway.snapshot().await == before);
    // Sets, from many at once.
    let tags = (0..20).map(|number| {
        let (client, id) = (client.clone(), id.clone());
        tokio::spawn(async move {
            let input = json!({ "assetId": id, "tags": [format!("t{number:02}"), "all"] });
            ask(&client, "tagAsset", input).await
        })
    });
    for tagged in tags.collect::<Vec<_>>() {
        assert_eq!(tagged.await.expect("an answer")["version"], edited["version"]);
    }
    let many: Vec<_> = (0..30).map(|number| format!("x{number}")).collect();
    let refused = ask(&client, "tagAsset", json!({ "assetId": id, "tags": many })).await;
    assert_eq!(refused["field"], "input.tags", "{refused:#}");
    let untagged =
        ask(&client, "untagAsset", json!({ "assetId": id, "tags": ["all", "a.b", "none"] })).await;
    assert_eq!(untagged["tags"].as_array().map(Vec::len), Some(21), "{untagged:#}");
    assert_eq!(untagged["tags"][0], "$set");
    let nobody = NodeKind::ASSET.id("nobody").0;
    for (field, input) in [
        ("editAsset", json!({ "assetId": nobody, "version": "x" })),
        ("tagAsset", json!({ "assetId": nobody, "tags": ["x"] })),
        ("untagAsset", json!({ "assetId": nobody, "tags": ["x"] })),
        ("deleteAsset", json!({ "assetId": nobody })),
    ] {
        assert_eq!(ask(&client, field, input).await["__typename"], "NotFound", "{field}");
    }
    let stale = json!({ "assetId": id, "version": asset["version"] });
    let conflict = ask(&client, "deleteAsset", stale).await;
    assert_eq!(conflict["current"]["version"], edited["version"], "{conflict:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_that_is_replaced_too_often_asks_for_patience() {
    let gateway = Gateway::start().await;
    let asset = uploaded(&gateway, json!({ "slug": "it" }), &file("1", "x/y", "x")).await;
    let blob = blob_of(&gateway, &asset).await;
    let now = gateway.begin().await.now();
    let records: Vec<_> =
        (0..300).map(|n| doc! { "tag": n.to_string(), "id": n.to_string(), "at": now }).collect();
    let entries = gateway.database.collection::<Document>("assetEntries");
    entries.update_one(doc! {}, doc! { "$set": { "ops": records } }).await.expect("filled");
    let input = json!({ "assetId": asset["id"], "idempotencyKey": "one" });
    let body = with_file("replaceAsset", input, &file("2", "x/y", "y"));
    let (_, answer) = send_form(&editor(&gateway), body).await.expect("an answer");
    assert_eq!(answer["errors"][0]["extensions"]["code"], "RATE_LIMITED", "{answer:#}");
    assert_eq!(blob_of(&gateway, &asset).await, blob);
    let entry = stored(&gateway, asset["id"].as_str().expect("an id")).await;
    assert_eq!(entry.get("upload"), None);
    assert_eq!(counts(&gateway).await, [1, 1, 1]);
    let (input, second) = (json!({ "assetId": asset["id"] }), file("2", "x/y", "yy"));
    let free = send_file(&editor(&gateway), "replaceAsset", input, &second).await;
    assert_eq!(free["length"], Value::from(2));
    gateway.assert_sound().await;
}
