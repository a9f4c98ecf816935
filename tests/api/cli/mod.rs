//! The commands, as the binary that people run.

mod alone;
mod backup;
mod closing;
mod configuration;
mod csv;
mod demo;
mod fetching;
mod import;
mod midnight;
mod output;
mod person;
mod preconditions;
mod settings;
mod versions;
mod whole_shop;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use mongodb::{Database, IndexModel, bson::doc};
use serde_json::{Value, json};

use crate::support::{
    TOKEN_SECRET, fresh_name, http, mongod_port,
    recorded::{assert_routed, database_of, recorded_port},
    token, until,
};

const SECRET: &str = "tests: a secret of thirty-two bytes or more";

/// The binary, without what the environment of the tests may say to it.
fn docgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_docgate"));
    for (key, _) in std::env::vars().filter(|(key, _)| key.starts_with("DOCGATE_")) {
        // A demo needs to find its mongod.
        if key != "DOCGATE_MONGOD" && key != "DOCGATE_CACHE" {
            command.env_remove(key);
        }
    }
    command.args(arguments);
    command
}

/// The binary with a configuration that works, on a database.
pub(crate) fn on(database: &str, arguments: &[&str]) -> Command {
    let mut command = docgate(arguments);
    command
        .env("DOCGATE_MONGODB_URI", uri_at(recorded_port(database)))
        .env("DOCGATE_DATABASE", database)
        .env("DOCGATE_SECRET", SECRET)
        .env("DOCGATE_AUTH_HS256_SECRET", TOKEN_SECRET)
        .env("DOCGATE_LISTEN", "127.0.0.1:0");
    command
}

/// As [`on`], with the rooms only that imports of a shop fill. The indexes of all rooms take longer than most imports.
fn on_shop(database: &str, arguments: &[&str]) -> Command {
    let mut command = on(database, arguments);
    let rooms = "assets,catalog,categories,comments,identities,inventory,people";
    command.env("DOCGATE_ROOMS", rooms);
    command
}

fn uri(database: &str) -> String {
    uri_at(mongod_port(database))
}

fn uri_at(port: u16) -> String {
    format!("mongodb://127.0.0.1:{port}/?directConnection=true")
}

async fn database(name: &str) -> Database {
    mongodb::Client::with_uri_str(uri(name)).await.expect("a client").database(name)
}

/// Runs it to its end.
pub(crate) fn done(mut command: Command) -> (i32, String, String) {
    let database = database_of(&command);
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().expect("the binary runs");
    assert_routed(database.as_deref());
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit code"), text(stdout), text(stderr))
}

/// A text as gzip has it.
pub(crate) fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).expect("written");
    encoder.finish().expect("finished")
}

/// A gateway or a demo that runs until it is told to stop.
pub(crate) struct Running {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
    database: Option<String>,
}

impl Running {
    /// Starts it and reads what it says on stderr and stdout.
    pub(crate) fn start(mut command: Command) -> Self {
        let database = database_of(&command);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let (send, lines) = std::sync::mpsc::channel();
        let (out, err) = (child.stdout.take().expect("out"), child.stderr.take().expect("err"));
        let streams: [Box<dyn Read + Send>; 2] = [Box::new(out), Box::new(err)];
        for stream in streams {
            let send = send.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Self { child, lines, database }
    }

    /// The first line that has `text` in it.
    pub(crate) fn says(&self, text: &str) -> String {
        let until = Instant::now() + Duration::from_secs(600);
        let mut heard = Vec::new();
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => heard.push(line),
                Err(_) => break,
            }
        }
        panic!("it never said {text:?} but {heard:#?}");
    }

    /// The address in the line that has `text` in it.
    pub(crate) fn address(&self, text: &str) -> String {
        let line = self.says(text);
        let (_, address) = line.split_once("http://").expect("an address");
        address.split_whitespace().next().expect("an address").to_owned()
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([format!("-{name}"), self.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
    }

    /// Its exit code. A graceful stop may take a while on a busy machine.
    pub(crate) fn ends(mut self) -> i32 {
        let until = Instant::now() + Duration::from_secs(120);
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code().expect("an exit code");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it doesn't stop");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already, in the usual case.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
        if !std::thread::panicking() {
            assert_routed(self.database.as_deref());
        }
    }
}

async fn ask(address: &str, token: Option<&str>, query: &str) -> Value {
    ask_with(address, token, query, json!({})).await
}

async fn ask_with(address: &str, token: Option<&str>, query: &str, variables: Value) -> Value {
    // Another test may have installed it already.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let mut request = http().post(format!("http://{address}/graphql"));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request
        .json(&json!({ "query": query, "variables": variables }))
        .send()
        .await
        .expect("an answer");
    response.json().await.expect("JSON")
}

#[test]
fn every_command_explains_itself() {
    let (code, help, _) = done(docgate(&["--help"]));
    assert_eq!(code, 0);
    assert!(help.contains("Exit codes:"), "{help}");
    for command in [
        "serve", "demo", "schema", "indexes", "import", "export", "check", "migrate", "shards",
        "token",
    ] {
        assert!(help.contains(&format!("  {command} ")), "{command} in {help}");
        let (code, text, _) = done(docgate(&[command, "--help"]));
        assert_eq!(code, 0);
        assert!(text.contains("Example"), "{command}: {text}");
    }
    for [command, below] in [
        ["indexes", "plan"],
        ["indexes", "apply"],
        ["shards", "plan"],
        ["import", "categories"],
        ["import", "people"],
        ["import", "products"],
        ["import", "stock"],
        ["import", "discussions"],
        ["import", "csv"],
        ["export", "csv"],
        ["person", "export"],
        ["person", "erase"],
        ["person", "what"],
        ["schema", "documents"],
    ] {
        let (code, text, _) = done(docgate(&[command, below, "--help"]));
        assert_eq!(code, 0);
        assert!(text.contains("Example"), "{command} {below}: {text}");
    }
    assert_eq!(done(docgate(&["nonsense"])).0, 2);
    assert_eq!(done(docgate(&[])).0, 2);
}

/// Lines of help aren't broken twice: in the source, and again at the width of the terminal.
#[test]
fn paragraphs_of_help_fill_the_width() {
    for arguments in [
        &["demo"][..],
        &["import"],
        &["import", "csv"],
        &["import", "world"],
        &["export"],
        &["indexes", "apply"],
        &["migrate"],
        &["person", "erase"],
        &["work"],
        &["check"],
    ] {
        let mut command = docgate(arguments);
        command.arg("--help").env_remove("COLUMNS");
        let (code, help, _) = done(command);
        assert_eq!(code, 0);
        let long = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{arguments:?}");
        let lines: Vec<&str> = help.lines().collect();
        let is_prose = |line: &str| line.starts_with(|first: char| first.is_alphabetic());
        for pair in lines.windows(2).filter(|pair| is_prose(pair[0]) && is_prose(pair[1])) {
            let next = pair[1].split(' ').next().expect("a word").chars().count();
            assert!(pair[0].chars().count() + 1 + next > 100, "{arguments:?}: {pair:?}");
        }
    }
    let (_, help, _) = done(docgate(&["demo", "--help"]));
    assert!(help.contains("50 to 200,000"), "{help}");
}

#[test]
fn the_plan_for_a_cluster_needs_no_configuration() {
    let (code, plan, _) = done(docgate(&["shards", "plan", "--presplit", "--database", "shop"]));
    assert_eq!(code, 0, "{plan}");
    assert!(plan.contains("sh.enableSharding(\"shop\");"), "{plan}");
    assert!(plan.contains("sh.shardCollection(\"shop.carts\", "), "{plan}");
    let (code, _, said) = done(docgate(&["shards", "plan", "--presplit", "--chunks", "0"]));
    assert_eq!(code, 2, "{said}");
}

/// A plan for another database than that of the gateways would shard collections that nobody uses.
#[test]
fn the_plan_for_a_cluster_is_for_the_databases_of_the_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("docgate.toml");
    let settings = "database = \"shop\"\nlog_database = \"logs\"\n";
    std::fs::write(&file, settings).expect("written");
    let plan = |more: &[&str]| {
        let mut command = docgate(&[&["shards", "plan"][..], more].concat());
        command.env("DOCGATE_CONFIG", &file).env("DOCGATE_ACTIVITY_DATABASE", "views");
        let (code, plan, said) = done(command);
        assert_eq!(code, 0, "{said}");
        plan
    };
    let found = plan(&[]);
    for name in ["shop.carts", "views.pageViews", "logs.events_"] {
        assert!(found.contains(&format!("sh.shardCollection(\"{name}")), "{name} in {found}");
    }
    let found = plan(&["--database", "other", "--log-database", "others"]);
    for name in ["other.carts", "views.pageViews", "others.events_"] {
        assert!(found.contains(&format!("sh.shardCollection(\"{name}")), "{name} in {found}");
    }
}

#[test]
fn every_fault_of_the_configuration_is_named_at_once() {
    let (code, out, said) = done(docgate(&["serve"]));
    assert_eq!((code, out.as_str()), (2, ""));
    for fault in ["mongodb_uri", "DOCGATE_SECRET", "no key for tokens"] {
        assert!(said.contains(fault), "{fault} in {said}");
    }

    let mut command = docgate(&["serve"]);
    command.env("DOCGATE_SWEEP_MILLIS", "soon").env("DOCGATE_LISTEN", "here");
    command.env("DOCGATE_NONSENSE", "1").env("DOCGATE_DATABASE", "a b");
    command.env("DOCGATE_CART_IDLE_SECONDS", "9999999");
    // What Kubernetes sets for a service of that name isn't a key.
    command.env("DOCGATE_PORT_8080_TCP", "tcp://10.0.0.1:8080").env("DOCGATE_SERVICE_HOST", "x");
    // Nor of one whose name begins with it. But a port alone isn't of a service.
    command.env("DOCGATE_ADMIN_PORT", "tcp://10.0.0.2:1").env("DOCGATE_MONGODB_SERVICE_PORT", "1");
    command.env("DOCGATE_PORT", "9000");
    // Nor is what `docgate work` sets for its command, which may be docgate too.
    command
        .env("DOCGATE_JOB_ID", "x")
        .env("DOCGATE_JOB_QUEUE", "mail")
        .env("DOCGATE_JOB_ATTEMPT", "1");
    // A secret of digits is text; it isn't told either.
    command.env("DOCGATE_SECRET", "12345678901234567890123456789012");
    let (code, _, said) = done(command);
    assert_eq!(code, 2);
    let faults = [
        "sweep_millis: ",
        "listen: ",
        "nonsense is no",
        "port is no configuration key",
        "database must",
        "mongodb_uri is missing",
        "no key for tokens",
        "reservation_seconds must",
    ];
    for fault in faults {
        assert!(said.contains(fault), "{fault} in {said}");
    }
    assert_eq!(said.lines().count(), 1 + faults.len(), "{said}");
}

#[test]
fn a_fault_of_numbers_says_what_they_are_and_what_they_must_be() {
    let says = |settings: &[(&str, &str)], told: &str| {
        let mut command = on("any", &["serve"]);
        for (key, value) in settings {
            command.env(key, value);
        }
        let (code, _, said) = done(command);
        assert!(code == 2 && said.contains(told), "{told} in {said}");
    };
    says(
        &[("DOCGATE_ASSET_STALL_SECONDS", "36"), ("DOCGATE_FLOW_SKEW_MILLIS", "1500")],
        "asset_stall_seconds is 36, which must be more than 36.5 seconds: 2 × receive_millis + \
         flow_run_millis + flow_command_millis + flow_skew_millis, divided by 1000",
    );
    says(&[("DOCGATE_CLIENT_SHARE_PERCENT", "101")], "client_share_percent must be between 1");
    says(&[("DOCGATE_HEAD_BYTES", "1000")], "head_bytes must be between 8192 and 1048576");
    says(
        &[("DOCGATE_MAX_RECEIVED_BYTES", "4000000")],
        "a client's share of max_received_bytes (25 % of 4000000 bytes: 1000000) must hold one request, \
         which can take 1179648 bytes",
    );
    says(
        &[("DOCGATE_MAX_UNSENT_BYTES", "8388608")],
        "a client's share of max_unsent_bytes (25 % of 8388608 bytes: 2097152) must hold one response, \
         which can take 16777216 bytes (max_response_bytes)",
    );
    says(
        &[("DOCGATE_LIVE_SUBSCRIPTION_BYTES", "65536")],
        "a client's share of live_subscription_bytes (25 % of 65536 bytes: 16384) must hold one subscription, \
         which can take 32768 bytes",
    );
}

#[test]
fn a_file_is_read_and_flags_win() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("docgate.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:1\"\nnonsense = 1\nsweep_millis = []\n")
        .expect("written");
    let path = file.display().to_string();
    let (code, _, said) = done(docgate(&["serve", "--config", &path]));
    assert_eq!(code, 2);
    assert!(said.contains(&format!("nonsense is no configuration key (in {path})")), "{said}");
    assert!(said.contains("sweep_millis: ") && said.contains("mongodb_uri"), "{said}");
    std::fs::write(&file, "listen = ").expect("written");
    assert_eq!(done(docgate(&["serve", "--config", &path])).0, 2);
    let (code, _, said) = done(docgate(&["serve", "--config", "/nowhere/docgate.toml"]));
    assert!(code == 2 && said.contains("/nowhere/docgate.toml can't be read"), "{said}");

    std::fs::write(&file, "database = \"x y\"\nmongodb_uri = \"mongodb://127.0.0.1:1/\"\n")
        .expect("written");
    let (code, _, said) = done(docgate(&["check", "--config", &path, "--database", "sound"]));
    assert_eq!(code, 3, "the flag mends the file's database, and nobody is at that address");
    assert!(said.contains("no primary within 15 s at 127.0.0.1:1"), "{said}");
}

#[test]
fn the_schema_is_the_contract() {
    let (code, schema, said) = done(docgate(&["schema"]));
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(schema, docgate::schema::sdl());
    let (code, schema, said) = done(docgate(&["schema", "--federation"]));
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(schema, *docgate::schema::subgraph::sdl(&docgate::config::Config::default()));
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_planned_built_and_dropped_only_when_told() {
    let name = fresh_name();
    let (code, table, _) = done(on(&name, &["indexes", "plan"]));
    assert_eq!(code, 1);
    assert!(table.contains("MISSING") && !table.contains("in place\n"), "{table}");
    let (code, said, _) = done(on(&name, &["indexes", "apply"]));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("The database is new"), "{said}");
    let (code, table, _) = done(on(&name, &["indexes", "plan"]));
    assert_eq!(code, 0, "{table}");
    assert!(table.contains(" 0 missing, 0 different, 0 undeclared"), "{table}");

    let inventory = database(&name).await.collection::<mongodb::bson::Document>("inventory");
    let own = IndexModel::builder().keys(doc! { "sold": 1 }).build();
    inventory.create_index(own).await.expect("built");
    inventory.drop_index("deletion_due").await.expect("dropped");
    let mut options = mongodb::options::IndexOptions::default();
    options.name = Some("deletion_due".to_owned());
    let other = IndexModel::builder().keys(doc! { "restocks.tag": 1 }).options(options).build();
    inventory.create_index(other).await.expect("built");

    let (code, table, _) = done(on(&name, &["indexes", "plan"]));
    assert_eq!(code, 1);
    assert!(table.contains(" 0 missing, 1 different, 1 undeclared"), "{table}");
    let (code, said, _) = done(on(&name, &["indexes", "apply"]));
    assert_eq!(code, 1, "the different one is left alone");
    assert!(said.contains("inventory.sold_1: undeclared, left alone"), "{said}");
    let names = inventory.list_index_names().await.expect("names");
    assert!(names.contains(&"sold_1".to_owned()));
    assert_eq!(done(on(&name, &["indexes", "apply", "--drop"])).0, 0);
    assert_eq!(done(on(&name, &["indexes", "plan"])).0, 0);
    let names = inventory.list_index_names().await.expect("names");
    assert!(!names.contains(&"sold_1".to_owned()));
}

/// Only a database in which no docgate has been gets the newest versions of documents at once.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_of_a_new_database_put_the_newest_versions_in_force() {
    let in_force = async |name: &str| {
        let versions = database(name).await.collection::<mongodb::bson::Document>("schemaVersions");
        let found = versions.find_one(doc! { "_id": "inventory" }).await.expect("read");
        found.map(|found| found.get_i32("inForce").expect("a version"))
    };
    let (new, used) = (fresh_name(), fresh_name());
    assert_eq!(done(on(&new, &["indexes", "apply"])).0, 0);
    assert_eq!(in_force(&new).await, Some(2));
    let foreign = database(&used).await.collection::<mongodb::bson::Document>("notOfDocgate");
    foreign.insert_one(doc! { "_id": 1 }).await.expect("inserted");
    let leases = database(&used).await.collection::<mongodb::bson::Document>("leases");
    leases.insert_one(doc! { "_id": "of an earlier gateway" }).await.expect("inserted");
    let (code, said, _) = done(on(&used, &["indexes", "apply"]));
    assert!(code == 0 && !said.contains("The database is new"), "{said}");
    assert_eq!(in_force(&used).await, None);
    leases.drop().await.expect("dropped");
    let other = fresh_name();
    let foreign = database(&other).await.collection::<mongodb::bson::Document>("notOfDocgate");
    foreign.insert_one(doc! { "_id": 1 }).await.expect("inserted");
    assert_eq!(done(on(&other, &["indexes", "apply"])).0, 0);
    assert_eq!(in_force(&other).await, Some(2), "what others have in it doesn't count");
}

/// Operators learn why a token is refused; clients don't, and no log line has a token.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_tells_why_a_token_is_refused() {
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command.env("DOCGATE_AUTH_AUDIENCE", "shop");
    let running = Running::start(command);
    let address = running.address("serving on http://");
    let until = crate::support::now_seconds() + 3_600;
    let of = |audience: &str| {
        crate::support::token_with(&json!({ "sub": "a", "aud": audience, "exp": until }))
    };
    let forged = format!("{}AAAA", of("shop"));
    for (token, reason, told) in [
        (token("a", &[]), "it has no `aud`", "the token is invalid"),
        (of("other"), "isn't auth_audience", "the token is invalid"),
        (forged, "has signed it", "the token is invalid"),
        ("abc".to_owned(), "it isn't a JWT", "the token isn't a JWT"),
    ] {
        let answer = ask(&address, Some(&token), "{ __typename }").await;
        let error = &answer["errors"][0];
        assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED", "{answer:#}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with(told) && !message.contains("aud"), "{message}");
        let line = running.says("token_refused");
        assert!(line.contains(reason) && line.contains("WARN"), "{reason}: {line}");
        assert!(
            !line.contains(&token[token.len().saturating_sub(20)..]) || token == "abc",
            "{line}"
        );
    }
    let answer = ask(&address, Some(&of("shop")), "{ __typename }").await;
    assert!(answer.get("errors").is_none(), "{answer:#}");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
}

/// The events of a month are in a collection of their own, which is created when it is needed.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_of_months_are_planned_and_built() {
    let name = fresh_name();
    assert_eq!(done(on(&name, &["indexes", "apply"])).0, 0);
    let month = database(&name).await.collection::<mongodb::bson::Document>("events_2024_02");
    month.insert_one(doc! { "_id": "one", "v": 1 }).await.expect("inserted");
    let (code, table, _) = done(on(&name, &["indexes", "plan"]));
    assert_eq!(code, 1, "{table}");
    assert!(table.contains("events_2024_02") && table.contains(" 3 missing"), "{table}");
    assert_eq!(done(on(&name, &["indexes", "apply"])).0, 0);
    assert_eq!(month.list_index_names().await.expect("names").len(), 4);
    let (code, table, _) = done(on(&name, &["indexes", "plan"]));
    assert_eq!(code, 0, "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_tells_what_is_broken() {
    let name = fresh_name();
    assert_eq!(done(on(&name, &["indexes", "apply"])).0, 0);
    let (code, said, progress) = done(on(&name, &["check"]));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("✓ inventory") && said.contains("rules hold"), "{said}");
    assert!(!progress.contains("looking again"), "{progress}");
    let stock = doc! {
        "_id": "BROKEN-1", "available": 5_i64, "sold": 1_i64, "received": 9_i64,
        "reservations": [], "ops": [], "restocks": [], "v": 1,
    };
    database(&name).await.collection("inventory").insert_one(stock).await.expect("inserted");
    let (code, said, progress) = done(on(&name, &["check"]));
    assert_eq!(code, 1);
    assert!(said.contains("✗ inventory") && said.contains("BROKEN-1"), "{said}");
    assert!(!said.contains("looking again"), "{said}");
    let told = ": this seems to be broken (1 violation); looking again in 0.5 s\n";
    assert!(progress.contains(told), "{progress}");
}

#[tokio::test(flavor = "multi_thread")]
async fn repair_sweeps_until_nothing_is_left() {
    let name = fresh_name();
    assert_eq!(done(on(&name, &["indexes", "apply"])).0, 0);
    let mut command = on(&name, &["check", "--repair"]);
    command.env("DOCGATE_FLOW_RUN_MILLIS", "4000").env("DOCGATE_FLOW_COMMAND_MILLIS", "2000");
    command.env("DOCGATE_FLOW_SKEW_MILLIS", "50");
    // It verifies no tokens.
    command.env_remove("DOCGATE_AUTH_HS256_SECRET");
    let (code, out, said) = done(command);
    assert_eq!(code, 0, "{out}{said}");
    assert!(said.contains("0 flows finished"), "{said}");
    let mut command = docgate(&["check", "--repair", "--mongodb-uri", &uri(&name)]);
    command.env("DOCGATE_DATABASE", &name);
    let (code, _, said) = done(command);
    assert!(code == 2 && said.contains("DOCGATE_SECRET"), "sweeps need the secret: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_serves_until_it_is_told_to_stop() {
    for signal in ["TERM", "INT"] {
        let running = Running::start(on(&fresh_name(), &["serve"]));
        running.says("declared indexes are missing");
        let address = running.address("serving on http://");
        let answer = ask(&address, None, "{ __typename }").await;
        assert_eq!(answer["data"]["__typename"], "Query");

        let probe = || {
            let mut probe = on("any", &["serve", "--health-check"]);
            probe.env("DOCGATE_LISTEN", &address);
            done(probe)
        };
        // It waits for three seconds, in which a busy machine may give no answer.
        until("the gateway is healthy", async || probe().0 == 0).await;

        let (code, _, said) = done(on(&fresh_name(), &["serve", "--listen", &address]));
        assert_eq!(code, 3);
        assert_eq!(
            said,
            format!("docgate: can't listen on {address}: it is taken by another process\n")
        );

        running.signal(signal);
        assert_eq!(running.ends(), 0, "{signal}");
        let (code, _, said) = probe();
        assert_eq!(code, 1);
        assert!(said.contains("no gateway answers"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_waits_for_its_primary_and_says_so() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = nobody.local_addr().expect("an address").port();
    drop(nobody);
    let uri = format!("mongodb://me:hidden@127.0.0.1:{port}/?serverSelectionTimeoutMS=300");
    let mut command = on(&fresh_name(), &["serve", "--wait", "5"]);
    command.env("DOCGATE_MONGODB_URI", &uri).env("DOCGATE_LOG_FORMAT", "json");
    let (code, _, said) = done(command);
    assert_eq!(code, 3, "{said}");
    // On a busy machine it may be later when it says so.
    assert!(said.contains("MongoDB's primary doesn't answer yet ("), "{said}");
    let warned = format!(" s of 5 s). MongoDB didn't answer: 127.0.0.1:{port} (");
    assert!(said.contains(&warned), "{said}");
    assert!(said.contains(&format!("no primary within 5 s at 127.0.0.1:{port}")), "{said}");
    assert!(!said.contains("hidden"), "{said}");

    let running = Running::start({
        let mut command = on(&fresh_name(), &["serve", "--wait", "3600"]);
        command.env("DOCGATE_MONGODB_URI", &uri).env("DOCGATE_ADMIN_LISTEN", "127.0.0.1:0");
        command
    });
    let admin = running.address("operators are served on http://");
    running.says("doesn't answer yet");
    for (path, status) in [("/health/live", 200), ("/health/ready", 503), ("/metrics", 200)] {
        let answer = crate::support::http().get(format!("http://{admin}{path}")).send().await;
        assert_eq!(answer.expect("an answer").status().as_u16(), status, "{path} while it waits");
    }
    running.signal("TERM");
    assert_eq!(running.ends(), 0, "a stop is heard while it waits");
}

/// A load balancer that probes the address for operators sends nothing more to the gateway.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_stops_is_not_ready_any_more() {
    let running = Running::start({
        let mut command = on(&fresh_name(), &["serve"]);
        command.env("DOCGATE_ADMIN_LISTEN", "127.0.0.1:0");
        // A request, and the end of the gateway, may take as long as the test.
        command.env("DOCGATE_RECEIVE_MILLIS", "60000").env("DOCGATE_FLOW_RUN_MILLIS", "60000");
        command
    });
    let admin = running.address("operators are served on http://");
    let address = running.address("serving on http://");
    let probe = async |path: &str| {
        let answer = http().get(format!("http://{admin}/health/{path}")).send().await;
        let answer = answer.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a text"))
    };
    until("it is ready", async || probe("ready").await.0 == 200).await;

    let mut held = TcpStream::connect(&address).expect("connected");
    let request = "POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                content-length: 100\r\nexpect: 100-continue\r\n\r\n";
    held.write_all(request.as_bytes()).expect("sent");
    // The body is being read.
    let mut answer = [0; 21];
    held.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 100 Continue");
    running.signal("TERM");
    let stopping = (503, "the gateway is stopping\n".to_owned());
    until("it says that it stops", async || probe("ready").await == stopping).await;
    assert_eq!(probe("live").await.0, 200);
    drop(held);
    assert_eq!(running.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_built_on_the_way_when_told() {
    let name = fresh_name();
    // Those of a month of events too.
    let month = database(&name).await.collection::<mongodb::bson::Document>("events_2024_02");
    month.insert_one(doc! { "_id": "one", "v": 1 }).await.expect("inserted");
    let running = Running::start(on(&name, &["serve", "--apply-indexes"]));
    running.address("serving on http://");
    assert_eq!(done(on(&name, &["indexes", "plan"])).0, 0);
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_what_its_roles_open() {
    let mut command = docgate(&["token", "--sub", "someone", "--roles", "merchant,service"]);
    let (code, _, said) = done(command);
    assert!(code == 2 && said.contains("auth_hs256_secret is missing"), "{said}");
    command = docgate(&["token", "--sub", "someone", "--roles", "merchand"]);
    assert_eq!(done(command).0, 2);
    command = docgate(&["token", "--sub", "someone", "--ttl", "soon"]);
    assert_eq!(done(command).0, 2);

    let running = Running::start({
        let mut command = on(&fresh_name(), &["serve"]);
        command.env("DOCGATE_AUTH_ISSUER", "tests").env("DOCGATE_AUTH_AUDIENCE", "docgate");
        command.env("DOCGATE_AUTH_LEEWAY_SECONDS", "0");
        command.env("DOCGATE_AUTH_ROLES_CLAIM", "/realm_access/roles");
        command
    });
    let address = running.address("serving on http://");
    let mint = |arguments: &[&str]| {
        let mut command = docgate(&["token", "--sub", "someone"]);
        command.args(arguments).env("DOCGATE_AUTH_HS256_SECRET", TOKEN_SECRET);
        command.env("DOCGATE_AUTH_ISSUER", "tests").env("DOCGATE_AUTH_AUDIENCE", "docgate");
        command.env("DOCGATE_AUTH_ROLES_CLAIM", "/realm_access/roles");
        let (code, token, said) = done(command);
        assert_eq!(code, 0, "{said}");
        token.trim().to_owned()
    };
    let receive = "mutation { receiveStock(input: {sku: \"x\", quantity: 1}) { __typename } }";
    let merchant = mint(&["--roles", "merchant,service", "--ttl", "1m"]);
    let answer = ask(&address, Some(&merchant), receive).await;
    assert_eq!(answer["data"]["receiveStock"]["__typename"], "NotFound", "{answer}");
    let plain = mint(&[]);
    let answer = ask(&address, Some(&plain), receive).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN");
    let foreign = token("someone", &["merchant"]);
    let answer = ask(&address, Some(&foreign), receive).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "another issuer's");
    let brief = mint(&["--ttl", "1s"]);
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let answer = ask(&address, Some(&brief), "{ __typename }").await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "run out");
}
