//! Deliveries that are repeated, that fail for a long time, and that are overtaken by further posts; and how far back merged
//! posts go.

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{
    COMMENT, bury, celebrities::celebrate, circle, cuts::jobs_of, deliver, does, feeds::all_news,
    people, posted,
};
use crate::{
    metrics::Samples,
    support::{Gateway, key, short_bounds},
};

/// Number of copies of a post in each feed.
async fn copies(gateway: &Gateway, post: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for page in gateway.snapshot().await.remove("feedPages").unwrap_or_default() {
        let posts = page.get_array("posts").expect("copies").iter();
        let of = posts.filter_map(|copy| copy.as_document()?.get_str("id").ok());
        let feed = page.get_str("feed").expect("a feed").to_owned();
        *found.entry(feed).or_default() += of.filter(|id| *id == post).count();
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_delivery_adds_no_copy_to_a_later_page() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let first = posted(&gateway, "ann", "first").await;
    deliver(&gateway).await;
    let jobs = jobs_of(&gateway, "ann").await;
    let texts: Vec<String> = (0..55).map(|n| format!("{n}")).collect();
    join_all(texts.iter().map(|text| posted(&gateway, "ann", text))).await;
    deliver(&gateway).await;
    let stored = gateway.snapshot().await.remove("feedPages").expect("pages");
    assert_eq!(stored.len(), 4, "two pages of the wall, and two of the news");
    // Workers that had lost their leases go on, when the copy's page is full and another one is open.
    let work = docgate::domains::work(gateway.app.config());
    let own = work.iter().find(|work| work.queue == "docgate.posts").expect("the queue");
    for _ in 0..2 {
        let again = jobs.iter().map(|job| (own.handler)(gateway.app.clone(), job.clone()));
        for done in join_all(again).await {
            assert_eq!(done, Ok(()));
        }
    }
    let once = BTreeMap::from([("news bob".to_owned(), 1), ("wall ann".to_owned(), 1)]);
    assert_eq!(copies(&gateway, &key(&first)).await, once);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_deliver_the_same_posts_at_once_add_one_copy_of_each() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let texts: Vec<String> = (0..110).map(|n| format!("{n}")).collect();
    join_all(texts.iter().map(|text| posted(&gateway, "ann", text))).await;
    let jobs = jobs_of(&gateway, "ann").await;
    let work = docgate::domains::work(gateway.app.config());
    let own = work.iter().find(|work| work.queue == "docgate.posts").expect("the queue");
    let worker = || async {
        for job in &jobs {
            // A worker that is refused too often is tried again by the queue.
            let _tried_again = (own.handler)(gateway.app.clone(), job.clone()).await;
        }
    };
    tokio::join!(worker(), worker(), worker(), deliver(&gateway));
    gateway.assert_sound().await;
    assert_eq!(all_news(&gateway, "bob", Value::Null, 50).await.len(), 110);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_has_failed_too_often_is_done_in_the_end() {
    let gateway = Gateway::with(short_bounds).await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    posted(&gateway, "ann", "once").await;
    bury(&gateway).await;
    deliver(&gateway).await;
    assert!(all_news(&gateway, "bob", Value::Null, 20).await.is_empty());
    gateway.sweep().await;
    deliver(&gateway).await;
    assert_eq!(all_news(&gateway, "bob", Value::Null, 20).await, ["once"]);
    let stored = gateway.snapshot().await.remove("posts").expect("posts");
    assert!(!stored[0].contains_key("delivering"), "{stored:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_reaches_a_copy_on_an_older_page() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let first = posted(&gateway, "ann", "first").await;
    deliver(&gateway).await;
    let texts: Vec<String> = (0..60).map(|n| format!("{n}")).collect();
    join_all(texts.iter().map(|text| posted(&gateway, "ann", text))).await;
    deliver(&gateway).await;
    let said = does(&gateway, "bob", COMMENT, json!({ "postId": first, "text": "late" })).await;
    assert_eq!(said["commentCount"], 1, "{said:#}");
    deliver(&gateway).await;
    let query = "query($after: String) { news(first: 50, after: $after) {
        nodes { text commentCount latestComments { text } } pageInfo { endCursor } } }";
    let bob = gateway.shopper("bob");
    let page = bob.field(query, json!({})).await;
    let is_silent = |node: &Value| node["commentCount"] == 0;
    assert!(page["nodes"].as_array().expect("a list").iter().all(is_silent), "{page:#}");
    let rest = bob.field(query, json!({ "after": page["pageInfo"]["endCursor"] })).await;
    let rest = rest["nodes"].as_array().expect("a list");
    let (last, others) = rest.split_last().expect("posts");
    let expected =
        json!({ "text": "first", "commentCount": 1, "latestComments": [{ "text": "late" }] });
    assert_eq!(*last, expected);
    assert!(others.len() == 10 && others.iter().all(is_silent), "{others:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_changes_of_a_post_are_written_to_its_copies_once() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let id = posted(&gateway, "ann", "a post").await;
    deliver(&gateway).await;
    for text in 0..20 {
        let input = json!({ "postId": id, "text": format!("{text}") });
        let said = does(&gateway, "bob", COMMENT, input).await;
        assert_eq!(said["commentCount"], text + 1, "{said:#}");
    }
    let writes = async || {
        let labels = "collection=\"feedPages\",command=\"update\",outcome=\"ok\"";
        Samples::of(&gateway).await.get(&format!("docgate_mongodb_commands_total{{{labels}}}"))
    };
    let before = writes().await;
    // One worker does all jobs, one after the other.
    let work = docgate::domains::work(gateway.app.config());
    let own = work.iter().find(|work| work.queue == "docgate.posts").expect("the queue");
    for job in jobs_of(&gateway, "ann").await.iter().filter(|job| job.payload.contains("refresh")) {
        assert_eq!((own.handler)(gateway.app.clone(), job.clone()).await, Ok(()));
    }
    let written = writes().await - before;
    assert!((0.5..1.5).contains(&written), "{written} times");
    let news = gateway.shopper("bob").field(super::NEWS, json!({})).await;
    assert_eq!(news["nodes"][0]["commentCount"], 20, "{news:#}");
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_followers_of_celebrities_see_posts_from_then_on() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 1).await;
    people(&gateway, &["star", "other", "early", "fan", "late"]).await;
    for by in ["early", "fan"] {
        circle(&gateway, by, "star", "a").await;
        circle(&gateway, by, "other", "a").await;
    }
    for by in ["star", "other"] {
        celebrate(&gateway, by, "delivered").await;
    }
    let mut expected = Vec::new();
    for n in 0..12 {
        posted(&gateway, "star", &format!("before {n}")).await;
        if n == 4 {
            // The server's time is known to as long as a reply takes.
            tokio::time::sleep(Duration::from_secs(1)).await;
            circle(&gateway, "late", "other", "a").await;
        }
        posted(&gateway, "other", &format!("other {n}")).await;
        if n >= 4 {
            expected.insert(0, format!("other {n}"));
        }
    }
    circle(&gateway, "late", "star", "a").await;
    posted(&gateway, "star", "after").await;
    expected.insert(0, "after".to_owned());
    deliver(&gateway).await;
    for first in [1, 2, 5, 50] {
        let found = all_news(&gateway, "late", Value::Null, first).await;
        assert_eq!(found, expected, "{first} at a time");
    }
    assert_eq!(all_news(&gateway, "early", Value::Null, 7).await.len(), 27);
    gateway.assert_sound().await;
}

/// More posts are being delivered than one command of the sweep reads. Their jobs have to end that, so they stay.
#[tokio::test(flavor = "multi_thread")]
async fn posts_that_are_being_delivered_hold_up_no_others() {
    let gateway = Gateway::with(short_bounds).await;
    people(&gateway, &["ann"]).await;
    let cut = key(&posted(&gateway, "ann", "cut").await);
    let posts = gateway.raw("posts");
    let post = posts.find_one(doc! { "_id": &cut }).await.expect("read").expect("the post");
    let before = |number: i64| {
        let (mut post, id) = (post.clone(), format!("before-{number}"));
        post.get_document_mut("shown").expect("a copy").insert("id", &id);
        post.insert("_id", id);
        post.insert("delivering", DateTime::from_millis(number));
        post
    };
    posts.insert_many((1..=250).map(before)).await.expect("inserted");
    gateway.raw("jobs").delete_many(doc! {}).await.expect("removed");
    gateway.sweep().await;
    let jobs = gateway.stored("jobs").await;
    let of_cut =
        |job: &&Document| job.get_str("payload").is_ok_and(|payload| payload.contains(&cut));
    assert_eq!(jobs.iter().filter(of_cut).count(), 1, "of {}", jobs.len());
}
