//! Bookings: who may use them, and how they end.

use std::time::Duration;

use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{
    BOOKING, alter, assert_map, booking, cancelling, check_out, hall, hold, holding, holding_seats,
    open, releasing, said, screening_in, stored, theater,
};
use crate::support::{Client, Gateway, commands, proxy::Cut, short_bounds, very_long_bounds};

const OPEN: &str = "mutation($input: OpenBookingInput!) { openBooking(input: $input) {
    __typename ... on Booking { id state expiresAt } ... on UserError { code message }
    ... on InvalidInput { field } ... on BookingNotActive { bookingState } } }";

async fn opened(client: &Client, op: Option<&str>, currency: &str) -> Value {
    let input = json!({ "currency": currency, "idempotencyKey": op });
    client.field(OPEN, json!({ "input": input })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_opens_one_booking() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("ann");
    let first = opened(&ann, Some("op"), "EUR").await;
    assert_eq!(first["state"], "ACTIVE", "{first:#}");
    assert!(first["expiresAt"].is_string());
    assert_eq!(opened(&ann, Some("op"), "EUR").await["id"], first["id"]);
    assert_eq!(said(&opened(&ann, Some("op"), "USD").await), "CONFLICT");
    assert_ne!(opened(&gateway.shopper("bob"), Some("op"), "EUR").await["id"], first["id"]);
    let refused = opened(&gateway.anonymous(), Some("op"), "EUR").await;
    assert_eq!(refused["field"], "input.idempotencyKey", "{refused:#}");
    ann.does(cancelling(first["id"].as_str().expect("an id"))).await;
    let closed = opened(&ann, Some("op"), "EUR").await;
    assert_eq!(closed["bookingState"], "CANCELLED", "{closed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_booking_with_an_owner_is_for_its_owner_and_services() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAA"]).await;
    let ann = gateway.shopper("ann");
    let own = holding_seats(&ann, &screening, &[("A", 1)]).await;
    let key = booking(&ann, &own).await["holds"][0]["key"].as_str().expect("a key").to_owned();
    let before = gateway.snapshot().await;
    for stranger in [gateway.anonymous(), gateway.shopper("bob"), gateway.merchant()] {
        assert_eq!(booking(&stranger, &own).await, Value::Null);
        for call in [
            holding(&own, &screening, &[("A", 2)], None),
            releasing(&own, &key, None),
            cancelling(&own),
            super::checking_out(&own, "none", "op"),
        ] {
            let refused = stranger.does(call).await;
            assert_eq!((said(&refused), &refused["what"]), ("NOT_FOUND", &json!("booking")));
        }
    }
    assert_eq!(gateway.snapshot().await, before);
    let service = gateway.service();
    assert_eq!(said(&hold(&service, &own, &screening, &[("A", 2)]).await), "Booking");
    assert_eq!(said(&check_out(&service, &own, "none", "op").await), "NOT_FOUND");
    // One without an owner is for whoever knows its id.
    let open = open(&gateway.anonymous()).await;
    for someone in [gateway.anonymous(), gateway.shopper("bob"), ann] {
        let held = hold(&someone, &open, &screening, &[("A", 3)]).await;
        let key = held["holds"][0]["key"].as_str().unwrap_or_else(|| panic!("{held:#}"));
        assert_eq!(said(&someone.does(releasing(&open, key, None)).await), "Booking");
    }
    assert_map(&gateway, &screening, &["hhAA"]).await;
    gateway.assert_sound().await;
}

/// The caller's active booking.
async fn mine(client: &Client) -> Value {
    client.field(&format!("{{ myBooking {{ {BOOKING} }} }}"), json!({})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_booking_is_found_again() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAA"]).await;
    let (phone, laptop) = (gateway.shopper("ann"), gateway.shopper("ann"));
    assert_eq!(mine(&laptop).await, Value::Null);
    let first = holding_seats(&phone, &screening, &[("A", 1)]).await;
    let found = mine(&laptop).await;
    assert_eq!(found["id"], json!(first), "{found:#}");
    assert_eq!(found["holds"][0]["seats"][0]["number"], 1, "{found:#}");
    let read = laptop.explained("{ myBooking { id } }", json!({})).await;
    assert_eq!(commands(&read), ["find bookings"]);

    // Of several the one that changed last, whichever was opened last.
    let second = open(&laptop).await;
    assert_eq!(mine(&phone).await["id"], json!(second));
    assert_eq!(said(&hold(&phone, &first, &screening, &[("A", 2)]).await), "Booking");
    assert_eq!(mine(&laptop).await["id"], json!(first));
    // Others' bookings, those without an owner and closed ones are none.
    open(&gateway.anonymous()).await;
    for stranger in [gateway.shopper("bob"), gateway.merchant(), gateway.service()] {
        assert_eq!(mine(&stranger).await, Value::Null);
    }
    for closed in [&first, &second] {
        assert_eq!(mine(&laptop).await["id"], json!(closed));
        phone.does(cancelling(closed)).await;
    }
    assert_eq!(mine(&laptop).await, Value::Null);
    let nobody = gateway.anonymous().error_code("{ myBooking { id } }", json!({})).await;
    assert_eq!(nobody, "UNAUTHENTICATED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_booking_holds_nothing_and_takes_nothing() {
    let gateway = Gateway::start().await;
    let theater = theater(&gateway, &["AAA"]).await;
    let (one, two) =
        (screening_in(&gateway, &theater).await, screening_in(&gateway, &theater).await);
    let ann = gateway.shopper("ann");
    let id = holding_seats(&ann, &one, &[("A", 1), ("A", 2)]).await;
    assert_eq!(said(&hold(&ann, &id, &two, &[("A", 3)]).await), "Booking");
    let cancelled = ann.does(cancelling(&id)).await;
    assert_eq!(cancelled["state"], "CANCELLED", "{cancelled:#}");
    assert_eq!(ann.does(cancelling(&id)).await, cancelled);
    assert_map(&gateway, &one, &["AAA"]).await;
    assert_map(&gateway, &two, &["AAA"]).await;
    let key = cancelled["holds"][0]["key"].as_str().expect("a key");
    for refused in [
        hold(&ann, &id, &one, &[("A", 1)]).await,
        ann.does(releasing(&id, key, None)).await,
        check_out(&ann, &id, "none", "op").await,
    ] {
        assert_eq!(refused["bookingState"], "CANCELLED", "{refused:#}");
    }
    gateway.assert_sound().await;
}

/// A booking with these seats whose time is over.
async fn overdue(
    gateway: &Gateway,
    client: &Client,
    screening: &str,
    seats: &[(&str, i32)],
) -> String {
    let id = holding_seats(client, screening, seats).await;
    let long_ago = DateTime::from_millis(0);
    alter(gateway, "bookings", &id, doc! { "modifiedAt": long_ago }).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_booking_expires_and_is_neither_changed_nor_checked_out() {
    let gateway = Gateway::with(short_bounds).await;
    let screening = hall(&gateway, &["AAA"]).await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    let id = overdue(&gateway, &ann, &screening, &[("A", 1), ("A", 2)]).await;
    let active = holding_seats(&ann, &screening, &[("A", 3)]).await;
    gateway.sweep().await;
    assert_map(&gateway, &screening, &["AAh"]).await;
    let expired = booking(&ann, &id).await;
    assert_eq!((&expired["state"], &expired["expiresAt"]), (&json!("EXPIRED"), &Value::Null));
    assert_eq!(booking(&ann, &active).await["state"], "ACTIVE");
    let key = expired["holds"][0]["key"].as_str().expect("a key");
    // Someone else holds the seat. A release after the expiry doesn't free it.
    holding_seats(&bob, &screening, &[("A", 1)]).await;
    for refused in [
        ann.does(releasing(&id, key, None)).await,
        ann.does(cancelling(&id)).await,
        hold(&ann, &id, &screening, &[("A", 2)]).await,
        check_out(&ann, &id, "none", "op").await,
    ] {
        assert_eq!(refused["bookingState"], "EXPIRED", "{refused:#}");
    }
    assert_map(&gateway, &screening, &["hAh"]).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
}

/// A release is committed, and its write on the screening is held back until the seat belongs to someone else.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_release_does_not_free_the_seat_of_another() {
    let gateway = Gateway::behind_proxy(very_long_bounds).await;
    let screening = hall(&gateway, &["AAA"]).await;
    let ann = gateway.shopper("ann");
    let id = holding_seats(&ann, &screening, &[("A", 1)]).await;
    let key = booking(&ann, &id).await["holds"][0]["key"].as_str().expect("a key").to_owned();
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "screenings" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let call = releasing(&id, &key, Some("op"));
    let slow = tokio::spawn({
        let (ann, call) = (ann.clone(), call.clone());
        async move { ann.does(call).await }
    });
    proxy.reached().await;
    proxy.heal();
    let sibling = gateway.sibling().await;
    // A repeat frees the seat, and another visitor takes it.
    let repeated = sibling.shopper("ann").does(call).await;
    assert_eq!(repeated["holds"], json!([]), "{repeated:#}");
    holding_seats(&sibling.anonymous(), &screening, &[("A", 1)]).await;
    proxy.release().await;
    assert_eq!(slow.await.expect("an answer")["holds"], json!([]));
    assert_map(&gateway, &screening, &["hAA"]).await;
    assert_eq!(
        stored(&gateway, "bookings", &id).await.get_array("outbox").map(Vec::len).ok(),
        Some(0)
    );
    gateway.assert_sound().await;
}

/// A hold is held back until its booking is cancelled and swept: it holds nothing any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_hold_of_a_closed_booking_holds_nothing() {
    let held_back = async |at: usize| {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let screening = hall(&gateway, &["AAA"]).await;
        let ann = gateway.shopper("ann");
        let id = open(&ann).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.count_only(|seen| seen.command != "find");
        proxy.cut(at, Cut::Hold);
        let (query, variables) = holding(&id, &screening, &[("A", 1)], Some("op"));
        let slow = tokio::spawn({
            let ann = ann.clone();
            async move { ann.run(&query, variables).await }
        });
        proxy.reached().await;
        proxy.heal();
        let sibling = gateway.sibling().await;
        let cancelled = sibling.shopper("ann").does(cancelling(&id)).await;
        assert_eq!(cancelled["state"], "CANCELLED", "{cancelled:#}");
        tokio::time::sleep(gateway.app.bounds().attempt + Duration::from_millis(200)).await;
        proxy.release().await;
        slow.await.expect("an answer, whatever it is");
        sibling.sweep().await;
        assert_map(&sibling, &screening, &["AAA"]).await;
        sibling.assert_sound().await;
    };
    join_all([0, 1].map(held_back)).await;
}
