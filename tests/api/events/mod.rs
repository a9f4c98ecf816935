//! Events: what is logged is there, in its month, and once.

mod bounds;
mod cuts;
mod import;
mod lists;
mod long;
mod months;
mod repeats;

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::support::{self, Client, Gateway};

pub(super) const LOG: &str = "mutation($input: LogEventsInput!) { logEvents(input: $input) {
    __typename ... on EventsLogged { count durability isAcknowledged caveat failures { index field reason } }
    ... on UserError { code message } ... on InvalidInput { field } } }";
pub(super) const LIST: &str =
    "query($by: EventsBy!, $from: DateTime, $to: DateTime, $first: Int, $after: String) {
    events(by: $by, from: $from, to: $to, first: $first, after: $after) {
        nodes { at host site path query method status bytes referrer userAgent user arrivedAt }
        pageInfo { hasNextPage endCursor } } }";

/// A day of this year or the last one, so that it isn't too old.
pub(super) fn day(gateway: &Gateway, days_ago: i64) -> String {
    let now = gateway.app.clock().timestamp_millis() - days_ago * 86_400_000;
    docgate::app::rfc3339(mongodb::bson::DateTime::from_millis(now))[..10].to_owned()
}

pub(super) fn event(path: &str, at: &str) -> Value {
    json!({ "at": at, "host": "203.0.113.9", "site": "a.example", "path": path, "status": 200 })
}

pub(super) async fn log(client: &Client, input: Value) -> Value {
    client.field(LOG, json!({ "input": input })).await
}

/// Logs events, which all succeeds.
pub(super) async fn logged(gateway: &Gateway, events: &[Value]) {
    let said = log(&gateway.service(), json!({ "events": events })).await;
    assert_eq!((&said["count"], &said["failures"]), (&json!(events.len()), &json!([])), "{said:#}");
}

pub(super) fn analyst(gateway: &Gateway) -> Client {
    gateway.user("an-analyst", &["analyst"])
}

/// The events, up to 100.
pub(super) async fn list(gateway: &Gateway, by: Value) -> Vec<Value> {
    let page = analyst(gateway).field(LIST, json!({ "by": by, "first": 100 })).await;
    page["nodes"].as_array().expect("nodes").clone()
}

/// The names of the months' collections.
pub(super) async fn months(gateway: &Gateway) -> Vec<String> {
    let mut names = gateway.database.list_collection_names().await.expect("names");
    names.retain(|name| name.starts_with("events_"));
    names.sort();
    names
}

/// Waits for what goes on behind answers, and until a majority has it.
pub(super) async fn settled(gateway: &Gateway) {
    support::settled(gateway).await;
    gateway.raw("settled").insert_one(doc! {}).await.expect("inserted");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_durability_logs_and_says_what_it_promises() {
    let gateway = Gateway::start().await;
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    for (durability, is_acknowledged) in
        [("UNACKNOWLEDGED", false), ("ACKNOWLEDGED", true), ("JOURNALED", true), ("MAJORITY", true)]
    {
        for count in [1, 3, 100] {
            let path = format!("/{durability}/{count}");
            let events: Vec<Value> = (0..count).map(|_| event(&path, &at)).collect();
            let input = json!({ "events": events, "durability": durability });
            let said = log(&gateway.service(), input).await;
            assert_eq!(said["count"], count, "{said:#}");
            assert_eq!(said["durability"], durability);
            assert_eq!(said["isAcknowledged"], is_acknowledged);
            assert_eq!(said["caveat"].is_null(), durability == "MAJORITY", "{said:#}");
            settled(&gateway).await;
            let found = list(&gateway, json!({ "path": path })).await;
            assert_eq!(found.len(), count, "{path}");
        }
    }
    let said = log(&gateway.service(), json!({ "events": [event("/", &at)] })).await;
    assert_eq!(said["durability"], "MAJORITY");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_events_are_told_and_the_others_are_logged() {
    let gateway = Gateway::with(|config| config.events_retention_days = 30).await;
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let with = |key: &str, value: Value| {
        let mut event = event("/a", &at);
        event[key] = value;
        event
    };
    let long = "x".repeat(8_193);
    let invalid = [
        ("at", with("at", json!("1969-12-31T23:59:59Z"))),
        ("at", with("at", json!("2100-01-01T00:00:00Z"))),
        ("at", with("at", json!(format!("{}T00:00:00Z", day(&gateway, 31))))),
        ("site", with("site", json!(""))),
        ("site", with("site", json!("x".repeat(201)))),
        ("site", with("site", json!("a\nb"))),
        ("host", with("host", json!(""))),
        ("host", with("host", json!("x".repeat(256)))),
        ("path", with("path", json!(""))),
        ("path", with("path", json!(long))),
        ("path", with("path", json!("a\u{0}b"))),
        ("query", with("query", json!(long))),
        ("method", with("method", json!("x".repeat(33)))),
        ("status", with("status", json!(-1))),
        ("status", with("status", json!(1_000))),
        ("bytes", with("bytes", json!(-1))),
        ("referrer", with("referrer", json!("a\u{7f}b"))),
        ("userAgent", with("userAgent", json!(long))),
        ("user", with("user", json!("\u{85}"))),
    ];
    for durability in ["MAJORITY", "UNACKNOWLEDGED"] {
        let mut events: Vec<Value> = invalid.iter().map(|(_, event)| event.clone()).collect();
        events.insert(0, event("/good", &at));
        events.push(event("/good", &at));
        let said =
            log(&gateway.service(), json!({ "events": events, "durability": durability })).await;
        assert_eq!(said["count"], 2, "{said:#}");
        let failures = said["failures"].as_array().expect("failures");
        for (position, (field, _)) in invalid.iter().enumerate() {
            assert_eq!(failures[position]["index"], position + 1, "{said:#}");
            assert_eq!(failures[position]["field"], *field, "{said:#}");
            assert!(failures[position]["reason"].is_string());
        }
        assert_eq!(failures.len(), invalid.len());
        settled(&gateway).await;
    }
    assert_eq!(list(&gateway, json!({ "path": "/good" })).await.len(), 4);
    let none = log(&gateway.service(), json!({ "events": [with("status", json!(-1))] })).await;
    assert_eq!((&none["__typename"], &none["count"]), (&json!("EventsLogged"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_call_is_refused() {
    let gateway = Gateway::start().await;
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let one = event("/a", &at);
    for (input, field) in [
        (json!({ "events": [] }), "input.events"),
        (json!({ "events": vec![one.clone(); 1_001] }), "input.events"),
        (json!({ "events": [one], "idempotencyKey": "" }), "input.idempotencyKey"),
        (
            json!({ "events": [one], "idempotencyKey": "k", "durability": "UNACKNOWLEDGED" }),
            "input.idempotencyKey",
        ),
    ] {
        let said = log(&gateway.service(), input).await;
        assert_eq!((&said["__typename"], &said["field"]), (&json!("InvalidInput"), &json!(field)));
    }
    assert!(gateway.snapshot().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_stored_as_they_are() {
    let gateway = Gateway::start().await;
    let at = format!("{}T10:00:00.123Z", day(&gateway, 1));
    let long = format!("/{}", "ä🦀".repeat(1_365));
    let odd = [
        "$where",
        "/a.b/$c",
        "/a/../b//",
        "{\"$gt\":\"\"}",
        " /spaces ",
        "/ä🦀",
        "_id",
        "-",
        &long,
    ];
    for path in odd {
        let text = |field: &str| format!("{field} {path}");
        let whole = json!({
            "at": at, "host": path.chars().take(60).collect::<String>(), "site": "a.b/$c", "path": path,
            "query": "a=b&c[]=$d", "method": "GET", "status": 418, "bytes": 5_000_000_000_i64,
            "referrer": "https://example.org/?q=$", "userAgent": text("agent").chars().take(2_000).collect::<String>(),
            "user": "ann.b $",
        });
        logged(&gateway, std::slice::from_ref(&whole)).await;
        let mut by_host = list(&gateway, json!({ "host": whole["host"] })).await;
        let mut found = list(&gateway, json!({ "path": path })).await;
        for found in [&mut by_host, &mut found] {
            assert_eq!(found.len(), 1, "{path:.40}");
            found[0].as_object_mut().expect("an event").remove("arrivedAt").expect("a time");
            assert_eq!(found[0], whole, "{path:.40}");
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_the_same_in_the_text_and_in_variables() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = format!("{}T10:00:00.000Z", day(&gateway, 1));
    let whole = json!({
        "at": at, "host": "h", "site": "s", "path": "/same", "query": "b=c", "method": "GET", "status": 200,
        "bytes": 5_000_000_000_i64, "referrer": "r", "userAgent": "agent", "user": "ann",
    });
    let in_text = format!(
        "{{ userAgent: \"agent\", at: \"{at}\", host: \"h\", site: \"s\", path: \"/same\", query: \"b=c\", \
         method: \"GET\", status: 200, bytes: \"5000000000\", referrer: \"r\", user: \"ann\" }}"
    );
    let mutation = |variables: &str, input: &str| {
        format!(
            "mutation{variables} {{ logEvents(input: {input}) {{ ... on EventsLogged {{ count }} }} }}"
        )
    };
    let of_list = mutation("($events: [EventInput!]!)", "{ events: $events }");
    let calls = [
        (mutation("", &format!("{{ events: [{in_text}] }}")), json!({}), 1),
        (of_list.clone(), json!({ "events": [whole, whole, whole] }), 3),
        (of_list.clone(), json!({ "events": whole }), 1),
        (mutation("($all: LogEventsInput!)", "$all"), json!({ "all": { "events": [whole] } }), 1),
        (mutation("($one: EventInput!)", "{ events: [$one, $one] }"), json!({ "one": whole }), 2),
    ];
    let mut count = 0;
    // The second time the texts are known.
    for _ in 0..2 {
        for (text, variables, events) in &calls {
            assert_eq!(service.field(text, variables.clone()).await["count"], *events, "{text}");
            count += events;
        }
    }
    let mut found = list(&gateway, json!({ "path": "/same" })).await;
    assert_eq!(found.len(), count);
    for found in &mut found {
        found.as_object_mut().expect("an event").remove("arrivedAt").expect("a time");
        assert_eq!(*found, whole);
    }
    let with = |field: &str, value: Value| {
        let mut event = whole.clone();
        event[field] = value;
        json!([whole, event])
    };
    let mut without = whole.clone();
    without.as_object_mut().expect("an event").remove("path");
    for events in [
        with("more", json!(1)),
        with("site", Value::Null),
        with("status", json!("200")),
        with("at", json!("yesterday")),
        json!([whole, without]),
        json!([whole, null]),
        json!([[whole]]),
        json!("text"),
        Value::Null,
    ] {
        let variables = json!({ "events": events });
        assert_eq!(service.error_code(&of_list, variables).await, "BAD_USER_INPUT", "{events:#}");
    }
    assert_eq!(list(&gateway, json!({ "path": "/same" })).await.len(), count);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_without_a_time_is_of_now() {
    let gateway = Gateway::start().await;
    let before = docgate::app::rfc3339(gateway.app.clock());
    logged(&gateway, &[json!({ "host": "h", "site": "s", "path": "/now" })]).await;
    let after = docgate::app::rfc3339(gateway.app.clock());
    let found = list(&gateway, json!({ "path": "/now" })).await;
    let at = found[0]["at"].as_str().expect("a time");
    assert!(before.as_str() <= at && at <= after.as_str(), "{before} {at} {after}");
    assert_eq!(found[0]["at"], found[0]["arrivedAt"]);
    assert_eq!(found[0]["status"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_logs_nothing_again() {
    let gateway = Gateway::start().await;
    let at = format!("{}T10:00:00Z", day(&gateway, 40));
    let untimed = json!({ "host": "h", "site": "s", "path": "/a" });
    let input =
        json!({ "events": [event("/a", &at), untimed, event("", &at)], "idempotencyKey": "k" });
    let first = log(&gateway.service(), input.clone()).await;
    assert_eq!(
        (&first["count"], &first["failures"][0]["index"]),
        (&json!(2), &json!(2)),
        "{first:#}"
    );
    let sibling = gateway.sibling().await;
    for gateway in [&gateway, &sibling] {
        let service = gateway.service();
        let again = join_all((0..8).map(|_| log(&service, input.clone()))).await;
        assert!(again.iter().all(|answer| *answer == first), "{again:#?}");
    }
    assert_eq!(list(&gateway, json!({ "path": "/a" })).await.len(), 2);
    // Another input under the key is a conflict that changes nothing; another caller's key is another one.
    let before = gateway.snapshot().await;
    for events in [json!([event("/b", &at)]), json!([event("/a", &at), event("/a", &at)])] {
        let other = json!({ "events": events, "idempotencyKey": "k" });
        assert_eq!(log(&gateway.service(), other).await["__typename"], "Conflict");
    }
    assert!(gateway.snapshot().await == before);
    let other = gateway.user("another-service", &["service"]);
    assert_eq!(log(&other, input).await["count"], 2);
    assert_eq!(list(&gateway, json!({ "path": "/a" })).await.len(), 4);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_log_and_analysts_read() {
    let gateway = Gateway::start().await;
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let input = json!({ "input": { "events": [event("/a", &at)] } });
    for roles in [&["analyst", "operator", "merchant", "producer"][..], &[]] {
        assert_eq!(gateway.user("it", roles).error_code(LOG, input.clone()).await, "FORBIDDEN");
    }
    assert_eq!(gateway.anonymous().error_code(LOG, input).await, "UNAUTHENTICATED");
    let by = json!({ "by": { "path": "/a" } });
    let count = "query($from: Date!) { requestsByDayAndPage(from: $from, to: $from) { requests } }";
    let on = json!({ "from": day(&gateway, 1) });
    for roles in [["analyst"], ["operator"], ["admin"]] {
        let user = gateway.user("it", &roles);
        assert!(user.field(LIST, by.clone()).await["nodes"].is_array());
        assert!(user.field(count, on.clone()).await.is_array());
    }
    let service = gateway.service();
    assert_eq!(service.error_code(LIST, by).await, "FORBIDDEN");
    assert_eq!(service.error_code(count, on).await, "FORBIDDEN");
}
