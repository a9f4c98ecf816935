//! Configuration: defaults < file < environment < flags, validated once, every fault named at once.

mod read;

use std::{
    fmt::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use mongodb::{error::ErrorKind, options::ConnectionString};
use serde::{Deserialize, Serialize};

pub use read::unread;

/// Everything that can be set. Keys are the names in `docgate.toml`; in the environment they are
/// upper-cased behind `DOCGATE_`.
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
    /// Key (32 bytes or more) from which ids and cursors are derived. Changing it changes what a
    /// repeated op id means and makes old cursors invalid.
    pub secret: String,

    /// Shared secret for HS256 tokens (32 bytes or more).
    pub auth_hs256_secret: Option<String>,
    /// PEM text or path of a file with the public RSA key for RS256 and PS256 tokens.
    pub auth_rs256_public_key: Option<String>,
    /// PEM text or path of a file with the public P-256 key for ES256 tokens.
    pub auth_es256_public_key: Option<String>,
    /// PEM text or path of a file with the public Ed25519 key for `EdDSA` tokens.
    pub auth_eddsa_public_key: Option<String>,
    /// Path of a file with public keys as a JWK set (RFC 7517), read at the start.
    pub auth_jwks_file: Option<String>,
    /// URL under which the issuer of tokens publishes its public keys as a JWK set.
    pub auth_jwks_url: Option<String>,
    /// Pause between two looks at `auth_jwks_url`, in seconds.
    pub auth_jwks_refresh_seconds: u64,
    /// Pause before `auth_jwks_url` is looked at again for a key that wasn't there, or after it could
    /// not be read, in seconds.
    pub auth_jwks_cooldown_seconds: u64,
    /// Required `iss` of tokens, when set.
    pub auth_issuer: Option<String>,
    /// Required `aud` of tokens, when set.
    pub auth_audience: Option<String>,
    /// Clock skew allowed for `exp` and `nbf`, in seconds.
    pub auth_leeway_seconds: u64,
    /// Claim with the roles: its name as it stands, or a JSON pointer such as `/realm_access/roles`.
    pub auth_roles_claim: String,
    /// Name of a cookie that may hold the token; none, and tokens come in the header alone.
    pub auth_cookie: Option<String>,

    /// Locale that names fall back to when neither the tag nor its language is there.
    pub site_locale: String,
    /// Where readers find the site, such as `https://www.example.org`: links in feeds begin with it.
    /// Without it they begin with the path.
    pub site_url: Option<String>,

    /// Who takes the money at checkout.
    pub payments: PaymentProvider,
    /// Subject that owns the accounts on which the ledger provider receives payments; one account
    /// per currency, opened when it is first needed.
    pub payments_merchant: String,
    /// Base URL of the HTTP provider.
    pub payments_url: Option<String>,
    /// Key with which requests to the HTTP provider are signed (HMAC-SHA256 over the body).
    pub payments_signing_secret: Option<String>,
    /// How long one call of the HTTP provider may take, in milliseconds.
    pub payments_timeout_millis: u64,

    /// How long one run of a flow may write, in server time from its first read, in milliseconds.
    pub flow_run_millis: u64,
    /// `maxTimeMS` of each command of a flow.
    pub flow_command_millis: u64,
    /// Largest difference between the clocks of the replica set's members, in milliseconds.
    pub flow_skew_millis: u64,
    /// How long applied op ids are remembered, in seconds (an hour at the least in production).
    pub flow_ops_seconds: u64,

    /// How long after it was posted a comment can be edited, in seconds.
    pub comment_edit_seconds: u64,
    /// How comments are stored in a discussion that a product's first review opens.
    pub discussion_layout: DiscussionLayout,
    /// A cart untouched for this long expires, in seconds.
    pub cart_idle_seconds: u64,
    /// A reservation that fits no cart is returned after this long, in seconds; longer than
    /// `cart_idle_seconds`.
    pub reservation_seconds: u64,
    /// Whether expired carts are kept (`true`) or removed.
    pub cart_keep_expired: bool,
    /// Reservations that one SKU holds at the most; shopping stops reserving at half of it.
    pub reservations_per_sku: u32,

    /// Whether what is added to counts at one moment (hits) goes out in one command. Each is answered when a
    /// majority holds it, in either case.
    pub coalesce_counts: bool,

    /// Bytes of an asset at the most.
    pub asset_bytes: u64,
    /// Media types of assets that are taken, such as `image/png` and `image/*`, by their bytes.
    pub asset_types: Vec<String>,
    /// Files of one request at the most.
    pub asset_files: usize,
    /// How long an upload or a download may take, in seconds. A file that was replaced stays as long.
    pub asset_transfer_seconds: u64,
    /// An upload that hasn't gone on for this long is given up, in seconds.
    pub asset_stall_seconds: u64,
    /// Uploads and downloads of one gateway that are under way at the same time.
    pub max_transfers: usize,

    /// Whether this gateway is a subgraph of a composed graph: it then has `_service` and `_entities`
    /// (Apollo Federation 2).
    pub federation: bool,
    /// Connections that go on (WebSocket, server-sent events, multipart HTTP) that one gateway holds at
    /// the most.
    pub live_connections: usize,
    /// Operations that one of them carries at the same time at the most.
    pub live_operations: usize,
    /// How long a WebSocket may take until `connection_init`, in milliseconds.
    pub live_init_millis: u64,
    /// Pause between two signs of life to a client, in milliseconds; a client that gives or takes none
    /// for twice as long is cut off.
    pub live_ping_millis: u64,
    /// Event streams that are reserved and not opened yet, at the most.
    pub live_reservations: usize,
    /// How long such a reservation waits to be opened, in milliseconds.
    pub live_reservation_millis: u64,

    /// Largest request body, in bytes.
    pub body_bytes: usize,
    /// Largest head of a request, its URL included, in bytes.
    pub head_bytes: usize,
    /// Bytes of requests that have come and aren't answered yet, of all connections together. Each
    /// connection may hold 8 KiB beside it.
    pub max_received_bytes: usize,
    /// How long a client may take to send the body of a request, in milliseconds.
    pub receive_millis: u64,
    /// How long a connection may be idle, or take to send the head of a request, in milliseconds;
    /// longer than proxies in front keep theirs.
    pub idle_millis: u64,
    /// How long a request may take, in milliseconds; reads are cancelled in MongoDB too.
    pub request_millis: u64,
    /// Connections at the most.
    pub max_connections: usize,
    /// How many in a hundred of what is bounded for the whole gateway (connections, requests, transfers,
    /// event streams, bytes) one client may have at once.
    pub client_share_percent: usize,
    /// Requests that are executed at once.
    pub max_requests: usize,
    /// Requests per second that one client (a subject, else an address) may send in the long run; 0
    /// for any number.
    pub requests_per_second: u32,
    /// Requests that one client may send at once, ahead of its rate.
    pub requests_burst: u32,
    /// Proxies in front of the gateway: a client's address is that many from the right end of
    /// `X-Forwarded-For`; 0 for the address of the connection.
    pub forwarded_hops: usize,
    /// Operations of one request; above 1 a request may be a list of them.
    pub max_batch: usize,
    /// Names, numbers, strings and signs of one text.
    pub max_tokens: usize,
    /// Levels to which selections are nested.
    pub max_depth: usize,
    /// Fields with an alias, in one operation.
    pub max_aliases: usize,
    /// Fields of the root type, in one operation.
    pub max_root_fields: usize,
    /// Directives, in one operation.
    pub max_directives: usize,
    /// Objects that one operation may answer with, as estimated from its text: lists count as long
    /// as they were asked for.
    pub max_cost: usize,
    /// Whether answers tell their estimated cost in `extensions.cost`.
    pub report_cost: bool,
    /// Whether clients may ask for the schema, and errors suggest names of it.
    pub introspection: bool,
    /// Origins whose pages may use the gateway from a browser, such as `https://shop.example`; `*`
    /// for all.
    pub cors_origins: Vec<String>,
    /// Folder of `.graphql` files, or a manifest of Apollo's or Relay's format, with the documents
    /// that are trusted.
    pub documents: Option<PathBuf>,
    /// What is done with other documents than those.
    pub documents_mode: DocumentsMode,
    /// Whether background sweeps run in this process.
    pub background: bool,
    /// Pause between two passes of a sweep, in milliseconds.
    pub sweep_millis: u64,
    /// Development mode: every response carries `extensions.docgate`.
    pub development: bool,
    /// `json` or `pretty` logs.
    pub log_format: LogFormat,

    /// Whether the pages for people are served: the explorer at `/`, GraphiQL at `/graphiql`.
    pub explorer: bool,
    /// Whether each operation is logged (otherwise only where the log is set to `debug`).
    pub log_requests: bool,
    /// An operation that takes this long, in milliseconds, is logged as slow.
    pub slow_request_millis: u64,
    /// Base URL of a collector of traces that speaks OTLP over HTTP, such as `http://localhost:4318`; no
    /// traces without it.
    pub otlp_endpoint: Option<String>,
    /// How many of the traces that begin here are kept: 1 is all, 0.01 one in a hundred. A caller's own
    /// trace is kept where the caller keeps it.
    pub otlp_sample_ratio: f64,
    /// Address and port for `/metrics` and `/health/…`, which are then served nowhere else.
    pub admin_listen: Option<SocketAddr>,
}

/// The payment providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaymentProvider {
    /// docgate's own accounts: an authorisation is a transfer.
    Ledger,
    /// A service behind `payments_url`.
    Http,
    /// No provider: only a total of zero can be checked out.
    None,
    /// One in the process that says yes to everything, for measurements.
    #[cfg(feature = "bench")]
    Approving,
}

/// How the comments of a discussion are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscussionLayout {
    /// One document per comment.
    PerDocument,
    /// Up to 100 comments per document.
    Paged,
    /// Inside the document that is discussed.
    Embedded,
}

/// What is done with documents that aren't trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentsMode {
    /// They are executed like any other.
    Off,
    /// They are executed, and logged once.
    Log,
    /// They are refused.
    Only,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// For people.
    Pretty,
}

/// Bytes that a connection reads ahead at the most, unless heads may be longer.
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

/// Every fault of a configuration, for one message.
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
    /// The configuration of a gateway: file, environment and flags, in rising precedence. `flags`
    /// are key and value pairs.
    ///
    /// # Errors
    /// Names every key that is unknown, doesn't parse, or doesn't hold together with the others.
    pub fn load(file: Option<&Path>, flags: impl Serialize) -> Result<Self, Faults> {
        Self::load_with(file, flags, |_| Vec::new())
    }

    /// As [`Self::load`]; `further` tells what else is wrong, such as a file that a key names.
    ///
    /// # Errors
    /// As [`Self::load`], and what `further` tells.
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

    /// As [`Self::load`], for a command that only works on the database: what a gateway needs
    /// beyond that may be missing.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_for_database(file: Option<&Path>, flags: impl Serialize) -> Result<Self, Faults> {
        let (config, mut faults) = read::read(file, flags)?;
        faults.extend(config.database_faults());
        config.unless(faults)
    }

    /// As [`Self::load`], for a command that only looks at a key: anything may be missing, but what
    /// is there must parse.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_keys(file: Option<&Path>, flags: impl Serialize) -> Result<Self, Faults> {
        let (config, faults) = read::read(file, flags)?;
        config.unless(faults)
    }

    fn unless(self, faults: Vec<String>) -> Result<Self, Faults> {
        if faults.is_empty() { Ok(self) } else { Err(Faults(faults)) }
    }

    /// What a command that works on the database needs.
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

    /// What else a gateway needs, each fault as a sentence.
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
            "flow_ops_seconds must be longer than four times the bound of a flow (run + command + skew)",
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

    /// What must hold of the settings about tokens.
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

    /// What must hold of the settings about bytes of requests.
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

    /// What must hold of the settings about assets.
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

    /// After this time past its start nothing of a run can be applied any more.
    pub fn bound(&self) -> Duration {
        Duration::from_millis(
            self.flow_run_millis + self.flow_command_millis + self.flow_skew_millis,
        )
    }
}

fn is_web_address(text: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}

/// A token of [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2), as RFC 6265 has it.
fn is_cookie_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

/// Why a connection string can't be used, as far as it tells by itself. The driver's words may end with a
/// part of it, which may be a part of the password and is left out.
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
