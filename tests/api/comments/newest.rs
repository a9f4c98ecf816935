//! The newest comments that the discussed document carries, beside posts, removals and moves.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    COMMENTS, LAYOUTS, all, discussed, does, late::hold, migrate, posted, texts, very_long_bounds,
};
use crate::support::{Client, Gateway};

/// What tells one comment from another, in the list and among the newest alike.
fn told(comment: &Value) -> [Value; 4] {
    ["id", "text", "stars", "postedAt"].map(|field| comment[field].clone())
}

/// The newest comments as the product carries them.
async fn carried(gateway: &Gateway, sku: &str) -> Vec<[Value; 4]> {
    let query = "query($sku: ID!) { product(sku: $sku) { discussion {
        latestComments { id text stars postedAt } } } }";
    let product = gateway.anonymous().field(query, json!({ "sku": sku })).await;
    let latest = product["discussion"]["latestComments"].as_array().expect("a list");
    latest.iter().map(told).collect()
}

/// The newest ten of the list that aren't removed.
async fn listed(gateway: &Gateway, on: &str) -> Vec<[Value; 4]> {
    let all = all(&gateway.anonymous(), COMMENTS, json!({ "subjectId": on }), 100).await;
    let there = all.iter().rev().filter(|comment| comment["removedBy"].is_null());
    there.take(10).map(told).collect()
}

pub async fn assert_carried(gateway: &Gateway, sku: &str, on: &str) {
    assert_eq!(carried(gateway, sku).await, listed(gateway, on).await, "{sku}");
}

async fn remove(client: &Client, id: &str) -> Value {
    does(client, "removeComment", json!({ "commentId": id })).await
}

/// Twenty posts and two removals beside a move.
async fn storm(gateway: &Gateway, on: &str, before: &[String], to: &str) {
    let anna = gateway.shopper("anna");
    let posts = join_all((0..20).map(|number| {
        let (client, text) = (gateway.shopper(&format!("s{number}")), format!("beside {number}"));
        async move { posted(&client, on, &text, None).await }
    }));
    let removals = join_all(before[10..12].iter().map(|slug| remove(&anna, slug)));
    let (_posts, removed, moved) = tokio::join!(posts, removals, migrate(gateway, on, to));
    assert_eq!(moved["layout"], to, "{moved:#}");
    assert!(removed.iter().all(|one| one["removedBy"] == "AUTHOR"), "{removed:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_are_right_after_posts_and_removals_beside_a_move() {
    let gateway = Gateway::with(very_long_bounds).await;
    let anna = gateway.shopper("anna");
    for round in 0..2 {
        let directions = LAYOUTS.into_iter().flat_map(|from| LAYOUTS.map(|to| (from, to)));
        let moves = directions.filter(|(from, to)| from != to).map(async |(from, to)| {
            let sku = format!("{from}-{to}-{round}");
            let on = discussed(&gateway, &sku, from).await;
            let mut before = Vec::new();
            for number in 0..12 {
                before.push(posted(&anna, &on, &format!("before {number}"), None).await);
            }
            storm(&gateway, &on, &before, to).await;
            assert_carried(&gateway, &sku, &on).await;
        });
        join_all(moves).await;
    }
    gateway.assert_sound().await;
}

/// A comment goes into the old store before that is sealed and is posted anew to the new one. What is left of
/// it in the old store has another time, and isn't one of the discussion's comments.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_posted_anew_isnt_taken_from_the_old_store() {
    let base = Gateway::with(very_long_bounds).await;
    let anna = base.shopper("anna");
    let on = discussed(&base, "a", "PAGED").await;
    let first = posted(&anna, &on, "first", None).await;
    let (remover, slow, mover) = tokio::join!(
        base.sibling_behind_proxy(),
        base.sibling_behind_proxy(),
        base.sibling_behind_proxy()
    );

    // A removal is decided, and the discussion isn't told yet.
    hold(&remover, "products", "update");
    let (client, input) = (remover.shopper("anna"), json!({ "commentId": first }));
    let removal = tokio::spawn(async move { does(&client, "removeComment", input).await });
    remover.proxy.as_ref().expect("a proxy").reached().await;

    // A post has begun, and isn't in the old store yet.
    hold(&slow, "commentPages", "findAndModify");
    let (client, input) = (slow.shopper("carl"), json!({ "subjectId": on, "text": "slow" }));
    let post = tokio::spawn(async move { does(&client, "postComment", input).await });
    slow.proxy.as_ref().expect("a proxy").reached().await;

    // The discussion moves, and its old store isn't sealed yet.
    hold(&mover, "commentPages", "update");
    let (client, input) =
        (mover.merchant(), json!({ "input": { "subjectId": on, "to": "EMBEDDED" } }));
    let moving = tokio::spawn(async move { client.field(super::MIGRATE, input).await });
    mover.proxy.as_ref().expect("a proxy").reached().await;

    // Eleven others come later than the slow post and earlier than its place in the old store.
    for number in 0..11 {
        tokio::time::sleep(Duration::from_millis(3)).await;
        posted(&anna, &on, &format!("beside {number}"), None).await;
    }
    // It is in both stores now.
    let proxy = slow.proxy.as_ref().expect("a proxy");
    hold(&slow, "commentPages", "findAndModify");
    proxy.release().await;
    proxy.reached().await;
    // The removal reads the newest of both.
    remover.proxy.as_ref().expect("a proxy").release().await;
    assert_eq!(removal.await.expect("an answer")["removedBy"], "AUTHOR");
    assert_carried(&base, "a", &on).await;

    proxy.heal();
    proxy.release().await;
    assert_eq!(post.await.expect("an answer")["text"], "slow");
    mover.proxy.as_ref().expect("a proxy").release().await;
    assert_eq!(moving.await.expect("an answer")["layout"], "EMBEDDED");
    assert_carried(&base, "a", &on).await;
    base.assert_sound().await;
}

/// A call waits with its comment in the old store. Its repeat posts the comment anew to the new store; what is
/// left in the old one isn't taken for what the discussion took.
#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_its_repeat_overtakes_beside_a_move_is_made_once() {
    let base = Gateway::with(very_long_bounds).await;
    let on = discussed(&base, "a", "PAGED").await;
    posted(&base.shopper("anna"), &on, "first", None).await;
    let (slow, mover, again) = tokio::join!(
        base.sibling_behind_proxy(),
        base.sibling_behind_proxy(),
        base.sibling_behind_proxy()
    );
    let input = json!({ "subjectId": on, "text": "late", "idempotencyKey": "late" });
    let send = |gateway: &Gateway| {
        let (client, input) = (gateway.shopper("anna"), input.clone());
        tokio::spawn(async move { does(&client, "postComment", input).await })
    };

    hold(&slow, "products", "update");
    let first = send(&slow);
    slow.proxy.as_ref().expect("a proxy").reached().await;
    hold(&mover, "commentPages", "update");
    let (client, to) =
        (mover.merchant(), json!({ "input": { "subjectId": on, "to": "EMBEDDED" } }));
    let moving = tokio::spawn(async move { client.field(super::MIGRATE, to).await });
    mover.proxy.as_ref().expect("a proxy").reached().await;
    // The repeat has posted it, and is about to withdraw what the first call has left.
    hold(&again, "commentPages", "findAndModify");
    let second = send(&again);
    again.proxy.as_ref().expect("a proxy").reached().await;

    slow.proxy.as_ref().expect("a proxy").release().await;
    let first = first.await.expect("an answer");
    assert_eq!(first["text"], "late", "{first:#}");
    again.proxy.as_ref().expect("a proxy").release().await;
    assert_eq!(second.await.expect("an answer"), first);
    mover.proxy.as_ref().expect("a proxy").release().await;
    assert_eq!(moving.await.expect("an answer")["layout"], "EMBEDDED");
    assert_eq!(texts(&base, &on).await, ["first", "late"]);
    assert_carried(&base, "a", &on).await;
    base.assert_sound().await;
}
