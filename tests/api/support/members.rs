//! A replica set of three members on this machine, whose primary can be killed, and whose secondaries can lag.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use docgate::managed;
use mongodb::{
    Client, Database,
    bson::{Document, doc},
};
use tempfile::TempDir;

use super::until;

/// Starts a mongod, writes its process id, and kills it when the standard input ends: with the test, whatever ends it.
const KEEP: &str =
    r#""$0" "$@" </dev/null >/dev/null 2>&1 & echo $!; cat >/dev/null; kill -9 $! 2>/dev/null"#;
/// Name of the set.
const NAME: &str = "members";
/// How long the members may take to start, or to elect a primary.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Members {
    members: Vec<Member>,
    _folder: TempDir,
}

struct Member {
    keeper: Child,
    pid: u32,
    port: u16,
}

/// Fail point of a member that applies nothing of what it fetches.
const STOP: &str = "rsSyncApplyStop";

/// A secondary that lags behind.
pub struct Lagging {
    admin: Database,
}

impl Lagging {
    /// Lets it apply what it has fetched.
    pub async fn catch_up(self) {
        let go_on = doc! { "configureFailPoint": STOP, "mode": "off" };
        self.admin.run_command(go_on).await.expect("the fail point is set");
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _reaped = self.keeper.wait();
    }
}

impl Member {
    fn start(binary: &std::path::Path, folder: &TempDir, number: usize) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let data = folder.path().join(number.to_string());
        std::fs::create_dir(&data).expect("a folder");
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEP).arg(binary).arg("--dbpath").arg(&data);
        command.args(["--quiet", "--nounixsocket", "--bind_ip", "127.0.0.1", "--port"]);
        command.arg(port.to_string()).args(["--replSet", NAME, "--oplogSize", "64"]);
        command.args(["--wiredTigerCacheSizeGB", "0.25"]);
        command.args(["--setParameter", "diagnosticDataCollectionEnabled=false"]);
        command.args(["--setParameter", "enableTestCommands=1"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("a shell");
        let mut pid = String::new();
        let output = keeper.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut pid).expect("a line");
        Self { keeper, pid: pid.trim().parse().expect("a process id"), port }
    }

    /// What the member says of itself, if it answers.
    async fn hello(&self) -> Option<Document> {
        self.admin().await.run_command(doc! { "hello": 1 }).await.ok()
    }

    async fn admin(&self) -> Database {
        let options = "directConnection=true&serverSelectionTimeoutMS=500&connectTimeoutMS=500";
        let uri = format!("mongodb://127.0.0.1:{}/?{options}", self.port);
        Client::with_uri_str(uri).await.expect("a client").database("admin")
    }

    async fn is_primary(&self) -> bool {
        let hello = self.hello().await;
        hello.is_some_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false))
    }
}

impl Members {
    /// Members that elect another primary within seconds of the death of theirs.
    pub async fn start() -> Self {
        let binary = managed::find_or_provide(|_| {}).await.expect("a mongod");
        let folder = super::data_folder();
        let members: Vec<_> = (0..3).map(|n| Member::start(&binary, &folder, n)).collect();
        for member in &members {
            until("a member starts", async || member.hello().await.is_some()).await;
        }
        let hosts = members.iter().enumerate().map(|(number, member)| {
            let number = i32::try_from(number).expect("a small number");
            doc! { "_id": number, "host": format!("127.0.0.1:{}", member.port) }
        });
        // A secondary that followed one which lags would acknowledge nothing either.
        let settings = doc! {
            "electionTimeoutMillis": 1_500, "heartbeatIntervalMillis": 300, "chainingAllowed": false,
        };
        let set = doc! { "_id": NAME, "members": hosts.collect::<Vec<_>>(), "settings": settings };
        let initiate = doc! { "replSetInitiate": set };
        members[0].admin().await.run_command(initiate).await.expect("a set");
        let started = Self { members, _folder: folder };
        started.primary().await;
        started
    }

    /// Members whose primary stays, however busy the machine is.
    pub async fn steady() -> Self {
        let members = Self::start().await;
        let admin = members.primary().await.admin().await;
        let found = admin.run_command(doc! { "replSetGetConfig": 1 }).await.expect("a set");
        let mut set = found.get_document("config").expect("one").clone();
        let version = set.get_i32("version").expect("a number");
        set.insert("version", version + 1);
        let settings = set.get_document_mut("settings").expect("some");
        settings.insert("electionTimeoutMillis", 60_000);
        admin.run_command(doc! { "replSetReconfig": set }).await.expect("another set");
        members
    }

    /// The way to all of them. On a busy machine each of them counts as near, however long its last answer took.
    pub fn uri(&self) -> String {
        let hosts = self.members.iter().map(|member| format!("127.0.0.1:{}", member.port));
        let options =
            "heartbeatFrequencyMS=500&serverSelectionTimeoutMS=3000&localThresholdMS=10000";
        format!("mongodb://{}/?replicaSet={NAME}&{options}", hosts.collect::<Vec<_>>().join(","))
    }

    /// A port that no other set has.
    pub fn port(&self) -> u16 {
        self.members[0].port
    }

    /// Waits until there is a primary.
    async fn primary(&self) -> &Member {
        let since = Instant::now();
        loop {
            for member in &self.members {
                if member.is_primary().await {
                    return member;
                }
            }
            assert!(since.elapsed() < PATIENCE, "there is no primary");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Kills the primary, and waits until there is another. Returns the moment of the kill, and how long the election took
    /// by what the other members say themselves.
    pub async fn kill_primary(&self) -> (Instant, Duration) {
        let primary = self.primary().await;
        let mut others = Vec::new();
        for member in self.members.iter().filter(|member| member.pid != primary.pid) {
            others.push(member.admin().await);
        }
        let killed = Command::new("kill").args(["-9", &primary.pid.to_string()]).status();
        assert!(killed.expect("a command").success());
        let since = Instant::now();
        loop {
            for other in &others {
                let hello = other.run_command(doc! { "hello": 1 }).await.unwrap_or_default();
                if hello.get_bool("isWritablePrimary").unwrap_or(false) {
                    return (since, since.elapsed());
                }
            }
            assert!(since.elapsed() < PATIENCE, "there is no primary");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Lets one secondary apply nothing more until [`Lagging::catch_up`]. It answers reads all the same.
    pub async fn let_one_lag(&self) -> Lagging {
        let primary = self.primary().await;
        let secondary = self.members.iter().find(|member| member.pid != primary.pid);
        let admin = secondary.expect("a secondary").admin().await;
        let stop = doc! { "configureFailPoint": STOP, "mode": "alwaysOn" };
        admin.run_command(stop).await.expect("the fail point is set");
        Lagging { admin }
    }
}
