//! Holding and releasing seats.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    HOUR, PRICES, assert_map, begin, booking, cancelling, check_out, complete, create_screening,
    hall, hold, holding, holding_seats, id_of, open, releasing, said, screening_in,
    screening_input, stored, theater,
};
use crate::{
    commands::sends_only,
    shop::account,
    support::{Gateway, long_bounds, very_long_bounds},
};

#[tokio::test(flavor = "multi_thread")]
async fn seats_are_held_at_the_prices_of_the_screening() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AA_A", "BBB"]).await;
    let visitor = gateway.shopper("ann");
    let id = open(&visitor).await;
    let held = hold(&visitor, &id, &screening, &[("B", 3), ("A", 4)]).await;
    assert_eq!(held["total"]["minorUnits"], PRICES[0] + PRICES[1], "{held:#}");
    let seats = json!([
        { "row": "B", "number": 3, "category": "B", "price": { "minorUnits": 600, "currency": "EUR" } },
        { "row": "A", "number": 4, "category": "A", "price": { "minorUnits": 1_000, "currency": "EUR" } },
    ]);
    assert_eq!(held["holds"][0]["seats"], seats);
    assert_map(&gateway, &screening, &["AA_h", "BBh"]).await;
    // A second hold of the same booking is told apart.
    let more = hold(&visitor, &id, &screening, &[("A", 1)]).await;
    let keys: Vec<_> = (0..2).map(|at| more["holds"][at]["key"].as_str().expect("a key")).collect();
    assert_ne!(keys[0], keys[1]);
    let left = visitor.does(releasing(&id, keys[0], None)).await;
    assert_eq!(left["holds"].as_array().map(Vec::len), Some(1), "{left:#}");
    assert_map(&gateway, &screening, &["hA_A", "BBB"]).await;
    assert_eq!(said(&visitor.does(releasing(&id, keys[0], None)).await), "NOT_FOUND");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_reads_the_plan_of_a_screening_once() {
    let base = Gateway::start().await;
    let screening = hall(&base, &["AAAA"]).await;
    let id = open(&base.shopper("ann")).await;
    let holds = async |gateway: &Gateway| {
        for seat in [1, 2] {
            let held = hold(&gateway.shopper("ann"), &id, &screening, &[("A", seat)]).await;
            assert_eq!(said(&held), "Booking", "{held:#}");
        }
    };
    let expected = [
        "find bookings",
        "find screenings",
        "update screenings",
        "findAndModify bookings",
        // The second hold.
        "find bookings",
        "update screenings",
        "findAndModify bookings",
    ];
    sends_only(&base, holds, &expected).await;
    assert_map(&base, &screening, &["hhAA"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_holds_and_releases_once() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAA"]).await;
    let visitor = gateway.shopper("ann");
    let id = open(&visitor).await;
    let call = holding(&id, &screening, &[("A", 2)], Some("op"));
    let held = visitor.does(call.clone()).await;
    assert_eq!(visitor.does(call.clone()).await, held);
    let other = visitor.does(holding(&id, &screening, &[("A", 3)], Some("op"))).await;
    assert_eq!(said(&other), "CONFLICT");
    let key = held["holds"][0]["key"].as_str().expect("a key");
    let release = releasing(&id, key, Some("op"));
    let released = visitor.does(release.clone()).await;
    assert_eq!(released["holds"], json!([]), "{released:#}");
    // Someone else has the seat now. Neither repeat takes it or frees it.
    let other = holding_seats(&gateway.anonymous(), &screening, &[("A", 2)]).await;
    assert_eq!(visitor.does(release).await["holds"], json!([]));
    assert_eq!(visitor.does(call).await["holds"], json!([]));
    assert_map(&gateway, &screening, &["AhAA"]).await;
    assert_eq!(booking(&gateway.anonymous(), &other).await["holds"][0]["seats"][0]["number"], 2);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_seats_of_a_call_are_held_or_none() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAAA", "BBBBB"]).await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.anonymous());
    holding_seats(&ann, &screening, &[("A", 3), ("B", 5)]).await;
    let id = open(&bob).await;
    let five = [("A", 1), ("A", 2), ("A", 3), ("A", 4), ("B", 5)];
    let refused = hold(&bob, &id, &screening, &five).await;
    let taken = json!([{ "row": "A", "number": 3 }, { "row": "B", "number": 5 }]);
    assert_eq!((said(&refused), &refused["taken"]), ("SEATS_TAKEN", &taken), "{refused:#}");
    assert_map(&gateway, &screening, &["AAhAA", "BBBBh"]).await;
    assert_eq!(booking(&bob, &id).await["holds"], json!([]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_click_is_told_that_the_seats_are_its_own() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAAA"]).await;
    let ann = gateway.shopper("ann");
    holding_seats(&gateway.shopper("bob"), &screening, &[("A", 3)]).await;
    let id = holding_seats(&ann, &screening, &[("A", 1), ("A", 2)]).await;
    let before = booking(&ann, &id).await;
    let query = "mutation($input: HoldSeatsInput!) { holdSeats(input: $input) {
        ... on SeatsTaken { code message taken { row number heldByBooking } } } }";
    let own = |number: i32, is_own: bool| json!({ "row": "A", "number": number, "heldByBooking": is_own });
    let both = "these seats are taken: A 3; this booking holds these seats already: A 2";
    for (booking, seats, taken, message) in [
        (
            &id,
            [1, 2],
            json!([own(1, true), own(2, true)]),
            "this booking holds these seats already: A 1, A 2",
        ),
        (&id, [2, 3], json!([own(2, true), own(3, false)]), both),
        (&open(&ann).await, [1, 5], json!([own(1, false)]), "these seats are taken: A 1"),
    ] {
        let seats = seats.map(|number| json!({ "row": "A", "number": number }));
        let input = json!({ "bookingId": booking, "screeningId": screening, "seats": seats });
        let refused = ann.field(query, json!({ "input": input })).await;
        assert_eq!(refused, json!({ "code": "SEATS_TAKEN", "message": message, "taken": taken }));
    }
    assert_eq!(booking(&ann, &id).await, before);
    assert_map(&gateway, &screening, &["hhhAA"]).await;
    gateway.assert_sound().await;
}

/// Two calls at once want overlapping seats, many times: one gets all of its five, the other none.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_five_seats_goes_at_the_same_moment() {
    let gateway = Gateway::with(long_bounds).await;
    let theater = theater(&gateway, &["AAAAAAAAA"]).await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    for round in 0..10 {
        let screening = screening_in(&gateway, &theater).await;
        let (of_ann, of_bob) = (open(&ann).await, open(&bob).await);
        let seats = |from: i32| (from..from + 5).map(|at| ("A", at)).collect::<Vec<_>>();
        let (left, right) = (seats(1), seats(5));
        let (one, other) = tokio::join!(
            hold(&ann, &of_ann, &screening, &left),
            hold(&bob, &of_bob, &screening, &right),
        );
        let mut all = [said(&one), said(&other)];
        all.sort_unstable();
        assert_eq!(all, ["Booking", "SEATS_TAKEN"], "round {round}");
        let lost = if said(&one) == "Booking" { &other } else { &one };
        assert_eq!(lost["taken"], json!([{ "row": "A", "number": 5 }]));
        let stands = stored(&gateway, "screenings", &screening).await;
        assert_eq!(stands.get_i64("seatsAvailable").ok(), Some(4));
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_sixty_four_callers_one_gets_the_seat() {
    let gateway = Gateway::with(very_long_bounds).await;
    let screening = hall(&gateway, &["AAAAAAAAAA"]).await;
    let callers = join_all((0..64).map(async |n| {
        let client = gateway.shopper(&format!("visitor-{n}"));
        let id = open(&client).await;
        (client, id)
    }))
    .await;
    let answers = join_all(
        callers.iter().map(|(client, id)| hold(client, id, &screening, &[("A", 5), ("A", 6)])),
    )
    .await;
    let of = |what: &str| answers.iter().filter(|answer| said(answer) == what).count();
    assert_eq!((of("Booking"), of("SEATS_TAKEN")), (1, 63), "{answers:#?}");
    assert_map(&gateway, &screening, &["AAAAhhAAAA"]).await;
    gateway.assert_sound().await;
}

/// Holds of one moment on one screening share commands, and don't affect each other.
#[tokio::test(flavor = "multi_thread")]
async fn holds_of_one_moment_share_a_command() {
    let gateway = Gateway::behind_proxy(very_long_bounds).await;
    let row = "A".repeat(32);
    let screening = hall(&gateway, &[&row, &row]).await;
    let callers = join_all((0..64).map(async |_| {
        let client = gateway.anonymous();
        let id = open(&client).await;
        (client, id)
    }))
    .await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.record();
    let answers = join_all(callers.iter().enumerate().map(|(number, (client, id))| {
        let number = i32::try_from(number).expect("a number");
        let row = if number < 32 { "A" } else { "B" };
        // The last four want a seat that another one wants.
        let seat = if number < 60 { number % 32 + 1 } else { 1 };
        let screening = &screening;
        async move { hold(client, id, screening, &[(row, seat)]).await }
    }))
    .await;
    let seen = proxy.seen();
    let of_seats =
        seen.iter().filter(|seen| seen.collection == "screenings" && seen.command == "update");
    let of_seats = of_seats.count();
    assert!(of_seats < 32, "{of_seats} commands for 64 holds");
    let held = answers.iter().filter(|answer| said(answer) == "Booking").count();
    assert_eq!(held, 60, "{answers:#?}");
    let stands = stored(&gateway, "screenings", &screening).await;
    assert_eq!(stands.get_i64("seatsAvailable").ok(), Some(4));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_seat_changes_nothing() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AA_A", "B"]).await;
    let visitor = gateway.shopper("ann");
    let id = open(&visitor).await;
    let before = gateway.snapshot().await;
    for (seats, field) in [
        // Twice, gaps, and outside of the plan.
        (vec![("A", 1), ("B", 1), ("A", 1)], "seats.2"),
        (vec![("A", 1), ("A", 3)], "seats.1"),
        (vec![("A", 0)], "seats.0"),
        (vec![("A", 5)], "seats.0"),
        (vec![("A", -1)], "seats.0"),
        (vec![("B", 2)], "seats.0"),
        (vec![("C", 1)], "seats.0"),
        (vec![("$", 1)], "seats.0"),
        (vec![("A.1", 1)], "seats.0"),
        (vec![], "seats"),
    ] {
        let refused = hold(&visitor, &id, &screening, &seats).await;
        assert_eq!(refused["field"], json!(format!("input.{field}")), "{seats:?} {refused:#}");
    }
    let many = vec![("A", 1); 51];
    let refused = hold(&visitor, &id, &screening, &many).await;
    assert_eq!(refused["field"], "input.seats", "{refused:#}");
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_booking_has_limits_and_one_currency() {
    let gateway = Gateway::start().await;
    let row = "A".repeat(120);
    let theater = theater(&gateway, &[&row]).await;
    let screening = screening_in(&gateway, &theater).await;
    let visitor = gateway.shopper("ann");
    let id = open(&visitor).await;
    let seats =
        |from: i32, count: i32| (from..from + count).map(|at| ("A", at)).collect::<Vec<_>>();
    for from in [1, 51] {
        let held = hold(&visitor, &id, &screening, &seats(from, 50)).await;
        assert_eq!(said(&held), "Booking", "{held:#}");
    }
    let refused = hold(&visitor, &id, &screening, &seats(101, 1)).await;
    assert_eq!(refused["field"], "input.seats", "{refused:#}");
    let other = open(&visitor).await;
    for at in 101..=120 {
        assert_eq!(said(&hold(&visitor, &other, &screening, &[("A", at)]).await), "Booking");
    }
    visitor.does(cancelling(&id)).await;
    let refused = hold(&visitor, &other, &screening, &[("A", 1)]).await;
    assert_eq!(refused["field"], "input.bookingId", "{refused:#}");
    let mut in_dollars = screening_input(&gateway, &theater, 24 * HOUR).await;
    in_dollars["currency"] = json!("USD");
    let in_dollars = id_of(&create_screening(&gateway.merchant(), in_dollars).await);
    let id = open(&visitor).await;
    let refused = hold(&visitor, &id, &in_dollars, &[("A", 1)]).await;
    assert_eq!(said(&refused), "CURRENCY_MISMATCH", "{refused:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_screening_and_one_that_has_begun_hold_nothing_more() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AB"]).await;
    let visitor = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = holding_seats(&visitor, &screening, &[("A", 1), ("A", 2)]).await;
    let suggest = "query($id: ID!, $count: Int!) { suggestSeats(screeningId: $id, count: $count, together: false) { row } }";
    let none = visitor.field(suggest, json!({ "id": screening, "count": 1 })).await;
    assert_eq!(none, Value::Null);
    let other = open(&visitor).await;
    assert_eq!(said(&hold(&visitor, &other, &screening, &[("A", 1)]).await), "SEATS_TAKEN");
    assert_eq!(said(&check_out(&visitor, &id, &purse, "op").await), "Receipt");
    complete(&gateway, &id).await;
    assert_map(&gateway, &screening, &["ss"]).await;
    assert_eq!(said(&hold(&visitor, &other, &screening, &[("A", 1)]).await), "SEATS_TAKEN");

    let begun = hall(&gateway, &["AB"]).await;
    begin(&gateway, &begun).await;
    let before = gateway.snapshot().await;
    assert_eq!(said(&hold(&visitor, &other, &begun, &[("A", 1)]).await), "SCREENING_BEGUN");
    assert_eq!(gateway.snapshot().await, before);
    let none = visitor.field(suggest, json!({ "id": begun, "count": 1 })).await;
    assert_eq!(none, Value::Null);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_seats_are_suggested() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAAAAAA", "AAA_AAA", "BBBBBBB"]).await;
    let visitor = gateway.anonymous();
    let suggest = async |count: i64, together: bool, category: Value| {
        let query = "query($id: ID!, $count: Int!, $together: Boolean!, $category: String) {
            suggestSeats(screeningId: $id, count: $count, together: $together, category: $category) {
                row number category state } }";
        let asked = json!({
            "id": screening, "count": count, "together": together, "category": category,
        });
        let found = visitor.field(query, asked).await;
        let seats = found.as_array().map(|seats| {
            let place = |seat: &Value| {
                let row = seat["row"].as_str().expect("a row");
                format!("{row}{}", seat["number"])
            };
            seats.iter().map(place).collect::<Vec<_>>()
        });
        seats.unwrap_or_default()
    };
    assert_eq!(suggest(3, true, Value::Null).await, ["C3", "C4", "C5"]);
    assert_eq!(suggest(3, true, json!("A")).await, ["A3", "A4", "A5"]);
    // Side by side there are no more than seven, and not over the gap.
    assert_eq!(suggest(7, true, json!("A")).await.len(), 7);
    assert_eq!(suggest(8, true, Value::Null).await, [""; 0]);
    assert_eq!(suggest(8, false, Value::Null).await.len(), 8);
    assert_eq!(suggest(21, false, Value::Null).await, [""; 0]);
    holding_seats(&visitor, &screening, &[("C", 4), ("A", 4)]).await;
    assert_eq!(suggest(4, true, Value::Null).await, [""; 0]);
    assert_eq!(suggest(3, true, json!("B")).await.len(), 3);
    let query = "query($id: ID!) { suggestSeats(screeningId: $id, count: 51) { row } }";
    assert_eq!(visitor.error_code(query, json!({ "id": screening })).await, "BAD_USER_INPUT");
}

/// The screening's seats come at once, and again after each change.
#[tokio::test(flavor = "multi_thread")]
async fn the_seat_map_is_followed() {
    let gateway = Gateway::start().await;
    let screening = hall(&gateway, &["AAA"]).await;
    let query = "subscription($id: ID!) { seatMapChanged(screeningId: $id) {
        seatsAvailable rows { map } } }";
    let visitor = gateway.anonymous();
    let mut live = visitor.follow(query, json!({ "id": screening })).await;
    let seen = |event: Value| event["data"]["seatMapChanged"]["rows"][0]["map"].clone();
    assert_eq!(seen(live.next().await), "AAA");
    let id = holding_seats(&visitor, &screening, &[("A", 2)]).await;
    assert_eq!(seen(live.next().await), "AhA");
    visitor.does(cancelling(&id)).await;
    assert_eq!(seen(live.next().await), "AAA");
}

/// A hold whose commit never arrived is freed by the sweep, and the call can be repeated.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_held_and_never_committed_becomes_free() {
    use crate::support::proxy::Cut;
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let screening = hall(&gateway, &["AAA"]).await;
    let visitor = gateway.shopper("ann");
    let id = open(&visitor).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command != "find");
    proxy.cut_all_from(1, Cut::BeforeForwarding);
    let call = holding(&id, &screening, &[("A", 1)], Some("cut"));
    assert_eq!(visitor.error_code(&call.0, call.1.clone()).await, "UNAVAILABLE");
    proxy.heal();
    assert_map(&gateway, &screening, &["hAA"]).await;
    let sibling = gateway.sibling().await;
    sibling.sweep().await;
    sibling.assert_sound().await;
    assert_map(&sibling, &screening, &["AAA"]).await;
    // Someone else takes the seat; the repeat doesn't get it.
    holding_seats(&sibling.anonymous(), &screening, &[("A", 1)]).await;
    let visitor = sibling.shopper("ann");
    assert_eq!(said(&visitor.does(call).await), "SEATS_TAKEN");
    assert_map(&sibling, &screening, &["hAA"]).await;
    sibling.assert_sound().await;
}
