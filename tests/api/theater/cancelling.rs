//! Screenings that are cancelled.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    PRICES, alter, assert_map, begin, booking, cancel_screening, cancelling_screening, check_out,
    checking_out, complete, hall, hold, holding_seats, id_of, map, open, receipt, receipt_of,
    refunding, said, screening_in, stored, theater,
};
use crate::{
    shop::{account, balance, settled},
    support::{
        Gateway,
        cuts::{self, Case},
        key, pages_both_ways, short_bounds,
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_screening_gives_everything_back() {
    let gateway = Gateway::start().await;
    let theater = theater(&gateway, &["AAAA"]).await;
    let (one, two) =
        (screening_in(&gateway, &theater).await, screening_in(&gateway, &theater).await);
    // Ann has bought seats of both, Bob one of the other only, and Carol holds seats of both.
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    let (purse, others) =
        (account(&gateway, "ann", 5_000).await, account(&gateway, "bob", 5_000).await);
    let both = holding_seats(&ann, &one, &[("A", 1)]).await;
    hold(&ann, &both, &two, &[("A", 1)]).await;
    let both_paid = id_of(&check_out(&ann, &both, &purse, "op").await);
    let other = holding_seats(&bob, &two, &[("A", 2)]).await;
    let other_paid = id_of(&check_out(&bob, &other, &others, "op").await);
    complete(&gateway, &both).await;
    complete(&gateway, &other).await;
    let carol = gateway.shopper("carol");
    let held = holding_seats(&carol, &one, &[("A", 2), ("A", 3)]).await;
    hold(&carol, &held, &two, &[("A", 4)]).await;
    assert_map(&gateway, &one, &["shhA"]).await;

    let cancelled = cancel_screening(&gateway, &one).await;
    assert_eq!(said(&cancelled), "Screening", "{cancelled:#}");
    assert!(cancelled["cancelledAt"].is_string(), "{cancelled:#}");
    settled(&gateway).await;
    assert_map(&gateway, &one, &["AAAA"]).await;
    assert_map(&gateway, &two, &["AsAh"]).await;
    let refunded = receipt(&ann, &both_paid).await;
    assert_eq!(
        (&refunded["state"], &refunded["refunded"]["minorUnits"]),
        (&json!("CANCELLED"), &json!(2 * PRICES[0]))
    );
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    assert_eq!(receipt(&bob, &other_paid).await["state"], "PAID");
    let left = booking(&carol, &held).await;
    assert_eq!(
        (&left["state"], &left["holds"].as_array().map(Vec::len)),
        (&json!("ACTIVE"), &Some(1))
    );
    assert_eq!(left["holds"][0]["screeningId"], json!(two));
    let stands = stored(&gateway, "screenings", &one).await;
    assert!(stands.get("cancellingAt").is_none(), "{stands}");

    // Nobody gets a seat any more.
    let refused = hold(&carol, &held, &one, &[("A", 2)]).await;
    assert_eq!(
        (said(&refused), &refused["cancelledAt"]),
        ("SCREENING_CANCELLED", &cancelled["cancelledAt"])
    );
    let suggest = "query($id: ID!) { suggestSeats(screeningId: $id, count: 1) { row } }";
    assert_eq!(carol.field(suggest, json!({ "id": one })).await, Value::Null);
    assert_eq!(said(&ann.does(refunding(&both_paid, "late")).await), "RECEIPT_NOT_OPEN");
    assert_eq!(cancel_screening(&gateway, &one).await, cancelled, "a repeat");
    settled(&gateway).await;
    assert_map(&gateway, &one, &["AAAA"]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn merchants_cancel_screenings_that_have_not_begun() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AA"]).await;
    receipt_of(&gateway, "ann", &screening).await;
    settled(&gateway).await;
    begin(&gateway, &screening).await;
    let before = gateway.snapshot().await;
    let refused = cancel_screening(&gateway, &screening).await;
    assert_eq!(said(&refused), "SCREENING_BEGUN", "{refused:#}");
    assert!(refused["begunAt"].is_string(), "{refused:#}");
    let (query, variables) = cancelling_screening(&screening);
    for stranger in [gateway.shopper("ann"), gateway.service()] {
        assert_eq!(stranger.error_code(&query, variables.clone()).await, "FORBIDDEN");
    }
    let code = gateway.anonymous().error_code(&query, variables).await;
    assert_eq!(code, "UNAUTHENTICATED");
    assert_eq!(gateway.snapshot().await, before);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_of_the_seats_are_told_of_the_cancellation() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AA"]).await;
    let query = "subscription($id: ID!) { seatMapChanged(screeningId: $id) { cancelledAt } }";
    let mut live = gateway.anonymous().follow(query, json!({ "id": screening })).await;
    let seen = |event: Value| event["data"]["seatMapChanged"]["cancelledAt"].clone();
    assert_eq!(seen(live.next().await), Value::Null);
    let cancelled = cancel_screening(&gateway, &screening).await;
    // The first state may come twice: when the change stream opens, anything may have changed.
    let mut told = seen(live.next().await);
    if told.is_null() {
        told = seen(live.next().await);
    }
    assert_eq!(told, cancelled["cancelledAt"]);
}

/// Holds and checkouts that run while a screening is cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_bought_while_a_screening_is_cancelled_is_refunded() {
    let gateway = Gateway::with(short_bounds).await;
    let theater = theater(&gateway, &["AAAA"]).await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    let purse = account(&gateway, "ann", 9_000).await;
    let mut all = Vec::new();
    for _ in 0..6 {
        let screening = screening_in(&gateway, &theater).await;
        let held = holding_seats(&ann, &screening, &[("A", 1)]).await;
        let others = open(&bob).await;
        let (paid, refused, cancelled) = tokio::join!(
            check_out(&ann, &held, &purse, "op"),
            hold(&bob, &others, &screening, &[("A", 2)]),
            cancel_screening(&gateway, &screening)
        );
        // The booking is emptied before the checkout, or pays and is refunded.
        assert!(["Receipt", "BOOKING_EMPTY"].contains(&said(&paid)), "{paid:#}");
        assert!(["Booking", "SCREENING_CANCELLED"].contains(&said(&refused)), "{refused:#}");
        assert_eq!(said(&cancelled), "Screening", "{cancelled:#}");
        all.push((screening, others));
    }
    gateway.sweep().await;
    for (screening, others) in all {
        assert_map(&gateway, &screening, &["AAAA"]).await;
        assert_eq!(booking(&bob, &others).await["holds"], json!([]));
        let stands = stored(&gateway, "screenings", &screening).await;
        assert!(stands.get("cancellingAt").is_none(), "{stands}");
    }
    assert_eq!(balance(&gateway, &purse).await, 9_000);
    gateway.assert_sound().await;
}

/// Somebody's receipt of a screening, and the booking of somebody else who holds seats of it.
struct Evening {
    who: String,
    purse: String,
    receipt: String,
    booking: String,
    screening: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_screening_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            let who = format!("visitor-{number}");
            let screening = hall(gateway, &["AAA"]).await;
            let client = gateway.shopper(&who);
            let purse = account(gateway, &who, 5_000).await;
            let own = holding_seats(&client, &screening, &[("A", 1)]).await;
            let (query, variables) = checking_out(&own, &purse, "op");
            let receipt = id_of(&client.field(&query, variables).await);
            let booking = holding_seats(&gateway.shopper("ann"), &screening, &[("A", 3)]).await;
            settled(gateway).await;
            Evening { who, purse, receipt, booking, screening }
        },
        async |gateway, Evening { screening, .. }| {
            let (query, variables) = cancelling_screening(screening);
            gateway.merchant().send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: evening }| {
            let Evening { who, purse, receipt: id, booking: held, screening } = evening;
            settled(gateway).await;
            let seen = receipt(&gateway.shopper(who), id).await;
            assert_eq!(seen["state"], "CANCELLED", "command {at} {way:?}");
            assert_eq!(balance(gateway, purse).await, 5_000, "command {at} {way:?}");
            let left = booking(&gateway.shopper("ann"), held).await;
            assert_eq!(left["holds"], json!([]), "command {at} {way:?}");
            assert_map(gateway, screening, &["AAA"]).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_lists_the_receipts_of_a_screening() {
    let gateway = Gateway::start().await;
    let theater = theater(&gateway, &["AAAAAA"]).await;
    let (one, two) =
        (screening_in(&gateway, &theater).await, screening_in(&gateway, &theater).await);
    let mut all = Vec::new();
    for who in ["ann", "bob", "carol"] {
        let (client, purse) = (gateway.shopper(who), account(&gateway, who, 5_000).await);
        let seat = i32::try_from(all.len() + 1).expect("a seat");
        let id = holding_seats(&client, &one, &[("A", seat)]).await;
        hold(&client, &id, &two, &[("A", seat)]).await;
        let paid = check_out(&client, &id, &purse, "op").await;
        all.push(json!({ "id": id_of(&paid), "customerId": who }));
        complete(&gateway, &id).await;
    }
    receipt_of(&gateway, "dan", &hall(&gateway, &["AA"]).await).await;
    all.reverse();
    let merchant = gateway.merchant();
    for screening in [&one, &two] {
        let list = format!("receipts(screeningId: \"{screening}\",");
        assert_eq!(pages_both_ways(&merchant, &list, "id customerId").await, all);
    }
    let query = "query($id: ID!) { receipts(screeningId: $id) { nodes { id } } }";
    for stranger in [gateway.shopper("ann"), gateway.service()] {
        assert_eq!(stranger.error_code(query, json!({ "id": one })).await, "FORBIDDEN");
    }
}

/// More bookings than are released at once. One of the first can't be: a later release has written it.
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_that_cant_be_released_holds_up_no_others() {
    let gateway = Gateway::start().await;
    let row = "A".repeat(110);
    let screening = hall(&gateway, &[row.as_str()]).await;
    let ann = gateway.shopper("ann");
    let seats: Vec<i32> = (1..=110).collect();
    let mut bookings = Vec::new();
    for some in seats.chunks(10) {
        let (ann, screening) = (&ann, &screening);
        let each = some
            .iter()
            .map(|seat| async move { holding_seats(ann, screening, &[("A", *seat)]).await });
        bookings.extend(join_all(each).await);
    }
    // They are released in the order of their ids.
    bookings.sort_by_key(|id| key(id));
    alter(&gateway, "bookings", &bookings[0], doc! { "v": 99 }).await;
    assert_eq!(said(&cancel_screening(&gateway, &screening).await), "Screening");
    settled(&gateway).await;
    assert_eq!(map(&gateway, &screening).await.1, 109);
    alter(&gateway, "bookings", &bookings[0], doc! { "v": 1 }).await;
    cancel_screening(&gateway, &screening).await;
    settled(&gateway).await;
    assert_eq!(map(&gateway, &screening).await.1, 110);
    gateway.assert_sound().await;
}
