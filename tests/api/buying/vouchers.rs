//! What vouchers take off, and who can use them.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{applied, apply, cancel, checkout, create, created, expire, marks, remove, sums, used};
use crate::{
    shop::{account, add, balance, cart, settled, state, stock, stocked, stored},
    support::{Client, Gateway, short_bounds, very_long_bounds},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_takes_off_what_its_terms_say() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 333, 100).await;
    created(&gateway, "tenth-Off", json!({ "percent": 10 })).await;
    created(&gateway, "FIVE", json!({ "amount": 500, "minimum": 600 })).await;
    created(&gateway, "ALL", json!({ "percent": 100 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;

    let low = apply(&shopper, &id, "five", None).await;
    assert_eq!((&low["code"], &low["fault"]), (&json!("VOUCHER_REFUSED"), &json!("BELOW_MINIMUM")));
    assert_eq!(low["minimum"], json!({ "minorUnits": 600, "currency": "EUR" }));
    let message = low["message"].as_str().expect("a message");
    assert!(message.ends_with("at least 6.00 EUR"), "{message}");
    let tenth = applied(&shopper, &id, "TENTH-OFF").await;
    let money = |cart: &Value| {
        ["goods", "discount", "total"].map(|of| cart[of]["minorUnits"].as_i64().expect("money"))
    };
    assert_eq!(money(&tenth), [333, 33, 300], "{tenth:#}");
    assert_eq!(tenth["voucher"]["voucherCode"], "TENTH-OFF");
    assert_eq!(tenth["voucher"]["percent"], 10);
    add(&shopper, &id, "a", 1).await;
    // The last one replaces the one before; it is one voucher per cart.
    assert_eq!(money(&applied(&shopper, &id, "Five").await), [666, 500, 166]);
    // Nothing is reserved before the checkout.
    assert_eq!(used(&gateway, "FIVE").await, [0; 4]);
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 166, "{order:#}");
    assert_eq!(order["paid"]["minorUnits"], 166);
    assert_eq!(order["discount"]["minorUnits"], 500);
    assert_eq!(order["discountCode"], "FIVE");
    settled(&gateway).await;
    assert_eq!(used(&gateway, "FIVE").await, [0, 500, 0, 1]);
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 166);
    // A repeat spends nothing more.
    assert_eq!(checkout(&shopper, &id, &purse, "op").await, order);
    settled(&gateway).await;
    assert_eq!(used(&gateway, "FIVE").await, [0, 500, 0, 1]);

    // What costs nothing needs no payment; below the minimum nothing is taken off or used.
    let free = cart(&gateway.anonymous(), "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(money(&applied(&gateway.anonymous(), &free, "ALL").await), [333, 333, 0]);
    let order = checkout(&gateway.anonymous(), &free, "none", "op").await;
    assert_eq!(order["total"]["minorUnits"], 0, "{order:#}");
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 2)]).await;
    applied(&shopper, &id, "FIVE").await;
    shopper.set(&id, "a", 1).await;
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 333, "{order:#}");
    assert_eq!(order["discountCode"], json!(null));
    settled(&gateway).await;
    assert_eq!(used(&gateway, "FIVE").await, [0, 500, 0, 1]);
    gateway.assert_sound().await;
}

/// The marks of returns stay until their orders settle them. The sweep goes on behind them.
#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_reaches_vouchers_behind_many_whose_marks_stay() {
    let gateway = Gateway::with(short_bounds).await;
    created(&gateway, "OFF", json!({ "percent": 50 })).await;
    let voucher = stored(&gateway, "vouchers", "OFF").await;
    let of = |collection: &str, code: i64, state: &str, at: i64| {
        let mark = doc! {
            "tag": format!("tag-{code}"), "amount": 0_i64, "state": state,
            "at": mongodb::bson::DateTime::from_millis(at),
        };
        let mut copied = doc! {};
        if collection == "vouchers" {
            copied = voucher.clone();
        } else {
            for field in ["reserved", "reservedUses", "spent", "spentUses"] {
                copied.insert(field, 0_i64);
            }
            copied.insert("v", 1);
        }
        copied.extend(doc! { "_id": format!("V{code}"), "marks": [mark] });
        copied
    };
    for collection in ["vouchers", "voucherCustomers"] {
        let mut all: Vec<_> = (0..230).map(|n| of(collection, n, "RETURNED", 1_000 + n)).collect();
        all.push(of(collection, 230, "SPENT", 2_000));
        gateway.raw(collection).insert_many(all).await.expect("inserted");
    }
    gateway.sweep().await;
    for collection in ["vouchers", "voucherCustomers"] {
        assert_eq!(marks(&gateway, collection, "V230").await, 0, "{collection}");
        for stays in ["V0", "V229"] {
            assert_eq!(marks(&gateway, collection, stays).await, 1, "{collection}");
        }
    }
}

/// What a raise has added isn't discounted, so it goes first when the order is lowered, and takes no discount with it.
#[tokio::test(flavor = "multi_thread")]
async fn pieces_that_were_added_at_the_full_price_go_first() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 50).await;
    created(&gateway, "HALF", json!({ "percent": 50 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 3)]).await;
    applied(&shopper, &id, "HALF").await;
    let order = checkout(&shopper, &id, &purse, "op").await["id"].clone();
    let adjust = "mutation($id: ID!, $to: Int!) { \
        adjustOrderLine(input: {orderId: $id, sku: \"a\", quantity: $to}) { \
            ... on Order { discount { minorUnits } total { minorUnits } } } }";
    settled(&gateway).await;
    let mut seen = Vec::new();
    // Up and down, down again through the added ones, up once more, and to the discounted ones.
    for to in [5, 4, 3, 2, 4, 1, 0] {
        let now = shopper.field(adjust, json!({ "id": order, "to": to })).await;
        let of = |field: &str| now[field]["minorUnits"].as_i64().expect("money");
        seen.push((to, of("discount"), of("total")));
        settled(&gateway).await;
        assert_eq!(balance(&gateway, &purse).await, 1_000 - of("total"), "{seen:?}");
    }
    let expected = [
        (5, 150, 350),
        (4, 150, 250),
        (3, 150, 150),
        (2, 100, 100),
        (4, 100, 300),
        (1, 50, 50),
        (0, 0, 0),
    ];
    assert_eq!(seen, expected);
    // The voucher counts what was taken off at the checkout.
    assert_eq!(used(&gateway, "HALF").await, [0, 150, 0, 1]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_is_created_once_and_with_sound_terms() {
    let gateway = Gateway::start().await;
    let input = json!({ "percent": 10, "idempotencyKey": "op" });
    for _ in 0..2 {
        assert_eq!(create(&gateway, "Once", input.clone()).await["voucherCode"], "ONCE");
    }
    let other = json!({ "percent": 11, "idempotencyKey": "op" });
    assert_eq!(create(&gateway, "once", other).await["code"], "CONFLICT");
    assert_eq!(create(&gateway, "once", json!({ "percent": 10 })).await["code"], "ALREADY_EXISTS");
    let (early, late) = ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z");
    for (code, input, field) in [
        ("a b", json!({ "percent": 10 }), "code"),
        ("$where", json!({ "percent": 10 }), "code"),
        ("", json!({ "percent": 10 }), "code"),
        ("B", json!({}), "percent"),
        ("B", json!({ "percent": 10, "amount": 1 }), "percent"),
        ("B", json!({ "percent": 0 }), "percent"),
        ("B", json!({ "percent": 101 }), "percent"),
        ("B", json!({ "amount": 0 }), "amount"),
        ("B", json!({ "amount": 1, "budget": 0 }), "budget"),
        ("B", json!({ "amount": 1, "budgetUses": 0 }), "budgetUses"),
        ("B", json!({ "amount": 1, "perCustomer": 0 }), "perCustomer"),
        ("B", json!({ "amount": 1, "minimum": -1 }), "minimum"),
        ("B", json!({ "amount": 1, "validFrom": late, "validUntil": early }), "validUntil"),
        ("B", json!({ "amount": 1, "validUntil": "2020-01-01T00:00:00Z" }), "validUntil"),
    ] {
        let refused = create(&gateway, code, input.clone()).await;
        assert_eq!(refused["field"], format!("input.{field}"), "{code} {input}: {refused:#}");
    }
    // Only merchants see it; the code is all that others know.
    let query = "query($code: String!) { voucher(code: $code) { voucherCode percent spentUses } }";
    let seen = gateway.merchant().field(query, json!({ "code": "once" })).await;
    assert_eq!(seen, json!({ "voucherCode": "ONCE", "percent": 10, "spentUses": 0 }));
    for code in ["other", "$where", "a b", ""] {
        assert_eq!(gateway.merchant().field(query, json!({ "code": code })).await, json!(null));
    }
    let code = gateway.shopper("ann").error_code(query, json!({ "code": "once" })).await;
    assert_eq!(code, "FORBIDDEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_is_refused_where_it_does_not_fit() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "LATER", json!({ "percent": 10, "validFrom": "2999-01-01T00:00:00Z" })).await;
    created(&gateway, "OVER", json!({ "percent": 10, "validUntil": "2999-01-01T00:00:00Z" })).await;
    expire(&gateway, "OVER").await;
    created(&gateway, "MINE", json!({ "percent": 10, "perCustomer": 1 })).await;
    created(&gateway, "DOLLARS", json!({ "amount": 1, "currency": "USD" })).await;
    created(&gateway, "SMALL", json!({ "amount": 50, "budget": 49 })).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    let before = gateway.snapshot().await;
    for (code, fault) in [
        ("LATER", "NOT_YET_VALID"),
        ("OVER", "EXPIRED"),
        ("MINE", "SIGN_IN_REQUIRED"),
        ("SMALL", "SPENT"),
    ] {
        let refused = apply(&guest, &id, code, None).await;
        assert_eq!((&refused["voucherCode"], &refused["fault"]), (&json!(code), &json!(fault)));
    }
    assert_eq!(apply(&guest, &id, "DOLLARS", None).await["code"], "CURRENCY_MISMATCH");
    let missing = apply(&guest, &id, "NONE", None).await;
    assert_eq!((&missing["code"], &missing["what"]), (&json!("NOT_FOUND"), &json!("voucher")));
    // Another's cart looks like none.
    let owned = cart(&gateway.shopper("ann"), "AT_CHECKOUT", &[("a", 1)]).await;
    let missing = apply(&guest, &owned, "LATER", None).await;
    assert_eq!((&missing["code"], &missing["what"]), (&json!("NOT_FOUND"), &json!("cart")));
    assert_eq!(remove(&guest, &owned).await["code"], "NOT_FOUND");
    let after = gateway.snapshot().await;
    assert_eq!(before["vouchers"], after["vouchers"]);
    assert!(!after.contains_key("voucherCustomers"));
    gateway.assert_sound().await;
}

/// Many shoppers, each with a cart to which the voucher is applied and an account.
async fn shoppers(gateway: &Gateway, number: usize, code: &str) -> Vec<(Client, String, String)> {
    join_all((0..number).map(async |n| {
        let client = gateway.shopper(&format!("shopper-{n}"));
        let purse = account(gateway, &format!("shopper-{n}"), 1_000).await;
        let cart = cart(&client, "AT_CHECKOUT", &[("a", 1)]).await;
        applied(&client, &cart, code).await;
        (client, cart, purse)
    }))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_sixty_four_shoppers_one_gets_the_last_voucher() {
    for (budget, uses) in
        [(json!({ "amount": 60, "budgetUses": 1 }), 1), (json!({ "amount": 60, "budget": 179 }), 2)]
    {
        let gateway = Gateway::with(very_long_bounds).await;
        stocked(&gateway, "a", 100, 1_000).await;
        created(&gateway, "LAST", budget).await;
        let shoppers = shoppers(&gateway, 64, "LAST").await;
        let checkouts = shoppers.iter().map(|(of, cart, purse)| checkout(of, cart, purse, "op"));
        let answers = join_all(checkouts).await;
        let orders = answers.iter().filter(|answer| answer["total"]["minorUnits"] == 40).count();
        let refused = answers.iter().filter(|answer| answer["fault"] == "SPENT").count();
        assert_eq!((orders, refused), (uses, 64 - uses), "{answers:#?}");
        settled(&gateway).await;
        let uses = i64::try_from(uses).expect("few");
        assert_eq!(used(&gateway, "LAST").await, [0, 60 * uses, 0, uses]);
        assert_eq!(stock(&gateway, "a").await, (1_000 - uses, 0, uses));
        for ((_, cart, purse), answer) in shoppers.iter().zip(&answers) {
            let (left, ends) = match answer["__typename"].as_str() {
                Some("Order") => (960, "COMPLETE"),
                _ => (1_000, "ACTIVE"),
            };
            assert_eq!(balance(&gateway, purse).await, left);
            assert_eq!(state(&gateway, "carts", cart).await, ends);
        }
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_uses_a_voucher_as_often_as_its_limit_says() {
    let gateway = Gateway::with(very_long_bounds).await;
    stocked(&gateway, "a", 100, 1_000).await;
    created(&gateway, "TWICE", json!({ "percent": 50, "perCustomer": 2 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 10_000).await;
    let mut carts = Vec::new();
    for _ in 0..64 {
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
        applied(&shopper, &id, "TWICE").await;
        carts.push(id);
    }
    let checkouts = carts.iter().map(|cart| checkout(&shopper, cart, &purse, "op"));
    let answers = join_all(checkouts).await;
    let orders: Vec<_> = answers.iter().filter(|answer| answer["__typename"] == "Order").collect();
    let refused = answers.iter().filter(|answer| answer["fault"] == "LIMIT_REACHED").count();
    assert_eq!((orders.len(), refused), (2, 62), "{answers:#?}");
    settled(&gateway).await;
    assert_eq!(sums(&gateway, "voucherCustomers", "TWICE:ann").await, [0, 100, 0, 2]);
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(apply(&shopper, &id, "TWICE", None).await["fault"], "LIMIT_REACHED");
    // Another customer has uses of their own, also with a guest's cart.
    let guests = cart(&gateway.anonymous(), "AT_CHECKOUT", &[("a", 1)]).await;
    let bob = gateway.shopper("bob");
    let bobs = account(&gateway, "bob", 100).await;
    applied(&bob, &guests, "TWICE").await;
    let order = checkout(&bob, &guests, &bobs, "op").await;
    assert_eq!(order["total"]["minorUnits"], 50, "{order:#}");
    settled(&gateway).await;
    // A cancelled order gives its use back, once.
    let id = orders[0]["id"].as_str().expect("an order");
    for _ in 0..2 {
        assert_eq!(cancel(&shopper, id, "op").await["state"], "CANCELLED");
    }
    assert_eq!(cancel(&shopper, id, "another").await["code"], "ORDER_NOT_OPEN");
    assert_eq!(sums(&gateway, "voucherCustomers", "TWICE:ann").await, [0, 50, 0, 1]);
    assert_eq!(used(&gateway, "TWICE").await, [0, 100, 0, 2]);
    assert_eq!(balance(&gateway, &purse).await, 10_000 - 50);
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&shopper, &id, "TWICE").await;
    gateway.assert_sound().await;
}

/// A guest who applied nothing can't check out with a voucher that demands a customer.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_cannot_check_out_with_a_customers_voucher() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "MINE", json!({ "percent": 100, "perCustomer": 1 })).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&gateway.shopper("ann"), &id, "MINE").await;
    let refused = checkout(&guest, &id, "none", "op").await;
    assert_eq!(refused["fault"], "SIGN_IN_REQUIRED", "{refused:#}");
    assert_eq!(state(&gateway, "carts", &id).await, "ACTIVE");
    assert_eq!(used(&gateway, "MINE").await, [0; 4]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_that_expires_in_between_is_refused_and_nothing_is_taken() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "SOON", json!({ "percent": 10, "perCustomer": 1 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&shopper, &id, "SOON").await;
    expire(&gateway, "SOON").await;
    for _ in 0..2 {
        let refused = checkout(&shopper, &id, &purse, "op").await;
        assert_eq!(refused["fault"], "EXPIRED", "{refused:#}");
    }
    assert_eq!(state(&gateway, "carts", &id).await, "ACTIVE");
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    assert_eq!(stock(&gateway, "a").await, (10, 0, 0));
    assert_eq!(sums(&gateway, "voucherCustomers", "SOON:ann").await, [0; 4]);
    gateway.assert_sound().await;
    let cart = remove(&shopper, &id).await;
    assert_eq!((&cart["voucher"], &cart["total"]["minorUnits"]), (&json!(null), &json!(100)));
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 100, "{order:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_that_was_ended_is_used_by_no_checkout() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "LEAKED", json!({ "percent": 100 })).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&guest, &id, "LEAKED").await;
    let end = "mutation($code: String!) { endVoucher(input: {code: $code}) { __typename \
        ... on Voucher { voucherCode validUntil } ... on UserError { code } } }";
    let first = gateway.merchant().field(end, json!({ "code": "leaked" })).await;
    assert_eq!(first["voucherCode"], "LEAKED", "{first:#}");
    assert!(first["validUntil"].is_string(), "{first:#}");
    assert_eq!(gateway.merchant().field(end, json!({ "code": "leaked" })).await, first);
    assert_eq!(gateway.merchant().field(end, json!({ "code": "no" })).await["code"], "NOT_FOUND");
    assert_eq!(gateway.shopper("ann").error_code(end, json!({ "code": "no" })).await, "FORBIDDEN");
    assert_eq!(checkout(&guest, &id, "none", "op").await["fault"], "EXPIRED");
    let refused = apply(&guest, &id, "LEAKED", None).await;
    assert_eq!((&refused["fault"], &refused["minimum"]), (&json!("EXPIRED"), &json!(null)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_change_of_the_voucher_changes_nothing_more() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "ONE", json!({ "percent": 10 })).await;
    created(&gateway, "TWO", json!({ "percent": 20 })).await;
    let shopper = gateway.shopper("ann");
    let id = cart(&shopper, "RESERVE", &[("a", 1)]).await;
    assert_eq!(apply(&shopper, &id, "ONE", Some("op")).await["total"]["minorUnits"], 90);
    applied(&shopper, &id, "TWO").await;
    assert_eq!(apply(&shopper, &id, "ONE", Some("op")).await["total"]["minorUnits"], 80);
    assert_eq!(apply(&shopper, &id, "TWO", Some("op")).await["code"], "CONFLICT");
    shopper.cancel(&id).await;
    assert_eq!(apply(&shopper, &id, "ONE", None).await["code"], "CART_NOT_ACTIVE");
    assert_eq!(remove(&shopper, &id).await["code"], "CART_NOT_ACTIVE");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lowered_line_is_refunded_less_its_part_of_the_discount() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 100).await;
    created(&gateway, "OFF", json!({ "amount": 100, "budget": 100 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 3)]).await;
    applied(&shopper, &id, "OFF").await;
    let order = checkout(&shopper, &id, &purse, "op").await["id"].clone();
    settled(&gateway).await;
    let adjust = "mutation($id: ID!, $to: Int!) { \
        adjustOrderLine(input: {orderId: $id, sku: \"a\", quantity: $to}) { \
            ... on Order { total { minorUnits } discount { minorUnits } refunded { minorUnits } \
                paid { minorUnits } } ... on UserError { message } } }";
    let money = |order: &Value| {
        ["total", "discount", "paid", "refunded"]
            .map(|of| order[of]["minorUnits"].as_i64().unwrap_or_else(|| panic!("{order:#}")))
    };
    // Of 300 less 100: two thirds of the discount stay, rounded down.
    let lower = shopper.field(adjust, json!({ "id": order, "to": 2 })).await;
    assert_eq!(money(&lower), [134, 66, 200, 66]);
    // A piece that is added costs its full price.
    let raised = shopper.field(adjust, json!({ "id": order, "to": 3 })).await;
    assert_eq!(money(&raised), [234, 66, 300, 66]);
    let none = shopper.field(adjust, json!({ "id": order, "to": 0 })).await;
    assert_eq!(money(&none), [0, 0, 300, 300]);
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    // The use stays used until the order is cancelled.
    assert_eq!(used(&gateway, "OFF").await, [0, 100, 0, 1]);
    gateway.assert_sound().await;
    let order = order.as_str().expect("an order");
    assert_eq!(cancel(&shopper, order, "op").await["state"], "CANCELLED");
    assert_eq!(used(&gateway, "OFF").await, [0; 4]);
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_stay_until_no_repeat_can_write_any_more() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    stocked(&gateway, "a", 100, 10).await;
    created(&gateway, "OFF", json!({ "percent": 10, "perCustomer": 5 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&shopper, &id, "OFF").await;
    let order = checkout(&shopper, &id, &purse, "op").await["id"].clone();
    settled(&gateway).await;
    let all = [("vouchers", "OFF"), ("voucherCustomers", "OFF:ann")];
    for (collection, id) in all {
        assert_eq!(marks(&gateway, collection, id).await, 1);
    }
    gateway.sweep().await;
    for (collection, id) in all {
        assert_eq!(marks(&gateway, collection, id).await, 0);
    }
    cancel(&shopper, order.as_str().expect("an order"), "op").await;
    for (collection, id) in all {
        assert_eq!(marks(&gateway, collection, id).await, 1);
    }
    gateway.sweep().await;
    for (collection, id) in all {
        assert_eq!(marks(&gateway, collection, id).await, 0);
        assert_eq!(sums(&gateway, collection, id).await, [0; 4]);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_wrong_sums_and_the_repair_corrects_what_follows_from_others() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let terms = json!({ "percent": 10, "budget": 100, "budgetUses": 9, "perCustomer": 5 });
    created(&gateway, "OFF", terms).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    applied(&shopper, &id, "OFF").await;
    checkout(&shopper, &id, &purse, "op").await;
    settled(&gateway).await;
    // Whatever else a repair brings up to date.
    gateway.repair().await;
    gateway.assert_sound().await;
    let broken = async || {
        let report = gateway.check().await;
        let broken = report.rules.into_iter().filter(|(_, broken)| !broken.is_empty());
        broken.map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    for (collection, id) in [("vouchers", "OFF"), ("voucherCustomers", "OFF:ann")] {
        let all = gateway.raw(collection);
        for update in [
            doc! { "$inc": { "reserved": 7_i64 } },
            doc! { "$inc": { "reservedUses": 1_i64 } },
            doc! { "$inc": { "leftUses": -1_i64, "reservedUses": 1_i64 } },
        ] {
            let sound = gateway.stored(collection).await;
            all.update_one(doc! { "_id": id }, update).await.expect("tampered");
            assert!(broken().await.iter().any(|rule| rule.contains("left + reserved")));
            let repaired = gateway.repair().await;
            assert_eq!(repaired.len(), 1, "{repaired:?}");
            assert_eq!(gateway.stored(collection).await, sound);
        }
        let spent = doc! { "$inc": { "spent": 1_i64 } };
        all.update_one(doc! { "_id": id }, spent).await.expect("tampered");
        assert!(broken().await.iter().any(|rule| rule.contains("what orders have")));
        let back = doc! { "$inc": { "spent": -1_i64 } };
        all.update_one(doc! { "_id": id }, back).await.expect("mended");
    }
    gateway.raw("vouchers").delete_one(doc! { "_id": "OFF" }).await.expect("removed");
    assert_eq!(broken().await.len(), 1, "orders have a voucher that isn't there");
}
