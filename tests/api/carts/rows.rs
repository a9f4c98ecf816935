//! Changes of lines that follow each other in one request are made at once, with the results that they have one by one.

use std::fmt::Write as _;

use futures_util::future::join_all;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::{AT_CHECKOUT, RESERVE};
use crate::{
    commands::sends_only,
    support::{
        Client, Gateway, commands,
        cuts::{self, Case},
        long_bounds,
        shop::line,
        short_bounds,
    },
};

/// A change of a line: field, SKU, quantity and idempotency key.
pub(super) type Change = (&'static str, String, i64, Option<String>);

/// What is selected of each result. The documents of carts alone answer it.
pub(super) const RESULT: &str = "__typename
    ... on Cart { state modifiedAt total { minorUnits } lines { sku quantity held total { minorUnits } } }
    ... on UserError { code }
    ... on InsufficientStock { sku requested available }
    ... on NotFound { what id }
    ... on InvalidInput { field }";

/// The mutation that makes these changes of the carts, and its variables.
pub(super) fn request(changes: &[(&str, Change)], result: &str) -> (String, Value) {
    let (mut declared, mut fields, mut variables) = (String::new(), String::new(), json!({}));
    for (number, (cart, (field, sku, quantity, key))) in changes.iter().enumerate() {
        let mut input = (*field).to_owned();
        input[..1].make_ascii_uppercase();
        write!(declared, "$i{number}: {input}Input! ").expect("text");
        write!(fields, "r{number}: {field}(input: $i{number}) {{ {result} }} ").expect("text");
        variables[format!("i{number}")] =
            json!({ "cartId": cart, "sku": sku, "quantity": quantity, "idempotencyKey": key });
    }
    (format!("mutation({declared}) {{ {fields} }}"), variables)
}

/// The results of the changes of one cart in one request, in order.
pub(super) async fn together(client: &Client, cart: &str, changes: &[Change]) -> Vec<Value> {
    let changes: Vec<_> = changes.iter().map(|change| (cart, change.clone())).collect();
    let (query, variables) = request(&changes, RESULT);
    let data = client.data(&query, variables).await;
    (0..changes.len()).map(|number| data[format!("r{number}")].clone()).collect()
}

pub(super) fn adds(skus: &[String], key: Option<&str>) -> Vec<Change> {
    let key = |sku: &String| key.map(|key| format!("{key} {sku}"));
    skus.iter().map(|sku| ("addCartLine", sku.clone(), 2, key(sku))).collect()
}

async fn ten_send_only(policy: &str, expected: &[&str]) {
    let base = Gateway::start().await;
    let skus: Vec<_> = (0..10).map(|number| format!("sku-{number}")).collect();
    for sku in &skus {
        base.stocked(sku, 10).await;
    }
    let id = base.shopper("ann").open_cart(policy).await;
    let add = async |gateway: &Gateway| {
        for (number, cart) in together(&gateway.shopper("ann"), &id, &adds(&skus, Some("op")))
            .await
            .iter()
            .enumerate()
        {
            // Each result shows the cart directly after its own change.
            let lines = cart["lines"].as_array().expect("lines");
            assert_eq!(lines.len(), number + 1, "{cart:#}");
        }
    };
    // One by one these are as many of each as there are changes.
    sends_only(&base, add, expected).await;
    // A repeat finds that all is done. It has read the products beside the cart.
    sends_only(
        &base,
        async |gateway| {
            for cart in together(&gateway.shopper("ann"), &id, &adds(&skus, Some("op"))).await {
                assert_eq!(cart["lines"].as_array().expect("lines").len(), 10, "{cart:#}");
            }
        },
        &["find carts", "find products"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_additions_are_one_commit() {
    let expected = ["find carts", "find products", "findAndModify carts"];
    ten_send_only(AT_CHECKOUT, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_additions_that_are_reserved_are_one_reserve_and_one_commit() {
    let expected = ["find carts", "find products", "update inventory", "findAndModify carts"];
    ten_send_only(RESERVE, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_reads_other_documents_ends_a_row() {
    let gateway = Gateway::start().await;
    let shopper = gateway.shopper("ann");
    let skus = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
    for sku in &skus {
        gateway.stocked(sku, 10).await;
    }
    let id = shopper.open_cart(RESERVE).await;
    let changes: Vec<_> = adds(&skus, None).into_iter().map(|change| (&*id, change)).collect();
    let result = "__typename ... on Cart { lines { sku product { stock { available } } } }";
    let (query, variables) = request(&changes, result);
    let response = shopper.explained(&query, variables).await;
    assert_eq!(commands(&response).iter().filter(|sent| *sent == "find carts").count(), 3);
    for number in 0..3 {
        // The lines of later changes aren't there, and their stock isn't reserved.
        let lines = response["data"][format!("r{number}")]["lines"].as_array().expect("lines");
        assert_eq!(lines.len(), number + 1, "{response:#}");
        assert!(lines.iter().all(|line| line["product"]["stock"]["available"] == 8), "{lines:#?}");
    }
    gateway.assert_sound().await;
}

/// A change of one of the SKUs, most of which can be made.
fn any_change(random: &mut StdRng, number: usize) -> Change {
    let skus = ["a", "b", "c", "d", "e", "f", "short", "dollar", "none"];
    let sku = skus[random.random_range(0..skus.len())].to_owned();
    let field =
        ["addCartLine", "addCartLine", "setCartLineQuantity"][random.random_range(0..3_usize)];
    // Zero is invalid; of the product `short` there are ten.
    let quantity = random.random_range(0..8);
    // Some keys are used twice.
    let key = random.random_bool(0.5).then(|| format!("key {}", number / 2));
    (field, sku, quantity, key)
}

/// A result without the time, which differs.
fn timeless(mut result: Value) -> Value {
    if let Some(fields) = result.as_object_mut() {
        fields.remove("modifiedAt");
        // The ids of two carts differ.
        if fields.get("what") == Some(&json!("cart")) {
            fields.remove("id");
        }
    }
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_at_once_have_the_results_that_they_have_one_by_one() {
    let prepared = async || {
        let gateway = Gateway::with(long_bounds).await;
        for sku in ["a", "b", "c", "d", "e", "f"] {
            gateway.stocked(sku, 1_000).await;
        }
        gateway.stocked("short", 10).await;
        gateway.product("dollar", 100, "USD").await;
        gateway
    };
    let (one, other) = (prepared().await, prepared().await);
    let mut random = StdRng::seed_from_u64(6);
    let mut saved = 0;
    for round in 0..40 {
        let policy = if round % 2 == 0 { RESERVE } else { AT_CHECKOUT };
        let (ann, bob) = (one.shopper("ann"), other.shopper("ann"));
        let (at_once, one_by_one) = (ann.open_cart(policy).await, bob.open_cart(policy).await);
        for _ in 0..2 {
            let count = random.random_range(2..10);
            let changes: Vec<_> = (0..count).map(|n| any_change(&mut random, n)).collect();
            let results = together(&ann, &at_once, &changes).await;
            for (change, result) in changes.iter().zip(results) {
                let expected = together(&bob, &one_by_one, std::slice::from_ref(change)).await;
                let expected = expected.into_iter().next().expect("one");
                assert_eq!(timeless(result), timeless(expected), "{change:?} of {changes:#?}");
                saved += 1;
            }
        }
        let (cart, expected) = (ann.cart(&at_once).await, bob.cart(&one_by_one).await);
        assert_eq!(cart["lines"], expected["lines"], "round {round}");
        ann.cancel(&at_once).await;
        bob.cancel(&one_by_one).await;
    }
    assert!(saved > 200, "{saved} changes");
    one.assert_sound().await;
    for sku in ["a", "short"] {
        assert_eq!(one.available(sku).await, other.available(sku).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_change_harms_only_itself() {
    let gateway = Gateway::start().await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    for sku in ["a", "b", "c"] {
        gateway.stocked(sku, 5).await;
    }
    let (id, of_bob) = (ann.open_cart(RESERVE).await, bob.open_cart(RESERVE).await);
    let add = |sku: &str, quantity: i64| ("addCartLine", sku.to_owned(), quantity, None);
    let changes = [
        (&*id, add("a", 2)),
        (&*id, add("b", 9)),
        (&*id, add("missing", 1)),
        (&*of_bob, add("c", 1)),
        (&*id, add("c", 0)),
        (&*id, add("c", 5)),
    ];
    let (query, variables) = request(&changes, RESULT);
    let data = ann.data(&query, variables).await;
    let names = |number: usize| data[format!("r{number}")]["__typename"].as_str();
    let expected = ["Cart", "InsufficientStock", "NotFound", "NotFound", "InvalidInput", "Cart"];
    for (number, expected) in expected.into_iter().enumerate() {
        assert_eq!(names(number), Some(expected), "{number}: {data:#}");
    }
    let cart = ann.cart(&id).await;
    assert_eq!((line(&cart, "a"), line(&cart, "c")), ((2, 2), (5, 5)));
    assert_eq!(bob.cart(&of_bob).await["lines"], json!([]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_of_lines_the_first_ones_are_added() {
    let gateway = Gateway::start().await;
    let skus: Vec<_> = (0..104).map(|number| format!("sku-{number:03}")).collect();
    for sku in &skus {
        gateway.product(sku, 1, "EUR").await;
    }
    let shopper = gateway.shopper("ann");
    let id = shopper.open_cart(AT_CHECKOUT).await;
    for part in skus[..95].chunks(19) {
        together(&shopper, &id, &adds(part, None)).await;
    }
    let results = together(&shopper, &id, &adds(&skus[95..], None)).await;
    for (number, result) in results.iter().enumerate() {
        let expected = if number < 5 { "Cart" } else { "InvalidInput" };
        assert_eq!(result["__typename"], expected, "{number}: {result:#}");
    }
    assert_eq!(shopper.cart(&id).await["lines"].as_array().expect("lines").len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_once_add_up() {
    let gateway = Gateway::with(long_bounds).await;
    let skus: Vec<_> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    for sku in &skus {
        gateway.stocked(sku, 1_000).await;
    }
    // Another gateway, as of a version that makes each change by itself.
    let old = gateway.sibling_with(|config| config.coalesce_writes = false).await;
    let shopper = gateway.shopper("ann");
    let id = &shopper.open_cart(RESERVE).await;
    let calls = (0..8).map(|number| {
        let (shopper, mut skus) = (shopper.clone(), skus.clone());
        let (old, key) = (old.shopper("ann"), format!("call {number}"));
        skus.rotate_left(number % 4);
        async move {
            if number % 4 != 0 {
                return together(&shopper, id, &adds(&skus, Some(&key))).await;
            }
            let mut results = Vec::new();
            for change in adds(&skus, Some(&key)) {
                results.extend(together(&old, id, &[change]).await);
            }
            results
        }
    });
    for result in join_all(calls).await.concat() {
        assert_eq!(result["__typename"], "Cart", "{result:#}");
    }
    let cart = shopper.cart(id).await;
    for sku in &skus {
        assert_eq!(line(&cart, sku), (16, 16), "{cart:#}");
        assert_eq!(gateway.available(sku).await, 984);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_cut_is_made_once() {
    let prepare = async |gateway: &Gateway, number: usize| {
        let skus: Vec<_> = ["a", "b", "c"].map(|sku| format!("{sku}-{number}")).to_vec();
        for sku in &skus {
            gateway.stocked(sku, 10).await;
        }
        let shopper = gateway.shopper("ann");
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, &skus[0], 5).await;
        (id, skus)
    };
    let flow = async |gateway: &Gateway, (id, skus): &(String, Vec<String>)| {
        let key = |number: usize| Some(format!("op {number}"));
        let changes = [
            ("setCartLineQuantity", skus[0].clone(), 2, key(0)),
            ("addCartLine", skus[1].clone(), 3, key(1)),
            ("addCartLine", skus[2].clone(), 4, key(2)),
        ];
        let changes: Vec<_> = changes.into_iter().map(|change| (&**id, change)).collect();
        let (query, variables) = request(&changes, RESULT);
        let _answer = gateway.shopper("ann").send(&query, variables).await;
    };
    let judge = async |gateway: &Gateway, case: &Case<(String, Vec<String>)>| {
        let (id, skus) = &case.subject;
        let cart = gateway.shopper("ann").cart(id).await;
        for (sku, expected) in skus.iter().zip([2, 3, 4]) {
            assert_eq!(line(&cart, sku), (expected, expected), "{case:?}");
            assert_eq!(gateway.available(sku).await, 10 - expected, "{case:?}");
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
