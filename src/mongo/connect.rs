//! Connects the process to MongoDB. A process has one client, whose connections all requests share.

use std::time::{Duration, Instant};

use mongodb::{
    Client, Database, ServerType,
    bson::doc,
    event::{EventHandler, sdam::SdamEvent},
    options::{ClientOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern},
};
use tokio::{sync::watch, time::timeout};

use super::{driver::send, numbered, pool};
use crate::{error::Error, metrics::database::Pool};

/// Creates the client, and returns its handle of `database`.
///
/// # Errors
/// The connection string can't be used.
pub async fn connect(uri: &str, name: &str, database: &str) -> mongodb::error::Result<Database> {
    Ok(Client::with_options(options(uri, name).await?)?.database(database))
}

/// Like [`connect`], with the metrics of its connections in `connections`.
///
/// # Errors
/// The connection string can't be used.
pub async fn with_metrics(
    uri: &str,
    name: &str,
    database: &str,
    connections: &Pool,
) -> mongodb::error::Result<Database> {
    let options = options_with_metrics(uri, name, connections).await?;
    Ok(Client::with_options(options)?.database(database))
}

/// Like [`connect`], with a handle that tells whether the servers are in a replica set.
///
/// # Errors
/// The connection string can't be used.
pub async fn connect_watching(
    uri: &str,
    name: &str,
    database: &str,
) -> mongodb::error::Result<(Database, Membership)> {
    let (sender, receiver) = watch::channel(false);
    let mut options = options(uri, name).await?;
    options.sdam_event_handler = Some(EventHandler::callback(move |event| {
        if let SdamEvent::TopologyDescriptionChanged(change) = event {
            let servers = change.new_description.servers();
            let mut types = servers.values().map(mongodb::ServerInfo::server_type);
            let are_outside = !servers.is_empty() && types.all(|of| of == ServerType::RsGhost);
            sender.send_replace(are_outside);
        }
    }));
    Ok((Client::with_options(options)?.database(database), Membership(receiver)))
}

/// Whether the servers of a client are in a replica set, as they say themselves.
#[derive(Debug)]
pub struct Membership(watch::Receiver<bool>);

impl Membership {
    /// Completes once all servers have said for two seconds that they are in no replica set. It never completes while a
    /// server says something else, or nothing.
    pub async fn until_outside(mut self) {
        loop {
            if self.0.wait_for(|are_outside| *are_outside).await.is_err() {
                return std::future::pending().await;
            }
            // A member that starts says the same until it has read its configuration.
            if timeout(START_OF_MEMBER, self.0.wait_for(|are_outside| !are_outside)).await.is_err()
            {
                return;
            }
        }
    }
}

/// How long a member of a set may say at its start that it is in none.
const START_OF_MEMBER: Duration = Duration::from_secs(2);

/// Like [`options`], with the metrics of the client's connections in `connections`.
///
/// # Errors
/// The connection string can't be used.
pub async fn options_with_metrics(
    uri: &str,
    name: &str,
    connections: &Pool,
) -> mongodb::error::Result<ClientOptions> {
    let mut options = options(uri, name).await?;
    options.cmap_event_handler = Some(pool::handler(connections.clone()));
    Ok(options)
}

/// Options of the client: write concern `majority` (the server journals such writes by default), one retry by the
/// driver, and the primary for all commands.
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

/// Shuts the last client of the process down, including the driver's background tasks. The shutdown has to precede the end of the
/// runtime, at which driver tasks that wait for each other would panic.
pub async fn close(client: Client) {
    numbered::give_back();
    // The driver waits for open sessions and cursors, and reports ended sessions to the server.
    if timeout(CLOSE_TIMEOUT, client.clone().shutdown()).await.is_err() {
        let _late = timeout(CLOSE_TIMEOUT, client.shutdown().immediate(true)).await;
    }
}

/// Shuts a client down while other clients of the process go on. It doesn't wait for open sessions and cursors.
pub async fn close_beside_others(client: Client) {
    let _late = timeout(CLOSE_TIMEOUT, client.shutdown().immediate(true)).await;
}

/// Time limit of the orderly shutdown, and of the immediate shutdown after it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Checks that the primary answers.
///
/// # Errors
/// The primary doesn't answer, or not in time.
pub async fn ping(database: &Database) -> Result<(), Error> {
    let database = database.clone();
    send("admin", "ping", async move { database.run_command(doc! { "ping": 1 }).await }).await?;
    Ok(())
}

/// Whether the server is a mongod outside of any replica set that can't become a member either: it was started without
/// `--replSet`. It answers as a primary does, but refuses numbered writes and change streams.
///
/// # Errors
/// It doesn't answer, or not in time.
pub async fn is_standalone(database: &Database) -> Result<bool, Error> {
    let database = database.clone();
    let reply =
        send("admin", "hello", async move { database.run_command(doc! { "hello": 1 }).await });
    let hello = reply.await?;
    // The router of a cluster is in no set.
    let is_router = hello.get_str("msg").is_ok_and(|of| of == "isdbgrid");
    Ok(!is_router && !hello.contains_key("setName"))
}

/// Waits for the primary for at most `limit`. Calls `on_failure` after each failed try, with the error and the
/// time since the beginning.
///
/// # Errors
/// The error of the last try.
pub async fn wait_for_primary(
    database: &Database,
    limit: Duration,
    mut on_failure: impl FnMut(&Error, Duration),
) -> Result<(), Error> {
    let since = Instant::now();
    loop {
        match ping(database).await {
            Ok(()) => return Ok(()),
            Err(error) if since.elapsed() >= limit => return Err(error),
            Err(error) => on_failure(&error, since.elapsed()),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
