//! Keys: a repeat logs what is missing, and other events under a key that was forgotten aren't lost.

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{day, event, list, log, settled};
use crate::support::Gateway;

/// Forgets all calls, as the sweep does after `flow_ops_seconds`.
async fn forget(gateway: &Gateway) {
    for call in gateway.stored("eventCalls").await {
        let id = call.get_str("_id").expect("an id");
        gateway.raw("eventCalls").delete_one(doc! { "_id": id }).await.expect("removed");
    }
    settled(gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_events_under_a_forgotten_key_are_logged() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let timed = async |path: &str| {
        let events = [event(path, &at), event(path, &at)];
        let said = log(&service, json!({ "events": events, "idempotencyKey": "timed" })).await;
        assert_eq!((&said["count"], &said["failures"]), (&json!(2), &json!([])), "{said:#}");
        list(&gateway, json!({ "path": path })).await.len()
    };
    let untimed = async || {
        let events = json!([{ "host": "h", "site": "s", "path": "/now" }]);
        let said = log(&service, json!({ "events": events, "idempotencyKey": "untimed" })).await;
        assert_eq!((&said["count"], &said["failures"]), (&json!(1), &json!([])), "{said:#}");
        list(&gateway, json!({ "path": "/now" })).await.len()
    };
    for _ in 0..2 {
        assert_eq!((timed("/a").await, untimed().await), (2, 1));
    }
    forget(&gateway).await;
    // These are in the same month, and have the same positions in their call.
    for _ in 0..2 {
        assert_eq!(timed("/b").await, 2);
    }
    // The times of events without one are those of the new call.
    for _ in 0..2 {
        assert_eq!(untimed().await, 2);
    }
    // Events with a time are recognised for as long as they are kept.
    for path in ["/a", "/b"] {
        forget(&gateway).await;
        assert_eq!(timed(path).await, 2, "{path}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_repeat_of_a_call_of_an_older_version_logs_what_is_missing() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let events = [event("/a", &at), event("/a", &at), event("/a", &at)];
    let input = json!({ "events": events, "idempotencyKey": "k" });
    let first = log(&service, input.clone()).await;
    assert_eq!(first["count"], 3, "{first:#}");

    // The older version stored the digest alone, its ids had nothing of it, and it stopped before the last event.
    let call = gateway.stored("eventCalls").await.remove(0);
    let id = call.get_str("_id").expect("an id");
    let digest = call.get_str("input").expect("an input").rsplit('/').next().expect("a digest");
    let older = doc! { "$set": { "input": digest } };
    gateway.raw("eventCalls").update_one(doc! { "_id": id }, older).await.expect("updated");
    let month = format!("events_{}_{}", &at[..4], &at[5..7]);
    let ids = [0, 1, 2].map(|position| format!("{id}{position:03x}"));
    for (mut stored, id) in gateway.stored(&month).await.into_iter().zip(&ids) {
        let own = stored.insert("_id", id.clone()).expect("an id");
        gateway.raw(&month).delete_one(doc! { "_id": own }).await.expect("removed");
        if *id != ids[2] {
            gateway.raw(&month).insert_one(stored).await.expect("inserted");
        }
    }
    settled(&gateway).await;

    for _ in 0..2 {
        assert_eq!(log(&service, input.clone()).await, first);
        let stored = gateway.stored(&month).await;
        let stored: Vec<&str> = stored.iter().filter_map(|one| one.get_str("_id").ok()).collect();
        assert_eq!(stored, ids);
    }
    let other = json!({ "events": [event("/b", &at)], "idempotencyKey": "k" });
    assert_eq!(log(&service, other).await["__typename"], "Conflict");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_too_large_leaves_its_key_free() {
    let gateway = Gateway::with(|config| config.body_bytes = 32 << 20).await;
    let service = gateway.service();
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    let long = "x".repeat(8_000);
    let mut large = event("/a", &at);
    for field in ["query", "referrer", "userAgent"] {
        large[field] = json!(long);
    }
    let keyed = |events: &[Value]| json!({ "events": events, "idempotencyKey": "k" });
    // 350 of these are 8,400,000 bytes and more, and 8 MiB are 8,388,608.
    let said = log(&service, keyed(&vec![large.clone(); 350])).await;
    assert_eq!(
        (&said["__typename"], &said["field"]),
        (&json!("InvalidInput"), &json!("input.events")),
        "{said:#}"
    );
    assert!(gateway.contents().await.is_empty());
    for _ in 0..2 {
        let said = log(&service, keyed(&[large.clone(), large.clone()])).await;
        assert_eq!(said["count"], 2, "{said:#}");
        assert_eq!(list(&gateway, json!({ "path": "/a" })).await.len(), 2);
    }
    gateway.assert_sound().await;
}
