//! Theaters: where they are and how their seats lie, who holds and buys which seat, and what is left of a flow that was cut.

mod bookings;
mod cancelling;
mod check;
mod checkout;
mod cuts;
mod map;
mod outside;
mod plans;
mod receipts;
mod seats;
mod sweeps;
mod visible;

use mongodb::bson::{Bson, DateTime, Document, doc};
use serde_json::{Value, json};

use docgate::{app::rfc3339, config::Config};

use crate::{
    shop::{account, settled},
    support::{Client, Gateway, key, short_bounds},
};

/// Price of a seat of the categories A and B.
pub const PRICES: [i64; 2] = [1_000, 600];

pub const BOOKING: &str = "id state currency expiresAt receiptId total { minorUnits }
    holds { key screeningId name total { minorUnits }
        seats { row number category price { minorUnits currency } } }";
pub const RECEIPT: &str =
    "id state bookingId customerId startsAt total { minorUnits } refunded { minorUnits }
    lines { key screeningId seats { row number price { minorUnits } } total { minorUnits } }";
const REFUSALS: &str = "... on UserError { code message } ... on InvalidInput { field }";

/// A mutation that answers with a booking or a receipt, or any of these refusals.
fn mutation(name: &str, refusals: &str) -> String {
    let (first, rest) = name.split_at(1);
    let input = format!("{}{rest}Input", first.to_uppercase());
    let shown = match name {
        "checkoutBooking" | "cancelReceipt" => format!("... on Receipt {{ {RECEIPT} }}"),
        _ => format!("... on Booking {{ {BOOKING} }}"),
    };
    format!(
        "mutation($input: {input}!) {{ {name}(input: $input) {{
            __typename {shown} {REFUSALS} {refusals} }} }}"
    )
}

/// A seat plan of two categories with these rows, which are labelled A, B, C …
pub fn plan(rows: &[&str]) -> Value {
    let row =
        |(label, places): (char, &&str)| json!({ "label": label.to_string(), "places": places });
    let rows: Vec<_> = ('A'..='Z').zip(rows).map(row).collect();
    let categories = json!([{ "code": "A", "name": "Stalls" }, { "code": "B", "name": "Circle" }]);
    json!({ "categories": categories, "rows": rows })
}

/// The input of a theater at a place.
pub fn theater_input(name: &str, [longitude, latitude]: [f64; 2], rows: &[&str]) -> Value {
    json!({
        "name": name, "address": "A street 1\n12345 A city",
        "location": { "latitude": latitude, "longitude": longitude }, "seatPlan": plan(rows),
    })
}

pub async fn create_theater(client: &Client, input: Value) -> Value {
    let query = "mutation($input: CreateTheaterInput!) { createTheater(input: $input) {
        __typename ... on Theater { id name version seatCount
            seatPlan { categories { code name } rows { label places } } }
        ... on UserError { code message } ... on InvalidInput { field reason } } }";
    client.field(query, json!({ "input": input })).await
}

/// A theater with these rows.
pub async fn theater(gateway: &Gateway, rows: &[&str]) -> String {
    let input = theater_input("A theater", [13.4, 52.5], rows);
    id_of(&create_theater(&gateway.merchant(), input).await)
}

pub fn id_of(thing: &Value) -> String {
    thing["id"].as_str().unwrap_or_else(|| panic!("{thing:#}")).to_owned()
}

/// The server's time, so many milliseconds from now.
pub async fn in_millis(gateway: &Gateway, millis: i64) -> String {
    let attempt = gateway.begin().await;
    let now = attempt.now().timestamp_millis();
    rfc3339(DateTime::from_millis(now + millis))
}

const HOUR: i64 = 3_600_000;

/// The input of a screening that begins in so many milliseconds.
pub async fn screening_input(gateway: &Gateway, theater: &str, begins: i64) -> Value {
    let prices = ["A", "B"].iter().zip(PRICES);
    let prices: Vec<_> =
        prices.map(|(code, price)| json!({ "category": code, "price": price })).collect();
    json!({
        "theaterId": theater, "name": "A film", "currency": "EUR", "prices": prices,
        "startsAt": in_millis(gateway, begins).await,
        "endsAt": in_millis(gateway, begins + 2 * HOUR).await,
    })
}

pub async fn create_screening(client: &Client, input: Value) -> Value {
    let query = "mutation($input: CreateScreeningInput!) { createScreening(input: $input) {
        __typename ... on Screening { id name seatsAvailable startsAt
            categories { code name price { minorUnits currency } } rows { label map } }
        ... on UserError { code message } ... on InvalidInput { field reason } } }";
    client.field(query, json!({ "input": input })).await
}

/// A screening tomorrow in a theater.
pub async fn screening_in(gateway: &Gateway, theater: &str) -> String {
    let input = screening_input(gateway, theater, 24 * HOUR).await;
    id_of(&create_screening(&gateway.merchant(), input).await)
}

/// A screening tomorrow in a theater of its own with these rows.
pub async fn hall(gateway: &Gateway, rows: &[&str]) -> String {
    screening_in(gateway, &theater(gateway, rows).await).await
}

/// Opens a booking in euros and answers its id.
pub async fn open(client: &Client) -> String {
    let query = mutation("openBooking", "");
    id_of(&client.field(&query, json!({ "input": { "currency": "EUR" } })).await)
}

pub fn holding(
    booking: &str,
    screening: &str,
    seats: &[(&str, i32)],
    op: Option<&str>,
) -> (String, Value) {
    let seats: Vec<_> =
        seats.iter().map(|(row, number)| json!({ "row": row, "number": number })).collect();
    let input = json!({
        "bookingId": booking, "screeningId": screening, "seats": seats, "idempotencyKey": op,
    });
    let refusals = "... on NotFound { what } ... on BookingNotActive { bookingState } ... on ScreeningBegun { begunAt }
        ... on ScreeningCancelled { cancelledAt } ... on SeatsTaken { taken { row number } }";
    (mutation("holdSeats", refusals), json!({ "input": input }))
}

pub async fn hold(client: &Client, booking: &str, screening: &str, seats: &[(&str, i32)]) -> Value {
    client.does(holding(booking, screening, seats, None)).await
}

/// A new booking of the client that holds these seats.
pub async fn holding_seats(client: &Client, screening: &str, seats: &[(&str, i32)]) -> String {
    let booking = open(client).await;
    let held = hold(client, &booking, screening, seats).await;
    assert_eq!(held["__typename"], "Booking", "{held:#}");
    booking
}

pub fn releasing(booking: &str, hold: &str, op: Option<&str>) -> (String, Value) {
    let input = json!({ "bookingId": booking, "hold": hold, "idempotencyKey": op });
    let refusals = "... on NotFound { what } ... on BookingNotActive { bookingState }";
    (mutation("releaseSeats", refusals), json!({ "input": input }))
}

pub fn cancelling(booking: &str) -> (String, Value) {
    let refusals = "... on NotFound { what } ... on BookingNotActive { bookingState }";
    (mutation("cancelBooking", refusals), json!({ "input": { "bookingId": booking } }))
}

/// `account` is "none" where nothing costs anything.
pub fn checking_out(booking: &str, account: &str, op: &str) -> (String, Value) {
    let payment = if account == "none" { json!({}) } else { json!({ "accountId": account }) };
    let input = json!({ "bookingId": booking, "payment": payment, "idempotencyKey": op });
    let refusals = "... on NotFound { what } ... on BookingNotActive { bookingState } ... on ScreeningBegun { begunAt }
        ... on PaymentDeclined { reason }";
    (mutation("checkoutBooking", refusals), json!({ "input": input }))
}

pub async fn check_out(client: &Client, booking: &str, account: &str, op: &str) -> Value {
    client.does(checking_out(booking, account, op)).await
}

pub fn refunding(receipt: &str, op: &str) -> (String, Value) {
    let input = json!({ "receiptId": receipt, "idempotencyKey": op });
    let refusals = "... on NotFound { what } ... on ReceiptNotOpen { receiptState } ... on ScreeningBegun { begunAt }";
    (mutation("cancelReceipt", refusals), json!({ "input": input }))
}

/// Cancels a screening, as the merchant.
pub async fn cancel_screening(gateway: &Gateway, screening: &str) -> Value {
    let (query, variables) = cancelling_screening(screening);
    gateway.merchant().field(&query, variables).await
}

pub fn cancelling_screening(screening: &str) -> (String, Value) {
    let query = format!(
        "mutation($input: CancelScreeningInput!) {{ cancelScreening(input: $input) {{
            __typename ... on Screening {{ id cancelledAt }} ... on ScreeningBegun {{ begunAt }} {REFUSALS} }} }}"
    );
    (query, json!({ "input": { "screeningId": screening } }))
}

/// The id of someone's receipt for the last seat of the first row of a screening, which is `A 2`.
pub async fn receipt_of(gateway: &Gateway, someone: &str, screening: &str) -> String {
    let client = gateway.shopper(someone);
    let purse = account(gateway, someone, 5_000).await;
    let booking = holding_seats(&client, screening, &[("A", 2)]).await;
    let (query, variables) = checking_out(&booking, &purse, "op");
    id_of(&client.field(&query, variables).await)
}

/// `null` where there is none for this caller.
pub async fn booking(client: &Client, id: &str) -> Value {
    let query = format!("query($id: ID!) {{ booking(id: $id) {{ {BOOKING} }} }}");
    client.field(&query, json!({ "id": id })).await
}

/// `null` where there is none for this caller.
pub async fn receipt(client: &Client, id: &str) -> Value {
    let query = format!("query($id: ID!) {{ receipt(id: $id) {{ {RECEIPT} }} }}");
    client.field(&query, json!({ "id": id })).await
}

/// The rows of the seat map, and the number of free seats.
pub async fn map(gateway: &Gateway, screening: &str) -> (Vec<String>, i64) {
    let query = "query($id: ID!) { screening(id: $id) { seatsAvailable rows { map } } }";
    let found = gateway.anonymous().field(query, json!({ "id": screening })).await;
    let rows = found["rows"].as_array().unwrap_or_else(|| panic!("{found:#}"));
    let rows = rows.iter().map(|row| row["map"].as_str().expect("a text").to_owned());
    (rows.collect(), found["seatsAvailable"].as_i64().expect("a number"))
}

/// Checks the rows of the seat map; the number of free seats must be that of their letters.
pub async fn assert_map(gateway: &Gateway, screening: &str, expected: &[&str]) {
    let (rows, available) = map(gateway, screening).await;
    assert_eq!(rows, expected, "{screening}");
    let free = expected.join("").chars().filter(char::is_ascii_uppercase).count();
    assert_eq!(i64::try_from(free), Ok(available));
}

/// Waits until the booking is complete, which happens behind the answer to its checkout. With short bounds, that may run
/// out of time on a busy machine. The sweep then finishes it.
pub async fn complete(gateway: &Gateway, booking: &str) {
    settled(gateway).await;
    let state = async || {
        let stands = stored(gateway, "bookings", booking).await;
        stands.get_str("state").expect("a state").to_owned()
    };
    let mut hurried = Config::default();
    short_bounds(&mut hurried);
    let may_need_sweep = gateway.app.config().flow_run_millis <= hurried.flow_run_millis;
    if may_need_sweep && state().await != "COMPLETE" {
        gateway.sweep().await;
    }
    assert_eq!(state().await, "COMPLETE");
}

/// A document as it stands.
pub async fn stored(gateway: &Gateway, collection: &str, id: &str) -> Document {
    let found = gateway.raw(collection).find_one(doc! { "_id": key(id) }).await;
    found.expect("read").unwrap_or_else(|| panic!("{id} isn't in {collection}"))
}

/// Sets fields of a document behind the gateway's back.
pub async fn alter(gateway: &Gateway, collection: &str, id: &str, set: Document) {
    let documents = gateway.raw(collection);
    let changed = documents.update_one(doc! { "_id": key(id) }, doc! { "$set": set }).await;
    assert_eq!(changed.expect("changed").matched_count, 1);
}

/// Lets a screening begin in the past, also for its bookings and receipts.
pub async fn begin(gateway: &Gateway, screening: &str) {
    let attempt = gateway.begin().await;
    let now = attempt.now().timestamp_millis();
    let past = Bson::DateTime(DateTime::from_millis(now - 1_000));
    alter(gateway, "screenings", screening, doc! { "startsAt": &past }).await;
    let filter = doc! { "_id": { "$gt": "" }, "holds.screeningId": key(screening) };
    let set = doc! { "$set": { "holds.$[].startsAt": &past } };
    gateway.raw("bookings").update_many(filter, set).await.expect("changed");
    let filter = doc! { "_id": { "$gt": "" }, "lines.screeningId": key(screening) };
    let set = doc! { "$set": { "startsAt": &past, "lines.$[].startsAt": &past } };
    gateway.raw("receipts").update_many(filter, set).await.expect("changed");
}

/// What an answer is: a refusal's code, or the type.
pub fn said(answer: &Value) -> &str {
    let code = answer["code"].as_str();
    code.or_else(|| answer["__typename"].as_str()).unwrap_or_else(|| panic!("{answer:#}"))
}
