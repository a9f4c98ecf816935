//! What a read looks at.

use mongodb::{
    Database,
    bson::{Bson, Document, doc},
};

use super::driver::send;
use crate::error::Error;

/// What a read looks at, as the server's `explain` counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Index keys.
    pub keys_examined: i64,
    /// Documents.
    pub docs_examined: i64,
    /// Documents that came back.
    pub returned: i64,
}

/// Runs the read once more under `explain`, which counts without answering.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn figures(database: &Database, read: Document) -> Result<Figures, Error> {
    let explain = doc! { "explain": read, "verbosity": "executionStats" };
    let handle = database.clone();
    let answer =
        send(database.name(), "explain", async move { handle.run_command(explain).await }).await?;
    let statistics = answer.get_document("executionStats").map_err(Error::internal)?;
    let number = |key: &str| match statistics.get(key) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    };
    Ok(Figures {
        keys_examined: number("totalKeysExamined"),
        docs_examined: number("totalDocsExamined"),
        returned: number("nReturned"),
    })
}
