//! Comments that can't be applied don't hold up those behind them.

use docgate::{background, domains};
use mongodb::bson::{DateTime, Document, doc};

use super::short_bounds;
use crate::support::{Gateway, until};

/// More than one command of the sweep reads.
const MANY: i64 = 101;

/// A comment in the store `on` whose post was cut this long after the beginning of time.
fn unposted(id: &str, on: &str, millis: i64) -> Document {
    let at = DateTime::from_millis(millis);
    doc! {
        "_id": format!("{id}.1"), "id": id, "on": on, "slug": id, "replyTo": "",
        "parent": { "kind": "PRODUCT", "key": "gone" }, "sortKey": format!("{id}/"), "at": at,
        "author": "ann", "text": "A text", "nonce": "nonce", "version": 1_i64, "origin": "origin",
        "due": { "kind": "POST", "tag": id, "at": at, "count": 1, "reviews": 0, "stars": 0 },
        "v": 1,
    }
}

/// A page with this comment alone.
fn page(number: i64, comment: Document) -> Document {
    let at = *comment.get_datetime("at").expect("a time");
    let [on, id] = ["on", "id"].map(|field| comment.get_str(field).expect("a text").to_owned());
    doc! {
        "_id": format!("{on}.{number}"), "on": on, "page": number, "full": false, "until": at,
        "untilId": id, "entries": [comment], "v": 1,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_behind_many_that_fail_are_finished() {
    let gateway = Gateway::with(short_bounds).await;
    // No store has a name without an epoch. The last comment's discussion is gone, so the comment is withdrawn.
    let torn = (0..MANY).map(|n| unposted(&format!("torn-{n}"), "torn", 1_000 + n));
    let mut comments: Vec<Document> = torn.collect();
    comments.push(unposted("last", "gone.1", 10_000));
    let pages = (0..).zip(comments.clone()).map(|(number, comment)| page(number, comment));
    let pages: Vec<Document> = pages.collect();
    gateway.raw("comments").insert_many(comments).await.expect("inserted");
    gateway.raw("commentPages").insert_many(pages).await.expect("inserted");

    for collection in ["comments", "commentPages"] {
        let stored = gateway.raw(collection);
        let count =
            async |on: &str| stored.count_documents(doc! { "on": on }).await.expect("counted");
        until("the sweep gets there", async || {
            // The pass fails for those that fail.
            let _failed = background::sweep_room(&gateway.app, &domains::comments::ROOM).await;
            count("gone.1").await == 0
        })
        .await;
        assert_eq!(count("torn").await, u64::try_from(MANY).expect("a number"), "{collection}");
    }
}
