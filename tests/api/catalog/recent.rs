//! Suggestions that callers share, and that a gateway keeps.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{album, create, person, thing};
use crate::{
    metrics::Samples,
    support::{Client, Gateway, commands, until},
};

const PRODUCTS: &str = "query($text: String!, $first: Int! = 10) {
    suggest(text: $text, first: $first) { products { sku title correctedText } } }";
const PEOPLE: &str =
    "query($text: String!) { suggest(text: $text) { people { name correctedText } } }";
const DELETE: &str =
    "mutation($input: DeleteProductInput!) { deleteProduct(input: $input) { __typename } }";

/// A gateway that keeps suggestions for longer than a test takes.
async fn keeping() -> Gateway {
    Gateway::with(|config| config.suggestion_cache_seconds = 3_600).await
}

/// What is suggested for a text, and the commands that were sent for it.
async fn asked(client: &Client, query: &str, text: &str) -> (Value, Vec<String>) {
    let response = client.explained(query, json!({ "text": text })).await;
    assert!(response.get("errors").is_none(), "{response:#}");
    (response["data"]["suggest"].clone(), commands(&response))
}

/// The SKUs of suggested products.
fn skus(found: &Value) -> Vec<&str> {
    let list = found["products"].as_array().expect("a list");
    list.iter().filter_map(|one| one["sku"].as_str()).collect()
}

/// How many suggestions of products were answered in this way.
async fn answered(gateway: &Gateway, answer: &str) -> f64 {
    let name = format!("docgate_suggestions_total{{collection=\"products\",answer=\"{answer}\"}}");
    Samples::of(gateway).await.get(&name)
}

fn assert_is(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-9, "{found} instead of {wanted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_was_asked_for_sends_no_command() {
    let gateway = keeping().await;
    let merchant = gateway.merchant();
    create(&merchant, album("als")).await;
    person(&merchant, "Émilie Simon").await;
    let anyone = gateway.anonymous();
    for (query, collection, texts) in [
        (PRODUCTS, "products", ["love sup", "LOVE SUP", "  lóve, súp"]),
        (PEOPLE, "people", ["émi", "EMI", "-emi"]),
        // Nothing is found.
        (PRODUCTS, "products", ["xyz", "XYZ", "xýz"]),
    ] {
        let (first, sent) = asked(&anyone, query, texts[0]).await;
        assert_eq!(sent, [format!("find {collection}")], "{texts:?}");
        for text in &texts[1..] {
            // Who asks makes no difference.
            for client in [&anyone, &merchant] {
                let (found, sent) = asked(client, query, text).await;
                assert_eq!(found, first, "{text}");
                assert!(sent.is_empty(), "{text}: {sent:?}");
            }
        }
    }
    // A typing error is kept with its correction.
    let (first, sent) = asked(&anyone, PRODUCTS, "suprene").await;
    assert_eq!(sent, ["find products", "find products"]);
    assert_eq!(first["products"][0]["correctedText"], "supreme");
    assert_eq!(asked(&anyone, PRODUCTS, "Suprene").await, (first, vec![]));
    // Other words, a word that is complete, and another limit.
    for text in ["love su", "love supreme "] {
        assert_eq!(asked(&anyone, PRODUCTS, text).await.1, ["find products"], "{text}");
    }
    let fewer = anyone.explained(PRODUCTS, json!({ "text": "love sup", "first": 3 })).await;
    assert_eq!(commands(&fewer), ["find products"]);
    assert_is(answered(&gateway, "read").await, 6.0);
    assert_is(answered(&gateway, "kept").await, 9.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_suggestion_may_be_old_and_its_product_is_not() {
    let gateway = keeping().await;
    let without = gateway.sibling_with(|config| config.suggestion_cache_seconds = 0).await;
    let merchant = gateway.merchant();
    create(&merchant, thing("one", "Superb one")).await;
    let [old, new] = [gateway.anonymous(), without.anonymous()];
    for client in [&old, &new] {
        assert_eq!(skus(&asked(client, PRODUCTS, "super").await.0), ["one"]);
    }

    create(&merchant, thing("two", "Superb two")).await;
    assert_eq!(skus(&asked(&old, PRODUCTS, "super").await.0), ["one"]);
    let (found, sent) = asked(&new, PRODUCTS, "super").await;
    assert_eq!(skus(&found), ["one", "two"]);
    assert_eq!(sent, ["find products"], "a gateway that keeps nothing reads each time");
    // What wasn't asked for before is read.
    assert_eq!(skus(&asked(&old, PRODUCTS, "superb").await.0), ["one", "two"]);

    merchant.field(DELETE, json!({ "input": { "sku": "one" } })).await;
    let whole =
        "query($text: String!) { suggest(text: $text) { products { sku product { sku } } } }";
    let (found, sent) = asked(&old, whole, "super").await;
    assert_eq!(found["products"], json!([{ "sku": "one", "product": null }]));
    assert_eq!(sent, ["find products"], "only the product is read");
    assert_eq!(skus(&asked(&new, PRODUCTS, "super").await.0), ["two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_one_moment_share_a_command() {
    let gateway = keeping().await;
    create(&gateway.merchant(), album("als")).await;
    let anyone = gateway.anonymous();
    // So long that most of them ask while the command runs. Those that don't get what is kept.
    let slow = doc! { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 500 };
    let point = gateway.fail_point(doc! { "times": 100 }, slow).await;
    let texts = ["supreme", "Supreme", "SÚPREME", "-supreme"];
    let all = join_all((0..20).map(|number| asked(&anyone, PRODUCTS, texts[number % 4]))).await;
    point.off().await;
    let sent: usize = all.iter().map(|(_, sent)| sent.len()).sum();
    assert_eq!(sent, 1);
    for (found, _) in &all {
        assert_eq!(skus(found), ["als"]);
    }
    assert_is(answered(&gateway, "read").await, 1.0);
    assert_is(answered(&gateway, "shared").await + answered(&gateway, "kept").await, 19.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_hangs_up_leaves_the_answer_to_the_others() {
    let gateway = keeping().await;
    create(&gateway.merchant(), album("als")).await;
    let sent = async || {
        let name = "docgate_mongodb_commands_total{collection=\"products\",command=\"find\",outcome=\"ok\"}";
        Samples::of(&gateway).await.get(name)
    };
    let before = sent().await;
    let slow = doc! { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 1_000 };
    let point = gateway.fail_point(doc! { "times": 1 }, slow).await;
    let ask = || {
        let anyone = gateway.anonymous();
        tokio::spawn(async move { anyone.field(PRODUCTS, json!({ "text": "supreme" })).await })
    };
    let first = ask();
    until("the first one asks", async || answered(&gateway, "read").await >= 1.0).await;
    let second = ask();
    let joined =
        async || answered(&gateway, "shared").await + answered(&gateway, "kept").await >= 1.0;
    until("the second one asks", joined).await;
    first.abort();
    assert_eq!(skus(&second.await.expect("no panic")), ["als"]);
    point.off().await;
    assert_is(sent().await - before, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_not_kept() {
    let gateway = keeping().await;
    create(&gateway.merchant(), album("als")).await;
    let anyone = gateway.anonymous();
    let text = json!({ "text": "supreme" });
    let over = doc! { "failCommands": ["find"], "errorCode": 50 };
    let point = gateway.fail_point(doc! { "times": 1_000 }, over).await;
    for _ in 0..2 {
        let code = anyone.error_code(PRODUCTS, text.clone()).await;
        assert_eq!(code, "TIMEOUT");
    }
    point.off().await;
    let (found, sent) = asked(&anyone, PRODUCTS, "supreme").await;
    assert_eq!((skus(&found), sent), (vec!["als"], owned(&["find products"])));
    let (found, sent) = asked(&anyone, PRODUCTS, "supreme").await;
    assert_eq!((skus(&found), sent), (vec!["als"], vec![]));
    assert_is(answered(&gateway, "read").await, 3.0);
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
