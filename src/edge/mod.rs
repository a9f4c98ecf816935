//! HTTP only: the router and what a request passes on its way to the schema.

pub mod auth;
mod execution;
mod explorer;
mod graphql;
mod health;
mod live;
mod metrics;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
    serve::ListenerExt,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::{app::App, schema::GatewaySchema};

pub use explorer::DemoTokens;

/// What every handler gets.
#[derive(Clone)]
pub struct Edge {
    app: App,
    schema: GatewaySchema,
    authenticator: Arc<auth::Authenticator>,
    demo: Option<Arc<DemoTokens>>,
}

impl Edge {
    /// The HTTP side of a gateway; `demo` tokens are shown in the explorer.
    ///
    /// # Errors
    /// A token key can't be read.
    pub fn new(app: App, demo: Option<DemoTokens>) -> Result<Self, auth::KeyError> {
        let authenticator = Arc::new(auth::Authenticator::new(app.config())?);
        Ok(Self { app, schema: crate::schema::build(), authenticator, demo: demo.map(Arc::new) })
    }

    /// The routes.
    pub fn router(self) -> Router {
        let limit = DefaultBodyLimit::max(self.app.config().body_bytes);
        Router::new()
            .route("/", get(explorer::page))
            .route("/explorer.css", get(explorer::style))
            .route("/explorer.js", get(explorer::script))
            .route("/explorer/{part}", get(explorer::part))
            .route("/graphql", post(graphql::execute).get(live::upgrade))
            .route("/health/live", get(health::live))
            .route("/health/ready", get(health::ready))
            .route("/metrics", get(metrics::metrics))
            .layer(limit)
            .with_state(self)
    }

    /// Serves on `listener` until `stop`, then finishes what is under way: requests, and flows whose
    /// clients have gone.
    ///
    /// # Errors
    /// The listener failed.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: CancellationToken,
    ) -> std::io::Result<()> {
        let tasks = self.app.tasks().clone();
        let grace = self.app.bounds().one();
        let stopping = stop.clone();
        let served = axum::serve(listener.tap_io(answer_at_once), self.router())
            .with_graceful_shutdown(async move { stopping.cancelled().await });
        let give_up = async {
            stop.cancelled().await;
            tokio::time::sleep(grace).await;
        };
        tokio::select! {
            served = served => served?,
            // A subscription keeps its connection open for as long as its client likes.
            () = give_up => tracing::warn!("connections were still open at the end of the grace period"),
        }
        tasks.close();
        if tokio::time::timeout(grace, tasks.wait()).await.is_err() {
            tracing::warn!("flows were still under way; the sweeps finish them");
        }
        Ok(())
    }
}

/// An answer isn't held back until the one before has arrived.
fn answer_at_once(connection: &mut TcpStream) {
    if let Err(fault) = connection.set_nodelay(true) {
        tracing::debug!(%fault, "a connection without TCP_NODELAY");
    }
}
