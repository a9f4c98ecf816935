//! Makes a mongod that has just been started the primary of a replica set of one.

use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::options::{ClientOptions, ServerAddress};
use mongodb::{Client, Database};
use std::time::Duration;

/// The name of the replica set.
pub(super) const NAME: &str = "docgate";

/// The server's code for "this node has no replica set configuration yet".
const NOT_YET_INITIALIZED: i32 = 94;

/// The only member, spoken to directly: until it has a configuration it belongs to no set.
pub(super) struct Member {
    admin: Database,
    host: String,
    pid: u32,
    /// Whether `pid` is who answers on the port.
    known: bool,
}

impl Member {
    /// No connection is made yet. `pid` is the process that is expected to listen on `port`.
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

    /// One step towards being primary; true once it is. Every error is worth another try: the
    /// node may be in the middle of its start.
    pub(super) async fn advance(&mut self) -> Result<bool, Error> {
        // Were the port taken by another mongod, we'd configure a stranger while ours gives up.
        if !self.known {
            let status = self.admin.run_command(doc! { "serverStatus": 1 }).await?;
            self.known = whole_number(status.get("pid")) == Some(i64::from(self.pid));
            return Ok(false);
        }
        let hello = self.admin.run_command(doc! { "hello": 1 }).await?;
        if hello.get_bool("isWritablePrimary").is_ok_and(|yes| yes) {
            return Ok(hello.get_str("me").is_ok_and(|me| me == self.host));
        }
        // A node outside any set: never initiated, or its data were last used on another port
        // and it doesn't find itself among the members.
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
            // A lone member waits this long before it elects itself, also after a restart.
            "settings": { "electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200 },
        };
        self.admin.run_command(doc! { "replSetInitiate": configuration }).await?;
        Ok(())
    }

    /// Gives the member its new address. By force, as there is no primary to ask.
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
