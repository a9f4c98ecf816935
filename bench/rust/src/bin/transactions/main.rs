//! A transfer and a checkout as multi-document transactions, in collections of their own that begin as copies of
//! docgate's: as few statements as it takes ([`bare`]), or with `GUARANTEES=docgate` what docgate guarantees too
//! ([`assured`], and [`game`] for moves of the game).

mod assured;
mod bare;
mod game;

use std::{env, io};

use axum::http::StatusCode;
use futures_util::{TryFutureExt as _, TryStreamExt as _, future::BoxFuture};
use mongodb::{
    ClientSession, Database,
    bson::{Document, doc},
    error::{Error, Result},
    options::{ReadConcern, WriteConcern},
};
use serde::Deserialize;

/// As docgate has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Deserialize)]
struct Line {
    sku: String,
    quantity: i64,
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

/// The steps of one transaction.
type Steps<T, R> =
    for<'a> fn(&'a Database, &'a mut ClientSession, &'a T) -> BoxFuture<'a, Result<R>>;

/// Carries `steps` out together or not at all; what the server calls transient is done again.
async fn together<T: Send + Sync, R: Send>(
    database: &Database,
    asked: &T,
    steps: Steps<T, R>,
) -> Result<R> {
    let mut session = database.client().start_session().await?;
    session
        .start_transaction()
        .read_concern(ReadConcern::snapshot())
        .write_concern(WriteConcern::majority())
        .and_run((database, asked), |session, (database, asked)| steps(database, session, asked))
        .await
}

fn status(error: &Error) -> StatusCode {
    match error.get_custom::<&str>() {
        Some(_) => StatusCode::CONFLICT,
        None => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Makes a collection anew: with the documents of another one, or empty.
async fn begin(database: &Database, name: &str, copied: Option<&str>) -> Result<()> {
    database.collection::<Document>(name).drop().await?;
    match copied {
        Some(original) => {
            let copy = [doc! { "$out": name }];
            database.collection::<Document>(original).aggregate(copy).await.map(|_| ())
        }
        None => database.create_collection(name).await,
    }
}

/// Makes the collection `sure_…` of docgate's collection anew, with its indexes.
async fn copy_with_indexes(database: &Database, name: &str, with_documents: bool) -> Result<()> {
    let own = format!("sure_{name}");
    begin(database, &own, with_documents.then_some(name)).await?;
    let indexes = database.collection::<Document>(name).list_indexes().await?;
    let indexes: Vec<_> = indexes.try_collect().await?;
    // All but that of `_id`, which is there.
    let made = indexes.into_iter().filter(|index| index.keys.keys().ne(["_id"]));
    database.collection::<Document>(&own).create_indexes(made).await.map(|_| ())
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let database = docgate_bench::database().await?;
    let router = match env::var("GUARANTEES").as_deref() {
        Ok("docgate") => {
            assured::router(database.clone())
                .and_then(|router| game::router(database).map_ok(|game| router.merge(game)))
                .await
        }
        _ => bare::router(database).await,
    };
    docgate_bench::serve(router.map_err(io::Error::other)?).await
}
