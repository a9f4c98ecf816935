//! The HTTP layer: routes, and the steps of a request before it reaches the schema.
//!
//! A connection:
//!
//! - `server`: accepts connections, with time limits and an orderly shutdown; `admission` is their limit
//! - `connection`: the requests of one connection; `repoll` spares them wake-ups
//! - `counted`, `received_bytes`, `read_bytes`, `unsent`, `drain`: the bytes that a client sends, that its operations read, that
//!   it leaves untaken, or that it sends in vain
//!
//! A request:
//!
//! - `requests`: its id, caller, address and body; `receive` reads the body
//! - [`auth`]: its token; `limits`: its client's rates and shares
//! - `parameters`, `variables`, `json`: a GraphQL request in JSON; `uploads` and `multipart`: one with files
//! - `trusted_documents`: documents by id or hash
//! - `execution`: runs operations, whatever they came by; `rounds`: wakes up a client's subscriptions a few at a time;
//!   `observed`: metrics, log lines and spans of operations
//! - `error_response`: errors and their status; `traces`: the span of a request
//!
//! What is served:
//!
//! - `graphql`: operations at `/graphql`; `negotiation` of the response, which `response_writer` and `whole_response` make
//! - `live`: sockets, event streams and multipart responses
//! - `assets`, `feeds`, `ads`: files, feeds, clicks and views
//! - `explorer`, `graphiql`, `shop`: pages; `bundle` serves those that were built before the binary
//! - `health`, `metrics`: for operators

mod admission;
mod ads;
mod assets;
pub mod auth;
mod bundle;
mod connection;
mod counted;
mod drain;
mod error_response;
mod execution;
mod explorer;
mod feeds;
mod graphiql;
mod graphql;
mod health;
mod json;
mod limits;
mod live;
mod metrics;
mod multipart;
mod negotiation;
mod observed;
mod parameters;
mod read_bytes;
mod receive;
mod received_bytes;
mod repoll;
mod requests;
mod response_writer;
mod rounds;
mod server;
mod shop;
mod traces;
mod trusted_documents;
mod unsent;
mod uploads;
mod variables;
mod whole_response;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::from_fn,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tower_service::Service as _;

use crate::{app::App, config::Config, domains, graphql::shares, schema::GatewaySchema};

pub use explorer::DemoTokens;

/// The shared state of all handlers.
#[derive(Clone)]
pub struct Edge {
    app: App,
    schema: GatewaySchema,
    authenticator: Arc<auth::Authenticator>,
    limits: Arc<limits::Limits>,
    documents: Arc<trusted_documents::Documents>,
    demo: Option<Arc<DemoTokens>>,
    live: Arc<live::Live>,
    observer: Arc<observed::Observer>,
    readiness: Arc<health::Readiness>,
    /// Cancelled during shutdown, after the listener is closed. Long-lived streams then end. A client that
    /// reconnects at once doesn't reach the same gateway.
    closing: CancellationToken,
}

/// Error of [`Edge::new`].
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A key for tokens can't be read.
    #[error(transparent)]
    Key(#[from] auth::KeyError),
    /// The trusted documents can't be read.
    #[error(transparent)]
    Documents(#[from] trusted_documents::DocumentsError),
}

impl Edge {
    /// The HTTP layer of a gateway. The explorer shows the `demo` tokens.
    ///
    /// # Errors
    /// A key for tokens or the trusted documents can't be read.
    pub fn new(app: App, demo: Option<DemoTokens>) -> Result<Self, SetupError> {
        let schema = crate::schema::build(app.config());
        Self::with_schema(app, schema, demo)
    }

    /// Like [`Self::new`], with an existing schema.
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
        let documents = Arc::new(trusted_documents::Documents::of(config)?);
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

    /// Faults of the files that a configuration names, each as a sentence.
    pub fn faults(config: &Config) -> Vec<String> {
        let mut faults = auth::Authenticator::faults(config);
        faults
            .extend(trusted_documents::Documents::of(config).err().map(|fault| fault.to_string()));
        faults
    }

    /// All routes, with the fast path for operations if no layer applies to them.
    fn routes(self) -> Routes {
        let config = self.app.config();
        // The fast path bypasses the router, and with it the layers for CORS and traces.
        let has_layers = !config.cors_origins.is_empty() || config.otlp_endpoint.is_some();
        let operations = (!has_layers).then(|| Arc::new(self.clone()));
        Routes { operations, others: self.router() }
    }

    /// The routes. The operators' routes are included unless they have an address of their own.
    fn router(self) -> Router {
        let config = self.app.config();
        let mut routes = Router::new()
            .route("/graphql", post(post_graphql).get(get_graphql))
            .route("/graphql/stream", live::reservations::routes());
        if domains::is_on(config, "content") {
            routes = routes.route("/feeds/{*path}", get(feeds::feed));
        }
        if domains::is_on(config, "ads") {
            routes = routes
                .route("/ads/click/{token}", get(ads::click))
                .route("/ads/pixel/{token}", get(ads::pixel));
        }
        if domains::is_on(config, "assets") {
            routes = routes.route("/assets/{*path}", assets::routes());
        }
        // Inside the layers: a preflight is answered for any method.
        routes = routes.method_not_allowed_fallback(error_response::no_such_method);
        if let Some(cors) = cors(&config.cors_origins) {
            routes = routes.layer(cors);
        }
        if config.otlp_endpoint.is_some() {
            routes = routes.layer(from_fn(traces::trace));
        }
        if config.explorer {
            let shop = if self.demo.is_some() { shop_pages() } else { Router::new() };
            let pages = pages().merge(shop);
            routes =
                routes.merge(pages.method_not_allowed_fallback(error_response::no_such_method));
        }
        if config.admin_listen.is_none() {
            routes = routes.merge(Self::admin_routes());
        }
        routes.fallback(error_response::no_such_path).with_state(self)
    }

    /// The routes for operators: health and metrics.
    fn admin_routes() -> Router<Self> {
        Router::new()
            .route("/health/live", get(health::live))
            .route("/health/ready", get(health::ready))
            .route("/metrics", get(metrics::metrics))
    }

    /// Serves the operators' routes on a separate listener until `stop`.
    pub async fn serve_admin(self, listener: TcpListener, stop: CancellationToken) {
        let (app, limits) = (self.app.clone(), Arc::clone(&self.limits));
        let others = Self::admin_routes().with_state(self);
        let routes = Routes { operations: None, others };
        let closing = CancellationToken::new();
        let server = server::Server::new(routes, limits, app.config(), stop, closing);
        server.serve(listener, Duration::ZERO).await.wait().await;
    }

    /// Serves on `listener` until `stop`. Then it waits for running requests, and for flows of disconnected
    /// clients, for one grace period each. From now on until `stop` the gateway is ready while the primary answers.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        self.readiness.open(stop.clone());
        let closing = self.closing.clone();
        let app = self.app.clone();
        let tasks = app.tasks().clone();
        let grace = app.bounds().grace_period();
        let (limits, documents) = (Arc::clone(&self.limits), Arc::clone(&self.documents));
        let (rates, live) = (Arc::clone(&limits), Arc::clone(&self.live));
        let upkeep = async move {
            tokio::join!(rates.forget_inactive(), documents.keep_current(), live.forget_expired())
        };
        let upkeep = tokio::spawn(upkeep);
        let server = server::Server::new(self.routes(), limits, app.config(), stop, closing);
        let connections = server.serve(listener, LINGER).await;
        upkeep.abort();
        if tokio::time::timeout(grace, connections.wait()).await.is_err() {
            tracing::warn!(
                event = "connections_unfinished",
                "connections were still open after the grace period"
            );
        }
        tasks.close();
        if tokio::time::timeout(grace, tasks.wait()).await.is_err() {
            tracing::warn!(
                event = "flows_unfinished",
                "flows were still running after the grace period; the sweeps finish them"
            );
        }
    }
}

/// During shutdown, how long clients with open connections may send one more request. Its response announces
/// that the connection closes.
const LINGER: Duration = Duration::from_secs(1);

/// The pages for browsers: explorer and GraphiQL.
fn pages() -> Router<Edge> {
    Router::new()
        .route("/", get(explorer::page))
        .route("/explorer.css", get(explorer::style))
        .route("/explorer.js", get(explorer::script))
        .route("/explorer/{part}", get(explorer::part))
        .route("/graphiql", get(graphiql::page))
        .route("/graphiql/{part}", get(graphiql::part))
}

/// The storefront's addresses. Its script decides what they show.
fn shop_pages() -> Router<Edge> {
    Router::new()
        .route("/shop", get(shop::page))
        .route("/shop/", get(shop::page))
        .route("/shop/{*path}", get(shop::part))
}

/// The CORS layer; none if no origins are allowed.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            requests::REQUEST_ID,
            header::RETRY_AFTER,
            header::ETAG,
            header::ACCEPT_RANGES,
            header::CONTENT_DISPOSITION,
            header::CONTENT_RANGE,
            header::LOCATION,
        ])
        .max_age(Duration::from_secs(3_600));
    if origins.iter().any(|origin| origin == "*") {
        // Without credentials, because any page could use them.
        return Some(layer.allow_origin(AllowOrigin::any()));
    }
    let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    Some(layer.allow_origin(AllowOrigin::list(origins)).allow_credentials(true))
}

/// Dispatches requests. Operations sent by POST, which are most requests, bypass the router.
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

/// `GET /graphql`: an operation, a WebSocket, or a browser, which is redirected to the explorer if there is one.
async fn get_graphql(State(edge): State<Edge>, request: Request) -> Response {
    let (mut head, _) = request.into_parts();
    if asks_for_socket(&head.headers) {
        return live::socket::upgrade(edge, &mut head).await;
    }
    let accepts = head.headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    let has_query = head.uri.query().is_some_and(|query| !query.is_empty());
    let is_browser = !has_query && accepts.is_some_and(|accepts| accepts.contains("text/html"));
    if is_browser && edge.app.config().explorer {
        return Redirect::to("/").into_response();
    }
    graphql::get(Arc::new(edge), head).await
}

/// Whether the request asks to become a WebSocket. By the same header some clients offer HTTP/2.
fn asks_for_socket(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::UPGRADE).iter();
    let mut protocols = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    protocols.any(|protocol| protocol.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}
