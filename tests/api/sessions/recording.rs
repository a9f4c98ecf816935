//! Recording sessions: once per idempotency key, and only if they aren't too late.

use std::time::Duration;

use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{RECORD, assert_recount, late, record, recorded, roll_up, session};
use crate::support::Gateway;

const AT: &str = "2024-01-01T10:20:30Z";

fn ago(gateway: &Gateway, millis: i64) -> String {
    let now = gateway.app.clock().timestamp_millis();
    docgate::app::rfc3339(DateTime::from_millis(now - millis))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_the_same_key_records_once() {
    let gateway = Gateway::with(late).await;
    let service = gateway.service();
    let sessions: Vec<_> = (0..100).map(|n| session("ann", AT, n)).collect();
    let done = json!({ "__typename": "SessionsRecorded", "count": 100 });
    for _ in 0..3 {
        assert_eq!(record(&service, &sessions, Some("k")).await, done);
    }
    assert_eq!(roll_up(&gateway).await, 100);
    assert_eq!(record(&service, &sessions, Some("k")).await, done);
    assert_recount(&gateway, "monday").await;
    // Another input is a conflict, and records nothing; another caller's key is another one.
    let before = gateway.stored("sessions").await;
    for other in [&sessions[..99], &sessions[1..], &[session("bob", AT, 5)]] {
        assert_eq!(record(&service, other, Some("k")).await["__typename"], "Conflict");
    }
    assert_eq!(gateway.stored("sessions").await, before);
    let other = gateway.user("another", &["service"]);
    assert_eq!(record(&other, &sessions, Some("k")).await, done);
    // Without a key each call is another one.
    recorded(&gateway, &sessions[..1]).await;
    recorded(&gateway, &sessions[..1]).await;
    assert_eq!(gateway.stored("sessions").await.len(), 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_once_with_one_key_record_once() {
    let gateway = Gateway::with(late).await;
    let sibling = gateway.sibling().await;
    let clients = [gateway.service(), sibling.service()];
    let sessions: Vec<_> = (0..10).map(|n| session("ann", AT, n)).collect();
    let others = [session("ann", AT, 99), session("bob", AT, 99)];
    for round in 0..10 {
        let key = format!("{round}");
        let calls = (0..8).map(async |number: usize| {
            let sessions: &[Value] = if number < 6 { &sessions } else { &others };
            let said = record(&clients[number % 2], sessions, Some(&key)).await;
            (number < 6, said["__typename"] == "SessionsRecorded")
        });
        let said = join_all(calls).await;
        // One of the two inputs was first, and all its calls have succeeded.
        let first = said.iter().find(|(_, done)| *done).expect("one is recorded").0;
        assert!(said.iter().all(|(kind, done)| (*kind == first) == *done), "{said:?}");
        let expected = if first { 10 } else { 2 };
        assert_eq!(roll_up(&gateway).await, expected);
    }
    assert_recount(&gateway, "monday").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_recorded_is_refused_and_changes_nothing() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let good = session("ann", &ago(&gateway, 1_000), 60);
    let with = |key: &str, value: Value| {
        let mut session = good.clone();
        session[key] = value;
        json!([good, session])
    };
    for (sessions, kind, field) in [
        (json!([]), "InvalidInput", "input.sessions"),
        (json!(vec![good.clone(); 101]), "InvalidInput", "input.sessions"),
        (with("userId", json!("")), "InvalidInput", "input.sessions.1.userId"),
        (with("userId", json!("a\nb")), "InvalidInput", "input.sessions.1.userId"),
        (with("userId", json!("x".repeat(129))), "InvalidInput", "input.sessions.1.userId"),
        (with("seconds", json!(-1)), "InvalidInput", "input.sessions.1.seconds"),
        (with("seconds", json!(86_401)), "InvalidInput", "input.sessions.1.seconds"),
        (with("at", json!(ago(&gateway, -120_000))), "InvalidInput", "input.sessions.1.at"),
        (with("at", json!(ago(&gateway, 604_900_000))), "SessionTooLate", "input.sessions.1"),
        (with("at", json!("1969-01-01T00:00:00Z")), "SessionTooLate", "input.sessions.1"),
    ] {
        let said = service.field(RECORD, json!({ "sessions": sessions })).await;
        assert_eq!(
            (&said["__typename"], &said["field"]),
            (&json!(kind), &json!(field)),
            "{said:#}"
        );
    }
    for stranger in [gateway.shopper("ann"), gateway.user("it", &["analyst"])] {
        assert_eq!(stranger.error_code(RECORD, json!({ "sessions": [good] })).await, "FORBIDDEN");
        assert_eq!(stranger.error_code(super::RUN, json!({})).await, "FORBIDDEN");
    }
    let run = gateway.admin().field(super::RUN, json!({ "max": 0 })).await;
    assert_eq!(run["field"], "input.maxSessions");
    assert!(gateway.snapshot().await.is_empty());
    let ahead = session("ann", &ago(&gateway, -30_000), 60);
    recorded(&gateway, &[ahead, session("ann", &ago(&gateway, 604_000_000), 60)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_of_a_call_that_was_in_time_is_answered() {
    for seconds in [3, 30] {
        let gateway = Gateway::with(|config| config.session_retention_seconds = seconds).await;
        let service = gateway.service();
        let sessions =
            [session("ann", &ago(&gateway, 1_000), 60), session("bob", &ago(&gateway, 0), 60)];
        let done = record(&service, &sessions, Some("k")).await;
        // A busy machine may be too late with the first call.
        if seconds == 3 && done["__typename"] == "SessionTooLate" {
            continue;
        }
        assert_eq!(done["count"], 2);
        tokio::time::sleep(Duration::from_millis(seconds * 1_000 - 500)).await;
        assert_eq!(record(&service, &sessions, Some("k")).await, done);
        for key in [Some("another"), None] {
            assert_eq!(record(&service, &sessions, key).await["__typename"], "SessionTooLate");
        }
        let other = [sessions[0].clone(), session("bob", AT, 60)];
        assert_eq!(record(&service, &other, Some("k")).await["__typename"], "SessionTooLate");
        let stored = gateway.stored("sessions").await;
        assert_eq!(stored.len(), 2);
        // As if the call had been cut before its second session: the repeat is too late for it, and the first one stays.
        let second = doc! { "_id": stored[1].get_str("_id").expect("an id") };
        gateway.raw("sessions").delete_one(second).await.expect("deleted");
        assert_eq!(record(&service, &sessions, Some("k")).await["__typename"], "SessionTooLate");
        assert_eq!(gateway.stored("sessions").await, stored[..1]);
        break;
    }
}
