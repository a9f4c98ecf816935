//! Each month has a collection of its own, which comes and goes.

use docgate::domains;
use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;

use super::{LIST, analyst, day, event, list, log, logged, months};
use crate::support::{Gateway, all_nodes, texts_of};

/// Midnight of the first day of the month before the last one, and of the one after it.
fn two_months(gateway: &Gateway) -> [String; 2] {
    let this = day(gateway, 0);
    let (year, month): (i32, i32) =
        (this[..4].parse().expect("a year"), this[5..7].parse().expect("a month"));
    let first = |back: i32| {
        let number = year * 12 + month - 1 - back;
        format!("{:04}-{:02}-01T00:00:00.000Z", number.div_euclid(12), number.rem_euclid(12) + 1)
    };
    [first(2), first(1)]
}

fn before(time: &str) -> String {
    let time = DateTime::parse_rfc3339_str(time).expect("a time");
    docgate::app::rfc3339(DateTime::from_millis(time.timestamp_millis() - 1))
}

fn collection_of(time: &str) -> String {
    format!("events_{}_{}", &time[..4], &time[5..7])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_in_the_collection_of_its_month() {
    let gateway = Gateway::start().await;
    let [first, second] = two_months(&gateway);
    let times = [before(&first), first.clone(), before(&second), second.clone()];
    logged(&gateway, &times.each_ref().map(|at| event("/a", at))).await;
    let expected = [&times[0], &first, &second].map(|time| collection_of(time));
    assert_eq!(months(&gateway).await, expected);
    for (name, count) in expected.iter().zip([1, 2, 1]) {
        assert_eq!(gateway.stored(name).await.len(), count, "{name}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_crosses_months_both_ways() {
    let gateway = Gateway::start().await;
    let [first, second] = two_months(&gateway);
    // Several of one time, on both sides of the border.
    let times = [
        before(&first),
        first.clone(),
        first.clone(),
        before(&second),
        second.clone(),
        second.clone(),
    ];
    for at in &times {
        logged(&gateway, &[event("/a", at), event("/b", at)]).await;
    }
    let mut newest_first = times.to_vec();
    newest_first.reverse();
    let query = "query($first: Int, $after: String, $last: Int, $before: String, $from: DateTime, $to: DateTime) {
        events(by: { path: \"/a\" }, from: $from, to: $to, first: $first, after: $after, last: $last, before: $before) {
            edges { cursor node { at } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
    let client = analyst(&gateway);
    for size in [1, 2, 4, 100] {
        for from in ["first", "last"] {
            let pages = json!({ from: size });
            let found = all_nodes(pages, async |page| client.field(query, page).await);
            assert_eq!(texts_of(&found.await, "at"), newest_first, "{size} {from}");
        }
    }
    // A range begins with its first time, and ends before its last one.
    let range = json!({ "from": first, "to": second, "first": 100 });
    let page = client.field(query, range).await;
    let found: Vec<_> =
        page["edges"].as_array().expect("edges").iter().map(|edge| &edge["node"]["at"]).collect();
    assert_eq!(found, [&times[3], &times[2], &times[1]]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_that_is_too_old_is_dropped() {
    let gateway = Gateway::with(|config| config.events_retention_days = 45).await;
    let now = gateway.app.clock().timestamp_millis();
    let old = ["events_1999_12", "events_2020_02"];
    for name in old {
        gateway.raw(name).insert_one(doc! { "_id": "a" }).await.expect("inserted");
    }
    // What has another name isn't touched.
    gateway.raw("events_of_others").insert_one(doc! { "_id": "a" }).await.expect("inserted");
    let recent = event("/a", &format!("{}T00:00:00Z", day(&gateway, 44)));
    logged(&gateway, &[recent]).await;
    let swept = gateway.sweep_room(&domains::events::ROOM).await;
    assert_eq!(swept, 2);
    let left = months(&gateway).await;
    assert!(old.iter().all(|name| !left.contains(&(*name).to_owned())), "{left:?}");
    assert!(left.contains(&"events_of_others".to_owned()), "{left:?}");
    assert_eq!(list(&gateway, json!({ "path": "/a" })).await.len(), 1);
    let swept = gateway.sweep_room(&domains::events::ROOM).await;
    assert_eq!(swept, 0);
    // A month with any event that isn't too old is kept, and 0 keeps all.
    let kept = gateway.sibling_with(|config| config.events_retention_days = 0).await;
    gateway
        .raw("events_1999_12")
        .insert_one(doc! { "_id": "a", "at": DateTime::from_millis(now) })
        .await
        .expect("inserted");
    kept.sweep_room(&domains::events::ROOM).await;
    assert!(months(&gateway).await.contains(&"events_1999_12".to_owned()));
    gateway.raw("events_1999_12").drop().await.expect("dropped");
    let very_old = json!({ "events": [event("/old", "1999-11-01T00:00:00Z")] });
    assert_eq!(log(&kept.service(), very_old.clone()).await["count"], 1);
    assert_eq!(log(&gateway.service(), very_old).await["failures"][0]["field"], "at");
    assert_eq!(list(&kept, json!({ "path": "/old" })).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_gateways_create_a_month_at_once() {
    for round in 0..5 {
        let gateway = Gateway::start().await;
        let siblings = join_all((0..3).map(|_| gateway.sibling())).await;
        let at = format!("{}T10:00:00Z", day(&gateway, 30 + round));
        let calls = siblings.iter().flat_map(|sibling| {
            let at = &at;
            (0..8).map(move |_| async move { logged(sibling, &[event("/a", at)]).await })
        });
        join_all(calls).await;
        assert_eq!(months(&gateway).await, [collection_of(&at)]);
        assert_eq!(list(&gateway, json!({ "path": "/a" })).await.len(), 24);
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_before_the_first_event_find_nothing() {
    let gateway = Gateway::start().await;
    for by in [json!({ "path": "/a" }), json!({ "host": "h" }), json!({ "day": day(&gateway, 0) })]
    {
        let page = analyst(&gateway).field(LIST, json!({ "by": by })).await;
        assert_eq!(page["nodes"], json!([]));
        assert_eq!(page["pageInfo"]["hasNextPage"], false);
    }
    let count = "query($day: Date!) { requestsByDayAndPage(from: $day, to: $day) { requests } }";
    let counted = analyst(&gateway).field(count, json!({ "day": day(&gateway, 0) })).await;
    assert_eq!(counted, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_what_is_misplaced_and_the_repair_builds_indexes() {
    let gateway = Gateway::start().await;
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    logged(&gateway, &[event("/a", &at)]).await;
    let name = collection_of(&at);
    let broken = async || {
        let report = gateway.check().await;
        let rules = report.rules.into_iter().filter(|(_, found)| !found.is_empty());
        rules.map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    assert!(broken().await.is_empty());
    let mut other: Document = gateway.stored(&name).await.remove(0);
    other.insert("_id", "other");
    other.insert("at", DateTime::from_millis(0));
    gateway.raw(&name).insert_one(other).await.expect("inserted");
    assert_eq!(broken().await, ["events: each event is in the collection of its month"]);
    gateway.raw(&name).delete_one(doc! { "_id": "other" }).await.expect("removed");
    gateway.raw(&name).drop_index("host").await.expect("dropped");
    assert_eq!(broken().await, ["events: each month has its indexes"]);
    let repaired = gateway.repair().await;
    assert_eq!(repaired, [format!("the indexes of {name}: host")]);
    assert!(broken().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_positions_are_forgotten_when_they_are_old() {
    let gateway = Gateway::with(|config| config.events_retention_days = 30).await;
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let input = json!({ "events": [event("/a", &at)], "idempotencyKey": "k" });
    log(&gateway.service(), input).await;
    let old = |days: i64| {
        DateTime::from_millis(gateway.app.clock().timestamp_millis() - days * 86_400_000)
    };
    gateway
        .raw("eventCalls")
        .insert_one(doc! { "_id": "old", "at": old(1) })
        .await
        .expect("inserted");
    for days in [29, 32] {
        let position = doc! { "_id": days.to_string(), "at": old(days) };
        gateway.raw("eventImports").insert_one(position).await.expect("inserted");
    }
    gateway.sweep_room(&domains::events::ROOM).await;
    assert_eq!(gateway.stored("eventCalls").await.len(), 1);
    let left = gateway.stored("eventImports").await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].get_str("_id").expect("an id"), "29");
}
