//! The commands of the work queue's mutations.

use mongodb::bson::doc;
use serde_json::json;

use super::{
    CLAIM, COMPLETE, ENQUEUE, FAIL, HEARTBEAT, RETRY, claimed, enqueued, fail, jobs, operator,
    producer, with, worker,
};
use crate::{
    commands::sends_only,
    support::{Gateway, cuts, key},
};

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_counted_once_and_then_added_by_one_command_each() {
    let base = Gateway::start().await;
    let add = async |gateway: &Gateway| {
        for _ in 0..3 {
            let input =
                json!({ "queue": "mail", "payload": "a", "uniqueKey": gateway.app.ids().random() });
            let job = producer(gateway).field(ENQUEUE, json!({ "input": input })).await;
            assert_eq!(job["__typename"], "Job", "{job:#}");
        }
    };
    let expected = [
        // READY jobs, and delayed or claimed ones: those of the producer, and all. Only a new gateway counts them.
        "aggregate jobs",
        "aggregate jobs",
        "aggregate jobs",
        "aggregate jobs",
        "insert jobs",
        "insert jobs",
        "insert jobs",
    ];
    sends_only(&base, add, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim() {
    let base = Gateway::start().await;
    for payload in ["a", "b", "c"] {
        enqueued(&base, "mail", payload).await;
    }
    let claim = async |gateway: &Gateway| {
        let input = json!({ "queue": "mail", "max": 2 });
        let found = worker(gateway).field(CLAIM, json!({ "input": input })).await;
        assert_eq!(jobs(&found).len(), 2);
    };
    // The first read is that of delays and leases that have ended.
    sends_only(&base, claim, &["find jobs", "find jobs", "update jobs"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_behind_jobs_that_cant_be_read() {
    let base = Gateway::start().await;
    for _ in 0..10 {
        let id = enqueued(&base, "mail", "torn").await;
        let damage = doc! { "$set": { "payload": 1 } };
        base.raw("jobs").update_one(doc! { "_id": key(&id) }, damage).await.expect("damaged");
    }
    let whole = enqueued(&base, "mail", "whole").await;
    let claim = async |gateway: &Gateway| assert_eq!(claimed(gateway, "mail").await.0, whole);
    let sent = cuts::sent(&base.patient_sibling().await, claim).await;
    let reads = sent.iter().filter(|seen| seen.command == "find" && seen.collection == "jobs");
    // That of delays and leases that have ended, and those of 1, 3, 7 and 15 jobs.
    assert_eq!(reads.count(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_with_a_key() {
    let base = Gateway::start().await;
    enqueued(&base, "mail", "a").await;
    let claim = async |gateway: &Gateway| {
        let input = json!({ "queue": "mail", "idempotencyKey": "op" });
        let found = worker(gateway).field(CLAIM, json!({ "input": input })).await;
        assert_eq!(jobs(&found).len(), 1);
    };
    // It first looks for the jobs of a call before it.
    let expected = ["find jobs", "find jobs", "find jobs", "update jobs"];
    sends_only(&base, claim, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_of_two_queues() {
    let base = Gateway::start().await;
    enqueued(&base, "mail", "a").await;
    enqueued(&base, "print", "b").await;
    let claim = async |gateway: &Gateway| {
        let input = json!({ "queues": ["mail", "print"] });
        let found = worker(gateway).field(CLAIM, json!({ "input": input })).await;
        assert_eq!(jobs(&found).len(), 1);
    };
    // The other queue isn't asked.
    sends_only(&base, claim, &["find jobs", "find jobs", "update jobs"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_says_of_its_job() {
    let base = Gateway::start().await;
    enqueued(&base, "mail", "a").await;
    enqueued(&base, "mail", "b").await;
    let held = claimed(&base, "mail").await;
    let renew = async |gateway: &Gateway| {
        let renewed = worker(gateway).field(HEARTBEAT, with(&held)).await;
        assert_eq!(renewed["__typename"], "Job", "{renewed:#}");
    };
    sends_only(&base, renew, &["findAndModify jobs"]).await;
    // The result's `job` is one read.
    let complete = async |gateway: &Gateway| {
        let done = worker(gateway).field(COMPLETE, with(&held)).await;
        assert_eq!(done["__typename"], "CompletedJob", "{done:#}");
    };
    sends_only(&base, complete, &["update jobs", "find jobs"]).await;
    let held = claimed(&base, "mail").await;
    let fail = async |gateway: &Gateway| {
        let mut variables = with(&held);
        variables["input"]["reason"] = json!("it broke");
        let failed = worker(gateway).field(FAIL, variables).await;
        assert_eq!(failed["state"], "DELAYED", "{failed:#}");
    };
    sends_only(&base, fail, &["findAndModify jobs"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry() {
    let base = Gateway::start().await;
    let prepare = async |queue| {
        for _ in 0..5 {
            enqueued(&base, queue, "a").await;
            let claim = claimed(&base, queue).await;
            fail(&base, &claim, json!({ "isRetryable": false })).await;
        }
    };
    let retry = async |gateway: &Gateway, input| {
        let retried = operator(gateway).field(RETRY, json!({ "input": input })).await;
        assert_eq!(retried["count"], 5, "{retried:#}");
    };
    prepare("mail").await;
    let plain = async |gateway: &Gateway| retry(gateway, json!({ "queue": "mail" })).await;
    sends_only(&base, plain, &["find jobs", "update jobs"]).await;
    prepare("print").await;
    let keyed = json!({ "queue": "print", "idempotencyKey": "op" });
    let keyed = async |gateway: &Gateway| retry(gateway, keyed.clone()).await;
    // It first looks for the jobs of a call before it.
    sends_only(&base, keyed, &["find jobs", "find jobs", "update jobs"]).await;
}
