//! Checkouts with an outside provider: the booking is PENDING while it authorises.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::post,
};
use docgate::config::Config;
use serde_json::{Value, json};

use super::{
    assert_map, booking, cancelling, complete, hall, hold, holding_seats, id_of, receipt,
    refunding, said, stored,
};
use crate::{
    shop::paid_at,
    support::{
        Client, Gateway,
        cuts::{self, Case},
        outside,
    },
};

/// How the provider answers an authorisation next, and what it was asked.
#[derive(Default)]
struct Provider {
    declines: bool,
    /// Captures fail.
    captures_fail: bool,
    /// State of each payment.
    payments: std::collections::HashMap<String, &'static str>,
    calls: Vec<String>,
}

type Shared = Arc<Mutex<Provider>>;

async fn answer(
    State(shared): State<Shared>,
    Path(action): Path<String>,
    Json(body): Json<Value>,
) -> Json<Value> {
    let mut provider = shared.lock().expect("no panic");
    let id = body["id"].as_str().expect("an id").to_owned();
    provider.calls.push(action.clone());
    let state = provider.payments.get(&id).copied();
    let (now, status) = match (action.as_str(), state) {
        ("authorise", Some("void")) => ("void", "declined"),
        ("authorise", _) if provider.declines => ("declined", "declined"),
        ("authorise", _) => ("authorised", "authorised"),
        ("capture", _) if provider.captures_fail => ("authorised", "out of order"),
        ("capture", _) => ("captured", "captured"),
        ("void", _) => ("void", "voided"),
        (_, _) => ("refunded", "refunded"),
    };
    provider.payments.insert(id, now);
    Json(json!({ "status": status, "reason": "no" }))
}

/// Settings with a provider of their own.
async fn provider() -> (Shared, impl Fn(&mut Config)) {
    let shared = Shared::default();
    let router = Router::new().route("/pay/{action}", post(answer)).with_state(shared.clone());
    let url = format!("{}/pay/", outside(router).await);
    (shared, paid_at(url))
}

/// A gateway with these settings, but bounds within which a busy machine asks the provider once.
async fn unhurried(settings: impl Fn(&mut Config)) -> Gateway {
    Gateway::with(|config| {
        settings(config);
        config.flow_run_millis = 9_000;
        config.flow_command_millis = 4_500;
    })
    .await
}

fn paying(booking: &str, op: &str) -> (String, Value) {
    let (query, mut variables) = super::checking_out(booking, "none", op);
    variables["input"]["payment"] = json!({ "token": "tok" });
    (query, variables)
}

async fn pay(client: &Client, booking: &str, op: &str) -> Value {
    client.does(paying(booking, op)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_booking_is_active_again_and_a_paid_one_is_sold() {
    let (shared, settings) = provider().await;
    let gateway = unhurried(settings).await;
    let screening = hall(&gateway, &["AAA"]).await;
    let visitor = gateway.anonymous();
    let id = holding_seats(&visitor, &screening, &[("A", 1)]).await;
    shared.lock().expect("no panic").declines = true;
    for _ in 0..2 {
        let declined = pay(&visitor, &id, "op").await;
        assert_eq!((said(&declined), &declined["reason"]), ("PAYMENT_DECLINED", &json!("no")));
        assert_eq!(booking(&visitor, &id).await["state"], "ACTIVE");
    }
    shared.lock().expect("no panic").declines = false;
    // It can be changed again.
    assert_eq!(said(&hold(&visitor, &id, &screening, &[("A", 2)]).await), "Booking");
    let paid = pay(&visitor, &id, "op").await;
    assert_eq!(said(&paid), "Receipt", "{paid:#}");
    assert_eq!(pay(&visitor, &id, "op").await, paid);
    complete(&gateway, &id).await;
    assert_map(&gateway, &screening, &["ssA"]).await;
    let closed = visitor.does(cancelling(&id)).await;
    assert_eq!(closed["bookingState"], "COMPLETE", "{closed:#}");
    let refunded = visitor.does(refunding(&id_of(&paid), "op")).await;
    assert_eq!(refunded["state"], "CANCELLED", "{refunded:#}");
    assert_map(&gateway, &screening, &["AAA"]).await;
    let calls = shared.lock().expect("no panic").calls.clone();
    let first = ["authorise", "void", "authorise", "void", "authorise", "capture"];
    assert_eq!(calls, [&first[..], &["capture", "refund"]].concat(), "captured before the refund");
    gateway.assert_sound().await;
}

/// The token that the provider's page gave the visitor is needed until the payment is authorised.
#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_payment_goes_when_its_checkout_ends() {
    let (shared, settings) = provider().await;
    let gateway = unhurried(settings).await;
    let screening = hall(&gateway, &["AA"]).await;
    let visitor = gateway.anonymous();
    let id = holding_seats(&visitor, &screening, &[("A", 1)]).await;
    shared.lock().expect("no panic").declines = true;
    assert_eq!(said(&pay(&visitor, &id, "op").await), "PAYMENT_DECLINED");
    let active = stored(&gateway, "bookings", &id).await;
    assert!(!active.contains_key("checkout"), "{active}");
    shared.lock().expect("no panic").declines = false;
    let paid = pay(&visitor, &id, "op").await;
    assert_eq!(said(&paid), "Receipt", "{paid:#}");
    complete(&gateway, &id).await;
    let closed = stored(&gateway, "bookings", &id).await;
    let checkout = closed.get_document("checkout").expect("a checkout");
    let payment = checkout.get_document("payment").expect("a payment");
    assert!(!payment.contains_key("token"), "{closed}");
    // A repeat and a refund don't need it.
    assert_eq!(pay(&visitor, &id, "op").await, paid);
    let refunded = visitor.does(refunding(&id_of(&paid), "op")).await;
    assert_eq!(refunded["state"], "CANCELLED", "{refunded:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_checkouts_at_once_are_one() {
    let (_, settings) = provider().await;
    let gateway = unhurried(settings).await;
    let screening = hall(&gateway, &["AAAAAA"]).await;
    let visitor = gateway.anonymous();
    for seat in 1..=5 {
        let id = holding_seats(&visitor, &screening, &[("A", seat)]).await;
        let (one, other) = tokio::join!(pay(&visitor, &id, "one"), pay(&visitor, &id, "other"));
        let mut all = [said(&one), said(&other)];
        all.sort_unstable();
        assert_eq!(all, ["BOOKING_NOT_ACTIVE", "Receipt"], "{one:#} {other:#}");
        complete(&gateway, &id).await;
    }
    assert_map(&gateway, &screening, &["sssssA"]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outside_checkout_survives_a_cut_at_every_command() {
    let (_, settings) = provider().await;
    cuts::everywhere(
        settings,
        async |gateway, _| {
            let screening = hall(gateway, &["AAA"]).await;
            let id = holding_seats(&gateway.anonymous(), &screening, &[("A", 2)]).await;
            (id, screening)
        },
        async |gateway, (id, _)| {
            let (query, variables) = paying(id, "op");
            gateway.anonymous().send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, screening) }| {
            let seen = booking(&gateway.anonymous(), id).await;
            assert!(seen["receiptId"].is_string(), "command {at} {way:?}: {seen:#}");
            assert_map(gateway, screening, &["AsA"]).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_outside_checkout_survives_a_cut_at_every_command() {
    let (shared, settings) = provider().await;
    shared.lock().expect("no panic").declines = true;
    cuts::everywhere(
        settings,
        async |gateway, _| {
            let screening = hall(gateway, &["AAA"]).await;
            let id = holding_seats(&gateway.anonymous(), &screening, &[("A", 2)]).await;
            (id, screening)
        },
        async |gateway, (id, _)| {
            let (query, variables) = paying(id, "op");
            gateway.anonymous().send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, screening) }| {
            let seen = booking(&gateway.anonymous(), id).await;
            assert_eq!(seen["state"], "ACTIVE", "command {at} {way:?}: {seen:#}");
            assert_map(gateway, screening, &["AhA"]).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outside_refund_survives_a_cut_at_every_command() {
    let (shared, settings) = provider().await;
    cuts::everywhere(
        settings,
        async |gateway, _| {
            let screening = hall(gateway, &["AAA"]).await;
            let visitor = gateway.anonymous();
            let id = holding_seats(&visitor, &screening, &[("A", 2)]).await;
            let (query, variables) = paying(&id, "op");
            let paid = visitor.field(&query, variables).await;
            cuts::settled(gateway).await;
            (id_of(&paid), screening)
        },
        async |gateway, (receipt, _)| {
            let (query, variables) = refunding(receipt, "op");
            gateway.anonymous().send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, screening) }| {
            let seen = receipt(&gateway.anonymous(), id).await;
            assert_eq!(seen["state"], "CANCELLED", "command {at} {way:?}: {seen:#}");
            assert_map(gateway, screening, &["AAA"]).await;
        },
    )
    .await;
    let provider = shared.lock().expect("no panic");
    let states: std::collections::BTreeSet<_> = provider.payments.values().collect();
    assert_eq!(states, [&"refunded"].into(), "each payment has gone back");
}

/// A receipt exists before its payment is captured. If it is cancelled then, the payment is captured before it is refunded.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_captured_before_it_is_refunded() {
    let (shared, settings) = provider().await;
    let gateway = Gateway::with(settings).await;
    let screening = hall(&gateway, &["AAA"]).await;
    // Somebody who is known can repeat what ran out of time.
    let visitor = gateway.shopper("ann");
    let id = holding_seats(&visitor, &screening, &[("A", 2)]).await;
    shared.lock().expect("no panic").captures_fail = true;
    let (query, variables) = paying(&id, "op");
    visitor.send(&query, variables).await.ok();
    shared.lock().expect("no panic").captures_fail = false;
    let receipt = booking(&visitor, &id).await["receiptId"].clone();
    let receipt = receipt.as_str().expect("a receipt");
    let refunded = visitor.does(refunding(receipt, "op")).await;
    assert_eq!(refunded["state"], "CANCELLED", "{refunded:#}");
    let calls = shared.lock().expect("no panic").calls.clone();
    assert_eq!(calls.last().map(String::as_str), Some("refund"), "{calls:?}");
    assert!(calls.iter().filter(|call| *call == "capture").count() > 1, "{calls:?}");
    gateway.sweep().await;
    assert_eq!(booking(&visitor, &id).await["state"], "COMPLETE");
    assert_map(&gateway, &screening, &["AAA"]).await;
    gateway.assert_sound().await;
}
