//! What docgate guarantees, by a transaction: a repeat with the same idempotency key changes nothing and answers the
//! same, with another input it is a conflict; cart, order, payment and transfer are documents with an owner, as large
//! as docgate's; accounts and stock keep the tags of what changed them; each collection has the indexes of docgate's.
//! Prices are read before the transaction, as docgate reads them before its writes. The caller is believed: no token
//! is verified.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use futures_util::{FutureExt as _, TryStreamExt as _};
use mongodb::{
    ClientSession, Database,
    bson::{DateTime, Document, doc},
    error::{ErrorKind, Result, WriteFailure},
};
use serde::Deserialize;

use super::{Line, begin, copy_with_indexes, insert, status, step, together};

/// The account that receives the payments.
const MERCHANT: &str = "merchant:EUR";
/// Tags that an account or a stock document remembers.
const TAGS: i32 = 8;
const LARGEST: i64 = 1_000_000_000_000_000_000;
const DUPLICATE_KEY: i32 = 11_000;

#[derive(Deserialize)]
struct Transfer {
    op: String,
    by: String,
    from: String,
    to: String,
    amount: i64,
}

#[derive(Deserialize)]
struct Checkout {
    op: String,
    owner: String,
    lines: Vec<Line>,
    shipping: Document,
    /// The account that pays; without it the payment is only recorded.
    payer: Option<String>,
}

/// A checkout with the lines as they are sold.
struct Priced {
    asked: Checkout,
    lines: Vec<Document>,
    total: i64,
}

/// An update that changes numbers and remembers its tag.
fn tagged(numbers: Document, tag: &str, amount: i64) -> Document {
    let mark = doc! { "tag": tag, "quantity": amount, "at": DateTime::now() };
    doc! { "$inc": numbers, "$push": { "marks": { "$each": [mark], "$slice": -TAGS } } }
}

async fn debit(
    database: &Database,
    session: &mut ClientSession,
    (account, owner): (&str, &str),
    amount: i64,
    tag: &str,
) -> Result<()> {
    let guard =
        doc! { "_id": account, "owner": owner, "state": "OPEN", "balance": { "$gte": amount } };
    let update = tagged(doc! { "balance": -amount }, tag, -amount);
    step(database, session, "sure_accounts", guard, update).await
}

async fn credit(
    database: &Database,
    session: &mut ClientSession,
    account: &str,
    amount: i64,
    tag: &str,
) -> Result<()> {
    let guard = doc! { "_id": account, "state": "OPEN", "balance": { "$lte": LARGEST - amount } };
    let update = tagged(doc! { "balance": amount }, tag, amount);
    step(database, session, "sure_accounts", guard, update).await
}

/// The document of a transfer or of a payment: by its `_id` it is the record of the op too.
fn transfer_document(
    id: &str,
    kind: &str,
    by: &str,
    [source, destination]: [&str; 2],
    amount: i64,
) -> Document {
    let now = DateTime::now();
    doc! {
        "_id": id, "kind": kind, "by": by, "source": source, "destination": destination,
        "accounts": [source, destination], "amount": amount, "currency": "EUR", "state": "DONE",
        "input": format!("{source} {destination} {amount}"), "deadline": now, "at": now,
        "history": [doc! { "state": "DONE", "at": now }], "v": 1,
    }
}

async fn move_money(
    database: &Database,
    session: &mut ClientSession,
    Transfer { op, by, from, to, amount }: &Transfer,
) -> Result<()> {
    let document = transfer_document(op, "TRANSFER", by, [from, to], *amount);
    insert(database, session, "sure_transfers", document).await?;
    debit(database, session, (from, by), *amount, op).await?;
    credit(database, session, to, *amount, op).await
}

async fn check_out(
    database: &Database,
    session: &mut ClientSession,
    Priced { asked, lines, total }: &Priced,
) -> Result<()> {
    let Checkout { op, owner, shipping, payer, .. } = asked;
    let (now, order, payment) = (DateTime::now(), format!("{op}/order"), format!("{op}/payment"));
    // The cart is the record of the op: it can't be inserted twice.
    let record = doc! { "tag": format!("{op}/0"), "id": op, "input": input(asked), "at": now };
    let cart = doc! {
        "_id": op, "owner": owner, "policy": "AT_CHECKOUT", "currency": "EUR", "state": "COMPLETE",
        "lines": lines, "ops": [&record], "outbox": [], "attempts": 1, "openedAt": now,
        "modifiedAt": now, "v": 1,
        "checkout": {
            "id": &order, "paymentId": &payment, "owner": owner, "op": op, "input": input(asked),
            "shipping": shipping, "payment": { "account": payer }, "total": total, "deadline": now,
        },
    };
    insert(database, session, "sure_carts", cart).await?;
    for (number, Line { sku, quantity }) in asked.lines.iter().enumerate() {
        let guard =
            doc! { "_id": sku, "available": { "$gte": quantity }, "deleting": { "$ne": true } };
        let numbers = doc! { "available": -quantity, "sold": quantity };
        let update = tagged(numbers, &format!("{op}/{number}"), *quantity);
        step(database, session, "sure_inventory", guard, update).await?;
    }
    let mut payments = Vec::new();
    // What costs nothing has no payment.
    if *total > 0 {
        let source = payer.as_deref().unwrap_or("none");
        let paid = transfer_document(&payment, "PAYMENT", owner, [source, MERCHANT], *total);
        insert(database, session, "sure_transfers", paid).await?;
        if let Some(payer) = payer {
            debit(database, session, (payer, owner), *total, &payment).await?;
            credit(database, session, MERCHANT, *total, &payment).await?;
        }
        payments.push(doc! { "id": &payment, "amount": total, "refunded": 0_i64 });
    }
    let number = number(&order);
    let numbered = doc! { "_id": &number, "order": &order, "v": 1 };
    insert(database, session, "sure_orderNumbers", numbered).await?;
    let skus: BTreeSet<&str> = asked.lines.iter().map(|line| line.sku.as_str()).collect();
    let skus: Vec<&str> = skus.into_iter().collect();
    let order = doc! {
        "_id": &order, "cartId": op, "number": number, "owner": owner, "state": "PLACED",
        "revision": 1_i64, "currency": "EUR", "lines": lines, "skus": &skus, "total": total,
        "payments": payments, "shipping": shipping, "payer": { "account": payer }, "outbox": [],
        "raises": [], "stage": "PLACED", "recount": { "at": now, "skus": skus },
        "ops": [record], "placedAt": now, "changedAt": now, "v": 1,
    };
    insert(database, session, "sure_orders", order).await
}

/// The number of an order, which people can tell each other. It is long enough that no two orders have the same.
fn number(order: &str) -> String {
    let mut hasher = DefaultHasher::new();
    order.hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}

/// What a repeat has to be equal in.
fn input(asked: &Checkout) -> String {
    let lines = asked.lines.iter().map(|Line { sku, quantity }| format!("{sku} {quantity}"));
    format!("{:?} {} {:?}", asked.payer, asked.shipping, lines.collect::<Vec<_>>())
}

/// The lines with title, type and price of the products.
async fn priced(database: &Database, asked: Checkout) -> Result<Option<Priced>> {
    let skus: Vec<_> = asked.lines.iter().map(|line| line.sku.as_str()).collect();
    let shown = doc! { "title": 1, "type": 1, "pricing": 1, "deletedAt": 1 };
    let filter = doc! { "_id": { "$in": &skus } };
    let found = database.collection::<Document>("products").find(filter).projection(shown).await?;
    let products: Vec<_> = found.try_collect().await?;
    let mut lines = Vec::new();
    let mut total = 0;
    for Line { sku, quantity } in &asked.lines {
        let of_sku = |product: &&Document| product.get_str("_id").is_ok_and(|id| id == sku);
        let Some(product) = products.iter().find(of_sku) else { return Ok(None) };
        let price = product.get_document("pricing").and_then(|pricing| pricing.get_i64("retail"));
        let (Ok(price), Ok(title), Ok(kind)) =
            (price, product.get_str("title"), product.get_str("type"))
        else {
            return Ok(None);
        };
        lines.push(doc! {
            "sku": sku, "quantity": quantity, "held": 0_i64, "title": title, "type": kind,
            "unitPrice": price,
        });
        total += price * quantity;
    }
    Ok(Some(Priced { asked, lines, total }))
}

type Answer = std::result::Result<Json<Document>, StatusCode>;

/// The answer to a call, or to its repeat: `known` is the input that the record of the op has.
async fn answer(
    done: Result<()>,
    database: &Database,
    (collection, id, field, input): (&str, &str, &str, &str),
    told: Document,
) -> Answer {
    let Err(error) = done else { return Ok(Json(told)) };
    if !is_duplicate(&error) {
        return Err(status(&error));
    }
    let filter = doc! { "_id": id, field: input };
    match database.collection::<Document>(collection).find_one(filter).await {
        Ok(Some(_)) => Ok(Json(told)),
        Ok(None) => Err(StatusCode::CONFLICT),
        Err(_) => Err(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

pub fn is_duplicate(error: &mongodb::error::Error) -> bool {
    match error.kind.as_ref() {
        ErrorKind::Write(WriteFailure::WriteError(fault)) => fault.code == DUPLICATE_KEY,
        ErrorKind::Command(fault) => fault.code == DUPLICATE_KEY,
        _ => false,
    }
}

async fn transfer(State(database): State<Database>, Json(asked): Json<Transfer>) -> Answer {
    let done = together(&database, &asked, |database, session, asked| {
        move_money(database, session, asked).boxed()
    });
    let done = done.await;
    let Transfer { op, from, to, amount, .. } = &asked;
    let told = doc! { "id": op, "state": "DONE", "amount": amount };
    let input = format!("{from} {to} {amount}");
    answer(done, &database, ("sure_transfers", op, "input", &input), told).await
}

async fn checkout(State(database): State<Database>, Json(asked): Json<Checkout>) -> Answer {
    let priced = priced(&database, asked).await;
    let priced = priced.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let priced = priced.ok_or(StatusCode::NOT_FOUND)?;
    let done = together(&database, &priced, |database, session, priced| {
        check_out(database, session, priced).boxed()
    });
    let done = done.await;
    let op = &priced.asked.op;
    let told = doc! { "id": format!("{op}/order"), "state": "PLACED", "total": priced.total };
    let input = input(&priced.asked);
    answer(done, &database, ("sure_carts", op, "ops.input", &input), told).await
}

/// Copies docgate's collections with their indexes.
pub async fn router(database: Database) -> Result<Router> {
    for (name, copied) in [
        ("accounts", true),
        ("inventory", true),
        ("transfers", false),
        ("carts", false),
        ("orders", false),
    ] {
        copy_with_indexes(&database, name, copied).await?;
    }
    // It has no other index than that of `_id`.
    begin(&database, "sure_orderNumbers", None).await?;
    let merchant =
        doc! { "_id": MERCHANT, "kind": "RECEIVING", "state": "OPEN", "balance": 0_i64, "v": 1 };
    database.collection("sure_accounts").insert_one(merchant).await?;
    let router = Router::new()
        .route("/transfer", post(transfer))
        .route("/checkout", post(checkout))
        .with_state(database);
    Ok(router)
}
