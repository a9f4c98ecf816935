//! HTTP only: the router and what a request passes on its way to the schema.

mod again;
mod assets;
pub mod auth;
mod counted;
mod documents;
mod door;
mod execution;
mod explorer;
mod feeds;
mod graphiql;
mod graphql;
mod health;
mod intake;
mod limits;
mod live;
mod metrics;
mod negotiation;
mod observed;
mod parameters;
mod parts;
mod receive;
mod refusal;
mod server;
mod shares;
mod traces;
mod unread;
mod uploads;
mod visit;
mod written;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, header},
    middleware::from_fn,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tower_service::Service as _;

use crate::{app::App, config::Config, schema::GatewaySchema};

pub use explorer::DemoTokens;

/// What every handler gets.
#[derive(Clone)]
pub struct Edge {
    app: App,
    schema: GatewaySchema,
    authenticator: Arc<auth::Authenticator>,
    limits: Arc<limits::Limits>,
    documents: Arc<documents::Documents>,
    demo: Option<Arc<DemoTokens>>,
    live: Arc<live::Live>,
    observer: Arc<observed::Observer>,
    readiness: Arc<health::Readiness>,
    /// Cancelled when the gateway stops and takes no connections any more: what would go on for as long as its
    /// client likes ends then. A client that connects again at once doesn't come back to the same gateway.
    closing: CancellationToken,
}

/// Why there can't be an HTTP side.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A token key can't be read.
    #[error(transparent)]
    Key(#[from] auth::KeyError),
    /// The trusted documents can't be read.
    #[error(transparent)]
    Documents(#[from] documents::DocumentsError),
}

impl Edge {
    /// The HTTP side of a gateway; `demo` tokens are shown in the explorer.
    ///
    /// # Errors
    /// A token key or the trusted documents can't be read.
    pub fn new(app: App, demo: Option<DemoTokens>) -> Result<Self, SetupError> {
        let schema = crate::schema::build(app.config());
        Self::with_schema(app, schema, demo)
    }

    /// As [`Self::new`], with a schema that was built before.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_schema(
        app: App,
        schema: GatewaySchema,
        demo: Option<DemoTokens>,
    ) -> Result<Self, SetupError> {
        let config = app.config();
        let authenticator = auth::Authenticator::new(config)?.with_issuer(&app)?;
        let authenticator = Arc::new(authenticator);
        let limits = Arc::new(limits::Limits::of(config));
        let documents = Arc::new(documents::Documents::of(config)?);
        let live = Arc::new(live::Live::new(config));
        let observer = Arc::new(observed::Observer::new(app.clone(), &schema));
        let (demo, readiness) = (demo.map(Arc::new), Arc::default());
        Ok(Self {
            app,
            schema,
            authenticator,
            limits,
            documents,
            demo,
            live,
            observer,
            readiness,
            closing: CancellationToken::new(),
        })
    }

    /// What is wrong with the files that a configuration names, each fault as a sentence.
    pub fn faults(config: &Config) -> Vec<String> {
        let mut faults = auth::Authenticator::faults(config);
        faults.extend(documents::Documents::of(config).err().map(|fault| fault.to_string()));
        faults
    }

    /// What is answered here.
    fn routes(self) -> Routes {
        let config = self.app.config();
        // What has to pass a layer isn't for the short way.
        let is_plain = config.cors_origins.is_empty() && config.otlp_endpoint.is_none();
        let operations = is_plain.then(|| Arc::new(self.clone()));
        Routes { operations, others: self.router() }
    }

    /// The routes. Those of operators are among them unless they have an address of their own.
    fn router(self) -> Router {
        let config = self.app.config();
        let mut routes = Router::new()
            .route("/graphql", post(post_graphql).get(get_graphql))
            .route("/graphql/stream", live::reservations::routes())
            .route("/feeds/{*path}", get(feeds::feed))
            .route("/assets/{*path}", assets::routes());
        if let Some(cors) = cors(&config.cors_origins) {
            routes = routes.layer(cors);
        }
        if config.otlp_endpoint.is_some() {
            routes = routes.layer(from_fn(traces::trace));
        }
        if config.explorer {
            routes = routes.merge(pages());
        }
        if config.admin_listen.is_none() {
            routes = routes.merge(Self::admin_routes());
        }
        routes.with_state(self)
    }

    /// What operators ask for.
    fn admin_routes() -> Router<Self> {
        Router::new()
            .route("/health/live", get(health::live))
            .route("/health/ready", get(health::ready))
            .route("/metrics", get(metrics::metrics))
    }

    /// Serves what operators ask for on a listener of its own until `stop`.
    pub async fn serve_admin(self, listener: TcpListener, stop: CancellationToken) {
        let (app, limits) = (self.app.clone(), Arc::clone(&self.limits));
        let others = Self::admin_routes().with_state(self);
        let routes = Routes { operations: None, others };
        let closing = CancellationToken::new();
        let server = server::Server::new(routes, limits, app.config(), stop, closing);
        server.serve(listener, Duration::ZERO).await.wait().await;
    }

    /// Serves on `listener` until `stop`, then finishes what is under way: requests, and flows whose
    /// clients have gone.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let closing = self.closing.clone();
        let app = self.app.clone();
        let tasks = app.tasks().clone();
        let grace = app.bounds().one();
        let (limits, documents) = (Arc::clone(&self.limits), Arc::clone(&self.documents));
        let kept = Arc::clone(&limits);
        let upkeep = async move { tokio::join!(kept.forget(), documents.keep_fresh()) };
        let upkeep = tokio::spawn(upkeep);
        let server = server::Server::new(self.routes(), limits, app.config(), stop, closing);
        let connections = server.serve(listener, FAREWELL).await;
        upkeep.abort();
        if tokio::time::timeout(grace, connections.wait()).await.is_err() {
            tracing::warn!("connections were still open at the end of the grace period");
        }
        tasks.close();
        if tokio::time::timeout(grace, tasks.wait()).await.is_err() {
            tracing::warn!("flows were still under way; the sweeps finish them");
        }
    }
}

/// How long clients that keep their connections have for one more request, when the gateway stops. Its
/// answer tells them that it is the last one.
const FAREWELL: Duration = Duration::from_secs(1);

/// What a browser shows; nothing needs it.
fn pages() -> Router<Edge> {
    Router::new()
        .route("/", get(explorer::page))
        .route("/explorer.css", get(explorer::style))
        .route("/explorer.js", get(explorer::script))
        .route("/explorer/{part}", get(explorer::part))
        .route("/graphiql", get(graphiql::page))
        .route("/graphiql/{part}", get(graphiql::part))
}

/// Answers to pages of other origins; none where there are none.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            graphql::REQUEST_ID,
            header::RETRY_AFTER,
            header::ETAG,
            header::ACCEPT_RANGES,
            header::CONTENT_DISPOSITION,
            header::CONTENT_RANGE,
            header::LOCATION,
        ])
        .max_age(Duration::from_secs(3_600));
    if origins.iter().any(|origin| origin == "*") {
        // Without credentials: any page could use them.
        return Some(layer.allow_origin(AllowOrigin::any()));
    }
    let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    Some(layer.allow_origin(AllowOrigin::list(origins)).allow_credentials(true))
}

/// What answers a request: operations sent by POST, which are most of what comes, needn't be looked up.
struct Routes {
    operations: Option<Arc<Edge>>,
    others: Router,
}

impl Routes {
    async fn answer(&self, request: Request) -> Response {
        match &self.operations {
            Some(edge)
                if *request.method() == Method::POST && request.uri().path() == "/graphql" =>
            {
                graphql::post(Arc::clone(edge), request).await
            }
            _ => {
                let Ok(response) = self.others.clone().call(request).await;
                response
            }
        }
    }
}

/// `POST /graphql`.
async fn post_graphql(State(edge): State<Edge>, request: Request) -> Response {
    graphql::post(Arc::new(edge), request).await
}

/// `GET /graphql`: an operation, a socket for many, or a browser that looks what is here.
async fn get_graphql(State(edge): State<Edge>, request: Request) -> Response {
    let (mut head, _) = request.into_parts();
    if head.headers.contains_key(header::UPGRADE) {
        return live::socket::upgrade(edge, &mut head).await;
    }
    let accepts = head.headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    let asks = head.uri.query().is_some_and(|query| !query.is_empty());
    if !asks && accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        return Redirect::to("/").into_response();
    }
    graphql::get(Arc::new(edge), head).await
}
