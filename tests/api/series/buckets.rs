//! The engine `buckets`: what its documents look like, how many of them a series reads, and its buckets that are created
//! ahead of time.

use std::time::Duration;

use docgate::config::SeriesEngine;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;

use super::{RECORD, SERIES, on, record, series, view};
use crate::support::{Gateway, commands, cuts, short_bounds};

const PREALLOCATE: &str = "mutation($page: String!, $hour: DateTime!) {
    preallocateViews(input: { page: $page, hour: $hour }) {
        __typename ... on ViewsPreallocated { created } ... on InvalidInput { field } } }";

async fn preallocate(gateway: &Gateway, page: &str, hour: &str) -> i64 {
    let variables = json!({ "page": page, "hour": hour });
    let said = gateway.service().field(PREALLOCATE, variables).await;
    said["created"].as_i64().unwrap_or_else(|| panic!("{said:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_by_minute_reads_as_many_documents_as_minutes_have_views() {
    let gateway = Gateway::with(on(SeriesEngine::Buckets)).await;
    let minutes: Vec<_> =
        (0..40).map(|n| view("/a", &format!("2024-01-01T{:02}:{n:02}:09Z", n % 24))).collect();
    record(&gateway.service(), &minutes).await;
    record(&gateway.service(), &[view("/b", "2024-01-01T00:00:00Z")]).await;
    let analyst = gateway.user("an-analyst", &["analyst"]);
    for (by, command) in [("MINUTE", "find"), ("HOUR", "aggregate"), ("DAY", "aggregate")] {
        let [from, to] = ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"];
        let variables = json!({ "page": "/a", "from": from, "to": to, "by": by });
        let response = analyst.explained(SERIES, variables).await;
        assert_eq!(response["data"]["viewSeries"]["total"], 40, "{response:#}");
        assert_eq!(commands(&response), [format!("{command} pageViews")]);
        let sent = &response["extensions"]["docgate"]["commands"][0];
        // An aggregation has its figures in its stages.
        if command == "find" {
            assert_eq!(sent["docsExamined"], 40, "{response:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_has_a_total_and_its_seconds() {
    let gateway = Gateway::with(|config| config.series_retention_seconds = 3_600_000).await;
    let now = gateway.app.clock().timestamp_millis();
    let minute = now - now.rem_euclid(60_000) - 60_000;
    let at = |second: i64| docgate::app::rfc3339(DateTime::from_millis(minute + second * 1_000));
    let views: Vec<_> = [0, 0, 59].map(|second| view("/a", &at(second))).into();
    record(&gateway.service(), &views).await;
    let expected = doc! {
        "_id": { "page": "/a", "at": DateTime::from_millis(minute) },
        "total": 3_i64,
        "seconds": { "0": 2_i64, "59": 1_i64 },
        "v": 1,
        "expiresAt": DateTime::from_millis(minute + 60_000 + 3_600_000_000),
    };
    let mut found = gateway.stored("pageViews").await;
    assert_eq!(found.len(), 1);
    let sorted = |document: Document| {
        let mut fields: Vec<_> = document.into_iter().collect();
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        fields.into_iter().collect::<Document>()
    };
    assert_eq!(sorted(found.remove(0)), sorted(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn mongodb_removes_what_is_older_than_the_retention() {
    let gateway = Gateway::start().await;
    let indexes = doc! { "listIndexes": "pageViews" };
    let found = gateway.database.run_command(indexes).await.expect("indexes").to_string();
    assert!(found.contains("\"expireAfterSeconds\": 0") && found.contains("expiresAt"), "{found}");
    let native = Gateway::with(|config| {
        config.series_engine = SeriesEngine::Native;
        config.series_retention_seconds = 7_200;
    })
    .await;
    record(&native.service(), &[json!({ "page": "/a" })]).await;
    let kept = async |gateway: &Gateway| {
        let find = doc! { "listCollections": 1, "filter": { "name": "pageViewPoints" } };
        let found = gateway.database.run_command(find).await.expect("collections");
        found.to_string().contains("\"expireAfterSeconds\": 7200")
    };
    assert!(kept(&native).await);
    // Another setting applies to the collection when a gateway with it first uses it.
    let forever = native.sibling_with(|config| config.series_retention_seconds = 0).await;
    record(&forever.service(), &[json!({ "page": "/a" })]).await;
    assert!(!kept(&native).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_that_are_created_ahead_keep_the_counts_that_are_there() {
    let gateway = Gateway::with(on(SeriesEngine::Buckets)).await;
    let [from, to] = ["2024-01-01T10:00:00Z", "2024-01-01T11:00:00Z"];
    record(&gateway.service(), &[view("/a", "2024-01-01T10:20:00Z")]).await;
    assert_eq!(preallocate(&gateway, "/a", "2024-01-01T10:34:56Z").await, 59);
    assert_eq!(preallocate(&gateway, "/a", "2024-01-01T10:00:00Z").await, 0);
    record(&gateway.service(), &[view("/a", "2024-01-01T10:20:00Z"), view("/a", from)]).await;
    let found = series(&gateway, "/a", from, to, "MINUTE").await;
    assert_eq!((found.0, found.1, found.2.len()), (3, 60, 2));
    assert_eq!(gateway.stored("pageViews").await.len(), 60);
    // At the same time as first views.
    let views = [view("/b", "2024-01-01T10:20:00Z")];
    let service = gateway.service();
    let views = futures_util::future::join_all((0..32).map(|_| record(&service, &views)));
    tokio::join!(views, preallocate(&gateway, "/b", from), preallocate(&gateway, "/b", from));
    assert_eq!(series(&gateway, "/b", from, to, "HOUR").await.0, 32);
    gateway.assert_sound().await;

    let native = Gateway::with(on(SeriesEngine::Native)).await;
    assert_eq!(preallocate(&native, "/a", from).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_that_cant_be_prepared_is_refused() {
    let gateway = Gateway::start().await;
    let now = gateway.app.clock().timestamp_millis();
    for (page, millis, field) in [
        ("", now, "input.page"),
        ("/a", now + 8 * 86_400_000, "input.hour"),
        ("/a", now - 91 * 86_400_000, "input.hour"),
    ] {
        let hour = docgate::app::rfc3339(DateTime::from_millis(millis));
        let variables = json!({ "page": page, "hour": hour });
        let said = gateway.service().field(PREALLOCATE, variables).await;
        assert_eq!((&said["__typename"], &said["field"]), (&json!("InvalidInput"), &json!(field)));
    }
    let variables = json!({ "page": "/a", "hour": "2024-01-01T00:00:00Z" });
    assert_eq!(gateway.shopper("it").error_code(PREALLOCATE, variables).await, "FORBIDDEN");
    assert!(gateway.snapshot().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_may_be_cut_while_it_is_prepared() {
    cuts::everywhere(
        |config| {
            short_bounds(config);
            on(SeriesEngine::Buckets)(config);
        },
        async |gateway, n| {
            let page = format!("/{n}");
            record(&gateway.service(), &[view(&page, "2024-01-01T10:20:00Z")]).await;
            page
        },
        async |gateway, page| {
            let variables = json!({ "page": page, "hour": "2024-01-01T10:00:00Z" });
            gateway.service().send(PREALLOCATE, variables).await.ok();
        },
        async |gateway, case| {
            let [from, to] = ["2024-01-01T10:00:00Z", "2024-01-01T11:00:00Z"];
            assert_eq!(series(gateway, &case.subject, from, to, "HOUR").await.0, 1, "{case:?}");
            let buckets = gateway.database.collection::<Document>("pageViews");
            let at = DateTime::parse_rfc3339_str(from).expect("a time");
            let id = |at: DateTime| doc! { "page": &case.subject, "at": at };
            let later = id(DateTime::from_millis(at.timestamp_millis() + 3_600_000));
            let hour = doc! { "_id": { "$gte": id(at), "$lt": later } };
            assert_eq!(buckets.count_documents(hour).await.expect("a count"), 60, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_a_bucket_that_isnt_right() {
    let gateway = Gateway::with(on(SeriesEngine::Buckets)).await;
    record(&gateway.service(), &[view("/a", "2024-01-01T10:00:05Z")]).await;
    gateway.assert_sound().await;
    let buckets = gateway.database.collection::<Document>("pageViews");
    let before = gateway.stored("pageViews").await.remove(0);
    for update in [
        doc! { "$inc": { "total": 1_i64 } },
        doc! { "$inc": { "seconds.5": 1_i64 } },
        doc! { "$set": { "seconds.60": 0_i64 } },
        doc! { "$set": { "seconds.5": -1_i64, "total": -1_i64 } },
    ] {
        let id = doc! { "_id": before.get("_id") };
        buckets.update_one(id.clone(), update.clone()).await.expect("an update");
        let report = gateway.check().await;
        buckets.replace_one(id, &before).await.expect("an update");
        let broken = report.rules.iter().find(|(rule, _)| rule.starts_with("series: "));
        assert!(broken.is_some_and(|(_, found)| !found.is_empty()), "{update}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_is_counted() {
    let gateway = Gateway::behind_proxy(on(SeriesEngine::Buckets)).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.cut_all_from(0, crate::support::proxy::Cut::Hold);
    let client = gateway.service();
    let call = tokio::spawn(async move {
        let views = json!({ "views": [view("/a", "2024-01-01T10:00:00Z")] });
        client.send(RECORD, views).await
    });
    proxy.reached().await;
    call.abort();
    tokio::time::sleep(Duration::from_millis(100)).await;
    proxy.heal();
    proxy.release().await;
    cuts::settled(&gateway).await;
    let [from, to] = ["2024-01-01T10:00:00Z", "2024-01-01T10:01:00Z"];
    assert_eq!(series(&gateway, "/a", from, to, "MINUTE").await.0, 1);
}
