//! The address of an order, which is corrected until something is packed.

use docgate::{config::Config, graphql::node_id::NodeKind};
use serde_json::{Value, json};

use super::{Subject, cancel, fulfilment::packed, send, shop, subject};
use crate::{
    shop::{cart, checkout_input, checkout_query, complete, placed, settled, stocked, stored},
    support::{Client, Gateway, cuts, long_bounds, short_bounds},
};

const CHANGE: &str = "mutation($input: ChangeOrderAddressInput!) { changeOrderAddress(input: $input) { \
    __typename ... on Order { shipping { name street city country email phone } total { minorUnits } } \
    ... on UserError { code message } ... on InvalidInput { field } ... on OrderShipped { sku least } } }";

fn address(street: &str) -> Value {
    json!({ "name": "Ann", "street": street, "city": "54321 Other city", "country": "DE",
        "email": "ann@home.example", "phone": null })
}

async fn change(client: &Client, order: &str, to: Value, op: Option<&str>) -> Value {
    let input = json!({ "orderId": order, "shipping": to, "idempotencyKey": op });
    client.field(CHANGE, json!({ "input": input })).await
}

async fn street(gateway: &Gateway, order: &str) -> String {
    let order = stored(gateway, "orders", order).await;
    let shipping = order.get_document("shipping").expect("an address");
    shipping.get_str("street").expect("a street").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_corrected_until_something_is_packed() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let merchant = gateway.merchant();
    let changed = change(&shopper, &order, address("Street $1"), Some("one")).await;
    assert_eq!(changed["shipping"], address("Street $1"), "{changed:#}");
    assert_eq!(changed["total"]["minorUnits"], 350);
    assert_eq!(change(&merchant, &order, address("Street 2"), None).await["__typename"], "Order");
    // A late repeat overwrites nothing, and other input isn't a repeat.
    let repeated = change(&shopper, &order, address("Street $1"), Some("one")).await;
    assert_eq!(repeated["shipping"]["street"], "Street 2", "{repeated:#}");
    let other = change(&shopper, &order, address("Street 3"), Some("one")).await;
    assert_eq!(other["code"], "CONFLICT");
    for client in [gateway.shopper("bob"), gateway.anonymous(), gateway.service()] {
        assert_eq!(change(&client, &order, address("Theirs"), None).await["code"], "NOT_FOUND");
    }
    let none = NodeKind::ORDER.id("none");
    assert_eq!(change(&merchant, &none, address("None"), None).await["code"], "NOT_FOUND");
    for (field, value) in [("country", "ZZ"), ("street", ""), ("email", "ann")] {
        let mut wrong = address("Street 3");
        wrong[field] = json!(value);
        let said = change(&shopper, &order, wrong, None).await;
        assert_eq!(said["field"], json!(format!("input.shipping.{field}")), "{said:#}");
    }
    // Nothing was paid that depends on the country.
    let mut abroad = address("Rue 1");
    abroad["country"] = json!("FR");
    assert_eq!(change(&shopper, &order, abroad, None).await["shipping"]["country"], "FR");

    let number = packed(&gateway, &order, "b", 1).await;
    let late = change(&shopper, &order, address("Street 4"), None).await;
    assert_eq!((&late["sku"], &late["least"]), (&json!("b"), &json!(1)), "{late:#}");
    let told = late["message"].as_str().expect("a message");
    assert!(told.contains("the address can't be changed: a merchant can unpack"), "{told}");
    let unpack =
        "mutation($input: UnpackOrderInput!) { unpackOrder(input: $input) { __typename } }";
    let input = json!({ "orderId": order, "shipmentNumber": number });
    merchant.field(unpack, json!({ "input": input })).await;
    assert_eq!(change(&shopper, &order, address("Street 4"), None).await["__typename"], "Order");
    cancel(&shopper, &order, "op").await;
    settled(&gateway).await;
    assert_eq!(change(&merchant, &order, address("None"), None).await["code"], "ORDER_NOT_OPEN");
    assert_eq!(street(&gateway, &order).await, "Street 4");
    // A guest by the order's id.
    stocked(&gateway, "free", 0, 10).await;
    let guests = placed(&gateway.anonymous(), "none", &[("free", 1)]).await;
    let changed = change(&gateway.anonymous(), &guests, address("Street 5"), None).await;
    assert_eq!(changed["shipping"]["street"], "Street 5", "{changed:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

/// Of a customer who changes the address and a merchant who packs, the parcel never has an address that the order has no more.
#[tokio::test(flavor = "multi_thread")]
async fn who_packs_and_who_changes_the_address_are_told_the_truth() {
    let gateway = Gateway::with(long_bounds).await;
    let (shopper, ..) = shop(&gateway).await;
    stocked(&gateway, "free", 0, 100).await;
    let pack = "mutation($input: PackOrderInput!) { packOrder(input: $input) { \
        ... on Order { shipping { street } } } }";
    for _ in 0..10 {
        let order = placed(&shopper, "none", &[("free", 1)]).await;
        let merchant = gateway.merchant();
        let input = json!({ "input": { "orderId": order } });
        let (packed, changed) = tokio::join!(
            merchant.field(pack, input),
            change(&shopper, &order, address("New street"), None)
        );
        let stays = street(&gateway, &order).await;
        assert_eq!(packed["shipping"]["street"], stays, "{packed:#} {changed:#}");
        let was_refused = changed["code"] == "ORDER_SHIPPED";
        assert_eq!(was_refused, stays != "New street", "{changed:#}");
    }
    settled(&gateway).await;
    gateway.assert_sound().await;
}

/// No checkout needs a shipping method. Of all countries only Germany and Austria have taxes, and that of Austria is 0.
fn with_taxes(config: &mut Config) {
    let rate = |rate: u32| json!({ "rate": rate, "included": true });
    let taxes = serde_json::from_value(json!({ "DE": rate(19_000), "AT": rate(0) }));
    config.taxes = taxes.expect("taxes");
    config.shipping_required = false;
}

fn address_in(country: &str) -> Value {
    let mut address = address("Rue 1");
    address["country"] = json!(country);
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn the_country_can_change_if_neither_shipping_nor_tax_depend_on_it() {
    let gateway = Gateway::with(with_taxes).await;
    let (shopper, purse, _) = shop(&gateway).await;
    let id = cart(&shopper, "RESERVE", &[("a", 1)]).await;
    let mut input = checkout_input(&id, &purse, "abroad");
    input["shipping"]["country"] = json!("US");
    let placed = shopper.field(&checkout_query(), json!({ "input": input })).await;
    assert_eq!(placed["__typename"], "Order", "{placed:#}");
    complete(&shopper, &id).await;
    let order = placed["id"].as_str().expect("an order");
    for country in ["CA", "AT", "US"] {
        let changed = change(&shopper, order, address_in(country), None).await;
        assert_eq!(changed["shipping"], address_in(country), "{changed:#}");
    }
    // The order was paid without the tax that is due there.
    let said = change(&shopper, order, address_in("DE"), None).await;
    assert_eq!(said["field"], "input.shipping.country", "{said:#}");
    // Whether a service would tax it isn't known.
    let with_service = |config: &mut Config| config.quote_url = Some("http://service".into());
    let outside = gateway.sibling_with(with_service).await;
    let shopper = outside.shopper("ann");
    let said = change(&shopper, order, address_in("CA"), None).await;
    assert_eq!(said["field"], "input.shipping.country", "{said:#}");
    assert_eq!(change(&shopper, order, address_in("US"), None).await["__typename"], "Order");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_country_stays_if_shipping_or_tax_were_paid_for_it() {
    let gateway = Gateway::with(with_taxes).await;
    let (shopper, _, order) = shop(&gateway).await;
    let said = change(&shopper, &order, address_in("FR"), None).await;
    assert_eq!(said["field"], "input.shipping.country", "{said:#}");
    assert_eq!(change(&shopper, &order, address("Street 2"), None).await["__typename"], "Order");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_address_is_changed_once() {
    cuts::everywhere(
        short_bounds,
        subject,
        async |gateway, subject: &Subject| {
            send(gateway, subject, CHANGE, json!({ "shipping": address("Street 2") })).await;
        },
        async |gateway, case| {
            let named = format!("{:?} at {}", case.way, case.at);
            assert_eq!(street(gateway, &case.subject.order).await, "Street 2", "{named}");
            let order = stored(gateway, "orders", &case.subject.order).await;
            assert_eq!(order.get_array("ops").expect("ops").len(), 1, "{named}");
        },
    )
    .await;
}
