//! The one client of the process.

use std::time::{Duration, Instant};

use mongodb::{
    Client, Database,
    bson::doc,
    options::{ClientOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern},
};
use tokio::time::timeout;

use super::{driver::send, pool};
use crate::{error::Error, metrics::database::Pool};

/// Opens the client.
///
/// # Errors
/// The connection string can't be used.
pub async fn connect(uri: &str, name: &str, database: &str) -> mongodb::error::Result<Database> {
    Ok(Client::with_options(options(uri, name).await?)?.database(database))
}

/// As [`connect`], with its connections counted.
///
/// # Errors
/// The connection string can't be used.
pub async fn watched(
    uri: &str,
    name: &str,
    database: &str,
    connections: &Pool,
) -> mongodb::error::Result<Database> {
    let mut options = options(uri, name).await?;
    options.cmap_event_handler = Some(pool::watch(connections.clone()));
    Ok(Client::with_options(options)?.database(database))
}

/// How the client works: majority writes that are journaled by the server's default, retried once
/// by the driver, on the primary.
///
/// # Errors
/// The connection string can't be used.
pub async fn options(uri: &str, name: &str) -> mongodb::error::Result<ClientOptions> {
    let mut options = ClientOptions::parse(uri).await?;
    options.app_name = Some(name.to_owned());
    options.retry_writes = Some(true);
    options.retry_reads = Some(true);
    options.write_concern = Some(WriteConcern::majority());
    options.read_concern = Some(ReadConcern::local());
    options.selection_criteria = Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
    options.connect_timeout.get_or_insert(Duration::from_secs(5));
    options.server_selection_timeout.get_or_insert(Duration::from_secs(5));
    options.max_pool_size.get_or_insert(64);
    Ok(options)
}

/// Ends a client: once this returns, the driver does nothing more in the background. It has to come before
/// the end of the runtime, where tasks of the driver that wait for each other would panic.
pub async fn close(client: Client) {
    // The driver waits for sessions and cursors that are still held, and tells the server which ended.
    if timeout(CLOSING, client.clone().shutdown()).await.is_err() {
        let _late = timeout(CLOSING, client.shutdown().immediate(true)).await;
    }
}

/// How long an orderly end may take, and then one that waits for nobody.
const CLOSING: Duration = Duration::from_secs(2);

/// Whether the primary answers.
///
/// # Errors
/// It doesn't, or not in time.
pub async fn ping(database: &Database) -> Result<(), Error> {
    let database = database.clone();
    send("admin", "ping", async move { database.run_command(doc! { "ping": 1 }).await }).await?;
    Ok(())
}

/// Waits for the primary, up to `limit`, telling `waiting` after each try that failed.
///
/// # Errors
/// What the last try said.
pub async fn wait_for_primary(
    database: &Database,
    limit: Duration,
    mut waiting: impl FnMut(&Error, Duration),
) -> Result<(), Error> {
    let since = Instant::now();
    loop {
        match ping(database).await {
            Ok(()) => return Ok(()),
            Err(error) if since.elapsed() >= limit => return Err(error),
            Err(error) => waiting(&error, since.elapsed()),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
