//! Views of pages as time series: each counts once, on both engines, and what nobody viewed reads as zeros.

mod buckets;
mod imports;

use std::time::Duration;

use docgate::config::{Config, SeriesEngine};
use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::support::{
    Client, Gateway,
    cuts::{self, Way},
    proxy::Cut,
    short_bounds, until,
};

const RECORD: &str = "mutation($views: [ViewInput!]!) { recordViews(input: { views: $views }) {
    __typename ... on ViewsRecorded { count } ... on UserError { code message }
    ... on InvalidInput { field } } }";
const SERIES: &str =
    "query($page: String!, $from: DateTime!, $to: DateTime!, $by: SeriesResolution!) {
    viewSeries(page: $page, from: $from, to: $to, resolution: $by) {
        total points { startsAt views } } }";

const ENGINES: [SeriesEngine; 2] = [SeriesEngine::Buckets, SeriesEngine::Native];

/// Views are kept however old they are, so that tests can name their times.
fn on(engine: SeriesEngine) -> impl Fn(&mut Config) + Clone {
    move |config| {
        config.series_engine = engine;
        config.series_retention_seconds = 0;
    }
}

fn view(page: &str, at: &str) -> Value {
    json!({ "page": page, "at": at })
}

async fn record(client: &Client, views: &[Value]) {
    let said = client.field(RECORD, json!({ "views": views })).await;
    assert_eq!(said, json!({ "__typename": "ViewsRecorded", "count": views.len() }), "{said:#}");
}

/// Total, how many points, and those with views.
type Told = (i64, usize, Vec<(String, i64)>);

async fn series(gateway: &Gateway, page: &str, from: &str, to: &str, by: &str) -> Told {
    let variables = json!({ "page": page, "from": from, "to": to, "by": by });
    let series = gateway.user("an-analyst", &["analyst"]).field(SERIES, variables).await;
    let points = series["points"].as_array().expect("points");
    let shown = points.iter().filter(|point| point["views"] != 0);
    let shown = shown.map(|point| {
        let start = point["startsAt"].as_str().expect("a time").replace(".000Z", "");
        (start, point["views"].as_i64().expect("a number"))
    });
    (series["total"].as_i64().expect("a number"), points.len(), shown.collect())
}

fn told(total: i64, points: usize, shown: &[(&str, i64)]) -> Told {
    (total, points, shown.iter().map(|(start, views)| ((*start).to_owned(), *views)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_has_what_was_recorded_and_zeros() {
    for engine in ENGINES {
        let gateway = Gateway::with(on(engine)).await;
        let times = [
            "2024-02-28T23:59:59.999Z",
            "2024-02-29T00:00:00Z",
            "2024-02-29T00:00:00.999Z",
            "2024-02-29T00:00:59Z",
            "2024-02-29T13:05:07Z",
            "2024-02-29T14:05:07+01:00",
            "2024-03-01T00:00:00Z",
            "2024-12-31T23:59:59Z",
            "2025-01-01T00:00:00Z",
        ];
        let views: Vec<Value> = times.iter().map(|at| view("/a", at)).collect();
        record(&gateway.service(), &views).await;
        record(&gateway.service(), &[view("/b", times[1])]).await;
        let day = ["2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"];
        for (by, [from, to], expected) in [
            (
                "SECOND",
                ["2024-02-29T00:00:00Z", "2024-02-29T00:01:00Z"],
                told(3, 60, &[("2024-02-29T00:00:00", 2), ("2024-02-29T00:00:59", 1)]),
            ),
            (
                "SECOND",
                ["2024-02-28T23:59:59Z", "2024-02-29T00:00:01Z"],
                told(3, 2, &[("2024-02-28T23:59:59", 1), ("2024-02-29T00:00:00", 2)]),
            ),
            ("SECOND", ["2024-02-29T13:05:07.500Z", "2024-02-29T13:05:08Z"], {
                told(2, 1, &[("2024-02-29T13:05:07", 2)])
            }),
            ("SECOND", ["2024-02-29T05:00:00Z", "2024-02-29T06:00:00Z"], told(0, 3_600, &[])),
            (
                "MINUTE",
                day,
                told(5, 1_440, &[("2024-02-29T00:00:00", 3), ("2024-02-29T13:05:00", 2)]),
            ),
            // The points that overlap the time are whole.
            (
                "MINUTE",
                ["2024-02-28T23:59:59Z", "2024-02-29T00:00:00.001Z"],
                told(4, 2, &[("2024-02-28T23:59:00", 1), ("2024-02-29T00:00:00", 3)]),
            ),
            ("HOUR", day, told(5, 24, &[("2024-02-29T00:00:00", 3), ("2024-02-29T13:00:00", 2)])),
            (
                "DAY",
                ["2024-02-28T12:00:00Z", "2024-03-01T12:00:00Z"],
                told(
                    7,
                    3,
                    &[
                        ("2024-02-28T00:00:00", 1),
                        ("2024-02-29T00:00:00", 5),
                        ("2024-03-01T00:00:00", 1),
                    ],
                ),
            ),
            ("DAY", ["2024-12-31T00:00:00Z", "2025-01-02T00:00:00Z"], {
                told(2, 2, &[("2024-12-31T00:00:00", 1), ("2025-01-01T00:00:00", 1)])
            }),
            ("HOUR", ["2023-03-01T00:00:00Z", "2023-04-01T00:00:00Z"], told(0, 744, &[])),
        ] {
            let found = series(&gateway, "/a", from, to, by).await;
            assert_eq!(found, expected, "{engine:?} {by} {from} {to}");
        }
        assert_eq!(series(&gateway, "/c", day[0], day[1], "HOUR").await, told(0, 24, &[]));
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_view_of_a_page_from_many_callers_at_once() {
    for engine in ENGINES {
        let gateway = Gateway::with(on(engine)).await;
        let sibling = gateway.sibling().await;
        let clients = [gateway.service(), sibling.service()];
        let at = "2024-01-01T10:00:00Z";
        for round in 0..5 {
            let page = format!("/{round}");
            let views = [view(&page, at)];
            join_all((0..64).map(|number| record(&clients[number % 2], &views))).await;
            let found = series(&gateway, &page, at, "2024-01-01T10:01:00Z", "SECOND").await;
            assert_eq!(found, told(64, 60, &[("2024-01-01T10:00:00", 64)]), "{engine:?} {round}");
        }
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_values_and_no_two_share_a_point() {
    let long = "ä".repeat(4_096);
    let pages = [
        "/",
        "/a/b.c",
        "$where",
        "a.b",
        "/a?b=$1&c[0].d",
        "{\"$gt\":\"\"}",
        "ä/🦀",
        "_id",
        "seconds.5",
        long.as_str(),
        &long[..8_190],
    ];
    for engine in ENGINES {
        let gateway = Gateway::with(on(engine)).await;
        let at = "2024-01-01T00:00:05Z";
        let views: Vec<Value> = pages.iter().map(|page| view(page, at)).collect();
        record(&gateway.service(), &views).await;
        for page in pages {
            for by in ["SECOND", "MINUTE", "HOUR", "DAY"] {
                let found = series(&gateway, page, at, "2024-01-01T00:00:06Z", by).await;
                assert_eq!((found.0, found.1), (1, 1), "{engine:?} {by} {page}");
            }
        }
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_counted_is_refused_and_changes_nothing() {
    let gateway = Gateway::with(|config| config.series_retention_seconds = 86_400).await;
    let service = gateway.service();
    let now = gateway.app.clock().timestamp_millis();
    let ago =
        |millis: i64| docgate::app::rfc3339(mongodb::bson::DateTime::from_millis(now - millis));
    let good = view("/a", &ago(1_000));
    let with = |key: &str, value: Value| {
        let mut view = good.clone();
        view[key] = value;
        json!([good, view])
    };
    for (views, field) in [
        (json!([]), "input.views"),
        (json!(vec![good.clone(); 101]), "input.views"),
        (with("page", json!("")), "input.views.1.page"),
        (with("page", json!("a\nb")), "input.views.1.page"),
        (with("page", json!("a\u{0}b")), "input.views.1.page"),
        (with("page", json!("x".repeat(8_193))), "input.views.1.page"),
        (with("page", json!("ä".repeat(4_097))), "input.views.1.page"),
        // A clock that is two minutes ahead; and what is too old to be kept.
        (with("at", json!(ago(-120_000))), "input.views.1.at"),
        (with("at", json!(ago(86_401_000))), "input.views.1.at"),
        (with("at", json!("1969-12-31T23:59:59Z")), "input.views.1.at"),
    ] {
        let said = service.field(RECORD, json!({ "views": views })).await;
        assert_eq!((&said["__typename"], &said["field"]), (&json!("InvalidInput"), &json!(field)));
    }
    for stranger in [gateway.shopper("it"), gateway.user("it", &["analyst"])] {
        let code = stranger.error_code(RECORD, json!({ "views": [good] })).await;
        assert_eq!(code, "FORBIDDEN");
    }
    // The message says since when views are kept.
    let old = json!({ "views": with("at", json!(ago(90_000_000))) });
    let said = service.field(RECORD, old).await["message"].to_string();
    assert!(
        said.contains(&ago(86_400_000)[..10]) && said.contains("series_retention_seconds"),
        "{said}"
    );
    assert!(gateway.snapshot().await.is_empty());
    // A clock that is a little ahead is right enough.
    record(&service, &[view("/a", &ago(-30_000)), view("/a", &ago(86_000_000))]).await;

    let analyst = gateway.user("an-analyst", &["analyst"]);
    let from = "2024-01-01T00:00:00Z";
    for (from, to, by, field) in [
        (from, from, "DAY", "to"),
        (from, "2023-01-01T00:00:00Z", "DAY", "to"),
        ("1969-12-31T00:00:00Z", from, "DAY", "from"),
        (from, "2024-01-01T01:00:01Z", "SECOND", "to"),
        (from, "2024-01-04T00:00:00Z", "MINUTE", "to"),
        (from, "2024-02-03T00:00:00Z", "HOUR", "to"),
        (from, "2024-02-03T00:00:00Z", "DAY", "to"),
    ] {
        let variables = json!({ "page": "/a", "from": from, "to": to, "by": by });
        let response = analyst.run(SERIES, variables).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{response:#}");
        assert_eq!(extensions["field"], field, "{response:#}");
    }
    // Without `to`, the fault is one of `from`.
    let since = "query($from: DateTime!) { viewSeries(page: \"/a\", from: $from, resolution: SECOND) { total } }";
    for from in [ago(7_200_000), ago(-7_200_000)] {
        let response = analyst.run(since, json!({ "from": from })).await;
        assert_eq!(response["errors"][0]["extensions"]["field"], "from", "{response:#}");
    }
    // Without `from`, it is one of `to`.
    let until =
        "query($to: DateTime!) { viewSeries(page: \"/a\", to: $to, resolution: DAY) { total } }";
    for to in ["1970-01-10T00:00:00Z", "1969-01-01T00:00:00Z"] {
        let response = analyst.run(until, json!({ "to": to })).await;
        assert_eq!(response["errors"][0]["extensions"]["field"], "to", "{response:#}");
    }
    let variables =
        json!({ "page": "/a", "from": from, "to": "2024-01-02T00:00:00Z", "by": "DAY" });
    assert_eq!(service.error_code(SERIES, variables).await, "FORBIDDEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_takes_every_month_and_32_days_at_most() {
    for engine in ENGINES {
        let gateway = Gateway::with(on(engine)).await;
        // October in Berlin has an hour more, and is on 32 days in UTC.
        let [from, to] = ["2024-09-30T22:00:00Z", "2024-10-31T23:00:00Z"];
        record(&gateway.service(), &[view("/a", from), view("/a", "2024-10-31T22:59:59Z")]).await;
        for (by, points) in [("HOUR", 745), ("DAY", 32)] {
            let (total, shown, _) = series(&gateway, "/a", from, to, by).await;
            assert_eq!((total, shown), (2, points), "{engine:?} {by}");
        }
        let from = "2024-10-01T00:00:00Z";
        for (by, points) in [("HOUR", 768), ("DAY", 32)] {
            let whole = series(&gateway, "/a", from, "2024-11-02T00:00:00Z", by).await;
            assert_eq!((whole.0, whole.1), (1, points), "{engine:?} {by}");
            let variables =
                json!({ "page": "/a", "from": from, "to": "2024-11-02T00:00:01Z", "by": by });
            let response = gateway.user("an-analyst", &["analyst"]).run(SERIES, variables).await;
            let error = &response["errors"][0];
            assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{response:#}");
            let message = error["message"].as_str().expect("a message");
            assert!(message.contains("32 days"), "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_without_a_time_is_of_now() {
    for engine in ENGINES {
        let gateway = Gateway::with(|config| config.series_engine = engine).await;
        let before = docgate::app::rfc3339(gateway.app.clock());
        record(&gateway.service(), &[json!({ "page": "/" })]).await;
        let after = docgate::app::rfc3339(gateway.app.clock());
        assert_eq!(series(&gateway, "/", &before, &after, "DAY").await.0, 1, "{engine:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_views_share_commands() {
    for (engine, stored) in ENGINES.into_iter().zip(["pageViews", "pageViewPoints"]) {
        let gateway = Gateway::behind_proxy(on(engine)).await;
        let service = gateway.service();
        let views = [view("/a", "2024-01-01T10:00:00Z")];
        record(&service, &views).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.count_only(move |seen| seen.collection == stored);
        let mut total = 1;
        // On a busy machine some may come when the others have been counted.
        for _ in 0..20 {
            proxy.cut_all_from(0, Cut::Hold);
            let (_, ()) =
                tokio::join!(join_all((0..60).map(|_| record(&service, &views))), async {
                    proxy.reached().await;
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    assert!(proxy.seen().len() <= 2, "two at a time: {:?}", proxy.seen());
                    proxy.heal();
                    proxy.release().await;
                });
            total += 60;
            if proxy.seen().len() <= 5 {
                break;
            }
        }
        assert!(proxy.seen().len() <= 5, "60 views: {:?}", proxy.seen());
        let [from, to] = ["2024-01-01T10:00:00Z", "2024-01-01T10:01:00Z"];
        assert_eq!(series(&gateway, "/a", from, to, "MINUTE").await.0, total, "{engine:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_may_be_cut_anywhere() {
    for engine in ENGINES {
        let settings = |config: &mut Config| {
            short_bounds(config);
            on(engine)(config);
        };
        cuts::everywhere(
            settings,
            async |_, n| format!("/{n}"),
            async |gateway, page| {
                let views = json!({ "views": [view(page, "2024-01-01T10:00:00Z")] });
                // With short bounds a call on a busy machine may run out of time before its first command.
                until("a command is sent", async || {
                    gateway.service().send(RECORD, views.clone()).await.ok();
                    gateway.proxy.as_ref().is_none_or(|proxy| !proxy.seen().is_empty())
                })
                .await;
            },
            async |gateway, case| {
                // The repeat counts for certain, and the call before it once at the most.
                let [from, to] = ["2024-01-01T10:00:00Z", "2024-01-01T10:00:01Z"];
                let (total, ..) = series(gateway, &case.subject, from, to, "SECOND").await;
                assert!((1..=2).contains(&total), "{engine:?}: {total}, {case:?}");
                if matches!(case.way, Way::Unsure) && engine == SeriesEngine::Buckets {
                    assert_eq!(total, 2, "it was applied, {case:?}");
                }
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hears_no_answer_is_told_that_nobody_knows() {
    for engine in ENGINES {
        let gateway = Gateway::behind_proxy(on(engine)).await;
        let service = gateway.service();
        let [from, to] = ["2024-01-01T10:00:00Z", "2024-01-01T10:00:01Z"];
        record(&service, &[view("/a", from)]).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.count_only(|seen| seen.collection.starts_with("pageView"));
        for (cut, counted) in [(Cut::ReplyLost, 2), (Cut::BeforeForwarding, 2)] {
            proxy.cut(0, cut);
            let response = service.run(RECORD, json!({ "views": [view("/a", from)] })).await;
            let extensions = &response["errors"][0]["extensions"];
            assert_eq!(extensions["code"], "UNAVAILABLE", "{response:#}");
            assert_eq!(extensions.get("retryable"), None, "{response:#}");
            assert_eq!(series(&gateway, "/a", from, to, "SECOND").await.0, counted, "{engine:?}");
        }
    }
}

/// What is stored of a collection that isn't a time series.
async fn stored(gateway: &Gateway, filter: Document) -> u64 {
    let buckets = gateway.database.collection::<Document>("pageViews");
    buckets
        .count_documents(filter)
        .hint(mongodb::options::Hint::Name("_id_".into()))
        .await
        .expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_decides_where_views_are_stored() {
    for engine in ENGINES {
        let gateway = Gateway::with(on(engine)).await;
        record(&gateway.service(), &[view("/a", "2024-01-01T10:00:00Z")]).await;
        let is_native = engine == SeriesEngine::Native;
        assert_eq!(stored(&gateway, doc! {}).await, u64::from(!is_native));
        let find = doc! { "listCollections": 1, "filter": { "name": "pageViewPoints" } };
        let found = gateway.database.run_command(find).await.expect("collections");
        let found = found.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
        let found = found.expect("a batch").first().and_then(|one| one.as_document());
        assert_eq!(found.is_some(), is_native);
        assert!(
            found.is_none_or(|one| one.get_str("type").is_ok_and(|kind| kind == "timeseries")),
            "{found:?}"
        );
    }
}
