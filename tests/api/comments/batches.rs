//! Posts that share commands, each with another fate.

use std::time::Duration;

use futures_util::{StreamExt as _, future::join_all};
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{discussed, few_rooms, migrate, mutation, short_bounds, shown, texts};
use crate::{
    metrics::Samples,
    support::{Gateway, key, proxy::Cut, settled, until},
};

/// What happens to a post while its commit waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing.
    Posted,
    /// Nothing, and the same call is made twice.
    Repeated,
    /// The product is deleted.
    Gone,
    /// Another attempt aborts the comment.
    Aborted,
    /// The discussion moves to another layout.
    Moved,
}

const FATES: [Fate; 5] = [Fate::Posted, Fate::Repeated, Fate::Gone, Fate::Aborted, Fate::Moved];

/// The type of the answer; `None` after a failure.
fn answered(answer: &Value) -> Option<&str> {
    answer["data"]["postComment"]["__typename"].as_str()
}

/// Marks the comment with this text as aborted.
async fn abort(base: &Gateway, on: &str, text: &str) {
    let own = doc! { "_id": key(on) };
    let product = base.raw("products").find_one(own.clone()).await.expect("read");
    let product = product.expect("a product");
    let discussion = product.get_document("discussion").expect("a discussion");
    let store = format!("{}.1", discussion.get_str("id").expect("an id"));
    let comment = doc! { "on": store, "text": text };
    let comment = base.raw("comments").find_one(comment).await.expect("read");
    let comment = comment.expect("a comment");
    let tag = comment.get_str("id").expect("an id");
    let void = doc! { "tag": { "$literal": tag }, "at": "$$NOW", "void": true };
    let taken = doc! { "$ifNull": ["$discussion.taken", []] };
    let set = doc! { "discussion.taken": { "$concatArrays": [taken, [void]] } };
    let changed =
        base.raw("products").update_one(own, vec![doc! { "$set": set }]).await.expect("changed");
    assert_eq!(changed.modified_count, 1, "{text}");
}

/// Lets the fate of a post happen.
async fn befall(base: &Gateway, fate: Fate, on: &str) {
    let own = doc! { "_id": key(on) };
    let set = match fate {
        Fate::Posted | Fate::Repeated => return,
        Fate::Moved => {
            migrate(base, on, "PAGED").await;
            return;
        }
        Fate::Gone => doc! { "deletedAt": "$$NOW" },
        Fate::Aborted => return abort(base, on, "A $text").await,
    };
    let changed =
        base.raw("products").update_one(own, vec![doc! { "$set": set }]).await.expect("changed");
    assert_eq!(changed.modified_count, 1, "{fate:?}");
}

/// Posts to each of these documents; their commits wait until all fates have happened. `way` is what happens to the
/// first command that waited for the others, which is that of a batch.
async fn post_all(base: &Gateway, posts: &[(Fate, String)], way: Option<Cut>) -> Vec<Value> {
    let gateway = base.sibling_behind_proxy().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "products" && seen.command == "update");
    proxy.cut_all_from(0, Cut::Hold);
    let query = mutation("postComment");
    let post = |(fate, on): &(Fate, String)| {
        let client = gateway.shopper("ann");
        let input = json!({ "subjectId": on, "text": "A $text", "idempotencyKey": "op" });
        let (query, twice) = (query.clone(), *fate == Fate::Repeated);
        tokio::spawn(async move {
            let call = || client.run(&query, json!({ "input": input }));
            if !twice {
                return call().await;
            }
            let (one, other) = tokio::join!(call(), call());
            if answered(&one) == Some("Comment") { one } else { other }
        })
    };
    let calls: Vec<_> = posts.iter().map(post).collect();
    proxy.reached().await;
    let comments = base.raw("comments");
    let inserted = async || {
        let count = comments.estimated_document_count().await.expect("a count");
        count >= u64::try_from(posts.len()).expect("few")
    };
    until("each comment is inserted", inserted).await;
    // Then its commit is queued.
    tokio::time::sleep(Duration::from_secs(1)).await;
    join_all(posts.iter().map(|(fate, on)| befall(base, *fate, on))).await;
    match way {
        Some(way) => proxy.cut(0, way),
        None => proxy.heal(),
    }
    proxy.release().await;
    let answers = join_all(calls).await;
    proxy.heal();
    answers.into_iter().map(|answer| answer.expect("an answer")).collect()
}

async fn fifty_posts(way: Option<Cut>) {
    let base = Gateway::with(|config| {
        few_rooms(config);
        if way.is_none() {
            // Long enough that no post gives up while the fates happen.
            config.flow_run_millis = 60_000;
            config.flow_command_millis = 30_000;
        }
    })
    .await;
    let mut posts = Vec::new();
    for number in 0..50 {
        let on = discussed(&base, &format!("p{number}"), "PER_DOCUMENT").await;
        posts.push((FATES[number % FATES.len()], on));
    }
    let answers = post_all(&base, &posts, way).await;
    let query = mutation("postComment");
    for ((fate, on), answer) in posts.iter().zip(&answers) {
        let expected = match fate {
            Fate::Gone => "NotFound",
            Fate::Aborted => "Conflict",
            Fate::Posted | Fate::Repeated | Fate::Moved => "Comment",
        };
        match answered(answer) {
            None if way.is_some() => {}
            told => assert_eq!(told, Some(expected), "{way:?} {fate:?}: {answer:#}"),
        }
        let input = json!({ "subjectId": on, "text": "A $text", "idempotencyKey": "op" });
        let ann = base.shopper("ann");
        let mut again = ann.run(&query, json!({ "input": input })).await;
        // An aborted one may never be answered; the others may have run out of time.
        for _ in 0..30 {
            if *fate == Fate::Aborted || answered(&again).is_some() {
                break;
            }
            again = ann.run(&query, json!({ "input": input })).await;
        }
        let told = answered(&again);
        match fate {
            Fate::Gone => assert_eq!(told, Some("NotFound"), "{way:?}: {again:#}"),
            Fate::Aborted => assert_ne!(told, Some("Comment"), "{way:?}: {again:#}"),
            Fate::Posted | Fate::Repeated | Fate::Moved => {
                assert_eq!(told, Some("Comment"), "{way:?} {fate:?}: {again:#}");
                assert_eq!(texts(&base, on).await, ["A $text"], "{way:?} {fate:?}");
            }
        }
    }
    base.raw("products")
        .update_many(
            doc! { "deletedAt": { "$exists": true } },
            doc! { "$unset": { "deletedAt": 1 } },
        )
        .await
        .expect("restored");
    base.sweep().await;
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_batch_of_fifty_each_post_has_its_own_fate() {
    fifty_posts(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_batch_of_posts_harms_nothing() {
    for way in [Cut::BeforeForwarding, Cut::Refused, Cut::Unsure, Cut::ReplyLost] {
        fifty_posts(Some(way)).await;
    }
}

/// Number of posts whose commits are held, each in a command of its own: no more commands are on their way at once.
const HELD: usize = 2;
/// Number of posts whose commits wait for these.
const WAITING: usize = 30;

/// Posts thirty comments on one product while the commits of two others are held, so that one command commits them.
/// `way` is what happens to that command. With `aborts`, the comment 7, which is one of the thirty, is aborted before.
/// Returns the types of the answers, and how often the product was written.
async fn posts_on_one_product(way: Option<Cut>, aborts: bool) -> (Vec<Option<String>>, usize) {
    let base = Gateway::with(|config| {
        few_rooms(config);
        // Long enough that no post gives up while it waits.
        config.flow_run_millis = 60_000;
        config.flow_command_millis = 30_000;
    })
    .await;
    let on = discussed(&base, "p", "PER_DOCUMENT").await;
    let gateway = base.sibling_behind_proxy().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "products" && seen.command == "update");
    proxy.cut_all_from(0, Cut::Hold);
    let post = |number: usize| {
        let client = gateway.shopper(&format!("shopper-{number}"));
        let input =
            json!({ "subjectId": on, "text": format!("text {number}"), "idempotencyKey": "op" });
        let query = mutation("postComment");
        tokio::spawn(async move { client.run(&query, json!({ "input": input })).await })
    };
    let mut calls = Vec::new();
    for number in 0..HELD {
        calls.push(post(number));
        until("the commit is held", async || proxy.seen().len() > number).await;
    }
    calls.extend((HELD..HELD + WAITING).map(post));
    let waiting = async || {
        let samples = Samples::of(&gateway).await;
        samples.get("docgate_writes_waiting{collection=\"products\"}") > 29.5
    };
    until("thirty commits wait for a shared command", waiting).await;
    if aborts {
        abort(&base, &on, "text 7").await;
    }
    let products = base.raw("products");
    let mut changes = products.watch().await.expect("a change stream");
    match way {
        Some(way) => proxy.cut(0, way),
        None => proxy.heal(),
    }
    proxy.release().await;
    let answers = join_all(calls).await;
    proxy.heal();
    let answers: Vec<_> = answers
        .into_iter()
        .map(|answer| answered(&answer.expect("an answer")).map(ToOwned::to_owned))
        .collect();
    let mut written = 0;
    while let Ok(change) = tokio::time::timeout(Duration::from_secs(1), changes.next()).await {
        change.expect("open").expect("a change");
        written += 1;
    }
    let posted = texts(&base, &on).await;
    for (number, answer) in answers.iter().enumerate() {
        let times = posted.iter().filter(|text| **text == format!("text {number}")).count();
        match answer.as_deref() {
            Some("Comment") => assert_eq!(times, 1, "{way:?} {number}"),
            Some(_) => assert_eq!(times, 0, "{way:?} {number}: {answer:?}"),
            None => assert!(times <= 1, "{way:?} {number}"),
        }
    }
    let discussion = shown(&base, "p").await;
    assert_eq!(discussion["commentCount"], posted.len(), "{discussion:#}");
    // Every call is answered, so a sweep needn't wait as long as those bounds say.
    settled(&gateway).await;
    base.sibling_with(short_bounds).await.sweep().await;
    base.assert_sound().await;
    (answers, written)
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_on_one_product_write_it_once() {
    let (answers, written) = posts_on_one_product(None, false).await;
    let posted = answers.iter().filter(|answer| answer.as_deref() == Some("Comment")).count();
    assert_eq!(posted, HELD + WAITING, "{answers:?}");
    assert!(written <= HELD + 1, "the product was written {written} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_post_harms_none_that_shares_its_statement() {
    let (answers, _) = posts_on_one_product(None, true).await;
    for (number, answer) in answers.iter().enumerate() {
        let expected = if number == 7 { "Conflict" } else { "Comment" };
        assert_eq!(answer.as_deref(), Some(expected), "{number}: {answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_whose_shared_statement_has_no_answer_are_posted_once() {
    let (answers, written) = posts_on_one_product(Some(Cut::ReplyLost), false).await;
    assert!(answers.iter().all(|answer| answer.as_deref() == Some("Comment")), "{answers:?}");
    assert!(written <= HELD + 1, "the product was written {written} times");
}
