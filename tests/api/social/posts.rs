//! Posts, comments and polls.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    BLOCK, COMMENT, CREATE_POST, DELETE_POST, EDIT_POST, POST, VOTE, circle, deliver, does, news,
    people, posted, posted_with, uncircle, wall,
};
use crate::{
    assets,
    support::{Gateway, key, short_bounds},
};

async fn seen(gateway: &Gateway, by: &str, id: &str) -> Value {
    gateway.shopper(by).run(POST, json!({ "id": id })).await["data"]["post"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_types_of_posts() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann"]).await;
    let file = assets::file("tram", "text/plain", "x");
    let photo = assets::uploaded(&gateway, json!({ "slug": "tram", "access": [] }), &file).await;
    let photo = photo["id"].as_str().expect("an id");
    let details = [
        ("STATUS", Value::Null),
        ("PHOTO", json!({ "photo": { "assetIds": [photo] } })),
        ("LINK", json!({ "link": { "url": "https://example.org/a?b=$c", "title": "Title" } })),
        ("CHECK_IN", json!({ "checkIn": { "place": "Lisbon" } })),
        ("POLL", json!({ "poll": { "choices": ["yes", "no"] } })),
    ];
    for (kind, detail) in details {
        let input = json!({ "audience": "PUBLIC", "text": kind, "detail": detail });
        let post = does(&gateway, "ann", CREATE_POST, input).await;
        assert_eq!(post["type"], kind, "{post:#}");
    }
    deliver(&gateway).await;
    let list = "query { wall { nodes { type detail { __typename
        ... on PhotoDetail { photos { id url } } ... on LinkDetail { url title }
        ... on CheckInDetail { place } ... on PollDetail { choices { text votes } myChoice } } } } }";
    let found = gateway.shopper("ann").field(list, json!({})).await;
    let node = |n: usize| &found["nodes"][n];
    assert_eq!(node(0)["detail"]["choices"][1], json!({ "text": "no", "votes": 0 }), "{found:#}");
    assert_eq!(node(1)["detail"]["place"], "Lisbon");
    assert_eq!(node(2)["detail"]["url"], "https://example.org/a?b=$c");
    assert_eq!(node(3)["detail"]["photos"][0]["id"], json!(photo));
    assert_eq!(node(4)["detail"], Value::Null);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_posts_name_their_field_and_change_nothing() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "ann", "bob", "friends").await;
    circle(&gateway, "bob", "ann", "frends").await;
    let before = gateway.snapshot().await;
    let cases = [
        ("circles", json!({ "audience": "NAMED", "text": "a" })),
        ("circles", json!({ "audience": "NAMED", "text": "a", "circles": ["frends"] })),
        ("circles", json!({ "audience": "NAMED", "text": "a", "circles": ["friends", "frends"] })),
        ("circles", json!({ "audience": "PUBLIC", "text": "a", "circles": ["b"] })),
        ("circles.0", json!({ "audience": "NAMED", "text": "a", "circles": ["a.b"] })),
        ("text", json!({ "audience": "PUBLIC" })),
        ("text", json!({ "audience": "PUBLIC", "text": "x".repeat(5_001) })),
        (
            "detail.link.url",
            json!({ "audience": "PUBLIC", "detail": { "link": { "url": "javascript:a" } } }),
        ),
        (
            "detail.poll.choices",
            json!({ "audience": "PUBLIC", "detail": { "poll": { "choices": ["a"] } } }),
        ),
        (
            "detail.photo.assetIds",
            json!({ "audience": "PUBLIC", "detail": { "photo": { "assetIds": [] } } }),
        ),
    ];
    for (field, input) in cases {
        let said = does(&gateway, "ann", CREATE_POST, input).await;
        assert_eq!(said["field"], format!("input.{field}"), "{said:#}");
    }
    let nobody = json!({ "audience": "PUBLIC", "text": "a", "toUserId": "nobody" });
    let cases = [
        ("ann", nobody, "there is no user \"nobody\""),
        (
            "nobody",
            json!({ "audience": "PUBLIC", "text": "a" }),
            "you have no profile yet; create it with `createUser`",
        ),
    ];
    for (by, input, message) in cases {
        let said = does(&gateway, by, CREATE_POST, input).await;
        assert_eq!((&said["code"], &said["message"]), (&json!("NOT_FOUND"), &json!(message)));
    }
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_makes_one_post_and_one_comment() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann"]).await;
    let input = json!({ "audience": "PUBLIC", "text": "once", "idempotencyKey": "op" });
    let all = join_all((0..8).map(|_| does(&gateway, "ann", CREATE_POST, input.clone()))).await;
    assert!(all.iter().all(|post| post == &all[0]), "{all:#?}");
    let other = json!({ "audience": "PUBLIC", "text": "other", "idempotencyKey": "op" });
    assert_eq!(does(&gateway, "ann", CREATE_POST, other).await["code"], "CONFLICT");
    let input = json!({ "postId": all[0]["id"], "text": "$once", "idempotencyKey": "op" });
    let said = join_all((0..8).map(|_| does(&gateway, "ann", COMMENT, input.clone()))).await;
    assert!(said.iter().all(|post| post["commentCount"] == 1), "{said:#?}");
    let other = json!({ "postId": all[0]["id"], "text": "other", "idempotencyKey": "op" });
    assert_eq!(does(&gateway, "ann", COMMENT, other).await["code"], "CONFLICT");
    deliver(&gateway).await;
    assert_eq!(wall(&gateway.shopper("ann"), "ann").await, ["once"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_finds_its_post_although_the_photo_is_gone() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann"]).await;
    let file = assets::file("tram", "text/plain", "x");
    let photo = assets::uploaded(&gateway, json!({ "slug": "tram", "access": [] }), &file).await;
    let detail = json!({ "photo": { "assetIds": [photo["id"]] } });
    let with_key = |key: &str| {
        let input = json!({ "audience": "PUBLIC", "detail": detail, "idempotencyKey": key });
        does(&gateway, "ann", CREATE_POST, input)
    };
    let post = with_key("op").await;
    assert_eq!(post["type"], "PHOTO", "{post:#}");
    assets::deleted(&gateway, &photo).await;
    assert_eq!(with_key("op").await, post);
    assert_eq!(with_key("other").await["code"], "NOT_FOUND");
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_circle_is_named_and_a_repeat_finds_its_post_although_the_circle_is_gone() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "ann", "bob", "friends").await;
    let input = |name: &str| json!({ "audience": "NAMED", "circles": [name], "text": "a", "idempotencyKey": "op" });
    let refused = does(&gateway, "ann", CREATE_POST, input("frends")).await;
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("nobody in the circle \"frends\""), "{refused:#}");
    let post = does(&gateway, "ann", CREATE_POST, input("friends")).await;
    assert_eq!(post["__typename"], "Post", "{post:#}");
    uncircle(&gateway, "ann", "bob", "friends").await;
    assert_eq!(does(&gateway, "ann", CREATE_POST, input("friends")).await, post);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authors_circles_decide_at_every_read() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    for reader in ["bob", "cleo"] {
        circle(&gateway, reader, "ann", "mine").await;
    }
    circle(&gateway, "ann", "bob", "friends").await;
    circle(&gateway, "ann", "cleo", "work").await;
    let named = json!({ "audience": "NAMED", "circles": ["friends"], "text": "to friends" });
    let id = posted_with(&gateway, "ann", named).await;
    posted_with(&gateway, "ann", json!({ "audience": "CIRCLES", "text": "to all" })).await;
    deliver(&gateway).await;
    let (bob, cleo) = (gateway.shopper("bob"), gateway.shopper("cleo"));
    assert_eq!(news(&bob).await, ["to all", "to friends"]);
    assert_eq!(news(&cleo).await, ["to all"]);
    assert_eq!(wall(&cleo, "ann").await, ["to all"]);
    assert_eq!(seen(&gateway, "bob", &id).await["text"], "to friends");
    assert_eq!(seen(&gateway, "cleo", &id).await, Value::Null);
    let node = "query($id: ID!) { node(id: $id) { id } nodes(ids: [$id]) { id } }";
    let found = cleo.run(node, json!({ "id": id })).await;
    assert_eq!(found["data"], json!({ "node": null, "nodes": [null] }), "{found:#}");
    for mutation in [COMMENT, EDIT_POST] {
        let mut input = json!({ "postId": id, "text": "x" });
        if mutation == EDIT_POST {
            input["version"] = json!("0");
        }
        assert_eq!(does(&gateway, "cleo", mutation, input).await["code"], "NOT_FOUND");
    }
    // A copy is there, and it isn't shown any more.
    uncircle(&gateway, "ann", "bob", "friends").await;
    assert!(news(&bob).await.is_empty());
    assert_eq!(seen(&gateway, "bob", &id).await, Value::Null);
    circle(&gateway, "ann", "bob", "work").await;
    assert_eq!(news(&bob).await, ["to all"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_is_removed_while_a_post_is_delivered_doesnt_see_it() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    circle(&gateway, "bob", "ann", "mine").await;
    // The circle isn't empty when the post is created.
    circle(&gateway, "ann", "cleo", "friends").await;
    for n in 0..10 {
        circle(&gateway, "ann", "bob", "friends").await;
        let input =
            json!({ "audience": "NAMED", "circles": ["friends"], "text": format!("post {n}") });
        tokio::join!(
            posted_with(&gateway, "ann", input),
            uncircle(&gateway, "ann", "bob", "friends")
        );
        deliver(&gateway).await;
        assert!(news(&gateway.shopper("bob")).await.is_empty());
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_is_voted_once_by_each_user() {
    let gateway = Gateway::start().await;
    let voters: Vec<String> = (0..12).map(|n| format!("voter-{n}")).collect();
    people(&gateway, &["ann"]).await;
    for voter in &voters {
        people(&gateway, &[voter]).await;
    }
    let poll = json!({ "poll": { "choices": ["a", "b", "c"] } });
    let input = json!({ "audience": "PUBLIC", "detail": poll });
    let id = posted_with(&gateway, "ann", input).await;
    let calls = (0..48).map(|n: usize| {
        let (voter, choice) = (&voters[n % 12], n / 12 % 2 + (n % 2));
        does(&gateway, voter, VOTE, json!({ "postId": id, "choice": choice }))
    });
    for said in join_all(calls).await {
        assert!(
            ["Post", "AlreadyVoted"].contains(&said["__typename"].as_str().expect("a name")),
            "{said:#}"
        );
    }
    let post = seen(&gateway, "voter-3", &id).await;
    let choices = post["detail"]["choices"].as_array().expect("choices").clone();
    let sum: i64 = choices.iter().map(|choice| choice["votes"].as_i64().expect("a number")).sum();
    assert_eq!(sum, 12, "{post:#}");
    let mine = post["detail"]["myChoice"].as_i64().expect("a choice");
    let other =
        does(&gateway, "voter-3", VOTE, json!({ "postId": id, "choice": (mine + 1) % 3 })).await;
    assert_eq!((&other["code"], &other["choice"]), (&json!("ALREADY_VOTED"), &json!(mine)));
    for choice in [-1, 3] {
        let said = does(&gateway, "ann", VOTE, json!({ "postId": id, "choice": choice })).await;
        assert_eq!(said["field"], "input.choice", "{said:#}");
    }
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_of_blocked_users_are_hidden() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    let id = posted(&gateway, "ann", "a post").await;
    for n in 0..5 {
        let by = if n % 2 == 0 { "bob" } else { "cleo" };
        does(&gateway, by, COMMENT, json!({ "postId": id, "text": format!("{n}") })).await;
    }
    does(&gateway, "ann", BLOCK, json!({ "userId": "bob" })).await;
    let list = "query($id: ID!) { post(id: $id) { commentCount latestComments { text }
        all: comments { nodes { text author { name } } }
        newest: comments(first: 1) { nodes { text } pageInfo { hasNextPage } }
        oldest: comments(last: 1) { nodes { text } pageInfo { hasPreviousPage } } } }";
    let own = gateway.shopper("ann").field(list, json!({ "id": id })).await;
    assert_eq!(
        (&own["commentCount"], &own["latestComments"]),
        (&json!(5), &json!([{ "text": "3" }]))
    );
    assert_eq!(super::texts(&own["all"]), ["3", "1"]);
    let other = gateway.shopper("cleo").field(list, json!({ "id": id })).await;
    assert_eq!(super::texts(&other["all"]), ["4", "3", "2", "1", "0"]);
    assert_eq!(other["latestComments"], json!([{ "text": "2" }, { "text": "3" }, { "text": "4" }]));
    assert_eq!(
        (&other["newest"]["nodes"][0]["text"], &other["newest"]["pageInfo"]["hasNextPage"]),
        (&json!("4"), &json!(true))
    );
    assert_eq!(
        (&other["oldest"]["nodes"][0]["text"], &other["oldest"]["pageInfo"]["hasPreviousPage"]),
        (&json!("0"), &json!(true))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_user_leaves_room_for_the_comments_of_others() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    let id = posted(&gateway, "ann", "a post").await;
    let comment = |text: &str| json!({ "postId": id, "text": text });
    let repeated = json!({ "postId": id, "text": "the first", "idempotencyKey": "first" });
    let first = does(&gateway, "bob", COMMENT, repeated.clone()).await;
    assert_eq!(first["commentCount"], 1, "{first:#}");
    for _ in 1..100 {
        let done = does(&gateway, "bob", COMMENT, comment("more")).await;
        assert_eq!(done["__typename"], "Post", "{done:#}");
    }
    let refused = does(&gateway, "bob", COMMENT, comment("too much")).await;
    assert_eq!(refused["field"], "input.postId", "{refused:#}");
    let again = does(&gateway, "bob", COMMENT, repeated).await;
    assert_eq!(again["commentCount"], 100, "{again:#}");
    let other = does(&gateway, "cleo", COMMENT, comment("hers")).await;
    assert_eq!(other["commentCount"], 101, "{other:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_needs_the_version_and_a_deletion_is_final() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    let id = posted(&gateway, "ann", "first").await;
    let edit =
        |version: &str, text: &str| json!({ "postId": id, "version": version, "text": text });
    let done = does(&gateway, "ann", EDIT_POST, edit("0", "$second")).await;
    assert_eq!((&done["text"], &done["version"]), (&json!("$second"), &json!("1")), "{done:#}");
    assert_eq!(does(&gateway, "ann", EDIT_POST, edit("0", "$second")).await, done, "a repeat");
    assert_eq!(does(&gateway, "ann", EDIT_POST, edit("0", "third")).await["code"], "CONFLICT");
    assert_eq!(does(&gateway, "bob", EDIT_POST, edit("1", "third")).await["code"], "NOT_FOUND");
    assert_eq!(does(&gateway, "ann", EDIT_POST, edit("1", " ")).await["field"], "input.text");
    assert_eq!(
        does(&gateway, "bob", DELETE_POST, json!({ "postId": id })).await["code"],
        "NOT_FOUND"
    );
    for _ in 0..2 {
        let gone = does(&gateway, "ann", DELETE_POST, json!({ "postId": id })).await;
        assert_eq!(gone["postId"], json!(id), "{gone:#}");
    }
    assert_eq!(seen(&gateway, "ann", &id).await, Value::Null);
    let keyed = json!({ "audience": "PUBLIC", "text": "first", "idempotencyKey": "op" });
    let other = posted_with(&gateway, "ann", keyed.clone()).await;
    does(&gateway, "ann", DELETE_POST, json!({ "postId": other })).await;
    assert_eq!(does(&gateway, "ann", CREATE_POST, keyed).await["code"], "CONFLICT");
    let late = does(&gateway, "bob", COMMENT, json!({ "postId": id, "text": "late" })).await;
    assert_eq!(late["code"], "NOT_FOUND", "{late:#}");
    deliver(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_deleted_post_in_the_end() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.flow_ops_seconds = 1;
    })
    .await;
    people(&gateway, &["ann"]).await;
    let poll = json!({ "poll": { "choices": ["a", "b"] } });
    let id = posted_with(&gateway, "ann", json!({ "audience": "PUBLIC", "detail": poll })).await;
    does(&gateway, "ann", VOTE, json!({ "postId": id, "choice": 1 })).await;
    does(&gateway, "ann", DELETE_POST, json!({ "postId": id })).await;
    gateway.sweep().await;
    assert_eq!(gateway.snapshot().await["posts"].len(), 1, "a job may still deliver it");
    deliver(&gateway).await;
    // A worker that has lost its lease puts a copy after that, and dies.
    let from = gateway.app.clock();
    let late = doc! {
        "_id": "news late 2026-11 0", "feed": "news late", "month": "2026-11", "n": 0, "from": from,
        "full": false, "posts": [{ "id": key(&id) }], "v": 1,
    };
    gateway.raw("feedPages").insert_one(late).await.expect("inserted");
    gateway.sweep().await;
    let left = gateway.snapshot().await;
    assert!(!left.contains_key("posts") && !left.contains_key("votes"));
    let pages = left.get("feedPages").into_iter().flatten();
    assert!(pages.map(|page| page.get_array("posts").expect("copies")).all(Vec::is_empty));
}
