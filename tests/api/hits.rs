//! Hits of pages: each counts once, however many come at a moment, and reports add them up.

mod batches;
mod documents;
mod live;
mod ranges;

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use crate::{
    metrics::Samples,
    support::{
        Client, Gateway, commands,
        cuts::{self, Way},
        proxy::Cut,
        settled, short_bounds, until,
    },
};

const RECORD: &str = "mutation($hits: [HitInput!]!) { recordHits(input: { hits: $hits }) {
    __typename ... on HitsRecorded { count } ... on UserError { code message }
    ... on InvalidInput { field } } }";
const RECORD_ONCE: &str = "mutation($hits: [HitInput!]!, $idempotencyKey: ID) {
    recordHits(input: { hits: $hits, idempotencyKey: $idempotencyKey }) {
        __typename ... on HitsRecorded { count } ... on UserError { code message }
        ... on InvalidInput { field } } }";
const REPORT: &str = "query(
        $page: String!, $range: ReportRange!, $by: ReportResolution!, $zone: String) {
    report(site: \"a.example\", page: $page, range: $range, resolution: $by, timeZone: $zone) {
        total buckets { startsAt label hits } } }";

fn days(from: &str, to: &str) -> Value {
    json!({ "days": { "from": from, "to": to } })
}

fn hit(page: &str, at: &str) -> Value {
    json!({ "site": "a.example", "page": page, "at": at })
}

async fn record(client: &Client, hits: &[Value]) {
    let said = client.field(RECORD, json!({ "hits": hits })).await;
    assert_eq!(said, json!({ "__typename": "HitsRecorded", "count": hits.len() }), "{said:#}");
}

/// Total, how many buckets, and those with hits.
type Told = (i64, usize, Vec<(String, i64)>);

async fn report(gateway: &Gateway, page: &str, from: &str, to: &str, by: &str) -> Told {
    let variables = json!({ "page": page, "range": days(from, to), "by": by });
    let response = gateway.user("an-analyst", &["analyst"]).explained(REPORT, variables).await;
    let stored = if ["MINUTE", "HOUR"].contains(&by) { "statsDaily" } else { "statsMonthly" };
    assert_eq!(commands(&response), [format!("find {stored}")], "{response:#}");
    let report = &response["data"]["report"];
    let buckets = report["buckets"].as_array().expect("buckets");
    let shown = buckets.iter().filter(|bucket| bucket["hits"] != 0);
    let shown = shown.map(|bucket| {
        let start = bucket["startsAt"].as_str().expect("a moment").replace(":00.000Z", "");
        (start, bucket["hits"].as_i64().expect("a number"))
    });
    (report["total"].as_i64().expect("a number"), buckets.len(), shown.collect())
}

fn told(total: i64, buckets: usize, shown: &[(&str, i64)]) -> Told {
    (total, buckets, shown.iter().map(|(start, hits)| ((*start).to_owned(), *hits)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_adds_up_what_was_recorded() {
    let gateway = Gateway::start().await;
    let times = [
        "2024-02-28T23:59:59.999Z",
        "2024-02-29T00:00:00Z",
        "2024-02-29T00:00:59Z",
        "2024-02-29T13:05:00Z",
        "2024-02-29T14:05:00+01:00",
        "2024-03-03T23:00:00Z",
        "2024-03-04T00:00:00Z",
    ];
    let hits: Vec<Value> = times.iter().map(|at| hit("/a", at)).collect();
    let sent = gateway.service().explained(RECORD, json!({ "hits": hits })).await;
    let sent: BTreeSet<String> = commands(&sent).into_iter().collect();
    assert_eq!(sent, BTreeSet::from(["update statsDaily".into(), "update statsMonthly".into()]));
    record(&gateway.service(), &[hit("/b", times[1])]).await;

    let day = ["2024-02-29", "2024-02-29"];
    let all = ["2024-02-01", "2024-03-31"];
    for (by, [from, to], expected) in [
        ("MINUTE", day, told(4, 1_440, &[("2024-02-29T00:00", 2), ("2024-02-29T13:05", 2)])),
        ("HOUR", day, told(4, 24, &[("2024-02-29T00:00", 2), ("2024-02-29T13:00", 2)])),
        (
            "HOUR",
            ["2024-02-28", "2024-02-29"],
            told(
                5,
                48,
                &[("2024-02-28T23:00", 1), ("2024-02-29T00:00", 2), ("2024-02-29T13:00", 2)],
            ),
        ),
        ("DAY", day, told(4, 1, &[("2024-02-29T00:00", 4)])),
        (
            "DAY",
            all,
            told(
                7,
                60,
                &[
                    ("2024-02-28T00:00", 1),
                    ("2024-02-29T00:00", 4),
                    ("2024-03-03T00:00", 1),
                    ("2024-03-04T00:00", 1),
                ],
            ),
        ),
        // Weeks begin on Monday; the first one holds only the days that were asked for.
        ("WEEK", all, told(7, 9, &[("2024-02-26T00:00", 6), ("2024-03-04T00:00", 1)])),
        ("WEEK", ["2024-02-29", "2024-03-03"], told(5, 1, &[("2024-02-26T00:00", 5)])),
        ("MONTH", all, told(7, 2, &[("2024-02-01T00:00", 5), ("2024-03-01T00:00", 2)])),
        (
            "MONTH",
            ["2024-02-29", "2024-12-31"],
            told(6, 11, &[("2024-02-01T00:00", 4), ("2024-03-01T00:00", 2)]),
        ),
        (
            "MONTH",
            ["1970-01-01", "2024-12-31"],
            told(7, 660, &[("2024-02-01T00:00", 5), ("2024-03-01T00:00", 2)]),
        ),
        ("DAY", ["2023-01-01", "2023-12-31"], told(0, 365, &[])),
        ("MONTH", ["2900-01-01", "2999-12-31"], told(0, 1_200, &[])),
    ] {
        assert_eq!(report(&gateway, "/a", from, to, by).await, expected, "{by} {from} {to}");
    }
    assert_eq!(report(&gateway, "/nowhere", day[0], day[1], "HOUR").await, told(0, 24, &[]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_without_a_time_is_of_now() {
    let gateway = Gateway::start().await;
    let before = docgate::app::rfc3339(gateway.app.clock());
    record(&gateway.service(), &[json!({ "site": "a.example", "page": "/" })]).await;
    let after = docgate::app::rfc3339(gateway.app.clock());
    let (total, ..) = report(&gateway, "/", &before[..10], &after[..10], "HOUR").await;
    assert_eq!(total, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_counted_is_refused_and_changes_nothing() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let good = hit("/a", "2024-01-01T00:00:00Z");
    let with = |key: &str, value: Value| {
        let mut hit = good.clone();
        hit[key] = value;
        json!([good, hit])
    };
    let moment = |ahead: i64| {
        let now = gateway.app.clock().timestamp_millis();
        json!(docgate::app::rfc3339(DateTime::from_millis(now + ahead)))
    };
    for (hits, field) in [
        (json!([]), "input.hits"),
        (json!(vec![good.clone(); 101]), "input.hits"),
        (with("site", json!("")), "input.hits.1.site"),
        (with("site", json!("x".repeat(201))), "input.hits.1.site"),
        (with("page", json!("")), "input.hits.1.page"),
        (with("page", json!("a\nb")), "input.hits.1.page"),
        (with("page", json!("a\u{0}b")), "input.hits.1.page"),
        (with("page", json!("x".repeat(8_193))), "input.hits.1.page"),
        (with("page", json!("ä".repeat(4_097))), "input.hits.1.page"),
        (with("at", json!("1969-12-31T23:59:59Z")), "input.hits.1.at"),
        (with("at", json!("2100-01-01T00:00:00Z")), "input.hits.1.at"),
        // A caller's clock may be a minute ahead.
        (with("at", moment(65_000)), "input.hits.1.at"),
    ] {
        let said = service.field(RECORD, json!({ "hits": hits })).await;
        assert_eq!((&said["__typename"], &said["field"]), (&json!("InvalidInput"), &json!(field)));
    }
    assert_eq!(
        gateway.shopper("it").error_code(RECORD, json!({ "hits": [good] })).await,
        "FORBIDDEN"
    );
    assert!(gateway.snapshot().await.is_empty());
    record(&service, &[json!({ "site": "a.example", "page": "/ahead", "at": moment(50_000) })])
        .await;

    let analyst = gateway.user("an-analyst", &["analyst"]);
    for (from, to, by, field) in [
        ("2024-01-02", "2024-01-01", "DAY", "range.days.to"),
        ("1969-12-31", "2024-01-01", "MONTH", "range.days.from"),
        ("2024-01-01", "2024-01-02", "MINUTE", "range"),
        ("2024-01-01", "3000-01-01", "MONTH", "range.days.to"),
        ("2900-01-01", "2999-12-31", "DAY", "range"),
        ("9999-12-31", "9999-12-31", "MONTH", "range.days.from"),
    ] {
        let variables = json!({ "page": "/a", "range": days(from, to), "by": by });
        let response = analyst.run(REPORT, variables).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{response:#}");
        assert_eq!(extensions["field"], field, "{response:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_values_and_no_two_pages_share_a_document() {
    let gateway = Gateway::start().await;
    // The longest name that a page can have.
    let long = "🦀".repeat(2_048);
    let odd = [
        "$where",
        "a.b",
        "/a?b=$1&c[0].d",
        "{\"$gt\":\"\"}",
        "ä/🦀",
        "2024-01",
        "_id",
        "..",
        "$",
        &long,
    ];
    let at = "2024-01-01T00:00:00Z";
    let mut hits: Vec<Value> = odd.iter().map(|page| hit(page, at)).collect();
    // Written one behind the other, these would be alike.
    hits.push(json!({ "site": "a.exampleab", "page": "c", "at": at }));
    hits.push(json!({ "site": "a.example", "page": "abc", "at": at }));
    record(&gateway.service(), &hits).await;
    let again = json!({ "hits": hits, "idempotencyKey": "$a.b" });
    for _ in 0..2 {
        let said = gateway.service().field(RECORD_ONCE, again.clone()).await;
        assert_eq!(said["count"], hits.len(), "{said:#}");
    }
    for page in odd.iter().chain(&["abc"]) {
        for by in ["MINUTE", "HOUR", "DAY"] {
            let (total, ..) = report(&gateway, page, "2024-01-01", "2024-01-01", by).await;
            assert_eq!(total, 2, "{page} {by}");
        }
    }
    gateway.assert_sound().await;
}

/// Many callers at once, for pages that nobody looked at before.
async fn crowd(gateway: &Gateway, callers: usize) {
    let service = gateway.service();
    let hits = [hit("/a", "2024-01-01T10:00:00Z"), hit("/b", "2024-01-01T10:01:00Z")];
    join_all((0..callers).map(|number| record(&service, &hits[..=number % 2]))).await;
    let callers = i64::try_from(callers).expect("a number");
    for (page, hits) in [("/a", callers), ("/b", callers / 2)] {
        for by in ["MINUTE", "DAY"] {
            let (total, ..) = report(gateway, page, "2024-01-01", "2024-01-01", by).await;
            assert_eq!(total, hits, "{page} {by}");
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_callers_at_once_each_counts() {
    crowd(&Gateway::start().await, 200).await;
    // Sixty-four hits by as many commands, each of which may be the first of its page.
    crowd(&Gateway::with(|config| config.coalesce_counts = false).await, 64).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_goes_by_itself_where_the_operator_wants_it() {
    let gateway = Gateway::with(|config| config.coalesce_counts = false).await;
    crowd(&gateway, 50).await;
    let labels = "collection=\"statsDaily\",command=\"update\",outcome=\"ok\"";
    let name = format!("docgate_mongodb_commands_total{{{labels}}}");
    let sent = Samples::of(&gateway).await.get(&name);
    assert!((sent - 50.0).abs() < 0.5, "{sent} commands for 50 calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_while_a_command_is_on_its_way_goes_out_together() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_all_from(0, Cut::Hold);
    let service = gateway.service();
    let hits = [hit("/a", "2024-01-01T10:00:00Z")];
    let (_, ()) = tokio::join!(join_all((0..60).map(|_| record(&service, &hits))), async {
        proxy.reached().await;
        until("all calls are there", async || gateway.app.tasks().len() >= 60).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(proxy.seen().len() <= 2, "two at a time: {:?}", proxy.seen());
        proxy.heal();
        proxy.release().await;
    });
    assert!(proxy.seen().len() <= 5, "60 hits: {:?}", proxy.seen());
    assert_eq!(report(&gateway, "/a", "2024-01-01", "2024-01-01", "HOUR").await.0, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_for_one_command_is_counted_by_several() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_all_from(0, Cut::Hold);
    let (service, long) = (gateway.service(), "🦀".repeat(990));
    let calls = (0..50).map(|call| {
        let page = |number| hit(&format!("{long}{call}-{number}"), "2024-01-01T10:00:00Z");
        let hits: Vec<Value> = (0..100).map(page).collect();
        let service = &service;
        async move { record(service, &hits).await }
    });
    tokio::join!(join_all(calls), async {
        proxy.reached().await;
        // The others gather behind what two commands carry, who may be several themselves.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(proxy.seen().len() <= 2, "two at a time: {:?}", proxy.seen());
        proxy.heal();
        proxy.release().await;
    });
    assert!(proxy.seen().len() >= 5, "{:?}", proxy.seen());
    for collection in ["statsDaily", "statsMonthly"] {
        let counted = gateway.database.collection::<Document>(collection);
        assert_eq!(counted.estimated_document_count().await.expect("a count"), 5_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_one_round_trip() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let hits: Vec<Value> = (1..=31)
        .flat_map(|day| {
            [1, 3].map(|month| hit("/a", &format!("2024-{month:02}-{day:02}T10:00:00Z")))
        })
        .collect();
    record(&gateway.service(), &hits).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    for by in ["HOUR", "DAY"] {
        proxy.record();
        let (total, ..) = report(&gateway, "/a", "2024-01-01", "2024-03-02", by).await;
        assert_eq!((total, proxy.seen().len()), (33, 1), "{by}: {:?}", proxy.seen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_cant_be_counted_in_fails_only_its_own() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let days = gateway.database.collection::<Document>("statsDaily");
    let broken = doc! { "site": "a.example", "page": "/broken", "date": "2024-01-01" };
    days.insert_one(doc! { "_id": broken, "hourly": "none", "v": 1 }).await.expect("inserted");
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_all_from(0, Cut::Hold);
    let service = gateway.service();
    let at = "2024-01-01T10:00:00Z";
    let (sound, broken) =
        ([hit("/sound", at)], json!({ "hits": [hit("/broken", at), hit("/c", at)] }));
    let (_, codes, ()) = tokio::join!(
        join_all((0..20).map(|_| record(&service, &sound))),
        join_all((0..5).map(|_| service.error_code(RECORD, broken.clone()))),
        async {
            proxy.reached().await;
            until("all calls are there", async || gateway.app.tasks().len() >= 25).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            proxy.heal();
            proxy.release().await;
        }
    );
    assert!(proxy.seen().len() <= 5, "25 calls: {:?}", proxy.seen());
    assert_eq!(codes, ["INTERNAL_SERVER_ERROR"; 5]);
    for (page, hits) in [("/sound", 20), ("/c", 5)] {
        assert_eq!(report(&gateway, page, "2024-01-01", "2024-01-01", "HOUR").await.0, hits);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hears_no_answer_is_told_that_nobody_knows() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "statsDaily");
    let service = gateway.service();
    let hits = json!({ "hits": [hit("/a", "2024-01-01T10:00:00Z")] });
    for (cut, counted) in [(Cut::ReplyLost, 1), (Cut::BeforeForwarding, 1)] {
        proxy.cut(0, cut);
        let response = service.run(RECORD, hits.clone()).await;
        let error = &response["errors"][0];
        assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{response:#}");
        // Sent again it may count twice: a client mustn't do that by itself.
        assert_eq!(error["extensions"].get("retryable"), None, "{response:#}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains("twice")));
        assert_eq!(report(&gateway, "/a", "2024-01-01", "2024-01-01", "HOUR").await.0, counted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_too_long_isnt_to_be_repeated() {
    let gateway = Gateway::behind_proxy(|config| config.request_millis = 1_000).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_all_from(0, Cut::Hold);
    let texts = [
        RECORD,
        "mutation($hits: [HitInput!]!) { ...All } fragment All on Mutation {
            ... @include(if: true) { one: recordHits(input: { hits: $hits }) { __typename } } }",
    ];
    for text in texts {
        let hits = json!({ "hits": [hit("/a", "2024-01-01T10:00:00Z")] });
        let response = gateway.service().run(text, hits).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "UNAVAILABLE", "{response:#}");
        assert_eq!(extensions.get("retryable"), None, "{response:#}");
    }
    proxy.heal();
    proxy.release().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_may_be_cut_anywhere() {
    let aftermath = async |gateway: &Gateway| {
        // Without an idempotency key a day and its month may differ: the repair sets that right.
        gateway.repair().await;
        gateway.assert_sound().await;
    };
    cuts::everywhere_then(
        short_bounds,
        async |_, n| format!("/{n}"),
        async |gateway, page| {
            let hits = json!({ "hits": [hit(page, "2024-01-01T10:00:00Z")] });
            gateway.service().send(RECORD, hits).await.ok();
        },
        async |gateway, case| {
            // The repeat counts for certain, and the call before it once at the most.
            for by in ["HOUR", "DAY"] {
                let (total, ..) =
                    report(gateway, &case.subject, "2024-01-01", "2024-01-01", by).await;
                assert!((1..=2).contains(&total), "{by}: {total}, {case:?}");
                if matches!(case.way, Way::Unsure) {
                    assert_eq!(total, 2, "{by}: it was applied, {case:?}");
                }
            }
        },
        aftermath,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_is_counted() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_all_from(0, Cut::Hold);
    let service = gateway.service();
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let client = gateway.service();
            tokio::spawn(async move { record(&client, &[hit("/a", "2024-01-01T10:00:00Z")]).await })
        })
        .collect();
    proxy.reached().await;
    until("all calls are there", async || gateway.app.tasks().len() >= calls.len()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    tokio::time::sleep(Duration::from_millis(100)).await;
    proxy.heal();
    proxy.release().await;
    settled(&gateway).await;
    record(&service, &[hit("/a", "2024-01-01T10:00:00Z")]).await;
    assert_eq!(report(&gateway, "/a", "2024-01-01", "2024-01-01", "HOUR").await.0, 6);
}
