//! What was bought together: it is what the orders say, whatever happens to these.

use docgate::{
    background,
    config::Config,
    domains::{self, ROOMS},
    invariants::Progress,
};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{adjust, cancel, delete};
use crate::{
    catalog::variants::{added, variant},
    shop::{placed, settled, stocked},
    support::{Client, Gateway, commands, direct::in_time, proxy::Cut, short_bounds},
};

/// Counts at once.
fn prompt(config: &mut Config) {
    config.bought_together_seconds = 0;
}

fn prompt_and_short(config: &mut Config) {
    short_bounds(config);
    prompt(config);
}

/// Lets the sweep of orders follow what changed.
async fn follow(gateway: &Gateway) {
    settled(gateway).await;
    gateway.sweep_whole_room(&domains::orders::ROOM).await;
}

/// Products for nothing, so that orders need no payment.
async fn shop(gateway: &Gateway, skus: &[&str]) -> Client {
    for sku in skus {
        stocked(gateway, sku, 0, 1_000).await;
    }
    gateway.shopper("ann")
}

async fn order(client: &Client, skus: &[&str]) -> String {
    let lines: Vec<_> = skus.iter().map(|sku| (*sku, 1)).collect();
    placed(client, "none", &lines).await
}

/// The SKUs that are shown beside a product.
async fn together(gateway: &Gateway, sku: &str) -> Vec<String> {
    let query = "query($sku: ID!) { product(sku: $sku) { boughtTogether(first: 20) { ... on Product { sku } } } }";
    let product = gateway.anonymous().field(query, json!({ "sku": sku })).await;
    let shown = product["boughtTogether"].as_array().expect("products").iter();
    shown.map(|one| one["sku"].as_str().expect("a SKU").to_owned()).collect()
}

/// The number of orders whose changes weren't followed.
async fn marked(gateway: &Gateway) -> usize {
    let orders = gateway.stored("orders").await;
    orders.iter().filter(|order| order.contains_key("recount")).count()
}

/// The number of orders with both, as it is stored.
async fn orders_with(gateway: &Gateway, sku: &str, other: &str) -> i64 {
    let found = gateway.raw("boughtTogether").find_one(doc! { "_id": sku }).await.expect("read");
    let Some(found) = found else { return 0 };
    let others = found.get_array("others").map(Vec::as_slice).unwrap_or_default();
    let mut others = others.iter().filter_map(|one| one.as_document());
    let found = others.find(|one| one.get_str("sku").is_ok_and(|sku| sku == other));
    found.map_or(0, |one| one.get_i64("orders").expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_shows_what_was_bought_with_it() {
    let gateway = Gateway::with(prompt).await;
    let ann = shop(&gateway, &["a", "b", "c", "d"]).await;
    let orders: [&[&str]; 6] =
        [&["a", "b"], &["b", "a"], &["a", "c"], &["c", "a"], &["b", "c", "d"], &["a"]];
    for skus in orders {
        order(&ann, skus).await;
    }
    order(&ann, &["d", "c", "b", "a"]).await;
    assert!(together(&gateway, "a").await.is_empty());
    gateway.assert_sound().await;
    follow(&gateway).await;
    gateway.assert_sound().await;
    // One order of two products, as of `a` and `d`, isn't shown.
    assert_eq!(together(&gateway, "a").await, ["b", "c"]);
    assert_eq!(together(&gateway, "b").await, ["a", "c", "d"]);
    assert_eq!(together(&gateway, "d").await, ["b", "c"]);
    assert_eq!(orders_with(&gateway, "a", "b").await, 3);
    assert_eq!(orders_with(&gateway, "b", "a").await, 3);
    assert_eq!(orders_with(&gateway, "c", "d").await, 2);
    assert_eq!(orders_with(&gateway, "d", "a").await, 0);
    // Each order was followed.
    assert_eq!(marked(&gateway).await, 0);

    let query =
        "{ product(sku: \"b\") { boughtTogether(first: 2) { ... on Product { sku title } } } }";
    let response = gateway.anonymous().explained(query, json!({})).await;
    let shown = &response["data"]["product"]["boughtTogether"];
    assert_eq!(
        *shown,
        json!([{ "sku": "a", "title": "Title of a" }, { "sku": "c", "title": "Title of c" }])
    );
    let mut sent = commands(&response);
    sent.sort();
    assert_eq!(sent, ["find boughtTogether", "find products", "find products"]);
    for first in [0, 21] {
        let query = format!(
            "{{ product(sku: \"a\") {{ boughtTogether(first: {first}) {{ ... on Product {{ sku }} }} }} }}"
        );
        assert_eq!(gateway.anonymous().error_code(&query, json!({})).await, "BAD_USER_INPUT");
    }

    // A product that was deleted isn't shown.
    let remove = "mutation { deleteProduct(input: { sku: \"c\" }) { __typename } }";
    gateway.merchant().field(remove, json!({})).await;
    assert_eq!(together(&gateway, "b").await, ["a", "d"]);
    // The next one is shown instead.
    let shown = gateway.anonymous().field(query, json!({})).await["boughtTogether"].clone();
    let skus: Vec<_> = shown.as_array().expect("products").iter().map(|one| &one["sku"]).collect();
    assert_eq!(skus, ["a", "d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn variants_count_for_their_product() {
    let gateway = Gateway::with(prompt).await;
    let ann = shop(&gateway, &["b", "c", "shirt"]).await;
    for code in ["m", "l"] {
        let sku = format!("shirt.{code}");
        added(&gateway, variant(&sku, ["red", code], 0)).await;
        gateway.merchant().receive_stock(json!({ "sku": sku, "quantity": 10 })).await;
    }
    let orders: [&[&str]; 4] =
        [&["shirt.m", "c"], &["shirt.l", "c"], &["shirt.l", "b"], &["shirt.m", "shirt.l", "c"]];
    for skus in orders {
        order(&ann, skus).await;
        // What was counted before stays known.
        follow(&gateway).await;
    }
    order(&ann, &["shirt", "b"]).await;
    follow(&gateway).await;
    gateway.assert_sound().await;
    // A product isn't shown beside itself, and an order with two variants counts once.
    assert_eq!(together(&gateway, "shirt").await, ["c", "b"]);
    assert_eq!(together(&gateway, "b").await, ["shirt"]);
    assert_eq!(together(&gateway, "c").await, ["shirt"]);
    assert_eq!(orders_with(&gateway, "shirt", "c").await, 3);
    assert_eq!(orders_with(&gateway, "c", "shirt").await, 3);
    assert_eq!(orders_with(&gateway, "shirt", "b").await, 2);

    // A repair finds the orders of all SKUs again.
    let stored = gateway.raw("boughtTogether");
    stored.delete_one(doc! { "_id": "shirt" }).await.expect("removed");
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["what was bought together with shirt"]);
    // Orders of an earlier version don't have the SKUs by which they are found.
    let unknown = doc! { "$unset": { "skus": 1 } };
    gateway.raw("orders").update_many(doc! {}, unknown).await.expect("changed");
    stored.delete_many(doc! {}).await.expect("removed");
    let repaired = gateway.repair().await;
    let of_orders = repaired.iter().filter(|what| what.starts_with("the SKUs of order ")).count();
    assert_eq!((of_orders, repaired.len()), (5, 8), "{repaired:#?}");
    assert!(gateway.repair().await.is_empty());
    assert_eq!(orders_with(&gateway, "shirt", "c").await, 3);
    gateway.assert_sound().await;
}

/// More variants in one order than other products are kept.
#[tokio::test(flavor = "multi_thread")]
async fn many_variants_leave_room_for_other_products() {
    let gateway = Gateway::with(prompt).await;
    let ann = shop(&gateway, &["c", "shirt"]).await;
    let mut skus = vec!["c".to_owned()];
    for number in 0..25 {
        let sku = format!("shirt.{number}");
        added(&gateway, variant(&sku, ["red", &number.to_string()], 0)).await;
        gateway.merchant().receive_stock(json!({ "sku": sku, "quantity": 10 })).await;
        skus.push(sku);
    }
    let skus: Vec<&str> = skus.iter().map(String::as_str).collect();
    for _ in 0..2 {
        order(&ann, &skus).await;
    }
    follow(&gateway).await;
    gateway.assert_sound().await;
    assert_eq!(together(&gateway, "shirt").await, ["c"]);
    assert_eq!(together(&gateway, "c").await, ["shirt"]);
    assert_eq!(gateway.stored("boughtTogether").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_does_not_count() {
    let gateway = Gateway::with(prompt).await;
    let ann = shop(&gateway, &["a", "b", "c"]).await;
    let mut others = Vec::new();
    for skus in [["a", "b"], ["a", "b"], ["b", "c"], ["b", "c"]] {
        others.push(order(&ann, &skus).await);
    }
    let first = order(&ann, &["a", "b"]).await;
    let second = order(&ann, &["a", "b", "c"]).await;
    let counts = async |expected: [i64; 2]| {
        gateway.assert_sound().await;
        follow(&gateway).await;
        gateway.assert_sound().await;
        let counted =
            [orders_with(&gateway, "a", "b").await, orders_with(&gateway, "b", "c").await];
        assert_eq!(counted, expected);
    };
    counts([4, 3]).await;
    // Another quantity changes nothing, and so marks nothing.
    adjust(&ann, &second, "b", 3, "more").await;
    settled(&gateway).await;
    assert_eq!(marked(&gateway).await, 0);
    // A line that is removed, and added again.
    adjust(&ann, &second, "b", 0, "none").await;
    counts([3, 2]).await;
    adjust(&ann, &second, "b", 1, "again").await;
    counts([4, 3]).await;
    // An order that is cancelled, also when it is deleted before the sweep has seen it.
    cancel(&ann, &first, "cancel").await;
    counts([3, 3]).await;
    cancel(&ann, &second, "cancel").await;
    settled(&gateway).await;
    let deleted = delete(&gateway.admin(), &second).await;
    assert_eq!(deleted["__typename"], "DeletedOrder", "{deleted:#}");
    assert_eq!(marked(&gateway).await, 1);
    counts([2, 2]).await;
    // Of two orders one is left, which isn't shown.
    cancel(&ann, &others[0], "cancel").await;
    counts([0, 2]).await;
    for other in &others[1..] {
        cancel(&ann, other, "cancel").await;
    }
    counts([0, 0]).await;
    assert!(gateway.stored("boughtTogether").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_frequent_twenty_are_kept() {
    let gateway = Gateway::with(prompt).await;
    let skus: Vec<String> = (0..23).map(|number| format!("p-{number:02}")).collect();
    let skus: Vec<&str> = skus.iter().map(String::as_str).collect();
    let ann = shop(&gateway, &skus).await;
    order(&ann, &skus).await;
    order(&ann, &skus).await;
    order(&ann, &["p-00", "p-22"]).await;
    follow(&gateway).await;
    let found = together(&gateway, "p-00").await;
    assert_eq!(found.len(), 20);
    assert_eq!(found[..3], ["p-22", "p-01", "p-02"]);
    // More others than are kept are in as many orders as the product itself.
    let found = together(&gateway, "p-21").await;
    assert_eq!((found.len(), found[19].as_str()), (20, "p-19"));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_waits_until_more_has_come() {
    let gateway = Gateway::start().await;
    let ann = shop(&gateway, &["a", "b"]).await;
    for _ in 0..2 {
        order(&ann, &["a", "b"]).await;
    }
    follow(&gateway).await;
    let waiting = gateway.stored("boughtTogether").await;
    assert_eq!(waiting.len(), 2);
    let waits = |one: &Document| one.contains_key("dirtyAt") && !one.contains_key("countedAt");
    assert!(waiting.iter().all(waits), "{waiting:?}");
    gateway.assert_sound().await;
    let sibling = gateway.sibling_with(prompt).await;
    follow(&sibling).await;
    assert_eq!(together(&sibling, "a").await, ["b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_may_be_cut_at_each_of_its_writes() {
    let gateway = Gateway::behind_proxy(prompt_and_short).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let short = gateway.sibling_with(prompt_and_short).await;
    let sibling = short.patient_sibling().await;
    let ann = shop(&sibling, &["a", "b"]).await;
    let rooms = || ROOMS.iter().copied().filter(|room| room.name == "orders");
    let mut expected = 0;
    for how in [Cut::Refused, Cut::ReplyLost, Cut::BeforeForwarding] {
        // The marks of two products, that of the order, and two counts.
        for at in 0..4 {
            let placed = order(&sibling.shopper("ann"), &["a", "b"]).await;
            if at % 2 == 0 {
                cancel(&ann, &placed, "cancel").await;
            } else {
                expected += 1;
            }
            settled(&sibling).await;
            proxy.count_only(|seen| {
                ["boughtTogether", "orders"].contains(&seen.collection.as_str())
                    && ["update", "delete", "findAndModify"].contains(&seen.command.as_str())
            });
            proxy.cut_with_retries(at, how);
            // Whatever becomes of it.
            background::sweep_each(&gateway.app, rooms()).await.ok();
            background::sweep_each(&gateway.app, rooms()).await.ok();
            proxy.heal();
            sibling.assert_sound().await;
            follow(&sibling).await;
            sibling.assert_sound().await;
            let counted = orders_with(&sibling, "a", "b").await;
            let shown = if expected < 2 { 0 } else { expected };
            assert_eq!(counted, shown, "{how:?} at {at}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_gateways_count_each_order_once() {
    let gateway = Gateway::with(prompt).await;
    let ann = shop(&gateway, &["a", "b"]).await;
    let sibling = gateway.sibling_with(prompt).await;
    let bob = sibling.shopper("bob");
    let shops = async |client: &Client| {
        for number in 0..6 {
            let placed = order(client, &["a", "b"]).await;
            if number % 3 == 0 {
                cancel(client, &placed, "cancel").await;
            }
        }
    };
    let sweeps = async |gateway: &Gateway| {
        let rooms = || ROOMS.iter().copied().filter(|room| room.name == "orders");
        for _ in 0..15 {
            // Both may insert the same document, or one may overtake the other.
            background::sweep_each(&gateway.app, rooms()).await.ok();
        }
    };
    tokio::join!(shops(&ann), shops(&bob), sweeps(&gateway), sweeps(&sibling));
    settled(&sibling).await;
    follow(&gateway).await;
    gateway.assert_sound().await;
    assert_eq!(orders_with(&gateway, "a", "b").await, 8);
    assert_eq!(orders_with(&gateway, "b", "a").await, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_compares_with_a_recount_and_a_repair_counts_again() {
    let gateway = Gateway::with(prompt).await;
    let ann = shop(&gateway, &["a", "b"]).await;
    for _ in 0..2 {
        order(&ann, &["a", "b"]).await;
    }
    follow(&gateway).await;
    let stored = gateway.raw("boughtTogether");
    let wrong = doc! { "$set": { "others.0.orders": 7_i64 } };
    stored.update_one(doc! { "_id": "a" }, wrong).await.expect("changed");
    // Of an order from before the counts nothing is stored.
    stored.delete_one(doc! { "_id": "b" }).await.expect("removed");
    let rooms = ROOMS.iter().copied().filter(|room| room.name == "orders");
    let report = in_time(async || {
        domains::check_each(&gateway.app, rooms.clone(), Progress::default()).await
    })
    .await;
    let broken: Vec<_> = report.rules.iter().filter(|(_, broken)| !broken.is_empty()).collect();
    assert_eq!(broken.len(), 1, "{broken:#?}");
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["what was bought together with a", "what was bought together with b"]);
    assert!(gateway.repair().await.is_empty());
    // Without any of the documents all are counted.
    stored.delete_many(doc! {}).await.expect("removed");
    assert_eq!(gateway.repair().await, repaired);
    assert_eq!(together(&gateway, "a").await, ["b"]);
    assert_eq!(together(&gateway, "b").await, ["a"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_orders_there_is_no_such_field() {
    let rooms = ["catalog", "categories", "comments", "people"];
    let gateway = Gateway::with(|config| config.rooms = rooms.map(String::from).into()).await;
    let query = "{ product(sku: \"a\") { boughtTogether { ... on Product { sku } } } }";
    let response: Value = gateway.anonymous().run(query, json!({})).await;
    let message = response["errors"][0]["message"].as_str().expect("an error");
    assert!(message.contains("boughtTogether"), "{response:#}");
}
