//! Documents of earlier and of newer versions, and `docgate migrate`. The files beside this one hold documents of the
//! shape that earlier releases stored.

mod command;
mod kit;

use docgate::{
    domains::collections,
    mongo::{Group, indexes, migrations::SchemaVersionDocument},
};
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde_json::{Value, json};

use crate::{
    assets,
    support::{Gateway, http},
};

/// Collections, and documents of their first version.
const OLD: [(&str, &str); 3] = [
    ("inventory", include_str!("inventory.v1.json")),
    ("statsDaily", include_str!("stats_daily.v1.json")),
    ("statsMonthly", include_str!("stats_monthly.v1.json")),
];

const RECORD: &str = "mutation($hits: [HitInput!]!, $key: ID) {
    recordHits(input: { hits: $hits, idempotencyKey: $key }) { __typename } }";
const REPORT: &str = "query($page: String!) {
    report(site: \"a.example\", page: $page, resolution: DAY,
        range: { days: { from: \"2024-01-01\", to: \"2024-01-31\" } }) { total } }";
const REPORT_BY_HOUR: &str = "query($page: String!) {
    report(site: \"a.example\", page: $page, resolution: HOUR,
        range: { days: { from: \"2024-01-01\", to: \"2024-01-02\" } }) { total } }";
const TOP: &str =
    "{ topPages(site: \"a.example\", period: { month: \"2024-01\" }, first: 5) { page hits } }";
const STOCK: &str = "query($sku: ID!) { stock(sku: $sku) { available reserved received } }";
const RECEIVE: &str = "mutation($sku: ID!, $quantity: Int!) {
    receiveStock(input: { sku: $sku, quantity: $quantity }) { __typename ... on Stock { available } } }";

async fn insert_old(gateway: &Gateway) {
    for (collection, text) in OLD {
        let documents: Vec<Document> = serde_json::from_str(text).expect("documents");
        gateway.raw(collection).insert_many(documents).await.expect("inserted");
    }
}

async fn record(gateway: &Gateway, page: &str, at: &str, key: Option<&str>) {
    let hit = json!({ "site": "a.example", "page": page, "at": at });
    let recorded = gateway.service().field(RECORD, json!({ "hits": [hit], "key": key })).await;
    assert_eq!(recorded["__typename"], "HitsRecorded", "{recorded:#}");
}

async fn total(gateway: &Gateway, query: &str, page: &str) -> Value {
    let analyst = gateway.user("an-analyst", &["analyst"]);
    analyst.field(query, json!({ "page": page })).await["total"].clone()
}

/// The one document of a collection whose `_id` matches.
async fn one(gateway: &Gateway, collection: &str, filter: Document) -> Document {
    let found = gateway.raw(collection).find_one(filter).await.expect("a read");
    found.expect("a document")
}

fn day(page: &str, date: &str) -> Document {
    doc! { "_id": { "site": "a.example", "page": page, "date": date } }
}

/// The version of a document; one without `v` is of version 1.
fn version(document: &Document) -> i32 {
    document.get_i32("v").unwrap_or(1)
}

#[tokio::test(flavor = "multi_thread")]
async fn old_documents_are_read_and_written() {
    let gateway = Gateway::start().await;
    gateway.product("old-and-free", 250, "EUR").await;
    insert_old(&gateway).await;
    let merchant = gateway.merchant();
    let stock = merchant.field(STOCK, json!({ "sku": "old" })).await;
    assert_eq!(stock, json!({ "available": 8, "reserved": 2, "received": 10 }));
    assert_eq!(total(&gateway, REPORT, "/old").await, 12);
    assert_eq!(total(&gateway, REPORT_BY_HOUR, "/old").await, 12);

    record(&gateway, "/old", "2024-01-01T10:00:00Z", None).await;
    for _ in 0..2 {
        record(&gateway, "/old", "2024-01-02T23:00:00Z", Some("one")).await;
    }
    assert_eq!(total(&gateway, REPORT, "/old").await, 14);
    assert_eq!(total(&gateway, REPORT_BY_HOUR, "/old").await, 14);

    // They stay of the version before, which gateways of the release before read. Only what they lack isn't known.
    for collection in ["inventory", "statsDaily", "statsMonthly"] {
        let versions = gateway.stored(collection).await;
        assert!(versions.iter().all(|stored| version(stored) == 1), "{versions:#?}");
    }
    assert_eq!(gateway.migrate().await, 5);
    let top = gateway.user("an-analyst", &["analyst"]).field(TOP, json!({})).await;
    assert_eq!(top, json!([{ "page": "/old", "hits": 14 }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgraded_document_has_what_its_version_says() {
    let gateway = Gateway::start().await;
    insert_old(&gateway).await;
    assert_eq!(gateway.migrate().await, 5);
    for (date, hits) in [("2024-01-01", 7), ("2024-01-02", 5)] {
        let stored = one(&gateway, "statsDaily", day("/old", date)).await;
        assert_eq!((version(&stored), stored.get_i64("total").ok()), (2, Some(hits)), "{stored}");
    }
    let month = one(&gateway, "statsMonthly", day("/old", "2024-01")).await;
    assert_eq!((version(&month), month.get_i64("total").ok()), (2, Some(12)), "{month}");
    let held = one(&gateway, "inventory", doc! { "_id": "old" }).await;
    let of_mark = Bson::DateTime(DateTime::from_millis(1_000_000_000_000));
    assert_eq!((version(&held), held.get("sweepAt")), (2, Some(&of_mark)), "{held}");
    let free = one(&gateway, "inventory", doc! { "_id": "old-and-free" }).await;
    assert_eq!((version(&free), free.get("sweepAt")), (2, None), "{free}");
    assert_eq!(gateway.migrate().await, 0, "a repeat finds nothing");
    // What the documents hold besides is as it was.
    for (collection, text) in OLD {
        let before: Vec<Document> = serde_json::from_str(text).expect("documents");
        for mut document in before {
            let stored = one(&gateway, collection, doc! { "_id": document.get("_id") }).await;
            document.extend([("v".to_owned(), Bson::Int32(2))]);
            document.remove("total");
            for (field, value) in document {
                assert_eq!(stored.get(&field), Some(&value), "{field} of {stored}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_documents_are_of_the_version_in_force() {
    let gateway = Gateway::start().await;
    record(&gateway, "/a", "2024-01-01T10:00:00Z", None).await;
    record(&gateway, "/b", "2024-01-01T10:00:00Z", Some("b")).await;
    gateway.stocked("before", 1).await;
    let versions = async |collection: &str| {
        gateway.stored(collection).await.iter().map(version).collect::<Vec<_>>()
    };
    for collection in ["statsDaily", "statsMonthly"] {
        assert_eq!(versions(collection).await, [1, 1], "{collection}");
    }
    assert_eq!(versions("inventory").await, [1]);
    assert_eq!(gateway.migrate().await, 5);
    record(&gateway, "/c", "2024-01-01T10:00:00Z", None).await;
    record(&gateway, "/d", "2024-01-01T10:00:00Z", Some("d")).await;
    gateway.stocked("thereafter", 1).await;
    for collection in ["statsDaily", "statsMonthly"] {
        assert_eq!(versions(collection).await, [2; 4], "{collection}");
    }
    assert_eq!(versions("inventory").await, [2, 2]);
    // Writes of old and new documents are the same.
    for page in ["/a", "/b", "/c", "/d"] {
        record(&gateway, page, "2024-01-01T11:00:00Z", None).await;
        assert_eq!(total(&gateway, REPORT, page).await, 2);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_a_newer_version_is_refused_and_stays_as_it_is() {
    let gateway = Gateway::start().await;
    gateway.product("newer", 250, "EUR").await;
    let stock = doc! {
        "_id": "newer", "available": 8_i64, "sold": 0_i64, "received": 8_i64, "reservations": [], "ops": [],
        "of the future": true, "v": 9,
    };
    gateway.raw("inventory").insert_one(stock.clone()).await.expect("inserted");
    let mut counts = doc! {
        "hourly": { "10": 7_i64 }, "minute": { "10": { "0": 7_i64 } }, "total": "seven", "v": 9,
    };
    counts.extend(day("/newer", "2024-01-01"));
    gateway.raw("statsDaily").insert_one(counts.clone()).await.expect("inserted");
    // Counters go by the version that is in force.
    let versions = gateway.app.collection::<SchemaVersionDocument>();
    versions.put_in_force("statsDaily", 9).await.expect("in force");
    gateway.app.refresh_versions().await.expect("refreshed");

    let (merchant, service) = (gateway.merchant(), gateway.service());
    let analyst = gateway.user("an-analyst", &["analyst"]);
    let code = "NEWER_VERSION";
    assert_eq!(merchant.error_code(STOCK, json!({ "sku": "newer" })).await, code);
    let receipt = json!({ "sku": "newer", "quantity": 1 });
    assert_eq!(merchant.error_code(RECEIVE, receipt).await, code);
    assert_eq!(analyst.error_code(REPORT_BY_HOUR, json!({ "page": "/newer" })).await, code);
    let hit = json!({ "site": "a.example", "page": "/newer", "at": "2024-01-01T10:00:00Z" });
    for key in [None, Some("one")] {
        let hits = json!({ "hits": [hit.clone()], "key": key });
        assert_eq!(service.error_code(RECORD, hits).await, code, "{key:?}");
    }
    // A document of this version is counted in the same command.
    record(&gateway, "/known", "2024-01-01T10:00:00Z", None).await;
    let known = one(&gateway, "statsDaily", day("/known", "2024-01-01")).await;
    assert_eq!(version(&known), 2, "the newest that this gateway knows");
    assert_eq!(gateway.migrate().await, 2, "the months of /known and of /newer");
    assert_eq!(one(&gateway, "inventory", doc! { "_id": "newer" }).await, stock);
    let stored = one(&gateway, "statsDaily", day("/newer", "2024-01-01")).await;
    assert_eq!(stored.len(), counts.len());
    assert!(counts.iter().all(|(field, value)| stored.get(field) == Some(value)), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_newer_version_is_refused_and_stays_as_it_is() {
    let gateway = Gateway::start().await;
    let sent = assets::file("it.txt", "text/plain", "what it says");
    let asset = assets::uploaded(&gateway, json!({ "slug": "it", "access": [] }), &sent).await;
    // The file of this length: a smaller picture of another test may come late.
    let its = || doc! { "_id": { "$exists": true }, "length": 12_i64 };
    let files = gateway.raw("assets.files");
    let newer = doc! { "$set": { "metadata.v": 9, "of the future": true } };
    assert_eq!(files.update_one(its(), newer).await.expect("updated").matched_count, 1);
    let stored = one(&gateway, "assets.files", its()).await;

    let url = format!("http://{}/assets/it", gateway.address);
    let answer = http().get(url).send().await.expect("an answer");
    assert!(answer.status().is_server_error(), "{}", answer.status());
    let delete = "mutation($id: ID!) { deleteAsset(input: { assetId: $id }) { __typename } }";
    let editor = assets::editor(&gateway);
    let deleted = editor.field(delete, json!({ "id": asset["id"] })).await;
    assert_eq!(deleted["__typename"], "DeletedAsset");
    assert_eq!(one(&gateway, "assets.files", its()).await, stored, "it isn't marked for removal");
    let id = stored.get_object_id("_id").expect("an id");
    let chunks = doc! { "_id": { "$exists": true }, "files_id": id };
    assert_eq!(gateway.raw("assets.chunks").count_documents(chunks).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn additions_are_by_id_alone_until_a_newer_version_is_in_force() {
    let gateway = Gateway::start().await;
    let newer = |hits: i64| {
        let mut counts = doc! { "hourly": { "10": hits }, "v": 9 };
        counts.extend(day("/newer", "2024-01-01"));
        counts
    };
    gateway.raw("statsDaily").insert_one(newer(7)).await.expect("inserted");
    let hours = async || {
        let stored = one(&gateway, "statsDaily", day("/newer", "2024-01-01")).await;
        stored.get_document("hourly").expect("hours").clone()
    };
    // The gateway doesn't know yet what is in force.
    record(&gateway, "/newer", "2024-01-01T10:00:00Z", None).await;
    assert_eq!(hours().await, doc! { "10": 8_i64 });
    let versions = gateway.app.collection::<SchemaVersionDocument>();
    versions.put_in_force("statsDaily", 9).await.expect("in force");
    gateway.app.refresh_versions().await.expect("refreshed");
    let hit = json!({ "site": "a.example", "page": "/newer", "at": "2024-01-01T10:00:00Z" });
    let code = gateway.service().error_code(RECORD, json!({ "hits": [hit], "key": null })).await;
    assert_eq!(code, "NEWER_VERSION");
    assert_eq!(hours().await, doc! { "10": 8_i64 });
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_upgraded_in_the_databases_of_their_groups() {
    let gateway = Gateway::with(|config| {
        config.activity_database = Some(format!("{}_activity", config.database));
    })
    .await;
    let (all, placement) = (collections(gateway.app.config()), gateway.app.placement());
    indexes::apply(placement, &all, false, |_| {}).await.expect("indexes");
    let activity = placement.database(Group::Activity).collection::<Document>("statsDaily");
    let mut old = doc! { "hourly": { "10": 3_i64 }, "v": 1 };
    old.extend(day("/old", "2024-01-01"));
    activity.insert_one(old).await.expect("inserted");
    assert_eq!(gateway.migrate().await, 1);
    let stored = activity.find_one(day("/old", "2024-01-01")).await.expect("read");
    let stored = stored.expect("a document");
    assert_eq!((version(&stored), stored.get_i64("total").ok()), (2, Some(3)), "{stored}");
    let in_force = gateway.stored("schemaVersions").await;
    assert!(!in_force.is_empty(), "it is in the database of the group core");
    placement.database(Group::Activity).drop().await.expect("dropped");
}
