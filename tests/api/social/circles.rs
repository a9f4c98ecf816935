//! Users, circles, followers and blocks.

use docgate::graphql::node_id::NodeKind;
use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{BLOCK, CIRCLE, CREATE_USER, UNBLOCK, circle, does, people, uncircle};
use crate::{
    assets,
    support::{Client, Gateway, all_nodes, cuts, proxy::Seen, texts_of, very_long_bounds},
};

const USER: &str =
    "query($id: ID) { user(id: $id) { id userId name about version circles followerCount } }";
const FOLLOWERS: &str = "query($userId: ID, $first: Int, $after: String) {
    followers(userId: $userId, first: $first, after: $after) {
    nodes { userId name } pageInfo { hasNextPage endCursor } } }";
const FOLLOWING: &str =
    "query($userId: ID, $circle: String) { following(userId: $userId, circle: $circle) {
    nodes { userId circles user { name } } } }";
const UPDATE: &str = "mutation($input: UpdateProfileInput!) { updateProfile(input: $input) {
    __typename ... on User { name about version } ... on UserError { code } ... on InvalidInput { field } } }";

fn subjects(list: &Value) -> Vec<String> {
    let nodes = list["nodes"].as_array().expect("nodes");
    nodes.iter().map(|node| node["userId"].as_str().expect("a subject").to_owned()).collect()
}

async fn followers(client: &Client, of: &str) -> Vec<String> {
    subjects(&client.field(FOLLOWERS, json!({ "userId": of })).await)
}

async fn following(client: &Client, variables: Value) -> Vec<String> {
    subjects(&client.field(FOLLOWING, variables).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_the_subject_of_the_token() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("auth0|ann");
    let input = json!({ "input": { "name": " Ann ", "about": "I" } });
    let made = ann.field(CREATE_USER, input.clone()).await;
    assert_eq!((&made["userId"], &made["name"]), (&json!("auth0|ann"), &json!("Ann")), "{made:#}");
    assert_eq!(ann.field(CREATE_USER, input).await, made, "a repeat");
    let other = json!({ "input": { "name": "Anna" } });
    assert_eq!(ann.field(CREATE_USER, other).await["code"], "ALREADY_EXISTS");

    let seen = gateway.shopper("bob").field(USER, json!({ "id": made["id"] })).await;
    assert_eq!((&seen["name"], &seen["circles"]), (&json!("Ann"), &json!([])));
    assert_eq!(gateway.shopper("bob").run(USER, json!({})).await["data"]["user"], Value::Null);
    let by_subject = "query($id: ID, $userId: ID) { user(id: $id, userId: $userId) { id } }";
    let (bob, subject) = (gateway.shopper("bob"), json!({ "userId": "auth0|ann" }));
    assert_eq!(bob.field(by_subject, subject).await["id"], made["id"]);
    for unknown in ["nobody", "x".repeat(200).as_str()] {
        assert_eq!(bob.field(by_subject, json!({ "userId": unknown })).await, Value::Null);
    }
    for given in [json!({ "userId": "" }), json!({ "id": made["id"], "userId": "auth0|ann" })] {
        let refused = bob.run(by_subject, given).await;
        assert_eq!(refused["errors"][0]["extensions"]["field"], "userId", "{refused:#}");
    }
    let nobody = gateway.anonymous();
    assert_eq!(nobody.error_code(USER, json!({ "id": made["id"] })).await, "UNAUTHENTICATED");
    let node = "query($id: ID!) { node(id: $id) { id } }";
    let seen = nobody.run(node, json!({ "id": made["id"] })).await;
    assert_eq!(seen["data"]["node"], Value::Null);

    let claim = "mutation { claimIdentity(input: { identity: { username: \"ann\" }, userId: \"auth0|ann\" }) {
        __typename } }";
    assert_eq!(gateway.service().field(claim, json!({})).await["__typename"], "Identity");
    let by = "query { userBy(identity: { username: \"Ann\" }) { id user { id name } } }";
    let found = ann.field(by, json!({})).await;
    assert_eq!((&found["id"], &found["user"]["id"]), (&json!("auth0|ann"), &made["id"]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_changed_only_from_the_version_that_was_read() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann"]).await;
    let update = |version: &str, name: &str| json!({ "version": version, "name": name });
    let done = does(&gateway, "ann", UPDATE, update("0", "Anna")).await;
    assert_eq!((&done["name"], &done["version"]), (&json!("Anna"), &json!("1")));
    assert_eq!(does(&gateway, "ann", UPDATE, update("0", "Anna")).await, done, "a repeat");
    for (version, name) in [("0", "Other"), ("x", "Other"), ("9223372036854775807", "Other")] {
        let said = does(&gateway, "ann", UPDATE, update(version, name)).await;
        assert_eq!(said["code"], "CONFLICT", "{version}: {said:#}");
    }
    let said = does(&gateway, "bob", UPDATE, update("0", "Bob")).await;
    assert_eq!(said["code"], "NOT_FOUND", "{said:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_finds_its_profile_although_the_picture_is_gone() {
    let gateway = Gateway::start().await;
    let mut pictures = Vec::new();
    for slug in ["first", "second"] {
        let file = assets::file(slug, "text/plain", slug);
        let input = json!({ "slug": slug, "access": [] });
        pictures.push(assets::uploaded(&gateway, input, &file).await);
    }
    let create = json!({ "name": "Ann", "pictureId": pictures[0]["id"] });
    let update = json!({ "version": "0", "name": "Anna", "pictureId": pictures[1]["id"] });
    for (mutation, input, picture) in
        [(CREATE_USER, create.clone(), &pictures[0]), (UPDATE, update.clone(), &pictures[1])]
    {
        let done = does(&gateway, "ann", mutation, input.clone()).await;
        assert_eq!(done["__typename"], "User", "{done:#}");
        assets::deleted(&gateway, picture).await;
        assert_eq!(does(&gateway, "ann", mutation, input).await, done);
    }
    assert_eq!(does(&gateway, "bob", CREATE_USER, create).await["code"], "NOT_FOUND");
    people(&gateway, &["bob"]).await;
    assert_eq!(does(&gateway, "bob", UPDATE, update).await["code"], "NOT_FOUND");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_who_is_being_erased_hides_no_others() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo", "dora"]).await;
    for by in ["bob", "cleo", "dora"] {
        circle(&gateway, by, "ann", "friends").await;
    }
    // As between two steps of the erasure.
    let users = gateway.raw("users");
    let removed = users.delete_one(doc! { "_id": "bob" }).await.expect("removed");
    assert_eq!(removed.deleted_count, 1);
    let (ann, mut after) = (gateway.shopper("ann"), Value::Null);
    for (subject, has_next) in [("cleo", true), ("dora", false)] {
        let variables = json!({ "userId": "ann", "first": 1, "after": after });
        let page = ann.field(FOLLOWERS, variables).await;
        assert_eq!(subjects(&page), [subject], "{page:#}");
        assert_eq!(page["pageInfo"]["hasNextPage"], has_next, "{page:#}");
        after = page["pageInfo"]["endCursor"].clone();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_see_who_is_in_a_circle_and_only_its_owner_sees_which() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cleo"]).await;
    let (ann, bob) = (gateway.shopper("ann"), gateway.shopper("bob"));
    circle(&gateway, "ann", "bob", "friends").await;
    circle(&gateway, "ann", "bob", "work").await;
    circle(&gateway, "ann", "bob", "work").await;
    circle(&gateway, "ann", "cleo", "work").await;
    circle(&gateway, "cleo", "bob", "friends").await;
    assert_eq!(followers(&bob, "bob").await.len(), 2);
    assert_eq!(following(&ann, json!({})).await, ["bob", "cleo"]);
    assert_eq!(following(&ann, json!({ "circle": "friends" })).await, ["bob"]);
    assert_eq!(following(&ann, json!({ "circle": "work" })).await, ["bob", "cleo"]);
    let own = ann.field(FOLLOWING, json!({})).await;
    assert_eq!(own["nodes"][0]["circles"], json!(["friends", "work"]));
    assert_eq!(own["nodes"][0]["user"]["name"], "bob");
    // Others see whom she follows, and nothing of her circles.
    let seen = bob.field(FOLLOWING, json!({ "userId": "ann" })).await;
    assert_eq!(subjects(&seen), ["bob", "cleo"]);
    assert_eq!(
        (&seen["nodes"][0]["circles"], &seen["nodes"][1]["circles"]),
        (&json!([]), &json!([]))
    );
    for name in ["work", "friends", "none"] {
        assert!(following(&bob, json!({ "userId": "ann", "circle": name })).await.is_empty());
    }
    gateway.assert_sound().await;

    uncircle(&gateway, "ann", "bob", "friends").await;
    assert_eq!(followers(&ann, "bob").await.len(), 2);
    uncircle(&gateway, "ann", "bob", "work").await;
    uncircle(&gateway, "ann", "bob", "work").await;
    assert_eq!(followers(&ann, "bob").await, ["cleo"]);
    assert_eq!(following(&ann, json!({})).await, ["cleo"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_circles_that_could_break_a_path_are_refused() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    let before = gateway.snapshot().await;
    let long = "c".repeat(8_192);
    for name in ["", " ", "a.b", ".", "$a", "$set", "a\nb", "a\0b", " a", long.as_str()] {
        let said = does(&gateway, "ann", CIRCLE, json!({ "userId": "bob", "circle": name })).await;
        assert_eq!(said["field"], "input.circle", "{name:.20}: {said:#}");
    }
    let said = does(&gateway, "ann", CIRCLE, json!({ "userId": "ann", "circle": "a" })).await;
    assert_eq!(said["field"], "input.userId", "{said:#}");
    for nobody in ["nobody", "$bob", "a.b"] {
        let said = does(&gateway, "ann", CIRCLE, json!({ "userId": nobody, "circle": "a" })).await;
        assert_eq!(said["code"], "NOT_FOUND", "{said:#}");
    }
    let said = does(&gateway, "nobody", CIRCLE, json!({ "userId": "ann", "circle": "a" })).await;
    assert_eq!(said["code"], "NOT_FOUND", "{said:#}");
    assert!(gateway.snapshot().await == before);
    for n in 0..20 {
        circle(&gateway, "ann", "bob", &format!("circle {n} \u{1f600}")).await;
    }
    let full =
        does(&gateway, "ann", CIRCLE, json!({ "userId": "bob", "circle": "one more" })).await;
    assert_eq!(full["field"], "input.circle", "{full:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_are_listed_page_by_page() {
    let gateway = Gateway::start().await;
    people(&gateway, &["star"]).await;
    let fans: Vec<String> = (0..25).map(|n| format!("fan-{n}")).collect();
    for fan in &fans {
        people(&gateway, &[fan]).await;
        circle(&gateway, fan, "star", "stars").await;
    }
    let star = gateway.shopper("star");
    let pages = json!({ "userId": "star", "first": 10 });
    let found = all_nodes(pages, async |page| star.field(FOLLOWERS, page).await).await;
    let mut found = texts_of(&found, "userId");
    found.sort();
    let mut fans = fans;
    fans.sort();
    assert_eq!(found, fans);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_agree_after_a_thousand_follows_and_unfollows_at_once() {
    let gateway = Gateway::with(very_long_bounds).await;
    people(&gateway, &["ann", "bob"]).await;
    let sibling = gateway.sibling().await;
    let pairs = [("ann", "bob"), ("bob", "ann")];
    for round in 0..10 {
        let calls = (0..100).map(|n: usize| {
            let gateway = if n.is_multiple_of(3) { &sibling } else { &gateway };
            let ((by, of), name) =
                (pairs[n % 2], if n.is_multiple_of(5) { "other" } else { "friends" });
            async move {
                if (n / 2).is_multiple_of(2) {
                    circle(gateway, by, of, name).await;
                } else {
                    uncircle(gateway, by, of, name).await;
                }
            }
        });
        join_all(calls).await;
        for (by, of) in pairs {
            let (mine, theirs) = (gateway.shopper(by), gateway.shopper(of));
            let follows = following(&mine, json!({})).await.contains(&of.to_owned());
            let followed = followers(&theirs, of).await.contains(&by.to_owned());
            assert_eq!(follows, followed, "round {round}");
        }
        gateway.assert_sound().await;
    }
    for (by, of) in pairs {
        for name in ["friends", "other"] {
            uncircle(&gateway, by, of, name).await;
        }
        assert!(followers(&gateway.shopper(of), of).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_seen_by_nobody_else() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    for _ in 0..2 {
        let done = does(&gateway, "ann", BLOCK, json!({ "userId": "bob" })).await;
        assert_eq!(done["isBlocked"], true, "{done:#}");
    }
    let seen = does(&gateway, "bob", UNBLOCK, json!({ "userId": "ann" })).await;
    assert_eq!(seen["isBlocked"], false, "{seen:#}");
    let is_blocked = "query { followers { nodes { isBlocked } } user { isBlocked } }";
    let own = gateway.shopper("bob").data(is_blocked, json!({})).await;
    assert_eq!(own["user"]["isBlocked"], false);
    for _ in 0..2 {
        let done = does(&gateway, "ann", UNBLOCK, json!({ "userId": "bob" })).await;
        assert_eq!(done["isBlocked"], false, "{done:#}");
    }
    let said = does(&gateway, "ann", BLOCK, json!({ "userId": "ann" })).await;
    assert_eq!(said["field"], "input.userId", "{said:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_lists_whom_they_block() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob", "cid", "dan", "eve"]).await;
    let query = "query($first: Int, $after: String, $last: Int, $before: String) {
        blockedUsers(first: $first, after: $after, last: $last, before: $before) {
        nodes { userId isBlocked }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
    let blocked = async |subject: &str, page: &str| {
        let client = gateway.shopper(subject);
        all_nodes(json!({ page: 2 }), async |page| client.field(query, page).await).await
    };
    assert!(blocked("ann", "first").await.is_empty());
    for of in ["eve", "bob", "dan", "cid"] {
        does(&gateway, "ann", BLOCK, json!({ "userId": of })).await;
    }
    for page in ["first", "last"] {
        let listed = texts_of(&blocked("ann", page).await, "userId");
        assert_eq!(listed, ["bob", "cid", "dan", "eve"], "{page}");
        assert!(blocked("bob", page).await.is_empty());
    }
    does(&gateway, "ann", UNBLOCK, json!({ "userId": "cid" })).await;
    // The erasure of a user removes the profile before it searches the lists of others.
    gateway.raw("users").delete_one(doc! { "_id": "bob" }).await.expect("removed");
    for page in ["first", "last"] {
        assert_eq!(texts_of(&blocked("ann", page).await, "userId"), ["dan", "eve"], "{page}");
    }
    let code = gateway.anonymous().error_code(query, json!({})).await;
    assert_eq!(code, "UNAUTHENTICATED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_block_or_a_circle_undoes_no_later_change() {
    let base = Gateway::start().await;
    people(&base, &["ann", "bob"]).await;
    let bob = json!({ "userId": "bob" });
    let is_change = |seen: &Seen| seen.collection == "users" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| {
        assert_eq!(does(gateway, "ann", BLOCK, bob.clone()).await["isBlocked"], true);
    };
    let later = async || {
        assert_eq!(does(&base, "ann", UNBLOCK, bob.clone()).await["isBlocked"], false);
    };
    cuts::with_late_copy(&base, is_change, first, later).await;
    let user = "query($id: ID) { user(id: $id) { isBlocked circles } }";
    let id = json!({ "id": NodeKind::USER.id("bob") });
    let seen = base.shopper("ann").field(user, id.clone()).await;
    assert_eq!(seen["isBlocked"], false, "{seen:#}");

    circle(&base, "ann", "bob", "friends").await;
    let is_change = |seen: &Seen| seen.collection == "circles" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| circle(gateway, "ann", "bob", "other").await;
    let later = async || uncircle(&base, "ann", "bob", "other").await;
    cuts::with_late_copy(&base, is_change, first, later).await;
    let seen = base.shopper("ann").field(user, id.clone()).await;
    assert_eq!(seen["circles"], json!(["friends"]), "{seen:#}");

    uncircle(&base, "ann", "bob", "friends").await;
    let is_follow = |seen: &Seen| seen.collection == "circles" && seen.command == "insert";
    let first = async |gateway: &Gateway| circle(gateway, "ann", "bob", "friends").await;
    let later = async || uncircle(&base, "ann", "bob", "friends").await;
    cuts::with_late_copy(&base, is_follow, first, later).await;
    let seen = base.shopper("ann").field(user, id).await;
    assert_eq!(seen["circles"], json!([]), "{seen:#}");
    assert!(followers(&base.shopper("bob"), "bob").await.is_empty());
    base.assert_sound().await;
}
