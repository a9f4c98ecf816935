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

#[derive(Deserialize)]
struct Gold {
    from: String,
    to: String,
}

#[derive(Deserialize)]
struct Pick {
    character: String,
    place: String,
    thing: String,
}

async fn give_gold(
    database: &Database,
    session: &mut ClientSession,
    Gold { from, to }: &Gold,
) -> Result<()> {
    let payer = doc! { "_id": from, "state": "ALIVE", "gold": { "$gte": 1_i64 } };
    step(database, session, "tx_characters", payer, doc! { "$inc": { "gold": -1_i64 } }).await?;
    let payee = doc! { "_id": to, "state": "ALIVE" };
    step(database, session, "tx_characters", payee, doc! { "$inc": { "gold": 1_i64 } }).await?;
    let record = doc! { "_id": ObjectId::new(), "from": from, "to": to, "at": DateTime::now() };
    insert(database, session, "tx_moves", record).await
}

async fn pick_up(
    database: &Database,
    session: &mut ClientSession,
    Pick { character, place, thing }: &Pick,
) -> Result<()> {
    let has = doc! { "id": thing, "quantity": { "$gte": 1_i64 } };
    let pile = doc! { "_id": place, "inventory": { "$elemMatch": has } };
    let less = doc! { "$inc": { "inventory.$.quantity": -1_i64 } };
    step(database, session, "tx_places", pile, less).await?;
    let own = doc! { "_id": character, "state": "ALIVE", "place": place, "inventory.stacks": true };
    let more = doc! { "$inc": { "inventory.$.quantity": 1_i64 } };
    step(database, session, "tx_characters", own, more).await?;
    let record =
        doc! { "_id": ObjectId::new(), "by": character, "of": thing, "at": DateTime::now() };
    insert(database, session, "tx_moves", record).await
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

async fn gold(State(database): State<Database>, Json(asked): Json<Gold>) -> StatusCode {
    let done = together(&database, &asked, |database, session, asked| {
        give_gold(database, session, asked).boxed()
    });
    answer(done.await)
}

async fn pick(State(database): State<Database>, Json(asked): Json<Pick>) -> StatusCode {
    let done = together(&database, &asked, |database, session, asked| {
        pick_up(database, session, asked).boxed()
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
        ("tx_characters", Some("characters")),
        ("tx_places", Some("places")),
        ("tx_moves", None),
    ] {
        begin(&database, name, copied).await?;
    }
    let router = Router::new()
        .route("/transfer", post(transfer))
        .route("/checkout", post(checkout))
        .route("/gold", post(gold))
        .route("/pick", post(pick))
        .with_state(database);
    Ok(router)
}
