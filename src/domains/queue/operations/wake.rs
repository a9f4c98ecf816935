//! Notifies waiting workers of available jobs. The change hub tells of jobs that were added. A slow poll finds those
//! that became available because time has passed.

use std::{sync::Arc, time::Duration};

use futures_util::Stream;

use super::{
    super::{JobDocument, store, types::JobsAvailable},
    check_queue, promote,
};
use crate::{
    graphql::{
        prelude::*,
        subscription::Progress,
        watched::{Watched, Watching},
    },
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

/// Looks at a queue at each message and each [`POLL`].
async fn watch_queue(app: App, watching: Watching<String, Seen>) {
    let queue = watching.key();
    let mut changes = changes(&app, queue);
    loop {
        let new = changes.take();
        match has_ready(&app, queue).await {
            Ok(is_ready) => watching.update(|known| {
                let has_news = new.count > 0 || new.is_reset || !known.is_ready;
                let is_changed = if is_ready { has_news } else { known.is_ready };
                known.news += u64::from(is_ready && has_news);
                known.is_ready = is_ready;
                is_changed
            }),
            Err(error) => {
                tracing::warn!(event = "queue_unread", queue, %error, "a queue couldn't be read");
            }
        }
        if watching.wait(POLL, changes.changed()).await.is_none() {
            return;
        }
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
    let mut seen = Watched::subscribe(cx.app, queue.clone(), watch_queue);
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
