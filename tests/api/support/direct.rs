//! What a test asks of the gateway's library directly, without HTTP. With short bounds, a command on a busy machine may
//! run out of time: what can be repeated is repeated.

use std::time::{Duration, Instant};

use docgate::{
    background,
    domains::{self, Room},
    error::Error,
    flow::Attempt,
    invariants::{Progress, Report},
};

use super::{Gateway, PATIENCE, until};

/// Longest pause between two passes. With longer bounds hardly anything runs out of time.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// What `call` returns in the end. It is repeated as long as it runs out of time, for two minutes.
pub async fn in_time<T>(call: impl AsyncFn() -> Result<T, Error>) -> T {
    repeated(Duration::from_millis(100), call).await
}

/// The same with a pause before each repeat.
async fn repeated<T>(pause: Duration, call: impl AsyncFn() -> Result<T, Error>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match call().await {
            Ok(value) => return value,
            Err(error) if error.is_retryable() && Instant::now() < end => {}
            Err(error) => panic!("{error:?}"),
        }
        tokio::time::sleep(pause).await;
    }
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
        repeated(self.pause(), async || background::sweep_all(&self.sweeper).await).await
    }

    /// Runs the sweep of a room once. Returns how many flows it finished.
    pub async fn sweep_room(&self, room: &Room) -> u64 {
        repeated(self.pause(), async || background::sweep_room(&self.sweeper, room).await).await
    }

    /// How long the next pass of a sweep waits after one that ran out of time. What that one has claimed or changed is left
    /// alone for as long, so that a pass at once would find nothing to do.
    pub(super) fn pause(&self) -> Duration {
        self.sweeper.bounds().two_grace_periods().min(LONGEST_PAUSE)
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
