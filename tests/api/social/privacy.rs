//! What others don't see, whichever way they ask for it; and what a feed costs that is drawn whole.

use std::time::Duration;

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use super::{BLOCK, COMMENT, VOTE, circle, deliver, does, news, people, posted_with, texts};
use crate::{
    assets,
    support::{Gateway, commands},
};

#[tokio::test(flavor = "multi_thread")]
async fn others_circles_blocks_and_posts_are_visible_no_way_round() {
    let gateway = Gateway::with(|config| config.federation = true).await;
    people(&gateway, &["ann", "bob", "cleo", "dan"]).await;
    circle(&gateway, "bob", "cleo", "secret").await;
    for reader in ["ann", "cleo"] {
        circle(&gateway, reader, "bob", "a").await;
    }
    does(&gateway, "bob", BLOCK, json!({ "userId": "dan" })).await;
    let mut sockets = Vec::new();
    let query = "subscription { newsChanged { latest {
        text circles author { circles isBlocked unreadMessageCount } } } }";
    for reader in ["ann", "cleo"] {
        let mut socket = gateway.session(gateway.shopper(reader).token.as_deref()).await;
        socket.subscribe("1", query, json!({})).await;
        assert_eq!(socket.next("1").await["data"]["newsChanged"]["latest"], Value::Null);
        sockets.push(socket);
    }
    let input = json!({ "audience": "NAMED", "circles": ["secret"], "text": "hidden" });
    let hidden = posted_with(&gateway, "bob", input).await;
    deliver(&gateway).await;
    // One who may see the post sees it each way, but not the name of the circle.
    let query = "query($id: ID!, $ids: [ID!]!, $all: [_Any!]!) {
        post(id: $id) { ...seen }
        node(id: $id) { ...seen }
        nodes(ids: $ids) { ...seen }
        _entities(representations: $all) { ...seen } }
        fragment seen on Post { text circles author { circles isBlocked unreadMessageCount } }";
    let all = json!([{ "__typename": "Post", "id": hidden }]);
    let variables = json!({ "id": hidden, "ids": [hidden], "all": all });
    let author = json!({ "circles": ["a"], "isBlocked": false, "unreadMessageCount": null });
    let seen = json!({ "text": "hidden", "circles": [], "author": author });
    let found = gateway.shopper("cleo").data(query, variables.clone()).await;
    let each = json!({ "post": seen, "node": seen, "nodes": [seen], "_entities": [seen] });
    assert_eq!(found, each);
    assert_eq!(sockets[1].next("1").await["data"]["newsChanged"]["latest"], seen);
    let none = json!({ "post": null, "node": null, "nodes": [null], "_entities": [null] });
    for stranger in ["ann", "dan"] {
        let found = gateway.shopper(stranger).run(query, variables.clone()).await;
        assert_eq!(found["data"], none, "{stranger}: {found:#}");
    }
    let query = "query($id: ID!, $ids: [ID!]!, $all: [_Any!]!) {
        node(id: $id) { ... on Post { text } } nodes(ids: $ids) { ... on Post { text } }
        _entities(representations: $all) { ... on Post { text } } }";
    let found = gateway.anonymous().run(query, variables).await;
    let nothing = json!({ "node": null, "nodes": [null], "_entities": [null] });
    assert_eq!(found["data"], nothing, "{found:#}");
    assert!(news(&gateway.shopper("ann")).await.is_empty());
    sockets[0].is_silent(Duration::from_millis(300)).await;
    // What a blocked user writes isn't told either.
    does(&gateway, "ann", BLOCK, json!({ "userId": "bob" })).await;
    posted_with(&gateway, "bob", json!({ "audience": "PUBLIC", "text": "for all" })).await;
    deliver(&gateway).await;
    assert_eq!(sockets[1].next("1").await["data"]["newsChanged"]["latest"]["text"], "for all");
    sockets[0].is_silent(Duration::from_millis(300)).await;

    // Of users, each caller sees their own circles and blocks, whomever they ask for.
    let query = "query($ids: [ID!]!, $all: [_Any!]!) {
        nodes(ids: $ids) { ... on User { name circles isBlocked } }
        _entities(representations: $all) { ... on User { name circles isBlocked } }
        following(userId: \"bob\") { nodes { userId circles } }
        named: following(userId: \"bob\", circle: \"secret\") { nodes { userId } } }";
    let ids: Vec<_> = ["cleo", "dan"].map(|one| NodeKind::USER.id(one)).into();
    let all: Vec<_> = ids.iter().map(|id| json!({ "__typename": "User", "id": id })).collect();
    let variables = json!({ "ids": ids, "all": all });
    let found = gateway.shopper("ann").data(query, variables.clone()).await;
    let plain = json!([
        { "name": "cleo", "circles": [], "isBlocked": false },
        { "name": "dan", "circles": [], "isBlocked": false },
    ]);
    assert_eq!((&found["nodes"], &found["_entities"]), (&plain, &plain));
    let following = json!([{ "userId": "cleo", "circles": [] }]);
    assert_eq!(found["following"]["nodes"], following, "{found:#}");
    assert_eq!(found["named"]["nodes"], json!([]));
    let found = gateway.shopper("bob").data(query, variables).await;
    let own = json!([
        { "name": "cleo", "circles": ["secret"], "isBlocked": false },
        { "name": "dan", "circles": [], "isBlocked": true },
    ]);
    assert_eq!((&found["nodes"], &found["_entities"]), (&own, &own));
    assert_eq!(found["named"]["nodes"], json!([{ "userId": "cleo" }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_is_drawn_whole_takes_a_few_commands() {
    let gateway = Gateway::start().await;
    people(&gateway, &["reader"]).await;
    let create = "mutation($input: CreateUserInput!) { createUser(input: $input) { __typename } }";
    for by in ["ann", "bob", "cleo"] {
        let file = assets::file(by, "text/plain", by);
        let picture = assets::uploaded(&gateway, json!({ "slug": by, "access": [] }), &file).await;
        let input = json!({ "name": by, "pictureId": picture["id"] });
        let made = does(&gateway, by, create, input).await;
        assert_eq!(made["__typename"], "User", "{made:#}");
        circle(&gateway, "reader", by, "a").await;
        circle(&gateway, by, "reader", "a").await;
        let details = [
            json!({ "poll": { "choices": ["yes", "no"] } }),
            json!({ "photo": { "assetIds": [picture["id"]] } }),
            Value::Null,
        ];
        for detail in details {
            let input = json!({ "audience": "CIRCLES", "text": by, "detail": detail });
            let post = posted_with(&gateway, by, input).await;
            does(&gateway, "reader", COMMENT, json!({ "postId": post, "text": "seen" })).await;
            if detail["poll"].is_object() {
                does(&gateway, "reader", VOTE, json!({ "postId": post, "choice": 1 })).await;
            }
        }
    }
    deliver(&gateway).await;
    let query = "query { news(first: 20) { nodes {
        id type text createdAt commentCount isEdited author { name picture { url } circles }
        detail { ... on PollDetail { choices { text votes } myChoice }
            ... on PhotoDetail { photos { url } } }
        latestComments { text author { name } } } } }";
    // The first read of a gateway looks whether there are edges that aren't marked yet.
    assert_eq!(news(&gateway.shopper("reader")).await.len(), 9);
    let found = gateway.shopper("reader").explained(query, json!({})).await;
    let list = &found["data"]["news"];
    assert_eq!(texts(list).len(), 9, "{found:#}");
    for node in list["nodes"].as_array().expect("a list") {
        assert!(node["author"]["picture"]["url"].is_string(), "{node:#}");
        assert_eq!(
            node["latestComments"],
            json!([{ "text": "seen", "author": { "name": "reader" } }])
        );
        if node["type"] == "POLL" {
            assert_eq!(node["detail"]["myChoice"], 1, "{node:#}");
            assert_eq!(node["detail"]["choices"][1]["votes"], 1, "{node:#}");
        }
    }
    // However many posts there are: reads of one moment by key share a command.
    let mut expected = [
        // The page, the caller, the marked edges, and the circles of the authors.
        "find feedPages",
        "find users",
        "find circles",
        "find circles",
        // Side by side: authors and who commented, photos, votes.
        "find users",
        "find assetEntries",
        "find votes",
        // What becomes known by these: pictures and circles of the authors.
        "find circles",
        "find assetEntries",
    ];
    expected.sort_unstable();
    // On a busy machine the reads of one moment may be sent in two.
    let mut sent = Vec::new();
    for _ in 0..200 {
        sent = commands(&gateway.shopper("reader").explained(query, json!({})).await);
        sent.sort();
        if sent == expected {
            break;
        }
    }
    assert_eq!(sent, expected);
}
