//! Shipping and tax from the tables of the configuration.

use docgate::{
    config::{Config, ShippingSetting},
    domains,
};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{applied, cancel, created};
use crate::{
    orders::{
        adjust,
        fulfilment::{change, shipped},
    },
    shop::{account, add, balance, cart, checkout_input, settled, stocked},
    support::{self, Client, Gateway},
};

/// What is paid beside the goods.
pub const CHARGES: &str =
    "charges { shippingMethod title shipping { minorUnits } tax { minorUnits } byDefault }";

/// A shop with two methods in euros and one in dollars, and with taxes in one country.
pub fn with_tables(config: &mut Config) {
    let methods = json!({
        "standard": { "title": "Standard", "prices": { "EUR": 500 }, "free_from": { "EUR": 2_000 } },
        "express": { "title": "Express", "prices": { "EUR": 1_500 }, "countries": ["DE"] },
        "abroad": { "title": "Abroad", "prices": { "USD": 900 } },
    });
    let taxes = json!({ "DE": { "rate": 19_000, "types": { "book": 7_000 } } });
    config.shipping_methods = serde_json::from_value(methods).expect("methods");
    config.taxes = serde_json::from_value(taxes).expect("taxes");
}

/// Chooses a shipping method; `more` is put into the input.
pub async fn choose(client: &Client, cart: &str, method: &str, more: Value) -> Value {
    let choose = format!(
        "mutation($input: SetShippingMethodInput!) {{ setShippingMethod(input: $input) {{ __typename \
         ... on Cart {{ total {{ minorUnits }} quote {{ country isCurrent {CHARGES} }} }} \
         ... on UserError {{ code message }} ... on InvalidInput {{ field }} }} }}"
    );
    let mut input = json!({ "cartId": cart, "shippingMethod": method, "country": "DE" });
    for (field, value) in more.as_object().expect("fields") {
        input[field] = value.clone();
    }
    client.field(&choose, json!({ "input": input })).await
}

/// As [`choose`], and it must be chosen; returns what the cart costs.
pub async fn chosen(client: &Client, cart: &str, method: &str, more: Value) -> i64 {
    let cart = choose(client, cart, method, more).await;
    assert_eq!(cart["quote"]["isCurrent"], true, "{cart:#}");
    cart["total"]["minorUnits"].as_i64().expect("a total")
}

/// The query of the methods that are offered.
pub const OFFERED: &str = "query($id: ID!, $country: String!, $city: String) { \
    shippingMethods(cartId: $id, country: $country, city: $city) { \
        shippingMethod shipping { minorUnits } tax { minorUnits } byDefault } }";

/// The document of a checkout.
pub fn checkout_query() -> String {
    format!(
        "mutation($input: CheckoutCartInput!) {{ checkoutCart(input: $input) {{ __typename \
         ... on Order {{ id total {{ minorUnits }} paid {{ minorUnits }} discount {{ minorUnits }} {CHARGES} }} \
         ... on UserError {{ code message }} ... on QuoteNeeded {{ quoteFault }} }} }}"
    )
}

/// Checks a cart out.
pub async fn checkout(client: &Client, cart: &str, account: &str, op: &str) -> Value {
    let input = json!({ "input": checkout_input(cart, account, op) });
    client.field(&checkout_query(), input).await
}

/// A shopper for a cut, with an account of 1,000, and with a cart of one piece whose shipping method is chosen: the
/// subject, the account and the cart.
pub async fn quoted(gateway: &Gateway, n: usize) -> (String, String, String) {
    if n == 1 {
        stocked(gateway, "a", 100, 100_000).await;
    }
    let shopper = format!("shopper-{n}");
    let client = gateway.shopper(&shopper);
    let purse = account(gateway, &shopper, 1_000).await;
    let id = cart(&client, "AT_CHECKOUT", &[("a", 1)]).await;
    chosen(&client, &id, "standard", json!({})).await;
    (shopper, purse, id)
}

/// Total, tax, discount and refunded sum of an order, whose shipping must cost 500.
pub async fn sums(client: &Client, order: &str) -> [i64; 4] {
    let query = "query($id: ID!) { order(id: $id) { total { minorUnits } discount { minorUnits } \
        refunded { minorUnits } charges { shipping { minorUnits } tax { minorUnits } } } }";
    let order = client.field(query, json!({ "id": order })).await;
    assert_eq!(order["charges"]["shipping"]["minorUnits"], 500, "shipping stays: {order:#}");
    [&order["total"], &order["charges"]["tax"], &order["discount"], &order["refunded"]]
        .map(|of| of["minorUnits"].as_i64().expect("money"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_of_the_tables_is_chosen_paid_and_given_back() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 2)]).await;
    let offer = |method: &str, shipping: i64, tax: i64| {
        let (shipping, tax) = (json!({ "minorUnits": shipping }), json!({ "minorUnits": tax }));
        json!({ "shippingMethod": method, "shipping": shipping, "tax": tax, "byDefault": false })
    };
    // Books are taxed with 7 %, and shipping with 19 %.
    let both = json!([offer("standard", 500, 14 + 95), offer("express", 1_500, 14 + 285)]);
    let there = json!({ "id": id, "country": "DE" });
    assert_eq!(shopper.field(OFFERED, there.clone()).await, both);
    let untaxed = json!([offer("standard", 500, 0)]);
    assert_eq!(shopper.field(OFFERED, json!({ "id": id, "country": "FR" })).await, untaxed);
    assert_eq!(gateway.anonymous().field(OFFERED, there).await, json!(null));
    let unknown = json!({ "id": id, "country": "ZZ" });
    assert_eq!(shopper.error_code(OFFERED, unknown).await, "BAD_USER_INPUT");

    assert_eq!(chosen(&shopper, &id, "express", json!({})).await, 200 + 1_500 + 299);
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 809);
    let order = checkout(&shopper, &id, &purse, "op").await;
    let charges = json!({
        "shippingMethod": "standard", "title": "Standard", "shipping": { "minorUnits": 500 },
        "tax": { "minorUnits": 109 }, "byDefault": false,
    });
    assert_eq!(order["charges"], charges, "{order:#}");
    assert_eq!(
        (&order["total"]["minorUnits"], &order["paid"]["minorUnits"]),
        (&json!(809), &json!(809))
    );
    settled(&gateway).await;
    assert_eq!(checkout(&shopper, &id, &purse, "op").await, order, "a repeat");
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 809);
    gateway.assert_sound().await;
    let cancelled = cancel(&shopper, order["id"].as_str().expect("an order"), "op").await;
    assert_eq!(cancelled["refunded"]["minorUnits"], 809, "{cancelled:#}");
    assert_eq!(balance(&gateway, &purse).await, 5_000, "shipping and tax are given back");
    gateway.assert_sound().await;

    // From a sum of the lines on, shipping costs nothing.
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 20)]).await;
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 2_000 + 140);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_needs_a_quote_for_what_is_in_it_and_where_it_goes() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    created(&gateway, "OFF", json!({ "amount": 100 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[]).await;
    assert_eq!(choose(&shopper, &id, "standard", json!({})).await["field"], "input.cartId");
    add(&shopper, &id, "a", 2).await;
    let refused = async |fault: &str| {
        let before = gateway.snapshot().await;
        let refused = checkout(&shopper, &id, &purse, "op").await;
        assert_eq!(refused["code"], "QUOTE_NEEDED", "{refused:#}");
        assert_eq!(refused["quoteFault"], fault);
        assert!(gateway.snapshot().await == before, "{fault}");
    };
    refused("MISSING").await;
    assert_eq!(chosen(&shopper, &id, "standard", json!({ "country": "FR" })).await, 700);
    refused("OTHER_DESTINATION").await;
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 809);
    add(&shopper, &id, "a", 1).await;
    let seen = "query($id: ID!) { cart(id: $id) { total { minorUnits } quote { isCurrent } } }";
    let outdated = json!({ "total": { "minorUnits": 300 }, "quote": { "isCurrent": false } });
    assert_eq!(shopper.field(seen, json!({ "id": id })).await, outdated);
    refused("OUTDATED").await;
    chosen(&shopper, &id, "standard", json!({})).await;
    applied(&shopper, &id, "OFF").await;
    refused("OUTDATED").await;
    // Of a method that isn't offered, and of others' carts, nothing is chosen.
    for (client, method, more, code) in [
        (&shopper, "abroad", json!({}), "NOT_FOUND"),
        (&shopper, "$where", json!({}), "NOT_FOUND"),
        (&shopper, "express", json!({ "country": "FR" }), "NOT_FOUND"),
        (&gateway.anonymous(), "standard", json!({}), "NOT_FOUND"),
        (&shopper, "standard", json!({ "country": "ZZ" }), "INVALID_INPUT"),
    ] {
        let before = gateway.snapshot().await;
        let refused = choose(client, &id, method, more).await;
        assert_eq!(refused["code"], code, "{method}: {refused:#}");
        if method == "express" {
            let message = "the shipping method \"express\" isn't offered for this cart to FR";
            assert_eq!(refused["message"], message, "{refused:#}");
        }
        assert!(gateway.snapshot().await == before, "{method}");
    }
    // 300 less 100, with 7 % of what is left.
    assert_eq!(chosen(&shopper, &id, "standard", json!({})).await, 200 + 14 + 595);
    assert_eq!(checkout(&shopper, &id, &purse, "op").await["total"]["minorUnits"], 809);
    settled(&gateway).await;
    let late = choose(&shopper, &id, "express", json!({})).await;
    assert_eq!(late["code"], "CART_NOT_ACTIVE", "{late:#}");
    // A gateway without shipping methods needs no quote.
    let other = gateway.sibling_with(|config| config.shipping_methods.clear()).await;
    let id = cart(&other.shopper("ann"), "AT_CHECKOUT", &[("a", 1)]).await;
    let order = checkout(&other.shopper("ann"), &id, &purse, "op").await;
    assert_eq!((&order["total"]["minorUnits"], &order["charges"]), (&json!(100), &json!(null)));
    settled(&other).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tax_follows_the_lines_of_an_order_and_shipping_stays() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    created(&gateway, "OFF", json!({ "amount": 100 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 3)]).await;
    applied(&shopper, &id, "OFF").await;
    chosen(&shopper, &id, "standard", json!({})).await;
    let placed = checkout(&shopper, &id, &purse, "op").await;
    let order = placed["id"].as_str().unwrap_or_else(|| panic!("{placed:#}"));
    settled(&gateway).await;
    assert_eq!(sums(&shopper, order).await, [809, 14 + 95, 100, 0]);
    // A piece that is added costs its full price, and is taxed like its line. A repeat adds nothing.
    for _ in 0..2 {
        adjust(&shopper, order, "a", 4, "more").await;
        settled(&gateway).await;
        assert_eq!(sums(&shopper, order).await, [916, 21 + 95, 100, 0]);
        assert_eq!(balance(&gateway, &purse).await, 5_000 - 916);
    }
    gateway.assert_sound().await;
    // The tax on the added piece goes first. Of that on the other three that on one is left, rounded down.
    for _ in 0..2 {
        adjust(&shopper, order, "a", 1, "less").await;
        settled(&gateway).await;
        assert_eq!(sums(&shopper, order).await, [666, 4 + 95, 33, 916 - 666]);
    }
    gateway.assert_sound().await;
    assert_eq!(shipped(&gateway, order, "a", 1).await, 1);
    let input = json!({ "shipmentNumber": 1, "reason": "Too small" });
    change(&shopper, "requestReturn", order, input).await;
    for _ in 0..2 {
        let input = json!({ "returnNumber": 1, "idempotencyKey": "accept" });
        let accepted = change(&gateway.merchant(), "acceptReturn", order, input).await;
        assert_eq!(accepted["__typename"], "Order", "{accepted:#}");
        settled(&gateway).await;
        assert_eq!(sums(&shopper, order).await, [595, 95, 0, 916 - 595]);
    }
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 595);
    gateway.assert_sound().await;
    // What came back can be cancelled as a whole; then shipping is given back too.
    assert_eq!(cancel(&shopper, order, "cancel").await["state"], "CANCELLED");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_at_once_and_repeats_leave_one_method() {
    let gateway = Gateway::with(with_tables).await;
    stocked(&gateway, "a", 100, 100).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    let names = ["standard", "express"].repeat(6);
    let all = join_all(names.iter().map(|method| choose(&guest, &id, method, json!({})))).await;
    assert!(all.iter().all(|cart| cart["__typename"] == "Cart"), "{all:#?}");
    let seen = format!(
        "query($id: ID!) {{ cart(id: $id) {{ total {{ minorUnits }} quote {{ {CHARGES} }} }} }}"
    );
    let seen = guest.field(&seen, json!({ "id": id })).await;
    let is_express = seen["quote"]["charges"]["shippingMethod"] == "express";
    let total = if is_express { 100 + 7 + 1_785 } else { 100 + 7 + 595 };
    assert_eq!(seen["total"]["minorUnits"], total, "{seen:#}");

    let once = json!({ "idempotencyKey": "op" });
    chosen(&guest, &id, "standard", once.clone()).await;
    chosen(&guest, &id, "express", json!({})).await;
    let repeat = choose(&guest, &id, "standard", once.clone()).await;
    assert_eq!(repeat["quote"]["charges"]["shippingMethod"], "express", "{repeat:#}");
    assert_eq!(choose(&guest, &id, "express", once).await["code"], "CONFLICT");
    gateway.assert_sound().await;
}

/// Changes a configuration.
type Change<'a> = &'a dyn Fn(&mut Config);

#[test]
fn settings_of_shipping_and_tax_are_checked() {
    let faults = |change: &dyn Fn(&mut Config)| {
        let mut config = support::config("any");
        with_tables(&mut config);
        change(&mut config);
        domains::setting_faults(&config).join("\n")
    };
    let sound = domains::setting_faults(&support::config("any")).join("\n");
    assert_eq!(faults(&|_| {}), sound);
    let set_standard = |config: &mut Config, change: &dyn Fn(&mut ShippingSetting)| {
        change(config.shipping_methods.get_mut("standard").expect("a method"));
    };
    let outside = |config: &mut Config| {
        config.quote_url = Some("https://quotes.example".into());
        config.quote_signing_secret = Some("quotes: thirty-two bytes at the least".into());
    };
    assert_eq!(faults(&outside), sound);
    let cases: [(Change<'_>, &str); 8] = [
        (&|config| config.shipping_methods.clear(), "taxes needs"),
        (
            &|config| {
                let method = config.shipping_methods["standard"].clone();
                config.shipping_methods.insert("$a b".into(), method);
            },
            "shipping_methods.$a b: a name",
        ),
        (
            &|config| {
                set_standard(config, &|method| {
                    method.prices.insert("EUR".into(), -1);
                });
            },
            "shipping_methods.standard.prices.EUR: -1 stands there",
        ),
        (
            &|config| set_standard(config, &|method| method.countries.push("ZZ".into())),
            "shipping_methods.standard.countries: \"ZZ\" is no country of ISO 3166-1",
        ),
        (
            &|config| config.taxes.get_mut("DE").expect("a country").rate = 100_001,
            "taxes.DE.rate: 100001 stands there, a rate in thousandths of a percent is expected",
        ),
        (&|config| config.quote_url = Some("ftp://a".into()), "quote_url isn't"),
        (
            &|config| config.quote_url = Some("https://quotes.example".into()),
            "quote_signing_secret",
        ),
        (
            &|config| {
                outside(config);
                config.quote_timeout_millis = config.flow_run_millis;
            },
            "quote_timeout_millis must",
        ),
    ];
    for (change, named) in cases {
        let found = faults(change);
        assert!(found.contains(named), "{named}: {found}");
    }
}

#[test]
fn tables_of_other_shapes_are_named() {
    for (flags, named) in [
        (
            json!({ "taxes": { "DE": { "rate": "19" } } }),
            "taxes.DE.rate: \"19\" stands there, a whole number of thousandths of a percent",
        ),
        (
            json!({ "taxes": { "DE": { "rate": 1, "rates": 2 } } }),
            "taxes.DE.rates is no configuration key",
        ),
        (json!({ "taxes": 19 }), "taxes: a table of countries, each with a rate, is expected"),
        (
            json!({ "shipping_methods": { "a": { "prices": {} } } }),
            "shipping_methods.a.title is missing (in the flags)",
        ),
    ] {
        let faults = Config::load_keys(None, flags).expect_err("faults").to_string();
        assert!(faults.contains(named), "{named}: {faults}");
    }
}
