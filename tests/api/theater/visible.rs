//! Bookings and receipts of others, by every way in.

use std::time::Duration;

use serde_json::{Value, json};

use super::{check_out, complete, hall, holding_seats, id_of};
use crate::{shop::account, support::Gateway};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_of_another_is_not_seen_by_any_way() {
    let gateway = Gateway::with(|config| config.federation = true).await;
    let screening = hall(&gateway, &["AAAA"]).await;
    let ann = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let active = holding_seats(&ann, &screening, &[("A", 1)]).await;
    let sold = holding_seats(&ann, &screening, &[("A", 2)]).await;
    let receipt = id_of(&check_out(&ann, &sold, &purse, "op").await);
    complete(&gateway, &sold).await;
    let query = "query($booking: ID!, $receipt: ID!, $ids: [ID!]!, $all: [_Any!]!) {
        booking(id: $booking) { id }
        receipt(id: $receipt) { id }
        node(id: $booking) { id }
        nodes(ids: $ids) { id }
        _entities(representations: $all) {
            ... on Booking { id } ... on Receipt { id } } }";
    let all = json!([
        { "__typename": "Booking", "id": active }, { "__typename": "Receipt", "id": receipt },
    ]);
    let asked =
        json!({ "booking": active, "receipt": receipt, "ids": [active, receipt], "all": all });
    let (booking, bought) = (json!({ "id": active }), json!({ "id": receipt }));
    let own = ann.data(query, asked.clone()).await;
    let seen = json!({
        "booking": booking, "receipt": bought, "node": booking, "nodes": [booking, bought],
        "_entities": [booking, bought],
    });
    assert_eq!(own, seen);
    let nothing = json!({
        "booking": null, "receipt": null, "node": null, "nodes": [null, null],
        "_entities": [null, null],
    });
    for stranger in [gateway.anonymous(), gateway.shopper("bob")] {
        let found = stranger.run(query, asked.clone()).await;
        assert_eq!(found["data"], nothing, "{found:#}");
    }
    // A merchant sees receipts, a service bookings.
    let found = gateway.merchant().run(query, asked.clone()).await["data"].clone();
    assert_eq!((&found["booking"], &found["receipt"]["id"]), (&Value::Null, &json!(receipt)));
    let found = gateway.service().run(query, asked).await["data"].clone();
    assert_eq!((&found["booking"]["id"], &found["receipt"]), (&json!(active), &Value::Null));
    // What a merchant sees of a receipt doesn't contain its booking, and a service's booking not its receipt.
    let query = "query($booking: ID!, $receipt: ID!) {
        booking(id: $booking) { receipt { id } } receipt(id: $receipt) { booking { id } } }";
    let sold = json!({ "booking": sold, "receipt": receipt });
    let own = ann.data(query, sold.clone()).await;
    assert_eq!(own["booking"]["receipt"]["id"], json!(receipt));
    assert!(own["receipt"]["booking"]["id"].is_string(), "{own:#}");
    let found = gateway.merchant().run(query, sold.clone()).await["data"].clone();
    assert_eq!(found, json!({ "booking": null, "receipt": { "booking": null } }));
    let found = gateway.service().run(query, sold.clone()).await["data"].clone();
    assert_eq!(found, json!({ "booking": { "receipt": null }, "receipt": null }));
    let sold = sold["booking"].as_str().expect("an id").to_owned();
    // A screening tells nobody who holds its seats: neither its map, nor its subscription.
    let query = "subscription($id: ID!) { seatMapChanged(screeningId: $id) {
        rows { map seats { number state } } } }";
    let mut live = gateway.anonymous().follow(query, json!({ "id": screening })).await;
    let event = live.next().await.to_string();
    for secret in [&active, &receipt, &sold] {
        assert!(!event.contains(secret.as_str()), "{event}");
        assert!(!event.contains(&crate::support::key(secret)), "{event}");
    }
    // A subscription to a booking's id is one to no screening.
    let mut socket = gateway.session(ann.token.as_deref()).await;
    socket.subscribe("1", query, json!({ "id": active })).await;
    socket.ends_not_found("1").await;
    socket.is_silent(Duration::from_millis(50)).await;
}
