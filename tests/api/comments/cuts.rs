//! Every flow, cut at every command that it sends, swept, and repeated.

use docgate::graphql::node_id::NodeKind;
use futures_util::TryStreamExt;
use mongodb::bson::{Bson, Document, doc};
use serde_json::{Value, json};

use super::{discussed, migrate, mutation, posted, short_bounds, shown, texts};
use crate::support::{Client, Gateway, cuts};

/// A discussed product of one's own.
struct Subject {
    sku: String,
    on: String,
    /// What the flow asks for.
    input: Value,
}

async fn prepare(gateway: &Gateway, n: usize, layout: &str) -> Subject {
    prepare_with(gateway, n, layout, &[]).await
}

/// Subjects are copies of one that was made through the door, which saves thousands of calls.
async fn prepare_with(gateway: &Gateway, n: usize, layout: &str, more: &[&str]) -> Subject {
    // In lower case, as the key of the title has it.
    let small = layout.to_lowercase();
    let (template, sku) = (format!("{small}-template"), format!("{small}-{n}"));
    if n == 1 {
        let on = discussed(gateway, &template, layout).await;
        posted(&gateway.shopper("early"), &on, "early", None).await;
        for text in more {
            posted(&gateway.shopper("anna"), &on, text, None).await;
        }
    }
    copy(gateway, &template, n, &sku).await;
    let on = NodeKind::PRODUCT.id(&sku).0;
    Subject { sku, on, input: Value::Null }
}

/// Copies a discussed product with its comments, as they are stored, under another SKU and other ids.
async fn copy(gateway: &Gateway, template: &str, n: usize, sku: &str) {
    let product = gateway.raw("products").find_one(doc! { "_id": template }).await;
    let product = product.expect("read").expect("the template");
    let discussion = product.get_document("discussion").expect("a discussion");
    let latest = discussion.get_array("latest").expect("the newest").iter();
    let ids = [discussion].into_iter().chain(latest.filter_map(Bson::as_document));
    let mut renamed = vec![(template.to_owned(), sku.to_owned())];
    renamed.extend(ids.map(|one| {
        let id = one.get_str("id").expect("an id");
        // A comment's slug is made of the first characters.
        (id.to_owned(), format!("{}{n:06}{}", &id[..8], &id[14..]))
    }));
    let on = renamed[1].0.clone();
    let of_store = doc! { "on": format!("{on}.1") };
    for (name, filter) in [
        ("products", doc! { "_id": template }),
        ("comments", of_store.clone()),
        ("commentPages", of_store),
        ("authoredComments", doc! { "discussion": on }),
    ] {
        let found = gateway.raw(name).find(filter).await.expect("a cursor");
        let mut found: Vec<Document> = found.try_collect().await.expect("documents");
        for document in &mut found {
            // The words of a title that isn't renamed with it.
            document.remove("search");
            document.iter_mut().for_each(|(_, value)| rename(value, &renamed));
        }
        if !found.is_empty() {
            gateway.raw(name).insert_many(found).await.expect("inserted");
        }
    }
}

/// Replaces the first of each pair by the second in all strings.
fn rename(value: &mut Bson, renamed: &[(String, String)]) {
    match value {
        Bson::String(text) => {
            for (from, to) in renamed {
                *text = text.replace(from, to);
            }
        }
        Bson::Array(values) => values.iter_mut().for_each(|value| rename(value, renamed)),
        Bson::Document(document) => {
            document.iter_mut().for_each(|(_, value)| rename(value, renamed));
        }
        _ => {}
    }
}

/// Sends it, whatever comes of it.
async fn send(client: &Client, name: &str, input: &Value) {
    let _cut = client.send(&mutation(name), json!({ "input": input })).await;
}

async fn posts_once(layout: &str) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let mut subject = prepare(gateway, n, layout).await;
            subject.input =
                json!({ "subjectId": subject.on, "text": "cut", "idempotencyKey": "op" });
            subject
        },
        async |gateway, subject: &Subject| {
            send(&gateway.shopper("anna"), "postComment", &subject.input).await;
        },
        async |gateway, case| {
            let Subject { sku, on, .. } = &case.subject;
            assert_eq!(texts(gateway, on).await, ["early", "cut"], "{:?} {}", case.way, case.at);
            assert_eq!(shown(gateway, sku).await["commentCount"], 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_is_cut_anywhere_is_made_once_per_document() {
    posts_once("PER_DOCUMENT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_is_cut_anywhere_is_made_once_in_pages() {
    posts_once("PAGED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_is_cut_anywhere_is_made_once_embedded() {
    posts_once("EMBEDDED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_that_is_cut_anywhere_counts_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let mut subject = prepare(gateway, n, "PAGED").await;
            subject.input = json!({ "sku": subject.sku, "stars": 4, "text": "cut" });
            subject
        },
        async |gateway, subject: &Subject| {
            send(&gateway.shopper("anna"), "reviewProduct", &subject.input).await;
        },
        async |gateway, case| {
            let rating = shown(gateway, &case.subject.sku).await["rating"].clone();
            let expected = json!({ "count": 1, "average": 4.0 });
            assert_eq!(rating, expected, "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_review_that_is_cut_anywhere_opens_the_discussion_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("silent-{n}");
            gateway.product(&sku, 100, "EUR").await;
            let on = NodeKind::PRODUCT.id(&sku).0;
            let input = json!({ "sku": sku, "stars": 4, "text": "cut" });
            Subject { sku, on, input }
        },
        async |gateway, subject: &Subject| {
            send(&gateway.shopper("anna"), "reviewProduct", &subject.input).await;
        },
        async |gateway, case| {
            let Subject { sku, on, .. } = &case.subject;
            assert_eq!(texts(gateway, on).await, ["cut"], "{:?} {}", case.way, case.at);
            let shown = shown(gateway, sku).await;
            let told = (&shown["layout"], &shown["commentCount"], &shown["rating"]["count"]);
            assert_eq!(told, (&json!("PER_DOCUMENT"), &json!(1), &json!(1)));
        },
    )
    .await;
}

/// A review of 4 stars of anna's in that layout.
async fn reviewed(gateway: &Gateway, n: usize, layout: &str) -> (Subject, Value) {
    let subject = prepare(gateway, n, layout).await;
    let input = json!({ "sku": subject.sku, "stars": 4, "text": "before" });
    let review = super::does(&gateway.shopper("anna"), "reviewProduct", input).await;
    // The discussion rests, as the sweep leaves it when everything is settled.
    let rest = doc! {
        "$set": { "discussion.taken": [] }, "$unset": { "discussion.touchedAt": 1 },
    };
    let rested = gateway.raw("products").update_one(doc! { "_id": &subject.sku }, rest).await;
    assert_eq!(rested.expect("rested").modified_count, 1);
    (subject, review)
}

async fn edits_once(layout: &str) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let (mut subject, review) = reviewed(gateway, n, layout).await;
            subject.input = json!({
                "commentId": review["id"], "version": review["version"],
                "text": "after", "stars": 1,
            });
            subject
        },
        async |gateway, subject: &Subject| {
            send(&gateway.shopper("anna"), "editComment", &subject.input).await;
        },
        async |gateway, case| {
            let Subject { sku, on, .. } = &case.subject;
            let found = texts(gateway, on).await;
            assert_eq!(found, ["early", "after"], "{:?} {}", case.way, case.at);
            let shown = shown(gateway, sku).await;
            assert_eq!(shown["rating"], json!({ "count": 1, "average": 1.0 }));
            assert_eq!(shown["latestComments"][0]["text"], "after");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_cut_anywhere_is_made_once_per_document() {
    edits_once("PER_DOCUMENT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_cut_anywhere_is_made_once_embedded() {
    edits_once("EMBEDDED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_cut_anywhere_is_made_once_in_pages() {
    edits_once("PAGED").await;
}

async fn removes_once(layout: &str) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let (mut subject, review) = reviewed(gateway, n, layout).await;
            subject.input = json!({ "commentId": review["id"] });
            subject
        },
        async |gateway, subject: &Subject| {
            send(&gateway.shopper("anna"), "removeComment", &subject.input).await;
        },
        async |gateway, case| {
            let Subject { sku, on, .. } = &case.subject;
            let found = texts(gateway, on).await;
            assert_eq!(found, ["early", "(removed)"], "{:?} {}", case.way, case.at);
            let shown = shown(gateway, sku).await;
            assert_eq!((&shown["rating"], &shown["commentCount"]), (&Value::Null, &json!(1)));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_cut_anywhere_is_made_once_per_document() {
    removes_once("PER_DOCUMENT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_cut_anywhere_is_made_once_in_pages() {
    removes_once("PAGED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_cut_anywhere_is_made_once_embedded() {
    removes_once("EMBEDDED").await;
}

async fn moves_whole(from: &'static str, to: &'static str) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| prepare_with(gateway, n, from, &["second"]).await,
        async |gateway, subject: &Subject| {
            let input = json!({ "input": { "subjectId": subject.on, "to": to } });
            let _cut = gateway.merchant().send(super::MIGRATE, input).await;
        },
        async |gateway, case| {
            let Subject { sku, on, .. } = &case.subject;
            let found = texts(gateway, on).await;
            assert_eq!(found, ["early", "second"], "{:?} {}", case.way, case.at);
            let shown = shown(gateway, sku).await;
            assert_eq!((&shown["layout"], &shown["commentCount"]), (&json!(to), &json!(2)));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_into_pages_that_is_cut_anywhere_loses_nothing() {
    moves_whole("PER_DOCUMENT", "PAGED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_into_the_document_that_is_cut_anywhere_loses_nothing() {
    moves_whole("PAGED", "EMBEDDED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_out_of_the_document_that_is_cut_anywhere_loses_nothing() {
    moves_whole("EMBEDDED", "PER_DOCUMENT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_out_of_pages_that_is_cut_anywhere_loses_nothing() {
    moves_whole("PAGED", "PER_DOCUMENT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_of_documents_into_one_that_is_cut_anywhere_loses_nothing() {
    moves_whole("PER_DOCUMENT", "EMBEDDED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_of_one_document_into_pages_that_is_cut_anywhere_loses_nothing() {
    moves_whole("EMBEDDED", "PAGED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_was_cut_before_a_move_is_made_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let mut subject = prepare(gateway, n, "PER_DOCUMENT").await;
            subject.input =
                json!({ "subjectId": subject.on, "text": "cut", "idempotencyKey": "op" });
            subject
        },
        async |gateway, subject: &Subject| {
            send(&gateway.shopper("anna"), "postComment", &subject.input).await;
            // By a gateway of its own: where this one was cut, that one goes on.
            let other = gateway.sibling().await;
            migrate(&other, &subject.on, "PAGED").await;
        },
        async |gateway, case| {
            let Subject { sku, on, .. } = &case.subject;
            assert_eq!(texts(gateway, on).await, ["early", "cut"], "{:?} {}", case.way, case.at);
            assert_eq!(shown(gateway, sku).await["commentCount"], 2);
            assert_eq!(on, &NodeKind::PRODUCT.id(sku).0);
        },
    )
    .await;
}
