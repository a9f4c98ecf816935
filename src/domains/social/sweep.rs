//! Sweep of people, posts and feeds.

use super::{
    documents::{PostDocument, VoteDocument},
    operations::{begin_delivery, bring_up_to_date, count_vote},
    store::posts::{forget, posts, votes},
};
use crate::{app::App, flow::Sweep};

/// Maximum number of documents of each kind per pass.
const LIMIT: i64 = 200;

/// Counts votes that weren't counted, brings copies up to date, begins deliveries that were cut, and removes what is left
/// of deleted posts. The jobs of a delivery carry it on by themselves, so beginning it again adds nothing to one that is
/// under way.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let uncounted = votes(app).list_older(("due", "due"), before, LIMIT).await;
    let name = |vote: &VoteDocument| format!("vote {}", vote.id);
    sweep
        .each(uncounted, name, |vote| async move { count_vote(app, &vote).await.map(|()| true) })
        .await;

    let name = |post: &PostDocument| format!("post {}", post.id);
    let behind = posts(app).list_older(("due", "due"), before, LIMIT).await;
    sweep
        .each(
            behind,
            name,
            |post| async move { bring_up_to_date(app, &post.id).await.map(|()| true) },
        )
        .await;

    let cut = posts(app).list_older(("delivering", "delivering"), before, LIMIT).await;
    // The jobs end it.
    let begin =
        |post: PostDocument| async move { begin_delivery(app, &post.id).await.map(|()| false) };
    sweep.each(cut, name, begin).await;

    let expired = sweep.ops_expired_before().min(before);
    let deleted = posts(app).list_older(("deletedAt", "deleted"), expired, LIMIT).await;
    sweep.each(deleted, name, |post| async move { forget(app, &post.id).await }).await;
}
