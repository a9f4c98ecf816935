//! `cartChanged`: a cart as it changes.

use std::time::Duration;

use serde_json::{Value, json};

use super::{applied, created};
use crate::{
    shop::{add, cart, stocked},
    support::Gateway,
};

const FOLLOW: &str = "subscription($id: ID!) { cartChanged(cartId: $id) { \
    state total { minorUnits } lines { sku quantity } } }";

fn total(event: &Value) -> i64 {
    let total = &event["data"]["cartChanged"]["total"]["minorUnits"];
    total.as_i64().unwrap_or_else(|| panic!("{event:#}"))
}

/// An owner's cart by their token, a guest's by its id.
#[tokio::test(flavor = "multi_thread")]
async fn a_cart_is_followed_as_it_changes() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "OFF", json!({ "percent": 50 })).await;
    for client in [gateway.shopper("ann"), gateway.anonymous()] {
        let id = cart(&client, "RESERVE", &[("a", 1)]).await;
        let mut live = client.follow(FOLLOW, json!({ "id": id })).await;
        assert_eq!(total(&live.next().await), 100);
        tokio::time::sleep(Duration::from_millis(300)).await;
        // Changes on another gateway are seen too.
        let other = gateway.sibling().await;
        let others = other.client(client.token.clone());
        add(&others, &id, "a", 2).await;
        while total(&live.next().await) != 300 {}
        applied(&others, &id, "OFF").await;
        while total(&live.next().await) != 150 {}
        others.cancel(&id).await;
        while live.next().await["data"]["cartChanged"]["state"] != "CANCELLED" {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_is_followed_by_those_who_may_read_it() {
    let gateway = Gateway::start().await;
    let owned = cart(&gateway.shopper("ann"), "RESERVE", &[]).await;
    for client in [gateway.shopper("bob"), gateway.anonymous(), gateway.merchant()] {
        let mut socket = gateway.session(client.token.as_deref()).await;
        socket.subscribe("1", FOLLOW, json!({ "id": owned })).await;
        socket.ends_not_found("1").await;
    }
    let mut service = gateway.service().follow(FOLLOW, json!({ "id": owned })).await;
    assert_eq!(service.next().await["data"]["cartChanged"]["state"], "ACTIVE");

    // The guest's subscription ends when somebody signed in claims the cart.
    let open = cart(&gateway.anonymous(), "RESERVE", &[]).await;
    let mut guest = gateway.session(None).await;
    guest.subscribe("1", FOLLOW, json!({ "id": open })).await;
    assert_eq!(guest.next("1").await["data"]["cartChanged"]["state"], "ACTIVE");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let claim = "mutation($id: ID!) { claimCart(input: {cartId: $id}) { __typename } }";
    gateway.shopper("ann").field(claim, json!({ "id": open })).await;
    assert_eq!(guest.hear().await, json!({ "type": "complete", "id": "1" }));
}
