//! Shipping and tax that an outside service quotes, which is slow, wrong or away.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use docgate::config::Config;
use futures_util::future::select_all;
use hmac::{Hmac, KeyInit as _, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::Notify;

use super::{
    applied, cancel, created,
    quotes::{OFFERED, checkout, checkout_query, choose, chosen, with_tables},
};
use crate::{
    shop::{account, add, balance, cart, checkout_input, settled, stocked},
    support::{Gateway, outside},
};

const SECRET: &str = "quotes: thirty-two bytes at the least";

/// How the service answers.
#[derive(Clone)]
pub enum Mode {
    /// As the contract says.
    Right,
    /// As the contract says, once the test lets it.
    Held,
    /// Never.
    Silent,
    /// With this status and text.
    Text(u16, String),
}

pub struct Service {
    mode: Mutex<Mode>,
    calls: Mutex<Vec<Value>>,
    /// A call that is held has arrived.
    reached: Notify,
    /// A call that is held may be answered.
    go_on: Notify,
}

pub type Shared = Arc<Service>;

/// The right answer: shipping costs 490, and a tenth of each line is its tax.
fn right(body: &Value) -> Value {
    let lines = body["lines"].as_array().expect("lines").iter();
    let tax = |line: &Value| json!({ "sku": line["sku"], "tax": line["total"].as_i64().expect("a total") / 10 });
    json!({
        "currency": body["currency"],
        "methods": [{ "name": "parcel", "title": "Parcel", "price": 490, "tax": 93 }],
        "lines": lines.map(tax).collect::<Vec<_>>(),
    })
}

async fn serve(
    State(service): State<Shared>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    mac.update(&body);
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    assert_eq!(headers["x-docgate-signature"], *signature);
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    service.calls.lock().expect("no panic").push(body.clone());
    let mode = service.mode.lock().expect("no panic").clone();
    match mode {
        Mode::Right => {}
        Mode::Held => {
            service.reached.notify_one();
            service.go_on.notified().await;
        }
        Mode::Silent => pending().await,
        Mode::Text(status, text) => {
            return (StatusCode::from_u16(status).expect("a status"), text);
        }
    }
    (StatusCode::OK, right(&body).to_string())
}

/// Starts the service, and returns it with its address.
pub async fn service() -> (Shared, String) {
    let shared = Arc::new(Service {
        mode: Mutex::new(Mode::Right),
        calls: Mutex::default(),
        reached: Notify::new(),
        go_on: Notify::new(),
    });
    let router = Router::new().route("/quote", post(serve)).with_state(Arc::clone(&shared));
    let url = format!("{}/quote", outside(router).await);
    (shared, url)
}

impl Service {
    /// From now on, it answers like this.
    pub fn answers(&self, mode: Mode) {
        *self.mode.lock().expect("no panic") = mode;
    }
}

/// The settings of a gateway that asks the service, however busy the machine is.
pub fn asks(config: &mut Config, url: &str) {
    config.flow_run_millis = 60_000;
    config.flow_command_millis = 10_000;
    config.quote_url = Some(url.into());
    config.quote_signing_secret = Some(SECRET.into());
    config.quote_timeout_millis = 30_000;
}

/// The destination of the tests' checkouts.
pub fn there() -> Value {
    json!({ "city": "12345 A city" })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outside_service_quotes_what_an_order_pays() {
    let (service, url) = service().await;
    let gateway = Gateway::with(|config| asks(config, &url)).await;
    stocked(&gateway, "a", 100, 100).await;
    created(&gateway, "OFF", json!({ "amount": 60 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 3)]).await;
    applied(&shopper, &id, "OFF").await;
    let nowhere = choose(&shopper, &id, "parcel", json!({})).await;
    assert_eq!(nowhere["field"], "input.city", "{nowhere:#}");
    assert_eq!(choose(&shopper, &id, "other", there()).await["code"], "NOT_FOUND");
    let offered = json!({ "id": id, "country": "DE", "city": "12345 A city" });
    let offered = shopper.field(OFFERED, offered).await;
    assert_eq!(offered[0]["tax"]["minorUnits"], 24 + 93, "{offered:#}");
    let mut asked = service.calls.lock().expect("no panic").remove(0);
    let sent_at = asked.as_object_mut().expect("an object").remove("sentAt").expect("a time");
    assert!(sent_at.as_str().is_some_and(|time| time.ends_with('Z')), "{sent_at}");
    let line = json!({ "sku": "a", "type": "book", "quantity": 3, "unitPrice": 100, "total": 240 });
    let expected = json!({
        "currency": "EUR", "country": "DE", "city": "12345 A city", "lines": [line],
    });
    assert_eq!(asked, expected);

    assert_eq!(chosen(&shopper, &id, "parcel", json!({ "city": "54321 B" })).await, 847);
    assert_eq!(checkout(&shopper, &id, &purse, "op").await["quoteFault"], "OTHER_DESTINATION");
    assert_eq!(chosen(&shopper, &id, "parcel", there()).await, 240 + 24 + 490 + 93);
    // The checkout doesn't ask again.
    service.answers(Mode::Text(500, String::new()));
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["paid"]["minorUnits"], 847, "{order:#}");
    assert_eq!(order["charges"]["tax"]["minorUnits"], 117);
    assert_eq!(order["charges"]["byDefault"], false);
    settled(&gateway).await;
    gateway.assert_sound().await;
    let cancelled = cancel(&shopper, order["id"].as_str().expect("an order"), "op").await;
    assert_eq!(cancelled["refunded"]["minorUnits"], 847, "{cancelled:#}");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
}

/// Answers that can't be used, to a question about one line of `a` for 100 in euros.
fn wrong() -> Vec<Mode> {
    let with = |method: Value, lines: Value| {
        json!({ "currency": "EUR", "methods": [method], "lines": lines }).to_string()
    };
    let method = |price: Value, tax: i64| json!({ "name": "parcel", "title": "Parcel", "price": price, "tax": tax });
    let sound = || method(json!(490), 0);
    let named = |name: &str, title: &str| json!({ "name": name, "title": title, "price": 490 });
    let bodies = [
        "<html>".to_owned(),
        "{}".to_owned(),
        "[]".to_owned(),
        with(sound(), json!([])).replace("EUR", "USD"),
        with(method(json!(-1), 0), json!([])),
        with(method(json!(4.9), 0), json!([])),
        with(method(json!("490"), 0), json!([])),
        with(method(json!((1_i64 << 53) + 1), 0), json!([])),
        with(method(json!(u64::MAX), 0), json!([])),
        with(method(json!(490), 491), json!([])),
        with(method(json!(490), -1), json!([])),
        with(named("$where", "Title"), json!([])),
        with(named("parcel", "\u{7}"), json!([])),
        with(sound(), json!([{ "sku": "a", "tax": -1 }])),
        with(sound(), json!([{ "sku": "a", "tax": 101 }])),
        with(sound(), json!([{ "sku": "b", "tax": 1 }])),
        with(sound(), json!([{ "sku": "a", "tax": 1, "rate": -1 }])),
        with(sound(), json!([{ "sku": "a", "tax": 1, "rate": 100_001 }])),
        with(sound(), json!([{ "sku": "a", "tax": 1, "rate": "19" }])),
        with(sound(), json!([{ "sku": "a", "tax": 1 }, { "sku": "a", "tax": 1 }])),
        json!({ "currency": "EUR", "taxIncluded": "true", "methods": [sound()] }).to_string(),
        json!({ "currency": "EUR", "taxIncluded": null, "methods": [sound()] }).to_string(),
        json!({ "currency": "EUR", "methods": [sound(), sound()] }).to_string(),
        json!({ "currency": "EUR", "methods": vec![sound(); 51] }).to_string(),
        format!("{}{}", with(sound(), json!([])), " ".repeat(70_000)),
    ];
    let bodies = bodies.map(|body| Mode::Text(200, body));
    let statuses = [201, 302, 500, 503];
    let sound = with(sound(), json!([]));
    let statuses = statuses.map(|status| Mode::Text(status, sound.clone()));
    bodies.into_iter().chain(statuses).collect()
}

/// Checks that nothing is quoted, and that the cart stays as it was.
async fn refuses(gateway: &Gateway, id: &str) {
    let client = gateway.anonymous();
    let before = gateway.snapshot().await;
    let refused = choose(&client, id, "parcel", there()).await;
    assert_eq!(refused["code"], "QUOTE_UNAVAILABLE", "{refused:#}");
    let asked = json!({ "id": id, "country": "DE", "city": "12345 A city" });
    assert_eq!(client.error_code(OFFERED, asked).await, "UNAVAILABLE");
    assert!(gateway.snapshot().await == before);
}

/// Checks that the amounts are those of the tables, and says so.
async fn falls_back(gateway: &Gateway, id: &str) {
    let client = gateway.anonymous();
    let cart = choose(&client, id, "standard", there()).await;
    assert_eq!(cart["total"]["minorUnits"], 702, "{cart:#}");
    assert_eq!(cart["quote"]["charges"]["byDefault"], true, "{cart:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_slow_wrong_or_away_leads_to_the_tables_or_to_a_refusal() {
    let (service, url) = service().await;
    let gateway = Gateway::with(|config| asks(config, &url)).await;
    let careful = gateway.sibling_with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    for mode in wrong() {
        service.answers(mode);
        refuses(&gateway, &id).await;
    }
    for mode in wrong() {
        service.answers(mode);
        falls_back(&careful, &id).await;
    }
    service.answers(Mode::Silent);
    let hurry = |config: &mut Config| config.quote_timeout_millis = 50;
    refuses(&gateway.sibling_with(hurry).await, &id).await;
    falls_back(&careful.sibling_with(hurry).await, &id).await;
    // Nothing listens there.
    let away = |config: &mut Config| config.quote_url = Some("http://127.0.0.1:9/quote".into());
    refuses(&gateway.sibling_with(away).await, &id).await;
    falls_back(&careful.sibling_with(away).await, &id).await;

    service.answers(Mode::Text(500, String::new()));
    // A method that the tables don't have isn't offered then; and none is if the service offers none.
    assert_eq!(choose(&careful.anonymous(), &id, "unknown", there()).await["code"], "NOT_FOUND");
    let none = json!({ "currency": "EUR", "methods": [] }).to_string();
    service.answers(Mode::Text(200, none));
    assert_eq!(choose(&guest, &id, "parcel", there()).await["code"], "NOT_FOUND");
    service.answers(Mode::Right);
    assert_eq!(chosen(&guest, &id, "parcel", there()).await, 100 + 10 + 490 + 93);
    gateway.assert_sound().await;
}

/// A shopper who names a city that the service doesn't take doesn't get the amounts of the tables by that.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_service_refuses_does_not_lead_to_the_tables() {
    let (service, url) = service().await;
    let gateway = Gateway::with(|config| asks(config, &url)).await;
    let careful = gateway.sibling_with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    for status in [400, 401, 404, 408, 429] {
        service.answers(Mode::Text(status, String::new()));
        refuses(&gateway, &id).await;
        refuses(&careful, &id).await;
    }
    // With this status the service says that it doesn't know the destination.
    service.answers(Mode::Text(422, String::new()));
    for gateway in [&gateway, &careful] {
        let client = gateway.anonymous();
        let before = gateway.snapshot().await;
        for method in ["parcel", "standard"] {
            let refused = choose(&client, &id, method, there()).await;
            assert_eq!(refused["code"], "INVALID_INPUT", "{refused:#}");
            assert_eq!(refused["field"], "input.city", "{refused:#}");
        }
        let asked = json!({ "id": id, "country": "DE", "city": "12345 A city" });
        assert_eq!(client.error_code(OFFERED, asked).await, "BAD_USER_INPUT");
        assert!(gateway.snapshot().await == before);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_by_default_amounts_says_so_to_its_merchant() {
    let gateway = Gateway::with(|config| {
        asks(config, "http://127.0.0.1:9/quote");
        with_tables(config);
    })
    .await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(chosen(&shopper, &id, "standard", there()).await, 702);
    // The default amounts are for the city as well: the service may be back.
    let mut elsewhere = checkout_input(&id, &purse, "op");
    elsewhere["shipping"]["city"] = json!("54321 B");
    let refused = shopper.field(&checkout_query(), json!({ "input": elsewhere })).await;
    assert_eq!(refused["quoteFault"], "OTHER_DESTINATION", "{refused:#}");
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["charges"]["byDefault"], true, "{order:#}");
    settled(&gateway).await;
    let seen = "query($id: ID!) { order(id: $id) { charges { byDefault } } }";
    let seen = gateway.merchant().field(seen, json!({ "id": order["id"] })).await;
    assert_eq!(seen["charges"]["byDefault"], true, "{seen:#}");
    gateway.assert_sound().await;
}

/// While the service is asked, nothing is held: the cart may change, and is asked about again.
#[tokio::test(flavor = "multi_thread")]
async fn a_cart_that_changes_while_the_service_is_asked_is_asked_about_again() {
    let (service, url) = service().await;
    let gateway = Gateway::with(|config| asks(config, &url)).await;
    stocked(&gateway, "a", 100, 100).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    service.answers(Mode::Held);
    let (total, ()) = tokio::join!(chosen(&guest, &id, "parcel", there()), async {
        service.reached.notified().await;
        add(&guest, &id, "a", 2).await;
        service.answers(Mode::Right);
        service.go_on.notify_one();
    });
    assert_eq!(total, 300 + 30 + 490 + 93);
    let calls = service.calls.lock().expect("no panic");
    let asked: Vec<_> = calls.iter().map(|asked| &asked["lines"][0]["quantity"]).collect();
    assert_eq!(asked, [&json!(1), &json!(3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_has_its_share_of_the_calls() {
    let (service, url) = service().await;
    let gateway = Gateway::with(|config| asks(config, &url)).await;
    stocked(&gateway, "a", 100, 100).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    let asked = json!({ "id": id, "country": "DE", "city": "12345 A city" });
    service.answers(Mode::Silent);
    let calls = (0..33).map(|_| Box::pin(guest.error_code(OFFERED, asked.clone())));
    // Of the others none is answered before the deadline.
    let (code, _, waiting) = select_all(calls).await;
    assert_eq!(code, "RATE_LIMITED");
    service.answers(Mode::Right);
    let offered = gateway.shopper("ann").field(OFFERED, asked).await;
    assert_eq!(offered[0]["shippingMethod"], "parcel", "{offered:#}");
    drop(waiting);
}
