//! How much a request may ask for, and how long it may take.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use mongodb::bson::doc;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Client, Gateway, http, proxy::Cut, raw::Raw, until};

const STOCK: &str = "query($sku: ID!) { stock(sku: $sku) { available } }";

/// Code, limit and message of a refusal.
async fn refused(client: &Client, query: &str, variables: Value) -> (String, String, String) {
    let answer = client.run(query, variables).await;
    assert_eq!(answer.get("data"), None, "{answer:#}");
    let error = &answer["errors"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let extensions = &error["extensions"];
    (text(&extensions["code"]), text(&extensions["limit"]), text(&error["message"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_asks_for_too_much_is_refused_with_the_limit() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let many = |count: usize, each: &dyn Fn(usize) -> String| {
        (0..count).fold(String::new(), |mut text, at| {
            write!(text, " {}", each(at)).expect("a string");
            text
        })
    };
    let aliases = many(10_000, &|at| format!("a{at}: __typename"));
    let some_aliases = many(101, &|at| format!("a{at}: sku"));
    let roots = many(21, &|at| format!("a{at}: __typename"));
    let directives = many(51, &|_| "__typename @include(if: true)".to_owned());
    let deep = format!("{}{}", "{ node(id: \"x\") ".repeat(26), "}".repeat(26));
    let deeper = format!("{}{}", "{a".repeat(1_900), "}".repeat(1_900));
    let long = format!("{{ __typename }} #{}", "x ".repeat(100_000));
    let doubling = many(40, &|at| format!("fragment f{at} on Node {{ ...f{0} ...f{0} }}", at + 1));
    let bomb =
        format!("{{ node(id: \"x\") {{ ...f0 }} }} {doubling} fragment f40 on Node {{ id }}");
    for (limit, text) in [
        ("max_tokens", format!("{{{aliases}}}")),
        ("max_aliases", format!("{{ product(sku: \"x\") {{{some_aliases}}} }}")),
        ("max_root_fields", format!("{{{roots}}}")),
        ("max_directives", format!("{{ node(id: \"x\") {{ {directives} }} }}")),
        ("max_depth", deep),
        ("selections", bomb),
    ] {
        let (code, told, message) = refused(&client, &text, json!({})).await;
        assert_eq!((code.as_str(), told.as_str()), ("QUERY_TOO_COMPLEX", limit), "{message}");
    }
    let (code, _, message) = refused(&client, &deeper, json!({})).await;
    assert!(code == "BAD_USER_INPUT" || code == "QUERY_TOO_COMPLEX", "{code} {message}");
    // A comment is no token.
    assert_eq!(client.data(&long, json!({})).await["__typename"], "Query");
    let cycle = "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }";
    let unused = "{ __typename } fragment c on Query { ... { ...c } }";
    for (text, told) in [
        (cycle, "query: its fragments form a cycle: a comes back to itself by b"),
        (unused, "query: its fragments form a cycle: c spreads itself"),
    ] {
        for _ in 0..2 {
            let (code, _, message) = refused(&client, text, json!({})).await;
            assert_eq!((code.as_str(), message.as_str()), ("BAD_USER_INPUT", told));
        }
    }
    // Two names for one thing are no cycle.
    let twice = "{ ...a ...b } fragment a on Query { ...b } fragment b on Query { __typename }";
    assert_eq!(client.data(twice, json!({})).await["__typename"], "Query");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cost_multiplies_by_lists_and_is_told() {
    let gateway = Gateway::with(|config| config.max_cost = 1_000).await;
    let client = gateway.anonymous();
    let cost = async |query: &str, variables: Value| {
        let answer = client.run(query, variables).await;
        assert_eq!(answer["extensions"]["cost"]["limit"], 1_000, "{answer:#}");
        answer["extensions"]["cost"]["estimated"].as_u64().expect("a number")
    };
    assert_eq!(cost("{ __typename }", json!({})).await, 0);
    assert_eq!(cost(STOCK, json!({ "sku": "x" })).await, 11);
    let nodes = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let ids = |count: usize| json!({ "ids": vec!["x"; count] });
    // Known or not, the variables tell the length.
    for count in [1, 5, 5, 2] {
        assert_eq!(cost(nodes, ids(count)).await, 10 + count as u64);
    }
    let menu = "query($n: Int) { categories(first: $n) { nodes { id } pageInfo { hasNextPage } } }";
    for (count, estimated) in [(json!(5), 17), (json!(null), 32), (json!(100), 112), (json!(1), 13)]
    {
        assert_eq!(cost(menu, json!({ "n": count })).await, estimated, "{count}");
    }
    // Corners aren't elements, wherever they stand.
    let corners = "polygon: [{ longitude: 0, latitude: 0 }, { longitude: 1, latitude: 0 }, { longitude: 1, latitude: 1 }]";
    for arguments in [format!("first: 50, {corners}"), format!("{corners}, first: 50")] {
        let near = format!("{{ theatersWithin({arguments}) {{ nodes {{ id }} }} }}");
        assert_eq!(cost(&near, json!({})).await, 10 + 1 + 50);
    }
    let keywords = "{ previewAds(site: \"a\", zone: \"b\", keywords: []) { campaignId } }";
    assert_eq!(cost(keywords, json!({})).await, 10 + 10);
    let within = "{ categories(first: 2) { nodes { names { locale } } } }";
    assert_eq!(cost(within, json!({})).await, 10 + 1 + 2 * (1 + 10));
    // A connection of each element of a list is a command for each.
    let nested = "{ categories(first: 3) { nodes { id } } comments(subjectId: \"x\", first: 20) {
        nodes { replies(first: 1) { nodes { id } } } } }";
    assert_eq!(cost(nested, json!({})).await, 10 + 1 + 3 + 10 + 1 + 20 * (1 + 10 + 1 + 1));
    let below = "{ category(by: { path: \"/a\" }) { subtree(first: 5) {
        nodes { children(first: 2) { nodes { id } } } } } }";
    assert_eq!(cost(below, json!({})).await, 10 + 1 + 10 + 1 + 5 * (1 + 10 + 1 + 2));
    // Twenty elements, if no number is given.
    for field in ["category(by: { path: \"/a\" })", "content(by: { path: \"/a\" })"] {
        let children = format!("{{ {field} {{ children {{ nodes {{ id }} }} }} }}");
        assert_eq!(cost(&children, json!({})).await, 10 + 1 + 10 + 1 + 20, "{field}");
    }
    // An object in each element of a list counts as often as the elements.
    let objects = "{ products(by: { discountAtLeast: 1 }, first: 7) { nodes { stock { sku } } } }";
    assert_eq!(cost(objects, json!({})).await, 10 + 1 + 7 * (1 + 1));
    // What a value reads is counted, also in each element of a list.
    let values =
        "{ products(by: { discountAtLeast: 1 }, first: 7) { nodes { sku availability } } }";
    assert_eq!(cost(values, json!({})).await, 10 + 1 + 7 * (1 + 10));
    let counts = "{ user(id: \"x\") { name first: followerCount second: followerCount } }";
    assert_eq!(cost(counts, json!({})).await, 10 + 1 + 10 + 10);
    let usage = "{ topics { usage { messages bytes } } }";
    assert_eq!(cost(usage, json!({})).await, 10 + 10 * (1 + 1 + 10 + 10));
    let nothing = "{ topics { usage { __typename } } }";
    assert_eq!(cost(nothing, json!({})).await, 10 + 10 * (1 + 1));
    let (code, limit, message) = refused(&client, nodes, ids(991)).await;
    assert_eq!((code.as_str(), limit.as_str()), ("QUERY_TOO_COMPLEX", "max_cost"), "{message}");
    assert_eq!(message, "the operation may cost 1001, more than 1000");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_is_not_told_where_introspection_is_off() {
    let gateway = Gateway::with(|config| config.introspection = false).await;
    let client = gateway.anonymous();
    for query in [
        "{ __schema { types { name } } }",
        "{ __type(name: \"Query\") { name } }",
        "{ ...a } fragment a on Query { ... { __schema { types { name } } } }",
    ] {
        for _ in 0..2 {
            let answer = client.run(query, json!({})).await;
            let error = &answer["errors"][0];
            assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{query}: {answer}");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains("the setting `introspection` turns it on"), "{message}");
        }
    }
    assert_eq!(client.data("{ __typename }", json!({})).await["__typename"], "Query");
    let near = "{ stok(sku: \"x\") { available } }";
    let message = |answer: Value| answer["errors"][0]["message"].to_string();
    let silent = message(client.run(near, json!({})).await);
    assert!(!silent.contains("stock"), "{silent}");
    let talkative = message(Gateway::start().await.anonymous().run(near, json!({})).await);
    assert!(talkative.contains("stock"), "{talkative}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_a_time_and_the_gateway_a_number_of_them() {
    let gateway = Gateway::behind_proxy(|config| {
        config.request_millis = 4_000;
        config.max_requests = 1;
    })
    .await;
    let client = gateway.anonymous();
    client.data(STOCK, json!({ "sku": "x" })).await;
    // MongoDB never answers the first one.
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "find");
    proxy.cut(0, Cut::Hold);
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.send(STOCK, json!({ "sku": "x" })).await.expect("an answer") }
    });
    proxy.reached().await;
    let (status, second) = client.send(STOCK, json!({ "sku": "x" })).await.expect("an answer");
    assert_eq!(status, 503);
    assert_eq!(second["errors"][0]["extensions"]["code"], "UNAVAILABLE");
    assert_eq!(second["errors"][0]["extensions"]["retryable"], true);
    let (status, first) = first.await.expect("an answer");
    assert_eq!(status, 504, "{first:#}");
    assert_eq!(first["errors"][0]["extensions"]["code"], "TIMEOUT");
    proxy.heal();
    proxy.release().await;
    client.data(STOCK, json!({ "sku": "x" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_given_up_by_mongodb_too() {
    let gateway = Gateway::with(|config| config.request_millis = 9_876).await;
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("profiling");
    let client = gateway.anonymous();
    client.data("{ product(sku: \"x\") { sku } }", json!({})).await;
    client.data("{ categories(first: 1) { nodes { id } } }", json!({})).await;
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("profiling");
    let profile = gateway.database.collection::<mongodb::bson::Document>("system.profile");
    let mut seen = profile.find(doc! { "op": "query" }).await.expect("a cursor");
    let mut limits = Vec::new();
    while seen.advance().await.expect("a profile") {
        let sent: mongodb::bson::Document = seen.deserialize_current().expect("a document");
        let command = sent.get_document("command").expect("a command");
        limits.push(command.get_i32("maxTimeMS").ok().or_else(|| {
            command.get_i64("maxTimeMS").ok().and_then(|limit| i32::try_from(limit).ok())
        }));
    }
    assert_eq!(limits, [Some(9_876), Some(9_876)]);
}

/// Lists that may examine many more documents than they return.
#[tokio::test(flavor = "multi_thread")]
async fn lists_that_examine_many_documents_have_five_seconds() {
    let gateway = Gateway::start().await;
    let corner = |longitude, latitude| json!({ "longitude": longitude, "latitude": latitude });
    let queries = [
        (
            "query($by: AssetsBy!) { assets(by: $by) { nodes { slug } } }",
            json!({ "by": { "attributes": { "all": [
                { "key": "rated", "exists": true }, { "key": "city", "eq": { "text": "Lisbon" } },
            ] } } }),
        ),
        (
            "query($by: ContentsBy!) { contents(by: $by) { nodes { id } } }",
            json!({ "by": { "metadata": { "key": "colour", "value": { "text": "red" } } } }),
        ),
        (
            "query($polygon: [GeoPointInput!]!) { theatersWithin(polygon: $polygon) { nodes { name } } }",
            json!({ "polygon": [corner(1, 1), corner(2, 1), corner(2, 2)] }),
        ),
    ];
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("profiling");
    for (query, variables) in queries {
        gateway.anonymous().data(query, variables).await;
    }
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("profiling");
    let mut profile = gateway.raw("system.profile").find(doc! {}).await.expect("a profile");
    let mut limits = Vec::new();
    while profile.advance().await.expect("the next") {
        let sent = profile.deserialize_current().expect("a document");
        let collection = sent.get_str("ns").expect("a name").rsplit('.').next();
        let collection = collection.unwrap_or_default().to_owned();
        let limit = sent.get_document("command").expect("a command").get("maxTimeMS");
        let limit = limit.and_then(|limit| limit.as_i64().or(limit.as_i32().map(i64::from)));
        if ["assetEntries", "nodes", "theaters"].contains(&collection.as_str()) {
            limits.push((collection, limit));
        }
    }
    let each = ["assetEntries", "nodes", "theaters"].map(|name| (name.to_owned(), Some(5_000)));
    assert_eq!(limits, each);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_a_rate() {
    let gateway = Gateway::with(|config| {
        config.requests_per_second = 1;
        config.requests_burst = 3;
        config.forwarded_hops = 1;
    })
    .await;
    let ask = async |who: &Client, address: &str| {
        let mut request = http().post(&who.url);
        if let Some(token) = &who.token {
            request = request.bearer_auth(token);
        }
        let request = request.header("x-forwarded-for", address);
        let body = json!({ "query": "{ __typename }" });
        request.json(&body).send().await.expect("an answer")
    };
    // The first refusal, and the number of requests before it. On a busy machine these take so long that more are allowed.
    let refusal = async |who: &Client, address: &dyn Fn(u32) -> String| {
        let mut taken = 0_u32;
        loop {
            let answer = ask(who, &address(taken)).await;
            if answer.status() != 200 {
                return (answer, taken);
            }
            taken += 1;
        }
    };
    let allowed = |since: Instant| 3.0 + since.elapsed().as_secs_f64();
    let (nobody, since) = (gateway.anonymous(), Instant::now());
    let (refused, taken) = refusal(&nobody, &|_| "198.51.100.7".to_owned()).await;
    assert!(taken >= 3 && f64::from(taken) <= allowed(since), "{taken}");
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"1".parse().expect("a value"))
    );
    let body: Value = refused.json().await.expect("JSON");
    assert_eq!(body["errors"][0]["extensions"]["code"], "RATE_LIMITED");
    // What a client writes itself in front of the proxy's word changes nothing.
    let (refused, more) = refusal(&nobody, &|_| "203.0.113.1, 198.51.100.7".to_owned()).await;
    assert_eq!(refused.status(), 429);
    assert!(f64::from(taken + more) <= allowed(since), "{taken} and {more}");
    // Another address, and someone who is signed in at the same one, have their own.
    assert_eq!(ask(&nobody, "198.51.100.8").await.status(), 200);
    assert_eq!(ask(&gateway.shopper("someone"), "198.51.100.7").await.status(), 200);
    // Any address of one IPv6 network is the same client.
    let since = Instant::now();
    let (refused, taken) = refusal(&nobody, &|last| format!("2001:db8::{}", last + 1)).await;
    assert_eq!(refused.status(), 429);
    assert!(taken >= 3 && f64::from(taken) <= allowed(since), "{taken}");
    // Some proxies write it in brackets.
    let (refused, more) = refusal(&nobody, &|last| format!("[2001:db8::{}]", last + 1)).await;
    assert_eq!(refused.status(), 429);
    assert!(f64::from(taken + more) <= allowed(since), "{taken} and {more}");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(ask(&nobody, "198.51.100.7").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_bodies_and_idle_connections_are_ended() {
    let gateway = Gateway::with(|config| {
        config.receive_millis = 300;
        config.idle_millis = 600;
    })
    .await;
    let connect =
        async || tokio::net::TcpStream::connect(gateway.address).await.expect("connected");
    let answer = async |mut stream: tokio::net::TcpStream| {
        let mut read = String::new();
        let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_string(&mut read));
        let _reset_or_not = ended.await.expect("the connection is ended");
        read
    };
    let mut slow = connect().await;
    let head = "POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    slow.write_all(head.as_bytes()).await.expect("written");
    assert!(answer(slow).await.starts_with("HTTP/1.1 408"));
    let mut half = connect().await;
    half.write_all(b"POST /graphql HTTP/1.1\r\nhost:").await.expect("written");
    let cut = answer(half).await;
    assert!(cut.is_empty() || cut.starts_with("HTTP/1.1 408"), "{cut}");
    assert_eq!(answer(connect().await).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_above_the_bound_are_told_to_come_again() {
    let gateway = Gateway::with(|config| {
        config.max_connections = 2;
        config.client_share_percent = 100;
    })
    .await;
    let ask = "/graphql?query=%7B__typename%7D";
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut one = Raw::from(&gateway, 1).await;
        assert_eq!(one.get(ask).await.status, 200);
        open.push(one);
    }
    let refused = Raw::from(&gateway, 1).await.get(ask).await;
    assert_eq!(refused.refusal(), (503, Some("1")), "{refused:?}");
    open.pop();
    let is_free = async || Raw::from(&gateway, 1).await.get(ask).await.status == 200;
    until("its place is given back", is_free).await;
}
