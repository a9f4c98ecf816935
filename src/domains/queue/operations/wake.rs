//! Notifies waiting workers of available jobs. The change hub tells of jobs that were added. A slow poll finds those
//! that became available because time has passed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::Stream;
use tokio::sync::watch;

use super::{
    super::{JobDocument, store, types::JobsAvailable},
    check_queue, promote,
};
use crate::{
    graphql::{prelude::*, subscription::Progress},
    mongo::watch::Changes,
};

/// Time after which a queue is looked at without a message: a delay or a lease may have ended, of which the change
/// stream doesn't tell.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// A subscription to the jobs of a queue that become READY.
pub(super) fn changes(app: &App, queue: &str) -> Changes {
    app.hub().watch_topic::<JobDocument>("ready.queue", queue)
}

/// What is known of a queue.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Whether it has jobs to claim.
    is_ready: bool,
    /// How often such jobs have become available.
    news: u64,
}

/// The queues that have subscribers in this gateway. Each is watched by one task, however many subscribers it has.
#[derive(Default)]
struct Watched(Mutex<HashMap<String, Arc<watch::Sender<Seen>>>>);

impl Watched {
    /// Subscribes to a queue, which is watched from then on.
    fn subscribe(app: &App, queue: &str) -> watch::Receiver<Seen> {
        let watched = app.shared::<Self>();
        let mut all = watched.all();
        if let Some(seen) = all.get(queue) {
            return seen.subscribe();
        }
        let (seen, receiver) = watch::channel(Seen::default());
        let seen = Arc::new(seen);
        all.insert(queue.to_owned(), Arc::clone(&seen));
        drop(all);
        tokio::spawn(watched.watch(app.clone(), queue.to_owned(), seen));
        receiver
    }

    /// Looks at a queue at each message and each [`POLL`], until it has no subscribers.
    async fn watch(self: Arc<Self>, app: App, queue: String, seen: Arc<watch::Sender<Seen>>) {
        let mut changes = changes(&app, &queue);
        while self.is_wanted(&queue, &seen) {
            let new = changes.take();
            match has_ready(&app, &queue).await {
                Ok(is_ready) => {
                    seen.send_if_modified(|known| {
                        let has_news = new.count > 0 || new.is_reset || !known.is_ready;
                        let is_changed = if is_ready { has_news } else { known.is_ready };
                        known.news += u64::from(is_ready && has_news);
                        known.is_ready = is_ready;
                        is_changed
                    });
                }
                Err(error) => {
                    tracing::warn!(event = "queue_unread", queue, %error, "a queue couldn't be read");
                }
            }
            tokio::select! {
                is_open = changes.changed() => if !is_open {
                    self.all().remove(&queue);
                    return;
                },
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Whether the queue has subscribers. If not, it is forgotten.
    fn is_wanted(&self, queue: &str, seen: &watch::Sender<Seen>) -> bool {
        let mut all = self.all();
        let is_wanted = seen.receiver_count() > 0;
        if !is_wanted {
            all.remove(queue);
        }
        is_wanted
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<watch::Sender<Seen>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells that a queue has jobs to claim. While MongoDB can't be read, it tells nothing.
///
/// # Errors
/// `BadInput` that names the argument.
pub fn job_available(
    cx: Cx<'_>,
    queue: String,
    progress: Arc<Progress>,
) -> Result<impl Stream<Item = async_graphql::Result<JobsAvailable>> + use<>> {
    check_queue("queue", &queue)?;
    let mut seen = Watched::subscribe(cx.app, &queue);
    Ok(async_stream::stream! {
        let mut told = 0;
        loop {
            let Seen { is_ready, news } = *seen.borrow_and_update();
            if is_ready && news > told {
                told = news;
                yield Ok(JobsAvailable { queue: queue.clone() });
            }
            progress.wait();
            if seen.changed().await.is_err() {
                return;
            }
        }
    })
}

async fn has_ready(app: &App, queue: &str) -> Result<bool> {
    promote(app, queue).await?;
    store::has_ready(app, queue).await
}
