//! As few statements as it takes: guarded steps, and a record of what happened.

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use futures_util::FutureExt as _;
use mongodb::{
    ClientSession, Database,
    bson::{DateTime, doc, oid::ObjectId},
    error::Result,
};
use serde::Deserialize;

use super::{Line, begin, insert, status, step, together};

#[derive(Deserialize)]
struct Transfer {
    from: String,
    to: String,
    amount: i64,
}

#[derive(Deserialize)]
struct Checkout {
    lines: Vec<Line>,
}

async fn move_money(
    database: &Database,
    session: &mut ClientSession,
    Transfer { from, to, amount }: &Transfer,
) -> Result<()> {
    let debit = doc! { "_id": from, "state": "OPEN", "balance": { "$gte": amount } };
    step(database, session, "tx_accounts", debit, doc! { "$inc": { "balance": -amount } }).await?;
    let credit = doc! { "_id": to, "state": "OPEN" };
    step(database, session, "tx_accounts", credit, doc! { "$inc": { "balance": amount } }).await?;
    let transfer = doc! {
        "_id": ObjectId::new(), "from": from, "to": to, "amount": amount, "at": DateTime::now(),
    };
    insert(database, session, "tx_transfers", transfer).await
}

async fn check_out(
    database: &Database,
    session: &mut ClientSession,
    Checkout { lines }: &Checkout,
) -> Result<()> {
    let mut ordered = Vec::new();
    let mut total = 0;
    for Line { sku, quantity } in lines {
        let filter = doc! { "_id": sku, "available": { "$gte": quantity } };
        let update = doc! { "$inc": { "available": -quantity, "sold": quantity } };
        step(database, session, "tx_inventory", filter, update).await?;
        ordered.push(doc! { "sku": sku, "quantity": quantity });
        total += quantity * 100;
    }
    let order = doc! {
        "_id": ObjectId::new(), "lines": ordered, "total": total, "at": DateTime::now(),
    };
    insert(database, session, "tx_orders", order).await
}

fn answer(done: Result<()>) -> StatusCode {
    done.map_or_else(|error| status(&error), |()| StatusCode::NO_CONTENT)
}

async fn transfer(State(database): State<Database>, Json(asked): Json<Transfer>) -> StatusCode {
    let done = together(&database, &asked, |database, session, asked| {
        move_money(database, session, asked).boxed()
    });
    answer(done.await)
}

async fn checkout(State(database): State<Database>, Json(asked): Json<Checkout>) -> StatusCode {
    let done = together(&database, &asked, |database, session, asked| {
        check_out(database, session, asked).boxed()
    });
    answer(done.await)
}

/// Copies docgate's collections, and makes those that a transaction can't make.
pub async fn router(database: Database) -> Result<Router> {
    for (name, copied) in [
        ("tx_accounts", Some("accounts")),
        ("tx_inventory", Some("inventory")),
        ("tx_transfers", None),
        ("tx_orders", None),
    ] {
        begin(&database, name, copied).await?;
    }
    let router = Router::new()
        .route("/transfer", post(transfer))
        .route("/checkout", post(checkout))
        .with_state(database);
    Ok(router)
}
