//! The fail point of the server, by which it fails commands of a test.

use mongodb::{
    Database,
    bson::{Document, doc},
};
use tokio::sync::{Mutex, MutexGuard};

use super::Gateway;

/// A test's turn at the fail point. A server has one, so tests that use it go one after the other.
pub struct Turn {
    _lock: MutexGuard<'static, ()>,
}

impl Turn {
    /// Waits for the turn. The tests before may take seconds, in which a gateway closes a socket that nobody reads: a test
    /// that holds a socket takes its turn before it opens the socket.
    pub async fn take() -> Self {
        static ONE: Mutex<()> = Mutex::const_new(());
        Self { _lock: ONE.lock().await }
    }
}

/// A fail point that is on.
pub struct FailPoint {
    admin: Database,
    turn: Turn,
}

impl FailPoint {
    /// Lets the server of a database fail the commands that `data` selects, by `appName` or `namespace`.
    pub async fn on(database: &Database, mode: Document, data: Document) -> Self {
        Self::on_in(Turn::take().await, database, mode, data).await
    }

    /// The same in a turn that was taken before.
    async fn on_in(turn: Turn, database: &Database, mode: Document, data: Document) -> Self {
        let admin = database.client().database("admin");
        let set = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
        admin.run_command(set).await.expect("the fail point is set");
        Self { admin, turn }
    }

    /// Off again. The turn goes on as long as the caller holds it.
    pub async fn off(self) -> Turn {
        let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
        self.admin.run_command(off).await.expect("the fail point is off");
        self.turn
    }
}

impl Gateway {
    /// Lets the server fail commands of this gateway as `data` says (the `data` of `failCommand`
    /// without `appName`) until [`FailPoint::off`].
    pub async fn fail_point(&self, mode: Document, data: Document) -> FailPoint {
        self.fail_point_in(Turn::take().await, mode, data).await
    }

    /// The same in a turn that was taken before.
    pub async fn fail_point_in(&self, turn: Turn, mode: Document, mut data: Document) -> FailPoint {
        data.insert("appName", &self.app_name);
        FailPoint::on_in(turn, &self.database, mode, data).await
    }
}
