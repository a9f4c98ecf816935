//! Additions of SKUs that the cart doesn't have, several in one request: they are one change, and each has its own result. And
//! single additions whose results don't show the time.

use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::json;

use super::{
    AT_CHECKOUT, RESERVE, is,
    rows::{RESULT, adds, request, together},
};
use crate::{
    commands::sends_only,
    shop,
    support::{
        Gateway,
        cuts::{self, Case},
        key, long_bounds,
        proxy::Cut,
        shop::line,
        short_bounds,
    },
};

/// Six SKUs with ten pieces each.
async fn stocked(gateway: &Gateway) -> Vec<String> {
    let skus: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    for sku in &skus {
        gateway.stocked(sku, 10).await;
    }
    skus
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_reads_the_cart_again_only_for_its_time() {
    let base = Gateway::start().await;
    let skus = stocked(&base).await;
    let [written, read] = ["update carts", "findAndModify carts"];
    for (fields, sent) in [("lines { sku held }", written), ("changed: modifiedAt", read)] {
        let id = base.shopper("ann").open_cart(AT_CHECKOUT).await;
        let add = async |gateway: &Gateway| {
            let row: Vec<_> = adds(&skus, None).into_iter().map(|add| (&*id, add)).collect();
            let (query, variables) =
                request(&row, &format!("__typename ... on Cart {{ {fields} }}"));
            let added = gateway.shopper("ann").data(&query, variables).await;
            assert!((0..6).all(|n| is(&added[format!("r{n}")], "Cart")), "{added:#}");
        };
        sends_only(&base, add, &["find carts", "find products", sent]).await;
        // A line that is lowered returns stock: the cart has the outbox.
        let lower = async |gateway: &Gateway| {
            let row = [0, 1].map(|n| (&*id, ("setCartLineQuantity", skus[n].clone(), 1, None)));
            let (query, variables) = request(&row, "__typename");
            gateway.shopper("ann").data(&query, variables).await;
        };
        sends_only(&base, lower, &["find carts", "findAndModify carts"]).await;
    }
}

/// How many of two pieces are reserved.
fn reserved(policy: &str) -> i64 {
    if policy == RESERVE { 2 } else { 0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_addition_of_a_row_is_repeated_alone_and_in_a_row() {
    for policy in [RESERVE, AT_CHECKOUT] {
        let gateway = Gateway::with(long_bounds).await;
        let skus = stocked(&gateway).await;
        let shopper = gateway.shopper("ann");
        let id = shopper.open_cart(policy).await;
        let row = adds(&skus[..5], Some("op"));
        for (number, added) in together(&shopper, &id, &row).await.iter().enumerate() {
            assert_eq!(added["lines"].as_array().map(Vec::len), Some(number + 1), "{added:#}");
        }
        let before = gateway.snapshot().await;
        for repeat in [&row[2..3], &row[..], &row[3..]] {
            for cart in together(&shopper, &id, repeat).await {
                assert_eq!(cart["lines"].as_array().map(Vec::len), Some(5), "{cart:#}");
            }
        }
        // The key of the row's second addition, with another quantity.
        let (field, sku, _, other_key) = row[1].clone();
        let other_input = [row[0].clone(), (field, sku, 3, other_key), row[4].clone()];
        let answers = together(&shopper, &id, &other_input).await;
        assert!(is(&answers[0], "Cart") && is(&answers[2], "Cart"), "{answers:#?}");
        assert_eq!(answers[1]["code"], "CONFLICT", "{answers:#?}");
        assert_eq!(gateway.snapshot().await, before);
        // Beside a new one.
        let mixed = [row[4].clone(), adds(&skus[5..], Some("op")).swap_remove(0)];
        let answers = together(&shopper, &id, &mixed).await;
        assert_eq!(answers[1]["lines"].as_array().map(Vec::len), Some(6), "{answers:#?}");
        let cart = shopper.cart(&id).await;
        for sku in &skus {
            assert_eq!(line(&cart, sku), (2, reserved(policy)), "{cart:#}");
            assert_eq!(gateway.available(sku).await, 10 - reserved(policy));
        }
        gateway.assert_sound().await;
    }
}

/// The commit of the row is held back while another call adds one of its SKUs.
#[tokio::test(flavor = "multi_thread")]
async fn a_sku_that_another_call_adds_first_has_one_line() {
    for policy in [RESERVE, AT_CHECKOUT] {
        let gateway = Gateway::behind_proxy(long_bounds).await;
        let skus = stocked(&gateway).await;
        let other = gateway.sibling().await;
        let (shopper, elsewhere) = (gateway.shopper("ann"), other.shopper("ann"));
        let id = shopper.open_cart(policy).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.count_only(|seen| seen.collection == "carts" && seen.command == "findAndModify");
        proxy.cut(0, Cut::Hold);
        let row = adds(&skus, Some("op"));
        let (answers, ()) = tokio::join!(together(&shopper, &id, &row), async {
            proxy.reached().await;
            assert!(is(&elsewhere.add(&id, &skus[1], 2).await, "Cart"));
            proxy.release().await;
        });
        proxy.heal();
        assert!(answers.iter().all(|answer| is(answer, "Cart")), "{answers:#?}");
        let cart = other.shopper("ann").cart(&id).await;
        for sku in &skus {
            let times = if *sku == skus[1] { 2 } else { 1 };
            assert_eq!(line(&cart, sku), (2 * times, reserved(policy) * times), "{cart:#}");
            assert_eq!(other.available(sku).await, 10 - reserved(policy) * times);
        }
        gateway.assert_sound().await;
    }
}

async fn filled(gateway: &Gateway, cart: &str, field: &str, elements: Vec<Document>) {
    let full = doc! { "$set": { field: elements } };
    gateway.raw("carts").update_one(doc! { "_id": key(cart) }, full).await.expect("filled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_takes_as_many_additions_as_it_can_remember() {
    let gateway = Gateway::start().await;
    let skus = stocked(&gateway).await;
    let shopper = gateway.shopper("ann");
    let now = gateway.begin().await.now();
    for (remembered, added) in [(995, 5), (996, 4), (999, 1), (1_000, 0)] {
        let id = shopper.open_cart(AT_CHECKOUT).await;
        let record = |n: i32| doc! { "tag": n.to_string(), "id": n.to_string(), "at": now };
        filled(&gateway, &id, "ops", (0..remembered).map(record).collect()).await;
        let row: Vec<_> = adds(&skus[..5], None).into_iter().map(|add| (&*id, add)).collect();
        let (query, variables) = request(&row, RESULT);
        let answer = shopper.run(&query, variables).await;
        for number in 0..5 {
            let is_added = is(&answer["data"][format!("r{number}")], "Cart");
            assert_eq!(is_added, number < added, "{number} after {remembered}: {answer:#}");
        }
        let errors = answer["errors"].as_array().map_or(0, Vec::len);
        assert_eq!(errors, 5 - added, "{answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_lines_fill_a_cart_to_its_limit() {
    let gateway = Gateway::start().await;
    let skus = stocked(&gateway).await;
    let shopper = gateway.shopper("ann");
    let id = shopper.open_cart(AT_CHECKOUT).await;
    let old_line = |n: i32| {
        doc! {
            "sku": format!("old-{n}"), "quantity": 1_i64, "held": 0_i64, "title": "t",
            "type": "album", "unitPrice": 1_i64,
        }
    };
    filled(&gateway, &id, "lines", (0..97).map(old_line).collect()).await;
    let answers = together(&shopper, &id, &adds(&skus[..3], None)).await;
    assert_eq!(answers[2]["lines"].as_array().map(Vec::len), Some(100), "{answers:#?}");
    for answer in together(&shopper, &id, &adds(&skus[3..], None)).await {
        assert_eq!(answer["field"], "input.sku", "{answer:#}");
    }
    assert_eq!(shopper.cart(&id).await["lines"].as_array().map(Vec::len), Some(100));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_lines_that_are_cut_are_added_once() {
    let prepare = async |gateway: &Gateway, number: usize| {
        let skus: Vec<_> = ["a", "b", "c"].map(|sku| format!("{sku}-{number}")).to_vec();
        for sku in &skus {
            gateway.stocked(sku, 10).await;
        }
        (gateway.shopper("ann").open_cart(RESERVE).await, skus)
    };
    let flow = async |gateway: &Gateway, (id, skus): &(String, Vec<String>)| {
        let row: Vec<_> =
            adds(skus, Some("op")).into_iter().map(|change| (&**id, change)).collect();
        let (query, variables) = request(&row, RESULT);
        let _answer = gateway.shopper("ann").send(&query, variables).await;
    };
    let judge = async |gateway: &Gateway, case: &Case<(String, Vec<String>)>| {
        let (id, skus) = &case.subject;
        let cart = gateway.shopper("ann").cart(id).await;
        for sku in skus {
            assert_eq!(line(&cart, sku), (2, 2), "{case:?}");
            assert_eq!(gateway.available(sku).await, 8, "{case:?}");
        }
    };
    let aftermath = async |gateway: &Gateway| {
        gateway.sweep().await;
        // What was reserved for a cart that this sweep has changed is returned by the next one, two grace periods later.
        gateway.sweep().await;
        gateway.assert_sound().await;
    };
    cuts::everywhere_then(short_bounds, prepare, flow, judge, aftermath).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn single_additions_at_once_add_up() {
    for policy in [RESERVE, AT_CHECKOUT] {
        let gateway = Gateway::with(long_bounds).await;
        let skus = stocked(&gateway).await;
        let shopper = gateway.shopper("ann");
        let id = shopper.open_cart(policy).await;
        // Two of each SKU.
        let adds = skus.iter().chain(&skus).map(|sku| shop::add(&shopper, &id, sku, 2));
        for added in join_all(adds).await {
            assert!(is(&added, "Cart"), "{added:#}");
        }
        let cart = shopper.cart(&id).await;
        for sku in &skus {
            assert_eq!(line(&cart, sku), (4, 2 * reserved(policy)), "{cart:#}");
            assert_eq!(gateway.available(sku).await, 10 - 2 * reserved(policy));
        }
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_addition_shows_the_cart_after_it() {
    let gateway = Gateway::start().await;
    let skus = stocked(&gateway).await;
    let shopper = gateway.shopper("ann");
    let id = shopper.open_cart(RESERVE).await;
    let fields = "state total { minorUnits } lines { sku title quantity held }";
    let stored = format!("query($id: ID!) {{ cart(id: $id) {{ {fields} }} }}");
    // The last one is a repeat.
    for (at, quantity, key) in [(0, 2, "one"), (1, 1, "two"), (0, 3, "three"), (1, 1, "two")] {
        let add = ("addCartLine", skus[at].clone(), quantity, Some(key.to_owned()));
        let (query, variables) = request(&[(&*id, add)], &format!("... on Cart {{ {fields} }}"));
        let shown = shopper.data(&query, variables).await["r0"].clone();
        assert_eq!(shown, shopper.field(&stored, json!({ "id": id })).await, "{key}");
    }
    let cart = shopper.cart(&id).await;
    assert_eq!((line(&cart, &skus[0]), line(&cart, &skus[1])), ((5, 5), (1, 1)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_addition_that_is_cut_is_made_once() {
    let prepare = async |gateway: &Gateway, number: usize| {
        let sku = format!("a-{number}");
        gateway.stocked(&sku, 10).await;
        (gateway.shopper("ann").open_cart(RESERVE).await, sku)
    };
    let flow = async |gateway: &Gateway, (id, sku): &(String, String)| {
        let add = ("addCartLine", sku.clone(), 2, Some("op".to_owned()));
        let (query, variables) = request(&[(&**id, add)], "__typename");
        let _answer = gateway.shopper("ann").send(&query, variables).await;
    };
    let judge = async |gateway: &Gateway, case: &Case<(String, String)>| {
        let (id, sku) = &case.subject;
        let cart = gateway.shopper("ann").cart(id).await;
        assert_eq!(line(&cart, sku), (2, 2), "{case:?}");
        assert_eq!(gateway.available(sku).await, 8, "{case:?}");
    };
    let aftermath = async |gateway: &Gateway| {
        gateway.sweep().await;
        // What was reserved for a cart that this sweep has changed is returned by the next one, two grace periods later.
        gateway.sweep().await;
        gateway.assert_sound().await;
    };
    cuts::everywhere_then(short_bounds, prepare, flow, judge, aftermath).await;
}
