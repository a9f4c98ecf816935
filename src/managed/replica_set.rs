//! Makes a newly started mongod the primary of a replica set with one member.

use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::options::{ClientOptions, ServerAddress};
use mongodb::{Client, Database};
use std::time::Duration;

/// Name of the replica set.
pub(super) const NAME: &str = "docgate";

/// The server's error code for a node without a replica set configuration.
const NOT_YET_INITIALIZED: i32 = 94;

/// The only member. The connection is direct, because the member belongs to no set before it has a
/// configuration.
pub(super) struct Member {
    admin: Database,
    host: String,
    pid: u32,
    /// Whether `pid` has been confirmed as the process behind the port.
    known: bool,
}

impl Member {
    /// Doesn't connect yet. `pid` is the process that is expected to listen on `port`.
    pub(super) fn new(port: u16, pid: u32) -> Result<Self, Error> {
        let options = ClientOptions::builder()
            .hosts(vec![ServerAddress::Tcp { host: "127.0.0.1".to_owned(), port: Some(port) }])
            .direct_connection(true)
            .app_name("docgate-managed".to_owned())
            .server_selection_timeout(Duration::from_secs(1))
            .build();
        let admin = Client::with_options(options)?.database("admin");
        Ok(Self { admin, host: format!("127.0.0.1:{port}"), pid, known: false })
    }

    /// Takes one step towards becoming primary; returns true once it is. Every error may be retried, because
    /// the node may still be starting.
    pub(super) async fn advance(&mut self) -> Result<bool, Error> {
        // If another mongod has taken the port, it must not be configured while ours fails to start.
        if !self.known {
            let status = self.admin.run_command(doc! { "serverStatus": 1 }).await?;
            self.known = whole_number(status.get("pid")) == Some(i64::from(self.pid));
            return Ok(false);
        }
        let hello = self.admin.run_command(doc! { "hello": 1 }).await?;
        if hello.get_bool("isWritablePrimary").is_ok_and(|yes| yes) {
            return Ok(hello.get_str("me").is_ok_and(|me| me == self.host));
        }
        // The node isn't in a set: it was never initiated, or its data were last used on another port, so
        // that it doesn't find itself among the members.
        if hello.get_bool("isreplicaset").is_ok_and(|yes| yes) {
            match self.configuration().await? {
                None => self.initiate().await?,
                Some(configuration) => self.move_here(configuration).await?,
            }
        }
        Ok(false)
    }

    async fn configuration(&self) -> Result<Option<Document>, Error> {
        match self.admin.run_command(doc! { "replSetGetConfig": 1 }).await {
            Ok(mut answer) => match answer.remove("config") {
                Some(Bson::Document(configuration)) => Ok(Some(configuration)),
                _ => Err(Error::custom("replSetGetConfig answered without a configuration")),
            },
            Err(error) => match error.kind.as_ref() {
                ErrorKind::Command(command) if command.code == NOT_YET_INITIALIZED => Ok(None),
                _ => Err(error),
            },
        }
    }

    async fn initiate(&self) -> Result<(), Error> {
        let configuration = doc! {
            "_id": NAME,
            "members": [{ "_id": 0, "host": &self.host }],
            // A single member waits this long before it elects itself, also after a restart.
            "settings": { "electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200 },
        };
        self.admin.run_command(doc! { "replSetInitiate": configuration }).await?;
        Ok(())
    }

    /// Gives the member its new address. It is forced, because there is no primary.
    async fn move_here(&self, mut configuration: Document) -> Result<(), Error> {
        configuration.insert("members", vec![doc! { "_id": 0, "host": &self.host }]);
        let version = whole_number(configuration.get("version")).unwrap_or_default();
        configuration.insert("version", version + 1);
        let command = doc! { "replSetReconfig": configuration, "force": true };
        self.admin.run_command(command).await?;
        Ok(())
    }
}

fn whole_number(value: Option<&Bson>) -> Option<i64> {
    match value? {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        _ => None,
    }
}
