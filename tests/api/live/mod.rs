//! Subscriptions: what carries them, what bounds them, and what feeds them.

mod bounds;
mod hub;
mod legacy;
mod multipart;
mod reservations;
mod socket;
mod sse;

use std::time::Duration;

use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::support::{Gateway, now_seconds, token_with};

const STOCK: &str = "subscription($sku: ID!) { stockChanged(sku: $sku) { available } }";

/// The same subscription as a text of more than 20,000 bytes.
fn long_stock() -> String {
    format!("#{}\n{STOCK}", "x".repeat(20_000))
}

/// Stock as a document, without a product.
async fn stock(gateway: &Gateway, sku: &str, available: i64) {
    let stock = doc! { "_id": sku, "available": available, "v": 1 };
    gateway.database.collection("inventory").insert_one(stock).await.expect("inserted");
}

async fn set(gateway: &Gateway, sku: &str, available: i64) {
    let inventory = gateway.database.collection::<mongodb::bson::Document>("inventory");
    let change = doc! { "$set": { "available": available } };
    inventory.update_one(doc! { "_id": sku }, change).await.expect("updated");
}

/// What an answer to [`STOCK`] says.
fn available(answer: &Value) -> i64 {
    let available = answer["data"]["stockChanged"]["available"].as_i64();
    available.unwrap_or_else(|| panic!("stock: {answer:#}"))
}

/// A token that ends after that many seconds.
fn short_token(seconds: u64) -> String {
    token_with(&json!({ "sub": "someone", "exp": now_seconds() + seconds }))
}

/// Long enough that what wasn't said by then isn't on its way.
const MOMENT: Duration = Duration::from_millis(500);

/// A question with a large answer.
const LARGE: &str = "{ __schema { types { name description fields { name description args { name \
    description type { name kind ofType { name kind } } } type { name kind ofType { name kind \
    ofType { name } } } } enumValues { name description } inputFields { name description } } } }";
