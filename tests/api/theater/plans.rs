//! Seat plans: what may be one, and that screenings keep theirs.

use serde_json::{Value, json};

use super::{
    assert_map, create_screening, create_theater, hall, hold, id_of, in_millis, open, plan, said,
    screening_in, screening_input, stored, theater, theater_input,
};
use crate::support::{Client, Gateway, commands};

async fn change(client: &Client, theater: &str, version: &str, plan: Value) -> Value {
    let query = "mutation($input: ChangeSeatPlanInput!) { changeSeatPlan(input: $input) {
        __typename ... on Theater { version seatPlan { rows { label places } } }
        ... on UserError { code message } ... on Conflict { currentVersion }
        ... on InvalidInput { field } } }";
    let input = json!({ "theaterId": theater, "version": version, "seatPlan": plan });
    client.field(query, json!({ "input": input })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_has_rows_of_any_length_with_gaps() {
    let gateway = Gateway::start().await;
    let rows = ["_AA_AA_", "BBBB_BBBB_B", "A"];
    let input = theater_input("Odeon", [13.4, 52.5], &rows);
    let made = create_theater(&gateway.merchant(), input).await;
    assert_eq!((&made["seatCount"], &made["version"]), (&json!(14), &json!("1")), "{made:#}");
    let shown = made["seatPlan"]["rows"].as_array().expect("rows");
    assert_eq!(shown[1], json!({ "label": "B", "places": "BBBB_BBBB_B" }));
    let screening = screening_in(&gateway, &id_of(&made)).await;
    assert_map(&gateway, &screening, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_plan_is_refused_by_its_field() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let before = gateway.snapshot().await;
    for (path, value, field) in [
        ("/name", json!(" "), "name"),
        ("/location/latitude", json!(90.5), "location.latitude"),
        ("/location/longitude", json!(-181), "location.longitude"),
        ("/seatPlan/categories", json!([]), "seatPlan.rows.0.places"),
        ("/seatPlan/categories/1/code", json!("A"), "seatPlan.categories.1.code"),
        ("/seatPlan/categories/1/code", json!("_"), "seatPlan.categories.1.code"),
        ("/seatPlan/categories/1/code", json!("AB"), "seatPlan.categories.1.code"),
        ("/seatPlan/categories/1/code", json!("$"), "seatPlan.categories.1.code"),
        ("/seatPlan/rows", json!([]), "seatPlan.rows"),
        ("/seatPlan/rows/0/places", json!("___"), "seatPlan.rows"),
        ("/seatPlan/rows/0/places", json!(""), "seatPlan.rows.0.places"),
        ("/seatPlan/rows/0/places", json!("AAC"), "seatPlan.rows.0.places"),
        ("/seatPlan/rows/0/places", json!("A".repeat(201)), "seatPlan.rows.0.places"),
        ("/seatPlan/rows/0/label", json!("a\nb"), "seatPlan.rows.0.label"),
        ("/seatPlan/rows/0/label", json!("x".repeat(11)), "seatPlan.rows.0.label"),
    ] {
        let mut input = theater_input("Odeon", [13.4, 52.5], &["AAA"]);
        *input.pointer_mut(path).expect("a field") = value;
        let refused = create_theater(&merchant, input).await;
        assert_eq!(refused["field"], json!(format!("input.{field}")), "{path} {refused:#}");
    }
    let twice = plan(&["A", "A"]);
    let mut input = theater_input("Odeon", [13.4, 52.5], &["A"]);
    input["seatPlan"] = twice;
    input["seatPlan"]["rows"][1]["label"] = json!("A");
    assert_eq!(create_theater(&merchant, input).await["field"], "input.seatPlan.rows.1.label");
    let many = "A".repeat(200);
    let input = theater_input("Odeon", [13.4, 52.5], &[many.as_str(); 16]);
    assert_eq!(create_theater(&merchant, input).await["field"], "input.seatPlan.rows");
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_finds_what_it_created() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let mut input = theater_input("Odeon", [13.4, 52.5], &["AB"]);
    input["idempotencyKey"] = json!("one");
    let made = create_theater(&merchant, input.clone()).await;
    assert_eq!(create_theater(&merchant, input.clone()).await, made);
    input["name"] = json!("Another");
    assert_eq!(said(&create_theater(&merchant, input).await), "CONFLICT");
    let theater = id_of(&made);
    let mut input = screening_input(&gateway, &theater, 60_000).await;
    input["idempotencyKey"] = json!("one");
    let shown = create_screening(&merchant, input.clone()).await;
    assert_eq!(create_screening(&merchant, input.clone()).await, shown);
    // The plan has changed since: a repeat still finds the screening.
    let done = change(&merchant, &theater, "1", plan(&["A"])).await;
    assert_eq!(done["__typename"], "Theater", "{done:#}");
    assert_eq!(create_screening(&merchant, input.clone()).await, shown);
    input["name"] = json!("Another");
    assert_eq!(said(&create_screening(&merchant, input).await), "CONFLICT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_screening_keeps_its_plan_when_the_theater_changes() {
    let gateway = Gateway::start().await;
    let (merchant, visitor) = (gateway.merchant(), gateway.anonymous());
    let theater = theater(&gateway, &["AAA", "BBB"]).await;
    let old = screening_in(&gateway, &theater).await;
    let booking = open(&visitor).await;
    hold(&visitor, &booking, &old, &[("B", 3)]).await;
    let changed = change(&merchant, &theater, "1", plan(&["A_A"])).await;
    assert_eq!(changed["version"], "2", "{changed:#}");
    // A repeat changes nothing; another change of the same version is a conflict.
    assert_eq!(change(&merchant, &theater, "1", plan(&["A_A"])).await, changed);
    let stale = change(&merchant, &theater, "1", plan(&["AB"])).await;
    assert_eq!((&stale["code"], &stale["currentVersion"]), (&json!("CONFLICT"), &json!("2")));
    for unknown in ["$ne", "9223372036854775807"] {
        let refused = change(&merchant, &theater, unknown, plan(&["AB"])).await;
        assert_eq!(said(&refused), "CONFLICT", "{unknown}");
    }
    assert_map(&gateway, &old, &["AAA", "BBh"]).await;
    // Seats of the former plan can still be had there, and only there.
    let held = hold(&visitor, &booking, &old, &[("B", 1)]).await;
    assert_eq!(held["__typename"], "Booking", "{held:#}");
    let new = screening_in(&gateway, &theater).await;
    assert_map(&gateway, &new, &["A_A"]).await;
    let refused = hold(&visitor, &booking, &new, &[("B", 1)]).await;
    assert_eq!(refused["field"], "input.seats.0", "{refused:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_theater_is_renamed_and_moved() {
    let gateway = Gateway::start().await;
    let (merchant, visitor) = (gateway.merchant(), gateway.anonymous());
    let theater = theater(&gateway, &["AB"]).await;
    let screening = screening_in(&gateway, &theater).await;
    let update = async |client: &Client, version: &str, name: &str, latitude: f64| {
        let query = "mutation($input: UpdateTheaterInput!) { updateTheater(input: $input) {
            __typename ... on Theater { name address location { latitude longitude } version seatCount }
            ... on UserError { code message } ... on Conflict { currentVersion }
            ... on InvalidInput { field } } }";
        let input = json!({
            "theaterId": theater, "version": version, "name": name, "address": "B street 2",
            "location": { "latitude": latitude, "longitude": 2.5 },
        });
        client.field(query, json!({ "input": input })).await
    };
    let before = gateway.snapshot().await;
    assert_eq!(update(&merchant, "1", " ", 48.5).await["field"], "input.name");
    assert_eq!(update(&merchant, "1", "Rex", 90.5).await["field"], "input.location.latitude");
    assert_eq!(said(&update(&merchant, "0", "Rex", 48.5).await), "CONFLICT");
    assert_eq!(gateway.snapshot().await, before);
    let updated = update(&merchant, "1", "Rex", 48.5).await;
    let expected = json!({
        "__typename": "Theater", "name": "Rex", "address": "B street 2",
        "location": { "latitude": 48.5, "longitude": 2.5 }, "version": "2", "seatCount": 2,
    });
    assert_eq!(updated, expected);
    // A repeat changes nothing; another change of the same version is a conflict.
    assert_eq!(update(&merchant, "1", "Rex", 48.5).await, updated);
    let stale = update(&merchant, "1", "Roxy", 48.5).await;
    assert_eq!((said(&stale), &stale["currentVersion"]), ("CONFLICT", &json!("2")));
    assert_eq!(said(&change(&merchant, &theater, "1", plan(&["A"])).await), "CONFLICT");
    // It is found where it is now, and its screenings show its name.
    let query = "query($id: ID!) { screening(id: $id) { theater { name } }
        theatersNear(point: { latitude: 48.5, longitude: 2.5 }, withinMeters: 100) { nodes { theater { name } } } }";
    let found = visitor.data(query, json!({ "id": screening })).await;
    assert_eq!(found["screening"]["theater"]["name"], "Rex", "{found:#}");
    assert_eq!(found["theatersNear"]["nodes"], json!([{ "theater": { "name": "Rex" } }]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_screening_names_its_faults() {
    let gateway = Gateway::start().await;
    let theater = theater(&gateway, &["AB"]).await;
    let merchant = gateway.merchant();
    let before = gateway.snapshot().await;
    let past = in_millis(&gateway, -60_000).await;
    let far = in_millis(&gateway, 30 * 86_400_000).await;
    for (path, value, field) in [
        ("/name", json!(""), "name"),
        ("/startsAt", json!(past), "startsAt"),
        ("/endsAt", json!(past), "endsAt"),
        ("/endsAt", json!(far), "endsAt"),
        ("/prices/0/category", json!("C"), "prices.0.category"),
        ("/prices/0/category", json!("B"), "prices.1.category"),
        ("/prices/1/price", json!(-1), "prices.1.price"),
        ("/prices/1/price", json!(1_000_000_001), "prices.1.price"),
        ("/prices", json!([{ "category": "A", "price": 1 }]), "prices"),
    ] {
        let mut input = screening_input(&gateway, &theater, 60_000).await;
        *input.pointer_mut(path).expect("a field") = value;
        let refused = create_screening(&merchant, input).await;
        assert_eq!(refused["field"], json!(format!("input.{field}")), "{path} {refused:#}");
    }
    assert_eq!(gateway.snapshot().await, before);
}

/// A hall of a thousand seats is a few kilobytes, and one command.
#[tokio::test(flavor = "multi_thread")]
async fn the_map_of_a_hall_is_one_small_answer() {
    let gateway = Gateway::start().await;
    let row = "AAAAAAAAAAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAA";
    let screening = hall(&gateway, &[row; 25]).await;
    let query = "query($id: ID!) { screening(id: $id) {
        name startsAt seatsAvailable categories { code price { minorUnits currency } }
        rows { label map } } }";
    let visitor = gateway.anonymous();
    let text = gateway.anonymous();
    let response = visitor.explained(query, json!({ "id": screening })).await;
    assert_eq!(commands(&response), ["find screenings"], "{response:#}");
    assert_eq!(response["data"]["screening"]["seatsAvailable"], 1_000);
    let shown = text.text(query, json!({ "id": screening })).await;
    let data = shown.split("\"extensions\"").next().expect("data");
    assert!(data.len() < 2_500, "{} bytes: {data}", data.len());
    // The typed form says the same.
    let query = "query($id: ID!) { screening(id: $id) { rows { map
        seats { row number category state price { minorUnits } } } } }";
    let booking = open(&visitor).await;
    hold(&visitor, &booking, &screening, &[("C", 22)]).await;
    let rows = visitor.field(query, json!({ "id": screening })).await["rows"].clone();
    let seats = rows[2]["seats"].as_array().expect("seats");
    assert_eq!(seats.len(), 40);
    let seat = json!({
        "row": "C", "number": 22, "category": "A", "state": "HELD", "price": { "minorUnits": 1_000 },
    });
    assert_eq!(seats[20], seat);
    assert_eq!(seats[19]["number"], 20);
    assert!(seats.iter().filter(|seat| seat["state"] == "FREE").count() == 39);
    assert_eq!(
        stored(&gateway, "screenings", &screening).await.get_i64("seatsAvailable").ok(),
        Some(999)
    );
}
