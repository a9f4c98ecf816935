//! The checkout: one order or none, whatever happens.

use std::time::Duration;

use docgate::{
    domains::transfers::operations as transfers,
    graphql::{
        node_id::NodeKind,
        scalars::{CurrencyCode, Money},
    },
};
use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::{
    shop::{
        account, add, balance, cart, checkout, checkout_input, checkout_query, count, settled,
        state, stock, stocked, stored, try_checkout,
    },
    support::{Gateway, cuts, key, long_bounds, proxy::Cut, short_bounds, until, very_long_bounds},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_becomes_an_order() {
    let gateway = Gateway::with(long_bounds).await;
    stocked(&gateway, "a", 250, 10).await;
    stocked(&gateway, "b", 1_000, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    for (policy, op) in [("RESERVE", "one"), ("AT_CHECKOUT", "two")] {
        let cart = cart(&shopper, policy, &[("b", 1), ("a", 2), ("a", 1)]).await;
        let order = checkout(&shopper, &cart, &purse, op).await;
        assert_eq!(order["__typename"], "Order", "{order:#}");
        assert_eq!(order["state"], "PLACED");
        assert_eq!(order["cartId"], json!(cart));
        assert_eq!(order["total"]["minorUnits"], 1_750);
        assert_eq!(order["paid"]["minorUnits"], 1_750);
        assert_eq!(order["refunded"]["minorUnits"], 0);
        assert_eq!(order["shipping"]["city"], "12345 A city");
        let lines: Vec<_> = order["lines"].as_array().expect("lines").iter().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[1]["sku"], &lines[1]["quantity"]), (&json!("a"), &json!(3)));
        complete(&gateway, &cart).await;
        // A repeat is answered with the order as it stands; with another input it is a conflict.
        assert_eq!(checkout(&shopper, &cart, &purse, op).await, order);
        let mut other = checkout_input(&cart, &purse, op);
        other["shipping"]["name"] = json!("Someone else");
        let other = shopper.field(&checkout_query(), json!({ "input": other })).await;
        assert_eq!(other["code"], "CONFLICT");
        let closed = checkout(&shopper, &cart, &purse, "another op").await;
        assert_eq!(
            (&closed["code"], &closed["cartState"]),
            (&json!("CART_NOT_ACTIVE"), &json!("COMPLETE"))
        );
        let late = add(&shopper, &cart, "a", 1).await;
        assert_eq!(late["code"], "CART_NOT_ACTIVE");
    }
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "a").await, (4, 0, 6));
    assert_eq!(balance(&gateway, &purse).await, 1_500);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymous_cart_is_its_own_capability_and_an_owned_one_is_its_owners() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 10).await;
    let nobody = gateway.anonymous();
    let open = cart(&nobody, "RESERVE", &[("free", 1)]).await;
    let order = checkout(&nobody, &open, "none", "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    stocked(&gateway, "dear", 100, 10).await;
    let dear = cart(&nobody, "RESERVE", &[("dear", 1)]).await;
    for (client, told) in [(&nobody, "sign in"), (&gateway.shopper("ann"), "name the account")] {
        let refused = checkout(client, &dear, "none", "op").await;
        assert_eq!(refused["field"], "input.payment.accountId", "{refused:#}");
        assert!(refused["message"].as_str().expect("a message").contains(told), "{refused:#}");
    }
    let owned = cart(&gateway.shopper("ann"), "RESERVE", &[("free", 1)]).await;
    for client in [nobody, gateway.shopper("bob"), gateway.merchant()] {
        let before = gateway.snapshot().await;
        let refused = checkout(&client, &owned, "none", "op").await;
        assert_eq!(refused["code"], "NOT_FOUND", "{refused:#}");
        assert_eq!(gateway.snapshot().await, before);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_refused_early_changes_nothing() {
    let gateway = Gateway::with(|config| config.body_bytes = 32 << 20).await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let theirs = account(&gateway, "bob", 5_000).await;
    let empty = cart(&shopper, "RESERVE", &[]).await;
    let full = cart(&shopper, "RESERVE", &[("a", 1)]).await;
    settled(&gateway).await;
    let before = gateway.snapshot().await;
    assert_eq!(checkout(&shopper, &empty, &purse, "op").await["code"], "CART_EMPTY");
    assert_eq!(
        checkout(&shopper, &NodeKind::CART.id("nothing"), &purse, "op").await["code"],
        "NOT_FOUND"
    );
    let huge = "x".repeat(16 << 20);
    let nothing = NodeKind::ACCOUNT.id("nothing").0;
    for (path, value) in [
        ("/cartId", "$where.a"),
        ("/cartId", huge.as_str()),
        ("/payment/accountId", "a.b"),
        ("/payment/accountId", theirs.as_str()),
        ("/payment/accountId", "nothing"),
        ("/payment/accountId", nothing.as_str()),
    ] {
        let mut input = checkout_input(&full, &purse, "op");
        *input.pointer_mut(path).expect("a field") = json!(value);
        let refused = shopper.field(&checkout_query(), json!({ "input": input })).await;
        assert_eq!(refused["code"], "NOT_FOUND", "{path} {refused:#}");
    }
    for (path, value) in [
        ("/shipping/name", json!("")),
        ("/shipping/name", json!("\u{a0}\u{200b}")),
        ("/shipping/street", json!(huge)),
        ("/shipping/city", json!("a\u{0}b")),
        ("/shipping/country", json!("de")),
        ("/shipping/country", json!("$a")),
        ("/shipping/country", json!("ZZ")),
        ("/shipping/country", json!("")),
        ("/idempotencyKey", json!("x".repeat(129))),
    ] {
        let mut input = checkout_input(&full, &purse, "op");
        *input.pointer_mut(path).expect("a field") = value;
        let refused = shopper.field(&checkout_query(), json!({ "input": input })).await;
        assert_eq!(refused["code"], "INVALID_INPUT", "{path} {refused:#}");
        let field = format!("input{}", path.replace('/', "."));
        assert_eq!(refused["field"], json!(field));
    }
    assert_eq!(gateway.snapshot().await, before);
    // Texts that mean something to MongoDB are only texts.
    let mut input = checkout_input(&full, &purse, "$op.id");
    input["shipping"]["name"] = json!("$name.$$ROOT");
    let order = shopper.field(&checkout_query(), json!({ "input": input })).await;
    assert_eq!(order["shipping"]["name"], "$name.$$ROOT", "{order:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn short_stock_is_told_line_by_line_and_nothing_is_taken() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    stocked(&gateway, "b", 100, 2).await;
    stocked(&gateway, "c", 100, 1).await;
    gateway.product("d", 100, "EUR").await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let cart = cart(&shopper, "AT_CHECKOUT", &[("d", 1), ("c", 4), ("b", 2), ("a", 3)]).await;
    let short = checkout(&shopper, &cart, &purse, "op").await;
    assert_eq!(short["__typename"], "CheckoutShort");
    let lines = json!([
        { "sku": "c", "requested": 4, "available": 1 },
        { "sku": "d", "requested": 1, "available": 0 },
    ]);
    assert_eq!(short["shortLines"], lines);
    assert_eq!(state(&gateway, "carts", &cart).await, "ACTIVE");
    assert_eq!(stock(&gateway, "a").await, (10, 0, 0));
    assert_eq!(stock(&gateway, "b").await, (2, 0, 0));
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    assert_eq!(count(&gateway, "orders").await, 0);
    gateway.assert_sound().await;
    // The same op is tried again once there is enough.
    let receive =
        "mutation($sku: ID!) { receiveStock(input: {sku: $sku, quantity: 5}) { __typename } }";
    for sku in ["c", "d"] {
        gateway.merchant().field(receive, json!({ "sku": sku })).await;
    }
    let order = checkout(&shopper, &cart, &purse, "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    assert_eq!(balance(&gateway, &purse).await, 4_000);
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_payment_leaves_the_cart_active_and_nothing_taken() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 250).await;
    let cart = cart(&shopper, "AT_CHECKOUT", &[("a", 3)]).await;
    for _ in 0..3 {
        let declined = checkout(&shopper, &cart, &purse, "op").await;
        assert_eq!(declined["__typename"], "PaymentDeclined", "{declined:#}");
        assert_eq!(state(&gateway, "carts", &cart).await, "ACTIVE");
        assert_eq!(stock(&gateway, "a").await, (10, 0, 0));
        assert_eq!(balance(&gateway, &purse).await, 250);
    }
    gateway.assert_sound().await;
    let deposit =
        "mutation($id: ID!) { deposit(input: {accountId: $id, amount: 50}) { __typename } }";
    gateway.service().field(deposit, json!({ "id": purse })).await;
    let order = checkout(&shopper, &cart, &purse, "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    assert_eq!(balance(&gateway, &purse).await, 0);
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_only_what_costs_nothing_is_checked_out() {
    let none = docgate::config::PaymentProvider::None;
    let gateway = Gateway::with(|config| config.payments = none).await;
    stocked(&gateway, "free", 0, 10).await;
    stocked(&gateway, "dear", 1, 10).await;
    let shopper = gateway.anonymous();
    let free = cart(&shopper, "AT_CHECKOUT", &[("free", 2)]).await;
    let order = checkout(&shopper, &free, "none", "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    let dear = cart(&shopper, "AT_CHECKOUT", &[("free", 2), ("dear", 1)]).await;
    let declined = checkout(&shopper, &dear, "none", "op").await;
    assert_eq!(declined["__typename"], "PaymentDeclined", "{declined:#}");
    assert_eq!(stock(&gateway, "free").await, (8, 0, 2));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_checkouts_of_one_cart_make_one_order() {
    let gateway = Gateway::with(long_bounds).await;
    stocked(&gateway, "a", 100, 1_000).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 100_000).await;
    for round in 0..10 {
        let policy = if round % 2 == 0 { "RESERVE" } else { "AT_CHECKOUT" };
        let same = cart(&shopper, policy, &[("a", 2)]).await;
        let answers = join_all((0..3).map(|_| checkout(&shopper, &same, &purse, "one op"))).await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        assert_eq!(answers[0]["__typename"], "Order");

        let apart = cart(&shopper, policy, &[("a", 2)]).await;
        let ops = ["x", "y", "z"];
        let answers = join_all(ops.iter().map(|op| checkout(&shopper, &apart, &purse, op))).await;
        let orders = answers.iter().filter(|answer| answer["__typename"] == "Order").count();
        let closed = answers.iter().filter(|answer| answer["code"] == "CART_NOT_ACTIVE").count();
        assert_eq!((orders, closed), (1, 2), "{answers:#?}");
    }
    settled(&gateway).await;
    assert_eq!(count(&gateway, "orders").await, 20);
    assert_eq!(balance(&gateway, &purse).await, 100_000 - 20 * 200);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_sixty_four_shoppers_one_gets_the_last_unit() {
    let gateway = Gateway::with(very_long_bounds).await;
    stocked(&gateway, "last", 100, 1).await;
    stocked(&gateway, "plenty", 100, 1_000).await;
    let shoppers = join_all((0..64).map(async |n| {
        let client = gateway.shopper(&format!("shopper-{n}"));
        let purse = account(&gateway, &format!("shopper-{n}"), 1_000).await;
        let cart = cart(&client, "AT_CHECKOUT", &[("plenty", 1), ("last", 1)]).await;
        (client, cart, purse)
    }))
    .await;
    let answers =
        join_all(shoppers.iter().map(|(client, cart, purse)| checkout(client, cart, purse, "op")))
            .await;
    let orders = answers.iter().filter(|answer| answer["__typename"] == "Order").count();
    let short = json!([{ "sku": "last", "requested": 1, "available": 0 }]);
    let shorts = answers.iter().filter(|answer| answer["shortLines"] == short).count();
    assert_eq!((orders, shorts), (1, 63), "{answers:#?}");
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "last").await, (0, 0, 1));
    assert_eq!(stock(&gateway, "plenty").await, (999, 0, 1));
    gateway.assert_sound().await;
}

/// Waits until the cart is complete, which happens behind the answer.
async fn complete(gateway: &Gateway, cart: &str) {
    let is_complete = async || state(gateway, "carts", cart).await == "COMPLETE";
    until("the cart is complete", is_complete).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_that_changes_while_the_checkout_reserves_is_sold_as_it_is_or_not_at_all() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let other = gateway.sibling().await;
    let other_shopper = other.shopper("ann");
    let cancel = "mutation($id: ID!) { cancelCart(input: {cartId: $id}) { __typename } }";
    for change in ["add", "cancel", "checkout"] {
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
        settled(&gateway).await;
        // The decision is held back.
        proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
        proxy.cut(0, Cut::Hold);
        let (answer, ()) = tokio::join!(checkout(&shopper, &id, &purse, "op"), async {
            proxy.reached().await;
            let done = match change {
                "add" => add(&other_shopper, &id, "a", 1).await,
                "cancel" => other_shopper.field(cancel, json!({ "id": id })).await,
                _ => checkout(&other_shopper, &id, &purse, "another").await,
            };
            let name = if change == "checkout" { "Order" } else { "Cart" };
            assert_eq!(done["__typename"], name, "{done:#}");
            proxy.release().await;
        });
        proxy.heal();
        match change {
            "add" => assert_eq!(answer["lines"][0]["quantity"], 2, "{answer:#}"),
            "cancel" => assert_eq!(answer["cartState"], "CANCELLED", "{answer:#}"),
            _ => assert_eq!(answer["code"], "CART_NOT_ACTIVE", "{answer:#}"),
        }
    }
    settled(&gateway).await;
    settled(&other).await;
    // Two of the first cart, none of the second, one of the third.
    assert_eq!(stock(&gateway, "a").await, (7, 0, 3));
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 300);
    gateway.assert_sound().await;
}

/// The decision is held back while the only line is removed and added again: its product has got another title.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_has_the_titles_of_the_cart_that_it_sells() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let other = gateway.sibling().await;
    let elsewhere = other.shopper("ann");
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let (order, ()) = tokio::join!(checkout(&shopper, &id, &purse, "op"), async {
        proxy.reached().await;
        elsewhere.remove(&id, "a").await;
        let renamed = doc! { "$set": { "title": "Another title" } };
        gateway.raw("products").update_one(doc! { "_id": "a" }, renamed).await.expect("renamed");
        add(&elsewhere, &id, "a", 1).await;
        proxy.release().await;
    });
    proxy.heal();
    settled(&gateway).await;
    let order = stored(&gateway, "orders", order["id"].as_str().expect("an order")).await;
    let line = order.get_array("lines").ok().and_then(|lines| lines[0].as_document());
    let title = line.and_then(|line| line.get_str("title").ok());
    assert_eq!(title, Some("Another title"), "{order}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_whose_time_is_over_during_checkout_is_sold_or_returned() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.cart_idle_seconds = 1;
        config.reservation_seconds = 2;
    })
    .await;
    stocked(&gateway, "a", 100, 1_000).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 100_000).await;
    let mut carts = Vec::new();
    for _ in 0..20 {
        carts.push(cart(&shopper, "RESERVE", &[("a", 1)]).await);
    }
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let sweeps = async {
        for _ in 0..10 {
            // A sweep may meet what a checkout changes at this moment.
            let _met = docgate::background::sweep_all(&gateway.app).await;
        }
    };
    let checkouts = join_all(carts.iter().map(|cart| checkout(&shopper, cart, &purse, "op")));
    let (answers, ()) = tokio::join!(checkouts, sweeps);
    settled(&gateway).await;
    gateway.sweep().await;
    let orders = answers.iter().filter(|answer| answer["__typename"] == "Order").count();
    let orders = i64::try_from(orders).expect("few orders");
    for (cart, answer) in carts.iter().zip(&answers) {
        let expected = if answer["__typename"] == "Order" { "COMPLETE" } else { "EXPIRED" };
        assert_eq!(state(&gateway, "carts", cart).await, expected, "{answer:#}");
    }
    assert_eq!(stock(&gateway, "a").await, (1_000 - orders, 0, orders));
    assert_eq!(balance(&gateway, &purse).await, 100_000 - 100 * orders);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_finishes_a_decided_checkout_beside_the_run_that_still_goes_on() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let second = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "orders" && seen.command == "insert");
    proxy.cut(0, Cut::Hold);
    let other = gateway.sibling().await;
    let (order, repeat) = tokio::join!(checkout(&shopper, &second, &purse, "op"), async {
        proxy.reached().await;
        let repeat = async {
            let repeat = checkout(&other.shopper("ann"), &second, &purse, "op").await;
            assert_eq!(repeat["__typename"], "Order");
            repeat
        };
        let release = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(state(&gateway, "carts", &second).await, "DECIDED");
            proxy.release().await;
        };
        tokio::join!(repeat, release).0
    });
    assert_eq!(order, repeat);
    settled(&gateway).await;
    settled(&other).await;
    assert_eq!(count(&gateway, "orders").await, 1);
    assert_eq!(balance(&gateway, &purse).await, 4_900);
    gateway.assert_sound().await;
}

/// A subject of the cuts: a cart of both kinds of lines, and who pays.
struct Subject {
    shopper: String,
    cart: String,
    purse: String,
}

/// A shop of three products in which the merchant's account is open already: opening it is part of
/// the very first checkout only.
async fn open_shop(gateway: &Gateway, price: i64) {
    for sku in ["a", "b", "c"] {
        stocked(gateway, sku, price, 100_000).await;
    }
    let client = gateway.shopper("first");
    let purse = account(gateway, "first", price).await;
    let cart = cart(&client, "RESERVE", &[("a", 1)]).await;
    let order = checkout(&client, &cart, &purse, "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    settled(gateway).await;
}

/// Of one SKU the cart holds its line, of two it doesn't.
async fn subject(gateway: &Gateway, n: usize) -> Subject {
    let shopper = format!("shopper-{n}");
    let client = gateway.shopper(&shopper);
    let purse = account(gateway, &shopper, 1_000).await;
    let cart = cart(&client, "RESERVE", &[("a", 2)]).await;
    // Lines that shopping didn't reserve, as beyond half of the cap.
    let line = |sku: &str| {
        doc! {
            "sku": sku, "quantity": 1_i64, "held": 0_i64, "title": sku, "type": "album",
            "unitPrice": 100_i64,
        }
    };
    let more = doc! { "$push": { "lines": { "$each": [line("b"), line("c")] } } };
    let carts = gateway.database.collection::<Document>("carts");
    carts.update_one(doc! { "_id": key(&cart) }, more).await.expect("lines");
    Subject { shopper, cart, purse }
}

async fn one_order_or_a_clean_refusal(gateway: &Gateway, subject: &Subject, case: &str) {
    let client = gateway.shopper(&subject.shopper);
    let answer = checkout(&client, &subject.cart, &subject.purse, "op").await;
    assert_eq!(answer["__typename"], "Order", "{case}: {answer:#}");
    assert_eq!(answer["cartId"], json!(subject.cart), "{case}");
    assert_eq!(balance(gateway, &subject.purse).await, 1_000 - 400, "{case}");
    complete(gateway, &subject.cart).await;
}

/// Who pays is checked for the total that was read: a cart that became dearer in between must not
/// be paid from an account that nobody was asked about.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_pays_a_cart_that_was_free_when_it_was_looked_at() {
    let base = Gateway::with(long_bounds).await;
    stocked(&base, "free", 0, 10).await;
    stocked(&base, "dear", 500, 10).await;
    let purse = account(&base, "victim", 1_000).await;
    let slow = base.sibling_behind_proxy().await;
    let thief = base.anonymous();
    let free = cart(&thief, "AT_CHECKOUT", &[("free", 1)]).await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    // The cart was read; what would decide it is held back.
    proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let meanwhile = async {
        proxy.reached().await;
        add(&base.anonymous(), &free, "dear", 1).await;
        proxy.heal();
        proxy.release().await;
    };
    let client = slow.anonymous();
    let (refused, ()) = tokio::join!(try_checkout(&client, &free, &purse, "op"), meanwhile);
    let refused = &refused["data"]["checkoutCart"];
    assert_eq!(refused["field"], "input.payment.accountId", "{refused:#}");
    assert_eq!(balance(&base, &purse).await, 1_000);
    assert_eq!(state(&base, "carts", &free).await, "ACTIVE");
    base.assert_sound().await;
}

/// Cuts the checkout of products at `price` at each of its commands; too dear ones are declined.
async fn cut_at_any_command(price: i64, sound: impl AsyncFn(&Gateway, &Subject, &str)) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            if n == 1 {
                open_shop(gateway, price).await;
            }
            subject(gateway, n).await
        },
        async |gateway, subject: &Subject| {
            let client = gateway.shopper(&subject.shopper);
            let input = json!({ "input": checkout_input(&subject.cart, &subject.purse, "op") });
            let _answer_or_trouble = client.send(&checkout_query(), input).await;
        },
        async |gateway, case| {
            sound(gateway, &case.subject, &format!("{:?} at {}", case.way, case.at)).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_checkout_ends_in_one_order_or_none() {
    cut_at_any_command(100, one_order_or_a_clean_refusal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_declined_checkout_takes_nothing() {
    cut_at_any_command(1_000, async |gateway, subject, case| {
        assert_eq!(state(gateway, "carts", &subject.cart).await, "ACTIVE", "{case}");
        assert_eq!(balance(gateway, &subject.purse).await, 1_000, "{case}");
    })
    .await;
}

/// What a cart that was frozen by a gateway of a version with claims needs: it is undone or finished.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_an_older_gateway_left_is_undone_or_finished() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let app = &gateway.app;
    let amount = Money::new(200, CurrencyCode::from_code("EUR").expect("a currency"));
    for (left, ends, taken) in
        [("PENDING", "ACTIVE", 0), ("VOIDING", "ACTIVE", 0), ("PAID", "COMPLETE", 2)]
    {
        let id = cart(&shopper, "RESERVE", &[("a", 2)]).await;
        let payment = format!("payment-{left}");
        let said = transfers::authorise(app, &payment, &key(&id), &key(&purse), amount).await;
        said.expect("a verdict");
        let long_ago = mongodb::bson::DateTime::from_millis(1);
        let checkout = doc! {
            "id": format!("order-{left}"), "paymentId": &payment, "owner": "ann",
            "op": format!("op-{left}"), "input": "input",
            "shipping": { "name": "N", "street": "S", "city": "C", "country": "DE" },
            "payment": { "account": key(&purse) }, "total": 200_i64, "deadline": long_ago,
        };
        let frozen = doc! { "$set": { "state": left, "checkout": checkout, "attempts": 1 } };
        gateway.raw("carts").update_one(doc! { "_id": key(&id) }, frozen).await.expect("frozen");
        gateway.sweep().await;
        gateway.assert_sound().await;
        assert_eq!(state(&gateway, "carts", &id).await, ends);
        assert_eq!(stock(&gateway, "a").await.2, taken);
        let cancel = "mutation($id: ID!) { cancelCart(input: {cartId: $id}) { __typename } }";
        shopper.field(cancel, json!({ "id": id })).await;
    }
    assert_eq!(balance(&gateway, &purse).await, 4_800);
    assert_eq!(stock(&gateway, "a").await, (8, 0, 2));
}

/// The hold and the take of a call that was cut before its decision are released, also if the cart changed since; and a
/// repeat with the same key pays for the cart as it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_after_a_change_of_the_cart_pays_for_what_it_has_now() {
    let short = Gateway::with(short_bounds).await;
    let base = short.patient_sibling().await;
    let shopper = base.shopper("ann");
    for number in 0..50 {
        let sku = format!("a-{number}");
        stocked(&base, &sku, 100, 10).await;
        let purse = account(&base, "ann", 5_000).await;
        let id = cart(&shopper, "AT_CHECKOUT", &[(sku.as_str(), 1)]).await;
        let cut = short.sibling_behind_proxy().await;
        let proxy = cut.proxy.as_ref().expect("a proxy");
        proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
        proxy.cut_all_from(0, Cut::BeforeForwarding);
        let lost = try_checkout(&cut.shopper("ann"), &id, &purse, "op").await;
        assert!(lost.get("errors").is_some(), "{lost:#}");
        if proxy.seen().is_empty() {
            // On a busy machine the call ran out of time before.
            continue;
        }
        assert_eq!((balance(&base, &purse).await, stock(&base, &sku).await), (4_900, (9, 1, 0)));
        add(&shopper, &id, &sku, 2).await;
        let order = checkout(&shopper, &id, &purse, "op").await;
        assert_eq!(order["total"]["minorUnits"], 300, "{order:#}");
        settled(&base).await;
        base.sweep().await;
        assert_eq!((balance(&base, &purse).await, stock(&base, &sku).await), (4_700, (7, 0, 3)));
        base.assert_sound().await;
        return;
    }
    panic!("the checkout never came to its decision");
}

/// An order can be cancelled as soon as it is answered: its goods and its money follow once they moved.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_cancelled_before_its_goods_and_its_money_moved() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "RESERVE", &[("a", 2)]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let order = checkout(&shopper, &id, &purse, "op").await["id"].clone();
    let cancel = "mutation($id: ID!) { cancelOrder(input: {orderId: $id}) { \
        ... on Order { state refunded { minorUnits } } } }";
    let other = gateway.sibling().await;
    let ann = other.shopper("ann");
    let (cancelled, ()) = tokio::join!(ann.field(cancel, json!({ "id": order })), async {
        proxy.reached().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        proxy.release().await;
    });
    assert_eq!(cancelled["state"], "CANCELLED", "{cancelled:#}");
    assert_eq!(cancelled["refunded"]["minorUnits"], 200, "{cancelled:#}");
    settled(&gateway).await;
    assert_eq!((balance(&gateway, &purse).await, stock(&gateway, "a").await), (5_000, (10, 0, 0)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_worker_that_was_overtaken_changes_nothing() {
    let flow = async |gateway: &Gateway, subject: &Subject| {
        let client = gateway.shopper(&subject.shopper);
        let answer = try_checkout(&client, &subject.cart, &subject.purse, "op").await;
        let is_fine = answer["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
            || answer["data"]["checkoutCart"]["__typename"] == "Order";
        assert!(is_fine, "{answer:#}");
    };
    let prepare = async |gateway: &Gateway, n| {
        if n == 1 {
            open_shop(gateway, 100).await;
        }
        subject(gateway, n).await
    };
    cuts::overtaken_everywhere(short_bounds, prepare, flow, one_order_or_a_clean_refusal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_leaves_marks_until_no_repeat_can_write_any_more() {
    for policy in ["AT_CHECKOUT", "RESERVE"] {
        // Marks last as long as the bounds say. A repeat, of what a slow machine hasn't done in time, leaves more of them.
        let gateway = Gateway::with(|config| {
            short_bounds(config);
            (config.flow_run_millis, config.flow_command_millis) = (5_000, 4_000);
        })
        .await;
        stocked(&gateway, "a", 100, 10).await;
        let shopper = gateway.shopper("ann");
        let purse = account(&gateway, "ann", 5_000).await;
        let marks = async || {
            let stock = stored(&gateway, "inventory", "a").await;
            let account = stored(&gateway, "accounts", &purse).await;
            let pending = account.get_array("pending").expect("marks").len();
            assert_eq!(account.contains_key("holdsAt"), pending > 0, "{account:#}");
            (stock.get_array("reservations").expect("entries").len(), pending)
        };
        let cart = cart(&shopper, policy, &[("a", 3)]).await;
        checkout(&shopper, &cart, &purse, "op").await;
        settled(&gateway).await;
        assert_eq!(marks().await, (1, 1), "{policy}");
        gateway.assert_sound().await;
        gateway.sweep().await;
        assert_eq!(marks().await, (0, 0), "{policy}");
        assert_eq!(stock(&gateway, "a").await, (7, 0, 3));
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_was_deleted_is_never_written_again() {
    let gateway = Gateway::with(long_bounds).await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let cart = cart(&shopper, "RESERVE", &[("a", 1)]).await;
    let order = checkout(&shopper, &cart, &purse, "op").await["id"].clone();
    let cancel = "mutation($id: ID!) { cancelOrder(input: {orderId: $id}) { __typename } }";
    shopper.field(cancel, json!({ "id": order })).await;
    let delete = "mutation($id: ID!) { deleteOrder(input: {orderId: $id}) { __typename } }";
    let deleted: Value = gateway.admin().field(delete, json!({ "id": order })).await;
    assert_eq!(deleted["__typename"], "DeletedOrder");
    complete(&gateway, &cart).await;
    let repeat = checkout(&shopper, &cart, &purse, "op").await;
    assert_eq!(repeat["code"], "NOT_FOUND", "{repeat:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorisation_that_belongs_to_nothing_is_voided() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let purse = account(&gateway, "ann", 5_000).await;
    let amount = Money::new(700, CurrencyCode::from_code("EUR").expect("a currency"));
    let (app, payer) = (&gateway.app, &key(&purse));
    let said = transfers::authorise(app, "nobody's", "gone", payer, amount).await;
    said.expect("a verdict");
    assert_eq!(balance(&gateway, &purse).await, 4_300);
    gateway.sweep().await;
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    assert_eq!(state(&gateway, "transfers", "nobody's").await, "CANCELLED");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_what_is_wrong() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let cart = cart(&shopper, "RESERVE", &[("a", 2)]).await;
    let order = checkout(&shopper, &cart, &purse, "op").await["id"].clone();
    let order = order.as_str().expect("an order");
    settled(&gateway).await;
    gateway.assert_sound().await;
    let broken = async || {
        let report = gateway.check().await;
        let broken = report.rules.into_iter().filter(|(_, broken)| !broken.is_empty());
        broken.map(|(rule, _)| rule).filter(|rule| rule.starts_with("orders:")).collect::<Vec<_>>()
    };
    let orders = gateway.database.collection::<Document>("orders");
    let sound = stored(&gateway, "orders", order).await;
    let tampered = [
        (doc! { "$set": { "total": 1_i64 } }, "sum of the lines"),
        (doc! { "$set": { "payments.0.refunded": 1_i64 } }, "sum of the lines"),
        (doc! { "$set": { "cartId": "another" } }, "every completed cart"),
        (doc! { "$set": { "owner": "another" } }, "every completed cart"),
        (doc! { "$set": { "lines.0.quantity": 1_i64 } }, "sold stock"),
        (doc! { "$set": { "payments.0.id": "another" } }, "captured"),
    ];
    for (update, rule) in tampered {
        orders.update_one(doc! { "_id": key(order) }, update).await.expect("an update");
        let broken = broken().await;
        assert!(broken.iter().any(|found| found.contains(rule)), "{rule}: {broken:#?}");
        orders.replace_one(doc! { "_id": key(order) }, &sound).await.expect("mended");
    }
    let stocks = gateway.raw("inventory");
    let at = sound.get_datetime("placedAt").expect("a time");
    let entry = doc! {
        "holder": "order:another", "quantity": 1_i64, "takes": [], "gifts": [], "at": at,
    };
    let held = doc! { "$inc": { "available": -1_i64 }, "$push": { "reservations": entry } };
    stocks.update_one(doc! { "_id": "a" }, held).await.expect("held");
    assert_eq!(broken().await.len(), 1, "held for an order that isn't raised");
    let back = doc! {
        "$inc": { "available": 1_i64 }, "$pull": { "reservations": { "holder": "order:another" } },
    };
    stocks.update_one(doc! { "_id": "a" }, back).await.expect("back");
    orders.delete_one(doc! { "_id": key(order) }).await.expect("removed");
    assert_eq!(broken().await.len(), 3, "cart, stock and payment miss their order");
}
