//! News and walls: what is delivered, what is merged in, and what is shown.

use std::time::Duration;

use docgate::domains::queue::operations::{Limits, run};
use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    BLOCK, COMMENT, DELETE_POST, EDIT_POST, NEWS, UNBLOCK, VOTE, celebrities::celebrate, circle,
    deliver, does, incoming, news, people, posted, posted_with, texts, wall,
};
use crate::support::{
    Gateway, all_nodes, commands, cuts, key,
    proxy::{Cut, Seen},
    texts_of,
};

/// Every page of the news, read with this page size.
pub(super) async fn all_news(gateway: &Gateway, by: &str, month: Value, first: i32) -> Vec<String> {
    let client = gateway.shopper(by);
    let pages = json!({ "month": month, "first": first });
    let found = all_nodes(pages, async |page| client.field(NEWS, page).await);
    texts_of(&found.await, "text")
}

/// The pages of a user's news as they are stored: month, number, and number of copies.
async fn pages(gateway: &Gateway, user: &str) -> Vec<(String, i32, usize)> {
    let stored = gateway.snapshot().await.remove("feedPages").unwrap_or_default();
    let mut found: Vec<_> = stored
        .iter()
        .filter(|page| page.get_str("feed").is_ok_and(|feed| feed == format!("news {user}")))
        .map(|page| {
            let month = page.get_str("month").expect("a month").to_owned();
            let posts = page.get_array("posts").expect("copies").len();
            (month, page.get_i32("n").expect("a number"), posts)
        })
        .collect();
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_reach_the_news_of_followers_and_earlier_ones_dont() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    posted(&gateway, "ann", "before").await;
    deliver(&gateway).await;
    circle(&gateway, "bob", "ann", "a").await;
    posted(&gateway, "ann", "first").await;
    posted(&gateway, "ann", "second").await;
    deliver(&gateway).await;
    assert_eq!(news(&gateway.shopper("bob")).await, ["second", "first"]);
    assert!(news(&gateway.shopper("cleo")).await.is_empty());
    assert!(news(&gateway.shopper("ann")).await.is_empty());
    assert_eq!(wall(&gateway.shopper("cleo"), "ann").await, ["second", "first", "before"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_news_page_is_one_document() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    for n in 0..25 {
        posted(&gateway, "ann", &format!("{n}")).await;
        deliver(&gateway).await;
    }
    // The first read of a gateway looks whether there are edges that aren't marked yet.
    assert_eq!(news(&gateway.shopper("bob")).await.len(), 20);
    let query = "query { news(first: 20) { nodes { text commentCount } } }";
    // The second time the newest page has just begun: the one before it comes with the same command.
    for further in [0, 30] {
        for n in 0..further {
            posted(&gateway, "ann", &format!("further {n}")).await;
        }
        deliver(&gateway).await;
        let found = gateway.shopper("bob").explained(query, json!({})).await;
        assert_eq!(texts(&found["data"]["news"]).len(), 20);
        let mut sent = commands(&found);
        sent.sort();
        // The page, the caller, and the marked edges.
        assert_eq!(sent, ["find circles", "find feedPages", "find users"], "{found:#}");
        let all = found["extensions"]["docgate"]["commands"].as_array().expect("commands");
        assert!(all.iter().all(|one| one["sharedWith"] == 0), "each can be shared: {found:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_at_one_moment_share_the_commands_of_their_first_pages() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "ben", "cleo"]).await;
    let readers: Vec<String> = (0..24).map(|n| format!("reader-{n}")).collect();
    for (n, reader) in readers.iter().enumerate() {
        people(&gateway, &[reader]).await;
        // Two pages, one page with few posts, and none.
        let of = ["ann", "ben", "cleo"][n % 3];
        circle(&gateway, reader, of, "a").await;
    }
    for n in 0..60 {
        posted(&gateway, "ann", &format!("{n}")).await;
        if n % 20 == 0 {
            posted(&gateway, "ben", &format!("{n}")).await;
            deliver(&gateway).await;
        }
    }
    deliver(&gateway).await;
    let first = |reader: &str| {
        let client = gateway.shopper(reader);
        async move { texts(&client.field(NEWS, json!({ "first": 20 })).await) }
    };
    let mut alone = Vec::new();
    for reader in &readers {
        alone.push(first(reader).await);
    }
    assert_eq!(alone.iter().map(Vec::len).take(3).collect::<Vec<_>>(), [20, 3, 0]);
    let at_once = async |gateway: &Gateway| {
        for _ in 0..5 {
            let read = readers.iter().map(|reader| {
                let client = gateway.shopper(reader);
                async move { texts(&client.field(NEWS, json!({ "first": 20 })).await) }
            });
            assert_eq!(join_all(read).await, alone);
        }
    };
    let sent = cuts::sent(&gateway, at_once).await;
    let of = |collection: &str, command: &str| {
        let is_it = |seen: &&Seen| seen.collection == collection && seen.command == command;
        sent.iter().filter(is_it).count()
    };
    let (shared, all) = (of("feedPages", "aggregate"), 5 * readers.len());
    assert!(shared > 0, "{sent:#?}");
    assert!(of("circles", "find") < all / 2, "{sent:#?}");
    assert!(of("users", "find") < all, "{sent:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn full_pages_and_months_split_and_are_read_in_order() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let texts: Vec<String> = (0..60).map(|n| format!("now {n}")).collect();
    let posts = join_all(texts.iter().map(|text| posted(&gateway, "ann", text))).await.len();
    deliver(&gateway).await;
    let this_month: usize = pages(&gateway, "bob").await.iter().map(|(_, _, count)| count).sum();
    assert_eq!((posts, this_month), (60, 60));
    assert!(pages(&gateway, "bob").await.iter().all(|(_, _, count)| *count <= 50));
    gateway.assert_sound().await;

    // Two posts at the boundary of an earlier month.
    for (text, at) in
        [("last of May", "2026-05-31T23:59:59.999Z"), ("first of June", "2026-06-01T00:00:00.000Z")]
    {
        let id = posted(&gateway, "ann", text).await;
        let at = DateTime::parse_rfc3339_str(at).expect("a time");
        let set = doc! { "$set": { "shown.at": at } };
        gateway.raw("posts").update_one(doc! { "_id": key(&id) }, set).await.expect("set");
    }
    deliver(&gateway).await;
    let months: Vec<_> =
        pages(&gateway, "bob").await.into_iter().map(|(month, n, _)| (month, n)).collect();
    assert_eq!(months[..2], [("2026-05".to_owned(), 0), ("2026-06".to_owned(), 0)], "{months:?}");
    assert_eq!(all_news(&gateway, "bob", json!("2026-05"), 20).await, ["last of May"]);
    assert_eq!(all_news(&gateway, "bob", json!("2026-06"), 20).await, ["first of June"]);
    let all = all_news(&gateway, "bob", Value::Null, 100).await;
    assert_eq!(all.len(), 62);
    assert_eq!(all[60..], ["first of June", "last of May"]);
    for first in [1, 7, 50] {
        assert_eq!(all_news(&gateway, "bob", Value::Null, first).await, all, "{first} at a time");
    }
    for month in ["", "2026", "2026-13", "2026-1", "$gt", "2026-00", "+026-01"] {
        let code = gateway.shopper("bob").error_code(NEWS, json!({ "month": month })).await;
        assert_eq!(code, "BAD_USER_INPUT", "{month}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_of_blocked_authors_are_hidden_old_and_new() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let old = posted(&gateway, "ann", "old").await;
    posted_with(
        &gateway,
        "ann",
        json!({ "audience": "PUBLIC", "text": "to bob", "toUserId": "bob" }),
    )
    .await;
    deliver(&gateway).await;
    let bob = gateway.shopper("bob");
    assert_eq!(news(&bob).await, ["to bob", "old"]);
    assert_eq!(incoming(&bob).await, ["to bob"]);
    does(&gateway, "bob", BLOCK, json!({ "userId": "ann" })).await;
    posted(&gateway, "ann", "new").await;
    let told = posted_with(
        &gateway,
        "ann",
        json!({ "audience": "PUBLIC", "text": "unheard", "toUserId": "bob" }),
    )
    .await;
    deliver(&gateway).await;
    assert!(news(&bob).await.is_empty());
    assert!(incoming(&bob).await.is_empty());
    assert!(wall(&bob, "ann").await.is_empty());
    let query = "query($id: ID!) { post(id: $id) { id } node(id: $id) { id } }";
    let found = bob.run(query, json!({ "id": old })).await;
    assert_eq!(found["data"], json!({ "post": null, "node": null }));
    // The author isn't told.
    let own = gateway.shopper("ann").run(query, json!({ "id": told })).await;
    assert_eq!(own["data"]["post"]["id"], json!(told));
    does(&gateway, "bob", UNBLOCK, json!({ "userId": "ann" })).await;
    assert_eq!(incoming(&bob).await, ["unheard", "to bob"]);
    gateway.assert_sound().await;
}

/// The author sees their own posts on the wall, and nobody else does. So a look at the wall doesn't tell of the block.
#[tokio::test(flavor = "multi_thread")]
async fn a_wall_doesnt_tell_its_readers_whom_its_owner_blocks() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    let to_bob = |text: &str| json!({ "audience": "PUBLIC", "text": text, "toUserId": "bob" });
    posted_with(&gateway, "ann", to_bob("before")).await;
    deliver(&gateway).await;
    does(&gateway, "bob", BLOCK, json!({ "userId": "ann" })).await;
    posted_with(&gateway, "ann", to_bob("blocked")).await;
    posted_with(&gateway, "cleo", to_bob("from cleo")).await;
    deliver(&gateway).await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    assert_eq!(wall(&ann, "bob").await, ["from cleo", "blocked", "before"]);
    assert_eq!(wall(&gateway.shopper("cleo"), "bob").await, ["from cleo"]);
    assert_eq!(incoming(&bob).await, ["from cleo"]);
    // Neither does the end of a page.
    let query =
        "query { wall(userId: \"bob\", first: 1) { nodes { text } pageInfo { hasNextPage } } }";
    let found = gateway.shopper("cleo").field(query, json!({})).await;
    assert_eq!(found["pageInfo"]["hasNextPage"], false, "{found:#}");
    does(&gateway, "bob", UNBLOCK, json!({ "userId": "ann" })).await;
    let cleo = wall(&gateway.shopper("cleo"), "bob").await;
    assert_eq!(cleo, ["from cleo", "blocked", "before"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wall_shows_its_owner_whom_they_follow_and_incoming_everything() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    for by in ["ann", "cleo"] {
        let input =
            json!({ "audience": "PUBLIC", "text": format!("from {by}"), "toUserId": "bob" });
        posted_with(&gateway, by, input).await;
    }
    posted(&gateway, "bob", "own").await;
    deliver(&gateway).await;
    let bob = gateway.shopper("bob");
    assert_eq!(wall(&bob, "bob").await, ["own", "from ann"]);
    assert_eq!(incoming(&bob).await, ["own", "from cleo", "from ann"]);
    assert_eq!(wall(&gateway.shopper("ann"), "bob").await, ["own", "from cleo", "from ann"]);
    gateway.assert_sound().await;
}

/// Posts of those whom the owner doesn't follow take no place of others, on any page of the feed.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_wall_is_as_long_as_wanted() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    for n in 0..4 {
        for (by, count) in [("ann", 1), ("cleo", 30)] {
            for _ in 0..count {
                let text = format!("{n} from {by}");
                let input = json!({ "audience": "PUBLIC", "text": text, "toUserId": "bob" });
                posted_with(&gateway, by, input).await;
            }
        }
    }
    deliver(&gateway).await;
    let query = "query($after: String) { wall(first: 3, after: $after) { nodes { text }
        pageInfo { hasNextPage endCursor } } }";
    let bob = gateway.shopper("bob");
    let first = bob.field(query, json!({})).await;
    assert_eq!(texts(&first), ["3 from ann", "2 from ann", "1 from ann"]);
    assert_eq!(first["pageInfo"]["hasNextPage"], true);
    let rest = bob.field(query, json!({ "after": first["pageInfo"]["endCursor"] })).await;
    assert_eq!(texts(&rest), ["0 from ann"]);
    assert_eq!(rest["pageInfo"]["hasNextPage"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_comments_votes_and_deletions_reach_the_copies() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let poll = json!({ "poll": { "choices": ["a", "b"] } });
    let id = posted_with(
        &gateway,
        "ann",
        json!({ "audience": "PUBLIC", "text": "old", "detail": poll }),
    )
    .await;
    let other = posted(&gateway, "ann", "other").await;
    deliver(&gateway).await;
    let input = json!({ "postId": id, "version": "0", "text": "new" });
    does(&gateway, "ann", EDIT_POST, input).await;
    for n in 0..5 {
        does(&gateway, "bob", COMMENT, json!({ "postId": id, "text": format!("comment {n}") }))
            .await;
    }
    does(&gateway, "bob", VOTE, json!({ "postId": id, "choice": 1 })).await;
    deliver(&gateway).await;
    let query = "query { news { nodes { text commentCount latestComments { text }
        detail { ... on PollDetail { choices { votes } myChoice } } } } }";
    let found = gateway.shopper("bob").field(query, json!({})).await;
    let copy = &found["nodes"][1];
    assert_eq!((&copy["text"], &copy["commentCount"]), (&json!("new"), &json!(5)), "{found:#}");
    assert_eq!(
        copy["latestComments"],
        json!([{ "text": "comment 2" }, { "text": "comment 3" }, { "text": "comment 4" }])
    );
    assert_eq!(
        copy["detail"],
        json!({ "choices": [{ "votes": 0 }, { "votes": 1 }], "myChoice": 1 })
    );
    assert_eq!(found["nodes"][0]["commentCount"], 0, "the post beside it");
    does(&gateway, "ann", DELETE_POST, json!({ "postId": other })).await;
    deliver(&gateway).await;
    assert_eq!(news(&gateway.shopper("bob")).await, ["new"]);
    assert_eq!(wall(&gateway.shopper("ann"), "ann").await, ["new"]);
    // A copy that has left the page: the comment stays on the post.
    gateway.raw("feedPages").delete_many(doc! {}).await.expect("removed");
    let said = does(&gateway, "bob", COMMENT, json!({ "postId": id, "text": "late" })).await;
    assert_eq!(said["commentCount"], 6, "{said:#}");
    deliver(&gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_and_deletions_race_with_the_delivery() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    for reader in ["bob", "cleo"] {
        circle(&gateway, reader, "ann", "a").await;
    }
    let stop = CancellationToken::new();
    let (app, stopped) = (gateway.app.clone(), stop.clone());
    let working = tokio::spawn(async move { docgate::background::work(app, stopped).await });
    for n in 0..15 {
        let id = posted(&gateway, "ann", &format!("old {n}")).await;
        tokio::time::sleep(Duration::from_millis(n % 5)).await;
        if n % 3 == 0 {
            does(&gateway, "ann", DELETE_POST, json!({ "postId": id })).await;
        } else {
            let input = json!({ "postId": id, "version": "0", "text": format!("new {n}") });
            does(&gateway, "ann", EDIT_POST, input).await;
        }
    }
    stop.cancel();
    working.await.expect("no panic");
    deliver(&gateway).await;
    gateway.assert_sound().await;
    let expected: Vec<_> =
        (0..15).rev().filter(|n| n % 3 != 0).map(|n| format!("new {n}")).collect();
    for reader in ["bob", "cleo"] {
        assert_eq!(news(&gateway.shopper(reader)).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_celebritys_post_is_in_all_news_at_once_without_copies() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 3).await;
    people(&gateway, &["star", "ann", "reader"]).await;
    circle(&gateway, "reader", "ann", "a").await;
    circle(&gateway, "reader", "star", "a").await;
    for n in 0..3 {
        let fan = format!("fan-{n}");
        people(&gateway, &[&fan]).await;
        circle(&gateway, &fan, "star", "a").await;
    }
    // The post by which it is noticed is delivered.
    celebrate(&gateway, "star", "the first").await;
    assert_eq!(pages(&gateway, "fan-0").await.len(), 1);
    let mut expected = vec!["the first".to_owned()];
    for n in 0..12 {
        let text = format!("post {n}");
        let by = if n % 3 == 0 { "ann" } else { "star" };
        posted(&gateway, by, &text).await;
        if by == "star" {
            // No job has run yet.
            assert_eq!(news(&gateway.shopper("reader")).await[0], text);
        }
        deliver(&gateway).await;
        expected.insert(0, text);
    }
    let copies = pages(&gateway, "fan-0").await.into_iter().map(|(_, _, copies)| copies);
    assert_eq!(copies.sum::<usize>(), 1);
    for first in [1, 2, 5, 20] {
        assert_eq!(
            all_news(&gateway, "reader", Value::Null, first).await,
            expected,
            "{first} at a time"
        );
    }
    assert_eq!(news(&gateway.shopper("fan-0")).await.len(), 9);
    assert!(news(&gateway.shopper("ann")).await.is_empty());
    let month = docgate::app::rfc3339(gateway.app.clock())[..7].to_owned();
    assert_eq!(all_news(&gateway, "reader", json!(month), 20).await, expected);
    assert!(all_news(&gateway, "reader", json!("2020-01"), 20).await.is_empty());
    does(&gateway, "reader", BLOCK, json!({ "userId": "star" })).await;
    assert_eq!(all_news(&gateway, "reader", Value::Null, 3).await.len(), 4);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_in_batches_reaches_everyone_once_though_its_jobs_are_cut_and_repeated() {
    let gateway = Gateway::start().await;
    people(&gateway, &["star"]).await;
    // 1,100 followers: three batches.
    let at = gateway.app.clock();
    let (mut users, mut edges) = (Vec::new(), Vec::new());
    for n in 0..1_100 {
        let fan = format!("fan-{n}");
        users.push(doc! { "_id": &fan, "profile": { "name": &fan, "about": "" }, "version": 0_i64, "at": at, "blocked": [], "v": 1 });
        let id = format!("{} {fan} star", fan.len());
        edges
            .push(doc! { "_id": id, "by": &fan, "of": "star", "circles": ["a"], "at": at, "v": 1 });
    }
    gateway.raw("users").insert_many(users).await.expect("inserted");
    gateway.raw("circles").insert_many(edges).await.expect("inserted");
    for round in 0..3 {
        posted(&gateway, "star", &format!("post {round}")).await;
        // A worker that is stopped in the middle. Its leases run out, also that of a claim under way.
        let mut work = docgate::domains::work(gateway.app.config());
        work.retain(|one| one.queue == "docgate.posts");
        let limits = Limits { jobs: 2, lease: Duration::from_secs(1) };
        let app = gateway.app.clone();
        let cut =
            tokio::spawn(async move { run(&app, work, limits, CancellationToken::new()).await });
        tokio::time::sleep(Duration::from_millis(40 + 60 * round)).await;
        cut.abort();
        deliver(&gateway).await;
        gateway.assert_sound().await;
    }
    let stored = gateway.snapshot().await.remove("feedPages").expect("pages");
    let copies = |feed: &str| -> usize {
        let of = stored.iter().filter(|page| page.get_str("feed").is_ok_and(|of| of == feed));
        of.map(|page| page.get_array("posts").expect("copies").len()).sum()
    };
    assert!((0..1_100).all(|n| copies(&format!("news fan-{n}")) == 3));
    assert_eq!(copies("wall star"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn news_that_arent_read_in_time_end_their_subscription() {
    let gateway = Gateway::behind_proxy(|config| config.request_millis = 2_000).await;
    let patient = gateway.sibling_with(|config| config.request_millis = 30_000).await;
    people(&patient, &["bob"]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen: &Seen| seen.collection == "feedPages");
    proxy.cut_all_from(0, Cut::Hold);
    let mut socket = gateway.session(gateway.shopper("bob").token.as_deref()).await;
    let query = "subscription { newsChanged { latest { text } } }";
    socket.subscribe("1", query, json!({})).await;
    let told = socket.next("1").await;
    assert_eq!(told["errors"][0]["extensions"]["code"], "TIMEOUT", "{told:#}");
    assert_eq!(socket.hear().await, json!({ "type": "complete", "id": "1" }));
    proxy.discard();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_sees_the_feed_move() {
    let gateway = Gateway::with(|config| config.post_delivery_followers = 2).await;
    people(&gateway, &["ann", "bob", "star"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    for fan in ["ann", "bob", "fan"] {
        people(&gateway, &[fan]).await;
        circle(&gateway, fan, "star", "a").await;
    }
    posted(&gateway, "star", "a star's").await;
    deliver(&gateway).await;
    let query = "subscription { newsChanged { latest { text author { name } } } }";
    let mut socket = gateway.session(gateway.shopper("bob").token.as_deref()).await;
    socket.subscribe("1", query, json!({})).await;
    let latest = |heard: &Value| heard["data"]["newsChanged"]["latest"]["text"].clone();
    assert_eq!(latest(&socket.next("1").await), "a star's");
    // Its first page, then a further copy on it, then one that isn't delivered.
    for text in ["first", "second"] {
        posted(&gateway, "ann", text).await;
        deliver(&gateway).await;
        assert_eq!(latest(&socket.next("1").await), text);
    }
    posted(&gateway, "star", "another star's").await;
    assert_eq!(latest(&socket.next("1").await), "another star's");
    // What others get isn't told.
    posted(&gateway, "bob", "own").await;
    deliver(&gateway).await;
    socket.is_silent(Duration::from_millis(500)).await;
}
