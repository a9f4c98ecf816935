//! What one client may have of what is bounded for all, and that the others find room beside it.

use std::{fmt::Write as _, time::Duration};

use mongodb::bson::doc;
use serde_json::json;
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use crate::support::{
    Client, Gateway, http,
    live::{Socket, TRANSPORT},
    proxy::Cut,
    raw::Raw,
    until,
};

const STOCK: &str = "query($sku: ID!) { stock(sku: $sku) { available } }";

/// Addresses behind a proxy.
const ONE: &str = "198.51.100.1";
const OTHER: &str = "198.51.100.2";

/// The head of a request with a body of that length.
fn post(length: usize) -> String {
    format!(
        "POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    )
}

/// A request of that many bytes that does nothing.
fn long_body(length: usize) -> String {
    let body = |padding: &str| {
        json!({ "query": "{ __typename }", "variables": { "padding": padding } }).to_string()
    };
    body(&"x".repeat(length - body("").len()))
}

/// Waits until an address is served like any other again.
async fn is_served_again(gateway: &Gateway, last: u8, request: &str) {
    until("its room is given back", async || {
        let mut connection = Raw::from(gateway, last).await;
        connection.send(request.as_bytes()).await;
        connection.answer().await.is_some_and(|answer| answer.status == 200)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_client_leave_room_for_others() {
    let gateway = Gateway::behind_proxy(|config| {
        config.max_requests = 4;
        config.forwarded_hops = 1;
        // The request whose command is held doesn't end by itself.
        config.request_millis = 600_000;
    })
    .await;
    let url = gateway.anonymous().url;
    let ask = |from: &str, sku: &str| {
        let body = json!({ "query": STOCK, "variables": { "sku": sku } });
        http().post(&url).header("x-forwarded-for", from).json(&body).send()
    };
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "find");
    proxy.cut(0, Cut::Hold);
    let first = tokio::spawn(ask(ONE, "a"));
    proxy.reached().await;
    let refused = ask(ONE, "b").await.expect("an answer");
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"1".parse().expect("a value"))
    );
    let body: serde_json::Value = refused.json().await.expect("JSON");
    assert_eq!(body["errors"][0]["extensions"]["code"], "RATE_LIMITED");
    assert_eq!(body["errors"][0]["extensions"]["retryable"], true);
    assert_eq!(ask(OTHER, "b").await.expect("an answer").status(), 200);
    // Who hangs up has room again.
    first.abort();
    until("nobody waits for the answer to nobody", async || {
        ask(ONE, "b").await.expect("an answer").status() == 200
    })
    .await;
    proxy.discard();
}

/// The code of the error with which a list of large products is answered, if it is.
async fn code_of_list(client: &Client) -> Option<String> {
    let list = "{ products(by: { where: {} }, first: 4) { nodes { description } } }";
    let answer = client.run(list, json!({})).await;
    if answer.get("errors").is_none() {
        let nodes = answer["data"]["products"]["nodes"].as_array().expect("a list");
        assert_eq!(nodes.len(), 4, "{nodes:#?}");
    }
    answer["errors"][0]["extensions"]["code"].as_str().map(str::to_owned)
}

/// Four products whose documents have 200,000 bytes each.
async fn large_products(gateway: &Gateway) -> [String; 4] {
    let skus = [0, 1, 2, 3].map(|number| format!("large-{number}"));
    for sku in &skus {
        gateway.product(sku, 100, "EUR").await;
        let large = doc! { "$set": { "description": "x".repeat(200_000) } };
        let updated = gateway.raw("products").update_one(doc! { "_id": sku }, large).await;
        assert_eq!(updated.expect("updated").modified_count, 1);
    }
    skus
}

/// A cart with one of each.
async fn cart_with(shopper: &Client, skus: &[String]) -> String {
    let cart = shopper.open_cart("AT_CHECKOUT").await;
    for sku in skus {
        let added = shopper.add(&cart, sku, 1).await;
        assert_eq!(added["__typename"], "Cart", "{added:#}");
    }
    cart
}

/// Orders two of a product, and asks for all products of the cart.
async fn orders_two(shopper: &Client, cart: &str, sku: &str) -> serde_json::Value {
    let set = "mutation($input: SetCartLineQuantityInput!) { setCartLineQuantity(input: $input) {
        ... on Cart { lines { quantity product { description } } }
    } }";
    let input = json!({ "cartId": cart, "sku": sku, "quantity": 2 });
    let answer = shopper.run(set, json!({ "input": input })).await;
    let lines = &answer["data"]["setCartLineQuantity"]["lines"];
    assert_eq!(lines[0]["quantity"], 2, "{answer:#}");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_one_client_reads_leave_room_for_others() {
    let gateway = Gateway::behind_proxy(|config| {
        config.max_read_bytes = 2_000_000;
        config.request_millis = 600_000;
    })
    .await;
    let skus = large_products(&gateway).await;
    let [ann, bob, dora] = ["ann", "bob", "dora"].map(|name| gateway.user(name, &["merchant"]));
    let cart = cart_with(&ann, &skus[..1]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "find");
    proxy.cut_all_from(0, Cut::Hold);
    // Each has read the products, and waits for their stock: 800,000 bytes are more than a quarter.
    let waits = |client: &Client| {
        let client = client.clone();
        tokio::spawn(async move {
            let list =
                "{ products(by: { where: {} }, first: 4) { nodes { description availability } } }";
            client.run(list, json!({})).await
        })
    };
    let first = waits(&ann);
    proxy.reached().await;
    assert_eq!(code_of_list(&ann).await.as_deref(), Some("RATE_LIMITED"));
    // A mutation is executed; what its result would read beyond the share is refused, without saying that nothing was written.
    let ordered = orders_two(&ann, &cart, &skus[0]).await;
    let error = &ordered["errors"][0];
    assert_eq!(error["path"], json!(["setCartLineQuantity", "lines", 0, "product"]), "{ordered:#}");
    assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{ordered:#}");
    // The outcome is known, so it isn't logged as one that isn't.
    let message = error["message"].as_str().expect("a message");
    assert!(message.starts_with("the call was executed, but"), "{message}");
    // What it reads itself isn't refused: it reads the product first.
    let slug =
        "mutation { setProductSlug(input: { sku: \"large-0\", slug: \"other\" }) { __typename } }";
    let changed = ann.run(slug, json!({})).await;
    assert_eq!(changed["data"]["setProductSlug"]["__typename"], "Book", "{changed:#}");
    assert_eq!(code_of_list(&bob).await, None);
    let mut second = waits(&bob);
    until("all room is taken", async || {
        // It was refused if the one below was just then executed.
        if second.is_finished() {
            second = waits(&bob);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        code_of_list(&dora).await.as_deref() == Some("UNAVAILABLE")
    })
    .await;
    proxy.heal();
    proxy.release().await;
    for waited in [first, second] {
        assert!(waited.await.expect("an answer").get("data").is_some());
    }
    for client in [&ann, &bob, &dora] {
        assert_eq!(code_of_list(client).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_operation_may_read_three_quarters_of_what_all_may_read() {
    let gateway = Gateway::with(|config| config.max_read_bytes = 1_000_000).await;
    let skus = large_products(&gateway).await;
    let ann = gateway.shopper("ann");
    let cart = cart_with(&ann, &skus).await;
    let list = "query($first: Int) {
        products(by: { where: {} }, first: $first) { nodes { description } }
    }";
    let few = ann.run(list, json!({ "first": 2 })).await;
    assert!(few.get("errors").is_none(), "{few:#}");
    // They don't fit when it is alone, so it isn't told to come again.
    let many = ann.run(list, json!({ "first": 4 })).await;
    let ordered = orders_two(&ann, &cart, &skus[0]).await;
    for (answer, message) in [
        (many, "the operation reads more than 750000 bytes of documents"),
        (
            ordered,
            "the operation was executed, but its result reads more than 750000 bytes of documents",
        ),
    ] {
        let errors = answer["errors"].as_array().expect("errors");
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert_eq!(errors[0]["message"], message);
        let extensions = json!({ "code": "QUERY_TOO_COMPLEX", "limit": "max_read_bytes" });
        assert_eq!(errors[0]["extensions"], extensions);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_response_of_a_subscription_may_read_as_much_as_an_operation() {
    let gateway = Gateway::with(|config| config.max_read_bytes = 1_000_000).await;
    let skus = large_products(&gateway).await;
    let follow = "subscription($id: ID!) {
        cartChanged(cartId: $id) { lines { quantity product { description } } }
    }";
    let ann = gateway.shopper("ann");
    let few = cart_with(&ann, &skus[..2]).await;
    let mut live = ann.follow(follow, json!({ "id": few })).await;
    // Together the responses read more than one operation may.
    for _ in 0..4 {
        let response = live.next().await;
        assert!(response.get("errors").is_none(), "{response:#}");
        let added = crate::shop::add(&ann, &few, &skus[0], 1).await;
        assert_eq!(added["__typename"], "Cart", "{added:#}");
    }
    let bob = gateway.shopper("bob");
    let many = cart_with(&bob, &skus).await;
    let response = bob.follow(follow, json!({ "id": many })).await.next().await;
    let error = &response["errors"][0];
    let message = "the operation reads more than 750000 bytes of documents";
    assert_eq!(error["message"], message, "{response:#}");
    assert_eq!(error["extensions"]["code"], "QUERY_TOO_COMPLEX");
    assert_eq!(error["extensions"]["limit"], "max_read_bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn live_connections_of_one_client_leave_room_for_others() {
    let gateway = Gateway::with(|config| {
        config.live_connections = 4;
        config.forwarded_hops = 1;
    })
    .await;
    // The stream goes on as long as there is a product.
    gateway.product("a", 100, "EUR").await;
    let socket = async |from: &str| {
        let headers = [("sec-websocket-protocol", TRANSPORT), ("x-forwarded-for", from)];
        gateway.socket_with(&headers, None).await.expect("a socket")
    };
    let events = |from: &str, accept: &str| {
        let body = json!({ "query": "subscription { stockChanged(sku: \"a\") { available } }" });
        let request = http().post(format!("http://{}/graphql", gateway.address));
        request.header("x-forwarded-for", from).header("accept", accept).json(&body).send()
    };
    let mut held = socket(ONE).await;
    held.init(None).await;
    assert_eq!(socket(ONE).await.closed().await.0, 1013);
    for accept in ["text/event-stream", "multipart/mixed;subscriptionSpec=1.0"] {
        let refused = events(ONE, accept).await.expect("an answer");
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (429, &"5".parse().expect("a value"))
        );
        let body: serde_json::Value = refused.json().await.expect("JSON");
        assert_eq!(body["errors"][0]["extensions"]["code"], "RATE_LIMITED");
    }
    let other = events(OTHER, "text/event-stream").await.expect("an answer");
    assert_eq!(other.status(), 200);
    assert_eq!(socket(OTHER).await.closed().await.0, 1013, "it has its share in events");
    drop(held);
    until("its place is given back", async || {
        events(ONE, "text/event-stream").await.expect("an answer").status() == 200
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reservations_of_one_client_leave_room_for_others() {
    let gateway = Gateway::with(|config| {
        config.live_reservations = 4;
        // Long enough for the requests in between, on a busy machine too.
        config.live_reservation_millis = 8_000;
        config.forwarded_hops = 1;
    })
    .await;
    let url = format!("http://{}/graphql/stream", gateway.address);
    let reserve = |from: &str| http().put(&url).header("x-forwarded-for", from).send();
    let first = reserve(ONE).await.expect("an answer");
    assert_eq!(first.status(), 201);
    let refused = reserve(ONE).await.expect("an answer");
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"5".parse().expect("a value"))
    );
    assert_eq!(reserve(OTHER).await.expect("an answer").status(), 201);
    // Once it is open it doesn't wait any more.
    let token = first.text().await.expect("a token");
    let opened = http().get(format!("{url}?token={token}")).header("x-forwarded-for", ONE);
    let opened = opened.send().await.expect("an answer");
    assert_eq!(opened.status(), 200);
    assert_eq!(reserve(ONE).await.expect("an answer").status(), 201);
    assert_eq!(reserve(ONE).await.expect("an answer").status(), 429);
    // Nor does one whose time is over.
    until("its time is over", async || reserve(ONE).await.expect("an answer").status() == 201)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_stream_says_when_to_come_again() {
    let gateway = Gateway::with(|config| {
        config.requests_per_second = 1;
        config.requests_burst = 1;
    })
    .await;
    let url = |path: &str| format!("http://{}{path}", gateway.address);
    let put = http().put(url("/graphql/stream"));
    let get = http().get(url("/feeds/en.atom"));
    let again = |request: &reqwest::RequestBuilder| request.try_clone().expect("no body").send();
    assert_eq!(again(&put).await.expect("an answer").status(), 201);
    for (request, after) in [(put, "5"), (get, "1")] {
        // On a busy machine a second may go by between two requests.
        until("there is no room", async || {
            let answer = again(&request).await.expect("an answer");
            let is_refused = answer.status() == 429;
            assert!(!is_refused || answer.headers()["retry-after"] == after, "{answer:?}");
            is_refused
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_of_one_address_leave_room_for_others() {
    let gateway = Gateway::with(|config| config.max_connections = 8).await;
    let ask = "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nhost: x\r\n\r\n";
    let silent = vec![Raw::from(&gateway, 1).await, Raw::from(&gateway, 1).await];
    let mut third = Raw::from(&gateway, 1).await;
    third.send(ask.as_bytes()).await;
    let refused = third.answer().await.expect("an answer");
    assert_eq!(refused.refusal(), (429, Some("1")), "{refused:?}");
    assert_eq!(refused.code(), "RATE_LIMITED");
    assert!(refused.is_last() && third.answer().await.is_none());
    // Also there somebody may ask how the gateway is.
    assert_eq!(Raw::from(&gateway, 1).await.get("/health/live").await.status, 200);
    let mut other = Raw::from(&gateway, 2).await;
    for _ in 0..2 {
        other.send(ask.as_bytes()).await;
        let served = other.answer().await.expect("an answer");
        assert!(served.status == 200 && !served.is_last(), "{served:?}");
    }
    drop(silent);
    is_served_again(&gateway, 1, ask).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_full_of_silent_connections_answers_operators() {
    let gateway = Gateway::with(|config| config.max_connections = 8).await;
    let mut silent = Vec::new();
    for last in [1, 1, 2, 2, 3, 3, 4, 4] {
        silent.push(Raw::from(&gateway, last).await);
    }
    // Many more of them, each of which has a second.
    for _ in 0..100 {
        silent.push(Raw::from(&gateway, 1).await);
    }
    for path in ["/health/live", "/health/ready", "/metrics"] {
        let answer = Raw::from(&gateway, 9).await.get(path).await;
        assert!(answer.status == 200 && answer.is_last(), "{path}: {answer:?}");
    }
    let refused = Raw::from(&gateway, 9).await.get("/graphql?query=%7B__typename%7D").await;
    assert_eq!(refused.refusal(), (503, Some("1")), "{refused:?}");
    assert_eq!(refused.code(), "UNAVAILABLE");
    assert!(refused.is_last());
    // Those that got no place but the one for an answer are gone, the others stay.
    for late in silent.iter_mut().skip(8) {
        let told = late.answer().await;
        assert!(told.is_none_or(|told| matches!(told.status, 408 | 429 | 503)));
    }
    for silent in silent.iter_mut().take(8) {
        silent.is_silent(Duration::from_millis(10)).await;
    }
    assert_eq!(silent[0].get("/health/live").await.status, 200);
}

/// Room for a mebibyte of requests, of which a client may have a quarter.
async fn with_little_room() -> Gateway {
    Gateway::with(|config| {
        config.body_bytes = 128 << 10;
        config.max_received_bytes = 1 << 20;
        // What doesn't come to its end is kept for as long as a test lasts.
        config.receive_millis = 600_000;
        config.idle_millis = 600_000;
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_do_not_come_to_their_end_are_bounded_in_sum() {
    let gateway = with_little_room().await;
    let body = long_body(100_000);
    let begin = async |last: u8| {
        let mut connection = Raw::from(&gateway, last).await;
        connection.send(post(100_000).as_bytes()).await;
        connection.send(&body.as_bytes()[..60_000]).await;
        connection
    };
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(begin(1).await);
    }
    for one in &mut held {
        one.is_silent(Duration::from_millis(200)).await;
    }
    let refused = begin(1).await.answer().await.expect("an answer");
    assert_eq!(refused.refusal(), (429, Some("1")), "{refused:?}");
    assert_eq!(refused.code(), "RATE_LIMITED");
    // What needs no more than every connection has is served as ever, and so are others.
    assert_eq!(
        Raw::from(&gateway, 1).await.get("/graphql?query=%7B__typename%7D").await.status,
        200
    );
    let whole = post(100_000) + &body;
    let mut other = Raw::from(&gateway, 2).await;
    other.send(whole.as_bytes()).await;
    assert_eq!(other.answer().await.expect("an answer").status, 200);
    // Several clients together find the end of what there is.
    for last in [2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4] {
        held.push(begin(last).await);
    }
    held.push(begin(5).await);
    for one in &mut held {
        one.is_silent(Duration::from_millis(20)).await;
    }
    let refused = begin(5).await.answer().await.expect("an answer");
    assert_eq!(refused.refusal(), (503, Some("1")), "{refused:?}");
    assert_eq!(refused.code(), "UNAVAILABLE");
    // One that goes on is answered, and its room is there for the next.
    let mut first = held.swap_remove(0);
    first.send(&body.as_bytes()[60_000..]).await;
    assert_eq!(first.answer().await.map(|answer| answer.status), Some(503));
    drop((held, first));
    is_served_again(&gateway, 1, &whole).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_do_not_come_to_their_end_are_bounded_in_sum() {
    let gateway = with_little_room().await;
    let head = format!("GET /health/live HTTP/1.1\r\nhost: x\r\nx-padding: {}", "x".repeat(30_000));
    let mut begun = Vec::new();
    for _ in 0..8 {
        let mut connection = Raw::from(&gateway, 1).await;
        connection.send(head.as_bytes()).await;
        begun.push(connection);
    }
    for one in &mut begun {
        one.is_silent(Duration::from_millis(100)).await;
    }
    let mut ninth = Raw::from(&gateway, 1).await;
    ninth.send(head.as_bytes()).await;
    let refused = ninth.answer().await.expect("an answer");
    assert_eq!(refused.refusal(), (429, Some("1")), "{refused:?}");
    let whole = format!("{head}\r\n\r\n");
    let mut other = Raw::from(&gateway, 2).await;
    for _ in 0..20 {
        other.send(whole.as_bytes()).await;
        assert_eq!(other.answer().await.expect("an answer").status, 200);
    }
    begun[0].send(b"\r\n\r\n").await;
    assert_eq!(begun[0].answer().await.expect("an answer").status, 200);
    drop(begun);
    is_served_again(&gateway, 1, &whole).await;
    let mut long = Raw::from(&gateway, 1).await;
    long.send(head.as_bytes()).await;
    long.send("x".repeat(10_000).as_bytes()).await;
    assert_eq!(long.answer().await.expect("an answer").status, 431);
}

/// The first part of a message that doesn't come to its end.
fn beginning() -> Message {
    Message::Frame(Frame::message(vec![b'x'; 60_000], OpCode::Data(Data::Text), false))
}

/// A message whose end doesn't come.
async fn begin_message(socket: &mut Socket) {
    socket.frame(beginning()).await;
    // What comes between the parts of a message ends nothing.
    socket.frame(Message::Ping("x".into())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_do_not_come_to_their_end_are_bounded_in_sum() {
    let gateway = with_little_room().await;
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut socket = gateway.session(None).await;
        begin_message(&mut socket).await;
        socket.is_silent(Duration::from_millis(100)).await;
        held.push(socket);
    }
    let mut fifth = gateway.session(None).await;
    // Nothing behind it: the socket may be closed by then.
    fifth.frame(beginning()).await;
    assert_eq!(fifth.closed().await.0, 1013);
    drop(held);
    // Whole messages are done with once they are read, however many there are.
    let padding = "x".repeat(60_000);
    until("the room is given back", async || {
        let mut socket = gateway.session(None).await;
        socket.subscribe("1", "{ __typename }", json!({ "padding": padding })).await;
        matches!(socket.raw().await, Some(Ok(Message::Text(_))))
    })
    .await;
    let mut socket = gateway.session(None).await;
    for n in 0..20 {
        let variables = json!({ "padding": padding });
        socket.subscribe(&n.to_string(), "{ __typename }", variables).await;
        assert_eq!(socket.next(&n.to_string()).await["data"]["__typename"], "Query");
        assert_eq!(socket.hear().await["type"], "complete");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_may_send_any_number_of_long_requests() {
    let gateway = with_little_room().await;
    let mut connection = Raw::from(&gateway, 1).await;
    for _ in 0..20 {
        connection.send((post(100_000) + &long_body(100_000)).as_bytes()).await;
        let answer = connection.answer().await.expect("an answer");
        assert!(answer.status == 200 && !answer.is_last(), "{answer:?}");
    }
    // In pieces, whose own lengths stand between them.
    for _ in 0..20 {
        let mut request = post(0).replace("content-length: 0", "transfer-encoding: chunked");
        for piece in long_body(100_000).as_bytes().chunks(1_000) {
            let text = String::from_utf8_lossy(piece);
            write!(request, "{:x}\r\n{text}\r\n", piece.len()).expect("a string");
        }
        request += "0\r\n\r\n";
        connection.send(request.as_bytes()).await;
        let answer = connection.answer().await.expect("an answer");
        assert!(answer.status == 200 && !answer.is_last(), "{answer:?}");
    }
    // Two at once, of which the second is read behind the first.
    let one = post(20_000) + &long_body(20_000);
    connection.send(one.repeat(2).as_bytes()).await;
    for _ in 0..2 {
        assert_eq!(connection.answer().await.expect("an answer").status, 200);
    }
}
