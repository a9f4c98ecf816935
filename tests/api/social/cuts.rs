//! Every mutation, cut at each of its commands in each way; and the jobs.

use std::collections::BTreeSet;

use docgate::domains::queue::JobDocument;
use futures_util::future::join_all;
use mongodb::bson::{Document, deserialize_from_document, doc};
use serde_json::{Value, json};

use super::{
    BLOCK, CIRCLE, COMMENT, CREATE_POST, CREATE_USER, DELETE_POST, EDIT_POST, POST, UNCIRCLE, VOTE,
    circle, deliver, news, people, posted, posted_with,
};
use crate::support::{
    Gateway,
    cuts::{self, Case},
    short_bounds,
};

/// Sends a mutation whose answer may get lost.
async fn sent(gateway: &Gateway, by: &str, mutation: &str, input: Value) {
    gateway.shopper(by).send(mutation, json!({ "input": input })).await.ok();
}

/// Two users of a case.
async fn pair(gateway: &Gateway, n: usize) -> (String, String) {
    let (one, other) = (format!("one-{n}"), format!("other-{n}"));
    people(gateway, &[&one, &other]).await;
    (one, other)
}

/// A post of a case, which was delivered to a follower: author, follower and post.
async fn post_of(gateway: &Gateway, n: usize) -> (String, String, String) {
    let (by, reader) = pair(gateway, n).await;
    circle(gateway, &reader, &by, "a").await;
    let poll = json!({ "poll": { "choices": ["a", "b"] } });
    let input = json!({ "audience": "PUBLIC", "text": "old", "detail": poll });
    let id = posted_with(gateway, &by, input).await;
    (by, reader, id)
}

async fn done(gateway: &Gateway) {
    gateway.sweep().await;
    deliver(gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn circles_survive_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| pair(gateway, n).await,
        async |gateway, (one, other)| {
            for name in ["a", "b"] {
                sent(gateway, one, CIRCLE, json!({ "userId": other, "circle": name })).await;
            }
            for name in ["a", "b"] {
                sent(gateway, one, UNCIRCLE, json!({ "userId": other, "circle": name })).await;
            }
            sent(gateway, one, CIRCLE, json!({ "userId": other, "circle": "c" })).await;
            sent(gateway, one, BLOCK, json!({ "userId": other })).await;
        },
        async |gateway, Case { at, way, subject: (one, other) }| {
            let query = "query { following { nodes { userId circles user { isBlocked } } } }";
            let found = gateway.shopper(one).field(query, json!({})).await;
            let expected =
                json!([{ "userId": other, "circles": ["c"], "user": { "isBlocked": true } }]);
            assert_eq!(found["nodes"], expected, "command {at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_a_user_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |_, n| format!("someone-{n}"),
        async |gateway, who| sent(gateway, who, CREATE_USER, json!({ "name": "Someone" })).await,
        async |gateway, Case { subject, .. }| {
            let found = gateway.shopper(subject).field("{ user { name } }", json!({})).await;
            assert_eq!(found["name"], "Someone");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_is_cut_anywhere_is_delivered_once() {
    cuts::everywhere_then(
        short_bounds,
        async |gateway, n| {
            let (by, reader) = pair(gateway, n).await;
            circle(gateway, &reader, &by, "a").await;
            (by, reader)
        },
        async |gateway, (by, _)| {
            let input = json!({ "audience": "PUBLIC", "text": "once", "idempotencyKey": "op" });
            sent(gateway, by, CREATE_POST, input).await;
        },
        async |_, _| {},
        async |gateway| {
            done(gateway).await;
            let mut stored = gateway.snapshot().await;
            let posts = stored.remove("posts").unwrap_or_default();
            let authors: BTreeSet<_> = posts.iter().map(author).collect();
            assert_eq!(authors.len(), posts.len(), "one post of each author");
            let pages = stored.remove("feedPages").unwrap_or_default();
            let copies = pages.iter().map(|page| page.get_array("posts").expect("copies").len());
            assert_eq!(copies.sum::<usize>(), 2 * posts.len(), "on the wall and in the news");
        },
    )
    .await;
}

/// The author of a stored post.
fn author(post: &Document) -> String {
    let shown = post.get_document("shown").expect("its contents");
    shown.get_str("by").expect("an author").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_is_in_the_news_after_any_cut() {
    let gateway = Gateway::with(short_bounds).await;
    let (by, reader) = pair(&gateway, 0).await;
    circle(&gateway, &reader, &by, "a").await;
    // The call ended between the post and its job.
    posted(&gateway, &by, "once").await;
    gateway.raw("jobs").delete_many(doc! {}).await.expect("removed");
    deliver(&gateway).await;
    assert!(news(&gateway.shopper(&reader)).await.is_empty());
    done(&gateway).await;
    assert_eq!(news(&gateway.shopper(&reader)).await, ["once"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_post_survive_a_cut_at_every_command() {
    cuts::everywhere_then(
        short_bounds,
        async |gateway, n| post_of(gateway, n).await,
        async |gateway, (by, reader, id)| {
            let input = json!({ "postId": id, "version": "0", "text": "new" });
            sent(gateway, by, EDIT_POST, input).await;
            let input = json!({ "postId": id, "text": "comment", "idempotencyKey": "op" });
            sent(gateway, reader, COMMENT, input).await;
            sent(gateway, reader, VOTE, json!({ "postId": id, "choice": 1 })).await;
        },
        async |gateway, Case { at, way, subject: (_, reader, id) }| {
            let post = gateway.shopper(reader).field(POST, json!({ "id": id })).await;
            let detail = json!({ "choices": [{ "votes": 0 }, { "votes": 1 }], "myChoice": 1 });
            let expected = json!({ "id": id, "text": "new", "commentCount": 1, "detail": detail });
            assert_eq!(post, expected, "command {at} {way:?}");
        },
        done,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_survives_a_cut_at_every_command() {
    cuts::everywhere_then(
        short_bounds,
        async |gateway, n| post_of(gateway, n).await,
        async |gateway, (by, _, id)| sent(gateway, by, DELETE_POST, json!({ "postId": id })).await,
        async |gateway, Case { subject: (_, reader, id), .. }| {
            let found = gateway.shopper(reader).run(POST, json!({ "id": id })).await;
            assert_eq!(found["data"]["post"], Value::Null);
        },
        async |gateway| {
            done(gateway).await;
            let pages = gateway.snapshot().await.remove("feedPages").unwrap_or_default();
            let copies: usize =
                pages.iter().map(|page| page.get_array("posts").expect("copies").len()).sum();
            // Only those of the cases that aren't deleted yet.
            let posts = gateway.snapshot().await.remove("posts").unwrap_or_default();
            let live = posts.iter().filter(|post| !post.contains_key("deletedAt")).count();
            assert_eq!(copies, 2 * live);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_survives_a_cut_at_every_command() {
    cuts::everywhere_apart(
        short_bounds,
        async |gateway, n| {
            // What earlier cases have left is done first.
            deliver(gateway).await;
            let (by, reader) = pair(gateway, n).await;
            circle(gateway, &reader, &by, "a").await;
            posted(gateway, &by, "once").await;
            (by, reader)
        },
        async |gateway, (by, _)| {
            // The work of the job, without the queue around it.
            let work = docgate::domains::work(gateway.app.config());
            let own = work.iter().find(|work| work.queue == "docgate.posts").expect("the queue");
            let jobs: Vec<_> = jobs_of(gateway, by).await;
            let run = jobs.into_iter().map(|job| (own.handler)(gateway.app.clone(), job));
            let _cut = join_all(run).await;
        },
        async |gateway, Case { at, way, subject: (_, reader) }| {
            assert_eq!(news(&gateway.shopper(reader)).await, ["once"], "command {at} {way:?}");
        },
        done,
    )
    .await;
}

/// The jobs of a user's posts, as a worker gets them.
pub(super) async fn jobs_of(gateway: &Gateway, by: &str) -> Vec<JobDocument> {
    let mut stored = gateway.snapshot().await;
    let posts = stored.remove("posts").unwrap_or_default();
    let is_own = |post: &&Document| author(post) == by;
    let ids: Vec<_> =
        posts.iter().filter(is_own).map(|post| post.get_str("_id").expect("an id")).collect();
    let jobs = stored.remove("jobs").unwrap_or_default().into_iter();
    jobs.map(|job| deserialize_from_document(job).expect("a job"))
        .filter(|job: &JobDocument| ids.iter().any(|id| job.payload.contains(id)))
        .collect()
}
