//! Repeats that come while the first call is under way.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Door, counts, editor, file, let_time_pass, noise, send_file, slow::Slow, uploaded, with_file,
};
use crate::support::Gateway;

/// Replaces the file while a repeat's beginning is on its way; answers both.
async fn overtaken(gateway: &Gateway, input: &Value) -> (Value, Value) {
    let client = editor(gateway);
    let sent = file("b", "x/y", noise(600_000));
    let body = with_file("replaceAsset", input.clone(), &sent);
    let mut slow = Slow::form(&client, body.len()).await;
    // What was applied is looked at, and nothing was taken so far.
    slow.send(&body[..100_000]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let first = send_file(&client, "replaceAsset", input.clone(), &sent).await;
    assert_eq!(first["__typename"], "Asset", "{first:#}");
    slow.send(&body[100_000..]).await;
    (first, slow.answer().await["data"]["replaceAsset"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_that_is_overtaken_is_answered_as_applied() {
    let gateway = Gateway::start().await;
    for with_nonce in [true, false] {
        let slug = format!("it-{with_nonce}");
        let asset = uploaded(&gateway, json!({ "slug": slug }), &file("a", "x/y", "x")).await;
        let mut input = json!({ "assetId": asset["id"], "idempotencyKey": slug });
        if with_nonce {
            input["version"] = asset["version"].clone();
        }
        let (first, second) = overtaken(&gateway, &input).await;
        assert_eq!(second, first, "with a version: {with_nonce}");
        let read = Door::open(&gateway).bytes(&format!("/{slug}"), &[]).await;
        assert!(read == (200, noise(600_000)));
    }
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [2, 2, 6]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_of_a_replacement_at_the_same_moment_are_one() {
    let gateway = Gateway::start().await;
    let asset = uploaded(&gateway, json!({ "slug": "it" }), &file("a", "x/y", "x")).await;
    let input =
        json!({ "assetId": asset["id"], "version": asset["version"], "idempotencyKey": "one" });
    let sent = file("b", "x/y", noise(600_000));
    let sends = (0..8).map(|_| {
        let (client, body) = (editor(&gateway), with_file("replaceAsset", input.clone(), &sent));
        tokio::spawn(async move { super::send_form(&client, body).await.expect("an answer").1 })
    });
    for answer in sends.collect::<Vec<_>>() {
        let answer = answer.await.expect("an answer");
        // Who was taken over hears that nobody knows.
        let is_unsure = answer["errors"][0]["extensions"]["code"] == "UNAVAILABLE";
        let is_done = answer["data"]["replaceAsset"]["__typename"] == "Asset";
        assert!(is_unsure || is_done, "{answer:#}");
    }
    let done = send_file(&editor(&gateway), "replaceAsset", input, &sent).await;
    assert_eq!(done["length"], 600_000, "{done:#}");
    gateway.assert_sound().await;
}
