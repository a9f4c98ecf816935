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
    bson::{Document, doc},
};

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

#[tokio::main]
async fn main() -> io::Result<()> {
    let database = docgate_bench::database().await?;
    let router = Router::new()
        .route("/product/{sku}", get(product))
        .route("/hit/{sku}", post(hit))
        .with_state(database);
    docgate_bench::serve(router).await
}
