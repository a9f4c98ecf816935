//! Execution statistics of a read, from the server's `explain`: how many keys and documents it examined.

use mongodb::{
    Database,
    bson::{Bson, Document, doc},
};

use super::driver::send;
use crate::error::Error;

/// Execution statistics of a read, as `explain` reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Index keys examined (`totalKeysExamined`).
    pub keys_examined: i64,
    /// Documents examined (`totalDocsExamined`).
    pub docs_examined: i64,
    /// Documents returned (`nReturned`).
    pub returned: i64,
}

/// Runs the read again under `explain`, which returns statistics and no documents.
pub async fn statistics(database: &Database, read: Document) -> Result<Statistics, Error> {
    let explain = doc! { "explain": read, "verbosity": "executionStats" };
    let handle = database.clone();
    let reply =
        send(database.name(), "explain", async move { handle.run_command(explain).await }).await?;
    let stats = statistics_in(&reply).ok_or_else(|| Error::internal("no statistics"))?;
    let number = |key: &str| match stats.get(key) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    };
    Ok(Statistics {
        keys_examined: number("totalKeysExamined"),
        docs_examined: number("totalDocsExamined"),
        returned: number("nReturned"),
    })
}

/// Where the reply has them: an aggregation's are those of its first stage, if the server hasn't made one plan of it.
fn statistics_in(reply: &Document) -> Option<&Document> {
    let first = reply.get_array("stages").ok().and_then(|stages| stages.first());
    let cursor = first.and_then(|stage| stage.as_document()?.get_document("$cursor").ok());
    cursor.unwrap_or(reply).get_document("executionStats").ok()
}
