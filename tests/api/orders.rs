//! Orders after the checkout: seen, adjusted, cancelled, removed.

mod address;
mod check;
pub mod fulfilment;
mod lists;
mod numbers;
mod placing;
mod returns;
mod together;

use std::time::{Duration, Instant};

use docgate::graphql::node_id::NodeKind;
use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use crate::{
    shop::{
        ORDER, account, balance, cart, checkout, placed, settled, state, stock, stocked, stored,
    },
    support::{
        Client, Gateway, all_nodes, commands, cuts, key, long_bounds, proxy::Cut, short_bounds,
        texts_of,
    },
};

pub fn order_query() -> String {
    format!("query($id: ID!) {{ order(id: $id) {{ {ORDER} }} }}")
}

fn adjust_query() -> String {
    format!(
        "mutation($input: AdjustOrderLineInput!) {{ adjustOrderLine(input: $input) {{ __typename \
         ... on Order {{ {ORDER} }} ... on UserError {{ code message }} \
         ... on InsufficientStock {{ sku requested available }} ... on InvalidInput {{ field }} }} }}"
    )
}

pub fn cancel_query() -> String {
    format!(
        "mutation($input: CancelOrderInput!) {{ cancelOrder(input: $input) {{ __typename \
         ... on Order {{ {ORDER} }} ... on UserError {{ code message }} \
         ... on OrderNotOpen {{ state }} }} }}"
    )
}

pub async fn adjust(client: &Client, order: &str, sku: &str, quantity: i64, op: &str) -> Value {
    let input = json!({ "orderId": order, "sku": sku, "quantity": quantity, "idempotencyKey": op });
    client.field(&adjust_query(), json!({ "input": input })).await
}

pub async fn cancel(client: &Client, order: &str, op: &str) -> Value {
    let input = json!({ "orderId": order, "idempotencyKey": op });
    client.field(&cancel_query(), json!({ "input": input })).await
}

pub async fn delete(client: &Client, order: &str) -> Value {
    let delete = "mutation($id: ID!) { deleteOrder(input: {orderId: $id}) { __typename \
        ... on DeletedOrder { id } ... on UserError { code } } }";
    client.field(delete, json!({ "id": order })).await
}

/// Total, paid and refunded of an order.
fn money(order: &Value) -> (i64, i64, i64) {
    let of = |field: &str| order[field]["minorUnits"].as_i64().expect("an amount");
    (of("total"), of("paid"), of("refunded"))
}

/// Two products, a shopper's purse and an order of both: 3 of `a` at 100, 1 of `b` at 50.
pub async fn shop(gateway: &Gateway) -> (Client, String, String) {
    stocked(gateway, "a", 100, 100).await;
    stocked(gateway, "b", 50, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(gateway, "ann", 1_000).await;
    let order = placed(&shopper, &purse, &[("a", 3), ("b", 1)]).await;
    settled(gateway).await;
    (shopper, purse, order)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_seen_by_whose_it_is_and_by_merchants() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let response = shopper.explained(&order_query(), json!({ "id": order })).await;
    assert_eq!(money(&response["data"]["order"]), (350, 350, 0), "{response:#}");
    assert_eq!(commands(&response), ["find orders"]);
    for client in [gateway.merchant(), gateway.admin()] {
        let seen = client.field(&order_query(), json!({ "id": order })).await;
        assert_eq!(seen["id"], json!(order));
    }
    for client in [gateway.shopper("bob"), gateway.anonymous(), gateway.service()] {
        let unseen = client.field(&order_query(), json!({ "id": order })).await;
        assert_eq!(unseen, json!(null));
        let before = gateway.snapshot().await;
        assert_eq!(cancel(&client, &order, "op").await["code"], "NOT_FOUND");
        assert_eq!(adjust(&client, &order, "a", 1, "op").await["code"], "NOT_FOUND");
        assert_eq!(gateway.snapshot().await, before);
    }
    for id in ["$where", "a.b", "", &"x".repeat(129)] {
        assert_eq!(shopper.field(&order_query(), json!({ "id": id })).await, json!(null));
    }
    // An order without an owner is for whoever knows its id.
    stocked(&gateway, "free", 0, 10).await;
    let nobody = gateway.anonymous();
    let order = placed(&nobody, "none", &[("free", 1)]).await;
    assert_eq!(nobody.field(&order_query(), json!({ "id": order })).await["id"], json!(order));
    assert_eq!(cancel(&nobody, &order, "op").await["state"], "CANCELLED");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sees_the_payment_cannot_tell_the_order() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let purse = account(&gateway, "ann", 1_000).await;
    // Nobody's cart, that somebody pays: its order is for whoever knows its id.
    let open = cart(&gateway.anonymous(), "RESERVE", &[("a", 1)]).await;
    let order = checkout(&gateway.shopper("ann"), &open, &purse, "op").await;
    let order = order["id"].as_str().expect("an order");
    let statement = "query($id: ID!) { account(id: $id) { statement(first: 10) {
        nodes { transfer { id kind } } } } }";
    let statement = gateway.service().field(statement, json!({ "id": purse })).await;
    let payment = &statement["statement"]["nodes"][0]["transfer"];
    assert_eq!(payment["kind"], "PAYMENT", "{statement:#}");
    let formed = NodeKind::ORDER.id(&key(payment["id"].as_str().expect("an id")));
    assert_ne!(*formed, *order);
    let seen = gateway.anonymous().field(&order_query(), json!({ "id": *formed })).await;
    assert_eq!(seen, json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sees_the_payment_of_a_raised_line_cannot_tell_the_order() {
    let gateway = Gateway::start().await;
    let (shopper, purse, order) = shop(&gateway).await;
    assert_eq!(money(&adjust(&shopper, &order, "a", 5, "up").await), (550, 550, 0));
    let statement = "query($id: ID!) { account(id: $id) { statement(first: 10) {
        nodes { transfer { id kind } } } } }";
    let statement = gateway.service().field(statement, json!({ "id": purse })).await;
    let nodes = statement["statement"]["nodes"].as_array().expect("a list");
    let payments: Vec<_> =
        nodes.iter().filter(|node| node["transfer"]["kind"] == "PAYMENT").collect();
    assert_eq!(payments.len(), 2, "{statement:#}");
    for payment in payments {
        let id = key(payment["transfer"]["id"].as_str().expect("an id"));
        assert!(!id.contains(&key(&order)), "{id}");
    }
}

/// How often a flow that took too long to come to its cut begins again, with another subject.
const TRIES: usize = 8;

/// Where `flow` first writes to `collection` after it set money aside.
async fn behind_the_authorisation(
    gateway: &Gateway,
    collection: &str,
    flow: impl AsyncFn(&Gateway),
) -> usize {
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.record();
    flow(gateway).await;
    settled(gateway).await;
    let seen = proxy.seen();
    let aside =
        seen.iter().position(|seen| seen.collection == "accounts" && seen.command == "update");
    let aside = aside.expect("a debit");
    let next = seen[aside..]
        .iter()
        .position(|seen| seen.collection == collection && seen.command != "find");
    aside + next.expect("a decision")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_leaves_an_authorisation_to_the_cart_or_order_that_it_is_for() {
    let base = Gateway::with(short_bounds).await;
    let patient = base.patient_sibling().await;
    stocked(&patient, "a", 100, 100).await;
    let shopper = patient.shopper("ann");
    let purse = account(&patient, "ann", 10_000).await;
    let (never, long_ago) = (DateTime::from_millis(32_000_000_000_000), DateTime::from_millis(0));

    let undisturbed_order = placed(&shopper, &purse, &[("a", 1)]).await;
    settled(&patient).await;

    // A checkout that is cut when its money is held. Its cart hasn't decided, so the sweep voids its tag.
    let checked_out = async |gateway: &Gateway, cart: &str| {
        let ann = gateway.shopper("ann");
        let input = json!({ "input": crate::shop::checkout_input(cart, &purse, "op") });
        let _cut = ann.send(&crate::shop::checkout_query(), input).await;
    };
    let undisturbed = cart(&shopper, "RESERVE", &[("a", 1)]).await;
    let gateway = patient.sibling_behind_proxy().await;
    let at = behind_the_authorisation(&gateway, "carts", async |gateway| {
        checked_out(gateway, &undisturbed).await;
    })
    .await;
    let before = balance(&base, &purse).await;
    let mut cut = String::new();
    // On a busy machine the time may be over before that.
    for _ in 0..TRIES {
        cut = cart(&shopper, "RESERVE", &[("a", 1)]).await;
        let gateway = base.sibling_behind_proxy().await;
        gateway.proxy.as_ref().expect("a proxy").cut_all_from(at, Cut::BeforeForwarding);
        checked_out(&gateway, &cut).await;
        if balance(&base, &purse).await < before {
            break;
        }
    }
    assert_eq!(state(&base, "carts", &cut).await, "ACTIVE");
    assert_eq!(balance(&base, &purse).await, before - 100);
    base.sweep().await;
    assert_eq!(state(&base, "carts", &cut).await, "ACTIVE");
    assert_eq!(balance(&base, &purse).await, before);
    base.assert_sound().await;

    // A raise in the same way.
    let raise = async |gateway: &Gateway, order: &str| {
        let input = json!({ "orderId": order, "sku": "a", "quantity": 2, "idempotencyKey": "up" });
        let _cut = gateway.shopper("ann").send(&adjust_query(), json!({ "input": input })).await;
    };
    let gateway = patient.sibling_behind_proxy().await;
    let at = behind_the_authorisation(&gateway, "orders", async |gateway| {
        raise(gateway, &undisturbed_order).await;
    })
    .await;
    let (mut before, mut order) = (0, String::new());
    for _ in 0..TRIES {
        order = placed(&shopper, &purse, &[("a", 1)]).await;
        settled(&patient).await;
        before = balance(&base, &purse).await;
        let gateway = base.sibling_behind_proxy().await;
        gateway.proxy.as_ref().expect("a proxy").cut_all_from(at, Cut::BeforeForwarding);
        raise(&gateway, &order).await;
        if balance(&base, &purse).await < before {
            break;
        }
    }
    assert_eq!(balance(&base, &purse).await, before - 100);
    let one = doc! { "_id": key(&order) };
    let later = doc! { "$set": { "raises.0.deadline": never } };
    base.raw("orders").update_one(one.clone(), later).await.expect("an update");
    base.sweep().await;
    assert_eq!(balance(&base, &purse).await, before - 100, "it is its raise's to give up");
    let over = doc! { "$set": { "raises.0.deadline": long_ago } };
    base.raw("orders").update_one(one, over).await.expect("an update");
    base.sweep().await;
    assert_eq!(balance(&base, &purse).await, before);
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn my_orders_come_newest_first_in_pages() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 100).await;
    let shopper = gateway.shopper("ann");
    let mut placed_orders = Vec::new();
    for _ in 0..5 {
        placed_orders.push(placed(&shopper, "none", &[("free", 1)]).await);
    }
    placed(&gateway.shopper("bob"), "none", &[("free", 1)]).await;
    placed_orders.reverse();
    let query = "query($first: Int, $after: String) { myOrders(first: $first, after: $after) { \
        edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }";
    let mut after = json!(null);
    let found = all_nodes(json!({ "first": 2 }), async |page| {
        let response = shopper.explained(query, page).await;
        assert_eq!(commands(&response), ["find orders"], "{response:#}");
        let page = &response["data"]["myOrders"];
        after = page["pageInfo"]["endCursor"].clone();
        page.clone()
    });
    assert_eq!(texts_of(&found.await, "id"), placed_orders);
    // The pages from the end, each in the order of the list.
    let query_back = "query($first: Int, $last: Int, $before: String) {
        myOrders(first: $first, last: $last, before: $before) {
            nodes { id } pageInfo { hasPreviousPage hasNextPage startCursor } } }";
    let mut before = json!(null);
    for (page, is_first) in
        [(&placed_orders[3..], false), (&placed_orders[1..3], false), (&placed_orders[..1], true)]
    {
        let response = shopper.explained(query_back, json!({ "last": 2, "before": before })).await;
        assert_eq!(commands(&response), ["find orders"], "{response:#}");
        let found = &response["data"]["myOrders"];
        let ids: Vec<_> = page.iter().map(|id| json!({ "id": id })).collect();
        assert_eq!(found["nodes"], json!(ids));
        assert_eq!(found["pageInfo"]["hasPreviousPage"], json!(!is_first));
        assert_eq!(found["pageInfo"]["hasNextPage"], json!(!before.is_null()));
        before = found["pageInfo"]["startCursor"].clone();
    }
    let both = json!({ "first": 2, "last": 2 });
    assert_eq!(shopper.error_code(query_back, both).await, "BAD_USER_INPUT");
    let foreign = json!({ "first": 2, "after": after });
    assert_eq!(gateway.shopper("bob").error_code(query, foreign).await, "BAD_USER_INPUT");
    assert_eq!(shopper.error_code(query, json!({ "first": 101 })).await, "BAD_USER_INPUT");
    assert_eq!(gateway.anonymous().error_code(query, json!({})).await, "UNAUTHENTICATED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lowered_line_goes_back_and_is_refunded_once() {
    let gateway = Gateway::start().await;
    let (shopper, purse, order) = shop(&gateway).await;
    let lowered = adjust(&shopper, &order, "a", 1, "op").await;
    assert_eq!(money(&lowered), (150, 350, 200), "{lowered:#}");
    assert_eq!(lowered["lines"][0]["quantity"], 1);
    assert_eq!(stock(&gateway, "a").await, (99, 0, 1));
    assert_eq!(balance(&gateway, &purse).await, 850);
    // A repeat changes nothing; with another input it is a conflict.
    assert_eq!(money(&adjust(&shopper, &order, "a", 1, "op").await), (150, 350, 200));
    assert_eq!(adjust(&shopper, &order, "a", 2, "op").await["code"], "CONFLICT");
    assert_eq!(adjust(&shopper, &order, "b", 1, "op").await["code"], "CONFLICT");
    // A merchant may lower as well. A line of nothing isn't shown.
    let removed = adjust(&gateway.merchant(), &order, "a", 0, "off").await;
    assert_eq!(removed["lines"].as_array().expect("lines").len(), 1, "{removed:#}");
    assert_eq!(money(&removed), (50, 350, 300));
    assert_eq!(balance(&gateway, &purse).await, 950);
    assert_eq!(stock(&gateway, "a").await, (100, 0, 0));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raised_line_is_taken_and_paid_at_its_old_price() {
    let gateway = Gateway::start().await;
    let (shopper, purse, order) = shop(&gateway).await;
    gateway.reprice("a", 900).await;
    let raised = adjust(&shopper, &order, "a", 5, "up").await;
    assert_eq!(money(&raised), (550, 550, 0), "{raised:#}");
    assert_eq!(stock(&gateway, "a").await, (95, 0, 5));
    assert_eq!(balance(&gateway, &purse).await, 450);
    assert_eq!(money(&adjust(&shopper, &order, "a", 5, "up").await), (550, 550, 0));
    assert_eq!(adjust(&shopper, &order, "a", 6, "up").await["code"], "CONFLICT");
    // Taken off and put back in: still at its price. What is refunded comes from both payments.
    let off = adjust(&shopper, &order, "a", 0, "off").await;
    assert_eq!(money(&off), (50, 550, 500), "{off:#}");
    assert_eq!(balance(&gateway, &purse).await, 950);
    let again = adjust(&shopper, &order, "a", 2, "again").await;
    assert_eq!(money(&again), (250, 750, 500), "{again:#}");
    assert_eq!(again["lines"][0]["unitPrice"]["minorUnits"], 100);
    assert_eq!(balance(&gateway, &purse).await, 750);
    assert_eq!(stock(&gateway, "a").await, (98, 0, 2));
    gateway.assert_sound().await;
    // Cancelled, everything is back.
    let cancelled = cancel(&shopper, &order, "op").await;
    assert_eq!((&cancelled["state"], money(&cancelled)), (&json!("CANCELLED"), (250, 750, 750)));
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adjustment_that_cannot_be_is_refused() {
    let gateway = Gateway::with(|config| config.body_bytes = 32 << 20).await;
    let (shopper, purse, order) = shop(&gateway).await;
    let before = gateway.snapshot().await;
    assert_eq!(
        adjust(&shopper, &NodeKind::ORDER.id("nothing"), "a", 1, "op").await["code"],
        "NOT_FOUND"
    );
    assert_eq!(adjust(&shopper, &order, "c", 1, "op").await["code"], "NOT_FOUND");
    let huge = "x".repeat(16 << 20);
    for (field, value) in
        [("orderId", json!("$a")), ("orderId", json!(huge)), ("sku", json!("a.b"))]
    {
        let mut input =
            json!({ "orderId": order, "sku": "a", "quantity": 1, "idempotencyKey": "op" });
        input[field] = value;
        let refused = shopper.field(&adjust_query(), json!({ "input": input })).await;
        assert_eq!(refused["code"], "NOT_FOUND", "{refused:#}");
    }
    for (field, value) in [
        ("quantity", json!(-1)),
        ("quantity", json!(10_001)),
        ("quantity", json!(i32::MAX)),
        ("idempotencyKey", json!("")),
    ] {
        let mut input =
            json!({ "orderId": order, "sku": "a", "quantity": 1, "idempotencyKey": "op" });
        input[field] = value;
        let refused = shopper.field(&adjust_query(), json!({ "input": input })).await;
        assert_eq!(refused["code"], "INVALID_INPUT", "{refused:#}");
        assert_eq!(refused["field"], json!(format!("input.{field}")));
    }
    // Nobody raises at another's cost.
    let costly = adjust(&gateway.merchant(), &order, "a", 4, "op").await;
    assert_eq!(costly["code"], "NOT_FOUND", "{costly:#}");
    assert_eq!(gateway.snapshot().await, before);

    let short = adjust(&shopper, &order, "a", 1_000, "short").await;
    assert_eq!(
        (&short["code"], &short["requested"], &short["available"]),
        (&json!("INSUFFICIENT_STOCK"), &json!(1_000), &json!(100))
    );
    let declined = adjust(&shopper, &order, "a", 50, "dear").await;
    assert_eq!(declined["__typename"], "PaymentDeclined");
    let seen = shopper.field(&order_query(), json!({ "id": order })).await;
    assert_eq!(money(&seen), (350, 350, 0));
    assert!(
        stored(&gateway, "orders", &order).await.get_array("raises").expect("raises").is_empty()
    );
    assert_eq!(stock(&gateway, "a").await, (97, 0, 3));
    assert_eq!(balance(&gateway, &purse).await, 650);
    // A refused op is tried again.
    let deposit =
        "mutation($id: ID!) { deposit(input: {accountId: $id, amount: 9000}) { __typename } }";
    gateway.service().field(deposit, json!({ "id": purse })).await;
    assert_eq!(money(&adjust(&shopper, &order, "a", 50, "dear").await), (5_050, 5_050, 0));
    gateway.assert_sound().await;

    cancel(&shopper, &order, "op").await;
    let closed = adjust(&shopper, &order, "a", 1, "late").await;
    assert_eq!(closed["code"], "ORDER_NOT_OPEN");
    assert_eq!(cancel(&shopper, &order, "again").await["code"], "ORDER_NOT_OPEN");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_adjustments_at_once_every_one_counts_once() {
    let gateway = Gateway::with(long_bounds).await;
    let (shopper, purse, order) = shop(&gateway).await;
    // The same op many times.
    let same = join_all((0..6).map(|_| adjust(&shopper, &order, "a", 5, "same"))).await;
    assert!(same.iter().all(|answer| money(answer) == (550, 550, 0)), "{same:#?}");
    assert_eq!(balance(&gateway, &purse).await, 450);
    // Different ones, up and down, on both lines: of the sets of one line the last wins. Money enough
    // for each, for refunds may come after the next payment.
    let deposit =
        "mutation($id: ID!) { deposit(input: {accountId: $id, amount: 9000}) { __typename } }";
    gateway.service().field(deposit, json!({ "id": purse })).await;
    let sets = [("a", 4), ("a", 6), ("a", 0), ("a", 5), ("b", 0), ("b", 3), ("b", 2), ("a", 2)];
    let answers = join_all(sets.iter().enumerate().map(async |(n, (sku, quantity))| {
        adjust(&shopper, &order, sku, *quantity, &format!("op {n}")).await
    }))
    .await;
    assert!(answers.iter().all(|answer| answer["__typename"] == "Order"), "{answers:#?}");
    let seen = shopper.field(&order_query(), json!({ "id": order })).await;
    let (total, paid, refunded) = money(&seen);
    assert_eq!(total, paid - refunded);
    assert_eq!(balance(&gateway, &purse).await, 10_000 - total);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_cancelled_once_whoever_else_tries() {
    let gateway = Gateway::with(long_bounds).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    for round in 0..5 {
        let order = placed(&shopper, &purse, &[("a", 3)]).await;
        let same = join_all((0..4).map(|_| cancel(&shopper, &order, "same")));
        let others = join_all((0..4).map(async |n| {
            if n % 2 == 0 {
                cancel(&shopper, &order, &format!("op {n}")).await
            } else {
                adjust(&shopper, &order, "a", 3 - n + 2, &format!("op {n}")).await
            }
        }));
        let (same, others) = tokio::join!(same, others);
        // An order: CANCELLED, or CANCELLING while what an adjustment gives back is on its way.
        let cancelled = |answer: &&Value| answer["__typename"] == "Order";
        let won = same.iter().filter(cancelled).count();
        let won_otherwise = others.iter().step_by(2).filter(cancelled).count();
        assert!(
            (won, won_otherwise) == (4, 0) || (won, won_otherwise) == (0, 1),
            "round {round}: {same:#?} {others:#?}"
        );
        assert_eq!(state(&gateway, "orders", &order).await, "CANCELLED");
        assert_eq!(balance(&gateway, &purse).await, 1_000);
        assert_eq!(stock(&gateway, "a").await.2, 0);
    }
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "a").await, (100, 0, 0));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_cancelled_order_is_removed_and_leaves_a_stone() {
    let gateway = Gateway::with(short_bounds).await;
    let (shopper, _, order) = shop(&gateway).await;
    let admin = gateway.admin();
    let before = gateway.snapshot().await;
    assert_eq!(delete(&admin, &order).await["code"], "IN_USE");
    assert_eq!(delete(&admin, &NodeKind::ORDER.id("nothing")).await["code"], "NOT_FOUND");
    let refused = "mutation($id: ID!) { deleteOrder(input: {orderId: $id}) { __typename } }";
    let forbidden = gateway.merchant().error_code(refused, json!({ "id": order })).await;
    assert_eq!(forbidden, "FORBIDDEN");
    assert_eq!(gateway.snapshot().await, before);
    cancel(&shopper, &order, "op").await;
    assert_eq!(delete(&admin, &order).await["id"], json!(order));
    assert_eq!(delete(&admin, &order).await["code"], "NOT_FOUND");
    for client in [&shopper, &admin] {
        assert_eq!(client.field(&order_query(), json!({ "id": order })).await, json!(null));
        assert_eq!(cancel(client, &order, "op").await["code"], "NOT_FOUND");
    }
    let mine = "{ myOrders { edges { node { id } } } }";
    assert_eq!(shopper.field(mine, json!({})).await["edges"], json!([]));
    let stone = stored(&gateway, "orders", &order).await;
    assert!(!stone.contains_key("owner") && !stone.contains_key("shipping"), "{stone}");
    gateway.assert_sound().await;
    // What it gave shortly before it was removed is retired all the same.
    gateway.sweep().await;
    assert!(
        stored(&gateway, "inventory", "a").await.get_array("restocks").expect("marks").is_empty()
    );
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_marks_of_what_orders_gave_are_retired() {
    let since = Instant::now();
    let gateway = Gateway::with(short_bounds).await;
    let (shopper, _, order) = shop(&gateway).await;
    adjust(&shopper, &order, "a", 5, "up").await;
    adjust(&shopper, &order, "b", 0, "down").await;
    let marks = async || {
        let (a, b) =
            (stored(&gateway, "inventory", "a").await, stored(&gateway, "inventory", "b").await);
        let order = stored(&gateway, "orders", &order).await;
        let count = |of: &Document, field: &str| of.get_array(field).expect("an array").len();
        (count(&a, "reservations"), count(&b, "restocks"), count(&order, "outbox"))
    };
    settled(&gateway).await;
    assert_eq!(marks().await, (2, 1, 4), "the cart's and the order's");
    // Right away nothing is retired: somebody may still repeat it. On a busy machine that time may be over.
    gateway.sweep_all().await;
    let left = marks().await;
    assert!(left == (2, 1, 4) || since.elapsed() > Duration::from_secs(1), "{left:?}");
    gateway.sweep().await;
    assert_eq!(marks().await, (0, 0, 0));
    assert_eq!(stock(&gateway, "a").await, (95, 0, 5));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_followed_as_it_changes() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let follow =
        "subscription($id: ID!) { orderChanged(orderId: $id) { state total { minorUnits } } }";
    let mut live = shopper.follow(follow, json!({ "id": order })).await;
    let first = live.next().await;
    assert_eq!(first["data"]["orderChanged"]["total"]["minorUnits"], 350, "{first:#}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    adjust(&shopper, &order, "a", 1, "op").await;
    loop {
        let next = live.next().await;
        if next["data"]["orderChanged"]["total"]["minorUnits"] == 150 {
            break;
        }
    }
    cancel(&shopper, &order, "cancel").await;
    while live.next().await["data"]["orderChanged"]["state"] != "CANCELLED" {}
}

/// An order to be cut at, and who pays.
pub struct Subject {
    pub shopper: String,
    pub purse: String,
    pub order: String,
}

pub async fn subject(gateway: &Gateway, n: usize) -> Subject {
    if n == 1 {
        stocked(gateway, "a", 100, 100_000).await;
        stocked(gateway, "b", 50, 100_000).await;
    }
    let shopper = format!("shopper-{n}");
    let client = gateway.shopper(&shopper);
    let purse = account(gateway, &shopper, 1_000).await;
    let order = placed(&client, &purse, &[("a", 3), ("b", 1)]).await;
    settled(gateway).await;
    Subject { shopper, purse, order }
}

/// Sends whatever becomes of it.
async fn send(gateway: &Gateway, subject: &Subject, query: &str, mut input: Value) {
    input["orderId"] = json!(subject.order);
    input["idempotencyKey"] = json!("op");
    let client = gateway.shopper(&subject.shopper);
    let _answer_or_trouble = client.send(query, json!({ "input": input })).await;
}

async fn assert_stands(
    gateway: &Gateway,
    subject: &Subject,
    (expected, total): (&str, i64),
    named: &str,
) {
    let order = stored(gateway, "orders", &subject.order).await;
    assert_eq!(order.get_str("state").expect("a state"), expected, "{named}");
    assert_eq!(order.get_i64("total").expect("a total"), total, "{named}");
    let left = if expected == "PLACED" { 1_000 - total } else { 1_000 };
    assert_eq!(balance(gateway, &subject.purse).await, left, "{named}");
}

/// Cuts `query` at each of its commands; in the end the order stands as `expected`.
async fn cut_at_any_command(query: &str, input: Value, expected: (&str, i64)) {
    cuts::everywhere(
        short_bounds,
        subject,
        async |gateway, subject: &Subject| send(gateway, subject, query, input.clone()).await,
        async |gateway, case| {
            let named = format!("{:?} at {}", case.way, case.at);
            assert_stands(gateway, &case.subject, expected, &named).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_order_is_cancelled_once() {
    cut_at_any_command(&cancel_query(), json!({}), ("CANCELLED", 350)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_line_is_lowered_once() {
    let input = json!({ "sku": "a", "quantity": 1 });
    cut_at_any_command(&adjust_query(), input, ("PLACED", 150)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_line_is_raised_once() {
    let input = json!({ "sku": "a", "quantity": 5 });
    cut_at_any_command(&adjust_query(), input, ("PLACED", 550)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_worker_that_was_overtaken_gives_nothing_twice() {
    let flows = [
        (cancel_query(), json!({}), ("CANCELLED", 350)),
        (adjust_query(), json!({ "sku": "a", "quantity": 5 }), ("PLACED", 550)),
    ];
    for (query, input, expected) in &flows {
        let flow = async |gateway: &Gateway, subject: &Subject| {
            send(gateway, subject, query, input.clone()).await;
        };
        cuts::overtaken_everywhere(short_bounds, subject, flow, async |gateway, subject, named| {
            flow(gateway, subject).await;
            assert_stands(gateway, subject, *expected, named).await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_beyond_half_of_the_cap_takes_the_other_half() {
    let gateway = Gateway::with(|config| config.reservations_per_sku = 4).await;
    stocked(&gateway, "a", 0, 100).await;
    let clients: Vec<_> = (0..4).map(|n| gateway.shopper(&format!("shopper-{n}"))).collect();
    let mut carts = Vec::new();
    for client in &clients {
        carts.push(cart(client, "RESERVE", &[("a", 1)]).await);
    }
    assert_eq!(stock(&gateway, "a").await, (98, 2, 0));
    for (client, cart) in clients.iter().zip(&carts).rev() {
        let order = checkout(client, cart, "none", "op").await;
        assert_eq!(order["__typename"], "Order", "{order:#}");
    }
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "a").await, (96, 0, 4));
    gateway.assert_sound().await;
    // Two that hold some of it leave no room: the cart stays as it was. What carts and orders remember of a sale doesn't
    // count.
    let gateway = Gateway::with(|config| config.reservations_per_sku = 2).await;
    stocked(&gateway, "a", 0, 100).await;
    let shopper = gateway.shopper("ann");
    let first = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let order = checkout(&shopper, &first, "none", "op").await["id"].clone();
    settled(&gateway).await;
    let held = cart(&shopper, "RESERVE", &[("a", 1)]).await;
    let raised = adjust(&shopper, order.as_str().expect("an id"), "a", 2, "up").await;
    assert_eq!(raised["__typename"], "Order", "{raised:#}");
    let at = gateway.begin().await.now();
    let entry = doc! {
        "holder": "order:another", "quantity": 1_i64, "takes": [], "gifts": [], "at": at,
    };
    let more = doc! { "$inc": { "available": -1_i64 }, "$push": { "reservations": entry } };
    gateway.raw("inventory").update_one(doc! { "_id": "a" }, more).await.expect("held");
    let late = cart(&gateway.shopper("late"), "AT_CHECKOUT", &[("a", 1)]).await;
    let input = json!({ "input": crate::shop::checkout_input(&late, "none", "op") });
    let crowded = gateway.shopper("late").error_code(&crate::shop::checkout_query(), input).await;
    assert_eq!(crowded, "RATE_LIMITED");
    assert_eq!(state(&gateway, "carts", &late).await, "ACTIVE");
    let less = doc! {
        "$inc": { "available": 1_i64 }, "$pull": { "reservations": { "holder": "order:another" } },
    };
    gateway.raw("inventory").update_one(doc! { "_id": "a" }, less).await.expect("returned");
    gateway.assert_sound().await;
    let order = checkout(&gateway.shopper("late"), &late, "none", "op").await;
    assert_eq!(order["__typename"], "Order", "there is room again: {order:#}");
    let order = checkout(&shopper, &held, "none", "another").await;
    assert_eq!(order["__typename"], "Order", "who holds it needs no room: {order:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}
