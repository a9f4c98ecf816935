//! Opening discussions and posting.

use futures_util::{StreamExt, future::join_all, stream};
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    COMMENTS, LAYOUTS, all, discussed, does, few_rooms, id_of, long_bounds, of_texts, open, post,
    posted, short_bounds, shown, texts, very_long_bounds,
};
use crate::support::Gateway;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_posted_is_there_in_every_layout() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        for number in 1..=12 {
            let comment = post(&anna, &on, &format!("comment {number}"), None).await;
            assert_eq!(
                (&comment["author"]["id"], &comment["subjectId"], &comment["depth"]),
                (&json!("anna"), &json!(on), &json!(0)),
                "{comment:#}"
            );
            let found = gateway
                .anonymous()
                .field(
                    "query($commentId: ID!) { comment(by: { id: $commentId }) { text } }",
                    json!({ "commentId": comment["id"] }),
                )
                .await;
            assert_eq!(found["text"], comment["text"]);
            // Right after it the product shows it first.
            let shown = shown(&gateway, layout).await;
            assert_eq!(shown["commentCount"], number);
            assert_eq!(shown["latestComments"][0]["id"], comment["id"], "{shown:#}");
            let newest = usize::try_from(number).expect("a number").min(10);
            assert_eq!(shown["latestComments"].as_array().map(Vec::len), Some(newest));
        }
        let expected: Vec<_> = (1..=12).map(|number| format!("comment {number}")).collect();
        assert_eq!(texts(&gateway, &on).await, expected, "{layout}");
        let pages = all(&gateway.anonymous(), COMMENTS, json!({ "subjectId": on }), 5).await;
        assert_eq!(of_texts(&pages), expected, "{layout}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discussion_is_opened_once_and_by_who_may() {
    let gateway = Gateway::with(few_rooms).await;
    let on = discussed(&gateway, "a", "PAGED").await;
    let before = gateway.snapshot().await;
    assert_eq!(open(&gateway.merchant(), &on, "PAGED").await["__typename"], "Discussion");
    assert_eq!(open(&gateway.merchant(), &on, "EMBEDDED").await["__typename"], "AlreadyExists");
    let nothing = docgate::graphql::node_id::NodeKind::PRODUCT.id("nothing").0;
    assert_eq!(open(&gateway.merchant(), &nothing, "PAGED").await["__typename"], "NotFound");
    for id in ["a", "", "Y2FydDpub25l"] {
        let refused = open(&gateway.merchant(), id, "PAGED").await;
        assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
    }
    let input = json!({ "input": { "subjectId": on, "layout": "PAGED" } });
    assert_eq!(gateway.shopper("anna").error_code(super::OPEN, input).await, "FORBIDDEN");
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_openings_at_once_one_counts() {
    let gateway = Gateway::with(few_rooms).await;
    gateway.product("a", 100, "EUR").await;
    let on = docgate::graphql::node_id::NodeKind::PRODUCT.id("a").0;
    let merchant = gateway.merchant();
    let openings = (0..12).map(|number| open(&merchant, &on, LAYOUTS[number % 3]));
    let said = join_all(openings).await;
    let layout = shown(&gateway, "a").await["layout"].clone();
    for (number, one) in said.iter().enumerate() {
        if layout == LAYOUTS[number % 3] {
            assert_eq!((&one["__typename"], &one["layout"]), (&json!("Discussion"), &layout));
        } else {
            assert_eq!(one["__typename"], "AlreadyExists", "{one:#}");
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_op_id_posts_one_comment() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        let input = json!({ "subjectId": on, "text": "once", "idempotencyKey": "op" });
        let comment = does(&anna, "postComment", input.clone()).await;
        assert_eq!(comment["__typename"], "Comment", "{comment:#}");
        let before = gateway.snapshot().await;
        assert_eq!(does(&anna, "postComment", input.clone()).await, comment);
        let other = json!({ "subjectId": on, "text": "twice", "idempotencyKey": "op" });
        assert_eq!(does(&anna, "postComment", other).await["__typename"], "Conflict");
        assert!(gateway.snapshot().await == before);
        // Of two at once, and of twenty, there is one.
        let input = json!({ "subjectId": on, "text": "at once", "idempotencyKey": "another" });
        let same = join_all((0..20).map(|_| does(&anna, "postComment", input.clone()))).await;
        assert!(same.iter().all(|one| one["id"] == same[0]["id"]), "{same:#?}");
        // Another caller's idempotency key is another one.
        let other = does(&gateway.shopper("berta"), "postComment", input).await;
        assert_ne!(other["id"], same[0]["id"]);
        assert_eq!(shown(&gateway, layout).await["commentCount"], 3);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_posted_is_refused_and_changes_nothing() {
    let gateway = Gateway::with(few_rooms).await;
    let on = discussed(&gateway, "a", "PER_DOCUMENT").await;
    gateway.product("silent", 100, "EUR").await;
    let silent = docgate::graphql::node_id::NodeKind::PRODUCT.id("silent").0;
    let anna = gateway.shopper("anna");
    let before = gateway.snapshot().await;
    for (input, expected) in [
        (json!({ "subjectId": on, "text": "" }), "input.text"),
        (json!({ "subjectId": on, "text": "x".repeat(4_001) }), "input.text"),
        (json!({ "subjectId": on, "text": "a\u{7}" }), "input.text"),
        (json!({ "subjectId": on, "text": "a", "idempotencyKey": "" }), "input.idempotencyKey"),
    ] {
        let refused = does(&anna, "postComment", input).await;
        assert_eq!(refused["field"], expected, "{refused:#}");
    }
    for (input, what) in [
        (json!({ "subjectId": silent, "text": "a" }), "discussion"),
        (json!({ "subjectId": "a", "text": "a" }), "discussion"),
        (json!({ "subjectId": on, "text": "a", "replyToId": "" }), "comment"),
        (json!({ "subjectId": on, "text": "a", "replyToId": "$ne" }), "comment"),
        (json!({ "subjectId": on, "text": "a", "replyToId": "nothing" }), "comment"),
    ] {
        let refused = does(&anna, "postComment", input).await;
        assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
        assert!(refused["message"].as_str().expect("a text").contains(what), "{refused:#}");
    }
    let code = gateway
        .anonymous()
        .error_code(
            &super::mutation("postComment"),
            json!({ "input": { "subjectId": on, "text": "a" } }),
        )
        .await;
    assert_eq!(code, "UNAUTHENTICATED");
    assert!(gateway.snapshot().await == before);
    assert_eq!(
        gateway
            .anonymous()
            .field(
                "query($subjectId: ID!) { comments(subjectId: $subjectId, order: THREADED) { edges { cursor } } }",
                json!({ "subjectId": silent })
            )
            .await,
        Value::Null
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_discussion_takes_a_hundred() {
    let gateway = Gateway::with(long_bounds).await;
    let on = discussed(&gateway, "a", "EMBEDDED").await;
    let posting = (0..120).map(|number| {
        let (client, on) = (gateway.shopper(&format!("s{number}")), on.clone());
        async move { post(&client, &on, &format!("text {number}"), None).await }
    });
    let said: Vec<_> = stream::iter(posting).buffer_unordered(20).collect().await;
    let of = |name: &str| said.iter().filter(|one| one["__typename"] == name).count();
    assert_eq!((of("Comment"), of("DiscussionFull")), (100, 20));
    let before = gateway.snapshot().await;
    let refused = post(&gateway.shopper("late"), &on, "late", None).await;
    assert_eq!(refused["code"], "DISCUSSION_FULL", "{refused:#}");
    assert!(gateway.snapshot().await == before);
    assert_eq!(texts(&gateway, &on).await.len(), 100);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_author_leaves_room_for_others() {
    let gateway = Gateway::with(very_long_bounds).await;
    let on = discussed(&gateway, "a", "PER_DOCUMENT").await;
    let (anna, bob) = (gateway.shopper("anna"), gateway.shopper("bob"));
    let own = posted(&anna, &on, "the first one", None).await;
    let mut refused = None;
    // All authors together may have a thousand changes within two grace periods.
    for number in 0..1_100 {
        let input = json!({ "subjectId": on, "text": format!("text {number}") });
        let said = anna.run(&super::mutation("postComment"), json!({ "input": input })).await;
        if let Some(error) = said["errors"].get(0) {
            refused = Some(error.clone());
            break;
        }
    }
    let refused = refused.expect("a refusal");
    assert_eq!(refused["extensions"]["code"], "RATE_LIMITED", "{refused:#}");
    assert!(refused["message"].as_str().expect("a text").contains("your comments"), "{refused:#}");
    posted(&bob, &on, "another author's", None).await;
    // Her comments can be removed all the same.
    let removed = does(&anna, "removeComment", json!({ "commentId": own })).await;
    assert_eq!(removed["removedBy"], "AUTHOR", "{removed:#}");
}

/// Pages of a discussion in their order: how many comments each holds.
async fn page_sizes(gateway: &Gateway) -> Vec<usize> {
    let mut sizes: Vec<_> = gateway.snapshot().await["commentPages"]
        .iter()
        .map(|page| {
            let size = page.get_array("entries").expect("entries").len();
            (page.get_i64("page").expect("a number"), size)
        })
        .collect();
    sizes.sort_unstable();
    sizes.into_iter().map(|(_, size)| size).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_at_once_onto_a_page_with_room_for_three() {
    let gateway = Gateway::with(|config| {
        very_long_bounds(config);
        // The crowd is one subject.
        config.client_share_percent = 100;
    })
    .await;
    let on = discussed(&gateway, "a", "PAGED").await;
    for number in 0..97 {
        posted(&gateway.shopper("anna"), &on, &format!("before {number}"), None).await;
    }
    assert_eq!(page_sizes(&gateway).await, [97]);
    let client = gateway.shopper("crowd");
    let crowd = (0..200).map(|number| {
        let input =
            json!({ "subjectId": on, "text": format!("crowd {number}"), "idempotencyKey": format!("op {number}") });
        let (client, input) = (&client, json!({ "input": input }));
        async move {
            // As any client does that isn't told how it went.
            for _ in 0..10 {
                let said = client.run(&super::mutation("postComment"), input.clone()).await;
                if said["data"] != Value::Null {
                    return said["data"]["postComment"].clone();
                }
                assert_eq!(said["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{said:#}");
            }
            panic!("never told");
        }
    });
    let said = join_all(crowd).await;
    assert!(said.iter().all(|one| one["__typename"] == "Comment"), "{said:#?}");
    let mut slugs: Vec<_> = said.iter().map(id_of).collect();
    slugs.sort();
    slugs.dedup();
    assert_eq!(slugs.len(), 200);
    assert_eq!(page_sizes(&gateway).await, [100, 100, 97]);
    let all = texts(&gateway, &on).await;
    assert_eq!(all.len(), 297);
    let crowd: std::collections::HashSet<_> = all[97..].iter().collect();
    assert_eq!(crowd.len(), 200);
    assert_eq!(shown(&gateway, "a").await["commentCount"], 297);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_may_not_see_takes_no_comments() {
    let gateway = Gateway::with(short_bounds).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let slug = posted(&gateway.shopper("anna"), &on, "seen", None).await;
        gateway
            .raw("products")
            .update_one(
                doc! { "_id": layout },
                doc! { "$set": { "deletedAt": mongodb::bson::DateTime::from_millis(0) } },
            )
            .await
            .expect("deleted");
        let before = gateway.snapshot().await;
        let anna = gateway.shopper("anna");
        assert_eq!(post(&anna, &on, "unseen", None).await["__typename"], "NotFound");
        let remove = does(&anna, "removeComment", json!({ "commentId": slug })).await;
        assert_eq!(remove["__typename"], "NotFound");
        let edit = json!({ "commentId": slug, "version": "a", "text": "b" });
        assert_eq!(does(&anna, "editComment", edit).await["__typename"], "NotFound");
        let query = "query($id: ID!, $subjectId: ID!) { comment(by: { id: $id }) { text }
            node(id: $id) { id } comments(subjectId: $subjectId) { edges { cursor } } }";
        let data = anna.data(query, json!({ "id": slug, "subjectId": on })).await;
        let nothing = json!({ "comment": null, "node": null, "comments": null });
        assert_eq!(data, nothing);
        assert!(gateway.snapshot().await == before);
    }
    // What goes takes its comments along.
    gateway.sweep().await;
    let left = gateway.snapshot().await;
    for collection in ["comments", "commentPages", "authoredComments", "products"] {
        assert!(!left.contains_key(collection), "{collection}: {:#?}", left[collection]);
    }
}
