//! A mongod of which no replica set was made.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use docgate::managed;
use mongodb::{
    Client, Database,
    bson::{Document, doc},
};
use tempfile::TempDir;

use super::{done, on};
use crate::support::{fresh_name, until};

/// A mongod that is killed with the test.
struct Mongod {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl Drop for Mongod {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Mongod {
    /// A mongod that belongs to a set as soon as one is initiated.
    async fn start() -> Self {
        Self::start_with(&["--replSet", "alone"]).await
    }

    async fn start_with(arguments: &[&str]) -> Self {
        let binary = managed::find_or_provide(|_| {}).await.expect("a mongod");
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let mut command = Command::new(binary);
        command.arg("--dbpath").arg(folder.path()).args(["--port", &port.to_string()]);
        command.args(arguments);
        command.args(["--bind_ip", "127.0.0.1", "--nounixsocket", "--quiet"]);
        command.args(["--wiredTigerCacheSizeGB", "0.25"]);
        command.args(["--setParameter", "diagnosticDataCollectionEnabled=false"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("it starts");
        let started = Self { process, port, _folder: folder };
        started.until("mongod starts", |_| true).await;
        started
    }

    fn uri(&self, options: &str) -> String {
        format!("mongodb://127.0.0.1:{}/?{options}", self.port)
    }

    async fn admin(&self) -> Database {
        let options = "directConnection=true&serverSelectionTimeoutMS=500&connectTimeoutMS=500";
        Client::with_uri_str(self.uri(options)).await.expect("a client").database("admin")
    }

    /// Waits until it says this of itself.
    async fn until(&self, what: &str, says: impl Fn(&Document) -> bool) {
        let admin = self.admin().await;
        let holds =
            async || admin.run_command(doc! { "hello": 1 }).await.is_ok_and(|hello| says(&hello));
        until(what, holds).await;
    }

    /// Runs a command of docgate on it: what it says when it fails.
    fn refuses(&self, arguments: &[&str], options: &str) -> String {
        let mut command = on(&fresh_name(), arguments);
        command.env("DOCGATE_MONGODB_URI", self.uri(options));
        let (code, _, said) = done(command);
        assert_eq!(code, 3, "{said}");
        said
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mongod_without_its_replica_set_is_told_plainly() {
    let mongod = Mongod::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let backup = folder.path().join("export").display().to_string();
    let (in_set, direct) = ("replicaSet=alone", "directConnection=true");
    for (arguments, options) in [
        (&["serve", "--wait", "5"][..], "replicaSet=alone&serverSelectionTimeoutMS=5000"),
        (&["check"], direct),
        (&["check"], in_set),
        (&["migrate"], in_set),
        (&["indexes", "apply"], in_set),
        (&["export", &backup], in_set),
    ] {
        let said = mongod.refuses(arguments, options);
        assert!(said.contains("MongoDB answers, but not as a member of a replica set"), "{said}");
        assert!(said.contains("`rs.initiate()`"), "{said}");
        assert!(!said.contains("RsGhost") && !said.contains("13436"), "{said}");
        // A command doesn't wait for what only its user can do.
        let waits = arguments[0] == "serve";
        assert_eq!(said.contains("no primary within"), waits, "{arguments:?} {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mongod_without_sets_is_refused_before_anything_is_served() {
    let mongod = Mongod::start_with(&[]).await;
    for options in ["connectTimeoutMS=5000", "directConnection=true"] {
        let said = mongod.refuses(&["serve"], options);
        assert!(said.contains("isn't in a replica set") && said.contains("--replSet"), "{said}");
        assert!(!said.contains("serving on"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_never_answers_doesnt_hide_that_there_is_no_primary() {
    let mongod = Mongod::start().await;
    let admin = mongod.admin().await;
    let me = doc! { "_id": 0, "host": format!("127.0.0.1:{}", mongod.port) };
    let settings = doc! { "electionTimeoutMillis": 1_000, "heartbeatIntervalMillis": 200 };
    let mut set = doc! { "_id": "alone", "members": [&me], "settings": settings };
    admin.run_command(doc! { "replSetInitiate": &set }).await.expect("a set");
    let is = |key: &'static str| move |hello: &Document| hello.get_bool(key).unwrap_or(false);
    mongod.until("it is the primary", is("isWritablePrimary")).await;
    // With a second member that isn't there it sees no majority, and steps down.
    set.insert("members", vec![me, doc! { "_id": 1, "host": "127.0.0.1:1" }]);
    set.insert("version", 100);
    let reconfigure = doc! { "replSetReconfig": set, "force": true };
    admin.run_command(reconfigure).await.expect("another set");
    mongod.until("it steps down", is("secondary")).await;

    // In this time both members are tried, also on a busy machine.
    let options = "replicaSet=alone&serverSelectionTimeoutMS=5000";
    let said = mongod.refuses(&["serve", "--wait", "1"], options);
    let told =
        format!("MongoDB has no primary: 127.0.0.1:{} (secondary); 127.0.0.1:1 (", mongod.port);
    assert!(said.contains(&told), "{said}");
    let said =
        mongod.refuses(&["serve", "--wait", "1"], "replicaSet=other&serverSelectionTimeoutMS=5000");
    assert!(said.contains("no server is a member of the replica set `other`"), "{said}");
}
