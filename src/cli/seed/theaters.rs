//! Theaters: halls on a map, a month of screenings, and visitors who hold, buy and return seats as long as the demo runs.

use docgate_demo::{
    random::Random,
    words::{ADJECTIVES, NOUNS},
};
use mongodb::bson::DateTime;
use serde_json::{Value, json};

use super::{
    MERCHANT, Steps,
    client::{DemoClient, someone},
    goods::text,
    keep_acting,
    shoppers::Shopper,
};
use crate::{
    app::{App, rfc3339},
    cli::failure::Failure,
    domains::times::{DAY, HOUR},
    graphql::requester::{Requester, Role},
};

/// The cities with a theater, each with its longitude and latitude. Two of them lie on either side of the date line.
const CITIES: [(&str, f64, f64); 30] = [
    ("Berlin", 13.405, 52.52),
    ("Hamburg", 9.993, 53.551),
    ("Munich", 11.582, 48.135),
    ("Cologne", 6.96, 50.938),
    ("Leipzig", 12.373, 51.34),
    ("Vienna", 16.373, 48.208),
    ("Salzburg", 13.055, 47.81),
    ("Zurich", 8.541, 47.377),
    ("Basel", 7.588, 47.56),
    ("Paris", 2.352, 48.857),
    ("Lyon", 4.835, 45.764),
    ("Lille", 3.057, 50.629),
    ("Brussels", 4.352, 50.85),
    ("Amsterdam", 4.904, 52.368),
    ("London", -0.128, 51.507),
    ("Manchester", -2.244, 53.483),
    ("Edinburgh", -3.188, 55.953),
    ("Dublin", -6.26, 53.35),
    ("Madrid", -3.704, 40.417),
    ("Lisbon", -9.139, 38.722),
    ("Rome", 12.496, 41.903),
    ("Milan", 9.19, 45.464),
    ("Prague", 14.438, 50.076),
    ("Warsaw", 21.012, 52.23),
    ("Copenhagen", 12.568, 55.676),
    ("Stockholm", 18.069, 59.329),
    ("Oslo", 10.752, 59.914),
    ("Helsinki", 24.938, 60.17),
    ("Suva", 178.442, -18.142),
    ("Apia", -171.765, -13.834),
];
/// Names of theaters.
const NAMES: [&str; 6] = ["Odeon", "Lyceum", "Capitol", "Apollo", "Royal", "Atrium"];
/// Days for which there are screenings.
const DAYS: i64 = 30;
/// Shortest and longest pause between two visits, in milliseconds.
const PAUSE: (i64, i64) = (1_500, 6_000);
/// Number of the shoppers who visit theaters.
const VISITORS: usize = 40;

const CREATE_THEATER: &str =
    "mutation($input: CreateTheaterInput!) { createTheater(input: $input) {
    ... on Theater { id } ... on UserError { code message } } }";
const CREATE_SCREENING: &str = "mutation($input: CreateScreeningInput!) {
    createScreening(input: $input) { ... on Screening { id } ... on UserError { code message } } }";
const SCREENINGS: &str = "query($theater: ID!, $from: DateTime!, $to: DateTime!) {
    screenings(theaterId: $theater, from: $from, to: $to, first: 100) { nodes { id startsAt } } }";
const THEATERS: &str = "query { theatersNear(
    point: { longitude: 10, latitude: 50 }, withinMeters: 20100000, first: 100
) { nodes { theater { id } } } }";
const SUGGEST: &str = "query($screening: ID!, $count: Int!) {
    suggestSeats(screeningId: $screening, count: $count) { row number } }";
const OPEN: &str = "mutation($op: ID!) {
    openBooking(input: { currency: \"EUR\", idempotencyKey: $op }) {
        ... on Booking { id } ... on UserError { code message } } }";
const HOLD: &str = "mutation($input: HoldSeatsInput!) { holdSeats(input: $input) {
    ... on Booking { id } ... on UserError { code message } } }";
const CANCEL: &str = "mutation($booking: ID!) { cancelBooking(input: { bookingId: $booking }) {
    __typename ... on UserError { code message } } }";
const CHECK_OUT: &str = "mutation($booking: ID!, $account: ID!, $op: ID!) {
    checkoutBooking(input: {
        bookingId: $booking, payment: { accountId: $account }, idempotencyKey: $op
    }) { ... on Receipt { id } ... on UserError { code message } } }";
const REFUND: &str = "mutation($receipt: ID!, $op: ID!) {
    cancelReceipt(input: { receiptId: $receipt, idempotencyKey: $op }) {
        __typename ... on UserError { code message } } }";
const ACCOUNTS: &str = "{ myAccounts(first: 1) { nodes { id } } }";

fn merchant() -> Requester {
    someone(MERCHANT, &[Role::Merchant])
}

/// Creates the theaters, their screenings and some visits. A small shop has fewer of the latter two.
pub(super) async fn create(
    app: &App,
    client: &DemoClient,
    shoppers: &[Shopper],
    products: usize,
    steps: &Steps,
) -> Result<(), Failure> {
    let theaters = create_theaters(client, steps).await?;
    let today = app.clock().timestamp_millis() / DAY;
    let days = (today + 1, days(products));
    let screenings = &create_screenings(client, &theaters, days, steps).await?;
    let visits = (products / 10).min(200);
    let visit = (0..visits).map(|number| async move {
        let mut random = Random::new(9_000 + number as u64);
        let shopper = random.choose(shoppers);
        let visitor = Visitor { client, who: &shopper.who, account: &shopper.account };
        let screening = random.favour(screenings);
        visitor.visit(screening, &format!("demo-visit-{number}"), &mut random).await
    });
    steps.each("bookings", visit).await.map(drop)
}

/// Number of days for which a shop with so many products has screenings.
fn days(products: usize) -> i64 {
    if products < 1_000 { 7 } else { DAYS }
}

async fn create_theaters(client: &DemoClient, steps: &Steps) -> Result<Vec<String>, Failure> {
    let bar = steps.begin("theaters", CITIES.len());
    let mut theaters = Vec::new();
    for (number, (city, longitude, latitude)) in CITIES.iter().enumerate() {
        let mut random = Random::new(8_000 + number as u64);
        let input = json!({
            "name": format!("{} {city}", random.pick(&NAMES)),
            "address": format!("{} Square\n{city}", random.pick(NOUNS)),
            "location": { "latitude": latitude, "longitude": longitude },
            "seatPlan": plan(&mut random),
            "idempotencyKey": format!("demo-theater-{number}"),
        });
        let made = client.execute(&merchant(), CREATE_THEATER, json!({ "input": input })).await?;
        theaters.push(text(&made["createTheater"]["id"]));
        bar.inc(1);
    }
    bar.finish();
    Ok(theaters)
}

/// A plan with rows that become longer to the back, an aisle, and three categories.
fn plan(random: &mut Random) -> Value {
    let (rows, first) = (random.between(8, 16), random.between(5, 9));
    let row = |at: i64| {
        let code = if at < rows / 3 { "A" } else { ["B", "C"][usize::from(at > 2 * rows / 3)] };
        let half = code.repeat(usize::try_from(first + at / 2).unwrap_or(5));
        let edge = "_".repeat(usize::try_from((rows - at) / 4).unwrap_or(0));
        json!({ "label": label(at), "places": format!("{edge}{half}__{half}{edge}") })
    };
    json!({
        "categories": [
            { "code": "A", "name": "Stalls" },
            { "code": "B", "name": "Parquet" },
            { "code": "C", "name": "Circle" },
        ],
        "rows": (0..rows).map(row).collect::<Vec<_>>(),
    })
}

/// The letter of a row.
fn label(at: i64) -> String {
    let letter = u8::try_from(at).map_or(b'Z', |at| b'A' + at % 26);
    char::from(letter).to_string()
}

/// Creates the screenings of these days, those of the first day first.
async fn create_screenings(
    client: &DemoClient,
    theaters: &[String],
    (from, days): (i64, i64),
    steps: &Steps,
) -> Result<Vec<String>, Failure> {
    let each = (from..from + days).flat_map(|day| theaters.iter().map(move |id| (day, id)));
    let each: Vec<_> = each.collect();
    let create = each.into_iter().map(|(day, theater)| create_screening(client, theater, day));
    steps.each("screenings", create).await
}

/// Creates the screening of a theater on a day, counted from 1970. A repeat finds it.
async fn create_screening(client: &DemoClient, theater: &str, day: i64) -> Result<String, Failure> {
    let seed = theater.bytes().fold(day, |seed, byte| seed.wrapping_mul(31) + i64::from(byte));
    let mut random = Random::new(seed.unsigned_abs());
    let starts = day * DAY + random.between(17, 21) * HOUR;
    let at = |millis: i64| rfc3339(DateTime::from_millis(millis));
    let price = random.between(8, 14) * 100;
    let prices = ["A", "B", "C"].iter().zip([price + 600, price + 300, price]);
    let prices = prices.map(|(code, price)| json!({ "category": code, "price": price }));
    let input = json!({
        "theaterId": theater,
        "name": format!("The {} {}", random.pick(ADJECTIVES), random.pick(NOUNS)),
        "startsAt": at(starts), "endsAt": at(starts + 2 * HOUR),
        "currency": "EUR", "prices": prices.collect::<Vec<_>>(),
        "idempotencyKey": format!("demo-screening-{theater}-{day}"),
    });
    let made = client.execute(&merchant(), CREATE_SCREENING, json!({ "input": input })).await?;
    Ok(text(&made["createScreening"]["id"]))
}

/// A visitor who books seats.
struct Visitor<'a> {
    client: &'a DemoClient,
    who: &'a Requester,
    account: &'a str,
}

impl Visitor<'_> {
    /// Holds some seats of a screening. Most visits end with a receipt, of which a few are returned; others are cancelled,
    /// or left until they expire. `key` identifies the visit.
    async fn visit(&self, screening: &str, key: &str, random: &mut Random) -> Result<(), Failure> {
        let Self { client, who, account } = self;
        let count = random.between(1, 4);
        let asked = json!({ "screening": screening, "count": count });
        let seats = client.execute(who, SUGGEST, asked).await?["suggestSeats"].take();
        if seats.is_null() {
            return Ok(());
        }
        let opened = client.execute(who, OPEN, json!({ "op": key })).await?;
        let booking = text(&opened["openBooking"]["id"]);
        let input = json!({
            "bookingId": booking, "screeningId": screening, "seats": seats, "idempotencyKey": key,
        });
        if client.execute(who, HOLD, json!({ "input": input })).await.is_err() {
            // Someone else was faster.
            return client.execute(who, CANCEL, json!({ "booking": booking })).await.map(drop);
        }
        match random.below(10) {
            0 => return Ok(()),
            1 => {
                return client.execute(who, CANCEL, json!({ "booking": booking })).await.map(drop);
            }
            _ => {}
        }
        let asked = json!({ "booking": booking, "account": account, "op": key });
        let paid = client.execute(who, CHECK_OUT, asked).await?;
        if random.chance(5) {
            let receipt = text(&paid["checkoutBooking"]["id"]);
            let asked = json!({ "receipt": receipt, "op": key });
            client.execute(who, REFUND, asked).await?;
        }
        Ok(())
    }
}

/// Lets shoppers visit theaters, and adds screenings as days go by. It never ends; dropping it ends it.
pub(in super::super) async fn run(app: &App) {
    let mut theaters = Vec::new();
    keep_acting(app, PAUSE, async |client, random| act(app, client, &mut theaters, random).await)
        .await;
}

/// A shopper visits one of the next screenings of a theater, which gets those that are missing.
async fn act(
    app: &App,
    client: &DemoClient,
    theaters: &mut Vec<String>,
    random: &mut Random,
) -> Result<(), Failure> {
    let nodes = |found: &Value| found["nodes"].as_array().cloned().unwrap_or_default();
    if theaters.is_empty() {
        let found = client.execute(&merchant(), THEATERS, json!({})).await?;
        let near = nodes(&found["theatersNear"]);
        theaters.extend(near.iter().map(|near| text(&near["theater"]["id"])));
    }
    let Some(theater) = theaters.get(random.below(theaters.len())).cloned() else { return Ok(()) };
    let now = app.clock().timestamp_millis();
    let at = |millis: i64| rfc3339(DateTime::from_millis(millis));
    let asked = json!({ "theater": theater, "from": at(now), "to": at(now + (DAYS + 1) * DAY) });
    let found = client.execute(&merchant(), SCREENINGS, asked).await?;
    let screenings = nodes(&found["screenings"]);
    let today = now / DAY;
    let missing = (today + 1..=today + DAYS).find(|day| {
        let date = &at(day * DAY)[..10];
        let mut begins = screenings.iter().filter_map(|screening| screening["startsAt"].as_str());
        !begins.any(|begin| begin.starts_with(date))
    });
    if let Some(day) = missing {
        create_screening(client, &theater, day).await?;
    }
    if screenings.is_empty() {
        return Ok(());
    }
    let who = match random.below(VISITORS) {
        0 => someone(super::SHOPPER, &[]),
        number => someone(&format!("shopper-{number}"), &[]),
    };
    let own = client.execute(&who, ACCOUNTS, json!({})).await?;
    let account = text(&own["myAccounts"]["nodes"][0]["id"]);
    let visitor = Visitor { client, who: &who, account: &account };
    let screening = text(&random.favour(&screenings)["id"]);
    visitor.visit(&screening, &app.ids().random(), random).await
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn there_are_thirty_theaters_with_screenings_of_a_month() {
        let places: HashSet<_> =
            CITIES.iter().map(|(_, east, north)| format!("{east} {north}")).collect();
        assert_eq!(places.len(), 30);
        let products = usize::try_from(super::super::PRODUCTS).expect("a number");
        assert_eq!((days(products), days(120)), (30, 7));
        assert!(CITIES.iter().all(|(_, east, north)| east.abs() <= 180.0 && north.abs() <= 90.0));
    }
}
