//! Long calls, whose events are parsed with their request: they are answered as short ones are.

use serde_json::{Value, json};

use super::{analyst, day, event, list};
use crate::support::{Client, Gateway, http};

const EVENTS: &str = "mutation($events: [EventInput!]!, $key: ID) {
    logEvents(input: { events: $events, idempotencyKey: $key }) {
        __typename ... on EventsLogged { count failures { index field reason } }
        ... on UserError { code message } ... on InvalidInput { field } } }";
/// So many more events make a call long.
const MORE: usize = 200;

/// A few events and the same ones before many others.
fn few_and_many(events: &[Value], other: &Value) -> [Value; 2] {
    let many = [events, &vec![other.clone(); MORE]].concat();
    [json!(events), json!(many)]
}

/// What an answer says, but for the number of events.
fn said(answer: &Value) -> Value {
    let (error, logged) = (&answer["errors"][0], &answer["data"]["logEvents"]);
    let of_error = json!([error["message"], error["path"], error["extensions"]["code"]]);
    json!([of_error, error["extensions"]["field"], logged["__typename"], logged["failures"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_odd_event_has_the_same_answer_in_a_long_call() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let good = event("/good", &at);
    let with = |field: &str, value: Value| {
        let mut event = good.clone();
        event[field] = value;
        event
    };
    let mut without = good.clone();
    without.as_object_mut().expect("an event").remove("path");
    let odd = [
        // It is no event.
        with("more", json!(1)),
        with("site", Value::Null),
        with("site", json!(["a.example"])),
        with("status", json!("200")),
        with("status", json!(1.5)),
        with("status", json!(2_147_483_648_i64)),
        with("bytes", json!("many")),
        with("at", json!("yesterday")),
        without,
        Value::Null,
        json!([good]),
        json!("text"),
        // It is an invalid one.
        with("status", json!(-1)),
        with("path", json!("")),
        with("site", json!("a\nb")),
        with("path", json!("/\u{1}")),
        with("at", json!("2100-01-01T00:00:00Z")),
        // It is valid.
        with("bytes", json!("5000000000")),
        with("query", Value::Null),
        with("path", json!("/ä🦀\\\"")),
    ];
    // The text becomes known with the first of these that is an event.
    for odd in [&odd, &odd].into_iter().flatten() {
        let [few, many] = few_and_many(&[good.clone(), odd.clone()], &good);
        let few = service.run(EVENTS, json!({ "events": few })).await;
        let many = service.run(EVENTS, json!({ "events": many })).await;
        assert_eq!(said(&few), said(&many), "{odd:#}");
        let count = |answer: &Value| answer["data"]["logEvents"]["count"].as_u64();
        let more = count(&few).map(|few| few + MORE as u64);
        assert_eq!(more, count(&many), "{odd:#}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_no_events_gets_values() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let good = event("/good", &at);
    let logged = "{ ... on EventsLogged { count } }";
    let [few, many] = few_and_many(&[good.clone(), good.clone()], &good);
    let of_ids = "query($list: [ID!]!) { stocks(skus: $list) { available } }".to_owned();
    // This text is known.
    service.data(&of_ids, json!({ "list": ["a-sku"] })).await;
    for text in [
        format!(
            "mutation($list: EventInput!) {{ logEvents(input: {{ events: [$list] }}) {logged} }}"
        ),
        format!(
            "mutation($list: [EventInput!]!, $more: Int!) {{ logEvents(input: {{ events: $list }}) {logged} }}"
        ),
        of_ids,
        "query($list: [CatInput!]!) { stocks(skus: $list) { available } }".to_owned(),
        "query($list: [ID!]!) { nothing }".to_owned(),
        "query($list: [ID!]!) {".to_owned(),
    ] {
        for _ in 0..2 {
            let few = service.run(&text, json!({ "list": few })).await;
            let many = service.run(&text, json!({ "list": many })).await;
            assert!(few["errors"][0]["message"].is_string(), "{text}: {few:#}");
            assert_eq!(said(&few), said(&many), "{text}");
        }
    }
    // The list is used twice, or in an operation whose fields depend on a variable, or not at all.
    let twice = format!(
        "mutation($list: [EventInput!]!, $also: Boolean = true) {{
            first: logEvents(input: {{ events: $list }}) {logged}
            second: logEvents(input: {{ events: $list }}) @include(if: $also) {logged} }}"
    );
    for _ in 0..2 {
        let all = service.data(&twice, json!({ "list": many })).await;
        let count = json!({ "count": MORE + 2 });
        assert_eq!(all, json!({ "first": count, "second": count }));
        let variables = json!({ "other": many, "list": few, "also": false });
        let one = service.data(&twice, variables).await;
        assert_eq!(one, json!({ "first": { "count": 2 } }));
    }
    let too_many = vec![good; 1_001];
    for _ in 0..2 {
        let refused = service.field(EVENTS, json!({ "events": too_many })).await;
        let said = (&refused["__typename"], &refused["field"]);
        assert_eq!(said, (&json!("InvalidInput"), &json!("input.events")));
    }
    // Over a socket the request is a part of the message.
    let mut socket = gateway.session(service.token.as_deref()).await;
    socket.subscribe("it", &twice, json!({ "list": many })).await;
    let answer = socket.next("it").await;
    assert_eq!(answer["data"]["second"]["count"], MORE + 2, "{answer:#}");
    assert!(analyst(&gateway).run(EVENTS, json!({ "events": many })).await["errors"].is_array());
    gateway.assert_sound().await;
}

/// The answer to a call whose variables are written like this.
async fn run_written(client: &Client, variables: &str) -> Value {
    let query = json!(EVENTS);
    let body = format!(r#"{{"query":{query},"variables":{variables}}}"#);
    let token = client.token.as_deref().expect("a token");
    let request = http().post(&client.url).bearer_auth(token);
    let request = request.header("content-type", "application/json").body(body);
    request.send().await.expect("an answer").json().await.expect("JSON")
}

/// Logs events that are written like this, under a key.
async fn log_written(client: &Client, key: &str, events: &str) -> Value {
    let variables = format!(r#"{{"events":{events},"key":"{key}"}}"#);
    run_written(client, &variables).await["data"]["logEvents"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_the_value_of_its_own_variable() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let [_, many] = few_and_many(&[], &event("/good", &at));
    // Without its escapes, the first name is written as the second one is.
    let escaped = format!(r#"{{"\\u0065vents":"\u0001","\u0065vents":{many}}}"#);
    let logged = run_written(&service, &escaped).await;
    assert_eq!(logged["data"]["logEvents"]["count"], MORE, "{logged:#}");
    // The list is in the place of a name, behind the name of another variable.
    let no_json = format!(r#"{{"events":"\u0001","key":"events",{many}:1}}"#);
    let refused = run_written(&service, &no_json).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{refused:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_is_recognised_however_long_its_text_is() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    for (path, is_long_first) in [("/a", false), ("/b", true)] {
        let untimed = json!({ "host": "h", "site": "s", "path": path, "bytes": 5 });
        let invalid = json!({ "host": "", "site": "s", "path": path });
        let short = json!([event(path, &at), untimed, invalid]).to_string();
        let long = short.replace(',', &format!(" ,\n{}", " ".repeat(4_000)));
        let texts = if is_long_first { [&long, &short] } else { [&short, &long] };
        let first = log_written(&service, path, texts[0]).await;
        assert_eq!((&first["count"], &first["failures"][0]["index"]), (&json!(2), &json!(2)));
        for text in [texts[1], texts[0], texts[1]] {
            assert_eq!(log_written(&service, path, text).await, first, "{path}");
        }
        assert_eq!(list(&gateway, json!({ "path": path })).await.len(), 2);
        for text in texts {
            let other = text.replace("\"bytes\"", "\"status\"");
            assert_eq!(log_written(&service, path, &other).await["__typename"], "Conflict");
        }
    }
    gateway.assert_sound().await;
}
