//! Carts that were opened without signing in and are checked out by someone who has.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{AT_CHECKOUT, RESERVE, is};
use crate::{
    shop::{
        account, cart, checkout, checkout_input, checkout_query, placed, settled, stocked, stored,
    },
    support::{Client, Gateway, cuts, long_bounds, short_bounds},
};

async fn order(client: &Client, id: &Value) -> Value {
    let order = "query($id: ID!) { order(id: $id) { id shipping { street } } }";
    client.field(order, json!({ "id": id })).await
}

async fn my_orders(client: &Client) -> Vec<Value> {
    let orders = client.field("{ myOrders { nodes { id } } }", json!({})).await;
    let nodes = orders["nodes"].as_array().expect("orders");
    nodes.iter().map(|order| order["id"].clone()).collect()
}

async fn cancel(client: &Client, id: &Value) -> Value {
    let cancel = "mutation($id: ID!) { cancelOrder(input: {orderId: $id}) { __typename } }";
    client.field(cancel, json!({ "id": id })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guests_cart_that_is_checked_out_signed_in_becomes_the_shoppers_order() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let purse = account(&gateway, "ann", 1_000).await;
    let (guest, ann) = (gateway.anonymous(), gateway.shopper("ann"));
    for policy in [RESERVE, AT_CHECKOUT] {
        let id = cart(&guest, policy, &[("a", 2)]).await;
        let placed = checkout(&ann, &id, &purse, policy).await;
        assert!(is(&placed, "Order"), "{placed:#}");
        assert_eq!(my_orders(&ann).await[0], placed["id"]);
        assert_eq!(ann.cart(&id).await["orderId"], placed["id"]);
        settled(&gateway).await;
        let before = gateway.snapshot().await;
        for stranger in [&guest, &gateway.shopper("bob")] {
            assert_eq!(stranger.cart(&id).await, json!(null));
            assert_eq!(order(stranger, &placed["id"]).await, json!(null));
            assert!(is(&cancel(stranger, &placed["id"]).await, "NotFound"));
            assert!(is(&checkout(stranger, &id, &purse, policy).await, "NotFound"));
        }
        assert_eq!(gateway.snapshot().await, before);
        assert_eq!(checkout(&ann, &id, &purse, policy).await, placed);
        assert!(is(&cancel(&ann, &placed["id"]).await, "Order"));
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_placed_without_signing_in_stays_for_whoever_knows_it() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 10).await;
    let guest = gateway.anonymous();
    let id = placed(&guest, "none", &[("free", 1)]).await;
    assert_eq!(order(&gateway.shopper("ann"), &json!(id)).await["id"], json!(id));
    assert_eq!(my_orders(&gateway.shopper("ann")).await, Vec::<Value>::new());
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_checkout_leaves_a_guests_cart_to_the_guest() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 1).await;
    let purse = account(&gateway, "ann", 50).await;
    let (guest, ann) = (gateway.anonymous(), gateway.shopper("ann"));
    let dear = cart(&guest, RESERVE, &[("a", 1)]).await;
    let short = cart(&guest, AT_CHECKOUT, &[("a", 1)]).await;
    let empty = cart(&guest, RESERVE, &[]).await;
    for (id, refusal) in
        [(&dear, "PaymentDeclined"), (&short, "CheckoutShort"), (&empty, "CartEmpty")]
    {
        let before = guest.cart(id).await;
        let refused = checkout(&ann, id, &purse, "op").await;
        assert!(is(&refused, refusal), "{refused:#}");
        let after = guest.cart(id).await;
        assert_eq!((&after["lines"], &after["state"]), (&before["lines"], &json!("ACTIVE")));
        let left = stored(&gateway, "carts", id).await;
        assert!(!left.contains_key("owner") && !left.contains_key("checkout"), "{left}");
    }
    assert_eq!(ann.my_cart().await, json!(null));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_shoppers_who_check_out_a_guests_cart_at_once_one_has_the_order() {
    let gateway = Gateway::with(long_bounds).await;
    stocked(&gateway, "free", 0, 100).await;
    let shoppers: Vec<_> = (0..4).map(|n| gateway.shopper(&format!("s-{n}"))).collect();
    for _ in 0..5 {
        let id = cart(&gateway.anonymous(), AT_CHECKOUT, &[("free", 1)]).await;
        let calls = (0..).zip(&shoppers).map(async |(n, client)| {
            (client, checkout(client, &id, "none", &format!("op-{n}")).await)
        });
        let answers = join_all(calls).await;
        let (won, lost): (Vec<_>, Vec<_>) =
            answers.iter().partition(|(_, answer)| is(answer, "Order"));
        assert_eq!(won.len(), 1, "{} of {}", won.len(), lost.len());
        let (winner, placed) = won[0];
        assert_eq!(my_orders(winner).await[0], placed["id"]);
        for (loser, answer) in &lost {
            assert!(is(answer, "CartNotActive") || is(answer, "NotFound"), "{answer:#}");
            assert!(!my_orders(loser).await.contains(&placed["id"]));
            assert_eq!(order(loser, &placed["id"]).await, json!(null));
        }
    }
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_guests_cart_becomes_the_shoppers_order() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            if n == 1 {
                stocked(gateway, "free", 0, 1_000).await;
            }
            cart(&gateway.anonymous(), RESERVE, &[("free", 1)]).await
        },
        async |gateway, id| {
            let input = json!({ "input": checkout_input(id, "none", "op") });
            gateway.shopper("ann").send(&checkout_query(), input).await.ok();
        },
        async |gateway, case| {
            let ann = gateway.shopper("ann");
            let made = checkout(&ann, &case.subject, "none", "op").await;
            assert!(is(&made, "Order"), "{case:?}: {made:#}");
            let stored = stored(gateway, "orders", made["id"].as_str().expect("an id")).await;
            assert_eq!(stored.get_str("owner").ok(), Some("ann"), "{case:?}");
            assert_eq!(gateway.anonymous().cart(&case.subject).await, json!(null), "{case:?}");
        },
    )
    .await;
}
