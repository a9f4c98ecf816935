//! A gateway for a test, and the ways to talk to it, to break it and to look behind it.

mod client;
pub mod cuts;
mod databases;
pub mod direct;
mod fail_point;
pub mod faults;
pub mod live;
mod matrix;
pub mod members;
mod pages;
pub mod proxy;
pub mod raw;
pub mod recorded;
mod routes;
pub mod shop;

use std::{
    collections::{BTreeMap, HashSet},
    net::SocketAddr,
    sync::{Mutex, OnceLock, mpsc},
    time::{Duration, Instant},
};

use axum::Router;
use docgate::{
    app::App,
    background,
    config::Config,
    domains::{self, Room, switched_on},
    edge::Edge,
    invariants::Progress,
    managed,
    metrics::Metrics,
    mongo::{Walk, connect, migrations::SchemaVersionDocument},
    schema::GatewaySchema,
};
use futures_util::TryStreamExt;
use mongodb::{
    Client as MongoClient, Database,
    bson::{Bson, Document, doc},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use client::{Client, commands};
use direct::in_time;
pub use direct::settled;
pub use fail_point::{FailPoint, Turn};
use members::Members;
pub use pages::{all_nodes, nodes, pages_both_ways, texts_of};
use proxy::Proxy;
use routes::Routes;

/// Key of the tokens in tests.
pub const TOKEN_SECRET: &str = "tests: thirty-two bytes at the very least";

/// Number of mongods that the tests of this binary share. One that closes a file, or looks for pages to evict, goes
/// through the list of its open files, so that several with a part of them each need less time than one with all.
const SHARED_MONGODS: usize = 4;

/// The port of the shared mongod on which this database is. It is started by its first database, and gone with the
/// process whatever ends it.
pub fn mongod_port(database: &str) -> u16 {
    static PORTS: [OnceLock<u16>; SHARED_MONGODS] = [const { OnceLock::new() }; SHARED_MONGODS];
    *PORTS[shared_mongod(database)].get_or_init(|| {
        let (send, receive) = mpsc::channel();
        // A thread of its own: the runtime of the first test ends before the last test does.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async move {
                let mongod = start_mongod().await;
                dont_wait_for_the_journal(mongod.port()).await;
                send.send(mongod.port()).expect("the tests wait for the port");
                std::future::pending::<()>().await;
            });
        });
        receive.recv().expect("the managed mongod starts")
    })
}

/// Which of the shared mongods has this database, by the last number in its name: see [`fresh_name`].
fn shared_mongod(database: &str) -> usize {
    let number = database.rsplit('_').find_map(|part| part.parse::<usize>().ok());
    number.map_or(0, |number| number % SHARED_MONGODS)
}

/// Lets a majority acknowledge writes before they are in the journal. Nothing kills this mongod, and its journal took
/// a tenth of its time.
async fn dont_wait_for_the_journal(port: u16) {
    let uri = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
    let admin = MongoClient::with_uri_str(uri).await.expect("a client").database("admin");
    let found = admin.run_command(doc! { "replSetGetConfig": 1 }).await.expect("a configuration");
    let mut set = found.get_document("config").expect("a configuration").clone();
    set.insert("version", set.get_i32("version").expect("a version") + 1);
    set.insert("writeConcernMajorityJournalDefault", false);
    admin.run_command(doc! { "replSetReconfig": set }).await.expect("reconfigured");
}

/// A mongod of one's own, for tests that kill it or stop its elections.
pub async fn start_mongod() -> managed::Mongod {
    let binary = managed::find_or_provide(|_| {}).await.expect("a mongod");
    let data_dir = data_folder().keep();
    let settings = managed::Settings {
        binary,
        data_dir,
        port: None,
        test_mode: true,
        data: managed::Data::Removed,
    };
    managed::Mongod::start(settings).await.expect("mongod starts")
}

/// Bytes that the data of the tests' mongod may grow to.
const ROOM: u64 = 4 << 30;

/// In memory, where there is room: a disk that others keep busy holds up every write of a majority, and
/// the tests' bounds are short.
fn data_folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |about| about.f_bavail * about.f_frsize);
    let in_memory = (free >= ROOM).then(|| tempfile::tempdir_in(memory).ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a folder"))
}

/// One gateway on a database of its own.
pub struct Gateway {
    pub app: App,
    pub address: SocketAddr,
    /// The test's own way to the same database, never through the proxy.
    pub database: Database,
    /// The name that the gateway gives MongoDB, for fail points.
    pub app_name: String,
    pub proxy: Option<Proxy>,
    /// The app that runs its sweeps, with the time limits of that app.
    sweeper: App,
    /// What its clients speak HTTP with.
    pub http: reqwest::Client,
    stop: DropGuard,
    served: JoinHandle<()>,
    _routes: Routes,
}

/// The schema of a gateway, built once for all that have the same one.
fn schema(config: &Config) -> GatewaySchema {
    type Key = (bool, bool, Vec<String>);
    static BUILT: Mutex<BTreeMap<Key, GatewaySchema>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().expect("nobody panics with it");
    let key = (config.federation, config.introspection, config.rooms.clone());
    let first = built.entry(key).or_insert_with(|| docgate::schema::build(config));
    first.for_another(config)
}

/// The configuration of tests: bounds short enough to wait for.
pub fn config(database: &str) -> Config {
    Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        mongodb_uri: "set by the harness".into(),
        database: database.into(),
        secret: "tests: a secret of thirty-two bytes or more".into(),
        auth_hs256_secret: Some(TOKEN_SECRET.into()),
        auth_leeway_seconds: 0,
        flow_run_millis: 4_000,
        flow_command_millis: 2_000,
        flow_skew_millis: 200,
        background: false,
        development: true,
        introspection: true,
        requests_per_second: 0,
        // Commands that are sent at random would disturb the tests that count commands.
        hits_ahead: 0,
        suggestion_cache_seconds: 0,
        ..Config::default()
    }
}

/// Milliseconds in which a command ends with [`short_bounds`].
const SHORT_COMMAND: u64 = 800;

/// Bounds so short that tests which wait for sweeps don't take long.
pub fn short_bounds(config: &mut Config) {
    config.flow_run_millis = 1_000;
    config.flow_command_millis = SHORT_COMMAND;
    config.flow_skew_millis = 100;
}

/// Bounds so long that hardly anything runs out of time on a slow machine, for tests that wait for no sweep. They are
/// below the usual ones, so that a client repeats what did run out of time.
pub fn long_bounds(config: &mut Config) {
    config.flow_run_millis = 9_500;
    config.flow_command_millis = 9_000;
}

/// Bounds within which a slow machine serves many callers at once, or does a lot while a command is held back. A sweep would
/// wait for minutes: let a gateway with [`short_bounds`] sweep when every flow has ended.
pub fn very_long_bounds(config: &mut Config) {
    config.request_millis = 120_000;
    config.flow_run_millis = 120_000;
    config.flow_command_millis = 30_000;
}

impl Gateway {
    /// A gateway with the configuration of tests.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A gateway with some settings changed.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let database = databases::borrow();
        Self::over(mongod_port(&database), false, &database, change).await
    }

    /// A gateway whose way to MongoDB can be cut.
    pub async fn behind_proxy(change: impl FnOnce(&mut Config)) -> Self {
        let database = databases::borrow();
        Self::over(mongod_port(&database), true, &database, change).await
    }

    /// A second gateway on the same database, as after a crash of the first.
    pub async fn sibling(&self) -> Self {
        let (config, own) = (self.app.config().clone(), self.database.clone());
        Self::start_over(mongod_port(own.name()), false, own, self.http.clone(), config).await
    }

    /// A second gateway on the same database, with some settings changed.
    pub async fn sibling_with(&self, change: impl FnOnce(&mut Config)) -> Self {
        let (mut config, own) = (self.app.config().clone(), self.database.clone());
        change(&mut config);
        Self::start_over(mongod_port(own.name()), false, own, self.http.clone(), config).await
    }

    /// A second gateway on the same database that gives up on nothing soon, however busy the machine is. Its sweeps are
    /// those of this one, so they may only run when its flows have ended.
    pub async fn patient_sibling(&self) -> Self {
        let usual = Config::default();
        let change = |config: &mut Config| {
            config.flow_run_millis = usual.flow_run_millis;
            config.flow_command_millis = usual.flow_command_millis;
            config.flow_skew_millis = usual.flow_skew_millis;
        };
        Self { sweeper: self.sweeper.clone(), ..self.sibling_with(change).await }
    }

    /// A second gateway on the same database, whose way to MongoDB can be cut.
    pub async fn sibling_behind_proxy(&self) -> Self {
        let (config, own) = (self.app.config().clone(), self.database.clone());
        Self::start_over(mongod_port(own.name()), true, own, self.http.clone(), config).await
    }

    /// A gateway over the mongod on `port`.
    pub async fn over(
        port: u16,
        with_proxy: bool,
        database: &str,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let http = http();
        let mut config = config(database);
        change(&mut config);
        let uri = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
        let own = MongoClient::with_uri_str(uri).await.expect("a client").database(database);
        databases::prepare(&own, port).await;
        Self::start_over(port, with_proxy, own, http, config).await
    }

    /// A gateway over a replica set of several members.
    pub async fn over_members(members: &Members, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config(&fresh_name());
        change(&mut config);
        let client = MongoClient::with_uri_str(members.uri()).await.expect("a client");
        let own = client.database(&config.database);
        databases::prepare(&own, members.port()).await;
        config.mongodb_uri = members.uri();
        Self::start_at(None, own, http(), config).await
    }

    /// A second gateway over the same members and the same database.
    pub async fn sibling_over_members(&self) -> Self {
        let (config, own) = (self.app.config().clone(), self.database.clone());
        Self::start_at(None, own, self.http.clone(), config).await
    }

    /// A gateway over a database whose indexes are there.
    async fn start_over(
        port: u16,
        with_proxy: bool,
        own: Database,
        http: reqwest::Client,
        mut config: Config,
    ) -> Self {
        let direct = SocketAddr::from(([127, 0, 0, 1], port));
        let proxy = if with_proxy { Some(Proxy::start(&direct.to_string()).await) } else { None };
        let target = proxy.as_ref().map_or(direct, Proxy::address);
        // A server that is cut off, or killed by its test, is looked for again soon.
        let is_cut = with_proxy || port != mongod_port(own.name());
        let monitoring =
            if is_cut { "&heartbeatFrequencyMS=500&serverMonitoringMode=poll" } else { "" };
        let options = "directConnection=true&serverSelectionTimeoutMS=3000";
        config.mongodb_uri = format!("mongodb://{target}/?{options}{monitoring}");
        Self::start_at(proxy, own, http, config).await
    }

    /// A gateway with this configuration, whose way to MongoDB leads through the proxy, if there is one.
    async fn start_at(
        proxy: Option<Proxy>,
        own: Database,
        http: reqwest::Client,
        config: Config,
    ) -> Self {
        let (app_name, metrics, routes) = (fresh_name(), Metrics::default(), Routes::default());
        let (uri, pool) = (&config.mongodb_uri, &metrics.pool);
        let options = connect::options_with_metrics(uri, &app_name, pool).await;
        let mut options = options.expect("a URI");
        options.command_event_handler = Some(routes.handler());
        let core = MongoClient::with_options(options).expect("a client").database(own.name());
        let app = App::with_metrics(config, core, metrics);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        let schema = schema(app.config());
        let edge = Edge::with_schema(app.clone(), schema, None).expect("keys");
        let served = tokio::spawn(edge.serve(listener, stop.clone()));
        let stop = stop.drop_guard();
        let (sweeper, database) = (app.clone(), own);
        Self {
            app,
            address,
            database,
            app_name,
            proxy,
            sweeper,
            http,
            stop,
            served,
            _routes: routes,
        }
    }

    /// Stops it, and tells how long that took.
    pub async fn stop(self) -> Duration {
        let since = Instant::now();
        drop(self.stop);
        self.served.await.expect("no panic");
        since.elapsed()
    }

    /// Waits for what goes on behind the answers of this gateway, but not for long: a test may hold it up.
    async fn quiet(&self) {
        let tasks = self.app.tasks();
        tasks.close();
        let _held_up = tokio::time::timeout(Duration::from_secs(2), tasks.wait()).await;
        tasks.reopen();
    }

    /// Every document of every collection, to prove that a refusal changed nothing.
    pub async fn snapshot(&self) -> BTreeMap<String, Vec<Document>> {
        self.quiet().await;
        let names = self.database.list_collection_names().await.expect("collections");
        let [documents, sorted] = in_order();
        let whole = [documents, sorted, doc! { "$project": { "_id": 0, "document": "$$ROOT" } }];
        let mut all = BTreeMap::<_, Vec<_>>::new();
        for (name, found) in of_each(&self.database, &names, &whole).await.expect("documents") {
            all.entry(name).or_default().push(found.get_document("document").expect("one").clone());
        }
        all
    }

    /// Every document but the leases, which come and go.
    pub async fn contents(&self) -> BTreeMap<String, Vec<Document>> {
        let mut all = self.snapshot().await;
        all.remove("leases");
        all
    }

    /// The rooms that a sweep or a check can find something in: those that have documents, need a room that has some,
    /// or are needed by one. To look at all rooms took half of the commands of the tests. Rooms also make collections
    /// at run time, which aren't declared: if there is one, it is every room.
    async fn rooms(&self) -> impl Iterator<Item = &'static Room> {
        let on = || switched_on(self.app.config());
        let declared = domains::collections(&Config::default());
        let is_declared = |name: &String| declared.iter().any(|declared| declared.name == name);
        let names = self.database.list_collection_names().await.expect("collections");
        let (names, others): (Vec<_>, Vec<_>) = names.into_iter().partition(is_declared);
        let filled = filled(&self.database, &names).await.expect("documents");
        databases::assert_prepared(self.database.name(), &filled);
        if !others.is_empty() {
            return on().collect::<Vec<_>>().into_iter();
        }
        let is_filled = |room: &Room| room.collections().any(|one| filled.contains(one.name));
        let is_near = |one: &Room, other: &Room| {
            one.name == other.name
                || one.needs.contains(&other.name)
                || other.needs.contains(&one.name)
        };
        let near = |room: &&Room| on().any(|other| is_near(room, other) && is_filled(other));
        on().filter(near).collect::<Vec<_>>().into_iter()
    }

    /// Puts the newest versions of documents in force and upgrades all documents, as `docgate migrate` does. Returns how
    /// many were upgraded.
    pub async fn migrate(&self) -> u64 {
        let mut upgraded = 0;
        for (_, documents) in domains::documents(self.app.config()) {
            let newest = documents.newest();
            if newest == 1 {
                continue;
            }
            let versions = self.app.collection::<SchemaVersionDocument>();
            versions.put_in_force(documents.collection, newest).await.expect("in force");
            let mut next = Some(Walk::default());
            while let Some(position) = next {
                let step = (documents.upgrade_next)(&self.app, position, 1_000).await;
                let (step, after) = step.expect("upgraded");
                upgraded += step.upgraded;
                next = after;
            }
        }
        self.app.refresh_versions().await.expect("refreshed");
        upgraded
    }

    /// Every document of a collection.
    pub async fn stored(&self, collection: &str) -> Vec<Document> {
        let collection = self.database.collection::<Document>(collection);
        let found = collection.find(doc! {}).sort(doc! { "_id": 1 }).await.expect("a cursor");
        found.try_collect().await.expect("documents")
    }

    /// Waits until sweeps may act, then sweeps until nothing is left to finish.
    pub async fn sweep(&self) {
        self.quiet().await;
        let quiet = self.sweeper.bounds().two_grace_periods();
        tokio::time::sleep(quiet + Duration::from_millis(100)).await;
        for _ in 0..50 {
            match background::sweep_each(&self.sweeper, self.rooms().await).await {
                Ok(0) => return,
                Ok(_) => {}
                // With short bounds a command may run out of time; a later pass goes on.
                Err(error) if error.is_retryable() => tokio::time::sleep(self.pause()).await,
                Err(error) => panic!("the sweeps run: {error:?}"),
            }
        }
        panic!("the sweeps never come to an end");
    }

    /// Fails with what is broken, if any invariant is.
    pub async fn assert_sound(&self) {
        let report = in_time(async || {
            domains::check_each(&self.app, self.rooms().await, Progress::default()).await
        });
        let report = report.await;
        let broken: Vec<_> = report.rules.iter().filter(|(_, broken)| !broken.is_empty()).collect();
        assert!(broken.is_empty(), "{broken:#?}");
    }
}

/// What the pipeline makes of each of these collections, with the collection's name: one command for all of them.
async fn of_each(
    database: &Database,
    names: &[String],
    pipeline: &[Document],
) -> mongodb::error::Result<Vec<(String, Document)>> {
    let union = names.iter().map(|name| {
        let mut pipeline = pipeline.to_vec();
        pipeline.push(doc! { "$set": { "collection": { "$literal": name } } });
        doc! { "$unionWith": { "coll": name, "pipeline": pipeline } }
    });
    let pipeline = std::iter::once(doc! { "$documents": [] }).chain(union);
    let found: Vec<Document> = database.aggregate(pipeline).await?.try_collect().await?;
    let with_name = |one: Document| (one.get_str("collection").unwrap_or_default().to_owned(), one);
    Ok(found.into_iter().map(with_name).collect())
}

/// The stages that find the documents of a collection in the order of `_id`, without a scan of the collection.
fn in_order() -> [Document; 2] {
    [doc! { "$match": { "_id": { "$gte": Bson::MinKey } } }, doc! { "$sort": { "_id": 1 } }]
}

/// Names of those of the collections that have documents.
async fn filled(database: &Database, names: &[String]) -> mongodb::error::Result<HashSet<String>> {
    let [all, sorted] = in_order();
    let first = doc! { "$limit": 1 };
    let name = doc! { "$project": { "_id": 0, "is": { "$literal": 1 } } };
    let found = of_each(database, names, &[all, sorted, first, name]).await?;
    Ok(found.into_iter().map(|(name, _)| name).collect())
}

/// How long a test waits for something. A busy machine may take a while, so the bound is generous.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something holds.
///
/// # Panics
/// It doesn't hold within two minutes; `what` names it.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A name that no other test has. It ends with a number.
pub fn fresh_name() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A token that is good for an hour.
pub fn token(subject: &str, roles: &[&str]) -> String {
    token_with(&json!({ "sub": subject, "roles": roles, "exp": now_seconds() + 3600 }))
}

/// A token with these claims, signed with the key of tests.
pub fn token_with(claims: &Value) -> String {
    let key = jsonwebtoken::EncodingKey::from_secret(TOKEN_SECRET.as_bytes());
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &key).expect("a token")
}

#[expect(clippy::disallowed_methods, reason = "tokens go by the wall clock")]
pub fn now_seconds() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a clock after 1970")
        .as_secs()
}

/// What speaks HTTP with gateways. It knows no certificates: to read the system's takes longer than many
/// a test, and no test leaves this machine.
pub fn http() -> reqwest::Client {
    http_builder().build().expect("a client")
}

/// What [`http`] is made by.
pub fn http_builder() -> reqwest::ClientBuilder {
    // Another test may have installed it already.
    let _already = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([])
}

/// Serves an outside service, and returns its address.
pub async fn outside(service: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, service).await.expect("it serves") });
    format!("http://{address}")
}

/// The `_id` behind a global id; a key is its own.
pub fn key(id: &str) -> String {
    docgate::graphql::node_id::decode(id).map_or_else(|| id.to_owned(), |(_, key)| key)
}
