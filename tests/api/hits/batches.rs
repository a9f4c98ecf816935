//! Batches: hits that are sent again under their idempotency key, and imports that are resumed, count once.

use std::time::Duration;

use docgate::{
    domains::hits::operations::{PageHits, count_batch},
    error::Error,
    flow::later,
};
use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{RECORD_ONCE, hit, report};
use crate::support::{Client, Gateway, cuts, proxy::Cut, short_bounds};

async fn send(client: &Client, hits: &[Value], idempotency_key: &str) {
    let variables = json!({ "hits": hits, "idempotencyKey": idempotency_key });
    let said = client.field(RECORD_ONCE, variables).await;
    assert_eq!(said, json!({ "__typename": "HitsRecorded", "count": hits.len() }), "{said:#}");
}

/// The hits of a page on a day, by every resolution.
async fn hits_of(gateway: &Gateway, page: &str, day: &str) -> i64 {
    let mut totals = Vec::new();
    for by in ["MINUTE", "HOUR", "DAY"] {
        totals.push(report(gateway, page, day, day, by).await.0);
    }
    assert!(totals.iter().all(|total| *total == totals[0]), "{page} {day}: {totals:?}");
    totals[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_that_are_sent_again_count_once() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let hits = [
        hit("/a", "2024-01-31T23:59:59Z"),
        hit("/a", "2024-02-01T00:00:00Z"),
        hit("/a", "2024-02-01T00:00:30Z"),
        hit("/b", "2024-02-01T00:00:00Z"),
    ];
    for _ in 0..3 {
        send(&service, &hits, "one").await;
    }
    let expect = async |times: i64| {
        assert_eq!(hits_of(&gateway, "/a", "2024-01-31").await, times);
        assert_eq!(hits_of(&gateway, "/a", "2024-02-01").await, 2 * times);
        assert_eq!(hits_of(&gateway, "/b", "2024-02-01").await, times);
        gateway.assert_sound().await;
    };
    expect(1).await;
    // Another key, and the same key of another caller.
    send(&service, &hits, "two").await;
    expect(2).await;
    send(&gateway.user("another-service", &["service"]), &hits, "one").await;
    expect(3).await;
    // Other hits aren't those that were sent before.
    send(&service, &hits[3..], "one").await;
    assert_eq!(hits_of(&gateway, "/b", "2024-02-01").await, 4);
    // Without a key they count each time.
    super::record(&service, &hits[3..]).await;
    super::record(&service, &hits[3..]).await;
    assert_eq!(hits_of(&gateway, "/b", "2024-02-01").await, 6);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_has_to_have_the_same_times() {
    let gateway = Gateway::start().await;
    let hits = json!([hit("/a", "2024-01-01T00:00:00Z"), { "site": "a.example", "page": "/a" }]);
    let variables = json!({ "hits": hits, "idempotencyKey": "op" });
    let said = gateway.service().field(RECORD_ONCE, variables).await;
    assert_eq!(
        (&said["__typename"], &said["field"]),
        (&json!("InvalidInput"), &json!("input.hits.1.at"))
    );
    for (key, is_fine) in
        [("x".repeat(128), true), ("x".repeat(129), false), (String::new(), false)]
    {
        let variables =
            json!({ "hits": [hit("/a", "2024-01-01T00:00:00Z")], "idempotencyKey": key });
        let said = gateway.service().field(RECORD_ONCE, variables).await;
        assert_eq!(said["__typename"] == "HitsRecorded", is_fine, "{said:#}");
        assert!(is_fine || said["field"] == "input.idempotencyKey", "{said:#}");
    }
    assert_eq!(hits_of(&gateway, "/a", "2024-01-01").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_callers_with_one_key_one_counts() {
    let gateway = Gateway::start().await;
    let sibling = gateway.sibling().await;
    let hits = [hit("/a", "2024-01-01T10:00:00Z"), hit("/b", "2024-01-01T10:01:00Z")];
    let clients = [gateway.service(), sibling.service()];
    // Nobody looked at these pages before.
    join_all((0..64).map(|caller| send(&clients[caller % 2], &hits, "one"))).await;
    // Each with a key of its own, beside hits without a key.
    let keys: Vec<String> = (0..64).map(|caller| format!("of {caller}")).collect();
    let keyed = keys.iter().map(|key| send(&clients[0], &hits, key));
    let unkeyed = (0..64).map(|_| super::record(&clients[1], &hits));
    tokio::join!(join_all(keyed), join_all(unkeyed));
    for page in ["/a", "/b"] {
        assert_eq!(hits_of(&gateway, page, "2024-01-01").await, 129);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_may_be_cut_anywhere() {
    cuts::everywhere_then(
        short_bounds,
        async |_, n| format!("/{n}"),
        async |gateway, page| {
            // The last one of a month, and the first one of the next.
            let hits = [hit(page, "2024-01-31T23:59:59Z"), hit(page, "2024-02-01T00:00:00Z")];
            let variables = json!({ "hits": hits, "idempotencyKey": page });
            gateway.service().send(RECORD_ONCE, variables).await.ok();
        },
        async |gateway, case| {
            // Days and months agree again, without a repair.
            for day in ["2024-01-31", "2024-02-01"] {
                assert_eq!(hits_of(gateway, &case.subject, day).await, 1, "{case:?}");
            }
        },
        // No sweep has to do anything: the repeat completes the batch.
        async |_| {},
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_an_unknown_outcome_may_be_repeated() {
    let gateway = Gateway::behind_proxy(|config| config.request_millis = 5_000).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let service = gateway.service();
    let hits = [hit("/a", "2024-01-01T10:00:00Z")];
    let variables = json!({ "hits": hits, "idempotencyKey": "one" });
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_with_retries(0, Cut::ReplyLost);
    let response = service.run(RECORD_ONCE, variables.clone()).await;
    proxy.heal();
    let extensions = &response["errors"][0]["extensions"];
    assert_eq!(
        (&extensions["code"], &extensions["retryable"]),
        (&json!("UNAVAILABLE"), &json!(true))
    );
    send(&service, &hits, "one").await;
    assert_eq!(hits_of(&gateway, "/a", "2024-01-01").await, 1);

    // So may a call that takes too long, wherever its key stands.
    let input = "site: \"a.example\", page: \"/a\", at: \"2024-01-01T10:00:00Z\"";
    let texts = [
        (RECORD_ONCE.to_owned(), variables.clone(), true),
        (RECORD_ONCE.to_owned(), json!({ "hits": hits, "idempotencyKey": null }), false),
        (RECORD_ONCE.to_owned(), json!({ "hits": hits }), false),
        (
            "mutation($input: RecordHitsInput!) { recordHits(input: $input) { __typename } }"
                .to_owned(),
            json!({ "input": variables }),
            true,
        ),
        (
            format!(
                "mutation {{ recordHits(input: {{ hits: [{{ {input} }}], idempotencyKey: \"one\" }}) {{ __typename }} }}"
            ),
            json!({}),
            true,
        ),
        (
            format!(
                "mutation {{ recordHits(input: {{ hits: [{{ {input} }}], idempotencyKey: null }}) {{ __typename }} }}"
            ),
            json!({}),
            false,
        ),
    ];
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_all_from(0, Cut::Hold);
    let asked = texts.iter().map(|(text, variables, is_retryable)| {
        let service = &service;
        async move {
            let response = service.run(text, variables.clone()).await;
            let extensions = &response["errors"][0]["extensions"];
            assert_eq!(extensions["code"], "UNAVAILABLE", "{response:#}");
            assert_eq!(extensions["retryable"] == true, *is_retryable, "{text} {variables}");
        }
    });
    join_all(asked).await;
    proxy.heal();
    proxy.release().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_forgotten() {
    let gateway = Gateway::with(|config| config.flow_ops_seconds = 1).await;
    let service = gateway.service();
    let hits = [hit("/a", "2024-01-01T10:00:00Z")];
    send(&service, &hits, "one").await;
    send(&service, &hits, "two").await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    send(&service, &hits, "three").await;
    for collection in ["statsDaily", "statsMonthly"] {
        let stored = gateway.stored(collection).await;
        assert_eq!(stored[0].get_array("batches").expect("batches").len(), 1, "{stored:?}");
        assert!(!stored[0].contains_key("isNew"));
    }
    // Keys that were made up by the hundred leave the last ones. None of them is old enough to be forgotten.
    let soon = later(gateway.app.clock(), Duration::from_secs(60));
    let known: Vec<_> = (0..600).map(|n| doc! { "tag": n.to_string(), "at": soon }).collect();
    let known = doc! { "$set": { "batches": known } };
    let days = gateway.database.collection::<mongodb::bson::Document>("statsDaily");
    days.update_one(doc! {}, known).await.expect("an update");
    send(&service, &hits, "four").await;
    let stored = gateway.stored("statsDaily").await;
    assert_eq!(stored[0].get_array("batches").expect("batches").len(), 500);
    assert_eq!(hits_of(&gateway, "/a", "2024-01-01").await, 4);
}

/// Lines of an access log.
fn lines(hits: &[(&str, &str, i64)]) -> Vec<PageHits> {
    let line = |(page, at, count): &(&str, &str, i64)| {
        let at = DateTime::parse_rfc3339_str(at).expect("a moment");
        PageHits::new("a.example", page, at, *count).expect("valid")
    };
    hits.iter().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_resumed_counts_nothing_twice() {
    let gateway = Gateway::start().await;
    let app = &gateway.app;
    let first = [("/a", "2024-01-31T23:59:00Z", 2), ("/a", "2024-02-01T00:00:00Z", 3)];
    let second = [("/a", "2024-02-01T00:00:00Z", 5), ("/b", "2024-02-01T00:00:00Z", 7)];
    let third = [("/b", "2024-02-01T10:00:00Z", 1)];
    // Interrupted after the second batch, and sent from the beginning.
    for batches in [&[&first[..], &second[..]][..], &[&first[..], &second[..], &third[..]][..]] {
        for (number, batch) in (0..).zip(batches) {
            count_batch(app, "access.log", number, lines(batch)).await.expect("counted");
        }
    }
    let expect = async |times: i64| {
        assert_eq!(hits_of(&gateway, "/a", "2024-01-31").await, 2 * times);
        assert_eq!(hits_of(&gateway, "/a", "2024-02-01").await, 8 * times);
        assert_eq!(hits_of(&gateway, "/b", "2024-02-01").await, 8 * times);
        gateway.assert_sound().await;
    };
    expect(1).await;
    // Another log has numbers of its own.
    for (number, batch) in [(0, &first[..]), (1, &second[..]), (2, &third[..])] {
        count_batch(app, "$other/log", number, lines(batch)).await.expect("counted");
    }
    expect(2).await;
    // Several importers of one log.
    join_all((0..16).map(|_| count_batch(app, "third", 0, lines(&third)))).await;
    assert_eq!(hits_of(&gateway, "/b", "2024-02-01").await, 17);
    gateway.assert_sound().await;
    for (source, number) in [("", 0), ("a\nb", 0), ("access.log", -1)] {
        let refused = count_batch(app, source, number, lines(&first)).await;
        assert!(matches!(refused, Err(Error::BadInput { .. })), "{refused:?}");
    }
    let now = app.clock();
    for (site, page, count) in [("", "/a", 1), ("a", "", 1), ("a", "/a", 0), ("a", "a\tb", 1)] {
        assert!(PageHits::new(site, page, now, count).is_err(), "{site} {page} {count}");
    }
    count_batch(app, "empty", 0, Vec::new()).await.expect("nothing to count");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_an_import_may_be_cut_anywhere() {
    cuts::everywhere_then(
        short_bounds,
        async |_, n| format!("/{n}"),
        async |gateway, page| {
            let hits =
                [(page.as_str(), "2023-12-31T23:59:59Z", 2), (page, "2024-01-01T00:00:00Z", 2)];
            // Its outcome is unknown where it is cut.
            let _cut = count_batch(&gateway.app, page, 0, lines(&hits)).await;
        },
        async |gateway, case| {
            for day in ["2023-12-31", "2024-01-01"] {
                assert_eq!(hits_of(gateway, &case.subject, day).await, 2, "{case:?}");
            }
        },
        async |_| {},
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_may_be_interrupted_between_its_commands() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let all = || {
        let pages = (0..3_000).map(|page| (format!("/{page}"), 1 + page % 3));
        let at = DateTime::parse_rfc3339_str("2024-01-01T10:00:00Z").expect("a moment");
        pages.map(move |(page, count)| PageHits::new("a.example", &page, at, count).expect("valid"))
    };
    proxy.count_only(|seen| seen.collection == "statsDaily");
    proxy.cut_all_from(1, Cut::BeforeForwarding);
    count_batch(&gateway.app, "log", 7, all()).await.expect_err("interrupted");
    proxy.heal();
    count_batch(&gateway.app, "log", 7, all()).await.expect("counted");
    for collection in ["statsDaily", "statsMonthly"] {
        let stored = gateway.stored(collection).await;
        assert_eq!(stored.len(), 3_000);
        let total = stored.iter().map(|one| one.get_i64("total").expect("a total")).sum::<i64>();
        assert_eq!(total, 6_000, "{collection}");
    }
    gateway.assert_sound().await;
}
