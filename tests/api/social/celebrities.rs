//! Authors who become celebrities: marks on edges, and no post that is missing meanwhile.

use std::{collections::BTreeSet, time::Duration};

use docgate::{background, domains::queue::JobDocument};
use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, deserialize_from_document, doc};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    BLOCK, CIRCLE, NEWS, UNBLOCK, circle, deliver, does, feeds::all_news, key_of_edge, news,
    people, posted, posted_with, texts, uncircle,
};
use crate::support::{
    Gateway, all_nodes, commands,
    cuts::{self, Case},
    key, long_bounds,
    proxy::Cut,
    short_bounds, texts_of, until,
};

/// A user as stored.
async fn user(gateway: &Gateway, id: &str) -> Document {
    let found = gateway.raw("users").find_one(doc! { "_id": id }).await.expect("read");
    found.expect("a user")
}

async fn edge(gateway: &Gateway, by: &str, of: &str) -> Document {
    let one = doc! { "_id": key_of_edge(by, of) };
    gateway.raw("circles").find_one(one).await.expect("read").expect("an edge")
}

/// Whether an edge has the mark, and whether that is still to be decided.
async fn mark(gateway: &Gateway, by: &str, of: &str) -> (bool, bool) {
    let edge = edge(gateway, by, of).await;
    (edge.get_str("merged").is_ok_and(|of| of == by), edge.contains_key("due"))
}

/// Creates these followers of a user.
async fn followed_by(gateway: &Gateway, of: &str, fans: &[&str]) {
    people(gateway, fans).await;
    for fan in fans {
        circle(gateway, fan, of, "a").await;
    }
}

/// Lets a user who has more followers than posts are delivered to become a celebrity.
pub(super) async fn celebrate(gateway: &Gateway, by: &str, text: &str) {
    posted(gateway, by, text).await;
    deliver(gateway).await;
    let stored = user(gateway, by).await;
    assert!(stored.contains_key("mergedAt") && !stored.contains_key("marking"), "{stored:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_post_is_missing_while_its_author_becomes_a_celebrity() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 3).await;
    people(&gateway, &["star"]).await;
    let fans: Vec<String> = (0..6).map(|n| format!("fan-{n}")).collect();
    let fans: Vec<&str> = fans.iter().map(String::as_str).collect();
    followed_by(&gateway, "star", &fans).await;
    let late: Vec<String> = (0..24).map(|n| format!("late-{n}")).collect();
    let late: Vec<&str> = late.iter().map(String::as_str).collect();
    people(&gateway, &late).await;
    let stop = CancellationToken::new();
    let working = tokio::spawn(background::work(gateway.app.clone(), stop.clone()));
    let sibling = gateway.sibling().await;
    let mut merged = 0;
    for (n, one) in late.iter().enumerate() {
        if n == 12 {
            // A slow machine may need longer than all posts take.
            let is_marked = async || user(&gateway, "star").await.contains_key("mergedAt");
            until("the star is a celebrity", is_marked).await;
        }
        let text = format!("{n}");
        let follow = circle(&sibling, one, "star", "a");
        let (id, ()) = tokio::join!(posted(&gateway, "star", &text), follow);
        let post = gateway.raw("posts").find_one(doc! { "_id": key(&id) }).await;
        if post.expect("read").expect("a post").contains_key("merged") {
            merged += 1;
            for fan in &fans {
                assert_eq!(news(&gateway.shopper(fan)).await[0], text, "of {fan} at once");
            }
        }
    }
    stop.cancel();
    working.await.expect("no panic");
    deliver(&gateway).await;
    assert!(merged > 0, "the star is a celebrity at last");
    let all: Vec<String> = (0..24).rev().map(|n| format!("{n}")).collect();
    for fan in &fans {
        assert_eq!(all_news(&gateway, fan, Value::Null, 7).await, all, "{fan}");
    }
    posted(&gateway, "star", "last").await;
    for (n, one) in late.iter().enumerate() {
        assert_eq!(news(&sibling.shopper(one)).await[0], "last", "{one}");
        // Whatever was posted after they followed. Of the posts before it, those that were delivered later.
        let seen = all_news(&gateway, one, Value::Null, 50).await;
        let after: Vec<_> = all[..23 - n].iter().collect();
        assert_eq!(seen[1..].iter().take(23 - n).collect::<Vec<_>>(), after, "{one}");
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len(), "{one}: {seen:?}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edges_keep_the_mark_only_if_it_is_needed() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 2).await;
    people(&gateway, &["ann", "star", "late"]).await;
    followed_by(&gateway, "star", &["bob", "cleo", "dan"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    for (by, of) in [("bob", "star"), ("cleo", "star"), ("bob", "ann")] {
        assert_eq!(mark(&gateway, by, of).await, (false, false), "{by} {of}");
    }
    celebrate(&gateway, "star", "first").await;
    circle(&gateway, "late", "star", "a").await;
    for by in ["bob", "cleo", "dan", "late"] {
        assert_eq!(mark(&gateway, by, "star").await, (true, false), "{by}");
    }
    assert_eq!(mark(&gateway, "bob", "ann").await, (false, false));
    posted(&gateway, "star", "second").await;
    assert_eq!(news(&gateway.shopper("late")).await, ["second"]);

    // The mark stays with a further circle, and goes with the last one.
    circle(&gateway, "bob", "star", "b").await;
    uncircle(&gateway, "bob", "star", "a").await;
    assert_eq!(mark(&gateway, "bob", "star").await, (true, false));
    assert_eq!(news(&gateway.shopper("bob")).await, ["second", "first"]);
    uncircle(&gateway, "bob", "star", "b").await;
    assert_eq!(news(&gateway.shopper("bob")).await, ["first"], "which was delivered");
    posted(&gateway, "star", "third").await;
    // The server's time is known to as long as a reply takes.
    tokio::time::sleep(Duration::from_secs(1)).await;
    circle(&gateway, "bob", "star", "a").await;
    posted(&gateway, "star", "fourth").await;
    assert_eq!(news(&gateway.shopper("bob")).await, ["fourth", "first"]);
    does(&gateway, "bob", BLOCK, json!({ "userId": "star" })).await;
    assert!(news(&gateway.shopper("bob")).await.is_empty());
    does(&gateway, "bob", UNBLOCK, json!({ "userId": "star" })).await;
    assert_eq!(news(&gateway.shopper("bob")).await, ["fourth", "first"]);
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_comes_late_takes_no_mark_away() {
    let gateway = Gateway::behind_proxy(|config| {
        config.post_delivery_followers = 2;
        // Long enough that nobody gives up while the command is held.
        config.flow_run_millis = 60_000;
        config.flow_command_millis = 30_000;
        config.request_millis = 120_000;
    })
    .await;
    let other = gateway.sibling().await;
    people(&other, &["star", "late"]).await;
    followed_by(&other, "star", &["bob", "cleo", "dan"]).await;
    // The caller has read that the star is none, and says so when all edges are marked.
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "circles" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let (client, input) = (gateway.shopper("late"), json!({ "userId": "star", "circle": "a" }));
    let sent = tokio::spawn(async move { client.run(CIRCLE, json!({ "input": input })).await });
    proxy.reached().await;
    proxy.heal();
    assert_eq!(mark(&other, "late", "star").await, (true, true));
    celebrate(&other, "star", "first").await;
    assert_eq!(mark(&other, "late", "star").await, (true, false));
    proxy.release().await;
    let said = sent.await.expect("an answer");
    assert_eq!(said["data"]["circleUser"]["__typename"], "User", "{said:#}");
    assert_eq!(mark(&other, "late", "star").await, (true, false));
    posted(&other, "star", "second").await;
    assert_eq!(news(&other.shopper("late")).await[0], "second");
    other.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_a_cut_left_open_is_decided_by_the_sweep() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.post_delivery_followers = 2;
    })
    .await;
    people(&gateway, &["ann", "star"]).await;
    followed_by(&gateway, "star", &["bob", "cleo", "dan"]).await;
    celebrate(&gateway, "star", "first").await;
    let at = gateway.app.clock();
    for of in ["ann", "star"] {
        people(&gateway, &["late"]).await;
        let open = doc! {
            "_id": key_of_edge("late", of), "by": "late", "of": of, "circles": ["a"], "at": at,
            "merged": "late", "due": at, "v": 1,
        };
        gateway.raw("circles").insert_one(open).await.expect("inserted");
    }
    let ann = posted(&gateway, "ann", "ann's").await;
    posted(&gateway, "star", "star's").await;
    deliver(&gateway).await;
    let late = gateway.shopper("late");
    assert_eq!(news(&late).await, ["star's", "ann's"], "{ann}");
    gateway.sweep().await;
    assert_eq!(mark(&gateway, "late", "ann").await, (false, false));
    assert_eq!(mark(&gateway, "late", "star").await, (true, false));
    assert_eq!(news(&late).await, ["star's", "ann's"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn following_a_celebrity_survives_a_cut_at_every_command() {
    cuts::everywhere_then(
        |config| {
            short_bounds(config);
            config.post_delivery_followers = 1;
        },
        async |gateway, n| {
            let (star, reader) = (format!("star-{n}"), format!("reader-{n}"));
            people(gateway, &[&star, &reader]).await;
            for fan in [format!("fan-{n}"), format!("other-{n}")] {
                followed_by(gateway, &star, &[&fan]).await;
            }
            // The state that the jobs leave, without waiting for those of other cases.
            let set = doc! { "$set": { "mergedAt": gateway.app.clock() } };
            gateway.raw("users").update_one(doc! { "_id": &star }, set).await.expect("set");
            let mark = vec![doc! { "$set": { "merged": "$by" } }];
            gateway.raw("circles").update_many(doc! { "of": &star }, mark).await.expect("set");
            (star, reader)
        },
        async |gateway, (star, reader)| {
            let client = gateway.shopper(reader);
            let input = json!({ "input": { "userId": star, "circle": "a" } });
            client.send(CIRCLE, input.clone()).await.ok();
            client.send(super::UNCIRCLE, input.clone()).await.ok();
            client.send(CIRCLE, input).await.ok();
        },
        async |gateway, Case { at, way, subject: (star, reader) }| {
            posted(gateway, star, "new").await;
            let seen = news(&gateway.shopper(reader)).await;
            assert_eq!(seen, ["new"], "command {at} {way:?}");
        },
        async |gateway| {
            gateway.sweep().await;
            gateway.assert_sound().await;
        },
    )
    .await;
}

/// The jobs for a user, as a worker gets them.
async fn jobs_for(gateway: &Gateway, user: &str) -> Vec<JobDocument> {
    let mut jobs = super::cuts::jobs_of(gateway, user).await;
    let own = |job: &JobDocument| job.payload.contains(&format!("\"user\":\"{user}\""));
    let all = gateway.stored("jobs").await.into_iter();
    let all = all.map(|job| deserialize_from_document(job).expect("a job"));
    jobs.extend(all.filter(own));
    jobs
}

#[tokio::test(flavor = "multi_thread")]
async fn becoming_a_celebrity_survives_a_cut_at_every_command() {
    cuts::everywhere_apart(
        |config| {
            short_bounds(config);
            config.post_delivery_followers = 1;
        },
        async |gateway, n| {
            // What earlier cases have left is done first.
            deliver(gateway).await;
            let (star, reader) = (format!("star-{n}"), format!("reader-{n}"));
            people(gateway, &[&star]).await;
            for fan in [&reader, &format!("fan-{n}")] {
                followed_by(gateway, &star, &[fan]).await;
            }
            posted(gateway, &star, "first").await;
            (star, reader)
        },
        async |gateway, (star, _)| {
            let work = docgate::domains::work(gateway.app.config());
            let own = work.iter().find(|work| work.queue == "docgate.posts").expect("the queue");
            // The delivery, and the marking that it begins. The work of the jobs, without the queue around it.
            for mark in [false, true] {
                let jobs = jobs_for(gateway, star).await.into_iter();
                let jobs = jobs.filter(|job| job.payload.contains("\"mark\"") == mark);
                let run = jobs.map(|job| (own.handler)(gateway.app.clone(), job));
                let _cut = join_all(run).await;
            }
        },
        async |gateway, Case { at, way, subject: (star, reader) }| {
            let stored = user(gateway, star).await;
            assert!(stored.contains_key("mergedAt"), "command {at} {way:?}: {stored:#?}");
            assert!(!stored.contains_key("marking"), "command {at} {way:?}: {stored:#?}");
            assert_eq!(mark(gateway, reader, star).await, (true, false), "command {at} {way:?}");
            posted(gateway, star, "second").await;
            let seen = news(&gateway.shopper(reader)).await;
            assert_eq!(seen, ["second", "first"], "command {at} {way:?}");
        },
        async |gateway| {
            gateway.sweep().await;
            deliver(gateway).await;
            gateway.assert_sound().await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_without_marks_are_read_as_before_and_marked_by_the_sweep() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.post_delivery_followers = 2;
    })
    .await;
    people(&gateway, &["star"]).await;
    // More than one batch: a job follows the first one.
    followed_by(&gateway, "star", &["bob", "cleo"]).await;
    let at = gateway.app.clock();
    let edges = (0..510).map(|n| {
        let fan = format!("fan-{n}");
        doc! { "_id": key_of_edge(&fan, "star"), "by": fan, "of": "star", "circles": ["a"], "at": at, "v": 1 }
    });
    gateway.raw("circles").insert_many(edges).await.expect("inserted");
    let users = (0..510).map(|n| {
        let fan = format!("fan-{n}");
        doc! { "_id": &fan, "profile": { "name": &fan, "about": "" }, "version": 0_i64, "at": at, "v": 1 }
    });
    gateway.raw("users").insert_many(users).await.expect("inserted");
    let id = posted(&gateway, "star", "old").await;
    gateway.raw("jobs").delete_many(doc! {}).await.expect("removed");
    let set = |fields: Document| doc! { "$set": fields };
    let long_ago = DateTime::from_millis(at.timestamp_millis() - 60_000);
    let was = set(doc! { "celebrityAt": long_ago });
    gateway.raw("users").update_one(doc! { "_id": "star" }, was).await.expect("set");
    let merged = doc! { "$set": { "merged": "star" }, "$unset": { "delivering": "" } };
    let post = doc! { "_id": key(&id) };
    gateway.raw("posts").update_one(post, merged).await.expect("set");
    assert_eq!(news(&gateway.shopper("bob")).await, ["old"]);
    posted(&gateway, "star", "delivered").await;
    deliver(&gateway).await;
    assert_eq!(news(&gateway.shopper("fan-509")).await, ["delivered", "old"]);

    gateway.sweep().await;
    deliver(&gateway).await;
    let stored = user(&gateway, "star").await;
    assert!(stored.contains_key("mergedAt"), "{stored:#?}");
    assert!(!stored.contains_key("celebrityAt") && !stored.contains_key("marking"), "{stored:#?}");
    for fan in ["bob", "fan-0", "fan-509"] {
        assert_eq!(mark(&gateway, fan, "star").await, (true, false), "{fan}");
        for gateway in [&gateway, &gateway.sibling().await] {
            assert_eq!(news(&gateway.shopper(fan)).await, ["delivered", "old"], "{fan}");
        }
    }
    posted(&gateway, "star", "new").await;
    assert_eq!(news(&gateway.shopper("fan-300")).await, ["new", "delivered", "old"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_celebrities_touches_only_their_own_marked_edges() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 2).await;
    people(&gateway, &["star", "reader"]).await;
    followed_by(&gateway, "star", &["bob", "cleo", "dan"]).await;
    for n in 0..20 {
        let by = format!("by-{n}");
        people(&gateway, &[&by]).await;
        circle(&gateway, "reader", &by, "a").await;
    }
    celebrate(&gateway, "star", "first").await;
    circle(&gateway, "reader", "star", "a").await;
    posted(&gateway, "star", "second").await;
    let reader = gateway.shopper("reader");
    assert_eq!(news(&reader).await, ["second"]);
    let query = "query { news(first: 20) { nodes { text } } }";
    let found = reader.explained(query, json!({})).await;
    let mut sent = commands(&found);
    sent.sort();
    assert_eq!(sent, ["find circles", "find feedPages", "find posts", "find users"], "{found:#}");
    let all = found["extensions"]["docgate"]["commands"].as_array().expect("commands");
    let edges = all.iter().find(|one| one["collection"] == "circles").expect("the edges");
    assert_eq!(edges["docsExamined"], 1, "{edges:#}");
    assert!(edges["keysExamined"].as_i64().is_some_and(|keys| keys <= 2), "{edges:#}");
    gateway.assert_sound().await;
}

/// However many posts of a celebrity are for others, a page takes two commands of posts at most.
#[tokio::test(flavor = "multi_thread")]
async fn posts_for_others_cost_a_reader_of_celebrities_one_more_command() {
    let gateway = Gateway::with(|config| {
        config.post_delivery_followers = 2;
        long_bounds(config);
    })
    .await;
    people(&gateway, &["star", "reader"]).await;
    followed_by(&gateway, "star", &["bob", "cleo", "dan"]).await;
    celebrate(&gateway, "star", "first").await;
    circle(&gateway, "reader", "star", "a").await;
    circle(&gateway, "star", "reader", "in").await;
    circle(&gateway, "star", "bob", "out").await;
    for input in [
        json!({ "audience": "PUBLIC", "text": "for all" }),
        json!({ "audience": "CIRCLES", "text": "for circles" }),
        json!({ "audience": "NAMED", "circles": ["out", "in"], "text": "for two circles" }),
        json!({ "audience": "NAMED", "circles": ["out"], "text": "to the reader",
            "toUserId": "reader" }),
    ] {
        posted_with(&gateway, "star", input).await;
    }
    for n in 0..40 {
        let text = format!("for others {n}");
        let input = json!({ "audience": "NAMED", "circles": ["out"], "text": text });
        posted_with(&gateway, "star", input).await;
    }
    let all = ["to the reader", "for two circles", "for circles", "for all"];
    for first in [1, 3, 20] {
        assert_eq!(all_news(&gateway, "reader", Value::Null, first).await, all, "{first}");
    }
    let (reader, query) = (gateway.shopper("reader"), "{ news(first: 2) { nodes { text } } }");
    let read = async || {
        let found = reader.explained(query, json!({})).await;
        let sent = commands(&found);
        let of_posts = sent.iter().filter(|command| *command == "find posts").count();
        (texts(&found["data"]["news"]), of_posts)
    };
    assert_eq!(read().await, (vec![all[0].to_owned(), all[1].to_owned()], 2));
    assert_eq!(all_news(&gateway, "bob", Value::Null, 50).await.len(), 45);
    // The circles count as they are now.
    uncircle(&gateway, "star", "reader", "in").await;
    assert_eq!(read().await, (vec!["to the reader".to_owned(), "for all".to_owned()], 2));
    does(&gateway, "reader", BLOCK, json!({ "userId": "star" })).await;
    assert_eq!(read().await, (Vec::new(), 0));
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn following_and_posting_count_nobody() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 2).await;
    people(&gateway, &["ann", "star", "reader"]).await;
    followed_by(&gateway, "star", &["bob", "cleo", "dan"]).await;
    celebrate(&gateway, "star", "first").await;
    let sent = async |by: &str, mutation: &str, input: Value| {
        let said = gateway.shopper(by).explained(mutation, json!({ "input": input })).await;
        let mut sent = commands(&said);
        // The server's clock may be known.
        sent.retain(|command| !command.starts_with("hello"));
        sent.sort();
        sent
    };
    let follow = |of: &str| json!({ "userId": of, "circle": "a" });
    let open = sent("reader", CIRCLE, follow("ann")).await;
    let expected = [
        // The edge; the own circles of the answer.
        "find circles",
        "find circles",
        // Both users; the followed one again, when the edge is there.
        "find users",
        "find users",
        "insert circles",
        // The mark goes.
        "update circles",
    ];
    assert_eq!(open, expected);
    let marked = sent("reader", CIRCLE, follow("star")).await;
    assert_eq!(marked, ["find circles", "find circles", "find users", "insert circles"]);
    let input = json!({ "audience": "PUBLIC", "text": "second" });
    let post = sent("star", super::CREATE_POST, input).await;
    assert!(!post.iter().any(|command| command.ends_with("circles")), "{post:?}");
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

/// Page after page of the news of two celebrities looks at little more than it shows.
#[tokio::test(flavor = "multi_thread")]
async fn a_later_page_of_celebrities_examines_no_more_than_the_first() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 2).await;
    people(&gateway, &["star", "nova", "reader"]).await;
    followed_by(&gateway, "star", &["bob", "cleo", "dan"]).await;
    for fan in ["bob", "cleo", "dan"] {
        circle(&gateway, fan, "nova", "a").await;
    }
    for star in ["star", "nova"] {
        celebrate(&gateway, star, "first").await;
        circle(&gateway, "reader", star, "a").await;
    }
    let mut all = Vec::new();
    for n in 0..40 {
        let by = if n % 2 == 0 { "star" } else { "nova" };
        posted(&gateway, by, &n.to_string()).await;
        all.insert(0, n.to_string());
    }
    let reader = gateway.shopper("reader");
    let pages = json!({ "month": null, "first": 5 });
    let found = all_nodes(pages, async |page| {
        let response = reader.explained(NEWS, page).await;
        let sent = response["extensions"]["docgate"]["commands"].as_array().expect("commands");
        let of_posts = sent.iter().filter(|one| one["collection"] == "posts");
        let keys: i64 = of_posts.filter_map(|one| one["keysExamined"].as_i64()).sum();
        // One more than the page has, the next one of each author, and those at the time of the cursor.
        assert!((1..=12).contains(&keys), "{response:#}");
        response["data"]["news"].clone()
    });
    assert_eq!(texts_of(&found.await, "text"), all);
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

/// Whoever follows very many celebrities sees the posts of all of them, by a command for each hundred.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_very_many_celebrities_sees_all_of_them() {
    let gateway = Gateway::start().await;
    let stars: Vec<String> = (0..120).map(|n| format!("star-{n}")).collect();
    let each: Vec<&str> = stars.iter().map(String::as_str).collect();
    people(&gateway, &["reader"]).await;
    people(&gateway, &each).await;
    for star in &each {
        circle(&gateway, "reader", star, "a").await;
    }
    let now = doc! { "$set": { "mergedAt": DateTime::from_millis(1) } };
    let all = gateway.raw("users").update_many(doc! { "_id": { "$in": each.clone() } }, now).await;
    assert_eq!(all.expect("celebrities").modified_count, 120);
    let marked = doc! { "$set": { "merged": "reader" } };
    let all = gateway.raw("circles").update_many(doc! { "by": "reader" }, marked).await;
    assert_eq!(all.expect("marks").modified_count, 120);
    for star in &each {
        posted(&gateway, star, star).await;
    }
    let (reader, newest) = (gateway.shopper("reader"), each.iter().rev().copied());
    let found = all_nodes(json!({ "month": null, "first": 50 }), async |page| {
        let response = reader.explained(NEWS, page).await;
        let sent = commands(&response);
        let of_posts = sent.iter().filter(|command| *command == "find posts").count();
        assert_eq!(of_posts, 2, "{response:#}");
        response["data"]["news"].clone()
    });
    assert_eq!(texts_of(&found.await, "text"), newest.collect::<Vec<&str>>());
    deliver(&gateway).await;
    gateway.assert_sound().await;
}
