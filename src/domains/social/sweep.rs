//! The sweep of people, posts and feeds. It counts votes that weren't counted, brings copies up to date, and begins
//! interrupted deliveries and markings again. It decides about marks, and removes what is left of deleted posts.

use super::{
    documents::{EdgeDocument, PostDocument, UserDocument, VoteDocument},
    operations::{
        add_marking, begin_delivery, begin_marking, bring_up_to_date, count_vote, decide_mark,
    },
    store::{
        edges,
        posts::{forget, posts, votes},
        users,
    },
};
use crate::{app::App, flow::Sweep};

/// Number of documents of one kind that one command reads.
const LIMIT: i64 = 200;

/// Counts votes that weren't counted, brings copies up to date, begins deliveries and markings that were cut, decides about
/// marks, and removes what is left of deleted posts. The jobs of a delivery carry it on by themselves, so beginning it again
/// adds nothing to one that is under way.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let uncounted = |from, limit| votes(app).list_between(("due", "due"), from, before, limit);
    let count = |vote: VoteDocument| async move { count_vote(app, &vote).await.map(|()| true) };
    sweep.each_page("votes", LIMIT, uncounted, count).await;

    let behind = |from, limit| posts(app).list_between(("due", "due"), from, before, limit);
    let update =
        |post: PostDocument| async move { bring_up_to_date(app, &post.id).await.map(|()| true) };
    sweep.each_page("copies", LIMIT, behind, update).await;

    // Jobs end deliveries and markings. Until then these stay at the front of their lists.
    let cut =
        |from, limit| posts(app).list_between(("delivering", "delivering"), from, before, limit);
    let begin =
        |post: PostDocument| async move { begin_delivery(app, &post.id).await.map(|()| false) };
    sweep.each_page("deliveries", LIMIT, cut, begin).await;

    let undecided = |from, limit| edges(app).list_between(("due", "due"), from, before, limit);
    let decide = |edge: EdgeDocument| async move { decide_mark(app, &edge).await.map(|()| true) };
    sweep.each_page("marks", LIMIT, undecided, decide).await;
    let unmarked =
        |from, limit| users(app).list_between(("celebrityAt", "celebrities"), from, before, limit);
    let begin =
        |user: UserDocument| async move { begin_marking(app, &user.id).await.map(|()| false) };
    sweep.each_page("users without marks", LIMIT, unmarked, begin).await;
    let cut = |from, limit| users(app).list_between(("marking", "marking"), from, before, limit);
    let add = |user: UserDocument| async move { add_marking(app, &user).await.map(|()| false) };
    sweep.each_page("markings", LIMIT, cut, add).await;

    let expired = sweep.ops_expired_before().min(before);
    let deleted =
        |from, limit| posts(app).list_between(("deletedAt", "deleted"), from, expired, limit);
    let forget = |post: PostDocument| async move { forget(app, &post.id).await };
    sweep.each_page("deleted posts", LIMIT, deleted, forget).await;
}
