//! Theaters on the map, and the screenings of a theater.

use serde_json::{Value, json};

use super::{
    create_screening, create_theater, id_of, in_millis, screening_input, theater, theater_input,
};
use crate::support::{Client, Gateway, all_nodes, commands, pages_both_ways};

/// Theaters at these places, by name.
async fn at(gateway: &Gateway, places: &[(&str, [f64; 2])]) {
    for (name, place) in places {
        let made = create_theater(&gateway.merchant(), theater_input(name, *place, &["A"])).await;
        assert_eq!(made["__typename"], "Theater", "{made:#}");
    }
}

fn corners(polygon: &[[f64; 2]]) -> Vec<Value> {
    let corner =
        |[longitude, latitude]: &[f64; 2]| json!({ "longitude": longitude, "latitude": latitude });
    polygon.iter().map(corner).collect()
}

/// The names of the theaters in a polygon, sorted.
async fn within(client: &Client, polygon: &[[f64; 2]]) -> Vec<String> {
    let query = "query($polygon: [GeoPointInput!]!) {
        theatersWithin(polygon: $polygon) { nodes { name } } }";
    let found = client.field(query, json!({ "polygon": corners(polygon) })).await;
    let nodes = found["nodes"].as_array().expect("nodes");
    let mut names: Vec<_> =
        nodes.iter().map(|node| node["name"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nearest_theaters_come_first() {
    let gateway = Gateway::start().await;
    let places = [
        ("Potsdam", [13.06, 52.4]),
        ("Berlin", [13.4, 52.52]),
        ("Hamburg", [10.0, 53.55]),
        ("Berlin too", [13.4, 52.52]),
        ("Suva", [178.44, -18.14]),
    ];
    at(&gateway, &places).await;
    let query = "query($meters: Int!, $first: Int, $after: String) { theatersNear(
        point: { longitude: 13.4, latitude: 52.52 }, withinMeters: $meters, first: $first, after: $after
    ) { nodes { distance theater { name location { latitude longitude } } }
        pageInfo { hasNextPage endCursor } } }";
    let visitor = gateway.anonymous();
    let found = all_nodes(json!({ "meters": 300_000, "first": 1 }), async |page| {
        let response = visitor.explained(query, page).await;
        assert_eq!(commands(&response), ["aggregate theaters"], "{response:#}");
        response["data"]["theatersNear"].clone()
    })
    .await;
    let (mut names, mut last) = (Vec::new(), -1.0);
    for node in &found {
        let distance = node["distance"].as_f64().expect("a distance");
        assert!(distance >= last, "{distance} after {last}");
        last = distance;
        names.push(node["theater"]["name"].as_str().expect("a name").to_owned());
    }
    names[..2].sort();
    assert_eq!(names, ["Berlin", "Berlin too", "Potsdam", "Hamburg"]);
    assert!((200_000.0..300_000.0).contains(&last), "{last}");
    let near = visitor.field(query, json!({ "meters": 1 })).await;
    assert_eq!(near["nodes"].as_array().map(Vec::len), Some(2), "{near:#}");
    for meters in [0, -1, 20_100_001] {
        assert_eq!(visitor.error_code(query, json!({ "meters": meters })).await, "BAD_USER_INPUT");
    }
    let backwards = "{ theatersNear(point: { longitude: 181, latitude: 0 }, withinMeters: 5) { nodes { distance } } }";
    assert_eq!(visitor.error_code(backwards, json!({})).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_polygon_may_cross_the_date_line() {
    let gateway = Gateway::start().await;
    let places = [
        ("Suva", [178.44, -18.14]),
        ("Apia", [-171.76, -13.83]),
        ("On the line", [180.0, -16.0]),
        ("Berlin", [13.4, 52.52]),
        ("Greenwich", [0.0, -16.0]),
    ];
    at(&gateway, &places).await;
    let visitor = gateway.anonymous();
    let pacific = [[175.0, -25.0], [-165.0, -25.0], [-165.0, -5.0], [175.0, -5.0]];
    assert_eq!(within(&visitor, &pacific).await, ["Apia", "On the line", "Suva"]);
    let mut reversed = pacific;
    reversed.reverse();
    assert_eq!(within(&visitor, &reversed).await, ["Apia", "On the line", "Suva"]);
    let europe = [[0.0, 40.0], [30.0, 40.0], [30.0, 60.0], [0.0, 60.0]];
    assert_eq!(within(&visitor, &europe).await, ["Berlin"]);
    let triangle = [[-1.0, -17.0], [1.0, -17.0], [0.0, -15.0]];
    assert_eq!(within(&visitor, &triangle).await, ["Greenwich"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_polygon_is_refused() {
    let gateway = Gateway::start().await;
    at(&gateway, &[("Berlin", [13.4, 52.52])]).await;
    let visitor = gateway.anonymous();
    let query = "query($polygon: [GeoPointInput!]!) {
        theatersWithin(polygon: $polygon) { nodes { name } } }";
    for polygon in [
        vec![],
        vec![[0.0, 0.0], [1.0, 1.0]],
        // Its sides cross.
        vec![[0.0, 0.0], [10.0, 10.0], [10.0, 0.0], [0.0, 10.0]],
        vec![[0.0, 0.0], [10.0, 0.0], [0.0, 0.0]],
        vec![[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        vec![[0.0, 0.0], [200.0, 0.0], [0.0, 10.0]],
        vec![[0.0, 0.0]; 101],
    ] {
        let response = visitor.run(query, json!({ "polygon": corners(&polygon) })).await;
        let error = &response["errors"][0]["extensions"];
        assert_eq!(error["code"], "BAD_USER_INPUT", "{polygon:?}: {response:#}");
        let field = error["field"].as_str().expect("a field");
        assert!(field.starts_with("polygon"), "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_theaters_has_pages() {
    let gateway = Gateway::start().await;
    let places: Vec<_> = (0..5).map(|at| ("A theater", [f64::from(at), 1.0])).collect();
    at(&gateway, &places).await;
    let list =
        "theatersWithin(polygon: [{ longitude: -1, latitude: 0 }, { longitude: 9, latitude: 0 },
        { longitude: 9, latitude: 2 }, { longitude: -1, latitude: 2 }]";
    let found = pages_both_ways(&gateway.anonymous(), list, "id").await;
    assert_eq!(found.len(), 5, "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn screenings_come_in_the_order_of_their_beginning() {
    let gateway = Gateway::start().await;
    let (one, other) = (theater(&gateway, &["A"]).await, theater(&gateway, &["AB"]).await);
    let mut begins = Vec::new();
    for hour in [5, 1, 3, 2, 4, 3] {
        let mut input = screening_input(&gateway, &one, hour * 3_600_000).await;
        input["name"] = json!(format!("At {hour}"));
        begins.push(id_of(&create_screening(&gateway.merchant(), input).await));
    }
    let input = screening_input(&gateway, &other, 3_600_000).await;
    create_screening(&gateway.merchant(), input).await;
    let from = in_millis(&gateway, 90 * 60_000).await;
    let to = in_millis(&gateway, 270 * 60_000).await;
    let list = format!("screenings(theaterId: \"{one}\", from: \"{from}\", to: \"{to}\"");
    let found = pages_both_ways(&gateway.anonymous(), &list, "id name").await;
    let names: Vec<_> = found.iter().map(|node| node["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["At 2", "At 3", "At 3", "At 4"]);
    for end in [&from, &"2020-01-01T00:00:00Z".to_owned()] {
        let query = format!(
            "{{ screenings(theaterId: \"{one}\", from: \"{from}\", to: \"{end}\") {{ nodes {{ id }} }} }}"
        );
        let refused = gateway.anonymous().run(&query, json!({})).await;
        let error = &refused["errors"][0]["extensions"];
        assert_eq!(error["code"], "BAD_USER_INPUT", "{refused:#}");
        assert_eq!(error["field"], "to", "{refused:#}");
    }
    // The list is a field of the theater.
    let part = format!(
        "query($id: ID!) {{ theater(id: $id) {{
            screenings(from: \"{from}\", to: \"{to}\", first: 20) {{ nodes {{ id name }} }} }} }}"
    );
    let shown = gateway.anonymous().field(&part, json!({ "id": one })).await;
    assert_eq!(shown["screenings"]["nodes"], json!(found));
    let query = "query($id: ID!) { screening(id: $id) { theater { name } } }";
    let first = gateway.anonymous().field(query, json!({ "id": found[0]["id"] })).await;
    assert_eq!(first["theater"]["name"], "A theater");
}
