//! `retryDeadJobs` with an idempotency key.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    RETRY, claim, claimed, complete, enqueue, enqueued, fail, jobs, operator, state, stats, text,
};
use crate::support::{Gateway, cuts, key, short_bounds};

/// Makes dead letters of a queue, and returns their ids, the oldest first.
async fn dead(gateway: &Gateway, queue: &str, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(enqueued(gateway, queue, "a").await);
        die(gateway, queue).await;
    }
    ids
}

/// Lets the first job of a queue fail for good.
async fn die(gateway: &Gateway, queue: &str) -> String {
    let claim = claimed(gateway, queue).await;
    let failed = fail(gateway, &claim, json!({ "isRetryable": false })).await;
    assert_eq!(failed["state"], "DEAD", "{failed:#}");
    claim.0
}

async fn retry(gateway: &Gateway, input: Value) -> Value {
    operator(gateway).field(RETRY, json!({ "input": input })).await
}

fn numbers(answer: &Value) -> (i64, i64) {
    let number = |name: &str| answer[name].as_i64().unwrap_or_else(|| panic!("{answer:#}"));
    (number("count"), number("skipped"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_leaves_alone_what_died_since() {
    let gateway = Gateway::start().await;
    let first = dead(&gateway, "mail", 2).await;
    let input = json!({ "queue": "mail", "idempotencyKey": "op" });
    assert_eq!(numbers(&retry(&gateway, input.clone()).await), (2, 0));
    // One dies again, and there is a new one.
    let again = die(&gateway, "mail").await;
    assert!(first.contains(&again));
    let claim = claimed(&gateway, "mail").await;
    let new = dead(&gateway, "mail", 1).await;
    assert_eq!(numbers(&retry(&gateway, input.clone()).await), (2, 0));
    assert_eq!(state(&gateway, &again).await, "DEAD");
    assert_eq!(state(&gateway, &new[0]).await, "DEAD");
    // Without a key, and with another one, they come back.
    let other = json!({ "queue": "mail", "max": 1, "idempotencyKey": "other" });
    assert_eq!(numbers(&retry(&gateway, other.clone()).await), (1, 0));
    assert_eq!(numbers(&retry(&gateway, json!({ "queue": "mail" })).await), (1, 0));
    // The first call is still known, also by a job that was retried again.
    assert_eq!(complete(&gateway, &claim).await["__typename"], "CompletedJob");
    die(&gateway, "mail").await;
    assert_eq!(numbers(&retry(&gateway, input).await), (2, 0));
    assert_eq!(stats(&gateway, "mail").await, [1, 0, 0, 1]);
    let conflict = json!({ "queue": "mail", "max": 2, "idempotencyKey": "other" });
    assert_eq!(retry(&gateway, conflict).await["code"], "CONFLICT");
    let elsewhere = gateway.user("another", &["operator"]);
    let mine = json!({ "input": { "queue": "mail", "idempotencyKey": "op" } });
    assert_eq!(numbers(&elsewhere.field(RETRY, mine).await), (1, 0), "another caller's key");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_cut_chooses_no_others_in_its_repeat() {
    let gateway = Gateway::start().await;
    let ids = dead(&gateway, "mail", 6).await;
    let input = json!({ "queue": "mail", "max": 3, "idempotencyKey": "op" });
    assert_eq!(numbers(&retry(&gateway, input.clone()).await), (3, 0));
    // As if two of the three updates hadn't been applied.
    for id in &ids[..2] {
        let stored = gateway.raw("jobs").find_one(doc! { "_id": key(id) }).await.expect("read");
        let at = *stored.expect("a job").get_datetime("at").expect("a time");
        let dead = doc! {
            "$set": { "state": "DEAD", "deadAt": at }, "$unset": { "ready": "", "retries": "" },
        };
        gateway.raw("jobs").update_one(doc! { "_id": key(id) }, dead).await.expect("set");
    }
    assert_eq!(numbers(&retry(&gateway, input.clone()).await), (3, 0));
    assert_eq!(stats(&gateway, "mail").await, [3, 0, 0, 3]);
    assert_eq!(numbers(&retry(&gateway, input).await), (3, 0));
    for id in &ids[3..] {
        assert_eq!(state(&gateway, id).await, "DEAD");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_with_one_key_at_the_same_time_are_one_call() {
    let gateway = Gateway::start().await;
    let other = gateway.sibling().await;
    dead(&gateway, "mail", 8).await;
    let input = json!({ "queue": "mail", "max": 4, "idempotencyKey": "op" });
    let calls = (0..8).map(|at| retry(if at % 2 == 0 { &gateway } else { &other }, input.clone()));
    for answer in join_all(calls).await {
        assert_eq!(numbers(&answer), (4, 0));
    }
    assert_eq!(stats(&gateway, "mail").await, [4, 0, 0, 4]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_unique_key_is_taken_is_skipped_again() {
    let gateway = Gateway::start().await;
    let input = json!({ "queue": "mail", "payload": "a", "uniqueKey": "k" });
    enqueue(&gateway, input.clone()).await;
    die(&gateway, "mail").await;
    dead(&gateway, "mail", 1).await;
    assert_eq!(enqueue(&gateway, input).await["__typename"], "Job");
    let input = json!({ "queue": "mail", "idempotencyKey": "op" });
    assert_eq!(numbers(&retry(&gateway, input.clone()).await), (1, 1));
    assert_eq!(numbers(&retry(&gateway, input.clone()).await), (1, 1));
    // A call that found nothing is tried again.
    let none = json!({ "queue": "print", "idempotencyKey": "op-2" });
    assert_eq!(numbers(&retry(&gateway, none.clone()).await), (0, 0));
    dead(&gateway, "print", 1).await;
    assert_eq!(numbers(&retry(&gateway, none).await), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn those_whose_unique_keys_are_taken_hold_up_none_behind_them() {
    let gateway = Gateway::start().await;
    let keyed = |key: &str| json!({ "queue": "mail", "payload": "a", "uniqueKey": key });
    for key in ["k", "l", "k"] {
        assert_eq!(enqueue(&gateway, keyed(key)).await["__typename"], "Job");
        die(&gateway, "mail").await;
    }
    let free = dead(&gateway, "mail", 3).await;
    for key in ["k", "l"] {
        assert_eq!(enqueue(&gateway, keyed(key)).await["__typename"], "Job");
    }
    let input = json!({ "queue": "mail", "max": 2, "idempotencyKey": "op" });
    for _ in 0..2 {
        assert_eq!(numbers(&retry(&gateway, input.clone()).await), (2, 3));
    }
    assert_eq!(state(&gateway, &free[1]).await, "READY");
    assert_eq!(state(&gateway, &free[2]).await, "DEAD");
    let one = json!({ "queue": "mail", "max": 1 });
    assert_eq!(numbers(&retry(&gateway, one.clone()).await), (1, 3));
    assert_eq!(numbers(&retry(&gateway, one).await), (0, 3));
    // No job is live any more.
    let wanted = json!({ "queue": "mail", "max": 10, "leaseSeconds": 600 });
    let found = claim(&gateway, wanted).await;
    assert_eq!(jobs(&found).len(), 5, "{found:#}");
    for one in jobs(&found) {
        let claim = (text(&one["job"]["id"]), text(&one["token"]));
        assert_eq!(complete(&gateway, &claim).await["__typename"], "CompletedJob");
    }
    assert_eq!(
        numbers(&retry(&gateway, input).await),
        (2, 3),
        "a repeat makes no others available"
    );
    let all = json!({ "queue": "mail" });
    assert_eq!(numbers(&retry(&gateway, all).await), (2, 1), "one for each key");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_with_a_key_that_is_cut_anywhere_is_done_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let queue = format!("queue-{n}");
            dead(gateway, &queue, 3).await;
            queue
        },
        async |gateway, queue: &String| {
            let input = json!({ "queue": queue, "max": 2, "idempotencyKey": queue });
            let _cut = super::cuts::sent(operator(gateway), RETRY, input).await;
        },
        async |gateway, case| {
            let stats = stats(gateway, &case.subject).await;
            assert_eq!(stats, [2, 0, 0, 1], "{:?} {}", case.way, case.at);
        },
    )
    .await;
}
