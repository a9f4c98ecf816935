//! Configuration from defaults, file, environment and flags, in rising precedence. It is validated once, and
//! all faults are reported together.

mod read;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use mongodb::{error::ErrorKind, options::ConnectionString};
use serde::{Deserialize, Serialize};

pub use read::unread;

/// All settings. Field names are the keys of `docgate.toml`. Environment variables have the upper-case key
/// with the prefix `DOCGATE_`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct Config {
    /// Address and port to serve on.
    pub listen: SocketAddr,
    /// Connection string of the replica set or cluster.
    pub mongodb_uri: String,
    /// Database that holds the collections.
    pub database: String,
    /// Key from which ids and cursors are derived, 32 bytes or more. A change alters the meaning of repeated
    /// idempotency keys and invalidates old cursors.
    pub secret: String,

    /// Shared secret for HS256 tokens, 32 bytes or more.
    pub auth_hs256_secret: Option<String>,
    /// Public RSA key for RS256 and PS256 tokens, as PEM text or as the path of a PEM file.
    pub auth_rs256_public_key: Option<String>,
    /// Public P-256 key for ES256 tokens, as PEM text or as the path of a PEM file.
    pub auth_es256_public_key: Option<String>,
    /// Public Ed25519 key for `EdDSA` tokens, as PEM text or as the path of a PEM file.
    pub auth_eddsa_public_key: Option<String>,
    /// Path of a file with public keys as a JWK set (RFC 7517), read at startup.
    pub auth_jwks_file: Option<String>,
    /// URL of the JWK set that the issuer of the tokens publishes.
    pub auth_jwks_url: Option<String>,
    /// Interval between two fetches of `auth_jwks_url`, in seconds.
    pub auth_jwks_refresh_seconds: u64,
    /// Minimum time before `auth_jwks_url` is fetched again for an unknown key or after a failed fetch, in
    /// seconds.
    pub auth_jwks_cooldown_seconds: u64,
    /// Required `iss` claim of tokens, if set.
    pub auth_issuer: Option<String>,
    /// Required `aud` claim of tokens, if set.
    pub auth_audience: Option<String>,
    /// Clock skew allowed for `exp` and `nbf`, in seconds.
    pub auth_leeway_seconds: u64,
    /// Claim with the roles: the name of a claim, or a JSON pointer such as `/realm_access/roles`.
    pub auth_roles_claim: String,
    /// Name of a cookie that may hold the token. If unset, tokens are accepted in the header only.
    pub auth_cookie: Option<String>,

    /// Names of the roles in tokens, each with the roles of the role table that it grants. Default: the roles of
    /// the table by their own names.
    pub roles: BTreeMap<String, Vec<String>>,

    /// The rooms that are switched on; all of them if the list is empty. A room that is switched off isn't in
    /// the schema, builds no indexes and runs no sweeps.
    pub rooms: Vec<String>,

    /// Fallback locale for names that exist neither for the requested tag nor for its language.
    pub site_locale: String,
    /// Base URL of the site for links in feeds, such as `https://www.example.org`. Without it links begin
    /// with the path.
    pub site_url: Option<String>,

    /// Payment provider for checkouts.
    pub payments: PaymentProvider,
    /// Subject that owns the accounts on which the ledger provider receives payments. There is one account
    /// per currency, opened on first use.
    pub payments_merchant: String,
    /// Base URL of the HTTP payment provider.
    pub payments_url: Option<String>,
    /// Key for signing requests to the HTTP payment provider (HMAC-SHA256 over the body).
    pub payments_signing_secret: Option<String>,
    /// Time limit of one call of the HTTP payment provider, in milliseconds.
    pub payments_timeout_millis: u64,

    /// How long one attempt of a flow may write, in milliseconds of server time since its first read.
    pub flow_run_millis: u64,
    /// `maxTimeMS` of each command of a flow, in milliseconds.
    pub flow_command_millis: u64,
    /// Largest difference between the clocks of the replica set's members, in milliseconds.
    pub flow_skew_millis: u64,
    /// How long applied idempotency keys are remembered, in seconds. Use at least an hour in production.
    pub flow_ops_seconds: u64,

    /// How long a comment can be edited after it was posted, in seconds.
    pub comment_edit_seconds: u64,
    /// Storage layout of a discussion that is opened by a product's first review.
    pub discussion_layout: DiscussionLayout,
    /// Idle time after which a cart expires, in seconds.
    pub cart_idle_seconds: u64,
    /// Time after which a reservation that fits no cart is returned, in seconds. It must exceed
    /// `cart_idle_seconds`.
    pub reservation_seconds: u64,
    /// Whether expired carts are kept (`true`) or removed.
    pub cart_keep_expired: bool,
    /// Maximum number of reservations of one SKU. Shopping stops reserving at half of it.
    pub reservations_per_sku: u32,

    /// Whether concurrent increments of counters (hits) are sent in one command. In both cases an increment
    /// is acknowledged after a majority holds it.
    pub coalesce_counts: bool,

    /// Maximum size of an asset, in bytes.
    pub asset_bytes: u64,
    /// Accepted media types of assets, such as `image/png` and `image/*`. The type is detected from the
    /// bytes.
    pub asset_types: Vec<String>,
    /// Maximum number of files in one request.
    pub asset_files: usize,
    /// Time limit of an upload or a download, in seconds. A replaced file is kept for the same time.
    pub asset_transfer_seconds: u64,
    /// Time without progress after which an upload is given up, in seconds.
    pub asset_stall_seconds: u64,
    /// Maximum number of concurrent uploads and downloads of one gateway.
    pub max_transfers: usize,

    /// Whether this gateway is a subgraph of a composed graph (Apollo Federation 2). It then serves
    /// `_service` and `_entities`.
    pub federation: bool,
    /// Maximum number of long-lived connections (WebSocket, server-sent events, multipart HTTP) of one
    /// gateway.
    pub live_connections: usize,
    /// Maximum number of concurrent operations on one such connection.
    pub live_operations: usize,
    /// Time limit for `connection_init` on a WebSocket, in milliseconds.
    pub live_init_millis: u64,
    /// Interval between two heartbeats to a client, in milliseconds. A client that sends or accepts nothing
    /// for twice as long is disconnected.
    pub live_ping_millis: u64,
    /// Maximum number of event streams that are reserved but not yet opened.
    pub live_reservations: usize,
    /// Time limit for opening a reserved event stream, in milliseconds.
    pub live_reservation_millis: u64,

    /// Maximum size of a request body, in bytes.
    pub body_bytes: usize,
    /// Maximum size of the head of a request, including its URL, in bytes.
    pub head_bytes: usize,
    /// Maximum number of received bytes of unanswered requests, over all connections. Each connection may
    /// hold 8 KiB in addition.
    pub max_received_bytes: usize,
    /// Time limit for receiving the body of a request, in milliseconds.
    pub receive_millis: u64,
    /// Time limit for an idle connection and for receiving the head of a request, in milliseconds. It should
    /// exceed the idle timeout of proxies in front.
    pub idle_millis: u64,
    /// Time limit of a request, in milliseconds. Reads are cancelled in MongoDB too.
    pub request_millis: u64,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Percentage of each limit of the gateway (connections, requests, transfers, event streams, bytes) that
    /// one client may use at once.
    pub client_share_percent: usize,
    /// Maximum number of requests that are executed concurrently.
    pub max_requests: usize,
    /// Sustained rate of one client (a subject, otherwise an address), in requests per second; 0 is
    /// unlimited.
    pub requests_per_second: u32,
    /// Number of requests that one client may send at once, ahead of its rate.
    pub requests_burst: u32,
    /// Number of proxies in front of the gateway. A client's address is that many entries from the right end
    /// of `X-Forwarded-For`; with 0 it is the address of the connection.
    pub forwarded_hops: usize,
    /// Maximum number of operations in one request. Above 1, a request may be a list of operations.
    pub max_batch: usize,
    /// Maximum number of tokens (names, numbers, strings, punctuators) in one document.
    pub max_tokens: usize,
    /// Maximum nesting depth of selections.
    pub max_depth: usize,
    /// Maximum number of fields with an alias in one operation.
    pub max_aliases: usize,
    /// Maximum number of fields of the root type in one operation.
    pub max_root_fields: usize,
    /// Maximum number of directives in one operation.
    pub max_directives: usize,
    /// Maximum cost of one operation: the estimated number of objects in its response. Lists count with the
    /// requested length.
    pub max_cost: usize,
    /// Whether responses carry their estimated cost in `extensions.cost`.
    pub report_cost: bool,
    /// Whether introspection is allowed and errors suggest names from the schema.
    pub introspection: bool,
    /// Origins whose pages may use the gateway from a browser, such as `https://shop.example`; `*` allows
    /// all.
    pub cors_origins: Vec<String>,
    /// Trusted documents: a folder of `.graphql` files, or a manifest in Apollo's or Relay's format.
    pub documents: Option<PathBuf>,
    /// How other documents are treated.
    pub documents_mode: DocumentsMode,
    /// Whether background sweeps run in this process.
    pub background: bool,
    /// Pause between two passes of a sweep, in milliseconds.
    pub sweep_millis: u64,
    /// Development mode: every response carries `extensions.docgate`.
    pub development: bool,
    /// Format of log lines.
    pub log_format: LogFormat,

    /// Whether the explorer (at `/`) and GraphiQL (at `/graphiql`) are served.
    pub explorer: bool,
    /// Whether each operation is logged at level `info`; otherwise the level is `debug`.
    pub log_requests: bool,
    /// Duration from which an operation is logged as slow, in milliseconds.
    pub slow_request_millis: u64,
    /// Base URL of a trace collector that accepts OTLP over HTTP, such as `http://localhost:4318`. Without it
    /// no traces are sent.
    pub otlp_endpoint: Option<String>,
    /// Fraction of the traces started here that is kept: 1 is all, 0.01 one in a hundred. A trace that the
    /// caller started is kept if the caller keeps it.
    pub otlp_sample_ratio: f64,
    /// Address and port for `/metrics` and `/health/…`. If set, they are served nowhere else.
    pub admin_listen: Option<SocketAddr>,
}

/// Payment providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaymentProvider {
    /// docgate's own accounts: an authorisation is a transfer.
    Ledger,
    /// An external service at `payments_url`.
    Http,
    /// No provider: only orders with a total of zero can be checked out.
    None,
    /// An in-process provider that approves everything, for measurements.
    #[cfg(feature = "bench")]
    Approving,
}

/// Storage layout of a discussion's comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscussionLayout {
    /// One document per comment.
    PerDocument,
    /// Up to 100 comments per document.
    Paged,
    /// Inside the discussed document.
    Embedded,
}

/// How documents that aren't trusted are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentsMode {
    /// They are executed.
    Off,
    /// They are executed, and each is logged once.
    Log,
    /// They are refused.
    Only,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Readable text.
    Pretty,
}

/// Maximum size of a connection's read buffer in bytes, unless `head_bytes` is larger.
pub const BUFFER: usize = 64 << 10;

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            mongodb_uri: String::new(),
            database: "docgate".into(),
            secret: String::new(),
            auth_hs256_secret: None,
            auth_rs256_public_key: None,
            auth_es256_public_key: None,
            auth_eddsa_public_key: None,
            auth_jwks_file: None,
            auth_jwks_url: None,
            auth_jwks_refresh_seconds: 600,
            auth_jwks_cooldown_seconds: 30,
            auth_issuer: None,
            auth_audience: None,
            auth_leeway_seconds: 30,
            auth_roles_claim: "roles".into(),
            auth_cookie: None,
            roles: BTreeMap::new(),
            rooms: Vec::new(),
            site_locale: "en".into(),
            site_url: None,
            payments: PaymentProvider::Ledger,
            payments_merchant: "merchant".into(),
            payments_url: None,
            payments_signing_secret: None,
            payments_timeout_millis: 5_000,
            flow_run_millis: 10_000,
            flow_command_millis: 5_000,
            flow_skew_millis: 1_000,
            flow_ops_seconds: 3_600,
            comment_edit_seconds: 900,
            discussion_layout: DiscussionLayout::PerDocument,
            cart_idle_seconds: 1_800,
            reservation_seconds: 3_600,
            cart_keep_expired: true,
            reservations_per_sku: 1_000,
            coalesce_counts: true,
            asset_bytes: 4 << 30,
            asset_types: vec!["*/*".into()],
            asset_files: 10,
            asset_transfer_seconds: 3_600,
            asset_stall_seconds: 300,
            max_transfers: 256,
            federation: false,
            live_connections: 10_000,
            live_operations: 100,
            live_init_millis: 10_000,
            live_ping_millis: 12_000,
            live_reservations: 1_000,
            live_reservation_millis: 30_000,
            body_bytes: 1 << 20,
            head_bytes: 32 << 10,
            max_received_bytes: 256 << 20,
            receive_millis: 10_000,
            idle_millis: 75_000,
            request_millis: 30_000,
            max_connections: 10_000,
            client_share_percent: 25,
            max_requests: 1_024,
            requests_per_second: 200,
            requests_burst: 1_000,
            forwarded_hops: 0,
            max_batch: 1,
            max_tokens: 4_000,
            max_depth: 25,
            max_aliases: 100,
            max_root_fields: 20,
            max_directives: 50,
            max_cost: 10_000,
            report_cost: true,
            introspection: false,
            cors_origins: Vec::new(),
            documents: None,
            documents_mode: DocumentsMode::Off,
            background: true,
            sweep_millis: 2_000,
            development: false,
            log_format: LogFormat::Pretty,
            explorer: true,
            log_requests: false,
            slow_request_millis: 1_000,
            otlp_endpoint: None,
            otlp_sample_ratio: 1.0,
            admin_listen: None,
        }
    }
}

/// All faults of a configuration, displayed as one message.
#[derive(Debug)]
pub struct Faults(Vec<String>);

impl std::fmt::Display for Faults {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::from("the configuration can't be used:");
        for fault in &self.0 {
            write!(text, "\n  - {fault}")?;
        }
        formatter.write_str(&text)
    }
}

impl std::error::Error for Faults {}

impl Config {
    /// Loads the configuration of a gateway from file, environment and flags, in rising precedence. `flags`
    /// serialize to key and value pairs.
    ///
    /// # Errors
    /// Lists every key that is unknown, can't be parsed, or conflicts with other keys.
    pub fn load(file: Option<&Path>, flags: impl Serialize) -> Result<Self, Faults> {
        Self::load_with(file, flags, |_| Vec::new())
    }

    /// Like [`Self::load`]; `further` returns additional faults, such as those of a file that a key names.
    ///
    /// # Errors
    /// As [`Self::load`], and the faults of `further`.
    pub fn load_with(
        file: Option<&Path>,
        flags: impl Serialize,
        further: impl FnOnce(&Self) -> Vec<String>,
    ) -> Result<Self, Faults> {
        let (config, mut faults) = read::read(file, flags)?;
        faults.extend(config.database_faults());
        faults.extend(config.faults());
        faults.extend(further(&config));
        config.unless(faults)
    }

    /// Like [`Self::load`], for a command that only uses the database: other settings of a gateway may be
    /// missing.
    pub fn load_for_database(
        file: Option<&Path>,
        flags: impl Serialize,
        further: impl FnOnce(&Self) -> Vec<String>,
    ) -> Result<Self, Faults> {
        let (config, mut faults) = read::read(file, flags)?;
        faults.extend(config.database_faults());
        faults.extend(further(&config));
        config.unless(faults)
    }

    /// Like [`Self::load`], for a command that only reads some keys: any key may be missing, but present keys
    /// must parse.
    pub fn load_keys(file: Option<&Path>, flags: impl Serialize) -> Result<Self, Faults> {
        let (config, faults) = read::read(file, flags)?;
        config.unless(faults)
    }

    fn unless(self, faults: Vec<String>) -> Result<Self, Faults> {
        if faults.is_empty() { Ok(self) } else { Err(Faults(faults)) }
    }

    /// Faults of the settings that a command on the database needs.
    fn database_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.mongodb_uri.is_empty() {
            faults.push("mongodb_uri is missing: set DOCGATE_MONGODB_URI, such as mongodb://localhost:27017/?replicaSet=rs0".to_owned());
        } else if let Some(reason) = uri_fault(&self.mongodb_uri) {
            faults.push(format!("mongodb_uri can't be used: {reason}"));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !(1..=48).contains(&self.database.len()) || !self.database.bytes().all(fits) {
            faults.push("database must be 1 to 48 letters, digits or underscores".to_owned());
        }
        faults
    }

    /// Faults of the other settings that a gateway needs, each as a sentence.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut demand = |holds: bool, fault: &str| {
            if !holds {
                faults.push(fault.to_owned());
            }
        };
        demand(
            self.secret.len() >= 32,
            "secret needs 32 bytes or more: set DOCGATE_SECRET to a long random text and keep it",
        );
        self.demand_of_tokens(&mut demand);
        demand(
            oxilangtag::LanguageTag::parse(self.site_locale.as_str()).is_ok(),
            "site_locale isn't a BCP 47 language tag",
        );
        demand(
            self.site_url.as_deref().is_none_or(|url| is_web_address(url) && !url.ends_with('/')),
            "site_url must begin with https:// or http:// and not end with /",
        );
        demand(
            self.payments != PaymentProvider::Http
                || (self.payments_url.is_some() && self.payments_signing_secret.is_some()),
            "payments = \"http\" needs payments_url and payments_signing_secret",
        );
        demand(
            self.payments_url.as_deref().is_none_or(is_web_address),
            "payments_url isn't a URL that begins with https:// or http://",
        );
        demand(
            self.payments_signing_secret.as_ref().is_none_or(|secret| secret.len() >= 32),
            "payments_signing_secret needs 32 bytes or more",
        );
        demand(
            self.flow_run_millis > 0 && self.flow_command_millis > 0 && self.sweep_millis > 0,
            "flow_run_millis, flow_command_millis and sweep_millis must be above zero",
        );
        demand(
            self.flow_command_millis <= self.flow_run_millis,
            "flow_command_millis can't be above flow_run_millis",
        );
        demand(
            Duration::from_secs(self.flow_ops_seconds) > self.bound() * 4,
            "flow_ops_seconds must be longer than four times the grace period (flow_run_millis + flow_command_millis + flow_skew_millis)",
        );
        demand(
            self.reservation_seconds > self.cart_idle_seconds,
            "reservation_seconds must be longer than cart_idle_seconds",
        );
        demand(
            self.reservations_per_sku >= 2 && self.reservations_per_sku <= 10_000,
            "reservations_per_sku must be between 2 and 10000",
        );
        self.demand_of_assets(&mut demand);
        demand(
            (1..=1_000_000).contains(&self.live_connections)
                && (1..=10_000).contains(&self.live_operations)
                && self.live_reservations <= 1_000_000,
            "live_connections must be between 1 and 1000000, live_operations between 1 and 10000, and live_reservations not above 1000000",
        );
        demand(
            self.live_init_millis > 0
                && self.live_ping_millis > 0
                && self.live_reservation_millis > 0,
            "live_init_millis, live_ping_millis and live_reservation_millis must be above zero",
        );
        self.demand_of_bytes(&mut demand);
        demand(
            self.receive_millis > 0 && self.idle_millis > 0 && self.request_millis > 0,
            "receive_millis, idle_millis and request_millis must be above zero",
        );
        demand(
            self.max_connections > 0 && self.max_requests > 0 && self.max_batch > 0,
            "max_connections, max_requests and max_batch must be above zero",
        );
        demand(
            self.requests_per_second == 0 || self.requests_burst > 0,
            "requests_burst must be above zero where requests_per_second is",
        );
        demand((1..=60).contains(&self.max_depth), "max_depth must be between 1 and 60");
        demand(
            self.max_root_fields > 0 && self.max_cost > 0,
            "max_root_fields and max_cost must be above zero",
        );
        let is_origin = |origin: &String| {
            let scheme = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            scheme.is_some_and(|rest| !rest.is_empty() && !rest.contains('/')) || origin == "*"
        };
        demand(
            self.cors_origins.iter().all(is_origin),
            "cors_origins must be origins such as https://shop.example, without a path, or *",
        );
        demand(
            self.documents_mode == DocumentsMode::Off || self.documents.is_some(),
            "documents_mode needs documents: a folder of .graphql files or a manifest",
        );
        faults.extend(self.observability_faults());
        faults
    }

    fn observability_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.otlp_endpoint.as_deref().is_none_or(is_web_address) {
            faults.push("otlp_endpoint must be a URL, such as http://localhost:4318".to_owned());
        }
        if !(0.0..=1.0).contains(&self.otlp_sample_ratio) {
            faults.push("otlp_sample_ratio must be between 0 and 1".to_owned());
        }
        if self.admin_listen == Some(self.listen) && self.listen.port() != 0 {
            faults.push("admin_listen must be another address or port than listen".to_owned());
        }
        faults
    }

    /// Checks the settings for tokens.
    fn demand_of_tokens(&self, demand: &mut impl FnMut(bool, &str)) {
        demand(
            self.auth_hs256_secret.is_some()
                || self.auth_rs256_public_key.is_some()
                || self.auth_es256_public_key.is_some()
                || self.auth_eddsa_public_key.is_some()
                || self.auth_jwks_file.is_some()
                || self.auth_jwks_url.is_some(),
            "no key for tokens: set auth_hs256_secret, auth_rs256_public_key, auth_es256_public_key, auth_eddsa_public_key, auth_jwks_file or auth_jwks_url",
        );
        demand(
            self.auth_hs256_secret.as_ref().is_none_or(|secret| secret.len() >= 32),
            "auth_hs256_secret needs 32 bytes or more",
        );
        demand(
            self.auth_jwks_url.as_deref().is_none_or(is_web_address),
            "auth_jwks_url isn't a URL that begins with https:// or http://",
        );
        demand(
            self.auth_jwks_refresh_seconds > 0 && self.auth_jwks_cooldown_seconds > 0,
            "auth_jwks_refresh_seconds and auth_jwks_cooldown_seconds must be above zero",
        );
        demand(self.auth_leeway_seconds <= 3_600, "auth_leeway_seconds can't be above 3600");
        demand(!self.auth_roles_claim.is_empty(), "auth_roles_claim can't be empty");
        demand(
            self.auth_cookie.as_deref().is_none_or(is_cookie_name),
            "auth_cookie isn't the name of a cookie: letters, digits and !#$%&'*+-.^_`|~ are expected",
        );
    }

    /// Checks the settings for bytes of requests.
    fn demand_of_bytes(&self, demand: &mut impl FnMut(bool, &str)) {
        demand(self.body_bytes >= 1024, "body_bytes must be 1024 or more");
        demand(
            (8 << 10..=1 << 20).contains(&self.head_bytes),
            "head_bytes must be between 8192 and 1048576",
        );
        demand(
            (1..=100).contains(&self.client_share_percent),
            "client_share_percent must be between 1 and 100",
        );
        let share = self.max_received_bytes.saturating_mul(self.client_share_percent) / 100;
        let needed = self.body_bytes.saturating_add(2 * self.head_bytes.max(BUFFER));
        demand(
            share >= needed,
            &format!(
                "a client's share of max_received_bytes ({} % of {} bytes: {share}) must hold one request, which \
                 can take {needed} bytes with these body_bytes and head_bytes",
                self.client_share_percent, self.max_received_bytes
            ),
        );
    }

    /// Checks the settings for assets.
    fn demand_of_assets(&self, demand: &mut impl FnMut(bool, &str)) {
        demand(
            (1..=1 << 40).contains(&self.asset_bytes)
                && (1..=1_000).contains(&self.asset_files)
                && self.max_transfers > 0,
            "asset_bytes must be between 1 and 2^40, asset_files between 1 and 1000, and max_transfers above zero",
        );
        demand(
            self.asset_types.iter().all(|of| of.split('/').count() == 2 && !of.contains(' ')),
            "asset_types must be media types such as image/png, image/* or */*",
        );
        let shortest = Duration::from_millis(self.receive_millis) * 2 + self.bound();
        demand(
            Duration::from_secs(self.asset_stall_seconds) > shortest,
            &format!(
                "asset_stall_seconds is {}, which must be more than {} seconds: 2 × receive_millis + \
                 flow_run_millis + flow_command_millis + flow_skew_millis, divided by 1000",
                self.asset_stall_seconds,
                shortest.as_secs_f64()
            ),
        );
        demand(
            (self.asset_stall_seconds..=7 * 86_400).contains(&self.asset_transfer_seconds),
            "asset_transfer_seconds must be between asset_stall_seconds and a week",
        );
    }

    /// The grace period: the time after the start of an attempt from which none of its writes can be applied
    /// any more.
    pub fn bound(&self) -> Duration {
        Duration::from_millis(
            self.flow_run_millis + self.flow_command_millis + self.flow_skew_millis,
        )
    }
}

fn is_web_address(text: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}

/// Whether a name is a `token` as defined by
/// [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2), which RFC 6265 requires for cookies.
fn is_cookie_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

/// Why a connection string can't be parsed, if so. The driver's message may end with a part of the string,
/// and so of the password; that part is left out.
fn uri_fault(uri: &str) -> Option<String> {
    let fault = ConnectionString::parse(uri).err()?;
    let ErrorKind::InvalidArgument { message, .. } = fault.kind.as_ref() else {
        return Some("it isn't a connection string of MongoDB".to_owned());
    };
    match message.rsplit_once(": ") {
        Some((what, repeated)) if uri.contains(repeated) => Some(what.to_owned()),
        _ => Some(message.clone()),
    }
}
