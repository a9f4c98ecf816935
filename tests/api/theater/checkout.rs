//! The checkout of a booking: one receipt or none, whatever happens.

use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{
    HOUR, PRICES, alter, assert_map, begin, booking, cancelling, check_out, checking_out, complete,
    create_screening, hall, hold, holding_seats, id_of, open, receipt, said, screening_in,
    screening_input, stored, theater,
};
use crate::{
    commands::sends_only,
    shop::{account, balance, count, settled},
    support::{Gateway, cuts, long_bounds, proxy::Cut, very_long_bounds},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_booking_of_several_screenings_becomes_one_receipt() {
    let gateway = Gateway::start().await;
    let theater = theater(&gateway, &["AAA", "BBB"]).await;
    let (one, two) =
        (screening_in(&gateway, &theater).await, screening_in(&gateway, &theater).await);
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = holding_seats(&ann, &one, &[("A", 1), ("B", 1)]).await;
    hold(&ann, &id, &two, &[("A", 2)]).await;
    hold(&ann, &id, &one, &[("B", 3)]).await;
    let total = 2 * (PRICES[0] + PRICES[1]);
    let paid = check_out(&ann, &id, &purse, "op").await;
    assert_eq!((said(&paid), &paid["state"]), ("Receipt", &json!("PAID")), "{paid:#}");
    assert_eq!(
        (&paid["total"]["minorUnits"], &paid["refunded"]["minorUnits"]),
        (&json!(total), &json!(0))
    );
    assert_eq!(paid["lines"].as_array().map(Vec::len), Some(3));
    complete(&gateway, &id).await;
    assert_map(&gateway, &one, &["sAA", "sBs"]).await;
    assert_map(&gateway, &two, &["AsA", "BBB"]).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - total);
    // A repeat is answered with the receipt as it stands; with another input it is a conflict.
    assert_eq!(check_out(&ann, &id, &purse, "op").await, paid);
    assert_eq!(said(&check_out(&ann, &id, "none", "op").await), "CONFLICT");
    let closed = check_out(&ann, &id, &purse, "another").await;
    assert_eq!(closed["bookingState"], "COMPLETE", "{closed:#}");
    let closed = hold(&ann, &id, &one, &[("A", 2)]).await;
    assert_eq!(closed["bookingState"], "COMPLETE", "{closed:#}");
    let seen = booking(&ann, &id).await;
    assert_eq!((&seen["receiptId"], &seen["state"]), (&paid["id"], &json!("COMPLETE")));
    assert_eq!(receipt(&ann, &id_of(&paid)).await["total"]["minorUnits"], total);
    gateway.assert_sound().await;
    // Another sweep finds nothing to do.
    gateway.sweep().await;
    assert_map(&gateway, &one, &["sAA", "sBs"]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_leaves_the_booking_as_it_was() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAAA"]).await;
    let ann = gateway.shopper("ann");
    let poor = account(&gateway, "ann", 999).await;
    let theirs = account(&gateway, "bob", 5_000).await;
    let empty = open(&ann).await;
    let id = holding_seats(&ann, &screening, &[("A", 1)]).await;
    let before = gateway.snapshot().await;
    assert_eq!(said(&check_out(&ann, &empty, &poor, "op").await), "BOOKING_EMPTY");
    assert_eq!(said(&check_out(&ann, &id, &theirs, "op").await), "NOT_FOUND");
    assert_eq!(check_out(&ann, &id, "none", "op").await["field"], "input.payment.accountId");
    assert_eq!(gateway.snapshot().await, before);
    for _ in 0..2 {
        let declined = check_out(&ann, &id, &poor, "op").await;
        assert_eq!(said(&declined), "PAYMENT_DECLINED", "{declined:#}");
        assert_eq!(booking(&ann, &id).await["state"], "ACTIVE");
        assert_eq!(balance(&gateway, &poor).await, 999);
    }
    assert_eq!(count(&gateway, "receipts").await, 0);
    let deposit =
        "mutation($id: ID!) { deposit(input: {accountId: $id, amount: 1}) { __typename } }";
    gateway.service().field(deposit, json!({ "id": poor })).await;
    assert_eq!(said(&check_out(&ann, &id, &poor, "op").await), "Receipt");
    complete(&gateway, &id).await;
    assert_eq!(balance(&gateway, &poor).await, 0);
    // A screening that has begun is sold no more.
    let begun = hall(&gateway, &["A"]).await;
    let late = holding_seats(&ann, &begun, &[("A", 1)]).await;
    begin(&gateway, &begun).await;
    assert_eq!(said(&check_out(&ann, &late, &theirs, "op").await), "SCREENING_BEGUN");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_pays_nothing_for_a_free_seat_and_may_sign_in_for_it() {
    let none = docgate::config::PaymentProvider::None;
    let gateway = Gateway::with(|config| config.payments = none).await;
    let theater = theater(&gateway, &["AAAA"]).await;
    let screening = screening_in(&gateway, &theater).await;
    let nobody = gateway.anonymous();
    let dear = holding_seats(&nobody, &screening, &[("A", 1)]).await;
    assert_eq!(said(&check_out(&nobody, &dear, "none", "op").await), "PAYMENT_DECLINED");
    nobody.does(cancelling(&dear)).await;
    let mut free = screening_input(&gateway, &theater, 24 * HOUR).await;
    for price in free["prices"].as_array_mut().expect("prices") {
        price["price"] = json!(0);
    }
    let screening = id_of(&create_screening(&gateway.merchant(), free).await);
    let id = holding_seats(&nobody, &screening, &[("A", 1)]).await;
    let paid = check_out(&nobody, &id, "none", "op").await;
    assert_eq!(said(&paid), "Receipt", "{paid:#}");
    assert_eq!(paid["customerId"], Value::Null);
    // Whoever knows the id sees it.
    assert_eq!(receipt(&gateway.shopper("bob"), &id_of(&paid)).await["id"], paid["id"]);
    let id = holding_seats(&nobody, &screening, &[("A", 2)]).await;
    let paid = check_out(&gateway.shopper("ann"), &id, "none", "op").await;
    assert_eq!(said(&paid), "Receipt", "{paid:#}");
    assert_eq!(paid["customerId"], "ann");
    settled(&gateway).await;
    assert_eq!(receipt(&nobody, &id_of(&paid)).await, Value::Null);
    assert_eq!(booking(&nobody, &id).await, Value::Null);
    assert_eq!(booking(&gateway.shopper("ann"), &id).await["state"], "COMPLETE");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_checkouts_of_one_booking_make_one_receipt() {
    let gateway = Gateway::with(long_bounds).await;
    let screening = hall(&gateway, &["AAAAAAAAAAAA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 100_000).await;
    for seat in [1, 3, 5, 7, 9] {
        let same = holding_seats(&ann, &screening, &[("A", seat)]).await;
        let answers = join_all((0..3).map(|_| check_out(&ann, &same, &purse, "one op"))).await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        assert_eq!(said(&answers[0]), "Receipt");
        let apart = holding_seats(&ann, &screening, &[("A", seat + 1)]).await;
        let ops = ["x", "y", "z"];
        let answers = join_all(ops.iter().map(|op| check_out(&ann, &apart, &purse, op))).await;
        let of = |what: &str| answers.iter().filter(|answer| said(answer) == what).count();
        assert_eq!((of("Receipt"), of("BOOKING_NOT_ACTIVE")), (1, 2), "{answers:#?}");
    }
    settled(&gateway).await;
    assert_eq!(count(&gateway, "receipts").await, 10);
    assert_eq!(balance(&gateway, &purse).await, 100_000 - 10 * PRICES[0]);
    assert_map(&gateway, &screening, &["ssssssssssAA"]).await;
    gateway.assert_sound().await;
}

/// A booking changes while its decision is held back: it is sold as it is then, or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_that_changes_while_it_is_checked_out() {
    let gateway = Gateway::behind_proxy(very_long_bounds).await;
    let screening = hall(&gateway, &["AAAAAA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let other = gateway.sibling().await;
    let elsewhere = other.shopper("ann");
    for (seat, change) in [(1, "hold"), (3, "cancel"), (5, "checkout")] {
        let id = holding_seats(&ann, &screening, &[("A", seat)]).await;
        settled(&gateway).await;
        proxy.count_only(|seen| seen.collection == "bookings" && seen.command == "update");
        proxy.cut(0, Cut::Hold);
        let (answer, ()) = tokio::join!(check_out(&ann, &id, &purse, "op"), async {
            proxy.reached().await;
            let done = match change {
                "hold" => hold(&elsewhere, &id, &screening, &[("A", seat + 1)]).await,
                "cancel" => elsewhere.does(cancelling(&id)).await,
                _ => check_out(&elsewhere, &id, &purse, "another").await,
            };
            let name = if change == "checkout" { "Receipt" } else { "Booking" };
            assert_eq!(said(&done), name, "{done:#}");
            proxy.release().await;
        });
        proxy.heal();
        match change {
            "hold" => assert_eq!(answer["lines"].as_array().map(Vec::len), Some(2), "{answer:#}"),
            "cancel" => assert_eq!(answer["bookingState"], "CANCELLED", "{answer:#}"),
            _ => assert_eq!(said(&answer), "BOOKING_NOT_ACTIVE", "{answer:#}"),
        }
    }
    settled(&gateway).await;
    settled(&other).await;
    assert_map(&gateway, &screening, &["ssAAsA"]).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 3 * PRICES[0]);
    gateway.assert_sound().await;
}

/// A booking whose time is over while its checkout runs is sold, or its seats become free.
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_that_expires_while_it_is_checked_out_is_sold_or_freed() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let screening = hall(&gateway, &["AA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = holding_seats(&ann, &screening, &[("A", 1)]).await;
    alter(&gateway, "bookings", &id, doc! { "modifiedAt": DateTime::from_millis(0) }).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "bookings" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let slow = tokio::spawn({
        let (query, variables) = checking_out(&id, &purse, "op");
        let ann = ann.clone();
        async move { ann.run(&query, variables).await }
    });
    proxy.reached().await;
    proxy.heal();
    let sibling = gateway.sibling().await;
    sibling.sweep().await;
    proxy.release().await;
    slow.await.expect("an answer, whatever it is");
    sibling.sweep().await;
    assert_map(&sibling, &screening, &["AA"]).await;
    assert_eq!(stored(&gateway, "bookings", &id).await.get_str("state").ok(), Some("EXPIRED"));
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    sibling.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_a_hold_and_of_a_checkout() {
    let base = Gateway::start().await;
    let screening = hall(&base, &["AAAAAA"]).await;
    let ann = base.shopper("ann");
    let purse = account(&base, "ann", 5_000).await;
    // The first payment opens the merchant's account.
    let first = holding_seats(&ann, &screening, &[("A", 6)]).await;
    check_out(&ann, &first, &purse, "op").await;
    settled(&base).await;
    let id = open(&ann).await;
    let take = async |gateway: &Gateway| {
        let call = super::holding(&id, &screening, &[("A", 1), ("A", 2)], Some("op"));
        assert_eq!(said(&gateway.shopper("ann").does(call).await), "Booking");
    };
    let expected =
        ["find bookings", "find screenings", "update screenings", "findAndModify bookings"];
    sends_only(&base, take, &expected).await;
    let pay = async |gateway: &Gateway| {
        assert_eq!(said(&check_out(&gateway.shopper("ann"), &id, &purse, "op").await), "Receipt");
    };
    let expected = [
        // The booking and the payer's account, side by side.
        "find bookings",
        "find accounts",
        // The money is held.
        "update accounts",
        // The decision.
        "update bookings",
        "insert receipts",
        "insert transfers",
        // After the answer: seats and money move.
        "update screenings",
        "update accounts",
        "update transfers",
        "update accounts",
        "update bookings",
    ];
    sends_only(&base, pay, &expected).await;
    let left = cuts::sent(&base, async |_| ()).await;
    assert!(left.is_empty(), "{left:?}");
}
