//! A transfer and a checkout as multi-document transactions, in collections of their own that begin
//! as copies of docgate's.

use std::io;

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use futures_util::{FutureExt, future::BoxFuture};
use mongodb::{
    ClientSession, Database,
    bson::{DateTime, Document, doc, oid::ObjectId},
    error::{Error, Result},
    options::{ReadConcern, WriteConcern},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Transfer {
    from: String,
    to: String,
    amount: i64,
}

#[derive(Deserialize)]
struct Line {
    sku: String,
    quantity: i64,
}

#[derive(Deserialize)]
struct Checkout {
    lines: Vec<Line>,
}

/// Why a transaction is given up: nothing of it happens.
fn refused() -> Error {
    Error::custom("refused")
}

/// The one update of a guarded step; its guard stands in the filter.
async fn step(
    database: &Database,
    session: &mut ClientSession,
    collection: &str,
    filter: Document,
    update: Document,
) -> Result<()> {
    let collection = database.collection::<Document>(collection);
    let updated = collection.update_one(filter, update).session(session).await?;
    if updated.matched_count == 1 { Ok(()) } else { Err(refused()) }
}

async fn insert(
    database: &Database,
    session: &mut ClientSession,
    collection: &str,
    document: Document,
) -> Result<()> {
    database.collection(collection).insert_one(document).session(session).await.map(|_| ())
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

/// The steps of one transaction.
type Steps<T> = for<'a> fn(&'a Database, &'a mut ClientSession, &'a T) -> BoxFuture<'a, Result<()>>;

/// Carries `steps` out together or not at all; what the server calls transient is done again.
async fn together<T: Send + Sync>(database: Database, asked: T, steps: Steps<T>) -> StatusCode {
    let done = async {
        let mut session = database.client().start_session().await?;
        session
            .start_transaction()
            .read_concern(ReadConcern::snapshot())
            .write_concern(WriteConcern::majority())
            .and_run((&database, &asked), |session, (database, asked)| {
                steps(database, session, asked)
            })
            .await
    };
    status(done.await)
}

async fn transfer(State(database): State<Database>, Json(asked): Json<Transfer>) -> StatusCode {
    together(database, asked, |database, session, asked| {
        move_money(database, session, asked).boxed()
    })
    .await
}

async fn checkout(State(database): State<Database>, Json(asked): Json<Checkout>) -> StatusCode {
    together(database, asked, |database, session, asked| {
        check_out(database, session, asked).boxed()
    })
    .await
}

fn status(done: Result<()>) -> StatusCode {
    match done {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(error) if error.get_custom::<&str>().is_some() => StatusCode::CONFLICT,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Copies docgate's collections, and makes those that a transaction can't make.
async fn prepare(database: &Database) -> Result<()> {
    for name in ["accounts", "inventory"] {
        let copy = vec![doc! { "$out": format!("tx_{name}") }];
        database.collection::<Document>(name).aggregate(copy).await?;
    }
    for name in ["tx_transfers", "tx_orders"] {
        database.collection::<Document>(name).drop().await?;
        database.create_collection(name).await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let database = docgate_bench::database().await?;
    prepare(&database).await.map_err(io::Error::other)?;
    let router = Router::new()
        .route("/transfer", post(transfer))
        .route("/checkout", post(checkout))
        .with_state(database);
    docgate_bench::serve(router).await
}
