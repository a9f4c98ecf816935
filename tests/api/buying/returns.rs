//! Returns of orders with a voucher.

use serde_json::{Value, json};

use super::{applied, checkout, created, used};
use crate::{
    orders::fulfilment::{change, shipped},
    shop::{account, balance, cart, settled, stock, stocked},
    support::{Client, Gateway},
};

/// Requests a return of pieces of a shipment, and accepts it.
async fn taken_back(gateway: &Gateway, client: &Client, order: &str, number: i64, quantity: i64) {
    let lines = json!([{ "sku": "a", "quantity": quantity }]);
    let input = json!({ "shipmentNumber": 1, "lines": lines, "reason": "Too small" });
    let requested = change(client, "requestReturn", order, input).await;
    assert_eq!(requested["__typename"], "Order", "{requested:#}");
    let merchant = gateway.merchant();
    // A repeat gives nothing back.
    for _ in 0..2 {
        let input = json!({ "returnNumber": number, "idempotencyKey": format!("accept-{number}") });
        let accepted = change(&merchant, "acceptReturn", order, input).await;
        assert_eq!(accepted["__typename"], "Order", "{accepted:#}");
    }
    settled(gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_is_refunded_less_its_part_of_the_discount() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "OFF", json!({ "amount": 100, "budget": 100 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 3)]).await;
    applied(&shopper, &id, "OFF").await;
    let placed = checkout(&shopper, &id, &purse, "op").await;
    let order = placed["id"].as_str().expect("an order");
    settled(&gateway).await;
    assert_eq!(shipped(&gateway, order, "a", 3).await, 1);
    let seen = async || {
        let query = "query($id: ID!) { order(id: $id) { total { minorUnits } \
            discount { minorUnits } refunded { minorUnits } } }";
        let seen: Value = shopper.field(query, json!({ "id": order })).await;
        ["total", "discount", "refunded"].map(|of| seen[of]["minorUnits"].as_i64().expect("money"))
    };
    assert_eq!(seen().await, [200, 100, 0]);

    // Of 300 less 100: two thirds of the discount stay, rounded down.
    taken_back(&gateway, &shopper, order, 1, 1).await;
    assert_eq!(seen().await, [134, 66, 66]);
    assert_eq!(balance(&gateway, &purse).await, 800 + 66);
    gateway.assert_sound().await;

    taken_back(&gateway, &shopper, order, 2, 2).await;
    assert_eq!(seen().await, [0, 0, 200]);
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    assert_eq!(stock(&gateway, "a").await, (10, 0, 0));
    // A return gives no use of the voucher back.
    assert_eq!(used(&gateway, "OFF").await, [0, 100, 0, 1]);
    gateway.assert_sound().await;
}
