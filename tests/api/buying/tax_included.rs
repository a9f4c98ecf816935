//! Prices that include tax, and checkouts that need no shipping method.

use docgate::config::Config;
use mongodb::bson::{Bson, Document, doc};
use serde_json::{Value, json};

use super::{
    applied, cancel, created,
    quoted_outside::{Mode, asks, service, there},
    quotes::{checkout, checkout_query, choose, chosen, sums, with_tables},
};
use crate::{
    orders::{
        adjust,
        fulfilment::{change, shipped},
    },
    shop::{account, add, balance, cart, checkout_input, settled, stocked, stored},
    support::{Client, Gateway, faults::Fault, key},
};

/// As [`with_tables`], and prices include the tax.
fn with_included(config: &mut Config) {
    with_tables(config);
    config.taxes.get_mut("DE").expect("a country").included = true;
}

/// What a method of the tables is offered for: shipping, tax, the tax on shipping, and whether prices include it.
async fn offered(client: &Client, cart: &str, country: &str) -> Vec<(i64, i64, i64, bool)> {
    let query = "query($id: ID!, $country: String!) { shippingMethods(cartId: $id, country: $country) { \
        shipping { minorUnits } tax { minorUnits } shippingTax { minorUnits } taxIncluded } }";
    let offered = client.field(query, json!({ "id": cart, "country": country })).await;
    let offered = offered.as_array().expect("methods").iter();
    let amount = |offer: &Value, field: &str| offer[field]["minorUnits"].as_i64().expect("money");
    let offer = |offer: &Value| {
        let included = offer["taxIncluded"].as_bool().expect("true or false");
        let [shipping, tax, own] = ["shipping", "tax", "shippingTax"].map(|of| amount(offer, of));
        (shipping, tax, own, included)
    };
    offered.map(offer).collect()
}

/// Total and tax of an order, and whether prices include the tax.
async fn taxed(client: &Client, order: &str) -> (i64, i64, bool) {
    let query = "query($id: ID!) { order(id: $id) { total { minorUnits } \
        charges { tax { minorUnits } taxIncluded } } }";
    let order = client.field(query, json!({ "id": order })).await;
    let charges = &order["charges"];
    let amount = |of: &Value| of["minorUnits"].as_i64().expect("money");
    let included = charges["taxIncluded"].as_bool().expect("true or false");
    (amount(&order["total"]), amount(&charges["tax"]), included)
}

fn id_of(placed: &Value) -> &str {
    placed["id"].as_str().unwrap_or_else(|| panic!("{placed:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tax_that_prices_include_is_shown_and_not_added() {
    let gateway = Gateway::with(with_included).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 2)]).await;
    // Of 200 at 7 % these are 13.08; of 500 at 19 %, 79.83; and of 1500, 239.50.
    let both = [(500, 13 + 80, 80, true), (1_500, 13 + 239, 239, true)];
    assert_eq!(offered(&shopper, &id, "DE").await, both);
    assert_eq!(offered(&shopper, &id, "FR").await, [(500, 0, 0, false)]);

    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 700);
    let placed = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(placed["paid"]["minorUnits"], 700, "{placed:#}");
    settled(&gateway).await;
    assert_eq!(taxed(&shopper, id_of(&placed)).await, (700, 93, true));
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 700);
    gateway.assert_sound().await;
    let cancelled = cancel(&shopper, id_of(&placed), "op").await;
    assert_eq!(cancelled["refunded"]["minorUnits"], 700, "{cancelled:#}");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tax_that_prices_include_follows_the_lines_of_an_order() {
    let gateway = Gateway::with(with_included).await;
    stocked(&gateway, "a", 100, 100).await;
    created(&gateway, "OFF", json!({ "amount": 100 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 3)]).await;
    applied(&shopper, &id, "OFF").await;
    // The tax is that of what the voucher leaves: of 200, and of shipping.
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 700);
    let placed = checkout(&shopper, &id, &purse, "op").await;
    let order = id_of(&placed);
    settled(&gateway).await;
    assert_eq!(sums(&shopper, order).await, [700, 13 + 80, 100, 0]);
    // A piece that is added costs its price, which includes 6.54. A repeat adds nothing.
    for _ in 0..2 {
        adjust(&shopper, order, "a", 4, "more").await;
        settled(&gateway).await;
        assert_eq!(sums(&shopper, order).await, [800, 20 + 80, 100, 0]);
        assert_eq!(balance(&gateway, &purse).await, 5_000 - 800);
    }
    gateway.assert_sound().await;
    // The added piece goes first. Of the other three one is left, with a third of the tax and of the discount.
    for _ in 0..2 {
        adjust(&shopper, order, "a", 1, "less").await;
        settled(&gateway).await;
        assert_eq!(sums(&shopper, order).await, [567, 4 + 80, 33, 800 - 567]);
        assert_eq!(balance(&gateway, &purse).await, 5_000 - 567);
    }
    gateway.assert_sound().await;
    assert_eq!(shipped(&gateway, order, "a", 1).await, 1);
    change(&shopper, "requestReturn", order, json!({ "shipmentNumber": 1 })).await;
    let input = json!({ "returnNumber": 1, "idempotencyKey": "accept" });
    let accepted = change(&gateway.merchant(), "acceptReturn", order, input).await;
    assert_eq!(accepted["__typename"], "Order", "{accepted:#}");
    settled(&gateway).await;
    assert_eq!(sums(&shopper, order).await, [500, 80, 0, 300]);
    gateway.assert_sound().await;
    assert_eq!(cancel(&shopper, order, "cancel").await["state"], "CANCELLED");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
}

/// Amounts that no sum of the order shows, because its prices include the taxes.
#[tokio::test(flavor = "multi_thread")]
async fn taxes_and_refunds_that_cannot_be_are_found() {
    const CHARGES: &str = "orders: no tax is below zero or more than what is taxed, and no more of shipping is given \
                           back than was refunded";
    let gateway = Gateway::with(with_included).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    chosen(&shopper, &id, "standard", json!({})).await;
    let placed = checkout(&shopper, &id, &purse, "op").await;
    let order = id_of(&placed);
    adjust(&shopper, order, "a", 2, "more").await;
    let refund =
        "mutation($id: ID!) { refundShipping(input: {orderId: $id, amount: 100}) { __typename } }";
    let refunded = gateway.merchant().field(refund, json!({ "id": order })).await;
    assert_eq!(refunded["__typename"], "Order", "{refunded:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
    let own = stored(&gateway, "orders", order).await;
    let charges = own.get_document("charges").expect("charges");
    let [tax, refunded, paid] = ["shippingTax", "shippingRefunded", "shippingTaxPaid"]
        .map(|field| charges.get_i64(field).expect("an amount"));
    assert_eq!((tax, refunded, paid), (64, 100, 80), "{charges}");
    for (field, value) in [
        ("charges.lines.0.tax", 201_i64.into()),
        ("charges.lines.0.tax", (-1_i64).into()),
        ("charges.lines.0.sku", Bson::from("b")),
        ("charges.lines.0.fullPrice.tax", 15_i64.into()),
        ("charges.lines.0.fullPrice.tax", (-1_i64).into()),
        ("charges.shippingTax", 401_i64.into()),
        ("charges.shippingTax", (-1_i64).into()),
        ("charges.shippingTaxPaid", 63_i64.into()),
        ("charges.shippingRefunded", 101_i64.into()),
        ("charges.shippingRefunded", (-1_i64).into()),
    ] {
        let fault = Fault::Changed(doc! { "$set": { field: &value } });
        let broken = gateway.broken_by("orders", &key(order), fault).await;
        assert_eq!(broken, [CHARGES], "{field}: {value}");
    }
    // What can be is not reported.
    for (op, quantity) in [("to-0", 0), ("to-1", 1), ("to-0-again", 0)] {
        adjust(&shopper, order, "a", quantity, op).await;
        settled(&gateway).await;
        gateway.assert_sound().await;
    }
    assert_eq!(cancel(&shopper, order, "cancel").await["state"], "CANCELLED");
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
}

/// An order, and a quote, keep how they were computed.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_setting_changes_no_order_and_no_quote() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let first = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(chosen(&shopper, &first, "standard", json!({})).await, 702);
    let first = checkout(&shopper, &first, &purse, "op").await;
    let second = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(chosen(&shopper, &second, "standard", json!({})).await, 702);
    settled(&gateway).await;

    let included = gateway.sibling_with(with_included).await;
    let shopper = included.shopper("ann");
    adjust(&shopper, id_of(&first), "a", 2, "more").await;
    assert_eq!(taxed(&shopper, id_of(&first)).await, (702 + 107, 14 + 95, false));
    let second = checkout(&shopper, &second, &purse, "op").await;
    assert_eq!(taxed(&shopper, id_of(&second)).await, (702, 7 + 95, false));
    // As an order of an earlier release, it says nothing of it.
    let charges = |order: &Document| order.get_document("charges").expect("charges").clone();
    let stored_charges = charges(&stored(&included, "orders", id_of(&second)).await);
    assert!(!stored_charges.contains_key("taxIncluded"), "{stored_charges}");
    settled(&included).await;
    included.assert_sound().await;

    let third = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(chosen(&shopper, &third, "standard", json!({})).await, 600);
    let third = checkout(&shopper, &third, &purse, "op").await;
    settled(&included).await;
    // Back again: this order stays as it is, too.
    let shopper = gateway.shopper("ann");
    adjust(&shopper, id_of(&third), "a", 2, "more").await;
    assert_eq!(taxed(&shopper, id_of(&third)).await, (700, 14 + 80, true));
    adjust(&shopper, id_of(&third), "a", 0, "less").await;
    assert_eq!(taxed(&shopper, id_of(&third)).await, (500, 80, true));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outside_service_says_whether_prices_include_its_taxes() {
    let (service, url) = service().await;
    let gateway = Gateway::with(|config| asks(config, &url)).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 50_000).await;
    let method = json!({ "name": "parcel", "title": "Parcel", "price": 490, "tax": 78 });
    for (n, (included, line, total, more)) in [
        (None, json!({ "sku": "a", "tax": 7, "rate": 7_000 }), 100 + 7 + 568, 107),
        (Some(false), json!({ "sku": "a", "tax": 7, "rate": 7_000 }), 100 + 7 + 568, 107),
        (Some(true), json!({ "sku": "a", "tax": 7, "rate": 7_000 }), 590, 100),
        // Without a rate, pieces that are added include the same part.
        (Some(true), json!({ "sku": "a", "tax": 7 }), 590, 100),
    ]
    .into_iter()
    .enumerate()
    {
        let mut answer = json!({ "currency": "EUR", "methods": [method], "lines": [line] });
        if let Some(included) = included {
            answer["taxIncluded"] = included.into();
        }
        service.answers(Mode::Text(200, answer.to_string()));
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
        assert_eq!(chosen(&shopper, &id, "parcel", there()).await, total, "{answer}");
        let placed = checkout(&shopper, &id, &purse, &format!("op-{n}")).await;
        settled(&gateway).await;
        let is_included = included == Some(true);
        assert_eq!(taxed(&shopper, id_of(&placed)).await, (total, 85, is_included), "{answer}");
        adjust(&shopper, id_of(&placed), "a", 2, "more").await;
        let raised = (total + more, 85 + 7, is_included);
        assert_eq!(taxed(&shopper, id_of(&placed)).await, raised, "{answer}");
        settled(&gateway).await;
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_requires_no_shipping_method_charges_what_was_chosen() {
    let gateway = Gateway::with(|config| {
        with_included(config);
        config.shipping_required = false;
    })
    .await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!((&order["total"]["minorUnits"], &order["charges"]), (&json!(100), &json!(null)));
    // What was chosen is charged, and has to be right.
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    choose(&shopper, &id, "standard", json!({ "country": "FR" })).await;
    assert_eq!(checkout(&shopper, &id, &purse, "op").await["quoteFault"], "OTHER_DESTINATION");
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 600);
    add(&shopper, &id, "a", 1).await;
    assert_eq!(checkout(&shopper, &id, &purse, "op").await["quoteFault"], "OUTDATED");
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 700);
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 700, "{order:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

/// Total, tax and whether prices include it, of an order that has no shipping method.
async fn told(client: &Client, order: &str) -> (i64, Option<i64>, bool) {
    let query = "query($id: ID!) { order(id: $id) { total { minorUnits } tax { minorUnits } taxIncluded \
        charges { shippingMethod } shippingRefunded { minorUnits } } }";
    let order = client.field(query, json!({ "id": order })).await;
    assert_eq!(order["charges"], Value::Null, "{order:#}");
    let total = order["total"]["minorUnits"].as_i64().expect("a total");
    let is_included = order["taxIncluded"].as_bool().expect("true or false");
    (total, order["tax"]["minorUnits"].as_i64(), is_included)
}

/// An order to this country, which has no shipping method.
async fn without_method(client: &Client, purse: &str, country: &str, op: &str) -> String {
    let id = cart(client, "AT_CHECKOUT", &[("a", 3)]).await;
    let mut input = checkout_input(&id, purse, op);
    input["shipping"]["country"] = country.into();
    let placed = client.field(&checkout_query(), json!({ "input": input })).await;
    id_of(&placed).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_without_a_shipping_method_tells_the_tax_that_its_prices_include() {
    let gateway = Gateway::with(|config| {
        with_included(config);
        config.shipping_required = false;
    })
    .await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let order = without_method(&shopper, &purse, "DE", "op").await;
    // Of 300, at 7 %, these are 19.6.
    assert_eq!(told(&shopper, &order).await, (300, Some(20), true));
    // Nothing of it is paid beside the goods.
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 300);
    adjust(&shopper, &order, "a", 2, "less").await;
    assert_eq!(told(&shopper, &order).await, (200, Some(13), true));
    adjust(&shopper, &order, "a", 4, "more").await;
    assert_eq!(told(&shopper, &order).await, (400, Some(13 + 13), true), "of 200, 13.1");
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 400);
    gateway.assert_sound().await;
    cancel(&shopper, &order, "cancel").await;
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000);

    // Less the part of a voucher, and to a country without taxes.
    created(&gateway, "HALF", json!({ "percent": 50 })).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 2)]).await;
    applied(&shopper, &id, "HALF").await;
    let order = checkout(&shopper, &id, &purse, "half").await;
    assert_eq!(told(&shopper, id_of(&order)).await, (100, Some(7), true));
    let abroad = without_method(&shopper, &purse, "FR", "abroad").await;
    assert_eq!(told(&shopper, &abroad).await, (300, Some(0), false));
    // A service isn't asked, and a shop without taxes tells none.
    let (_service, url) = service().await;
    let outside = gateway.sibling_with(|config| asks(config, &url)).await;
    let order = without_method(&outside.shopper("ann"), &purse, "DE", "outside").await;
    assert_eq!(told(&shopper, &order).await, (300, None, false));
    let untaxed = gateway.sibling_with(|config| config.taxes.clear()).await;
    let order = without_method(&untaxed.shopper("ann"), &purse, "DE", "untaxed").await;
    assert_eq!(told(&shopper, &order).await, (300, None, false));
    settled(&gateway).await;
    gateway.assert_sound().await;
}
