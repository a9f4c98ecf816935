//! Editing and removing.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{
    COMMENTS, LAYOUTS, all, discussed, does, few_rooms, id_of, long_bounds, of_texts, post, posted,
    short_bounds, shown, texts,
};
use crate::support::{Client, Gateway};

async fn edit(client: &Client, comment: &Value, text: &str) -> Value {
    let input = json!({ "commentId": comment["id"], "version": comment["version"], "text": text });
    does(client, "editComment", input).await
}

async fn remove(client: &Client, id: &str) -> Value {
    does(client, "removeComment", json!({ "commentId": id })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_everywhere() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        let comment = post(&anna, &on, "before", None).await;
        posted(&gateway.shopper("berta"), &on, "another's", None).await;
        let edited = edit(&anna, &comment, "after").await;
        assert_eq!(edited["text"], "after", "{edited:#}");
        assert_ne!(edited["editedAt"], Value::Null);
        assert_ne!(edited["version"], comment["version"]);
        assert_eq!((&edited["id"], &edited["postedAt"]), (&comment["id"], &comment["postedAt"]));
        assert_eq!(texts(&gateway, &on).await, ["after", "another's"], "{layout}");
        assert_eq!(shown(&gateway, layout).await["latestComments"][1]["text"], "after");
        let own =
            anna.field("{ commentsBy(first: 1) { edges { node { text } } } }", json!({})).await;
        assert_eq!(own["edges"][0]["node"]["text"], "after");
        // The same again is answered with what it made; another one is stale.
        let before = gateway.snapshot().await;
        assert_eq!(edit(&anna, &comment, "after").await, edited);
        let stale = edit(&anna, &comment, "otherwise").await;
        assert_eq!(stale["code"], "CONFLICT", "{stale:#}");
        assert_eq!(stale["current"]["text"], "after", "{stale:#}");
        assert_eq!(stale["current"]["version"], edited["version"]);
        // Nobody else's, no stars, nothing that isn't there.
        for (client, change) in [
            (gateway.shopper("berta"), json!({})),
            (gateway.user("mod", &["moderator"]), json!({})),
            (anna.clone(), json!({ "commentId": "nothing" })),
            (anna.clone(), json!({ "stars": 3 })),
            (anna.clone(), json!({ "text": "" })),
        ] {
            let mut input = json!({
                "commentId": edited["id"], "version": edited["version"], "text": "hijacked",
            });
            for (field, value) in change.as_object().expect("fields") {
                input[field] = value.clone();
            }
            let refused = does(&client, "editComment", input).await;
            let name = refused["__typename"].as_str().expect("a name");
            assert!(["NotFound", "InvalidInput"].contains(&name), "{refused:#}");
        }
        assert!(gateway.snapshot().await == before);
        // Of many edits of one version one is made.
        let many = (0..10).map(|number| {
            let (anna, edited) = (anna.clone(), edited.clone());
            async move { edit(&anna, &edited, &format!("edit {number}")).await }
        });
        let said = join_all(many).await;
        let made = said.iter().filter(|one| one["__typename"] == "Comment").count();
        assert_eq!(made, 1, "{said:#?}");
    }
    gateway.assert_sound().await;
}

/// The only comment of the discussion in that layout, as it is stored.
async fn stored_comment(gateway: &Gateway, layout: &str) -> Document {
    let (collection, filter) = match layout {
        "PER_DOCUMENT" => ("comments", doc! {}),
        "PAGED" => ("commentPages", doc! {}),
        _ => ("products", doc! { "_id": layout }),
    };
    let found = gateway.raw(collection).find_one(filter).await.expect("read").expect("a document");
    let entries = match layout {
        "PER_DOCUMENT" => return found,
        "PAGED" => found.get_array("entries"),
        _ => found.get_document("discussion").expect("a discussion").get_array("entries"),
    };
    let entries = entries.expect("comments");
    assert_eq!(entries.len(), 1);
    entries[0].as_document().expect("a comment").clone()
}

/// The fields in which two documents differ, without the time of the last settle.
fn differing<'a>(left: &'a Document, right: &'a Document) -> BTreeSet<&'a str> {
    let fields = left.keys().chain(right.keys()).map(String::as_str);
    fields.filter(|field| *field != "settledAt" && left.get(field) != right.get(field)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_writes_the_fields_that_differ() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in LAYOUTS {
        discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        let input = json!({ "sku": layout, "stars": 4, "text": "before" });
        let review = does(&anna, "reviewProduct", input).await;
        let posted = stored_comment(&gateway, layout).await;
        assert!(posted.contains_key("stars") && !posted.contains_key("due"), "{posted}");
        let edited = edit(&anna, &review, "after").await;
        assert_eq!(edited["stars"], 4, "{edited:#}");
        let edited = stored_comment(&gateway, layout).await;
        let expected = ["editedAt", "nonce", "text", "version"].into();
        assert_eq!(differing(&posted, &edited), expected, "{layout}");
        remove(&anna, &id_of(&review)).await;
        let removed = stored_comment(&gateway, layout).await;
        let expected = ["nonce", "removed", "stars", "text", "version"].into();
        assert_eq!(differing(&edited, &removed), expected, "{layout}");
        assert!(!removed.contains_key("stars") && !removed.contains_key("due"), "{removed}");
        assert_eq!(removed.get_str("text").expect("a text"), "");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_window_nothing_is_edited() {
    let gateway = Gateway::with(|config| {
        few_rooms(config);
        config.comment_edit_seconds = 2;
    })
    .await;
    // One where the window is longer than a busy machine needs.
    let patient = gateway.sibling_with(|config| config.comment_edit_seconds = 900).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        let comment = post(&anna, &on, "before", None).await;
        let edited = edit(&patient.shopper("anna"), &comment, "in time").await;
        assert_eq!(edited["text"], "in time", "{edited:#}");
        tokio::time::sleep(std::time::Duration::from_millis(2_100)).await;
        let before = gateway.snapshot().await;
        let late = edit(&anna, &edited, "too late").await;
        assert_eq!(late["code"], "EDIT_WINDOW_OVER", "{late:#}");
        assert!(gateway.snapshot().await == before);
        // A repeat is no edit, and what is removed stays possible.
        assert_eq!(edit(&anna, &comment, "in time").await["text"], "in time");
        assert_eq!(remove(&anna, &id_of(&comment)).await["removedBy"], "AUTHOR");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_removed_keeps_its_place() {
    let gateway = Gateway::with(few_rooms).await;
    for layout in ["PER_DOCUMENT", "EMBEDDED"] {
        let on = discussed(&gateway, layout, layout).await;
        let (anna, moderator) = (gateway.shopper("anna"), gateway.user("mod", &["moderator"]));
        let top = posted(&anna, &on, "top", None).await;
        let middle = posted(&anna, &on, "middle", Some(&top)).await;
        posted(&anna, &on, "bottom", Some(&middle)).await;
        let refused = remove(&gateway.shopper("berta"), &middle).await;
        assert_eq!(refused["__typename"], "NotFound");
        let removed = remove(&moderator, &middle).await;
        assert_eq!(
            (&removed["removedBy"], &removed["text"], &removed["id"]),
            (&json!("MODERATOR"), &Value::Null, &json!(middle))
        );
        let threaded = json!({ "subjectId": on, "order": "THREADED" });
        let found = all(&anna, COMMENTS, threaded, 10).await;
        assert_eq!(of_texts(&found), ["top", "(removed)", "bottom"]);
        let now = shown(&gateway, layout).await;
        assert_eq!(now["commentCount"], 2);
        assert!(!now.to_string().contains("middle"), "{now:#}");
        let stored = format!("{:?}", gateway.snapshot().await);
        assert!(!stored.contains("\"middle\""), "its text is gone for good");
        // It takes no replies and no edits; removing it again changes nothing.
        let before = gateway.snapshot().await;
        let reply = post(&anna, &on, "a reply", Some(&middle)).await;
        assert_eq!(reply["code"], "COMMENT_REMOVED", "{reply:#}");
        assert_eq!(edit(&anna, &removed, "back").await["code"], "COMMENT_REMOVED");
        assert_eq!(remove(&anna, &middle).await, removed);
        assert!(gateway.snapshot().await == before);
        // A repeat of a reply that was there before is answered with it.
        let input = json!({ "subjectId": on, "text": "op", "idempotencyKey": "op", "replyToId": format!("{top}") });
        let reply = does(&anna, "postComment", input.clone()).await;
        remove(&anna, &top).await;
        assert_eq!(does(&anna, "postComment", input).await, reply);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_makes_room_among_the_newest() {
    let gateway = Gateway::with(long_bounds).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        let mut slugs = Vec::new();
        for number in 0..25 {
            slugs.push(posted(&anna, &on, &format!("{number}"), None).await);
        }
        // All at once, while others come.
        let removals = slugs[15..].iter().map(|slug| remove(&anna, slug));
        let more = (0..5).map(|number| {
            let (client, on) = (gateway.shopper("berta"), on.clone());
            async move { posted(&client, &on, &format!("more {number}"), None).await }
        });
        let (removed, _) = tokio::join!(join_all(removals), join_all(more));
        assert!(removed.iter().all(|one| one["removedBy"] == "AUTHOR"), "{removed:#?}");
        let now = shown(&gateway, layout).await;
        assert_eq!(now["commentCount"], 20, "{layout}");
        assert_eq!(now["latestComments"].as_array().map(Vec::len), Some(10), "{now:#}");
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_discussion_was_told_is_forgotten() {
    let gateway = Gateway::with(short_bounds).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let anna = gateway.shopper("anna");
        let comment = post(&anna, &on, "before", None).await;
        let edited = edit(&anna, &comment, "after").await;
        remove(&anna, &id_of(&edited)).await;
        posted(&anna, &on, "another", None).await;
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
    let left = doc! { "$or": [
        { "discussion.taken.0": { "$exists": true } },
        { "discussion.touchedAt": { "$exists": true } },
    ], "_id": { "$in": LAYOUTS.to_vec() } };
    assert_eq!(gateway.raw("products").count_documents(left).await.expect("a count"), 0);
    // Something that is due long since, as a gateway left it that died.
    let on = docgate::graphql::node_id::NodeKind::PRODUCT.id("PAGED").0;
    posted(&gateway.shopper("anna"), &on, "late", None).await;
    let due = doc! { "kind": "EDIT", "tag": "late:2", "at": DateTime::from_millis(0),
    "count": 0, "reviews": 0, "stars": 0 };
    let page = gateway.raw("commentPages").find_one(doc! {}).await.expect("read").expect("a page");
    let set = doc! { "entries.0.due": due };
    gateway
        .raw("commentPages")
        .update_one(doc! { "_id": page.get("_id") }, doc! { "$set": set })
        .await
        .expect("due");
    gateway.sweep().await;
    gateway.assert_sound().await;
}
