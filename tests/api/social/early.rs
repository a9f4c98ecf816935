//! Lists with many posts that the caller may not see: a page ends early, and the next one goes on there.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use docgate::config::Config;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{celebrities::celebrate, circle, deliver, people, posted, posted_with, texts};
use crate::support::{Client, Gateway, all_nodes, key, long_bounds, texts_of, until};

const NEWS: &str = "query($first: Int, $after: String) { list: news(first: $first, after: $after) {
    nodes { text } edges { cursor } pageInfo { hasNextPage endCursor } } }";
const WALL: &str = "query($first: Int, $after: String) {
    list: wall(userId: \"star\", first: $first, after: $after) {
    nodes { text } edges { cursor } pageInfo { hasNextPage endCursor } } }";

/// Number of posts that nobody but a few may see.
const HIDDEN: i64 = 1_100;
/// The one of them that everyone may see. 1,050 are newer.
const OPEN: i64 = 50;

fn shown_of(post: &Document) -> &Document {
    post.get_document("shown").expect("a post")
}

fn at_of(post: &Document) -> DateTime {
    *shown_of(post).get_datetime("at").expect("a time")
}

fn post_id(post: &Document) -> String {
    post.get_str("_id").expect("an id").to_owned()
}

/// Adds posts like this one of the star, each a millisecond newer than the one before, and their copies on the star's wall.
/// Returns them.
async fn multiplied(gateway: &Gateway, post: &str, open: &str) -> Vec<Document> {
    let found = gateway.raw("posts").find_one(doc! { "_id": key(post) }).await;
    let model = found.expect("read").expect("a post");
    let posts: Vec<Document> = (1..=HIDDEN)
        .map(|n| {
            let mut post = model.clone();
            let id = format!("{}-{n}", post_id(&model));
            let shown = post.get_document_mut("shown").expect("a post");
            shown.insert("id", &id);
            shown.insert("at", DateTime::from_millis(at_of(&model).timestamp_millis() + n));
            if n == OPEN {
                shown.extend(doc! { "audience": "public", "circles": [], "text": open });
            }
            post.insert("_id", id);
            post
        })
        .collect();
    gateway.raw("posts").insert_many(&posts).await.expect("inserted");
    let wall = gateway.raw("feedPages");
    let newest = wall.find_one(doc! { "feed": "wall star" }).sort(doc! { "month": -1, "from": -1 });
    let newest = newest.await.expect("read").expect("a page");
    let (month, last) = (newest.get_str("month").expect("a month"), newest.get_i32("n"));
    let pages = (last.expect("a number") + 1..).zip(posts.chunks(50)).map(|(n, some)| {
        let copies: Vec<Document> = some.iter().map(shown_of).cloned().collect();
        doc! {
            "_id": format!("wall star {month} {n}"), "feed": "wall star", "month": month, "n": n,
            "from": at_of(&some[0]), "full": true, "posts": copies, "v": 1,
        }
    });
    wall.insert_many(pages.collect::<Vec<_>>()).await.expect("inserted");
    posts
}

/// A star whose news and wall have many hidden posts with this text above some that everyone may see. Returns the hidden ones.
async fn hidden_posts(gateway: &Gateway, text: &str) -> Vec<Document> {
    people(gateway, &["star", "ann", "reader", "stranger"]).await;
    for fan in ["bob", "cleo", "dan"] {
        people(gateway, &[fan]).await;
        circle(gateway, fan, "star", "a").await;
    }
    celebrate(gateway, "star", "first").await;
    for followed in ["star", "ann"] {
        circle(gateway, "reader", followed, "a").await;
    }
    circle(gateway, "star", "bob", "out").await;
    posted(gateway, "star", "seen").await;
    posted(gateway, "ann", "ann's").await;
    let post = hidden(gateway, text).await;
    multiplied(gateway, &post, "open").await
}

/// A post of the star to a circle that the reader isn't in.
async fn hidden(gateway: &Gateway, text: &str) -> String {
    let input = json!({ "audience": "NAMED", "circles": ["out"], "text": text });
    let post = posted_with(gateway, "star", input).await;
    deliver(gateway).await;
    post
}

async fn gateway() -> Gateway {
    gateway_with(|_| {}).await
}

async fn gateway_with(change: impl FnOnce(&mut Config)) -> Gateway {
    Gateway::with(|config| {
        config.post_delivery_followers = 2;
        long_bounds(config);
        change(config);
    })
    .await
}

/// What the commands of a request on a collection examined, each.
fn examined(response: &Value, collection: &str) -> Vec<i64> {
    let sent = response["extensions"]["docgate"]["commands"].as_array().expect("commands");
    let on = sent.iter().filter(|one| one["collection"] == collection);
    on.map(|one| one["docsExamined"].as_i64().unwrap_or_default()).collect()
}

/// Checks that a page ended early without elements, and that its cursor tells nothing of the hidden posts.
fn assert_early(page: &Value, hidden: &[Document]) {
    assert!(texts(page).is_empty(), "{page:#}");
    assert_eq!(page["pageInfo"]["hasNextPage"], true, "{page:#}");
    let cursor = page["pageInfo"]["endCursor"].as_str().expect("a cursor");
    let bytes = URL_SAFE_NO_PAD.decode(cursor).expect("bytes");
    let holds = |some: &[u8]| bytes.windows(some.len()).any(|part| part == some);
    for post in hidden {
        assert!(!holds(post_id(post).as_bytes()), "{post:#?}");
        for millis in [0, 1] {
            let millis = at_of(post).timestamp_millis() + millis;
            assert!(!holds(&millis.to_le_bytes()), "{post:#?}");
        }
    }
}

/// The texts of all pages, each of which is read by a request that `judge` looks at.
async fn all_pages(
    client: &Client,
    query: &str,
    first: i32,
    judge: impl Fn(&Value),
) -> Vec<String> {
    let found = all_nodes(json!({ "first": first }), async |page| {
        let response = client.explained(query, page).await;
        judge(&response);
        let list = &response["data"]["list"];
        if let Some(last) = list["edges"].as_array().expect("edges").last() {
            assert_eq!(last["cursor"], list["pageInfo"]["endCursor"], "{response:#}");
        }
        // As a client that selects nodes alone.
        json!({ "nodes": list["nodes"], "pageInfo": list["pageInfo"] })
    });
    texts_of(&found.await, "text")
}

#[tokio::test(flavor = "multi_thread")]
async fn news_end_a_page_early_rather_than_examine_any_number_of_hidden_posts() {
    let gateway = gateway().await;
    let hidden = hidden_posts(&gateway, "hidden").await;
    let reader = gateway.shopper("reader");
    let first = reader.field(NEWS, json!({ "first": 5 })).await;
    assert_early(&first, &hidden);
    for first in [1, 5, 50] {
        let found = all_pages(&reader, NEWS, first, |response| {
            let examined = examined(response, "posts");
            assert!(examined.len() <= 3, "{response:#}");
            assert!(examined.iter().all(|documents| *documents <= 600), "{response:#}");
        });
        assert_eq!(found.await, ["open", "ann's", "seen"], "{first} at a time");
    }
    let fan = all_pages(&gateway.shopper("bob"), NEWS, 100, |_| {}).await;
    // Those of the star: the first ones, one that is hidden from others, and what was made of it.
    assert_eq!(fan.len(), 2 + 1 + 1_100);
    // A cursor belongs to its reader.
    let after = json!({ "first": 5, "after": first["pageInfo"]["endCursor"] });
    let refused = gateway.shopper("bob").run(NEWS, after).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{refused:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wall_ends_a_page_early_rather_than_examine_any_number_of_hidden_posts() {
    let gateway = gateway().await;
    let hidden = hidden_posts(&gateway, "hidden").await;
    let stranger = gateway.shopper("stranger");
    let first = stranger.field(WALL, json!({ "first": 5 })).await;
    assert_early(&first, &hidden);
    for first in [1, 5, 50] {
        let found = all_pages(&stranger, WALL, first, |response| {
            // Each has up to 50 copies.
            let pages: i64 = examined(response, "feedPages").iter().sum();
            assert!(pages <= 14, "{response:#}");
        });
        assert_eq!(found.await, ["open", "seen", "first"], "{first} at a time");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wall_ends_a_page_early_rather_than_read_any_number_of_bytes() {
    // One operation may read three quarters of it. The posts that a page of a hundred examines have 20 MB. A quarter of the
    // smaller one is less than a stored page has.
    for most in [20_000_000, 4_000_000] {
        let gateway = gateway_with(|config| config.max_read_bytes = most).await;
        hidden_posts(&gateway, &"\u{1f600}".repeat(5_000)).await;
        let stranger = gateway.shopper("stranger");
        for first in [5, 100] {
            let found = all_pages(&stranger, WALL, first, |_| {});
            assert_eq!(found.await, ["open", "seen", "first"], "{first} at a time of {most}");
        }
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_isnt_told_that_hidden_posts_are_the_newest() {
    let gateway = gateway().await;
    let posts = hidden_posts(&gateway, "hidden").await;
    let mut socket = gateway.session(gateway.shopper("reader").token.as_deref()).await;
    let query = "subscription { newsChanged { latest { text } } }";
    socket.subscribe("1", query, json!({})).await;
    let latest = |heard: &Value| heard["data"]["newsChanged"]["latest"].clone();
    // Within what a page examines there is nothing to see.
    assert_eq!(latest(&socket.next("1").await), Value::Null);
    let last = at_of(posts.last().expect("a post"));
    until("the hidden posts are past", async || gateway.app.clock() > last).await;
    posted(&gateway, "star", "new").await;
    assert_eq!(latest(&socket.next("1").await), json!({ "text": "new" }));
    let post = hidden(&gateway, "hidden").await;
    multiplied(&gateway, &post, "another").await;
    socket.is_silent(Duration::from_millis(500)).await;
}
