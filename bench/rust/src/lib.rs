//! What the peers share.

pub mod ads;

use std::{env, io};

use axum::{Router, serve::ListenerExt as _};
use mongodb::{
    Client, Database,
    options::{ClientOptions, WriteConcern},
};
use tokio::net::TcpListener;

/// A variable of the environment.
///
/// # Errors
/// It isn't set.
pub fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|fault| io::Error::other(format!("{name}: {fault}")))
}

/// The database that `MONGODB_URI` and `DATABASE` name, with docgate's own settings of the driver.
///
/// # Errors
/// They don't.
pub async fn database() -> io::Result<Database> {
    database_with(|_| {}).await
}

/// The same with other settings.
///
/// # Errors
/// As [`database`].
pub async fn database_with(change: impl FnOnce(&mut ClientOptions)) -> io::Result<Database> {
    let mut options =
        ClientOptions::parse(variable("MONGODB_URI")?).await.map_err(io::Error::other)?;
    options.write_concern = Some(WriteConcern::majority());
    options.max_pool_size = Some(64);
    change(&mut options);
    let client = Client::with_options(options).map_err(io::Error::other)?;
    Ok(client.database(&variable("DATABASE")?))
}

/// Listens on the `PORT` of loopback, and says so.
///
/// # Errors
/// The port is taken.
pub async fn listen() -> io::Result<TcpListener> {
    let port = variable("PORT")?.parse().map_err(io::Error::other)?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("ready");
    Ok(listener)
}

/// Serves until the process is told to end.
///
/// # Errors
/// The port is taken, or the listener failed.
pub async fn serve(router: Router) -> io::Result<()> {
    let end = async { told_to_end().await.unwrap_or_default() };
    let listener = listen().await?.tap_io(|stream| {
        // Without it a peer is only slower.
        let _delayed = stream.set_nodelay(true);
    });
    axum::serve(listener, router).with_graceful_shutdown(end).await
}

/// Resolves when the process is told to end.
///
/// # Errors
/// Signals can't be received.
pub async fn told_to_end() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}
