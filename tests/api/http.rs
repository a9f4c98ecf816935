//! GraphQL over HTTP: methods, media types, status codes, texts that aren't sent, other origins.

use std::{fs, path::Path, time::Duration};

use docgate::config::DocumentsMode;
use mongodb::bson::doc;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    cli::{Running, on},
    support::{Gateway, fresh_name, http_builder, until},
};

const STOCK: &str = "query($sku: ID!) { stock(sku: $sku) { available } }";
const NEW_TYPE: &str = "application/graphql-response+json";

/// One request as it is, and what came back.
struct Door {
    url: String,
    http: reqwest::Client,
}

struct Answer {
    status: StatusCode,
    head: reqwest::header::HeaderMap,
    body: Value,
}

impl Answer {
    fn head(&self, name: &str) -> &str {
        self.head.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    fn code(&self) -> &str {
        self.body["errors"][0]["extensions"]["code"].as_str().unwrap_or_default()
    }
}

impl Door {
    fn of(gateway: &Gateway) -> Self {
        let redirects = reqwest::redirect::Policy::none();
        let http = http_builder().redirect(redirects).build().expect("a client");
        Self { url: format!("http://{}/graphql", gateway.address), http }
    }

    async fn ask(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.expect("an answer");
        let (status, head) = (response.status(), response.headers().clone());
        let body = response.text().await.expect("a text");
        Answer { status, head, body: serde_json::from_str(&body).unwrap_or(Value::String(body)) }
    }

    async fn post(&self, accept: Option<&str>, body: Value) -> Answer {
        let mut request = self.http.post(&self.url).json(&body);
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        self.ask(request).await
    }

    async fn get(&self, parameters: &[(&str, &str)], headers: &[(&'static str, &str)]) -> Answer {
        let url = reqwest::Url::parse_with_params(&self.url, parameters).expect("a URL");
        let mut request = self.http.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.ask(request).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_media_type_decides_what_the_status_says() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    let whole = json!({ "query": "{ __typename }" });
    for (accept, content_type) in [
        (None, "application/json"),
        (Some("*/*"), "application/json"),
        (Some("application/*"), "application/json"),
        (Some("application/json"), "application/json"),
        (Some(NEW_TYPE), NEW_TYPE),
        (Some("application/json;q=0.5, application/graphql-response+json"), NEW_TYPE),
        (Some("application/json, application/graphql-response+json;q=0.9"), "application/json"),
        (Some("text/html, application/graphql-response+json"), NEW_TYPE),
    ] {
        let answer = door.post(accept, whole.clone()).await;
        assert_eq!(answer.status, 200, "{accept:?}");
        let expected = format!("{content_type}; charset=utf-8");
        assert_eq!(answer.head("content-type"), expected, "{accept:?}");
        assert_eq!(answer.head("cache-control"), "no-store");
        assert_eq!(answer.head("x-content-type-options"), "nosniff");
    }
    for accept in ["text/html", "image/png", "application/json;q=0"] {
        let answer = door.post(Some(accept), whole.clone()).await;
        assert_eq!((answer.status, answer.code()), (StatusCode::NOT_ACCEPTABLE, "BAD_USER_INPUT"));
    }
    for request in [
        json!({ "query": "{" }),
        json!({ "query": "{ nothingLikeIt }" }),
        json!({ "query": STOCK }),
        json!({ "query": STOCK, "variables": { "sku": null } }),
    ] {
        let answer = door.post(Some("application/json"), request.clone()).await;
        assert_eq!((answer.status, answer.code()), (StatusCode::OK, "BAD_USER_INPUT"));
        let answer = door.post(Some(NEW_TYPE), request).await;
        assert_eq!((answer.status, answer.code()), (StatusCode::BAD_REQUEST, "BAD_USER_INPUT"));
        assert_eq!(answer.body.get("data"), None, "what wasn't executed has no data");
    }
    // A field that failed is an answer all the same.
    let failed = json!({ "query": "mutation { receiveStock(input: {sku: \"x\", quantity: 1}) { __typename } }" });
    let answer = door.post(Some(NEW_TYPE), failed).await;
    assert_eq!((answer.status, answer.code()), (StatusCode::OK, "UNAUTHENTICATED"));
    assert_eq!(answer.body["data"], json!({ "receiveStock": null }));
}

/// What a field's error leaves of the data is an answer, whatever the error is.
#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_is_unavailable_is_no_fault_of_the_request() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    let away = doc! { "failCommands": ["find", "aggregate"], "errorCode": 91 };
    let away = gateway.fail_point(doc! { "times": 1_000 }, away).await;
    let one = json!({ "query": "{ stock(sku: \"a\") { available } }" });
    let two = json!({ "query": "{ stock(sku: \"a\") { available } __typename }" });
    for accept in [None, Some("application/json"), Some(NEW_TYPE)] {
        for (query, rest) in [(&one, Value::Null), (&two, json!("Query"))] {
            let answer = door.post(accept, query.clone()).await;
            assert_eq!(
                (answer.status, answer.code()),
                (StatusCode::OK, "UNAVAILABLE"),
                "{:#}",
                answer.body
            );
            assert_eq!(answer.body["data"]["stock"], Value::Null);
            assert_eq!(answer.body["data"]["__typename"], rest);
            assert_eq!(answer.body["errors"][0]["path"], json!(["stock"]));
            assert_eq!(answer.head("cache-control"), "no-store");
        }
    }
    // The field of a mutation is null, and its siblings would be there.
    let open = json!({ "query": "mutation { openCart(input: {currency: \"EUR\", policy: AT_CHECKOUT}) { __typename } }" });
    away.off().await;
    let away = doc! { "failCommands": ["insert", "findAndModify", "update"], "errorCode": 91 };
    let away = gateway.fail_point(doc! { "times": 1_000 }, away).await;
    for accept in [None, Some(NEW_TYPE)] {
        let answer = door.post(accept, open.clone()).await;
        assert_eq!(
            (answer.status, answer.code()),
            (StatusCode::OK, "UNAVAILABLE"),
            "{:#}",
            answer.body
        );
        assert_eq!(answer.body["data"], json!({ "openCart": null }));
    }
    away.off().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_told_so() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    for body in [
        json!({}),
        json!({ "qeury": "{ __typename }" }),
        json!({ "query": ["{ __typename }"] }),
        json!({ "query": "{ __typename }", "operationName": ["a"] }),
        json!({ "query": "{ __typename }", "variables": [1] }),
        json!({ "query": "{ __typename }", "variables": "a" }),
        json!({ "query": "{ __typename }", "extensions": [] }),
        json!({ "query": "{ __typename }", "extensions": 1 }),
        json!(["{ __typename }"]),
        json!("{ __typename }"),
        json!(5),
    ] {
        for accept in [None, Some(NEW_TYPE)] {
            let answer = door.post(accept, body.clone()).await;
            assert_eq!((answer.status.as_u16(), answer.code()), (400, "BAD_USER_INPUT"), "{body}");
        }
    }
    for (content_type, status) in [
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
        // Any page can send it: it needs a header that not every page can.
        ("multipart/form-data; boundary=x", 403),
        ("application/jsonx", 415),
    ] {
        let request = door.http.post(&door.url).header("content-type", content_type);
        let answer = door.ask(request.body("{\"query\":\"{ __typename }\"}")).await;
        let found = (answer.status.as_u16(), answer.code());
        assert_eq!(found, (status, "BAD_USER_INPUT"), "{content_type}");
    }
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = door.ask(door.http.request(method, &door.url)).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_reads_and_never_changes_anything() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    let variables = json!({ "sku": "nothing" }).to_string();
    let read = [("query", STOCK), ("variables", &variables)];
    let answer = door.get(&read, &[]).await;
    assert_eq!((answer.status.as_u16(), &answer.body["data"]), (200, &json!({ "stock": null })));

    let before = gateway.snapshot().await;
    let mutation =
        "mutation { createCart(input: {mode: RESERVE, currency: \"EUR\"}) { __typename } }";
    for text in [mutation, "query a { __typename } mutation b { __typename }"] {
        let answer = door
            .get(&[("query", text), ("operationName", "b")][..=usize::from(text != mutation)], &[])
            .await;
        assert_eq!((answer.status.as_u16(), answer.head("allow")), (405, "POST"), "{text}");
    }
    assert_eq!(gateway.snapshot().await, before);
    for bad in [("variables", "{"), ("variables", "[]"), ("extensions", "5")] {
        let answer = door.get(&[("query", "{ __typename }"), bad], &[]).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "BAD_USER_INPUT"), "{bad:?}");
        assert_eq!(answer.body["errors"][0]["extensions"]["field"], bad.0);
    }
    assert_eq!(door.get(&[], &[]).await.status, StatusCode::BAD_REQUEST);
    // A browser that looks what is here is shown the way to a page.
    let looked = door.get(&[], &[("accept", "text/html,*/*;q=0.8")]).await;
    assert_eq!((looked.status.as_u16(), looked.head("location")), (303, "/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_listed_for_whom_the_configuration_and_the_header_say() {
    for development in [true, false] {
        let gateway = Gateway::with(move |config| config.development = development).await;
        let door = Door::of(&gateway);
        for (client, is_admin) in [(gateway.admin(), true), (gateway.shopper("s"), false)] {
            for (header, expected) in
                [(None, development), (Some("1"), development || is_admin), (Some("false"), false)]
            {
                let token = client.token.clone().expect("a token");
                let mut request = door.http.post(&door.url).bearer_auth(token);
                if let Some(value) = header {
                    request = request.header("x-docgate-explain", value);
                }
                let body = json!({ "query": STOCK, "variables": { "sku": "a" } });
                let answer = door.ask(request.json(&body)).await;
                let listed = &answer.body["extensions"]["docgate"]["commands"];
                let told =
                    format!("development {development}, admin {is_admin}, header {header:?}");
                assert_eq!(listed.is_array(), expected, "{told}: {:#}", answer.body);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_has_already_is_not_sent_again() {
    // In development each answer tells something of its own.
    let gateway = Gateway::with(|config| config.development = false).await;
    let door = Door::of(&gateway);
    let read = [("query", "{ __typename }")];
    let first = door.get(&read, &[]).await;
    let tag = first.head("etag").to_owned();
    assert!(tag.starts_with('"'), "{tag}");
    let second = door.get(&read, &[("if-none-match", &tag)]).await;
    assert_eq!((second.status.as_u16(), second.body), (304, json!("")));
    let other = door.get(&[("query", "{ a: __typename }")], &[("if-none-match", &tag)]).await;
    assert_eq!(other.status, StatusCode::OK);
    assert_ne!(other.head("etag"), tag);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_how_long_it_may_be_kept() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    let product = json!({ "query": "{ product(sku: \"x\") { sku } }" });
    let stock =
        json!({ "query": "{ product(sku: \"x\") { sku } stock(sku: \"x\") { available } }" });
    let failed = json!({ "query": "{ category(by: {path: \"no path\"}) { id } }" });
    for (request, kept) in
        [(&product, "public, max-age=30"), (&stock, "no-store"), (&failed, "no-store")]
    {
        assert_eq!(door.post(None, request.clone()).await.head("cache-control"), kept, "{request}");
    }
    let token = crate::support::token("someone", &[]);
    let signed_in = door.http.post(&door.url).json(&product).bearer_auth(token);
    assert_eq!(door.ask(signed_in).await.head("cache-control"), "private, max-age=30");
    let got = door.get(&[("query", "{ product(sku: \"x\") { sku } }")], &[]).await;
    assert_eq!(got.head("cache-control"), "public, max-age=30");
    assert_eq!(got.head("vary"), "Accept, Authorization, Cookie");
}

/// Clients that know HTTP/2 offer it with a `GET` without encryption.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_offers_another_protocol_is_answered_in_this_one() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    let ask = async |protocols: &str| {
        let headers = [
            ("connection", "Upgrade, HTTP2-Settings"),
            ("upgrade", protocols),
            ("http2-settings", "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"),
        ];
        door.get(&[("query", "{ __typename }")], &headers).await
    };
    for offered in ["h2c", "websockets", "h2c, TLS/1.3"] {
        let answer = ask(offered).await;
        assert_eq!(answer.status, StatusCode::OK, "{offered}");
        assert_eq!(answer.body["data"]["__typename"], "Query", "{offered}");
    }
    // No socket comes of it without a key.
    for offered in ["websocket", "WebSocket", "h2c, websocket"] {
        assert_eq!(ask(offered).await.status, StatusCode::BAD_REQUEST, "{offered}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_off_and_bounded_where_they_are_on() {
    let gateway = Gateway::start().await;
    let one = json!({ "query": "{ __typename }" });
    let answer = Door::of(&gateway).post(None, json!([one])).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (400, "BAD_USER_INPUT"));

    let gateway = Gateway::with(|config| config.max_batch = 3).await;
    let door = Door::of(&gateway);
    let answer = door
        .post(
            None,
            json!([one, { "query": "{ no }" }, { "query": STOCK, "variables": { "sku": "a" } }]),
        )
        .await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.body[0]["data"]["__typename"], "Query");
    assert_eq!(answer.body[1]["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(answer.body[2]["data"], json!({ "stock": null }));
    for bad in
        [json!([]), json!([one, one, one, one]), json!([one, 5]), json!([["{ __typename }"]])]
    {
        let answer = door.post(None, bad.clone()).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "BAD_USER_INPUT"), "{bad}");
    }
}

fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

fn persisted(hash: &str) -> Value {
    json!({ "persistedQuery": { "version": 1, "sha256Hash": hash } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_was_sent_with_its_hash_need_not_be_sent_again() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    let hash = sha256(STOCK);
    let by_hash = json!({ "extensions": persisted(&hash), "variables": { "sku": "a" } });
    let unknown = door.post(None, by_hash.clone()).await;
    assert_eq!((unknown.status.as_u16(), unknown.code()), (200, "PERSISTED_QUERY_NOT_FOUND"));
    assert_eq!(unknown.body["errors"][0]["message"], "PersistedQueryNotFound");
    let unknown = door.post(Some(NEW_TYPE), by_hash.clone()).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);

    let mut with_text = by_hash.clone();
    with_text["query"] = json!(STOCK);
    assert_eq!(door.post(None, with_text).await.body["data"], json!({ "stock": null }));
    assert_eq!(door.post(None, by_hash).await.body["data"], json!({ "stock": null }));
    let extensions = persisted(&hash).to_string();
    let variables = json!({ "sku": "a" }).to_string();
    let got = door.get(&[("extensions", &extensions), ("variables", &variables)], &[]).await;
    assert_eq!(got.body["data"], json!({ "stock": null }));

    for bad in [
        persisted(&sha256("another text")),
        persisted("abc"),
        persisted(&"g".repeat(64)),
        json!({ "persistedQuery": { "version": 2, "sha256Hash": hash } }),
        json!({ "persistedQuery": "abc" }),
    ] {
        let request = json!({ "query": STOCK, "variables": { "sku": "a" }, "extensions": bad });
        let answer = door.post(None, request).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "BAD_USER_INPUT"), "{bad}");
    }
}

/// A gateway that trusts what lies at `path`.
async fn trusting(path: &Path, mode: DocumentsMode) -> (Gateway, Door) {
    let gateway = Gateway::with(|config| {
        config.documents = Some(path.to_owned());
        config.documents_mode = mode;
    })
    .await;
    let door = Door::of(&gateway);
    (gateway, door)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_trusted_documents_are_executed_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("shop")).expect("a folder");
    fs::write(folder.path().join("shop/stock.graphql"), format!("{STOCK}\n")).expect("written");
    let (_gateway, door) = trusting(folder.path(), DocumentsMode::Only).await;
    let none = json!({ "stock": null });
    let variables = json!({ "sku": "a" });
    for trusted in [
        json!({ "query": STOCK, "variables": variables }),
        json!({ "documentId": "shop/stock", "variables": variables }),
        json!({ "documentId": sha256(STOCK), "variables": variables }),
        json!({ "extensions": persisted(&sha256(STOCK)), "variables": variables }),
    ] {
        assert_eq!(door.post(None, trusted.clone()).await.body["data"], none, "{trusted}");
    }
    let other = "{ __typename }";
    for (status, untrusted) in [
        (403, json!({ "query": other })),
        (403, json!({ "query": other, "extensions": persisted(&sha256(other)) })),
        (400, json!({ "extensions": persisted(&sha256(other)) })),
        (400, json!({ "documentId": "shop/other" })),
        (400, json!({ "documentId": "../stock" })),
    ] {
        let answer = door.post(Some(NEW_TYPE), untrusted.clone()).await;
        assert_eq!(answer.status.as_u16(), status, "{untrusted}");
        assert_eq!(answer.body.get("data"), None);
    }

    // Read anew when the files change; what can't be read changes nothing.
    fs::write(folder.path().join("type.graphql"), other).expect("written");
    let trusted = async |text: &str| {
        door.post(None, json!({ "query": text })).await.body.get("data").is_some()
    };
    until("the new document is trusted", async || trusted(other).await).await;
    fs::write(folder.path().join("type.graphql"), "{ broken").expect("written");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(trusted(other).await);
    fs::write(folder.path().join("type.graphql"), "{ again: __typename }").expect("written");
    until("the mended document is trusted", async || trusted("{ again: __typename }").await).await;
    assert_eq!(door.post(None, json!({ "query": other })).await.code(), "UNTRUSTED_DOCUMENT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_trusted_no_longer_is_not_executed_by_its_hash() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("type.graphql");
    let text = "{ __typename }";
    fs::write(&file, text).expect("written");
    let (_gateway, door) = trusting(folder.path(), DocumentsMode::Only).await;
    let by_hash = json!({ "extensions": persisted(&sha256(text)) });
    let mut with_text = by_hash.clone();
    with_text["query"] = json!(text);
    // It is remembered with its hash, and trusted by both.
    for request in [&with_text, &by_hash] {
        assert_eq!(door.post(None, request.clone()).await.body["data"]["__typename"], "Query");
    }
    fs::remove_file(&file).expect("removed");
    until("the text isn't trusted any more", async || {
        door.post(None, with_text.clone()).await.code() == "UNTRUSTED_DOCUMENT"
    })
    .await;
    let answer = door.post(None, by_hash).await;
    assert_eq!((answer.code(), answer.body.get("data")), ("UNTRUSTED_DOCUMENT", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_cannot_be_found_are_told_once_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (here, away) = (folder.path().join("here"), folder.path().join("away"));
    fs::create_dir(&here).expect("a folder");
    fs::write(here.join("first.graphql"), "{ __typename }").expect("written");
    let mut command = on(&fresh_name(), &["serve"]);
    command.env("DOCGATE_DOCUMENTS", &here).env("DOCGATE_LOG_FORMAT", "json");
    let running = Running::start(command);
    running.says("serving on http://");
    for time in ["the first time", "the second time"] {
        fs::rename(&here, &away).expect("moved");
        let line = running.says("trusted_documents_");
        let told: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(told["event"], "trusted_documents_unreadable", "{time}");
        assert_eq!(told["level"], "WARN", "{time}");
        // It looks for them a few times more.
        tokio::time::sleep(Duration::from_secs(5)).await;
        fs::write(away.join(format!("{time}.graphql")), "{ __typename }").expect("written");
        fs::rename(&away, &here).expect("moved");
        let line = running.says("trusted_documents_");
        assert!(line.contains("trusted_documents_reloaded"), "{time}: {line}");
    }
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
}

#[test]
fn a_folder_without_trusted_documents_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("first.graphql");
    let mut command = on(&fresh_name(), &["serve"]);
    command.env("DOCGATE_DOCUMENTS", folder.path()).env("DOCGATE_LOG_FORMAT", "json");
    let running = Running::start(command);
    for time in ["at the start", "after a reload"] {
        let line = running.says("trusted_documents_none");
        assert!(line.contains("\"WARN\""), "{time}: {line}");
        fs::write(&file, "{ __typename }").expect("written");
        running.says("trusted_documents_reloaded");
        fs::remove_file(&file).expect("removed");
    }
    running.says("trusted_documents_none");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_of_apollo_and_relay_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let operation = json!({ "id": "one", "body": STOCK, "name": "Stock", "type": "query" });
    let apollo = json!({
        "format": "apollo-persisted-query-manifest", "version": 1, "operations": [operation],
    });
    let variables = json!({ "sku": "a" });
    for (name, manifest) in [("apollo.json", apollo), ("relay.json", json!({ "one": STOCK }))] {
        let path = folder.path().join(name);
        fs::write(&path, manifest.to_string()).expect("written");
        let (_gateway, door) = trusting(&path, DocumentsMode::Log).await;
        let by_id = json!({ "documentId": "one", "variables": variables });
        assert_eq!(door.post(None, by_id).await.body["data"], json!({ "stock": null }));
        // They are only logged.
        let other = door.post(None, json!({ "query": "{ __typename }" })).await;
        assert_eq!(other.body["data"]["__typename"], "Query");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_origins_are_answered_where_they_are_named() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway);
    let shop = "https://shop.example";
    let preflight = |door: &Door, origin: &str| {
        door.http
            .request(Method::OPTIONS, &door.url)
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type,authorization")
    };
    let answer = door.ask(preflight(&door, shop)).await;
    assert_eq!(answer.head("access-control-allow-origin"), "");

    let gateway = Gateway::with(|config| config.cors_origins = vec![shop.to_owned()]).await;
    let door = Door::of(&gateway);
    let answer = door.ask(preflight(&door, shop)).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.head("access-control-allow-origin"), shop);
    assert_eq!(answer.head("access-control-allow-credentials"), "true");
    assert_eq!(answer.head("access-control-allow-headers"), "content-type,authorization");
    let request = door.http.post(&door.url).json(&json!({ "query": "{ __typename }" }));
    let answer = door.ask(request.header("origin", shop)).await;
    assert_eq!(answer.head("access-control-allow-origin"), shop);
    let answer = door.ask(preflight(&door, "https://elsewhere.example")).await;
    assert_eq!(answer.head("access-control-allow-origin"), "");

    let gateway = Gateway::with(|config| config.cors_origins = vec!["*".to_owned()]).await;
    let door = Door::of(&gateway);
    let answer = door.ask(preflight(&door, shop)).await;
    assert_eq!(answer.head("access-control-allow-origin"), "*");
    assert_eq!(answer.head("access-control-allow-credentials"), "", "any page could use them");
}

const POST: &str = "POST /graphql HTTP/1.1\r\nhost: x\r\n";

/// Reads the head of an answer, and its body.
async fn read(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    let head = String::from_utf8(head).expect("text");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body).await.expect("a body");
    (head, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_awaits_the_body_that_is_on_its_way() {
    let gateway = Gateway::start().await;
    let mut stream = TcpStream::connect(gateway.address).await.expect("a connection");
    for status in ["415", "401"] {
        let head = match status {
            "415" => "content-type: text/plain\r\ncontent-length: 100000\r\n\r\n",
            _ => {
                "content-type: application/json\r\nauthorization: Bearer odd\r\n\
                 content-length: 100000\r\n\r\n"
            }
        };
        stream.write_all(format!("{POST}{head}").as_bytes()).await.expect("sent");
        // It is awaited for a second.
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(&vec![b'x'; 100_000]).await.expect("sent");
        let (answer, _) = read(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    // The connection can be used for more.
    let asked = "content-type: application/json\r\ncontent-length: 26\r\n\r\n{\"query\":\"{ __typename }\"}";
    stream.write_all(format!("{POST}{asked}").as_bytes()).await.expect("sent");
    let (answer, body) = read(&mut stream).await;
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}{body}");
    assert_eq!(body["data"]["__typename"], "Query");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_does_not_await_a_body_for_ever() {
    let gateway = Gateway::start().await;
    // One that doesn't come, one that waits to be asked for, and one that is long.
    let long = "content-length: 1000000000\r\n\r\n".to_owned() + &"x".repeat(400_000);
    for rest in
        ["content-length: 10\r\n\r\n", "content-length: 10\r\nexpect: 100-continue\r\n\r\n", &long]
    {
        let mut stream = TcpStream::connect(gateway.address).await.expect("a connection");
        let request = format!("{POST}content-type: text/plain\r\n{rest}");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let (answer, _) = read(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 415"), "{answer}");
    }
}
