//! What a team writes by hand that wants no GraphQL: one handler, one call of the driver. It has what such a team
//! gives a handler that has to be fast: mimalloc, handles of the collections that are made once, sockets without
//! Nagle's delay, the driver's pool as large as docgate's, and a task of its own for each call of the driver. A
//! caller that hangs up so doesn't cut a call in the middle, which would cost the driver the connection.

use std::io;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use mongodb::{
    Collection, Database,
    bson::{DateTime, Document, doc},
    error::Result,
};
use serde::Deserialize;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Documents = Collection<Document>;
type Answer = std::result::Result<Json<Document>, StatusCode>;

/// A call of the driver in its own task.
async fn apart<T: Send + 'static>(
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> std::result::Result<T, StatusCode> {
    match tokio::spawn(call).await {
        Ok(Ok(outcome)) => Ok(outcome),
        _ => Err(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

async fn product(State(products): State<Documents>, Path(sku): Path<String>) -> Answer {
    let found = apart(async move { products.find_one(doc! { "_id": sku }).await }).await?;
    found.map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn hit(State(counted): State<Documents>, Path(sku): Path<String>) -> StatusCode {
    let update = doc! { "$inc": { "hits": 1 } };
    let call = async move { counted.update_one(doc! { "_id": sku }, update).upsert(true).await };
    match apart(call).await {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(status) => status,
    }
}

#[derive(Deserialize)]
struct Hit {
    page: String,
}

/// The same documents as docgate's.
async fn page_hit(State(database): State<Database>, Json(Hit { page }): Json<Hit>) -> StatusCode {
    let now = DateTime::now();
    let date = now.try_to_rfc3339_string().unwrap_or_default();
    let (day, month) = (&date[..10], &date[..7]);
    let minute = now.timestamp_millis() / 60_000 % 1_440;
    let (hour, minute) = (minute / 60, minute % 60);
    let add = |name: &str, date: &str, counts: Document| {
        let collection = database.collection::<Document>(name);
        let filter = doc! { "_id": { "site": "bare.example", "page": &page, "date": date } };
        let update = doc! { "$inc": counts, "$setOnInsert": { "v": 1 } };
        apart(async move { collection.update_one(filter, update).upsert(true).await })
    };
    let hours = doc! { format!("hourly.{hour}"): 1_i64, format!("minute.{hour}.{minute}"): 1_i64 };
    let days = doc! { format!("daily.{}", date[8..10].trim_start_matches('0')): 1_i64 };
    match tokio::try_join!(add("statsDaily", day, hours), add("statsMonthly", month, days)) {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(status) => status,
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let database = docgate_bench::database().await?;
    // Without MongoDB's record of each write, by which the driver may send it again: as docgate counts.
    let once = docgate_bench::database_with(|options| options.retry_writes = Some(false)).await?;
    let products = Router::new()
        .route("/product/{sku}", get(product))
        .with_state(database.collection("products"));
    let hit =
        Router::new().route("/hit/{sku}", post(hit)).with_state(database.collection("bench_hits"));
    let hits = Router::new().route("/hits", post(page_hit)).with_state(once);
    docgate_bench::serve(products.merge(hit).merge(hits)).await
}
