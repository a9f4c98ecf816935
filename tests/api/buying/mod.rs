//! Vouchers, changed prices, shipping and tax, saved addresses, and carts as they change.

mod addresses;
mod charged;
mod discounted_tax;
mod flows;
mod live;
mod prices;
mod quote_flows;
mod quoted_outside;
mod quotes;
mod returns;
mod shipping_refunds;
mod taken_back;
mod tax_included;
mod variants;
mod voucher_list;
mod vouchers;

use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::{
    shop::{checkout_input, stored},
    support::{Client, Gateway},
};

/// Fields of a cart, as far as prices matter.
const CART: &str = "state goods { minorUnits } discount { minorUnits } total { minorUnits } \
    voucher { voucherCode percent amount { minorUnits } minimum { minorUnits } }";

/// Creates a voucher in euros.
async fn create(gateway: &Gateway, code: &str, more: Value) -> Value {
    let create = "mutation($input: CreateVoucherInput!) { createVoucher(input: $input) { \
        __typename ... on Voucher { voucherCode percent amount { minorUnits } } \
        ... on UserError { code message } ... on InvalidInput { field } } }";
    let mut input = json!({ "code": code, "currency": "EUR" });
    let Value::Object(fields) = more else { panic!("the fields are an object") };
    input.as_object_mut().expect("an object").extend(fields);
    gateway.merchant().field(create, json!({ "input": input })).await
}

/// As [`create`], and it must be created.
pub async fn created(gateway: &Gateway, code: &str, more: Value) {
    let voucher = create(gateway, code, more).await;
    assert_eq!(voucher["__typename"], "Voucher", "{voucher:#}");
}

/// Applies a voucher.
async fn apply(client: &Client, cart: &str, code: &str, op: Option<&str>) -> Value {
    let apply = format!(
        "mutation($input: ApplyVoucherInput!) {{ applyVoucher(input: $input) {{ __typename \
         ... on Cart {{ {CART} }} ... on UserError {{ code message }} \
         ... on NotFound {{ what }} ... on VoucherRefused {{ voucherCode fault minimum {{ minorUnits currency }} }} }} }}"
    );
    let input = json!({ "cartId": cart, "code": code, "idempotencyKey": op });
    client.field(&apply, json!({ "input": input })).await
}

/// As [`apply`], and it must be applied.
pub async fn applied(client: &Client, cart: &str, code: &str) -> Value {
    let cart = apply(client, cart, code, None).await;
    assert_eq!(cart["__typename"], "Cart", "{cart:#}");
    cart
}

/// Removes the voucher.
async fn remove(client: &Client, cart: &str) -> Value {
    let remove = format!(
        "mutation($id: ID!) {{ removeVoucher(input: {{cartId: $id}}) {{ __typename \
         ... on Cart {{ {CART} }} ... on UserError {{ code message }} }} }}"
    );
    client.field(&remove, json!({ "id": cart })).await
}

/// The document of a checkout.
fn checkout_query() -> &'static str {
    "mutation($input: CheckoutCartInput!) { checkoutCart(input: $input) { __typename \
        ... on Order { id state discountCode discount { minorUnits } total { minorUnits } \
            paid { minorUnits } lines { sku unitPrice { minorUnits } } } \
        ... on UserError { code message } ... on VoucherRefused { voucherCode fault } \
        ... on PricesChanged { changedLines { sku unitPrice { minorUnits } priceNow { minorUnits } } } \
        ... on CheckoutShort { shortLines { sku } } ... on PaymentDeclined { reason } } }"
}

/// Checks a cart out.
async fn checkout(client: &Client, cart: &str, account: &str, op: &str) -> Value {
    let input = json!({ "input": checkout_input(cart, account, op) });
    client.field(checkout_query(), input).await
}

/// Cancels an order.
async fn cancel(client: &Client, order: &str, op: &str) -> Value {
    let cancel = "mutation($id: ID!, $op: ID!) { \
        cancelOrder(input: {orderId: $id, idempotencyKey: $op}) { __typename \
            ... on Order { state refunded { minorUnits } } ... on UserError { code message } } }";
    client.field(cancel, json!({ "id": order, "op": op })).await
}

/// `[reserved, spent, number of reservations, number of uses]` of a document with uses of a voucher.
async fn sums(gateway: &Gateway, collection: &str, id: &str) -> [i64; 4] {
    let found = stored(gateway, collection, id).await;
    ["reserved", "spent", "reservedUses", "spentUses"]
        .map(|field| found.get_i64(field).expect("a sum"))
}

/// Those of a voucher.
pub async fn used(gateway: &Gateway, code: &str) -> [i64; 4] {
    sums(gateway, "vouchers", code).await
}

/// The number of marks of a document with uses of a voucher.
async fn marks(gateway: &Gateway, collection: &str, id: &str) -> usize {
    stored(gateway, collection, id).await.get_array("marks").expect("marks").len()
}

/// Lets a voucher's time be over.
async fn expire(gateway: &Gateway, code: &str) {
    let over = doc! { "$set": { "validUntil": mongodb::bson::DateTime::from_millis(1) } };
    gateway.raw("vouchers").update_one(doc! { "_id": code }, over).await.expect("expired");
}
