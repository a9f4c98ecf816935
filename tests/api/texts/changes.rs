//! The texts of mutations that change something that is there, and the idempotency keys of all mutations.

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use super::{BLANK, writer};
use crate::{
    places::{self, Prepared},
    roles::Contract,
    support::Gateway,
};

/// Inputs that could be used, if their object were there, with the places of their texts.
pub fn texts_of_changes() -> Vec<(&'static str, Value, &'static [&'static str])> {
    let category = NodeKind::CATEGORY.id("a");
    let named = json!({ "categoryId": category, "locale": "en", "name": "Name" });
    let mut all: Vec<(&'static str, Value, &'static [&'static str])> = vec![
        ("addTranslation", named.clone(), &["/name"]),
        ("renameCategory", named, &["/name"]),
        (
            "renamePerson",
            json!({ "personId": NodeKind::PERSON.id("a"), "name": "Name" }),
            &["/name"],
        ),
        (
            "updateProduct",
            json!({ "sku": "none", "version": "v", "content": {
                "title": "Title", "details": { "book": { "genres": ["Jazz"] } } } }),
            &["/content/title", "/content/details/book/genres/0"],
        ),
        (
            "updateVariant",
            json!({ "sku": "a.v", "version": "v", "options": [{ "name": "n", "value": "v" }] }),
            &["/options/0/name", "/options/0/value"],
        ),
        (
            "editContent",
            json!({ "contentId": NodeKind::CONTENT.id("a"), "version": "v", "text": {
                "title": "Title", "translations": [{ "locale": "de", "title": "Title" }] } }),
            &["/text/title", "/text/translations/0/title"],
        ),
        (
            "tagContent",
            json!({ "contentId": NodeKind::CONTENT.id("a"), "tags": ["tag"] }),
            &["/tags/0"],
        ),
        (
            "editAsset",
            json!({ "assetId": NodeKind::ASSET.id("a"), "version": "v", "title": "Title" }),
            &["/title"],
        ),
        ("tagAsset", json!({ "assetId": NodeKind::ASSET.id("a"), "tags": ["tag"] }), &["/tags/0"]),
        (
            "editComment",
            json!({ "commentId": NodeKind::COMMENT.id("product:a:a"), "version": "v", "text": "Text" }),
            &["/text"],
        ),
        ("updateProfile", json!({ "version": "1", "name": "Name" }), &["/name"]),
        ("uncircleUser", json!({ "userId": "u", "circle": "c" }), &["/circle"]),
    ];
    all.extend(texts_of_trade());
    all
}

/// Those of checkouts, returns, theaters, zones and jobs.
fn texts_of_trade() -> Vec<(&'static str, Value, &'static [&'static str])> {
    vec![
        (
            "checkoutCart",
            json!({
                "cartId": NodeKind::CART.id("a"), "payment": {},
                "shipping": { "name": "Name", "street": "Street 1", "city": "City", "country": "DE" },
            }),
            &["/shipping/name", "/shipping/street", "/shipping/city"],
        ),
        ("removeAddress", json!({ "label": "Label" }), &["/label"]),
        ("endVoucher", json!({ "code": "A" }), &["/code"]),
        (
            "acceptReturn",
            json!({ "orderId": NodeKind::ORDER.id("a"), "returnNumber": 1, "answer": "Yes" }),
            &["/answer"],
        ),
        (
            "updateTheater",
            json!({
                "theaterId": NodeKind::THEATER.id("a"), "version": "1", "name": "Name",
                "address": "Street 1", "location": { "latitude": 1, "longitude": 1 },
            }),
            &["/name", "/address"],
        ),
        (
            "changeSeatPlan",
            json!({
                "theaterId": NodeKind::THEATER.id("a"), "version": "1",
                "seatPlan": {
                    "categories": [{ "code": "A", "name": "Stalls" }],
                    "rows": [{ "label": "1", "places": "AA" }],
                },
            }),
            &["/seatPlan/categories/0/name", "/seatPlan/rows/0/label"],
        ),
        (
            "failJob",
            json!({ "jobId": NodeKind::JOB.id("a"), "token": "t", "reason": "Why" }),
            &["/reason"],
        ),
        (
            "setMetadata",
            json!({ "ownerId": NodeKind::PRODUCT.id("none"),
                "set": [{ "key": "k", "value": { "text": "v" } }] }),
            &["/set/0/key"],
        ),
    ]
}

/// The key of each mutation that has one, with sound values in all other places. The tests of assets tell of those that
/// take a file.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_which_nothing_is_seen_is_refused_by_every_mutation() {
    // Of these the walk has no sound values; the other test has them.
    const ELSEWHERE: [&str; 18] = [
        "applyVoucher",
        "claimJob",
        "createContent",
        "createPost",
        "createScreening",
        "createTheater",
        "createTopic",
        "createVoucher",
        "holdSeats",
        "launchCampaign",
        "logEvents",
        "publish",
        "recordHits",
        "recordSessions",
        "replaceAsset",
        "saveAddress",
        "sendMessage",
        "uploadAsset",
    ];
    let gateway = Gateway::start().await;
    let client = writer(&gateway);
    let mut calls =
        places::calls(&Contract::read(), "Mutation", |name, _| name == "idempotencyKey");
    assert!(calls.len() >= 60, "{}", calls.len());
    calls.retain(|call| !ELSEWHERE.contains(&call.place[0].as_str()));
    let before = gateway.snapshot().await;
    for Prepared { place, text } in &calls {
        let long = "x".repeat(129);
        for key in BLANK.into_iter().chain(["", "a\u{0}", "a\u{202e}b", long.as_str()]) {
            let said = client.field(text, json!({ "it": key })).await;
            assert_eq!(said["__typename"], "InvalidInput", "{place:?} {key:?}: {said:#}");
            assert_eq!(said["field"], "input.idempotencyKey", "{place:?} {key:?}: {said:#}");
        }
    }
    assert!(gateway.snapshot().await == before);
}
