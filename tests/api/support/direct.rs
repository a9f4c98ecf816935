//! What a test asks of the gateway's library directly, without HTTP. With short bounds, a command on a busy machine may
//! run out of time: what can be repeated is repeated.

use std::time::Duration;

use docgate::{
    background,
    domains::{self, Room},
    error::Error,
    flow::Attempt,
    invariants::{Progress, Report},
};

use super::{Gateway, until};

/// How often a call that ran out of time is repeated.
const REPEATS: usize = 20;

/// What `call` returns in the end. It is repeated as long as it runs out of time.
pub async fn in_time<T>(call: impl AsyncFn() -> Result<T, Error>) -> T {
    for _ in 0..REPEATS {
        match call().await {
            Ok(value) => return value,
            Err(error) if error.is_retryable() => {}
            Err(error) => panic!("{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    call().await.expect("an answer in time")
}

/// Waits until what goes on behind the answers of a gateway has ended.
///
/// # Panics
/// It doesn't end within two minutes.
pub async fn settled(gateway: &Gateway) {
    let tasks = gateway.app.tasks();
    until("what goes on behind the answers ends", async || {
        // Who waits beside this one opens it again.
        tasks.close();
        tokio::time::timeout(Duration::from_millis(100), tasks.wait()).await.is_ok()
    })
    .await;
    tasks.reopen();
}

impl Gateway {
    /// What `docgate check` reports.
    pub async fn check(&self) -> Report {
        in_time(async || domains::check(&self.app, Progress::default()).await).await
    }

    /// What `docgate check --repair` repaired.
    pub async fn repair(&self) -> Vec<String> {
        in_time(async || domains::repair(&self.app, Progress::default()).await).await
    }

    /// An attempt of a flow.
    pub async fn begin(&self) -> Attempt {
        in_time(async || self.app.begin().await).await
    }

    /// Runs the sweeps of all rooms once. Returns how many flows they finished.
    pub async fn sweep_all(&self) -> u64 {
        in_time(async || background::sweep_all(&self.sweeper).await).await
    }

    /// Runs the sweep of a room once. Returns how many flows it finished.
    pub async fn sweep_room(&self, room: &Room) -> u64 {
        in_time(async || background::sweep_room(&self.sweeper, room).await).await
    }

    /// Runs the sweep of a room until nothing is left to finish.
    pub async fn sweep_whole_room(&self, room: &Room) {
        for _ in 0..20 {
            if self.sweep_room(room).await == 0 {
                return;
            }
        }
        panic!("the sweep never comes to an end");
    }
}
