//! The bound on what one user sends.

use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{SEND, client, inbox, send};
use crate::{
    social::{does, people},
    support::Gateway,
};

/// Lets the messages of a user count for this many minutes from now on.
async fn count_for(gateway: &Gateway, of: &str, minutes: i64) {
    let now = gateway.begin().await.now();
    let until = DateTime::from_millis(now.timestamp_millis() + minutes * 60_000);
    let update = doc! { "$set": { "until": until } };
    let changed = gateway.raw("messageSenders").update_one(doc! { "_id": of }, update).await;
    assert_eq!(changed.expect("changed").matched_count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_is_bounded_by_the_number_of_recipients() {
    let gateway = Gateway::with(|config| config.message_recipients_per_hour = 6).await;
    people(&gateway, &["ann", "bob", "cid", "dan", "eve"]).await;
    let to = |to: &[&str], op: &str| json!({ "toUserIds": to, "text": op, "idempotencyKey": op });
    let first = does(&gateway, "ann", SEND, to(&["bob", "cid", "dan", "eve"], "first")).await;
    assert_eq!(first["__typename"], "Message", "{first:#}");
    let before = gateway.snapshot().await;
    let other = gateway.sibling().await;
    for gateway in [&gateway, &other] {
        let input = json!({ "input": to(&["bob", "cid", "dan"], "x") });
        let error = client(gateway, "ann").run(SEND, input).await["errors"][0].clone();
        assert_eq!(error["extensions"]["code"], "RATE_LIMITED", "{error:#}");
        // Ten minutes for each recipient, of whom one is too many.
        let expected = "too many messages, counted by recipients; try again in 10 minutes";
        assert_eq!(error["message"], expected);
        // A repeat is none of it, and neither are refusals.
        let again = to(&["eve", "dan", "cid", "bob"], "first");
        assert_eq!(does(gateway, "ann", SEND, again).await, first);
        let refused = does(gateway, "ann", SEND, to(&["bob", "nobody"], "y")).await;
        assert_eq!(refused["code"], "UNKNOWN_RECIPIENTS");
    }
    assert_eq!(gateway.snapshot().await, before);
    send(&gateway, "ann", &["bob", "cid"], "second").await;
    // Another sender has a bound of their own.
    send(&other, "bob", &["ann", "cid", "dan", "eve"], "another's").await;
    let input = json!({ "input": { "toUserIds": ["bob"], "text": "third" } });
    assert_eq!(client(&gateway, "ann").error_code(SEND, input.clone()).await, "RATE_LIMITED");
    count_for(&gateway, "ann", 49).await;
    send(&gateway, "ann", &["bob"], "third").await;
    assert_eq!(client(&gateway, "ann").error_code(SEND, input).await, "RATE_LIMITED");
    // Time that isn't used isn't kept.
    count_for(&gateway, "ann", -600).await;
    send(&gateway, "ann", &["bob", "cid", "dan", "eve"], "fourth").await;
    send(&gateway, "ann", &["bob", "cid"], "fifth").await;
    let input = json!({ "input": { "toUserIds": ["bob"], "text": "sixth" } });
    assert_eq!(client(&gateway, "ann").error_code(SEND, input).await, "RATE_LIMITED");
    assert_eq!(inbox(&gateway, "bob").await, ["fifth", "fourth", "third", "second", "first"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_more_than_the_bound_is_never_sent() {
    let gateway = Gateway::with(|config| config.message_recipients_per_hour = 1).await;
    people(&gateway, &["ann", "bob", "cid"]).await;
    let refused =
        does(&gateway, "ann", SEND, json!({ "toUserIds": ["bob", "cid"], "text": "x" })).await;
    let expected = (&json!("InvalidInput"), &json!("input.toUserIds"));
    assert_eq!((&refused["__typename"], &refused["field"]), expected, "{refused:#}");
    assert!(gateway.stored("messageSenders").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_once_dont_exceed_the_bound() {
    let gateway = Gateway::with(|config| config.message_recipients_per_hour = 5).await;
    people(&gateway, &["ann", "bob"]).await;
    let other = gateway.sibling().await;
    let call = |number: usize| {
        let gateway = if number.is_multiple_of(2) { &gateway } else { &other };
        let input = json!({ "toUserIds": ["bob"], "text": number.to_string() });
        async move { client(gateway, "ann").run(SEND, json!({ "input": input })).await }
    };
    let answers = join_all((0..20).map(call)).await;
    let is_sent = |answer: &&Value| answer["data"]["sendMessage"]["__typename"] == "Message";
    assert_eq!(answers.iter().filter(is_sent).count(), 5, "{answers:#?}");
    assert_eq!(inbox(&gateway, "bob").await.len(), 5);
    // Repeats of one call count once, also at once.
    count_for(&gateway, "ann", -1).await;
    let input = json!({ "toUserIds": ["bob"], "text": "once", "idempotencyKey": "op" });
    let calls = (0..8).map(|_| does(&gateway, "ann", SEND, input.clone()));
    assert!(join_all(calls).await.iter().all(|one| one["__typename"] == "Message"));
    for number in 0..4 {
        send(&gateway, "ann", &["bob"], &number.to_string()).await;
    }
    let input = json!({ "input": { "toUserIds": ["bob"], "text": "too many" } });
    assert_eq!(client(&gateway, "ann").error_code(SEND, input).await, "RATE_LIMITED");
    gateway.assert_sound().await;
}
