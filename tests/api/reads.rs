//! Reads by key share their commands, and each text is read once: nobody's answer shows it.

use std::time::{Duration, Instant};

use docgate::graphql::node_id::NodeKind;
use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::{
    shop::stocked,
    support::{Gateway, http, proxy::Cut},
};

const PRODUCT: &str = "query($sku: ID!) { product(sku: $sku) { sku title } }";
const STOCK: &str = "query($sku: ID!) { stock(sku: $sku) { available } }";

/// A gateway behind a proxy that counts the reads of products.
async fn counted() -> Gateway {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    for sku in ["a", "b", "c", "d"] {
        gateway.product(sku, 100, "EUR").await;
    }
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "products" && seen.command == "find");
    gateway
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_while_a_command_is_on_its_way_goes_out_together() {
    let gateway = counted().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let skus = ["a", "b", "c", "d", "nothing"];
    // On a busy machine some may ask when the others have been answered.
    for _ in 0..20 {
        proxy.cut_all_from(0, Cut::Hold);
        let asked = (0..40).map(|number| {
            let (client, sku) = (gateway.anonymous(), skus[number % skus.len()]);
            async move { (sku, client.field(PRODUCT, json!({ "sku": sku })).await) }
        });
        let (answers, ()) = tokio::join!(join_all(asked), async {
            proxy.reached().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert!(proxy.seen().len() <= 2, "two at a time: {:?}", proxy.seen());
            proxy.heal();
            proxy.release().await;
        });
        for (sku, answer) in answers {
            let expected = if sku == "nothing" { Value::Null } else { json!(sku) };
            assert_eq!(answer["sku"], expected);
        }
        if proxy.seen().len() <= 4 {
            return;
        }
    }
    panic!("40 reads: {:?}", proxy.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_nobody_waits_for_takes_nobody_along() {
    let gateway = counted().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.cut_all_from(0, Cut::Hold);
    let impatient = gateway.anonymous();
    let gone = tokio::spawn(async move { impatient.run(PRODUCT, json!({ "sku": "a" })).await });
    proxy.reached().await;
    gone.abort();
    let patient = gateway.anonymous();
    let (answer, ()) = tokio::join!(patient.field(PRODUCT, json!({ "sku": "a" })), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        proxy.heal();
        proxy.release().await;
    });
    assert_eq!(answer["sku"], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_fails_only_who_asked_in_it() {
    let gateway = counted().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.cut_with_retries(0, Cut::ReplyLost);
    let client = gateway.anonymous();
    assert_eq!(client.error_code(PRODUCT, json!({ "sku": "a" })).await, "UNAVAILABLE");
    let all = join_all((0..20).map(|_| client.field(PRODUCT, json!({ "sku": "a" })))).await;
    assert!(all.iter().all(|answer| answer["sku"] == "a"));
}

const LIST: &str = "{ products(by: { where: {} }, first: 50) { nodes { sku } } }";

fn skus(list: &Value) -> Vec<&str> {
    let nodes = list["nodes"].as_array().expect("a list");
    nodes.iter().map(|node| node["sku"].as_str().expect("a SKU")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_a_list_that_is_being_read_gets_the_next_one() {
    let gateway = counted().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let list = || {
        let client = gateway.anonymous();
        tokio::spawn(async move { client.explained(LIST, json!({})).await })
    };
    // A busy machine may take so long that further commands are sent.
    for number in 0..20 {
        proxy.cut_all_from(0, Cut::Hold);
        let first = list();
        proxy.reached().await;
        let sku = format!("new-{number}");
        gateway.product(&sku, 100, "EUR").await;
        let others: Vec<_> = (0..20).map(|_| list()).collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = proxy.seen().len();
        proxy.heal();
        proxy.release().await;
        first.await.expect("an answer");
        let mut shared = 0;
        for other in others {
            let answer = other.await.expect("an answer");
            let found = &answer["data"]["products"];
            assert!(skus(found).contains(&sku.as_str()), "older than the question: {found:#}");
            let sent = &answer["extensions"]["docgate"]["commands"][0];
            shared += usize::from(sent["sharedWith"] == 19);
        }
        if (before, shared) == (1, 20) {
            assert_eq!(proxy.seen().len(), 2);
            return;
        }
    }
    panic!("20 callers never shared a command");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_never_answered_holds_up_nobody_for_long() {
    let gateway = counted().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let forty = async || {
        let since = Instant::now();
        for _ in 0..40 {
            let list = gateway.anonymous().field(LIST, json!({})).await;
            assert_eq!(skus(&list).len(), 4);
        }
        since.elapsed()
    };
    let undisturbed = forty().await;
    proxy.cut(0, Cut::Hold);
    let held = gateway.anonymous();
    let held = tokio::spawn(async move { held.run(LIST, json!({})).await });
    proxy.reached().await;
    // If each of them waited, it would be ten seconds more.
    let bound = undisturbed * 3 + Duration::from_secs(8);
    assert!(forty().await < bound, "only the first of them waits");
    proxy.discard();
    held.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_differ_in_anything_share_nothing() {
    let gateway = counted().await;
    let by_price = |first: i64, least: i64| {
        format!(
            "{{ products(by: {{ priceBetween: {{ currency: \"EUR\", min: {least}, max: 200 }} }}, \
             first: {first}) {{ nodes {{ sku }} }} }}"
        )
    };
    for _ in 0..20 {
        let [all, two, none] = [by_price(4, 1), by_price(2, 1), by_price(4, 150)];
        let ask = async |query: &str| gateway.anonymous().field(query, json!({})).await;
        let (all, two, none) = tokio::join!(ask(&all), ask(&two), ask(&none));
        assert_eq!([&all, &two, &none].map(|list| skus(list).len()), [4, 2, 0]);
    }
}

/// Code, message and whether it is worth repeating, of the first error.
fn told(response: &Value) -> (Value, Value, Value) {
    let error = &response["errors"][0];
    let extensions = &error["extensions"];
    (extensions["code"].clone(), error["message"].clone(), extensions["retryable"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_speaks_of_no_outcome() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    gateway.product("a", 100, "EUR").await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let client = gateway.merchant();
    let unread = (
        json!("UNAVAILABLE"),
        json!("the data couldn't be read at the moment; try again"),
        json!(true),
    );
    let by_title = "{ products(by: { titleStartsWith: { prefix: \"T\" } }) { nodes { sku } } }";
    let reads = ["{ product(sku: \"a\") { sku } }", "{ stock(sku: \"a\") { sku } }", by_title];
    // MongoDB is away: it says so, or no connection holds.
    let away = doc! { "failCommands": ["find", "aggregate"], "errorCode": 11_602 };
    // The driver asks twice.
    let point = gateway.fail_point(doc! { "times": 6 }, away).await;
    for read in reads {
        assert_eq!(told(&client.run(read, json!({})).await), unread, "{read}");
    }
    point.off().await;
    proxy.cut_all_from(0, Cut::ReplyLost);
    for read in reads {
        assert_eq!(told(&client.run(read, json!({})).await), unread, "{read}");
    }
    // A write may have been carried out before its read failed.
    let cancel = "mutation($id: ID!) { cancelCart(input: { cartId: $id }) { __typename } }";
    let cart = json!({ "id": NodeKind::CART.id("nothing") });
    let unknown = json!(
        "the gateway doesn't know whether the change was made; repeat the call with the same idempotencyKey, or, if it \
         had none, read the object first"
    );
    let (code, message, retryable) = told(&client.run(cancel, cart).await);
    assert_eq!((code, message, retryable), (json!("UNAVAILABLE"), unknown, json!(true)));
    proxy.heal();
    assert_eq!(client.field(reads[0], json!({})).await["sku"], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_answered_with_something_older_than_the_question() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 1).await;
    let receive = "mutation($input: ReceiveStockInput!) { receiveStock(input: $input) { \
        ... on Stock { received } } }";
    let merchant = gateway.merchant();
    let workers = (0..16).map(|_| async {
        for _ in 0..8 {
            let input = json!({ "input": { "sku": "a", "quantity": 1 } });
            let after = merchant.field(receive, input).await["received"].as_i64().expect("a count");
            let seen = merchant.field(STOCK, json!({ "sku": "a" })).await["available"].as_i64();
            assert!(seen.expect("a count") >= after, "{seen:?} is older than {after}");
        }
    });
    join_all(workers).await;
    assert_eq!(merchant.field(STOCK, json!({ "sku": "a" })).await["available"], 129);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_are_read_together() {
    let gateway = counted().await;
    let ids: Vec<_> = ["a", "b", "c", "d"].map(|sku| NodeKind::PRODUCT.id(sku).to_string()).into();
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.record();
    let nodes = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let found = gateway.anonymous().field(nodes, json!({ "ids": ids })).await;
    assert_eq!(found, json!(ids.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>()));
    assert!(proxy.seen().len() <= 2, "{:?}", proxy.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn few_wait_for_many_but_not_for_ever() {
    const NODES: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let gateway = counted().await;
    let ids: Vec<_> = ["a", "b", "c", "d"].map(|sku| NodeKind::PRODUCT.id(sku).to_string()).into();
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.cut(0, Cut::Hold);
    let (client, all) = (gateway.anonymous(), json!({ "ids": &ids }));
    let many = tokio::spawn(async move { client.field(NODES, all).await });
    proxy.reached().await;
    let (client, one) = (gateway.anonymous(), json!({ "ids": &ids[..1] }));
    let since = Instant::now();
    let few = tokio::spawn(async move { client.field(NODES, one).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let sent = proxy.seen().len();
    // A busy machine may sleep for as long as the few wait.
    assert!(sent == 1 || since.elapsed() >= Duration::from_millis(250), "one behind four");
    assert_eq!(few.await.expect("an answer"), json!([{ "id": ids[0] }]));
    assert!(!many.is_finished(), "the first command is still held");
    assert_eq!(proxy.seen().len(), 2);
    proxy.release().await;
    assert_eq!(many.await.expect("an answer").as_array().expect("a list").len(), 4);
}

/// What `extensions.docgate` says of the text: whether it had to be read.
fn was_known(response: &Value) -> bool {
    response["extensions"]["docgate"]["knownText"].as_bool().expect("development mode tells it")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_read_once_whatever_the_variables() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let client = gateway.anonymous();
    let query = "query($sku: ID!, $short: Boolean = true) { product(sku: $sku) {
        sku title @skip(if: $short) } }";
    let mut answers = Vec::new();
    for (variables, known) in [
        (json!({ "sku": "a" }), false),
        (json!({ "sku": "a" }), true),
        (json!({ "sku": "a", "short": false }), true),
        (json!({ "sku": "b", "short": null }), true),
        (json!({ "sku": 1 }), true),
        (json!({ "sku": "a", "short": true, "more": 1 }), true),
    ] {
        let response = client.explained(query, variables).await;
        assert_eq!(was_known(&response), known, "{response:#}");
        answers.push(response["data"]["product"].clone());
    }
    assert_eq!(answers[0], json!({ "sku": "a" }));
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[5]);
    assert!(answers[2]["title"].is_string());
    assert_eq!((&answers[3], &answers[4]), (&Value::Null, &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_variables_is_told_whether_the_text_is_known_or_not() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let client = gateway.anonymous();
    let tail = "products(by: $by, first: $first, after: $after, locale: $locale) { nodes { sku } }";
    let query = |name: &str| {
        format!(
            "query {name}($by: ProductsBy!, $first: Int, $after: String, $locale: LocaleTag) {{
                {tail} }}"
        )
    };
    let good = json!({ "by": { "category": { "subtree": "/music" } }, "first": 3, "after": null });
    let known = query("Known");
    for known_before in [false, true] {
        let response = client.explained(&known, good.clone()).await;
        assert_eq!(response.get("errors"), None, "{response:#}");
        assert_eq!(was_known(&response), known_before);
    }
    let bad = [
        json!({}),
        json!({ "by": null }),
        json!({ "by": "x" }),
        json!({ "by": {} }),
        json!({ "by": { "category": { "subtree": "/music" }, "discountAtLeast": null } }),
        json!({ "by": { "category": { "subtree": 1 } } }),
        json!({ "by": { "category": { "nothing": "/music" } } }),
        json!({ "by": { "category": null } }),
        json!({ "by": good["by"], "first": "3" }),
        json!({ "by": good["by"], "first": 3.5 }),
        json!({ "by": good["by"], "first": 1_000_000_000_000_i64 }),
        json!({ "by": good["by"], "first": [3] }),
        json!({ "by": good["by"], "after": 1 }),
        json!({ "by": good["by"], "locale": "not a locale" }),
        json!({ "by": good["by"], "locale": ["de"] }),
    ];
    for (number, variables) in bad.into_iter().enumerate() {
        let fresh = client.run(&query(&format!("Fresh{number}")), variables.clone()).await;
        let again = client.run(&known, variables.clone()).await;
        assert!(fresh["errors"].is_array(), "{variables}: {fresh:#}");
        for part in ["message", "path", "extensions"] {
            assert_eq!(fresh["errors"][0][part], again["errors"][0][part], "{variables}");
        }
        assert_eq!(fresh["data"], again["data"], "{variables}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_not_valid_is_never_known() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    for query in [
        "{ product(sku: \"a\") { nothing } }",
        "{ product",
        "query A { __typename } { __typename }",
    ] {
        for _ in 0..2 {
            let response = client.explained(query, json!({})).await;
            assert!(response["errors"].is_array(), "{response:#}");
            assert!(!was_known(&response));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_text_with_several_operations_is_read_once() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let url = format!("http://{}/graphql", gateway.address);
    let http = http();
    let query = "query One { product(sku: \"a\") { ...Part } }
        query Two($sku: ID!) { product(sku: $sku) { ...Part title } }
        fragment Part on Product { sku }";
    let ask = async |name: Value, variables: Value| -> Value {
        let body = json!({ "query": query, "operationName": name, "variables": variables });
        let sent = http.post(&url).json(&body).send().await.expect("an answer");
        sent.json().await.expect("JSON")
    };
    let one = ask(json!("One"), json!({})).await;
    assert_eq!(one["data"], json!({ "product": { "sku": "a" } }));
    let two = ask(json!("Two"), json!({ "sku": "a" })).await;
    assert_eq!(two["data"]["product"]["sku"], "a");
    assert!(two["data"]["product"]["title"].is_string());
    assert!(was_known(&two));
    for name in [json!("Three"), json!(""), Value::Null] {
        let refused = ask(name.clone(), json!({})).await;
        assert_eq!(refused["data"], Value::Null, "{name}: {refused:#}");
        assert!(refused["errors"].is_array());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_known_texts_and_keys_per_command() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let anyone = gateway.anonymous();
    let query = "{ product(sku: \"a\") { title } products(by: { where: {} }) { nodes { sku } } }";
    let before = metrics(&gateway).await;
    for _ in 0..3 {
        anyone.run(query, json!({})).await;
    }
    let after = metrics(&gateway).await;
    let more = |name: &str| value_of(&after, name) - value_of(&before, name);
    assert_eq!(more("docgate_requests_total{text=\"new\"}"), 1);
    assert_eq!(more("docgate_requests_total{text=\"known\"}"), 2);
    assert_eq!(more("docgate_read_keys_count{collection=\"products\"}"), 3);
    assert_eq!(more("docgate_read_keys_sum{collection=\"products\"}"), 3);
    assert_eq!(more("docgate_list_callers_count{collection=\"products\"}"), 3);
    assert_eq!(more("docgate_list_callers_sum{collection=\"products\"}"), 3);
    assert!(after.ends_with("# EOF\n"), "{after}");
}

async fn metrics(gateway: &Gateway) -> String {
    let response = http().get(format!("http://{}/metrics", gateway.address)).send();
    response.await.expect("an answer").text().await.expect("text")
}

fn value_of(metrics: &str, name: &str) -> u64 {
    let value = metrics.lines().find_map(|line| line.strip_prefix(name));
    value.map_or(0, |value| value.trim().split('.').next().expect("a number").parse().expect("one"))
}
