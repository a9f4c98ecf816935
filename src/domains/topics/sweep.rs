//! Sweep of topics: creates missing rings, and drops those that belong to no topic.

use super::{operations::finish, store};
use crate::{app::App, error::Result, flow::Sweep};

pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    // A topic is listed before its ring is created. So a ring that is found before the list is read, and isn't in the
    // list, has no topic any more.
    let found = store::rings(app).await;
    let listed = store::list(app).await;
    sweep.count("rings", drop_unlisted(app, found, &listed).await);
    let unready = listed.map(|all| all.into_iter().filter(|topic| !topic.is_ready).collect());
    sweep
        .each(
            unready,
            |topic| topic.name.clone(),
            async |topic| finish(app, &topic).await.map(|()| true),
        )
        .await;
}

async fn drop_unlisted(
    app: &App,
    found: Result<Vec<(String, bool)>>,
    listed: &Result<Vec<super::documents::TopicEntry>>,
) -> Result<u64> {
    // The error of the list is noted with its items.
    let (found, Ok(listed)) = (found?, listed) else { return Ok(0) };
    let mut dropped = 0;
    for (name, _) in found {
        if listed.iter().all(|topic| topic.ring != name) {
            store::drop_ring(app, &name).await?;
            dropped += 1;
        }
    }
    Ok(dropped)
}
