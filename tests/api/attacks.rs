//! What is sent to bring a gateway down, or round its limits.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use mongodb::bson::doc;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Client, Gateway, http, live::TRANSPORT};

/// Code and limit, or field, of a refusal that comes at once.
async fn refused(client: &Client, body: Value) -> (String, String) {
    let since = Instant::now();
    let request = http().post(&client.url).json(&body);
    let answer = request.send().await.expect("an answer").text().await.expect("a body");
    assert!(since.elapsed() < Duration::from_secs(60), "after {:?}", since.elapsed());
    assert!(answer.len() < 10_000, "{} bytes", answer.len());
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer.get("data"), None, "{answer:#}");
    let extensions = &answer["errors"][0]["extensions"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let limit = if extensions["limit"].is_null() { "field" } else { "limit" };
    (text(&extensions["code"]), text(&extensions[limit]))
}

/// Fragments each of which names the next one twice.
fn doubling(count: usize, on: &str) -> String {
    let mut text = format!("fragment f{count} on {on} {{ __typename }}");
    for at in 0..count {
        write!(text, " fragment f{at} on {on} {{ ...f{0} ...f{0} }}", at + 1).expect("a string");
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_takes_the_gateway_down_or_holds_it_up() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let brackets = format!("{{ a(x: {}{}) }}", "[".repeat(1_900), "]".repeat(1_900));
    let default =
        format!("query($a: Int = {}{}) {{ __typename }}", "[".repeat(1_900), "]".repeat(1_900));
    let other = format!(
        "query A {{ __typename }} query B {{ node(id: \"x\") {{ ...f0 }} }} {}",
        doubling(46, "Node")
    );
    let unused = format!("query A {{ __typename }} {}", doubling(46, "Node"));
    let many = "__typename ".repeat(5_000);
    let comment = format!("#\r{{ {many} }}");
    let block = format!("{{ f(x: \"\"\"\\\"\"\"\"\"\") {{ {many} }} }}");
    let echo = format!("{{ a(x: \"{}\" }} §", "x".repeat(500_000));
    let complex = "QUERY_TOO_COMPLEX";
    for (text, code, limit) in [
        (brackets, complex, "brackets"),
        (default, complex, "brackets"),
        (other, complex, "selections"),
        (unused, complex, "selections"),
        (comment, complex, "max_tokens"),
        (block, complex, "max_tokens"),
        (echo, "BAD_USER_INPUT", ""),
    ] {
        let body = json!({ "query": text, "operationName": "A" });
        let told = refused(&client, body).await;
        assert_eq!((told.0.as_str(), told.1.as_str()), (code, limit), "{}", &text[..40]);
    }
    let zeros = json!({ "query": "{ __typename }", "variables": { "x": vec![0; 100_000] } });
    assert_eq!(refused(&client, zeros).await, ("BAD_USER_INPUT".into(), "body".into()));
    assert_eq!(client.data("{ __typename }", json!({})).await["__typename"], "Query");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_the_gateways_own_name_is_not_for_clients() {
    let gateway = Gateway::with(|config| config.introspection = false).await;
    let client = gateway.anonymous();
    for text in [
        "{ a: __typename __docgateTypename: categorySubtree(path: \"/\", first: 100) { nodes { id } } }",
        "{ __docgateTypename: __schema { types { name } } }",
    ] {
        let told = refused(&client, json!({ "query": text })).await;
        assert_eq!(told, ("BAD_USER_INPUT".into(), "query".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cost_is_not_got_round_by_what_variables_are_declared_as() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let text = "query($ids: ID!) { nodes(ids: $ids) { id } }";
    for _ in 0..2 {
        let body = json!({ "query": text, "variables": { "ids": vec!["x"; 100] } });
        let told = refused(&client, body).await;
        assert_eq!(told, ("BAD_USER_INPUT".into(), "variables.ids".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_named_in_two_places_is_done_once_also_the_first_time() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let carts = gateway.raw("carts");
    let text = "mutation($to: OpenCartInput!) { openCart(input: $to) { ... on Cart { id } } ...F }
        fragment F on Mutation { openCart(input: $to) { ... on Cart { also: id } } }";
    for count in 1..=2 {
        let opened = client
            .data(text, json!({ "to": { "currency": "EUR", "policy": "AT_CHECKOUT" } }))
            .await;
        let cart = &opened["openCart"];
        assert!(cart["id"].is_string(), "{opened:#}");
        assert_eq!(cart["id"], cart["also"]);
        assert_eq!(carts.count_documents(doc! {}).await.expect("a number"), count);
    }
    let under = "mutation($to: OpenCartInput!, $is: Boolean!) {
        openCart(input: $to) { __typename } openCart(input: $to) @include(if: $is) { __typename }
    }";
    let variables = json!({ "to": { "currency": "EUR", "policy": "AT_CHECKOUT" }, "is": true });
    assert_eq!(client.error_code(under, variables).await, "BAD_USER_INPUT");
    assert_eq!(carts.count_documents(doc! {}).await.expect("a number"), 2);
}

/// Which operation of a text was asked for first doesn't matter for the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_is_done_once_whoever_taught_its_text() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let open = "openCart(input: {currency: \"EUR\", policy: AT_CHECKOUT}) { __typename }";
    let deep = (0..11).map(|at| {
        let next = at + 1;
        format!("fragment F{at} on Stock {{ ...F{next} ...F{next} }} ")
    });
    let deep: String = deep.collect();
    let long = format!("stock(sku: \"x\") {{ ...F0 }} }} {deep} fragment F11 on Stock {{ sku }}");
    for text in [
        format!(
            "query A {{ __typename }} mutation B {{ {open} ... @include(if: true) {{ {open} }} }}"
        ),
        format!("mutation B {{ {open} ... on Mutation {{ {open} }} {open} }} query A {{ {long}"),
    ] {
        let before = gateway.raw("carts").count_documents(doc! {}).await.expect("a number");
        for (sent, name) in ["A", "B", "B", "A", "B"].into_iter().enumerate() {
            let body = json!({ "query": text, "operationName": name });
            let answer = http().post(&client.url).json(&body).send().await.expect("an answer");
            let answer: Value = answer.json().await.expect("JSON");
            let after = gateway.raw("carts").count_documents(doc! {}).await.expect("a number");
            assert!(after - before <= sent as u64, "{name}: {answer:#}");
            if answer.get("errors").is_some() {
                assert_eq!(after, before, "{answer:#}");
            }
        }
    }
}

/// What would be done or answered under one key only in part is refused: nothing of it is lost.
#[tokio::test(flavor = "multi_thread")]
async fn one_key_never_means_two_things() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let client = gateway.anonymous();
    let open = |currency: &str| {
        format!(
            "x: openCart(input: {{currency: \"{currency}\", policy: AT_CHECKOUT}}) {{ __typename }}"
        )
    };
    let (euro, dollar) = (open("EUR"), open("USD"));
    let stock = "x: stock(sku: \"a\") { sku }";
    for text in [
        format!("mutation {{ {euro} ... on Mutation {{ {dollar} }} }}"),
        format!("mutation {{ {euro} ...F }} fragment F on Mutation {{ {dollar} }}"),
        format!("mutation {{ {euro} ... @include(if: true) {{ {dollar} }} }}"),
        format!("{{ {stock} ... on Query {{ x: product(sku: \"a\") {{ title }} }} }}"),
        format!("query Unasked {{ {stock} ... on Query {{ x: stock(sku: \"b\") {{ sku }} }} }} query A {{ {stock} }}"),
        "{ product(sku: \"a\") { x: pricing { retail { currency } } ... on Album { x: shipping { __typename } } } }".into(),
        "{ product(sku: \"a\") { pricing { x: retail { currency } } pricing { x: list { currency } } } }".into(),
        "{ product(sku: \"a\") { ... on Album { pricing { x: retail { currency } } } ...P } }
         fragment P on Product { pricing { ... { x: list { currency } } } }".into(),
    ] {
        let named = if text.contains("query A") { json!("A") } else { Value::Null };
        for _ in 0..2 {
            let body = json!({ "query": text, "operationName": named });
            let told = refused(&client, body).await;
            assert_eq!(told.0, "BAD_USER_INPUT", "{text}");
        }
    }
    assert_eq!(gateway.raw("carts").count_documents(doc! {}).await.expect("a number"), 0);
    // Of objects that can't be one, the same key may be different fields of one type.
    for text in [
        "{ product(sku: \"a\") { ... on Album { x: sku } ... on Book { x: id } } }",
        "{ product(sku: \"a\") { x: sku ... on Book { x: sku } ...P } } fragment P on Product { x: sku }",
        "query($sku: ID = \"a\") { x: product(sku: $sku) { sku } x: product(sku: $sku) { id } }",
    ] {
        client.data(text, json!({})).await;
    }
}

/// What variables are wrong is told of the text as it was written, known or not.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_variables_are_told_alike_of_a_known_text() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let text = "query($first: Int, $locale: LocaleTag!) { categories(first: $first) { nodes { slug } }
        product(sku: \"a\") { id ... on Node { ... on Order { total { formatted(locale: $locale) } } } } }";
    let wrong = json!({ "first": 1, "locale": 5 });
    let first = client.run(text, wrong.clone()).await;
    client.data(text, json!({ "first": 1, "locale": "de" })).await;
    let known = client.run(text, wrong).await;
    assert_eq!(first["errors"], known["errors"]);
    let message = known["errors"][0]["message"].as_str().expect("a message");
    assert!(message.contains("locale") && !message.contains("not used"), "{message}");
}

/// Nothing is executed with a variable that isn't of its type, whatever other variables are left out.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_executed_with_a_wrong_variable() {
    let gateway = Gateway::start().await;
    let client = gateway.user("ann", &["producer"]);
    let cases = [
        ("DateTime", "runAt", json!("bad")),
        ("DateTime", "runAt", json!("9999-12-31T23:59:59-00:01")),
        ("Int", "priority", json!("bad")),
        ("Int", "priority", json!(1_i64 << 40)),
        ("String", "payload", json!(7)),
        ("EnqueueInput", "", json!(7)),
    ];
    for (ty, field, wrong) in cases {
        let good = "x: enqueue(input: {queue: \"q\", payload: \"1\"}) { __typename }";
        let payload = if field == "payload" { "" } else { "payload: \"1\"," };
        let input = match field {
            "" => "$a".to_owned(),
            field => format!("{{queue: \"q\", {payload} uniqueKey: $b, {field}: $a}}"),
        };
        let unused = if field.is_empty() { "" } else { ", $b: String" };
        let bang = if matches!(field, "" | "payload") { "!" } else { "" };
        let text = format!(
            "mutation($a: {ty}{bang}{unused}) {{ {good} y: enqueue(input: {input}) {{ __typename }} }}"
        );
        for _known in 0..2 {
            let answer = client.run(&text, json!({ "a": wrong })).await;
            assert_eq!(answer["data"], Value::Null, "{text} {answer}");
            assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{answer}");
        }
        assert_eq!(gateway.raw("jobs").count_documents(doc! {}).await.expect("a number"), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_never_changes_anything() {
    let gateway = Gateway::start().await;
    let text =
        "mutation { openCart(input: {currency: \"EUR\", policy: AT_CHECKOUT}) { __typename } }";
    let url = reqwest::Url::parse_with_params(&gateway.anonymous().url, [("query", text)]);
    let asked = http().head(url.expect("a URL")).send().await.expect("an answer");
    assert_eq!(asked.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(gateway.raw("carts").count_documents(doc! {}).await.expect("a number"), 0);
    let stream = format!("http://{}/graphql/stream", gateway.address);
    let reserved = http().put(&stream).send().await.expect("an answer");
    let token = reserved.text().await.expect("a token");
    let with_token = |method| http().request(method, format!("{stream}?token={token}")).send();
    let looked = with_token(Method::HEAD).await.expect("an answer");
    assert_eq!(looked.status(), StatusCode::METHOD_NOT_ALLOWED);
    let opened = with_token(Method::GET).await.expect("an answer");
    assert_eq!(opened.status(), StatusCode::OK, "it is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_has_one_field_wherever_it_stands() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let mut socket = gateway.session(None).await;
    let far =
        "subscription { ...F } fragment F on Subscription { stockChanged(sku: \"a\") { sku } }";
    for id in ["first", "second"] {
        socket.subscribe(id, far, json!({})).await;
        assert_eq!(socket.next(id).await["data"]["stockChanged"]["sku"], "a");
    }
    let two =
        "subscription { a: stockChanged(sku: \"a\") { sku } b: stockChanged(sku: \"a\") { sku } }";
    socket.subscribe("two", two, json!({})).await;
    let told = socket.hear().await;
    let errors =
        if told["type"] == "error" { &told["payload"] } else { &told["payload"]["errors"] };
    assert_eq!(errors[0]["extensions"]["code"], "BAD_USER_INPUT", "{told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_hold_for_whoever_has_no_sound_token_for_batches_and_for_reservations() {
    let gateway = Gateway::with(|config| {
        config.requests_per_second = 1;
        config.requests_burst = 3;
        config.forwarded_hops = 1;
        config.max_batch = 10;
    })
    .await;
    let (http, url) = (http(), gateway.anonymous().url);
    let stream = format!("{url}/stream");
    let from = |request: RequestBuilder, from: &str| request.header("x-forwarded-for", from);
    let one = json!({ "query": "{ __typename }" });
    let forged = |own: &str| from(http.post(&url), own).bearer_auth("forged").json(&one);
    assert_fourth_is_refused("198.51.100", 401, forged).await;
    let batch = from(http.post(&url), "198.51.101.1").json(&json!([one, one, one, one]));
    assert_eq!(batch.send().await.expect("an answer").status(), 400, "never has room for four");
    let reserve = |own: &str| from(http.put(&stream), own);
    assert_fourth_is_refused("198.51.102", 201, reserve).await;
    let begin = |own: &str| from(http.post(&stream), own).bearer_auth("forged").json(&one);
    assert_fourth_is_refused("198.51.103", 401, begin).await;
    let upgrade = |own: &str| {
        from(http.get(&url), own)
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header("sec-websocket-protocol", "graphql-transport-ws")
    };
    assert_fourth_is_refused("198.51.104", 101, upgrade).await;
    let begin = |own: &str| from(http.post(&stream), own).json(&one);
    assert_fourth_is_refused("198.51.105", 404, begin).await;
    // The proxy's own entry counts, whatever stands before it, and with its port.
    let odd = |own: &str| {
        let odd = [&b"\xff, "[..], own.as_bytes(), b":1234"].concat();
        http.post(&url).header("x-forwarded-for", odd.as_slice()).json(&one)
    };
    assert_fourth_is_refused("198.51.106", 200, odd).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_too_much_for_the_rate_changes_nothing() {
    let gateway = Gateway::with(|config| {
        config.requests_per_second = 1;
        config.requests_burst = 3;
        config.max_batch = 10;
    })
    .await;
    let (http, url) = (http(), gateway.anonymous().url);
    let open =
        "mutation { openCart(input: {currency: \"EUR\", policy: AT_CHECKOUT}) { __typename } }";
    let open = json!({ "query": open });
    let send = async |count: usize| {
        let sent = http.post(&url).json(&vec![&open; count]).send().await;
        sent.expect("an answer").status().as_u16()
    };
    let opened = async || gateway.raw("carts").count_documents(doc! {}).await.expect("a number");
    assert_eq!((send(4).await, opened().await), (400, 0), "more than the rate ever has room for");
    // The second one has room for its first operation.
    for _ in 0..200 {
        let before = opened().await;
        let (status, after) = (send(2).await, opened().await);
        if status == 429 {
            assert_eq!(after, before);
            return;
        }
        // On a busy machine the client may send so many again, and some may run out of time.
        assert!(status == 200 && after <= before + 2, "{status}: {before}, {after}");
    }
    panic!("a batch of two always takes longer than a second");
}

/// Fails unless of four requests of a client three are answered like this and the fourth is refused. On a busy machine
/// they may take so long that the client may send another one: then it is the turn of another client of the network.
async fn assert_fourth_is_refused(
    network: &str,
    answered: u16,
    request: impl Fn(&str) -> RequestBuilder,
) {
    for number in 1..=200 {
        let (own, mut statuses) = (format!("{network}.{number}"), Vec::new());
        let since = Instant::now();
        for _ in 0..4 {
            let answer = request(&own).send().await.expect("an answer");
            statuses.push(answer.status().as_u16());
        }
        if since.elapsed() < Duration::from_secs(1) {
            assert_eq!(statuses, [answered, answered, answered, 429]);
            return;
        }
    }
    panic!("four requests always take longer than a second");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_begins_an_operation_on_a_stream_has_to_come_in_time() {
    let gateway = Gateway::with(|config| config.receive_millis = 2_000).await;
    let reserved = http().put(format!("http://{}/graphql/stream", gateway.address)).send().await;
    let token = reserved.expect("an answer").text().await.expect("a token");
    let mut slow = tokio::net::TcpStream::connect(gateway.address).await.expect("connected");
    let head = format!(
        "POST /graphql/stream?token={token} HTTP/1.1\r\nhost: x\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    slow.write_all(head.as_bytes()).await.expect("written");
    let mut read = [0; 12];
    let answered = tokio::time::timeout(Duration::from_secs(60), slow.read_exact(&mut read)).await;
    answered.expect("in time").expect("an answer");
    assert_eq!(&read, b"HTTP/1.1 408");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_an_object() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.socket(TRANSPORT).await;
    socket.say(json!(["connection_init", null, null])).await;
    let (code, reason) = socket.closed().await;
    assert_eq!((code, reason.as_str()), (4400, "not a message: isn't an object"));
}
