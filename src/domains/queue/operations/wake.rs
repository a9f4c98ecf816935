//! Tells waiting workers of jobs that become available: by the change hub, with a slow poll behind it.

use std::{sync::Arc, time::Duration};

use futures_util::Stream;

use super::{
    super::{JobDocument, store, types::JobsAvailable},
    check_queue, promote,
};
use crate::{
    app::App,
    error::Error,
    graphql::{cx::Cx, subscription::Progress},
    mongo::{Stored, watch::Changes},
};

/// Time after which a queue is looked at without a message: a delay or a lease may have ended, of which the change
/// stream doesn't tell.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// A subscription to the jobs of a queue that become READY.
pub(super) fn changes(app: &App, queue: &str) -> Changes {
    app.hub().watch_topic(JobDocument::COLLECTION, "ready.queue", queue)
}

/// Tells that a queue has jobs to claim.
///
/// # Errors
/// `BadInput` that names the argument.
pub fn job_available(
    cx: Cx<'_>,
    queue: String,
    progress: Arc<Progress>,
) -> Result<impl Stream<Item = async_graphql::Result<JobsAvailable>> + use<>, Error> {
    check_queue("queue", &queue)?;
    let app = cx.app.clone();
    Ok(async_stream::stream! {
        let mut changes = changes(&app, &queue);
        let mut is_told = false;
        loop {
            let new = changes.take();
            match has_ready(&app, &queue).await {
                // Without a message, one answer is enough as long as there are jobs.
                Ok(true) if !is_told || new.count > 0 || new.is_reset => {
                    is_told = true;
                    yield Ok(JobsAvailable { queue: queue.clone() });
                }
                Ok(is_ready) => is_told = is_told && is_ready,
                Err(error) => {
                    yield Err(error.into());
                    return;
                }
            }
            progress.wait();
            tokio::select! {
                is_open = changes.changed() => if !is_open { return },
                () = tokio::time::sleep(POLL) => {}
            }
        }
    })
}

async fn has_ready(app: &App, queue: &str) -> Result<bool, Error> {
    promote(app, queue).await?;
    store::has_ready(app, queue).await
}
