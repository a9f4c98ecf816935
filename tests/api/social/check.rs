//! Each invariant finds a fault that is planted.

use mongodb::bson::{Bson, Document, doc};
use serde_json::json;

use super::{COMMENT, VOTE, circle, deliver, does, people, posted_with};
use crate::support::{
    Gateway,
    faults::Fault::{Added, Changed, Removed},
    key,
};

const EDGES: &str = "social: both sides of the graph agree";
const MARKS: &str = "social: edges to users whose posts news merge in have the mark";
const NUMBERS: &str = "social: the numbers of a post equal what they count";
const COPIES: &str =
    "social: every copy is of a post that exists and is as new, unless work on the post is pending";
const WALLS: &str =
    "social: every post is on its author's wall; no feed has a post twice, and no page too many";

#[tokio::test(flavor = "multi_thread")]
async fn each_invariant_finds_its_fault() {
    let gateway = Gateway::start().await;
    people(&gateway, &["ann", "bob"]).await;
    circle(&gateway, "bob", "ann", "a").await;
    let poll = json!({ "poll": { "choices": ["yes", "no"] } });
    let post = json!({ "audience": "PUBLIC", "text": "first", "detail": poll });
    let post = posted_with(&gateway, "ann", post).await;
    does(&gateway, "bob", COMMENT, json!({ "postId": post, "text": "said" })).await;
    does(&gateway, "bob", VOTE, json!({ "postId": post, "choice": 1 })).await;
    deliver(&gateway).await;
    gateway.assert_sound().await;
    let set = |field: &str, value: Bson| Changed(doc! { "$set": { field: value } });

    let edge = "3 bob ann";
    let added = |id: &str, of: &str| {
        let at = gateway.app.clock();
        Added(doc! { "_id": id, "by": "ann", "of": of, "circles": ["a"], "at": at, "v": 1 })
    };
    for (id, fault) in [
        ("3 ann bob!", added("3 ann bob!", "bob")),
        ("3 ann ann", added("3 ann ann", "ann")),
        (edge, set("circles", Bson::Array(Vec::new()))),
        (edge, set("circles", vec!["a", "a"].into())),
        (edge, set("of", "nobody".into())),
    ] {
        assert_eq!(gateway.broken_by("circles", id, fault).await, [EDGES], "{id}");
    }

    let merged = |value: &str| set("merged", value.into());
    assert_eq!(gateway.broken_by("circles", edge, merged("ann")).await, [MARKS]);
    let at = gateway.app.clock();
    let fault = set("mergedAt", at.into());
    assert_eq!(gateway.broken_by("users", "ann", fault).await, [MARKS]);
    // A repair marks them.
    let is_merged = doc! { "$set": { "mergedAt": at } };
    gateway.raw("users").update_one(doc! { "_id": "ann" }, is_merged).await.expect("set");
    let repaired = gateway.repair().await;
    assert_eq!(repaired, ["the marks of edges to user ann"]);
    assert!(gateway.repair().await.is_empty());
    gateway.assert_sound().await;

    let id = key(&post);
    for (field, value) in [
        ("shown.commentCount", Bson::from(3_i64)),
        ("shown.latest", Bson::Array(Vec::new())),
        ("comments.0.n", Bson::from(2_i64)),
        ("shown.detail.choices.0.votes", Bson::from(1_i64)),
    ] {
        assert_eq!(gateway.broken_by("posts", &id, set(field, value)).await, [NUMBERS], "{field}");
    }
    let vote = format!("{id} bob");
    assert_eq!(gateway.broken_by("votes", &vote, Removed).await, [NUMBERS]);

    let pages = gateway.stored("feedPages").await;
    let page = |of: &str| {
        let is_it = |page: &&Document| page.get_str("feed").is_ok_and(|feed| feed == of);
        pages.iter().find(is_it).expect("a page")
    };
    let wall = page("wall ann").get_str("_id").expect("an id");
    let news = page("news bob").get_str("_id").expect("an id");
    let copy = page("news bob").get_array("posts").expect("copies")[0].clone();
    let broken = async |id: &str, fault| gateway.broken_by("feedPages", id, fault).await;
    assert_eq!(broken(news, set("posts.0.version", 0_i64.into())).await, [COPIES]);
    assert_eq!(broken(news, set("posts.0.id", "nowhere".into())).await, [COPIES]);
    assert_eq!(broken(wall, set("posts.0.id", "nowhere".into())).await, [COPIES, WALLS]);
    assert_eq!(broken(wall, Removed).await, [WALLS]);
    assert_eq!(broken(news, Changed(doc! { "$push": { "posts": copy } })).await, [WALLS]);
    assert_eq!(gateway.broken_by("posts", &id, Removed).await, [COPIES]);
}
