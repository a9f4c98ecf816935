//! Sweep of topics: creates missing rings, and drops those that belong to no topic.

use super::{operations::finish, store};
use crate::{app::App, flow::Sweep};

pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    // A topic is listed before its ring is created. So a ring that is found before the list is read, and isn't in the
    // list, has no topic any more.
    let found = store::rings(app).await;
    let listed = store::list(app).await;
    // The error of the list is noted with its items.
    if let Ok(listed) = &listed {
        let is_listed = |ring: &String| listed.iter().any(|topic| topic.ring == *ring);
        let unlisted = found.map(|found| {
            let rings = found.into_iter().map(|(ring, _)| ring);
            rings.filter(|ring| !is_listed(ring)).collect::<Vec<_>>()
        });
        let remove =
            |ring: String| async move { store::drop_ring(app, &ring).await.map(|()| true) };
        sweep.each(unlisted, String::clone, remove).await;
    }
    let unready = listed.map(|all| all.into_iter().filter(|topic| !topic.is_ready).collect());
    sweep
        .each(
            unready,
            |topic| topic.name.clone(),
            async |topic| finish(app, &topic).await.map(|()| true),
        )
        .await;
}
