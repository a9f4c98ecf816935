//! Something that isn't there is not found, whether its id is malformed, of another kind or unknown: every
//! argument that takes an id is walked.

use std::collections::BTreeSet;

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use crate::{
    content,
    places::{self, OTHERS, Prepared, kind, nothing},
    roles::Contract,
    support::Gateway,
};

/// New keys, what comes with a file, of which the tests of assets tell, and the images of variants, of which those of the
/// catalog tell.
const ELSEWHERE: [[&str; 3]; 6] = [
    ["addVariant", "input", "imageId"],
    ["addVariant", "input", "sku"],
    ["createProduct", "input", "sku"],
    ["replaceAsset", "input", "assetId"],
    ["updateVariant", "input", "imageId"],
    ["uploadAsset", "input", "parentId"],
];

/// A call for each place that takes an id.
fn calls(contract: &Contract, root: &str) -> Vec<Prepared> {
    let is_id = |name: &str, of: &str| of == "ID" && !OTHERS.contains(&name);
    let mut all = places::calls(contract, root, is_id);
    all.retain(|call| !ELSEWHERE.iter().any(|other| call.place == other));
    all
}

/// A sound id of something that isn't there.
fn unknown(path: &[String]) -> String {
    nothing(path, "nothing")
}

/// Texts that can't be the id of anything that may stand there.
fn impossible(path: &[String]) -> Vec<String> {
    let mut all: Vec<String> =
        ["", "$ne", "{\"$ne\": 1}", "a b", "a.b.c"].map(str::to_owned).to_vec();
    all.push("x".repeat(10_000));
    if let Some(kind) = kind(path) {
        // Any id of a thing fits where any thing is asked for.
        let other = if kind == NodeKind::CART { NodeKind::ORDER } else { NodeKind::CART };
        all.extend([other.id("nothing").0, kind.id("$where").0, kind.id("").0]);
        all.push("nonsense".into());
    }
    all
}

/// A caller who may do everything.
fn anyone(gateway: &Gateway) -> crate::support::Client {
    gateway.user("walker", &["merchant", "service", "editor", "moderator", "analyst", "admin"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_answers_as_if_the_id_were_unknown() {
    let gateway = Gateway::start().await;
    // What an id that was taken for none would find.
    content::put(&gateway, "FOLDER", "en", None).await;
    gateway.product("a", 100, "EUR").await;
    let client = anyone(&gateway);
    let calls = calls(&Contract::read(), "Query");
    let roots: BTreeSet<_> = calls.iter().map(|call| call.place[0].as_str()).collect();
    assert!(roots.len() >= 18, "{roots:?}");
    for Prepared { place, text } in &calls {
        let nothing = client.field(text, json!({ "it": unknown(place) })).await;
        for id in impossible(place) {
            let found = client.run(text, json!({ "it": id })).await;
            assert_eq!(found["errors"], Value::Null, "{text} with {id:.40}: {found:#}");
            assert_eq!(found["data"][&place[0]], nothing, "{text} with {id:.40}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_refuses_as_if_the_id_were_unknown() {
    let gateway = Gateway::start().await;
    content::put(&gateway, "FOLDER", "en", None).await;
    let client = anyone(&gateway);
    let calls = calls(&Contract::read(), "Mutation");
    assert!(calls.len() >= 60, "{}", calls.len());
    for Prepared { place, text } in &calls {
        let refused = client.field(text, json!({ "it": unknown(place) })).await;
        assert_eq!(refused["__typename"], "NotFound", "{text}: {refused:#}");
    }
    // After these, as some of them note in `leases` that they held a lock.
    let before = gateway.snapshot().await;
    for Prepared { place, text } in &calls {
        for id in impossible(place) {
            let refused = client.field(text, json!({ "it": id })).await;
            assert_eq!(refused["__typename"], "NotFound", "{text} with {id:.40}: {refused:#}");
            let told: String = id.chars().take(256).collect();
            assert_eq!(refused["id"], told, "{text} with {id:.40}");
        }
    }
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_fails_as_if_the_id_were_unknown() {
    let gateway = Gateway::start().await;
    let token = anyone(&gateway).token;
    let calls = calls(&Contract::read(), "Subscription");
    assert!(calls.len() >= 8, "{}", calls.len());
    for Prepared { place, text } in &calls {
        for id in impossible(place).into_iter().chain([unknown(place)]) {
            let mut socket = gateway.session(token.as_deref()).await;
            socket.subscribe("1", text, json!({ "it": id })).await;
            let heard = socket.next("1").await;
            let code = &heard["errors"][0]["extensions"]["code"];
            assert_eq!(code, "NOT_FOUND", "{text} with {id:.40}: {heard:#}");
            assert!(heard["data"].is_null(), "{text} with {id:.40}: {heard:#}");
            let heard = socket.hear().await;
            assert_eq!(heard, json!({ "type": "complete", "id": "1" }), "{text} with {id:.40}");
        }
    }
}
