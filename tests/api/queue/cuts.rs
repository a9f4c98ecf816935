//! Every operation of the work queue, cut at each of its commands in each way.

use docgate::config::Config;
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    CLAIM, COMPLETE, ENQUEUE, FAIL, HEARTBEAT, RETRY, claimed, end_lease, enqueued, fail, operator,
    producer, state, text, with, worker,
};
use crate::support::{Gateway, cuts, key, proxy::Seen, short_bounds};

/// Sends a mutation, and returns its answer if there is one.
pub async fn sent(client: crate::support::Client, query: &str, input: Value) -> Option<Value> {
    let (_, body) = client.send(query, json!({ "input": input })).await.ok()?;
    body["data"].as_object()?.values().next().cloned()
}

/// Jobs of a queue by state.
async fn stored(gateway: &Gateway, queue: &str, state: &str) -> u64 {
    let filter = doc! { "queue": queue, "state": state };
    gateway
        .raw("jobs")
        .count_documents(filter)
        .hint(mongodb::options::Hint::Name("_id_".into()))
        .await
        .expect("counted")
}

fn bounds(config: &mut Config) {
    short_bounds(config);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enqueue_that_is_cut_anywhere_adds_one_job() {
    cuts::everywhere(
        bounds,
        async |_, n| format!("queue-{n}"),
        async |gateway, queue: &String| {
            let input = json!({ "queue": queue, "payload": "a", "uniqueKey": "k", "idempotencyKey": queue });
            let _cut = sent(producer(gateway), ENQUEUE, input).await;
        },
        async |gateway, case| {
            let count = stored(gateway, &case.subject, "READY").await;
            assert_eq!(count, 1, "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_cut_anywhere_is_found_by_its_repeat() {
    cuts::everywhere(
        bounds,
        async |gateway, n| {
            let queue = format!("queue-{n}");
            enqueued(gateway, &queue, "a").await;
            enqueued(gateway, &queue, "b").await;
            queue
        },
        async |gateway, queue: &String| {
            let input = json!({ "queue": queue, "idempotencyKey": queue, "leaseSeconds": 600 });
            let _cut = sent(worker(gateway), CLAIM, input).await;
        },
        async |gateway, case| {
            // One job, whatever was applied before the cut.
            let queue = &case.subject;
            let input = json!({ "queue": queue, "idempotencyKey": queue, "leaseSeconds": 600 });
            let found = worker(gateway).field(CLAIM, json!({ "input": input })).await;
            let jobs = super::jobs(&found);
            assert_eq!(jobs.len(), 1, "{:?} {}: {found:#}", case.way, case.at);
            assert_eq!(stored(gateway, queue, "CLAIMED").await, 1, "{:?} {}", case.way, case.at);
            assert_eq!(stored(gateway, queue, "READY").await, 1, "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

/// Cuts an operation on a claimed job, after which the job is in the state.
async fn ends_as(query: &str, more: Value, expected: &[&str]) {
    cuts::everywhere(
        bounds,
        async |gateway, n| {
            let queue = format!("queue-{n}");
            let input = json!({ "queue": queue, "payload": "a", "maxAttempts": 1 });
            let job = producer(gateway).field(ENQUEUE, json!({ "input": input })).await;
            assert_eq!(job["__typename"], "Job", "{job:#}");
            claimed(gateway, &queue).await
        },
        async |gateway, claim: &(String, String)| {
            let mut input = with(claim)["input"].clone();
            for (name, value) in more.as_object().expect("an object") {
                input[name] = value.clone();
            }
            let _cut = sent(worker(gateway), query, input).await;
        },
        async |gateway, case| {
            let state = text(&state(gateway, &case.subject.0).await);
            assert!(expected.contains(&state.as_str()), "{:?} {}: {state}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_is_cut_anywhere_is_done_by_its_repeat() {
    ends_as(COMPLETE, json!({}), &["DONE"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_is_cut_anywhere_is_one_failure() {
    ends_as(FAIL, json!({ "reason": "it broke" }), &["DEAD"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_that_is_cut_anywhere_keeps_the_claim() {
    ends_as(HEARTBEAT, json!({ "leaseSeconds": 600 }), &["CLAIMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_is_cut_anywhere_brings_the_job_back() {
    cuts::everywhere(
        bounds,
        async |gateway, n| {
            let queue = format!("queue-{n}");
            let id = enqueued(gateway, &queue, "a").await;
            let claim = claimed(gateway, &queue).await;
            fail(gateway, &claim, json!({ "isRetryable": false })).await;
            (queue, id)
        },
        async |gateway, (queue, _): &(String, String)| {
            let _cut = sent(operator(gateway), RETRY, json!({ "queue": queue })).await;
        },
        async |gateway, case| {
            let (_, id) = &case.subject;
            let job = gateway.raw("jobs").find_one(doc! { "_id": key(id) }).await.expect("read");
            let job = job.expect("the job");
            let state = job.get_str("state").expect("a state");
            assert_eq!(state, "READY", "{:?} {}", case.way, case.at);
            assert_eq!(job.get_i32("attempts").expect("a number"), 0);
        },
    )
    .await;
}

/// When the first copy of the claim's command arrives, the lease has ended, and the job waits for another worker.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_claim_takes_no_job_from_others() {
    let base = Gateway::start().await;
    let id = enqueued(&base, "mail", "a").await;
    let is_claim = |seen: &Seen| seen.collection == "jobs" && seen.command == "update";
    let first = async |gateway: &Gateway| assert_eq!(claimed(gateway, "mail").await.0, id);
    let later = async || {
        end_lease(&base, &id).await;
        base.sweep_room(&docgate::domains::queue::ROOM).await;
        assert_eq!(state(&base, &id).await, "READY");
    };
    cuts::with_late_copy(&base, is_claim, first, later).await;
    assert_eq!(state(&base, &id).await, "READY");
    assert_eq!(claimed(&base, "mail").await.0, id);
    let job = base.raw("jobs").find_one(doc! { "_id": key(&id) }).await.expect("read");
    assert_eq!(job.expect("the job").get_i32("attempts").expect("a number"), 2);
    base.assert_sound().await;
}
