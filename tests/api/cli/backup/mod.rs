//! Export and restore: what is restored is what was exported, of one moment.

mod damage;
mod filled;
mod kinds;
mod moment;
mod together;

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use futures_util::TryStreamExt;
use mongodb::{
    Database,
    bson::{Binary, Bson, DateTime, Decimal128, Document, doc, oid::ObjectId, spec::BinarySubtype},
};
use serde_json::{Value, json};

use super::{Running, ask_with, database, done, on};
use crate::support::fresh_name;

/// Folders of exports.
struct Drill(tempfile::TempDir);

impl Drill {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Exports a database to the folder of this name.
    async fn export(&self, from: &str, name: &str, compress: &str) -> (i32, String, String) {
        let folder = self.path(name).display().to_string();
        finished(with_few_rooms(&["export", &folder, "--compress", compress], from)).await
    }

    fn restoring(&self, name: &str, into: &str) -> Command {
        let folder = self.path(name).display().to_string();
        with_few_rooms(&["import", "--restore", &folder], into)
    }

    async fn restore(&self, name: &str, into: &str) -> (i32, String, String) {
        finished(self.restoring(name, into)).await
    }

    fn manifest(&self, name: &str) -> Value {
        let text = fs::read(self.path(name).join("manifest.json")).expect("the manifest");
        serde_json::from_slice(&text).expect("JSON")
    }
}

/// Runs a command to its end. Tasks of the test go on meanwhile.
async fn finished(command: Command) -> (i32, String, String) {
    tokio::task::spawn_blocking(move || done(command)).await.expect("it ends")
}

/// A command of a database with few indexes to build.
fn with_few_rooms(arguments: &[&str], database: &str) -> Command {
    let mut command = on(database, arguments);
    command.env("DOCGATE_ROOMS", "hits,queue");
    command
}

/// Every document of every collection, each with its bytes' order of fields, sorted.
async fn contents(database: &Database) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for name in database.list_collection_names().await.expect("names") {
        if name.starts_with("system.") {
            continue;
        }
        let collection = database.collection::<Document>(&name);
        let found = collection.find(doc! {}).await.expect("a cursor");
        let found: Vec<Document> = found.try_collect().await.expect("documents");
        // MongoDB puts the fields of a measurement of a time series together in any order.
        let shown = |one: &Document| match name.as_str() {
            "points" => format!("{:?}", one.iter().collect::<BTreeMap<_, _>>()),
            _ => format!("{one:?}"),
        };
        let mut found: Vec<String> = found.iter().map(shown).collect();
        found.sort();
        all.insert(name, found);
    }
    all
}

/// Options and indexes of every collection.
async fn shapes(database: &Database) -> BTreeMap<String, (Document, Vec<String>)> {
    let list = doc! { "listCollections": 1, "cursor": { "batchSize": 10_000 } };
    let listed = database.run_command(list).await.expect("collections");
    let batch = |reply: &Document| {
        let cursor = reply.get_document("cursor").expect("a cursor");
        let found = cursor.get_array("firstBatch").expect("a batch").clone();
        found.into_iter().map(|one| one.as_document().expect("one").clone()).collect::<Vec<_>>()
    };
    let mut all = BTreeMap::new();
    for one in batch(&listed) {
        let name = one.get_str("name").expect("a name").to_owned();
        if name.starts_with("system.") {
            continue;
        }
        let list = doc! { "listIndexes": &name, "cursor": { "batchSize": 1_000 } };
        let indexes = database.run_command(list).await.expect("indexes");
        let mut indexes: Vec<String> =
            batch(&indexes).iter().map(|one| format!("{one:?}")).collect();
        indexes.sort();
        all.insert(name, (one.get_document("options").expect("options").clone(), indexes));
    }
    all
}

/// Lets the next export of a database be one of a later moment: while nobody writes to a server, all are of the same one.
async fn time_passes(database: &str) {
    let elsewhere = self::database(database).await.client().database("elsewhere");
    elsewhere.collection("writes").insert_one(doc! {}).await.expect("inserted");
}

/// A document with a value of most types.
fn of_types() -> Document {
    doc! {
        "_id": ObjectId::from_bytes([7; 12]), "long": 5_i64, "int": 5, "double": 5.0,
        "least": i64::MIN, "date": DateTime::from_millis(-1), "null": Bson::Null,
        "decimal": "1.50".parse::<Decimal128>().expect("a decimal"),
        "binary": Binary { subtype: BinarySubtype::Uuid, bytes: vec![9; 16] },
        "text": "a \"b\" \n \u{0} ü", "array": [1, [2_i64], { "c": 3.5 }], "z": 1, "a": 2,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_document_index_and_option_survives() {
    let (drill, own) = (Drill::new(), fresh_name());
    let database = database(&own).await;
    assert_eq!(done(with_few_rooms(&["indexes", "apply"], &own)).0, 0);
    let documents: Vec<Document> =
        (0..3_000).map(|n| doc! { "_id": n, "n": i64::from(n) }).collect();
    database.collection("many").insert_many(documents).await.expect("inserted");
    database.collection("one: of/each").insert_one(of_types()).await.expect("inserted");
    let ring = doc! { "create": "ring", "capped": true, "size": 65_536, "max": 100 };
    database.run_command(ring).await.expect("created");
    for n in 0..150 {
        let message = doc! { "_id": format!("m-{}", 1_000 - n), "n": n };
        database.collection("ring").insert_one(message).await.expect("inserted");
    }
    let series = doc! { "timeField": "at", "metaField": "page" };
    let series =
        doc! { "create": "points", "timeseries": series, "expireAfterSeconds": 864_000_000_i64 };
    database.run_command(series).await.expect("created");
    // The same measurement twice is there twice.
    let point = doc! { "_id": "p", "at": DateTime::from_millis(1_700_000_000_000), "page": "/", "views": 1 };
    for _ in 0..2 {
        database.collection("points").insert_one(point.clone()).await.expect("inserted");
    }

    for compress in ["gzip", "zstd", "none"] {
        let (code, out, said) = drill.export(&own, compress, compress).await;
        assert_eq!(code, 0, "{said}");
        assert!(out.contains("documents of "), "{out}");
    }
    let manifest = drill.manifest("gzip");
    assert_eq!(manifest["databases"], json!({ "core": own }));
    let entry = |name: &str| {
        let all = manifest["collections"].as_array().expect("collections");
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    assert_eq!(
        (&entry("many")["documents"], &entry("many")["kind"]),
        (&json!(3_000), &json!("ordinary"))
    );
    assert_eq!(
        (&entry("ring")["documents"], &entry("ring")["kind"]),
        (&json!(100), &json!("capped"))
    );
    assert_eq!(entry("points")["kind"], "timeSeries");
    assert_eq!(entry("jobs")["documents"], 0);
    let lines = fs::read_to_string(drill.path("none").join("many.jsonl")).expect("the file");
    assert_eq!(lines.lines().count(), 3_000);
    let packed = fs::read(drill.path("zstd").join("many.jsonl.zst")).expect("the file");
    assert!(zstd::decode_all(&packed[..]).expect("unpacked") == lines.as_bytes());

    let (before, shape) = (contents(&database).await, shapes(&database).await);
    for compress in ["gzip", "zstd", "none"] {
        let name = fresh_name();
        let restored = self::database(&name).await;
        let (code, out, said) = drill.restore(compress, &name).await;
        assert_eq!(code, 0, "{said}");
        assert!(out.contains(&format!("restored into {name}")), "{out}");
        assert_eq!(contents(&restored).await, before);
        assert_eq!(shapes(&restored).await, shape);
        let ring = restored.collection::<Document>("ring").find(doc! {}).await.expect("a cursor");
        let ring: Vec<Document> = ring.try_collect().await.expect("documents");
        let order: Vec<i32> = ring.iter().map(|one| one.get_i32("n").expect("a number")).collect();
        assert_eq!(order, (50..150).collect::<Vec<_>>(), "in the order of insertion");
        restored.drop().await.expect("dropped");
    }
    database.drop().await.expect("dropped");
}
