//! What comes too late: posts to something that was hidden meanwhile, takes and removals that overtake one
//! another, and discussions that never rest.

use std::time::{Duration, Instant};

use docgate::background;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{LAYOUTS, discussed, does, few_rooms, migrate, posted, short_bounds, shown, texts};
use crate::support::{Client, Gateway, long_bounds, proxy::Cut, settled, until};

/// Hides a product, or shows it again.
pub async fn hide(gateway: &Gateway, sku: &str, is_hidden: bool) {
    let at = doc! { "deletedAt": DateTime::from_millis(0) };
    let update = if is_hidden {
        doc! { "$set": at }
    } else {
        doc! { "$unset": at }
    };
    let updated = gateway.raw("products").update_one(doc! { "_id": sku }, update).await;
    assert_eq!(updated.expect("updated").modified_count, 1);
}

/// Lets the next command of that name on that collection wait.
pub fn hold(gateway: &Gateway, collection: &'static str, command: &'static str) {
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(move |seen| seen.collection == collection && seen.command == command);
    proxy.cut(0, Cut::Hold);
}

/// Sends it through that gateway, and waits until the first update of a product is under way.
async fn held(gateway: &Gateway, client: &Client, name: &str, input: &Value) -> JoinHandle<Value> {
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    hold(gateway, "products", "update");
    let (client, name, input) = (client.clone(), super::mutation(name), input.clone());
    let sent = tokio::spawn(async move { client.run(&name, json!({ "input": input })).await });
    proxy.reached().await;
    proxy.heal();
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_to_what_is_hidden_meanwhile_is_withdrawn() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    let anna = gateway.shopper("anna");
    let mut moved = Vec::new();
    for (layout, to) in
        [("PAGED", "PER_DOCUMENT"), ("PAGED", "EMBEDDED"), ("PER_DOCUMENT", "PAGED")]
    {
        let sku = format!("{layout}-{to}");
        let on = discussed(&gateway, &sku, layout).await;
        let mut input = json!({ "subjectId": on, "text": "late" });
        for before in [0, 3] {
            for number in 0..before {
                posted(&anna, &on, &format!("{number}"), None).await;
            }
            input["idempotencyKey"] = json!(format!("late {before}"));
            let sent = held(&gateway, &anna, "postComment", &input).await;
            hide(&gateway, &sku, true).await;
            gateway.proxy.as_ref().expect("a proxy").release().await;
            let said = sent.await.expect("an answer")["data"]["postComment"].clone();
            assert_eq!(said["__typename"], "NotFound", "{said:#}");
            hide(&gateway, &sku, false).await;
            // Given up is given up, until that is forgotten.
            let again = does(&anna, "postComment", input.clone()).await;
            assert_eq!(again["code"], "CONFLICT", "{again:#}");
            let id = stored(&gateway, &sku).await.get_str("id").expect("an id").to_owned();
            let (collection, there) = match layout {
                // No page is ever empty.
                "PAGED" => ("commentPages", u64::from(before > 0)),
                _ => ("comments", before),
            };
            let collection = gateway.raw(collection);
            let count = collection.count_documents(doc! { "on": format!("{id}.1") }).await;
            assert_eq!(count.expect("a count"), there, "{layout}");
        }
        assert_eq!(texts(&gateway, &on).await, ["0", "1", "2"], "{layout}");
        assert_eq!(shown(&gateway, &sku).await["commentCount"], 3);
        // The last page ended with what was withdrawn.
        assert_eq!(migrate(&gateway, &on, to).await["layout"], to);
        assert_eq!(texts(&gateway, &on).await, ["0", "1", "2"], "{layout} {to}");
        moved.push((on, input));
    }
    // Every call is answered, so a sweep needn't wait as long as those bounds say.
    settled(&gateway).await;
    let sweeper = gateway.sibling_with(short_bounds).await;
    for _ in 0..2 {
        sweeper.sweep().await;
        gateway.assert_sound().await;
    }
    for (on, input) in moved {
        assert_eq!(does(&anna, "postComment", input).await["text"], "late");
        assert_eq!(texts(&gateway, &on).await, ["0", "1", "2", "late"]);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_and_not_withdrawn_doesnt_move_along() {
    let base = Gateway::with(long_bounds).await;
    for layout in ["PAGED", "PER_DOCUMENT"] {
        let on = discussed(&base, layout, layout).await;
        posted(&base.shopper("anna"), &on, "early", None).await;
        let gateway = base.sibling_behind_proxy().await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        let input = json!({ "subjectId": on, "text": "late", "idempotencyKey": "late" });
        let sent = held(&gateway, &gateway.shopper("anna"), "postComment", &input).await;
        hide(&base, layout, true).await;
        // It dies before it withdraws the comment.
        proxy.count_only(|seen| seen.collection.starts_with("comment"));
        proxy.cut_all_from(0, Cut::BeforeForwarding);
        proxy.release().await;
        let said = sent.await.expect("an answer");
        assert_ne!(said["errors"], Value::Null, "{said:#}");
        hide(&base, layout, false).await;
        assert_eq!(migrate(&base, &on, "EMBEDDED").await["layout"], "EMBEDDED");
        assert_eq!(texts(&base, &on).await, ["early"], "{layout}");
    }
    settled(&base).await;
    let sweeper = base.sibling_with(short_bounds).await;
    for _ in 0..2 {
        sweeper.sweep().await;
        base.assert_sound().await;
    }
    for layout in ["PAGED", "PER_DOCUMENT"] {
        assert_eq!(shown(&base, layout).await["commentCount"], 1);
    }
}

/// The discussion as it is stored.
pub async fn stored(gateway: &Gateway, sku: &str) -> Document {
    let found = gateway.raw("products").find_one(doc! { "_id": sku }).await;
    let product = found.expect("read").expect("a product");
    product.get_document("discussion").expect("a discussion").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discussion_that_is_posted_to_all_the_time_is_swept() {
    let gateway = Gateway::with(short_bounds).await;
    let anna = gateway.shopper("anna");
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        posted(&anna, &on, "early", None).await;
    }
    let on = discussed(&gateway, "moves", "PER_DOCUMENT").await;
    posted(&anna, &on, "early", None).await;
    migrate(&gateway, &on, "PAGED").await;
    let all = LAYOUTS.into_iter().chain(["moves"]);
    let quiet = gateway.app.bounds().two_grace_periods();
    let (since, mut posts) = (Instant::now(), 1);
    // It is swept although it was never quiet. A slow machine may need several passes.
    until("it is swept", async || {
        for sku in all.clone() {
            let on = docgate::graphql::node_id::NodeKind::PRODUCT.id(sku).0;
            let input = json!({ "input": { "subjectId": on, "text": "and on" } });
            let _told_or_not = anna.run(&super::mutation("postComment"), input).await;
        }
        posts += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
        if since.elapsed() < quiet * 3 / 2 {
            return false;
        }
        // With short bounds a command may run out of time; the next pass goes on.
        let _swept = background::sweep_all(&gateway.app).await;
        for sku in all.clone() {
            let discussion = stored(&gateway, sku).await;
            let taken = discussion.get_array("taken").expect("what it was told").len();
            let is_touched = discussion.contains_key("touchedAt");
            if taken >= posts || discussion.contains_key("migration") || !is_touched {
                return false;
            }
        }
        true
    })
    .await;
    gateway.sweep().await;
    gateway.assert_sound().await;
    let left = doc! { "discussion.touchedAt": { "$exists": true } };
    assert_eq!(gateway.raw("products").count_documents(left).await.expect("a count"), 0);
}

/// Leaves a comment as a gateway does that dies before it settles what the discussion took.
async fn unsettle(gateway: &Gateway, layout: &str, comment_id: &str) {
    let id = super::stored_id(comment_id);
    let discussion = stored(gateway, layout).await;
    let on = format!("{}.1", discussion.get_str("id").expect("an id"));
    let (collection, filter, path) = match layout {
        "PER_DOCUMENT" => ("comments", doc! { "on": on, "id": &id }, ""),
        "PAGED" => ("commentPages", doc! { "on": on, "entries.id": &id }, "entries.$[comment]."),
        _ => ("products", doc! { "_id": layout }, "discussion.entries.$[comment]."),
    };
    let mut told = discussion.get_array("latest").expect("a list").iter();
    let it = told.find_map(|one| {
        one.as_document().filter(|one| one.get_str("id").is_ok_and(|own| own == id))
    });
    let it = it.expect("the comment");
    let due = doc! {
        "kind": "POST", "tag": it.get_str("id").expect("an id"), "at": it.get("at"),
        "count": 1, "reviews": 0, "stars": 0,
    };
    let update = doc! {
        "$set": { format!("{path}due"): due }, "$unset": { format!("{path}settledAt"): 1 },
    };
    let collection = gateway.raw(collection);
    let mut write = collection.update_one(filter, update);
    if !path.is_empty() {
        write = write.array_filters(vec![doc! { "comment.id": &id }]);
    }
    assert_eq!(write.await.expect("updated").modified_count, 1);
}

/// Texts of what a product shows as its newest comments.
async fn newest(gateway: &Gateway, sku: &str) -> Vec<String> {
    super::of_texts(shown(gateway, sku).await["latestComments"].as_array().expect("a list"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_isnt_settled_yet_is_among_the_newest() {
    let gateway = Gateway::with(few_rooms).await;
    let anna = gateway.shopper("anna");
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        let mut slugs = Vec::new();
        for number in 0..12 {
            slugs.push(posted(&anna, &on, &number.to_string(), None).await);
            if number == 1 {
                unsettle(&gateway, layout, &slugs[1]).await;
            }
            // In different milliseconds, so that the order is told by time.
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        let gone = json!({ "commentId": slugs[11] });
        assert_eq!(does(&anna, "removeComment", gone).await["removedBy"], "AUTHOR");
        let expected: Vec<_> = (1..=10).rev().map(|number| number.to_string()).collect();
        assert_eq!(newest(&gateway, layout).await, expected, "{layout}");
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_that_is_taken_while_another_goes_is_among_the_newest() {
    // On a busy machine the post that is held may run out of time.
    for _ in 0..3 {
        if is_overtaken().await {
            return;
        }
    }
    panic!("each post ran out of time");
}

/// Holds a post while ten others are made and one of these is removed. Returns `false` if it ran out of time.
async fn is_overtaken() -> bool {
    let base = Gateway::with(|config| {
        few_rooms(config);
        // The first post is held while ten others are made.
        config.flow_run_millis = 60_000;
        config.flow_command_millis = 30_000;
    })
    .await;
    let on = discussed(&base, "a", "PER_DOCUMENT").await;
    let (slow, remover) = tokio::join!(base.sibling_behind_proxy(), base.sibling_behind_proxy());
    let input = json!({ "subjectId": on, "text": "slow" });
    let slow_post = held(&slow, &slow.shopper("anna"), "postComment", &input).await;
    let mut slugs = Vec::new();
    for number in 0..10 {
        tokio::time::sleep(Duration::from_millis(3)).await;
        slugs.push(posted(&base.shopper("anna"), &on, &number.to_string(), None).await);
    }
    // It has read the newest, and is about to tell the discussion.
    let gone = json!({ "commentId": slugs[9] });
    let removal = held(&remover, &remover.shopper("anna"), "removeComment", &gone).await;
    slow.proxy.as_ref().expect("a proxy").release().await;
    let said = slow_post.await.expect("an answer");
    if said["data"]["postComment"]["text"] != "slow" {
        assert_eq!(said["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{said:#}");
        return false;
    }
    remover.proxy.as_ref().expect("a proxy").release().await;
    let said = removal.await.expect("an answer");
    assert_eq!(said["data"]["removeComment"]["removedBy"], "AUTHOR", "{said:#}");
    let expected = ["8", "7", "6", "5", "4", "3", "2", "1", "0", "slow"];
    assert_eq!(newest(&base, "a").await, expected);
    base.assert_sound().await;
    true
}

/// The copies of paged comments aren't needed any more. Their removal arrives when the discussion has moved into pages again.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_removal_of_copies_leaves_those_of_a_later_move() {
    let base = Gateway::with(long_bounds).await;
    let on = discussed(&base, "a", "PAGED").await;
    let anna = base.shopper("anna");
    posted(&anna, &on, "mine", None).await;
    assert_eq!(migrate(&base, &on, "PER_DOCUMENT").await["layout"], "PER_DOCUMENT");
    settled(&base).await;
    let short = base.sibling_with(short_bounds).await;
    let slow = short.sibling_behind_proxy().await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    hold(&slow, "authoredComments", "delete");
    let sweeper = slow.admin();
    let sweeps = async {
        for _ in 0..5_000 {
            sweeper.sweep().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = proxy.reached() => {}
        () = sweeps => panic!("the copies aren't removed"),
    }
    proxy.heal();
    short.sweep().await;
    assert_eq!(base.raw("authoredComments").count_documents(doc! {}).await.expect("counted"), 0);
    assert_eq!(migrate(&base, &on, "PAGED").await["layout"], "PAGED");
    settled(&base).await;
    short.sweep().await;
    proxy.release().await;
    base.assert_sound().await;
    let own = anna.field("{ commentsBy(first: 10) { nodes { text } } }", json!({})).await;
    assert_eq!(own["nodes"], json!([{ "text": "mine" }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_of_nothing_are_reported() {
    let gateway = Gateway::with(few_rooms).await;
    let on = discussed(&gateway, "a", "PAGED").await;
    posted(&gateway.shopper("anna"), &on, "copied", None).await;
    gateway.assert_sound().await;
    let copies = gateway.raw("authoredComments");
    let mut copy = copies.find_one(doc! {}).await.expect("read").expect("a copy");
    copy.insert("_id", "another");
    copy.insert("id", "another");
    copies.insert_one(copy).await.expect("inserted");
    let report = gateway.check().await;
    let broken: Vec<_> = report.rules.iter().flat_map(|(_, broken)| broken).collect();
    assert_eq!(broken, ["another is a copy of nothing"]);
}
