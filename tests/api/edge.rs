//! The way of a request: roles, request ids, bad input, and clients that hang up.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::{Gateway, commands, http};

const STOCK: &str = "query($sku: ID!) { stock(sku: $sku) { available } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_one_command() {
    let gateway = Gateway::start().await;
    let query = "query($sku: ID!) { product(sku: $sku) { title } }";
    let response = gateway.anonymous().explained(query, json!({ "sku": "nothing" })).await;
    assert_eq!(response["data"]["product"], json!(null));
    assert_eq!(commands(&response), ["find products"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_is_carried_out_whose_client_hung_up() {
    let gateway = Gateway::start().await;
    crate::shop::stocked(&gateway, "a", 0, 1_000).await;
    // On a busy machine it takes longer until a checkout begins.
    let mut complete = 0;
    for pause in [10, 50, 250, 1_000] {
        complete = carried_out(&gateway, Duration::from_millis(pause)).await;
        if complete > 32 {
            break;
        }
    }
    assert!(complete > 32, "{complete}");
    crate::shop::settled(&gateway).await;
    gateway.assert_sound().await;
}

/// Sends 64 checkouts, of which each client hangs up after this time. Returns how many were carried out.
async fn carried_out(gateway: &Gateway, pause: Duration) -> usize {
    let mut carts = Vec::new();
    for _ in 0..64 {
        carts.push(crate::shop::cart(&gateway.anonymous(), "RESERVE", &[("a", 1)]).await);
    }
    for cart in &carts {
        let input = crate::shop::checkout_input(cart, "none", "op");
        let query = crate::shop::checkout_query();
        let body = json!({ "query": query, "variables": { "input": input } }).to_string();
        let request = format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = tokio::net::TcpStream::connect(gateway.address).await.expect("connected");
        stream.write_all(request.as_bytes()).await.expect("written");
        // It begins, and nobody waits for it any more.
        tokio::time::sleep(pause).await;
    }
    crate::shop::settled(gateway).await;
    let mut complete = 0;
    for cart in &carts {
        match crate::shop::state(gateway, "carts", cart).await.as_str() {
            "COMPLETE" => complete += 1,
            // Gone before it was begun.
            state => assert_eq!(state, "ACTIVE", "cut with its client"),
        }
    }
    complete
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_needs_a_role_says_so() {
    let gateway = Gateway::start().await;
    let receive = "mutation { receiveStock(input: {sku: \"x\", quantity: 1}) { __typename } }";
    let nobody = gateway.anonymous().error_code(receive, json!({})).await;
    assert_eq!(nobody, "UNAUTHENTICATED");
    let shopper = gateway.shopper("someone").error_code(receive, json!({})).await;
    assert_eq!(shopper, "FORBIDDEN");
    let found = gateway.admin().field(receive, json!({})).await;
    assert_eq!(found["__typename"], "NotFound");
}

fn json_post(url: &str) -> reqwest::RequestBuilder {
    http().post(url).header("content-type", "application/json")
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_request_are_told_so() {
    let gateway = Gateway::with(|config| config.body_bytes = 4096).await;
    let url = gateway.anonymous().url;
    let deep = format!("{{\"variables\":{{\"a\":{}1{}}}}}", "[".repeat(1000), "]".repeat(1000));
    for (body, status) in [
        (String::new(), 400),
        ("{".to_owned(), 400),
        ("[1, 2".to_owned(), 400),
        ("{\"query\": 5}".to_owned(), 400),
        (deep, 400),
        ("x".repeat(5000), 413),
    ] {
        let response = json_post(&url).body(body.clone()).send().await;
        let response = response.expect("an answer");
        assert_eq!(response.status().as_u16(), status, "{body:.60}");
        let answer: serde_json::Value = response.json().await.expect("JSON");
        assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
        assert_eq!(answer["errors"][0]["extensions"]["field"], "body");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_request_id_comes_back() {
    let gateway = Gateway::start().await;
    let url = gateway.anonymous().url;
    for (sent, back) in [("abc-1", true), ("no spaces", false)] {
        let request = json_post(&url).header("x-request-id", sent);
        let response =
            request.body("{\"query\":\"{__typename}\"}").send().await.expect("an answer");
        let id = response.headers()["x-request-id"].to_str().expect("text").to_owned();
        assert_eq!(id == sent, back, "{id}");
    }
}

/// A driver call that is dropped in flight costs its connection; under load the next answer then
/// takes many seconds.
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_hang_up_under_load_cost_nobody_else_anything() {
    // A busy machine may take long for once.
    let mut all = Vec::new();
    for _ in 0..8 {
        let (usual, next) = around_a_storm().await;
        if next < usual + Duration::from_secs(1) {
            return;
        }
        all.push((usual, next));
    }
    panic!("before each storm, and after it: {all:?}");
}

/// How long an answer takes before many clients hang up, and after that.
async fn around_a_storm() -> (Duration, Duration) {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let usual = {
        let since = Instant::now();
        client.data(STOCK, json!({ "sku": "x" })).await;
        since.elapsed()
    };
    let body = json!({ "query": STOCK, "variables": { "sku": "x" } }).to_string();
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let until = Instant::now() + Duration::from_secs(2);
    let loaders = (0..64).map(|_| {
        let (address, request) = (gateway.address, request.clone());
        tokio::spawn(async move {
            let mut buffer = vec![0; 4096];
            let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
            while Instant::now() < until {
                stream.write_all(request.as_bytes()).await.expect("written");
                tokio::io::AsyncReadExt::read(&mut stream, &mut buffer).await.expect("read");
            }
            // In mid-request: sent, and gone before the answer.
            stream.write_all(request.as_bytes()).await.expect("written");
        })
    });
    for loader in loaders.collect::<Vec<_>>() {
        loader.await.expect("a loader");
    }
    let since = Instant::now();
    client.data(STOCK, json!({ "sku": "x" })).await;
    (usual, since.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_tells_the_state_now_and_after_each_change() {
    let gateway = Gateway::start().await;
    let stock = mongodb::bson::doc! { "_id": "x", "available": 3_i64, "v": 1 };
    let inventory = gateway.database.collection("inventory");
    inventory.insert_one(stock).await.expect("inserted");
    let query = "subscription { stockChanged(sku: \"x\") { available } }";
    let mut live = gateway.anonymous().follow(query, json!({})).await;
    assert_eq!(live.next().await["data"]["stockChanged"]["available"], 3);
    let change = mongodb::bson::doc! { "$set": { "available": 2_i64 } };
    inventory.update_one(mongodb::bson::doc! { "_id": "x" }, change).await.expect("updated");
    // The stream's beginning is told as a change too, so the old state may come once more.
    for _ in 0..3 {
        if live.next().await["data"]["stockChanged"]["available"] == 2 {
            return;
        }
    }
    panic!("the change never came");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_over_a_socket_have_codes_too() {
    let gateway = Gateway::start().await;
    let receive = "mutation { receiveStock(input: {sku: \"x\", quantity: 1}) { __typename } }";
    let mut live = gateway.shopper("someone").follow(receive, json!({})).await;
    assert_eq!(live.next().await["errors"][0]["extensions"]["code"], "FORBIDDEN");
}
