//! A mongod of which no replica set was made.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use docgate::managed;
use mongodb::{Client, bson::doc};

use super::{done, on};
use crate::support::fresh_name;

/// How long a mongod may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A mongod that is killed with the test.
struct Mongod(Child);

impl Drop for Mongod {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mongod_without_its_replica_set_is_told_plainly() {
    let binary = managed::find_or_provide(|_| {}).await.expect("a mongod");
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let mut command = Command::new(binary);
    command.arg("--dbpath").arg(folder.path()).args(["--port", &port.to_string()]);
    command.args(["--replSet", "alone", "--bind_ip", "127.0.0.1", "--nounixsocket", "--quiet"]);
    command.args(["--wiredTigerCacheSizeGB", "0.25"]);
    command.args(["--setParameter", "diagnosticDataCollectionEnabled=false"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _mongod = Mongod(command.spawn().expect("it starts"));
    let uri = |options: &str| format!("mongodb://127.0.0.1:{port}/?{options}");
    let direct = uri("directConnection=true&serverSelectionTimeoutMS=500&connectTimeoutMS=500");
    let admin = Client::with_uri_str(direct).await.expect("a client").database("admin");
    let since = Instant::now();
    while admin.run_command(doc! { "hello": 1 }).await.is_err() {
        assert!(since.elapsed() < PATIENCE, "mongod doesn't start");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (arguments, option) in [
        (&["serve", "--wait", "2"][..], "replicaSet=alone&serverSelectionTimeoutMS=2000"),
        (&["check"], "directConnection=true"),
    ] {
        let mut command = on(&fresh_name(), arguments);
        command.env("DOCGATE_MONGODB_URI", uri(option));
        let (code, _, said) = done(command);
        assert_eq!(code, 3, "{said}");
        assert!(said.contains("MongoDB answers, but not as a member of a replica set"), "{said}");
        assert!(said.contains("`rs.initiate()`"), "{said}");
        assert!(!said.contains("RsGhost") && !said.contains("13436"), "{said}");
    }
}
