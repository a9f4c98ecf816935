//! A product by key as most teams would serve it in Rust: async-graphql with its `DataLoader`, axum, and the
//! driver.
//!
//! `LOADER` says how products are read:
//!
//! - `request`: by a `DataLoader` of each request;
//! - `process`: by one `DataLoader` of all requests;
//! - `undelayed`: likewise, without the delay of 1 ms;
//! - `none`: without a `DataLoader`, by one command for each product.

use std::{env, io, time::Duration};

use async_graphql::{EmptyMutation, EmptySubscription, dataloader::DataLoader};
use async_graphql_axum::{GraphQLRequest, GraphQLResponse};
use axum::{Router, extract::State, routing::post, serve::ListenerExt};
use mongodb::{Client, Database, options::ClientOptions};
use tokio::net::TcpListener;

use crate::{
    products::Products,
    schema::{Query, Reads, Schema},
};

mod products;
mod schema;

/// As docgate has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What every request is answered with.
#[derive(Clone)]
struct Server {
    schema: Schema,
    /// What each request makes a loader of; absent where the schema has one for all.
    own: Option<Products>,
}

async fn graphql(State(server): State<Server>, request: GraphQLRequest) -> GraphQLResponse {
    let mut request = request.into_inner();
    if let Some(products) = server.own {
        request = request.data(Reads::Loaded(loader(products)));
    }
    server.schema.execute(request).await.into()
}

fn loader(products: Products) -> DataLoader<Products> {
    DataLoader::new(products, tokio::spawn)
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let products = Products::of(&database().await?);
    let loaded = variable("LOADER")?;
    let reads = match loaded.as_str() {
        "request" => None,
        "process" => Some(Reads::Loaded(loader(products.clone()))),
        "undelayed" => Some(Reads::Loaded(loader(products.clone()).delay(Duration::ZERO))),
        "none" => Some(Reads::Directly(products.clone())),
        _ => return Err(io::Error::other(format!("LOADER: there is no {loaded}"))),
    };
    let own = reads.is_none().then_some(products);
    let schema = Schema::build(Query, EmptyMutation, EmptySubscription);
    let schema = schema.limit_depth(16).limit_complexity(1_000);
    let schema = match reads {
        Some(reads) => schema.data(reads),
        None => schema,
    };
    let server = Server { schema: schema.finish(), own };
    serve(Router::new().route("/graphql", post(graphql)).with_state(server)).await
}

/// The database that `MONGODB_URI` and `DATABASE` name, with docgate's limit of connections.
async fn database() -> io::Result<Database> {
    let options = ClientOptions::parse(variable("MONGODB_URI")?).await;
    let mut options = options.map_err(io::Error::other)?;
    options.max_pool_size = Some(64);
    let client = Client::with_options(options).map_err(io::Error::other)?;
    Ok(client.database(&variable("DATABASE")?))
}

/// Serves on the `PORT` of loopback until the process is told to end, and says when it begins.
async fn serve(router: Router) -> io::Result<()> {
    let port = variable("PORT")?.parse().map_err(io::Error::other)?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    // An answer shall not wait for the acknowledgement of the one before.
    let listener = listener.tap_io(|stream| {
        let _refused = stream.set_nodelay(true);
    });
    println!("ready");
    let end = async { told_to_end().await.unwrap_or_default() };
    axum::serve(listener, router).with_graceful_shutdown(end).await
}

async fn told_to_end() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|fault| io::Error::other(format!("{name}: {fault}")))
}
