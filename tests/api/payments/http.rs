//! The HTTP provider against a service that holds to the contract, and fails in every way.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use docgate::{
    config::{Config, PaymentProvider},
    domains::payments::{Authorisation, Charge, operations as payments},
    error::Error,
};
use futures_util::{StreamExt as _, stream};
use hmac::{Hmac, KeyInit as _, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{declined, euros};
use crate::{
    shop,
    support::{Gateway, key, outside},
};

const SECRET: &str = "payments: thirty-two bytes at the least";
/// Milliseconds for which the gateway waits where an answer comes too late. A busy machine answers within them.
const PATIENCE: u64 = 1_500;
/// When an answer comes for which nobody waits any more.
const TOO_LATE: Duration = Duration::from_secs(60);

/// How the service misbehaves next.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// Answers with this status and does nothing.
    Status(u16),
    /// Carries it out and answers too late.
    Late,
    /// Carries it out and answers with a 500.
    DoneThenFailed,
    /// Carries it out, and closes the connection within the body of its answer.
    Broken,
    /// Carries it out, and is late within the body of its answer.
    Stalled,
    /// Answers with something else than the contract says.
    Nonsense,
    /// Answers with more than the contract permits.
    Endless,
}

#[derive(Default)]
struct Service {
    /// State of each payment.
    payments: HashMap<String, &'static str>,
    /// Answers that were given, by idempotency key.
    answers: HashMap<String, Value>,
    refunded: i64,
    faults: Vec<Fault>,
    /// Calls of this action are answered with 503.
    away_at: Option<&'static str>,
    /// Refunds can't be paid, and are answered as due.
    short: bool,
    calls: Vec<(String, String, Value)>,
    bad_signatures: usize,
}

type Shared = Arc<Mutex<Service>>;

impl Service {
    fn carry_out(&mut self, action: &str, body: &Value) -> Value {
        let id = body["id"].as_str().expect("an id").to_owned();
        let state = self.payments.get(&id).copied();
        match (action, state) {
            ("authorise", Some("void")) => json!({ "status": "declined", "reason": "void" }),
            ("authorise", _) if body["amount"] == 666 => {
                json!({ "status": "declined", "reason": "stolen\u{7} card" })
            }
            ("authorise", _) => {
                self.payments.insert(id, "authorised");
                json!({ "status": "authorised" })
            }
            ("capture", Some("authorised" | "captured")) => {
                self.payments.insert(id, "captured");
                json!({ "status": "captured" })
            }
            ("void", None | Some("authorised" | "void")) => {
                self.payments.insert(id, "void");
                json!({ "status": "voided" })
            }
            ("refund", Some("captured")) if self.short => json!({ "status": "due" }),
            ("refund", Some("captured")) => {
                self.refunded += body["amount"].as_i64().expect("an amount");
                json!({ "status": "refunded" })
            }
            _ => json!({ "status": "declined", "reason": "not in this state" }),
        }
    }
}

async fn serve(
    State(shared): State<Shared>,
    Path(action): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (fault, answer) = {
        let mut service = shared.lock().expect("no panic");
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
        mac.update(&body);
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        if headers.get("x-docgate-signature").is_none_or(|sent| *sent != *signature) {
            service.bad_signatures += 1;
            return StatusCode::UNAUTHORIZED.into_response();
        }
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let key = headers["idempotency-key"].to_str().expect("text").to_owned();
        service.calls.push((action.clone(), key.clone(), body.clone()));
        if service.away_at == Some(action.as_str()) {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        let fault = (!service.faults.is_empty()).then(|| service.faults.remove(0));
        if let Some(Fault::Status(status)) = fault {
            return StatusCode::from_u16(status).expect("a status").into_response();
        }
        let answer = match service.answers.get(&key) {
            Some(answer) => answer.clone(),
            None => service.carry_out(&action, &body),
        };
        if answer["status"] != "due" {
            service.answers.insert(key, answer.clone());
        }
        (fault, answer)
    };
    match fault {
        Some(Fault::Late) => tokio::time::sleep(TOO_LATE).await,
        Some(Fault::DoneThenFailed) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Some(Fault::Nonsense) => return "<html>".into_response(),
        Some(Fault::Endless) => {
            let reason = "x".repeat(64 << 10);
            return json!({ "status": "captured", "reason": reason }).to_string().into_response();
        }
        Some(fault @ (Fault::Broken | Fault::Stalled)) => {
            return cut(&answer.to_string(), fault == Fault::Stalled);
        }
        _ => {}
    }
    answer.to_string().into_response()
}

/// A response that announces all of a body and sends five bytes of it. Then nothing more comes, or the connection breaks.
fn cut(body: &str, is_stalled: bool) -> Response {
    let start = Bytes::copy_from_slice(&body.as_bytes()[..5]);
    let start = stream::once(async move { Ok::<_, std::io::Error>(start) });
    let end = stream::once(async move {
        // What was sent before has to arrive first.
        let pause = if is_stalled { TOO_LATE } else { Duration::from_millis(30) };
        tokio::time::sleep(pause).await;
        Err(std::io::Error::other("cut"))
    });
    let length = [(header::CONTENT_LENGTH, body.len().to_string())];
    (length, Body::from_stream(start.chain(end))).into_response()
}

async fn start(secret: &str) -> (Gateway, Shared) {
    start_with(secret, |_| {}).await
}

/// A gateway that doesn't wait long for the service, although its flows may take long.
async fn start_impatient() -> (Gateway, Shared) {
    start_with(SECRET, |config| {
        config.payments_timeout_millis = PATIENCE;
        config.flow_run_millis = 25_000;
    })
    .await
}

async fn start_with(secret: &str, change: impl FnOnce(&mut Config)) -> (Gateway, Shared) {
    let shared = Shared::default();
    let router = Router::new().route("/pay/{action}", post(serve)).with_state(shared.clone());
    let url = format!("{}/pay/", outside(router).await);
    let secret = secret.to_owned();
    let gateway = Gateway::with(move |config| {
        config.payments = PaymentProvider::Http;
        config.payments_url = Some(url);
        config.payments_signing_secret = Some(secret);
        change(config);
    })
    .await;
    (gateway, shared)
}

fn faults(shared: &Shared, faults: &[Fault]) {
    shared.lock().expect("no panic").faults = faults.to_vec();
}

fn state(shared: &Shared, id: &str) -> Option<&'static str> {
    shared.lock().expect("no panic").payments.get(id).copied()
}

fn calls(shared: &Shared) -> usize {
    shared.lock().expect("no panic").calls.len()
}

fn charge(id: &str, amount: i64) -> Charge {
    let (holder, token) = ("a cart".into(), Some("tok".into()));
    Charge { id: id.into(), holder, amount: euros(amount), account: None, token }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_signed_and_carry_what_the_contract_says() {
    let (gateway, shared) = start(SECRET).await;
    let app = &gateway.app;
    let said = payments::authorise(app, &charge("p1", 1_999)).await.expect("an outcome");
    assert_eq!(said, Authorisation::Authorised);
    payments::capture(app, "p1").await.expect("captured");
    payments::refund(app, "p1", "r1", euros(500)).await.expect("refunded");
    payments::refund(app, "p1", "r2", euros(1)).await.expect("refunded");
    payments::void(app, "p2").await.expect("void");
    let service = shared.lock().expect("no panic");
    let sent: Vec<_> =
        service.calls.iter().map(|(action, key, _)| (action.as_str(), key.as_str())).collect();
    assert_eq!(
        sent,
        [
            ("authorise", "p1-authorise"),
            ("capture", "p1-capture"),
            ("refund", "p1-refund-r1"),
            ("refund", "p1-refund-r2"),
            ("void", "p2-void"),
        ]
    );
    let mut body = service.calls[0].2.clone();
    let sent_at = body.as_object_mut().expect("an object").remove("sentAt").expect("a time");
    assert!(sent_at.as_str().is_some_and(|time| time.ends_with('Z')), "{sent_at}");
    assert_eq!(body, json!({ "id": "p1", "amount": 1_999, "currency": "EUR", "token": "tok" }));
    let refund = &service.calls[2].2;
    assert_eq!((&refund["refundId"], &refund["amount"]), (&json!("r1"), &json!(500)));
    assert_eq!((service.refunded, service.bad_signatures), (501, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_declined_stays_declined_and_late_authorisations_are_refused() {
    let (gateway, shared) = start(SECRET).await;
    let app = &gateway.app;
    let said = payments::authorise(app, &charge("p1", 666)).await.expect("an outcome");
    assert_eq!(declined(&said), "stolen card", "without control characters");
    payments::void(app, "p2").await.expect("void");
    let said = payments::authorise(app, &charge("p2", 10)).await.expect("an outcome");
    assert_eq!(declined(&said), "void");
    assert_eq!(state(&shared, "p2"), Some("void"));
    let short = payments::refund(app, "p2", "r1", euros(1)).await;
    assert!(matches!(short, Err(Error::Unavailable(_))), "{short:?}");
    let before = calls(&shared);
    let free = payments::authorise(app, &charge("p3", 0)).await.expect("an outcome");
    assert_eq!(free, Authorisation::Authorised);
    payments::refund(app, "p3", "r1", euros(0)).await.expect("nothing to do");
    assert_eq!(calls(&shared), before, "what costs nothing needs no call");
}

#[tokio::test(flavor = "multi_thread")]
async fn passing_faults_are_tried_again_under_the_same_key() {
    let (gateway, shared) = start_impatient().await;
    let app = &gateway.app;
    for (n, fault) in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(429),
        Fault::Late,
        Fault::DoneThenFailed,
        Fault::Broken,
        Fault::Stalled,
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("p{n}");
        faults(&shared, &[fault, fault]);
        let before = calls(&shared);
        let said = payments::authorise(app, &charge(&id, 10)).await.expect("the third answers");
        assert_eq!(said, Authorisation::Authorised);
        assert_eq!(calls(&shared) - before, 3);
        faults(&shared, &[fault]);
        payments::capture(app, &id).await.expect("the second answers");
        faults(&shared, &[fault]);
        payments::refund(app, &id, "r1", euros(1)).await.expect("the second answers");
    }
    let service = shared.lock().expect("no panic");
    assert_eq!(service.refunded, 7, "each refund once");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knows_is_unavailable_and_safe_to_repeat() {
    let (gateway, shared) = start_impatient().await;
    let app = &gateway.app;
    faults(&shared, &[Fault::Late; 3]);
    let unknown = payments::authorise(app, &charge("p1", 10)).await;
    assert!(matches!(unknown, Err(Error::Unavailable(_))), "{unknown:?}");
    assert_eq!(state(&shared, "p1"), Some("authorised"), "it was carried out all the same");
    payments::void(app, "p1").await.expect("void");
    assert_eq!(state(&shared, "p1"), Some("void"));

    faults(&shared, &[Fault::Status(500); 3]);
    let unknown = payments::void(app, "p2").await;
    assert!(matches!(unknown, Err(Error::Unavailable(_))), "{unknown:?}");
    payments::void(app, "p2").await.expect("void");

    for fault in [
        Fault::Status(400),
        Fault::Status(404),
        Fault::Status(302),
        Fault::Nonsense,
        Fault::Endless,
    ] {
        faults(&shared, &[fault]);
        let before = calls(&shared);
        let wrong = payments::capture(app, "p1").await;
        assert!(matches!(wrong, Err(Error::Internal(_))), "{wrong:?}");
        assert_eq!(calls(&shared) - before, 1, "that doesn't pass by itself");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_away_or_has_another_secret_is_told_apart() {
    let (gateway, shared) = start("another secret of thirty-two bytes").await;
    let wrong = payments::authorise(&gateway.app, &charge("p1", 10)).await;
    assert!(matches!(wrong, Err(Error::Internal(_))), "{wrong:?}");
    assert_eq!(shared.lock().expect("no panic").bad_signatures, 1);

    let away = Gateway::with(|config| {
        config.payments = PaymentProvider::Http;
        config.payments_url = Some("http://127.0.0.1:9".into());
        config.payments_signing_secret = Some(SECRET.into());
    })
    .await;
    let unknown = payments::authorise(&away.app, &charge("p1", 10)).await;
    assert!(matches!(unknown, Err(Error::Unavailable(_))), "{unknown:?}");
}

/// Where the payments stand, in alphabetical order.
fn states(shared: &Shared) -> Vec<&'static str> {
    let service = shared.lock().expect("no panic");
    let mut states: Vec<_> = service.payments.values().copied().collect();
    states.sort_unstable();
    states
}

/// A cart of one product at 100, and its checkout with a token of the provider's page.
async fn cart_of_one(gateway: &Gateway, sku: &str) -> (String, Value) {
    shop::stocked(gateway, sku, 100, 10).await;
    let cart = shop::cart(&gateway.anonymous(), "AT_CHECKOUT", &[(sku, 1)]).await;
    let mut input = shop::checkout_input(&cart, "none", "op");
    input["payment"] = json!({ "token": "tok" });
    (cart, json!({ "input": input }))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_paid_raised_and_refunded_through_the_service() {
    let (gateway, shared) = start(SECRET).await;
    let (cart, input) = cart_of_one(&gateway, "a").await;
    let shopper = gateway.anonymous();
    let order = shopper.field(&shop::checkout_query(), input).await;
    assert_eq!(order["paid"]["minorUnits"], 100, "{order:#}");
    let id = order["id"].as_str().expect("an order");
    // Pieces may be added to the order. The cart is complete.
    let keeps_token = async |collection: &str, id: &str| {
        shop::stored(&gateway, collection, id).await.to_string().contains("\"tok\"")
    };
    assert!(keeps_token("orders", id).await && !keeps_token("carts", &cart).await);
    assert_eq!(states(&shared), ["captured"]);
    assert_eq!(state(&shared, &key(id)), None, "the service isn't told the order's id");
    let raise = "mutation($id: ID!, $sku: ID!) {
        adjustOrderLine(input: {orderId: $id, sku: $sku, quantity: 3}) {
            ... on Order { paid { minorUnits } } ... on UserError { message } } }";
    let raised = shopper.field(raise, json!({ "id": id, "sku": "a" })).await;
    assert_eq!(raised["paid"]["minorUnits"], 300, "{raised:#}");
    let told = shared.lock().expect("no panic").calls.clone();
    let tells = |(.., body): &(String, String, Value)| body.to_string().contains(&key(id));
    assert!(!told.iter().any(tells), "nor later: {told:?}");
    let cancel = "mutation($id: ID!) { cancelOrder(input: {orderId: $id}) {
        ... on Order { state } ... on UserError { message } } }";
    let cancelled = shopper.field(cancel, json!({ "id": id })).await;
    assert_eq!(cancelled["state"], "CANCELLED", "{cancelled:#}");
    assert_eq!(shared.lock().expect("no panic").refunded, 300, "of both payments");
    assert!(!keeps_token("orders", id).await, "no piece is added any more");
    assert_eq!(states(&shared), ["captured", "captured"]);
    shop::settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_the_service_cannot_pay_is_due_until_it_can() {
    let (gateway, shared) = start(SECRET).await;
    let (_, input) = cart_of_one(&gateway, "a").await;
    let shopper = gateway.anonymous();
    let order = shopper.field(&shop::checkout_query(), input).await;
    let id = json!({ "id": order["id"] });
    let cancel = "mutation($id: ID!) { cancelOrder(input: {orderId: $id, idempotencyKey: \"op\"}) {
        ... on Order { state refunded { minorUnits } refundDue { minorUnits } } } }";
    let money = |refunded: i64, due: i64, state: &str| {
        let of = |amount| json!({ "minorUnits": amount });
        json!({ "state": state, "refunded": of(refunded), "refundDue": of(due) })
    };
    shared.lock().expect("no panic").short = true;
    for _ in 0..2 {
        assert_eq!(shopper.field(cancel, id.clone()).await, money(0, 100, "CANCELLING"));
    }
    shared.lock().expect("no panic").short = false;
    gateway.sweep().await;
    assert_eq!(shopper.field(cancel, id).await, money(100, 0, "CANCELLED"));
    let service = shared.lock().expect("no panic");
    assert_eq!(service.refunded, 100);
    let refunds = service.calls.iter().filter(|(action, ..)| action == "refund");
    let keys: Vec<_> = refunds.map(|(_, key, _)| key).collect();
    assert!(keys.len() == 2 && keys[0] == keys[1], "the same call again: {keys:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_whose_payment_nobody_knows_is_undone_and_can_be_repeated() {
    let (gateway, shared) = start_impatient().await;
    let (cart, input) = cart_of_one(&gateway, "a").await;
    let shopper = gateway.anonymous();
    for fault in [Fault::Late, Fault::Broken] {
        faults(&shared, &[fault; 3]);
        let answer = shopper.run(&shop::checkout_query(), input.clone()).await;
        let extensions = &answer["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "UNAVAILABLE", "{answer:#}");
        assert_eq!(extensions["retryable"], true, "{answer:#}");
        assert_eq!(shop::state(&gateway, "carts", &cart).await, "ACTIVE");
        assert_eq!(shop::stock(&gateway, "a").await, (10, 0, 0));
    }
    let order = shopper.field(&shop::checkout_query(), input).await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    assert_eq!(states(&shared), ["captured", "void", "void"]);
    shop::settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_the_service_leaves_half_way_is_finished_when_it_is_back() {
    let (gateway, shared) = start(SECRET).await;
    let shopper = gateway.anonymous();
    // Away at the authorisation and at its void: the cart waits, its stock with it.
    let (undone, undone_input) = cart_of_one(&gateway, "a").await;
    faults(&shared, &[Fault::Status(503); 6]);
    let code = shopper.error_code(&shop::checkout_query(), undone_input.clone()).await;
    assert_eq!(code, "UNAVAILABLE");
    assert_eq!(shop::state(&gateway, "carts", &undone).await, "VOIDING");
    assert_eq!(shop::stock(&gateway, "a").await, (9, 1, 0));
    // Away at the capture: the order stands.
    let (done, done_input) = cart_of_one(&gateway, "b").await;
    shared.lock().expect("no panic").away_at = Some("capture");
    let code = shopper.error_code(&shop::checkout_query(), done_input.clone()).await;
    assert_eq!(code, "UNAVAILABLE");
    assert_eq!(shop::state(&gateway, "carts", &done).await, "PAID");
    shared.lock().expect("no panic").away_at = None;

    gateway.sweep().await;
    gateway.assert_sound().await;
    assert_eq!(shop::state(&gateway, "carts", &undone).await, "ACTIVE");
    assert_eq!(shop::stock(&gateway, "a").await, (10, 0, 0));
    assert_eq!(shop::state(&gateway, "carts", &done).await, "COMPLETE");
    for input in [undone_input, done_input] {
        let order = shopper.field(&shop::checkout_query(), input).await;
        assert_eq!(order["__typename"], "Order", "{order:#}");
    }
    shop::settled(&gateway).await;
    gateway.assert_sound().await;
}

/// The shop has changed its setting in the middle of two checkouts.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_service_has_authorised_waits_for_it_while_there_is_no_provider() {
    let (gateway, shared) = start(SECRET).await;
    let shopper = gateway.anonymous();
    let (undone, undone_input) = cart_of_one(&gateway, "a").await;
    // It carries the authorisation out, but its answers get lost, and it is away at the void.
    faults(&shared, &[Fault::DoneThenFailed; 3]);
    shared.lock().expect("no panic").away_at = Some("void");
    let code = shopper.error_code(&shop::checkout_query(), undone_input.clone()).await;
    assert_eq!(code, "UNAVAILABLE");
    let (done, done_input) = cart_of_one(&gateway, "b").await;
    shared.lock().expect("no panic").away_at = Some("capture");
    let code = shopper.error_code(&shop::checkout_query(), done_input.clone()).await;
    assert_eq!(code, "UNAVAILABLE");
    shared.lock().expect("no panic").away_at = None;
    assert_eq!(states(&shared), ["authorised", "authorised"]);

    let without = gateway.sibling_with(|config| config.payments = PaymentProvider::None).await;
    let quiet = without.app.bounds().two_grace_periods();
    tokio::time::sleep(quiet + Duration::from_millis(100)).await;
    // It fails for both.
    without.anonymous().sweep().await;
    assert_eq!(states(&shared), ["authorised", "authorised"]);
    assert_eq!(shop::state(&gateway, "carts", &undone).await, "VOIDING");
    assert_eq!(shop::state(&gateway, "carts", &done).await, "PAID");

    gateway.sweep().await;
    assert_eq!(states(&shared), ["captured", "void"]);
    assert_eq!(shop::state(&gateway, "carts", &undone).await, "ACTIVE");
    assert_eq!(shop::state(&gateway, "carts", &done).await, "COMPLETE");
    // Without a provider a line can't be raised, and nothing is left of the try.
    let order = shopper.field(&shop::checkout_query(), done_input).await;
    let raise =
        "mutation($id: ID!) { adjustOrderLine(input: {orderId: $id, sku: \"b\", quantity: 3}) {
        __typename ... on PaymentDeclined { reason } } }";
    let declined = without.anonymous().field(raise, json!({ "id": order["id"] })).await;
    assert_eq!(declined["reason"], "this shop takes no payments", "{declined:#}");
    assert_eq!(shop::stock(&gateway, "b").await, (9, 0, 1));
    shop::settled(&gateway).await;
    gateway.assert_sound().await;
}
