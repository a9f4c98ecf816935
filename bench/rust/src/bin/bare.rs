//! What a team writes by hand that wants no GraphQL: one handler, one call of the driver.

use std::io;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use mongodb::{
    Database,
    bson::{DateTime, Document, doc},
};
use serde::Deserialize;

type Answer = Result<Json<Document>, StatusCode>;

async fn product(State(database): State<Database>, Path(sku): Path<String>) -> Answer {
    let products = database.collection::<Document>("products");
    let found = products.find_one(doc! { "_id": sku }).await;
    let found = found.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    found.map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn hit(State(database): State<Database>, Path(sku): Path<String>) -> StatusCode {
    let counted = database.collection::<Document>("bench_hits");
    let filter = doc! { "_id": sku };
    match counted.update_one(filter, doc! { "$inc": { "hits": 1 } }).upsert(true).await {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
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
    let add = async |name: &str, date: &str, counts: Document| {
        let collection = database.collection::<Document>(name);
        let filter = doc! { "_id": { "site": "bare.example", "page": &page, "date": date } };
        let update = doc! { "$inc": counts, "$setOnInsert": { "v": 1 } };
        collection.update_one(filter, update).upsert(true).await
    };
    let hours = doc! { format!("hourly.{hour}"): 1_i64, format!("minute.{hour}.{minute}"): 1_i64 };
    let days = doc! { format!("daily.{}", date[8..10].trim_start_matches('0')): 1_i64 };
    match tokio::try_join!(add("statsDaily", day, hours), add("statsMonthly", month, days)) {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let database = docgate_bench::database().await?;
    // Without MongoDB's record of each write, by which the driver may send it again: as docgate counts.
    let once = docgate_bench::database_with(|options| options.retry_writes = Some(false)).await?;
    let router = Router::new()
        .route("/product/{sku}", get(product))
        .route("/hit/{sku}", post(hit))
        .with_state(database);
    let hits = Router::new().route("/hits", post(page_hit)).with_state(once);
    let router = router.merge(hits);
    docgate_bench::serve(router).await
}
