//! A shop to test in: products, stock, carts, accounts, and how they stand.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use docgate::config::{Config, PaymentProvider};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

pub use crate::support::settled;
use crate::support::{Client, Gateway, key, short_bounds};

pub const ORDER: &str = "id cartId state lines { sku quantity unitPrice { minorUnits } total { minorUnits } } \
    total { minorUnits } paid { minorUnits } refunded { minorUnits } refundDue { minorUnits } \
    shipping { name street city country } placedAt";

/// A new idempotency key. With short bounds, clients of tests repeat a call that ran out of time; with a key it counts once.
pub fn fresh_key() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("fresh-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The settings of a gateway whose provider of payments is this service.
pub fn paid_at(url: String) -> impl Fn(&mut Config) {
    move |config| {
        short_bounds(config);
        config.payments = PaymentProvider::Http;
        config.payments_url = Some(url.clone());
        config.payments_signing_secret = Some("payments: thirty-two bytes at the least".into());
    }
}

/// A product and its stock.
pub async fn stocked(gateway: &Gateway, sku: &str, price: i64, quantity: i64) {
    gateway.product(sku, price, "EUR").await;
    let receive = "mutation($input: ReceiveStockInput!) { receiveStock(input: $input) { \
        __typename ... on Stock { available } } }";
    let input = json!({ "sku": sku, "quantity": quantity });
    let stock = gateway.merchant().field(receive, json!({ "input": input })).await;
    assert_eq!(stock["__typename"], "Stock", "{stock:#}");
}

/// An account with money in it.
pub async fn account(gateway: &Gateway, subject: &str, balance: i64) -> String {
    let open = "mutation($input: OpenAccountInput!) { openAccount(input: $input) { \
        __typename ... on Account { id } } }";
    let input = json!({ "currency": "EUR", "idempotencyKey": fresh_key() });
    let account = gateway.shopper(subject).field(open, json!({ "input": input })).await["id"]
        .as_str()
        .expect("an account")
        .to_owned();
    if balance > 0 {
        let deposit = "mutation($input: DepositInput!) { deposit(input: $input) { __typename } }";
        // A call whose answer is late on a busy machine is repeated.
        let key = format!("deposit {account}");
        let input = json!({ "accountId": account, "amount": balance, "idempotencyKey": key });
        let done = gateway.service().field(deposit, json!({ "input": input })).await;
        assert_eq!(done["__typename"], "Transfer", "{done:#}");
    }
    account
}

/// What is in an account.
pub async fn balance(gateway: &Gateway, account: &str) -> i64 {
    let accounts = gateway.database.collection::<Document>("accounts");
    let found =
        accounts.find_one(doc! { "_id": key(account) }).await.expect("read").expect("there");
    found.get_i64("balance").expect("a balance")
}

/// A cart with lines.
pub async fn cart(client: &Client, policy: &str, lines: &[(&str, i64)]) -> String {
    let open = "mutation($input: OpenCartInput!) { openCart(input: $input) { \
        __typename ... on Cart { id } } }";
    // Without a token a key is refused, and a cart that nobody knows is in nobody's way.
    let key = client.token.as_ref().map(|_| fresh_key());
    let input = json!({ "policy": policy, "currency": "EUR", "idempotencyKey": key });
    let cart = client.field(open, json!({ "input": input })).await["id"]
        .as_str()
        .expect("a cart")
        .to_owned();
    for (sku, quantity) in lines {
        let added = add(client, &cart, sku, *quantity).await;
        assert_eq!(added["__typename"], "Cart", "{added:#}");
    }
    cart
}

/// Adds to a cart.
pub async fn add(client: &Client, cart: &str, sku: &str, quantity: i64) -> Value {
    let add = "mutation($input: AddCartLineInput!) { addCartLine(input: $input) { \
        __typename ... on UserError { code message } } }";
    let input = json!({
        "cartId": cart, "sku": sku, "quantity": quantity, "idempotencyKey": fresh_key(),
    });
    client.field(add, json!({ "input": input })).await
}

/// `account` is "none" where nothing costs anything.
pub fn checkout_input(cart: &str, account: &str, op: &str) -> Value {
    let payment = if account == "none" { json!({}) } else { json!({ "accountId": account }) };
    json!({
        "cartId": cart,
        "shipping": { "name": "N. N.", "street": "A street 1", "city": "12345 A city", "country": "DE" },
        "payment": payment,
        "idempotencyKey": op,
    })
}

pub fn checkout_query() -> String {
    format!(
        "mutation($input: CheckoutCartInput!) {{ checkoutCart(input: $input) {{ __typename \
         ... on Order {{ {ORDER} }} ... on UserError {{ code message }} \
         ... on CheckoutShort {{ shortLines {{ sku requested available }} }} \
         ... on PaymentDeclined {{ reason }} ... on InvalidInput {{ field }} \
         ... on CartNotActive {{ cartState }} }} }}"
    )
}

/// Checks a cart out; the whole response.
pub async fn try_checkout(client: &Client, cart: &str, account: &str, op: &str) -> Value {
    let input = json!({ "input": checkout_input(cart, account, op) });
    client.run(&checkout_query(), input).await
}

/// Checks a cart out; what was answered without trouble.
pub async fn checkout(client: &Client, cart: &str, account: &str, op: &str) -> Value {
    client.field(&checkout_query(), json!({ "input": checkout_input(cart, account, op) })).await
}

/// A placed order of `lines`, paid from `account`.
pub async fn placed(client: &Client, account: &str, lines: &[(&str, i64)]) -> String {
    let cart = cart(client, "RESERVE", lines).await;
    let order = checkout(client, &cart, account, "placed").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    complete(client, &cart).await;
    order["id"].as_str().expect("an order").to_owned()
}

/// Waits until the cart is complete, which happens behind the answer to its checkout. With short bounds, that may run out
/// of time on a busy machine. The sweep then finishes it.
pub async fn complete(client: &Client, cart: &str) {
    for _ in 0..20 {
        if is_complete_soon(client, cart).await {
            return;
        }
        client.sweep().await;
    }
    panic!("the cart doesn't become complete");
}

/// Whether the cart becomes complete within some two seconds.
async fn is_complete_soon(client: &Client, cart: &str) -> bool {
    let query = "query($id: ID!) { cart(id: $id) { state } }";
    for _ in 0..100 {
        if client.field(query, json!({ "id": cart })).await["state"] == "COMPLETE" {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// A document as it stands.
pub async fn stored(gateway: &Gateway, collection: &str, id: &str) -> Document {
    let collection = gateway.database.collection::<Document>(collection);
    collection.find_one(doc! { "_id": key(id) }).await.expect("read").expect("there")
}

/// `(available, reserved, sold)` of a SKU.
pub async fn stock(gateway: &Gateway, sku: &str) -> (i64, i64, i64) {
    let found = stored(gateway, "inventory", sku).await;
    let of = |field: &str| found.get_i64(field).expect("a counter");
    (of("available"), of("received") - of("available") - of("sold"), of("sold"))
}

/// The state of a cart or an order.
pub async fn state(gateway: &Gateway, collection: &str, id: &str) -> String {
    stored(gateway, collection, id).await.get_str("state").expect("a state").to_owned()
}

/// How many documents there are.
pub async fn count(gateway: &Gateway, collection: &str) -> u64 {
    let collection = gateway.database.collection::<Document>(collection);
    collection.count_documents(doc! {}).await.expect("counted")
}
