//! What is left of a flow that was cut at any of its commands.

use serde_json::json;

use super::{
    PRICES, assert_map, booking, cancelling, checking_out, create_screening, create_theater, hall,
    hold, holding, holding_seats, id_of, open, plan, receipt, receipt_of, refunding, releasing,
    screening_input, theater, theater_input,
};
use crate::{
    shop::{account, balance, settled},
    support::{
        Gateway,
        cuts::{self, Case},
        short_bounds, until,
    },
};

const ROWS: [&str; 2] = ["AAA", "BBB"];

#[tokio::test(flavor = "multi_thread")]
async fn holding_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, _| {
            let screening = hall(gateway, &ROWS).await;
            (open(&gateway.shopper("ann")).await, screening)
        },
        async |gateway, (id, screening)| {
            let (query, variables) = holding(id, screening, &[("A", 1), ("B", 3)], Some("op"));
            gateway.shopper("ann").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, screening) }| {
            let seen = booking(&gateway.shopper("ann"), id).await;
            let holds = seen["holds"].as_array().map(Vec::len);
            assert_eq!(holds, Some(1), "command {at} {way:?}: {seen:#}");
            assert_map(gateway, screening, &["hAA", "BBh"]).await;
        },
    )
    .await;
}

/// A booking of ann's that holds two seats, the key of its hold, and the screening.
async fn held(gateway: &Gateway) -> (String, String, String) {
    let screening = hall(gateway, &ROWS).await;
    let ann = gateway.shopper("ann");
    let id = holding_seats(&ann, &screening, &[("A", 1), ("B", 3)]).await;
    let key = booking(&ann, &id).await["holds"][0]["key"].as_str().expect("a key").to_owned();
    (id, key, screening)
}

#[tokio::test(flavor = "multi_thread")]
async fn releasing_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, _| held(gateway).await,
        async |gateway, (id, key, _)| {
            let (query, variables) = releasing(id, key, Some("op"));
            gateway.shopper("ann").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, _, screening) }| {
            let seen = booking(&gateway.shopper("ann"), id).await;
            assert_eq!(seen["holds"], json!([]), "command {at} {way:?}");
            assert_map(gateway, screening, &ROWS).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, _| {
            let (id, _, screening) = held(gateway).await;
            let ann = gateway.shopper("ann");
            hold(&ann, &id, &screening, &[("A", 2)]).await;
            (id, screening)
        },
        async |gateway, (id, _)| {
            let (query, variables) = cancelling(id);
            gateway.shopper("ann").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, screening) }| {
            let seen = booking(&gateway.shopper("ann"), id).await;
            assert_eq!(seen["state"], "CANCELLED", "command {at} {way:?}");
            assert_map(gateway, screening, &ROWS).await;
        },
    )
    .await;
}

/// A booking of a visitor of its own, who has an account.
struct Visit {
    who: String,
    purse: String,
    booking: String,
    screening: String,
}

async fn visit(gateway: &Gateway, number: usize) -> Visit {
    let who = format!("visitor-{number}");
    let screening = hall(gateway, &ROWS).await;
    let client = gateway.shopper(&who);
    let purse = account(gateway, &who, 5_000).await;
    let booking = holding_seats(&client, &screening, &[("A", 1), ("A", 2)]).await;
    hold(&client, &booking, &screening, &[("B", 3)]).await;
    Visit { who, purse, booking, screening }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            if number == 1 {
                // The first payment opens the account that receives it.
                receipt_of(gateway, "first", &hall(gateway, &["AA"]).await).await;
                settled(gateway).await;
            }
            visit(gateway, number).await
        },
        async |gateway, Visit { who, purse, booking, .. }| {
            let (query, variables) = checking_out(booking, purse, "op");
            gateway.shopper(who).send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: Visit { who, purse, booking: id, screening } }| {
            let seen = booking(&gateway.shopper(who), id).await;
            assert!(seen["receiptId"].is_string(), "command {at} {way:?}: {seen:#}");
            let left = 5_000 - 2 * PRICES[0] - PRICES[1];
            assert_eq!(balance(gateway, purse).await, left, "command {at} {way:?}");
            settled(gateway).await;
            assert_map(gateway, screening, &["ssA", "BBs"]).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_checkout_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            let visit = visit(gateway, number).await;
            let purse = account(gateway, &visit.who, 10).await;
            Visit { purse, ..visit }
        },
        async |gateway, Visit { who, purse, booking, .. }| {
            let (query, variables) = checking_out(booking, purse, "op");
            gateway.shopper(who).send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: Visit { who, purse, booking: id, screening } }| {
            let seen = booking(&gateway.shopper(who), id).await;
            assert_eq!(seen["state"], "ACTIVE", "command {at} {way:?}");
            assert_eq!(balance(gateway, purse).await, 10, "command {at} {way:?}");
            assert_map(gateway, screening, &["hhA", "BBh"]).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            let visit = visit(gateway, number).await;
            let client = gateway.shopper(&visit.who);
            let (query, variables) = checking_out(&visit.booking, &visit.purse, "op");
            let paid = client.field(&query, variables).await;
            wait(gateway, &visit).await;
            (visit, id_of(&paid))
        },
        async |gateway, (Visit { who, .. }, receipt)| {
            let (query, variables) = refunding(receipt, "op");
            gateway.shopper(who).send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (Visit { who, purse, screening, .. }, id) }| {
            let seen = receipt(&gateway.shopper(who), id).await;
            assert_eq!(seen["state"], "CANCELLED", "command {at} {way:?}");
            assert_eq!(balance(gateway, purse).await, 5_000, "command {at} {way:?}");
            assert_map(gateway, screening, &ROWS).await;
        },
    )
    .await;
}

/// Waits until the booking is complete.
async fn wait(gateway: &Gateway, Visit { who, booking: id, .. }: &Visit) {
    let is_complete = async || booking(&gateway.shopper(who), id).await["state"] == "COMPLETE";
    until("the booking is complete", is_complete).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            let mut theater_input = theater_input("Odeon", [13.4, 52.5], &ROWS);
            theater_input["idempotencyKey"] = json!(format!("op-{number}"));
            let theater = theater(gateway, &ROWS).await;
            let mut screening_input = screening_input(gateway, &theater, 60_000_000).await;
            screening_input["idempotencyKey"] = json!(format!("op-{number}"));
            (theater_input, screening_input, theater)
        },
        async |gateway, (theater, screening, id)| {
            let merchant = gateway.merchant();
            let opening =
                &json!({ "currency": "EUR", "idempotencyKey": theater["idempotencyKey"] });
            let all = [
                ("createTheater", theater),
                ("createScreening", screening),
                ("openBooking", opening),
            ];
            for (name, input) in all {
                let of = format!("{}{}Input", name[..1].to_uppercase(), &name[1..]);
                let query =
                    format!("mutation($input: {of}!) {{ {name}(input: $input) {{ __typename }} }}");
                merchant.send(&query, json!({ "input": input })).await.ok();
            }
            let query = "mutation($input: ChangeSeatPlanInput!) {
                changeSeatPlan(input: $input) { __typename } }";
            let input = json!({ "theaterId": id, "version": "1", "seatPlan": plan(&["AB"]) });
            merchant.send(query, json!({ "input": input })).await.ok();
        },
        async |gateway, Case { at, way, subject: (theater, screening, id) }| {
            let merchant = gateway.merchant();
            let made = create_theater(&merchant, theater.clone()).await;
            assert_eq!(made["__typename"], "Theater", "command {at} {way:?}");
            let made = create_screening(&merchant, screening.clone()).await;
            assert_eq!(made["__typename"], "Screening", "command {at} {way:?}");
            let key = json!({ "currency": "EUR", "idempotencyKey": theater["idempotencyKey"] });
            let query = "mutation($input: OpenBookingInput!) { openBooking(input: $input) {
                ... on Booking { state } } }";
            let opened = merchant.field(query, json!({ "input": key })).await;
            assert_eq!(opened["state"], "ACTIVE", "command {at} {way:?}");
            let query = "query($id: ID!) { theater(id: $id) { version seatCount } }";
            let seen = merchant.field(query, json!({ "id": id })).await;
            assert_eq!(seen, json!({ "version": "2", "seatCount": 2 }), "command {at} {way:?}");
        },
    )
    .await;
}

/// The sweep's own work, cut at every command: an idle booking expires, and its seats become free.
#[tokio::test(flavor = "multi_thread")]
async fn expiring_survives_a_cut_at_every_command() {
    use mongodb::bson::{DateTime, doc};
    cuts::everywhere(
        short_bounds,
        async |gateway, _| {
            let (id, _, screening) = held(gateway).await;
            let long_ago = DateTime::from_millis(0);
            super::alter(gateway, "bookings", &id, doc! { "modifiedAt": long_ago }).await;
            (id, screening)
        },
        async |gateway, _| {
            let room = &docgate::domains::theater::ROOM;
            docgate::background::sweep_room(&gateway.app, room).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, screening) }| {
            let seen = booking(&gateway.shopper("ann"), id).await;
            assert_eq!(seen["state"], "EXPIRED", "command {at} {way:?}");
            assert_map(gateway, screening, &ROWS).await;
        },
    )
    .await;
}
