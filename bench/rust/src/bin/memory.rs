//! docgate with its reads by key answered from memory: what is left is HTTP and GraphQL.

// As in docgate: futures of resolvers lie in each other as deep as objects do.
#![recursion_limit = "256"]

use std::io;

use docgate::{app::App, config::Config, edge::Edge};
use tokio_util::sync::CancellationToken;

/// As docgate has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> io::Result<()> {
    let database = docgate_bench::database().await?;
    let config = Config {
        database: database.name().to_owned(),
        mongodb_uri: docgate_bench::variable("MONGODB_URI")?,
        secret: "a secret for measurements alone".to_owned(),
        requests_per_second: 0,
        client_share_percent: 100,
        ..Config::default()
    };
    let app = App::new(config, database);
    app.answer_from_memory("products").await.map_err(io::Error::other)?;
    let edge = Edge::new(app, None).map_err(io::Error::other)?;
    let listener = docgate_bench::listen().await?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        let _faulty = docgate_bench::told_to_end().await;
        stopping.cancel();
    });
    edge.serve(listener, stop).await;
    Ok(())
}
