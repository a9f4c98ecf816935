//! Configuration from defaults, file, environment and flags, in rising precedence. It is validated once, and
//! all faults are reported together.

mod checks;
mod choices;
mod load;
mod read;
mod shipping;
mod tables;

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use checks::is_web_address;
pub use choices::{
    ChangedPrices, Compression, Concern, Consistency, DiscussionLayout, DocumentsMode, LogFormat,
    PaymentProvider, SeriesEngine, Weekday,
};
pub use load::Faults;
pub use read::unread;
pub use shipping::{ShippingSetting, TaxSetting};

/// Declares the settings, each with its default.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$meta:meta])+ pub $key:ident: $type:ty = $default:expr,)+
        }
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$meta])+ pub $key: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }
    };
}

settings! {
    /// All settings. Field names are the keys of `docgate.toml`. Environment variables have the upper-case key
    /// with the prefix `DOCGATE_`.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Config {
        /// Address and port to serve on.
        pub listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080)),
        /// Connection string of the replica set or cluster.
        pub mongodb_uri: String = String::new(),
        /// Database that holds the collections.
        pub database: String = "docgate".into(),
        /// Database of the group `activity`, if it isn't `database`.
        pub activity_database: Option<String> = None,
        /// Database of the group `log`, if it isn't `database`.
        pub log_database: Option<String> = None,
        /// When writes of the group `core` are acknowledged. Only `majority` is accepted, because flows depend on it.
        pub core_write_concern: Concern = Concern::Majority,
        /// When additions to the group `activity` are acknowledged, such as those of hits.
        pub activity_write_concern: Concern = Concern::Majority,
        /// When events are acknowledged whose call doesn't say it.
        pub log_write_concern: Concern = Concern::Majority,
        /// Compression of the collections of the group `core` that the gateway creates. Default: MongoDB's.
        pub core_compression: Option<Compression> = None,
        /// The same for the group `activity`.
        pub activity_compression: Option<Compression> = None,
        /// The same for the group `log`.
        pub log_compression: Option<Compression> = None,
        /// Consistency of reads of the group `core` by query fields that have the argument `consistency` and don't get
        /// it. No other read depends on it.
        pub core_consistency: Consistency = Consistency::Strong,
        /// The same for the group `activity`.
        pub activity_consistency: Consistency = Consistency::Strong,
        /// The same for the group `log`.
        pub log_consistency: Consistency = Consistency::Strong,
        /// How far a secondary that serves an `EVENTUAL` read may lag behind the primary, in seconds. MongoDB takes 90 or
        /// more.
        pub eventual_staleness_seconds: u32 = 90,
        /// Key from which ids and cursors are derived, 32 bytes or more. After a change, old cursors are invalid and
        /// earlier idempotency keys aren't recognised.
        pub secret: String = String::new(),

        /// Shared secret for HS256 tokens, 32 bytes or more.
        pub auth_hs256_secret: Option<String> = None,
        /// Public RSA key for RS256 and PS256 tokens, as PEM text or as the path of a PEM file.
        pub auth_rs256_public_key: Option<String> = None,
        /// Public P-256 key for ES256 tokens, as PEM text or as the path of a PEM file.
        pub auth_es256_public_key: Option<String> = None,
        /// Public Ed25519 key for `EdDSA` tokens, as PEM text or as the path of a PEM file.
        pub auth_eddsa_public_key: Option<String> = None,
        /// Path of a file with public keys as a JWK set (RFC 7517), read at startup.
        pub auth_jwks_file: Option<String> = None,
        /// URL of the JWK set that the issuer of the tokens publishes.
        pub auth_jwks_url: Option<String> = None,
        /// Interval between two fetches of `auth_jwks_url`, in seconds.
        pub auth_jwks_refresh_seconds: u64 = 600,
        /// Minimum time before `auth_jwks_url` is fetched again for an unknown key or after a failed fetch, in
        /// seconds.
        pub auth_jwks_cooldown_seconds: u64 = 30,
        /// Required `iss` claim of tokens, if set.
        pub auth_issuer: Option<String> = None,
        /// Required `aud` claim of tokens, if set.
        pub auth_audience: Option<String> = None,
        /// Clock skew allowed for `exp` and `nbf`, in seconds.
        pub auth_leeway_seconds: u64 = 30,
        /// Claim with the roles: the name of a claim, or a JSON pointer such as `/realm_access/roles`.
        pub auth_roles_claim: String = "roles".into(),
        /// Name of a cookie that may hold the token. If unset, tokens are accepted in the header only.
        pub auth_cookie: Option<String> = None,

        /// Names of the roles in tokens, each with the roles of the role table that it grants. Default: the roles of
        /// the table by their own names.
        pub roles: BTreeMap<String, Vec<String>> = BTreeMap::new(),

        /// The rooms that are switched on; all of them if the list is empty. A room that is switched off isn't in
        /// the schema, builds no indexes and runs no sweeps.
        pub rooms: Vec<String> = Vec::new(),

        /// Fallback locale for names that exist neither for the requested tag nor for its language, and for amounts of money.
        pub site_locale: String = "en".into(),
        /// Base URL of the site for links in feeds, such as `https://www.example.org`. Without it links begin
        /// with the path.
        pub site_url: Option<String> = None,

        /// Payment provider for checkouts.
        pub payments: PaymentProvider = PaymentProvider::Ledger,
        /// Subject that owns the accounts on which the ledger provider receives payments. There is one account
        /// per currency, opened on first use.
        pub payments_merchant: String = "merchant".into(),
        /// Base URL of the HTTP payment provider.
        pub payments_url: Option<String> = None,
        /// Key for signing requests to the HTTP payment provider (HMAC-SHA256 over the body).
        pub payments_signing_secret: Option<String> = None,
        /// Time limit of one call of the HTTP payment provider, in milliseconds.
        pub payments_timeout_millis: u64 = 5_000,

        /// Shipping methods, by name.
        pub shipping_methods: BTreeMap<String, ShippingSetting> = BTreeMap::new(),
        /// Whether each checkout needs a shipping method, if there are any.
        pub shipping_required: bool = true,
        /// Taxes, by country.
        pub taxes: BTreeMap<String, TaxSetting> = BTreeMap::new(),
        /// URL of a service that quotes shipping and tax. While it gives no usable answer, `shipping_methods` and `taxes`
        /// apply.
        pub quote_url: Option<String> = None,
        /// Key for signing requests to that service (HMAC-SHA256 over the body).
        pub quote_signing_secret: Option<String> = None,
        /// Time limit of one call of that service, in milliseconds.
        pub quote_timeout_millis: u64 = 2_000,

        /// How long one attempt of a flow may write, in milliseconds of server time since its first read.
        pub flow_run_millis: u64 = 10_000,
        /// `maxTimeMS` of each command of a flow, in milliseconds.
        pub flow_command_millis: u64 = 5_000,
        /// Largest difference between the clocks of the replica set's members, in milliseconds.
        pub flow_skew_millis: u64 = 1_000,
        /// How long applied idempotency keys are remembered, in seconds. Use at least an hour in production.
        pub flow_ops_seconds: u64 = 3_600,

        /// How long a comment can be edited after it was posted, in seconds.
        pub comment_edit_seconds: u64 = 900,
        /// Maximum number of followers to whose news a post is delivered. Posts of users with more followers are merged
        /// into the news when they are read.
        pub post_delivery_followers: u64 = 5_000,
        /// Maximum number of unfinished jobs of the work queue, and of those of one producer.
        pub queue_jobs: u64 = 1_000_000,
        /// See `queue_jobs`.
        pub queue_jobs_per_producer: u64 = 100_000,
        /// Maximum number of dead letters, and of those of one producer's jobs. The oldest beyond it are removed.
        pub queue_dead_jobs: u64 = 100_000,
        /// See `queue_dead_jobs`.
        pub queue_dead_jobs_per_producer: u64 = 10_000,
        /// Maximum number of recipients to whom one user may send messages within an hour. A user who has sent none may
        /// write to all of them at once.
        pub message_recipients_per_hour: u32 = 20_000,
        /// Time for which events are kept, in days, and at most a month longer; 0 is for good. Older ones are refused.
        pub events_retention_days: u32 = 400,
        /// Maximum number of events that one `requestsByDayAndPage` counts.
        pub events_counted: u64 = 5_000_000,
        /// Maximum number of topics.
        pub topics_most: u32 = 100,
        /// Maximum of the sum of the topics' sizes, in bytes.
        pub topics_bytes: u64 = 1 << 30,
        /// Size of the last messages of a topic that a gateway keeps in memory while the topic has subscribers, in bytes.
        pub topic_window_bytes: usize = 1 << 20,
        /// Maximum number of ads in a zone.
        pub ads_per_zone: u32 = 200,
        /// Maximum number of ads of one advertiser in a zone.
        pub ads_per_zone_and_advertiser: u32 = 50,
        /// Interval in which the expected income of campaigns that pay for clicks is computed, in seconds.
        pub ads_refresh_seconds: u64 = 60,
        /// How long the token of a served ad is valid, in seconds.
        pub ad_token_seconds: u64 = 604_800,
        /// Storage layout of a discussion that is opened by a product's first review.
        pub discussion_layout: DiscussionLayout = DiscussionLayout::PerDocument,
        /// Idle time after which a cart expires, in seconds.
        pub cart_idle_seconds: u64 = 1_800,
        /// Time after which a reservation that fits no cart is returned, in seconds. It must exceed
        /// `cart_idle_seconds`.
        pub reservation_seconds: u64 = 3_600,
        /// Whether carts that have expired or were cancelled are kept (`true`) or removed.
        pub cart_keep_expired: bool = true,
        /// What a checkout does about a price that has changed since its line was added.
        pub checkout_changed_prices: ChangedPrices = ChangedPrices::Charge,
        /// Idle time after which a booking expires and its seats become free, in seconds.
        pub booking_idle_seconds: u64 = 600,
        /// How long a booking that was cancelled or has expired is kept, in seconds.
        pub booking_keep_seconds: u64 = 2_592_000,
        /// Maximum number of reservations of one SKU. Shopping stops reserving at half of it.
        pub reservations_per_sku: u32 = 1_000,
        /// Number of free pieces up to which a product's availability is `LOW`.
        pub low_stock: u32 = 5,
        /// How long a change of orders waits until what was bought together is counted again, in seconds.
        pub bought_together_seconds: u64 = 60,
        /// Time after the delivery of a shipment within which customers can ask for its return, in days.
        pub return_days: u32 = 30,

        /// Whether concurrent increments of counters (hits) are sent in one command. In both cases an increment
        /// is acknowledged after a majority holds it.
        pub coalesce_counts: bool = true,
        /// A hit creates the documents of its page for the next day with a probability of one in this number; 0 for never.
        pub hits_ahead: u32 = 1_000,
        /// How the views of pages are stored.
        pub series_engine: SeriesEngine = SeriesEngine::Buckets,
        /// How long the views of pages are kept, in seconds; 0 keeps them forever. With the engine `buckets` a change
        /// applies to minutes that get their first view after it.
        pub series_retention_seconds: u64 = 7_776_000,
        /// How late a session may be recorded, in seconds since its start. It is kept for longer, so that its hour can be
        /// computed anew.
        pub session_retention_seconds: u64 = 604_800,
        /// Interval between two scheduled roll-ups of sessions, in seconds.
        pub session_rollup_seconds: u64 = 60,
        /// First day of the week in the roll-ups of sessions.
        pub session_week_start: Weekday = Weekday::Monday,
        /// Whether concurrent guarded writes of one collection are sent in one command. In both cases each write is
        /// acknowledged after a majority holds it, and has its own outcome.
        pub coalesce_writes: bool = true,

        /// Maximum number of pairs of metadata of one object.
        pub metadata_pairs: usize = 50,

        /// Maximum size of an asset, in bytes.
        pub asset_bytes: u64 = 4 << 30,
        /// Accepted media types of assets, such as `image/png` and `image/*`. The type is detected from the
        /// bytes.
        pub asset_types: Vec<String> = vec!["*/*".into()],
        /// Maximum number of files in one request.
        pub asset_files: usize = 10,
        /// Time limit of an upload or a download, in seconds. A replaced file is kept for the same time.
        pub asset_transfer_seconds: u64 = 3_600,
        /// Time without progress after which an upload is aborted, in seconds.
        pub asset_stall_seconds: u64 = 300,
        /// Maximum number of concurrent uploads and downloads of one gateway.
        pub max_transfers: usize = 256,
        /// Widths in pixels in which pictures are sent with `?w=`. Another width is rounded up to the next one.
        pub asset_widths: Vec<u32> = vec![160, 320, 480, 640, 960, 1280, 1920],
        /// Maximum number of pixels of a picture that is resized. Resizing it takes up to some 24 bytes of memory for
        /// each.
        pub asset_pixels: u64 = 40_000_000,
        /// Maximum number of pictures that are being resized or wait for it.
        pub max_resizes: usize = 64,
        /// Maximum number of pictures that are resized at the same time, each on a processor.
        pub resizes_at_once: usize = 2,

        /// How old suggestions may be that a gateway hands out again, in seconds; 0 reads them for each caller.
        pub suggestion_cache_seconds: u32 = 5,

        /// Whether this gateway is a subgraph of a composed graph (Apollo Federation 2). It then serves
        /// `_service` and `_entities`.
        pub federation: bool = false,
        /// Maximum number of long-lived connections (WebSocket, server-sent events, multipart HTTP) of one
        /// gateway.
        pub live_connections: usize = 10_000,
        /// Maximum number of concurrent operations on one such connection.
        pub live_operations: usize = 100,
        /// Maximum number of bytes of the requests of open subscriptions, over all connections. Each counts 1 KiB more than it
        /// has. A client's share must hold one.
        pub live_subscription_bytes: usize = 128 << 20,
        /// Time limit for `connection_init` on a WebSocket, in milliseconds.
        pub live_init_millis: u64 = 10_000,
        /// Interval between two heartbeats to a client, in milliseconds. A client that sends or accepts no data for two
        /// intervals is disconnected.
        pub live_ping_millis: u64 = 12_000,
        /// Maximum number of event streams that are reserved but not yet opened.
        pub live_reservations: usize = 1_000,
        /// Time limit for opening a reserved event stream, in milliseconds.
        pub live_reservation_millis: u64 = 30_000,

        /// Maximum size of a request body, in bytes.
        pub body_bytes: usize = 1 << 20,
        /// Maximum size of the head of a request, including its URL, in bytes.
        pub head_bytes: usize = 32 << 10,
        /// Maximum number of received bytes of unanswered requests, over all connections. Each connection may
        /// hold 8 KiB in addition.
        pub max_received_bytes: usize = 256 << 20,
        /// Maximum number of bytes of the documents that queries, results of mutations and responses of subscriptions have read
        /// and not answered yet, over all operations. One operation may read three quarters of it. Each may read 64 KiB in addition.
        pub max_read_bytes: usize = 256 << 20,
        /// Maximum number of bytes of responses of more than 64 KiB that clients haven't taken yet, over all connections.
        pub max_unsent_bytes: usize = 256 << 20,
        /// Time limit for receiving the body of a request, in milliseconds.
        pub receive_millis: u64 = 10_000,
        /// Time limit for an idle connection and for receiving the head of a request, in milliseconds. It should
        /// exceed the idle timeout of proxies in front.
        pub idle_millis: u64 = 75_000,
        /// Time limit of a request, in milliseconds. Reads are cancelled in MongoDB too.
        pub request_millis: u64 = 30_000,
        /// Maximum number of connections.
        pub max_connections: usize = 10_000,
        /// Percentage of each limit of the gateway (connections, requests, transfers, event streams, bytes) that
        /// one client may use at once.
        pub client_share_percent: usize = 25,
        /// Maximum number of requests that are executed concurrently.
        pub max_requests: usize = 1_024,
        /// Sustained rate of one client (a subject, otherwise an address), in requests per second; 0 is
        /// unlimited.
        pub requests_per_second: u32 = 200,
        /// Number of requests that one client may send at once, ahead of its rate.
        pub requests_burst: u32 = 1_000,
        /// Number of proxies in front of the gateway. A client's address is that many entries from the right end
        /// of `X-Forwarded-For`; with 0 it is the address of the connection.
        pub forwarded_hops: usize = 0,
        /// Maximum number of operations in one request. Above 1, a request may be a list of operations.
        pub max_batch: usize = 1,
        /// Maximum number of tokens (names, numbers, strings, punctuators) in one document.
        pub max_tokens: usize = 4_000,
        /// Maximum nesting depth of selections.
        pub max_depth: usize = 25,
        /// Maximum number of fields with an alias in one operation.
        pub max_aliases: usize = 100,
        /// Maximum number of fields of the root type in one operation.
        pub max_root_fields: usize = 20,
        /// Maximum number of directives in one operation.
        pub max_directives: usize = 50,
        /// Maximum cost of one operation: the estimated number of objects in its response. Lists count with the
        /// requested length.
        pub max_cost: usize = 10_000,
        /// Maximum size of the response to an operation, in bytes. A client's share of `max_unsent_bytes` must hold one.
        pub max_response_bytes: usize = 16 << 20,
        /// Whether responses carry their estimated cost in `extensions.cost`.
        pub report_cost: bool = true,
        /// Whether introspection is allowed and errors suggest names from the schema.
        pub introspection: bool = false,
        /// Origins whose pages may use the gateway from a browser, such as `https://shop.example`; `*` allows
        /// all.
        pub cors_origins: Vec<String> = Vec::new(),
        /// Trusted documents: a folder of `.graphql` files, or a manifest in Apollo's or Relay's format.
        pub documents: Option<PathBuf> = None,
        /// How other documents are treated.
        pub documents_mode: DocumentsMode = DocumentsMode::Off,
        /// Whether background sweeps run in this process.
        pub background: bool = true,
        /// Pause between two passes of a sweep, in milliseconds.
        pub sweep_millis: u64 = 2_000,
        /// Development mode: every response carries `extensions.docgate`.
        pub development: bool = false,
        /// Format of log lines.
        pub log_format: LogFormat = LogFormat::Pretty,

        /// Whether the explorer (at `/`) and GraphiQL (at `/graphiql`) are served.
        pub explorer: bool = true,
        /// Whether each operation is logged at level `info`; otherwise the level is `debug`.
        pub log_requests: bool = false,
        /// Duration from which an operation is logged as slow, in milliseconds.
        pub slow_request_millis: u64 = 1_000,
        /// Base URL of a trace collector that accepts OTLP over HTTP, such as `http://localhost:4318`. Without it
        /// no traces are sent.
        pub otlp_endpoint: Option<String> = None,
        /// Fraction of the traces started here that is kept: 1 is all, 0.01 one in a hundred. A trace that the
        /// caller started is kept if the caller keeps it.
        pub otlp_sample_ratio: f64 = 1.0,
        /// Address and port for `/metrics` and `/health/…`. If set, they are served nowhere else.
        pub admin_listen: Option<SocketAddr> = None,
    }
}

/// Maximum size of a connection's read buffer in bytes, unless `head_bytes` is larger.
pub const BUFFER: usize = 64 << 10;

/// Maximum size of the document and of the parameters of a subscription in bytes. They are kept for as long as it is open.
pub const SUBSCRIPTION: usize = 32 << 10;

/// Maximum of times in seconds that MongoDB adds to a date: a hundred years. A date that is too far away is an error there.
pub const CENTURY: u64 = 100 * 366 * 24 * 3_600;
