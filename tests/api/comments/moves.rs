//! Moving a discussion to another layout while comments arrive.

use std::collections::BTreeMap;

use docgate::domains::comments::CommentDocument;
use futures_util::{StreamExt, future::join_all, stream};
use mongodb::bson::doc;
use serde_json::json;

use super::{
    COMMENTS, LAYOUTS, all, discussed, does, few_rooms, id_of, late::stored, long_bounds, migrate,
    of_texts, open, posted, short_bounds, shown, texts, very_long_bounds,
};
use crate::support::Gateway;

fn directions() -> impl Iterator<Item = (&'static str, &'static str)> {
    let from = LAYOUTS.into_iter();
    from.flat_map(|from| {
        LAYOUTS.into_iter().filter(move |to| *to != from).map(move |to| (from, to))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discussion_moves_out_of_documents_while_comments_arrive() {
    moves_while_comments_arrive("PER_DOCUMENT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discussion_moves_out_of_pages_while_comments_arrive() {
    moves_while_comments_arrive("PAGED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_discussion_moves_while_comments_arrive() {
    moves_while_comments_arrive("EMBEDDED").await;
}

async fn moves_while_comments_arrive(from: &str) {
    let gateway = Gateway::with(very_long_bounds).await;
    let mut moved = Vec::new();
    for to in LAYOUTS.into_iter().filter(|to| *to != from) {
        let sku = format!("{from}-{to}");
        let on = discussed(&gateway, &sku, from).await;
        let posting = |number: usize| {
            let client = gateway.shopper(&format!("s{}", number % 7));
            let text = format!("text {number}");
            let input =
                json!({ "subjectId": on, "text": text, "idempotencyKey": format!("op {number}") });
            async move { (number, does(&client, "postComment", input).await) }
        };
        let before: BTreeMap<_, _> = stream::iter((0..30).map(posting))
            .buffer_unordered(8)
            .collect::<Vec<_>>()
            .await
            .into_iter()
            .collect();
        // Half of those that come meanwhile are repeats of what was posted before.
        let (during, said, edited) = tokio::join!(
            stream::iter((15..75).map(posting)).buffer_unordered(16).collect::<Vec<_>>(),
            async {
                tokio::time::sleep(std::time::Duration::from_millis(30)).await;
                // Two at once: one moves it, the other finds it moving.
                join_all([migrate(&gateway, &on, to), migrate(&gateway, &on, to)]).await
            },
            async {
                tokio::time::sleep(std::time::Duration::from_millis(40)).await;
                let (number, comment) = before.iter().next().expect("a comment");
                let input = json!({
                    "commentId": comment["id"], "version": comment["version"], "text": "edited",
                });
                let author = gateway.shopper(&format!("s{}", number % 7));
                let edited = does(&author, "editComment", input).await;
                let gone = json!({ "commentId": before[&1]["id"] });
                (edited, does(&gateway.shopper("s1"), "removeComment", gone).await)
            }
        );
        assert!(said.iter().all(|one| one["layout"] == to), "{from} {to} {said:#?}");
        assert_eq!(edited.0["text"], "edited", "{from} {to} {:#}", edited.0);
        assert_eq!(edited.1["removedBy"], "AUTHOR", "{from} {to} {:#}", edited.1);
        for (number, said) in &during {
            assert_eq!(said["__typename"], "Comment", "{from} {to} {said:#}");
            if let Some(earlier) = before.get(number) {
                assert_eq!(said["id"], earlier["id"], "{from} {to}");
            }
        }
        let mut expected: Vec<_> = (2..75).map(|number| format!("text {number}")).collect();
        expected.extend(["edited".to_owned(), "(removed)".to_owned()]);
        expected.sort();
        let mut found = texts(&gateway, &on).await;
        found.sort();
        assert_eq!(found, expected, "{from} {to}");
        assert_eq!(shown(&gateway, &sku).await["commentCount"], 74);
        moved.push((sku, on, before, expected));
    }
    // Every call is answered: what sweeps needn't wait as long for the calls of this gateway.
    let sweeper = gateway.sibling_with(short_bounds).await;
    sweeper.sweep().await;
    sweeper.sweep().await;
    gateway.assert_sound().await;
    for (sku, on, before, expected) in moved {
        let mut found = texts(&gateway, &on).await;
        found.sort();
        assert_eq!(found, expected, "{sku}, swept");
        // Repeats are known, wherever the comment is by now.
        for (number, earlier) in before.iter().skip(2) {
            let client = gateway.shopper(&format!("s{}", number % 7));
            let (text, op) = (format!("text {number}"), format!("op {number}"));
            let input = json!({ "subjectId": on, "text": text, "idempotencyKey": op });
            assert_eq!(does(&client, "postComment", input).await["id"], earlier["id"]);
        }
        assert_eq!(texts(&gateway, &on).await.len(), 75);
        let product = gateway.raw("products").find_one(doc! { "_id": &sku }).await;
        let product = product.expect("read").expect("a product");
        let discussion = product.get_document("discussion").expect("a discussion");
        assert!(!discussion.contains_key("migration"), "{sku} {discussion}");
    }
    // Each store is where it should be, and nothing else is left.
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_outlast_a_time_in_pages() {
    threads_outlast(&["PAGED", "EMBEDDED", "PER_DOCUMENT"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_outlast_a_time_in_the_document_and_then_in_pages() {
    threads_outlast(&["EMBEDDED", "PAGED", "PER_DOCUMENT"]).await;
}

async fn threads_outlast(layouts: &[&str]) {
    let gateway = Gateway::with(short_bounds).await;
    let on = discussed(&gateway, "a", "PER_DOCUMENT").await;
    let anna = gateway.shopper("anna");
    let top = posted(&anna, &on, "top", None).await;
    posted(&anna, &on, "other", None).await;
    let reply =
        json!({ "subjectId": on, "text": "below", "replyToId": top, "idempotencyKey": "reply" });
    let below = id_of(&does(&anna, "postComment", reply.clone()).await);
    posted(&anna, &on, "deep", Some(&below)).await;
    let threaded = json!({ "subjectId": on, "order": "THREADED" });
    let expected = ["top", "below", "deep", "other"];
    for to in layouts {
        let moved = migrate(&gateway, &on, to).await;
        assert_eq!(moved["layout"], *to, "{moved:#}");
        let hurried = if *to == "PAGED" { "PER_DOCUMENT" } else { "PAGED" };
        let refused = migrate(&gateway, &on, hurried).await;
        assert_eq!(refused["code"], "IN_USE", "{refused:#}");
        // A reply that is there is known also where replies aren't taken.
        assert_eq!(does(&anna, "postComment", reply.clone()).await["id"], below.as_str());
        assert_eq!(texts(&gateway, &on).await.len(), 4);
        gateway.sweep().await;
        gateway.assert_sound().await;
        if *to != "PAGED" {
            let found = all(&anna, COMMENTS, threaded.clone(), 2).await;
            assert_eq!(of_texts(&found), expected, "{to}");
        }
    }
    // It is posted to again after all that, below what was posted before.
    posted(&anna, &on, "new", Some(&below)).await;
    let found = all(&anna, COMMENTS, threaded, 2).await;
    assert_eq!(of_texts(&found), ["top", "below", "deep", "new", "other"]);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_move_is_refused_and_changes_nothing() {
    let gateway = Gateway::with(long_bounds).await;
    let on = discussed(&gateway, "a", "PAGED").await;
    let client = gateway.shopper("anna");
    let many = (0..101).map(|number| {
        let (client, on) = (client.clone(), on.clone());
        async move { posted(&client, &on, &format!("{number}"), None).await }
    });
    stream::iter(many).buffer_unordered(16).collect::<Vec<_>>().await;
    gateway.product("silent", 100, "EUR").await;
    let silent = docgate::graphql::node_id::NodeKind::PRODUCT.id("silent").0;
    let before = gateway.snapshot().await;
    let refused = migrate(&gateway, &on, "EMBEDDED").await;
    assert_eq!(
        (&refused["code"], &refused["commentCount"]),
        (&json!("DISCUSSION_FULL"), &json!(101)),
        "{refused:#}"
    );
    assert_eq!(migrate(&gateway, &silent, "EMBEDDED").await["__typename"], "NotFound");
    assert_eq!(migrate(&gateway, &on, "PAGED").await["layout"], "PAGED");
    let input = json!({ "input": { "subjectId": on, "to": "PER_DOCUMENT" } });
    assert_eq!(client.error_code(super::MIGRATE, input.clone()).await, "FORBIDDEN");
    let editor = gateway.user("eva", &["editor"]);
    assert_eq!(editor.error_code(super::MIGRATE, input).await, "FORBIDDEN");
    assert!(gateway.snapshot().await == before);
    assert_eq!(open(&gateway.merchant(), &on, "PAGED").await["commentCount"], 101);
}

/// Leaves a discussion as a gateway does that was cut before it copied anything.
async fn begin_to_move(gateway: &Gateway, sku: &str, from: &str, to: &str) {
    let raise = doc! {
        "$inc": { "discussion.epoch": 1_i64 },
        "$set": {
            "discussion.layout": to,
            "discussion.firstPage": 1_i64,
            "discussion.migration": {
                "from": from, "at": mongodb::bson::DateTime::from_millis(1), "taken": [],
            },
        },
    };
    gateway.raw("products").update_one(doc! { "_id": sku }, raise).await.expect("raised");
}

/// Gives the only comment of a discussion another name.
async fn rename(gateway: &Gateway, sku: &str, layout: &str, name: &str) {
    let id = stored(gateway, sku).await.get_str("id").expect("an id").to_owned();
    let on = doc! { "on": format!("{id}.1") };
    let (collection, filter, path) = match layout {
        "PER_DOCUMENT" => ("comments", on, ""),
        "PAGED" => ("commentPages", on, "entries.0."),
        _ => ("products", doc! { "_id": sku }, "discussion.entries.0."),
    };
    let key = format!("1700000000000.{name}/");
    let set = doc! { format!("{path}slug"): name, format!("{path}sortKey"): key };
    let renamed = gateway.raw(collection).update_one(filter, doc! { "$set": set }).await;
    assert_eq!(renamed.expect("renamed").modified_count, 1);
    for (collection, filter, field) in [
        ("products", doc! { "_id": sku }, "discussion.latest.0.slug"),
        ("authoredComments", doc! { "discussion": id }, "comment.slug"),
    ] {
        let set = doc! { "$set": { field: name } };
        gateway.raw(collection).update_one(filter, set).await.expect("renamed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_longer_name_is_given_where_another_comment_has_the_short_one() {
    let gateway = Gateway::with(few_rooms).await;
    let anna = gateway.shopper("anna");
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        posted(&anna, &on, "early", None).await;
        let discussion = stored(&gateway, layout).await;
        let scope = ["anna", "postComment", discussion.get_str("id").expect("an id")];
        let id = gateway.app.ids().op(&scope, Some("late"), &()).id;
        rename(&gateway, layout, layout, &CommentDocument::short(&id, 8)).await;
        let late = json!({ "subjectId": on, "text": "late", "idempotencyKey": "late" });
        let said = does(&anna, "postComment", late.clone()).await;
        assert_eq!(said["slug"], CommentDocument::short(&id, 16), "{layout}");
        let before = gateway.snapshot().await;
        assert_eq!(does(&anna, "postComment", late).await, said);
        assert!(gateway.snapshot().await == before);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_given_once_also_while_a_discussion_moves() {
    let gateway = Gateway::with(very_long_bounds).await;
    let anna = gateway.shopper("anna");
    for (from, to) in directions() {
        let sku = format!("{from}-{to}");
        let on = discussed(&gateway, &sku, from).await;
        posted(&anna, &on, "early", None).await;
        let discussion = stored(&gateway, &sku).await;
        let scope = ["anna", "postComment", discussion.get_str("id").expect("an id")];
        let id = gateway.app.ids().op(&scope, Some("late"), &()).id;
        let name = CommentDocument::short(&id, 8);
        rename(&gateway, &sku, from, &name).await;
        begin_to_move(&gateway, &sku, from, to).await;
        let late = json!({ "subjectId": on, "text": "late", "idempotencyKey": "late" });
        let said = does(&anna, "postComment", late.clone()).await;
        assert_eq!(said["slug"], CommentDocument::short(&id, 16), "{from} {to}");
        assert_eq!(migrate(&gateway, &on, to).await["layout"], to);
        assert_eq!(does(&anna, "postComment", late).await, said);
        assert_eq!(texts(&gateway, &on).await, ["early", "late"], "{from} {to}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_whole_while_a_discussion_moves() {
    let gateway = Gateway::with(very_long_bounds).await;
    for (from, to) in directions() {
        let sku = format!("{from}-{to}");
        let on = discussed(&gateway, &sku, from).await;
        let anna = gateway.shopper("anna");
        for number in 0..12 {
            posted(&anna, &on, &format!("{number:02}"), None).await;
        }
        begin_to_move(&gateway, &sku, from, to).await;
        posted(&anna, &on, "12", None).await;
        let expected: Vec<_> = (0..13).map(|number| format!("{number:02}")).collect();
        for first in [3, 100] {
            let found =
                all(&gateway.anonymous(), COMMENTS, json!({ "subjectId": on }), first).await;
            assert_eq!(of_texts(&found), expected, "{from} {to} {first}");
        }
        let one = "query($commentId: ID!) { comment(by: { id: $commentId }) { text } }";
        let all = all(&gateway.anonymous(), COMMENTS, json!({ "subjectId": on }), 100).await;
        for comment in all.iter().step_by(3) {
            let variables = json!({ "commentId": comment["id"] });
            let found = gateway.anonymous().field(one, variables).await;
            assert_eq!(found["text"], comment["text"]);
        }
        let own = anna
            .field("{ commentsBy(first: 100) { edges { node { text subjectId } } } }", json!({}));
        let own = own.await;
        let here = own["edges"].as_array().expect("edges").iter();
        let here = here.filter(|edge| edge["node"]["subjectId"].as_str() == Some(&on)).count();
        assert_eq!(here, 13, "{from} {to}");
        assert_eq!(migrate(&gateway, &on, to).await["layout"], to);
        assert_eq!(texts(&gateway, &on).await, expected, "{from} {to}");
    }
    gateway.assert_sound().await;
}
