//! Every flow, cut at each of its commands in each way; and the jobs.

use docgate::domains::queue::JobDocument;
use futures_util::future::join_all;
use mongodb::bson::{Document, deserialize_from_document, doc};
use serde_json::{Value, json};

use super::{MARK, SEND, arrived_at, client, conversation, crowd, inbox, send, unread};
use crate::{
    social::{deliver, people},
    support::{
        Gateway,
        cuts::{self, Case},
        proxy::Cut,
        short_bounds,
    },
};

/// Sends a mutation whose answer may get lost.
async fn sent(gateway: &Gateway, by: &str, mutation: &str, input: Value) {
    client(gateway, by).send(mutation, json!({ "input": input })).await.ok();
}

async fn done(gateway: &Gateway) {
    gateway.sweep().await;
    deliver(gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_cut_anywhere_arrives_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let names = ["by", "old", "new"].map(|name| format!("{name}-{n}"));
            people(gateway, &names.each_ref().map(String::as_str)).await;
            // One of them has a bucket.
            send(gateway, &names[0], &[&names[1]], "before").await;
            names
        },
        async |gateway, [by, old, new]| {
            let input = json!({ "to": [old, new], "text": "once", "idempotencyKey": "op" });
            sent(gateway, by, SEND, input).await;
        },
        async |gateway, Case { at, way, subject: [by, old, new] }| {
            assert_eq!(inbox(gateway, old).await, ["once", "before"], "command {at} {way:?}");
            assert_eq!(inbox(gateway, new).await, ["once"], "command {at} {way:?}");
            assert_eq!(conversation(gateway, by, new).await, ["once"], "command {at} {way:?}");
            assert_eq!(conversation(gateway, new, by).await, ["once"], "command {at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_fills_a_bucket_and_begins_the_next_survives_any_cut() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let names = [format!("by-{n}"), format!("to-{n}")];
            people(gateway, &names.each_ref().map(String::as_str)).await;
            // One after the other: under short bounds, too many at once are refused as unavailable.
            for _ in 0..49 {
                send(gateway, &names[0], &[&names[1]], "before").await;
            }
            names
        },
        async |gateway, [by, to]| {
            for key in ["fills", "begins"] {
                let input = json!({ "to": [to], "text": key, "idempotencyKey": key });
                sent(gateway, by, SEND, input).await;
            }
        },
        async |gateway, Case { at, way, subject: [_, to] }| {
            let found = inbox(gateway, to).await;
            assert_eq!(found.len(), 51, "command {at} {way:?}");
            for text in ["fills", "begins"] {
                assert_eq!(found.iter().filter(|one| *one == text).count(), 1, "{at} {way:?}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn marking_as_read_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let names = [format!("by-{n}"), format!("to-{n}")];
            people(gateway, &names.each_ref().map(String::as_str)).await;
            let first = send(gateway, &names[0], &[&names[1]], "first").await;
            let second = send(gateway, &names[0], &[&names[1]], "second").await;
            send(gateway, &names[0], &[&names[1]], "third").await;
            (names, [first, second])
        },
        async |gateway, ([_, to], ids)| {
            for id in ids {
                sent(gateway, to, MARK, json!({ "messageId": id })).await;
            }
        },
        async |gateway, Case { at, way, subject: ([_, to], _) }| {
            assert_eq!(unread(gateway, to).await, 1, "command {at} {way:?}");
        },
    )
    .await;
}

/// The jobs of messages that aren't done, as a worker gets them.
async fn jobs(gateway: &Gateway) -> Vec<JobDocument> {
    let stored = gateway.snapshot().await.remove("jobs").unwrap_or_default().into_iter();
    let jobs = stored.map(|job| deserialize_from_document(job).expect("a job"));
    jobs.filter(|job: &JobDocument| job.done_at.is_none()).collect()
}

/// Does the work of jobs, without the queue around it.
async fn run(gateway: &Gateway, jobs: Vec<JobDocument>) {
    let work = docgate::domains::work(gateway.app.config());
    let own = work.iter().find(|work| work.queue == "docgate.messages").expect("the queue");
    let _cut = join_all(jobs.into_iter().map(|job| (own.handler)(gateway.app.clone(), job))).await;
}

/// Sends a message to all of them, under this key.
async fn to_all(gateway: &Gateway, to: &[String], key: &str) -> Value {
    let input = json!({ "to": to, "text": key, "idempotencyKey": key });
    let sent = client(gateway, "ann").field(SEND, json!({ "input": input })).await;
    assert_eq!(sent["__typename"], "Message", "{sent:#}");
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_survives_a_cut_at_every_command() {
    cuts::everywhere_apart(
        short_bounds,
        async |gateway, n| {
            if gateway.raw("users").find_one(doc! { "_id": "ann" }).await.expect("read").is_none() {
                people(gateway, &["ann"]).await;
                // Each of them has a bucket, so that all cases send the same commands.
                to_all(gateway, &crowd(gateway, 102).await, "before").await;
            }
            // What earlier cases have left is done first.
            deliver(gateway).await;
            let to: Vec<String> = (0..102).map(|number| format!("r-{number:05}")).collect();
            let key = format!("case-{n}");
            to_all(gateway, &to, &key).await;
            let jobs = jobs(gateway).await;
            assert_eq!(jobs.len(), 1);
            (key, to, jobs)
        },
        async |gateway, (_, _, jobs)| run(gateway, jobs.clone()).await,
        async |gateway, Case { at, way, subject: (key, to, _) }| {
            assert_eq!(arrived_at(gateway, key).await, *to, "command {at} {way:?}");
        },
        done,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_many_that_is_cut_half_way_and_repeated_arrives_once() {
    let gateway = Gateway::with(short_bounds).await;
    people(&gateway, &["ann"]).await;
    let to = crowd(&gateway, 1_200).await;
    // Some of them have a bucket.
    to_all(&gateway, &to[..350], "before").await;
    deliver(&gateway).await;
    let sent = to_all(&gateway, &to, "once").await;
    assert_eq!(arrived_at(&gateway, "once").await, to[..100]);
    let first = jobs(&gateway).await;
    // The job dies after the message, the conversations, and the copies to those who have a bucket.
    let dying = gateway.sibling_behind_proxy().await;
    dying.proxy.as_ref().expect("a proxy").cut_all_from(3, Cut::BeforeForwarding);
    run(&dying, first.clone()).await;
    assert_eq!(arrived_at(&gateway, "once").await, to[..350]);
    // The sender repeats the call. Then the job is done three times at once.
    assert_eq!(to_all(&gateway, &to, "once").await, sent);
    tokio::join!(deliver(&gateway), run(&gateway, first.clone()), run(&gateway, first));
    done(&gateway).await;
    assert_eq!(arrived_at(&gateway, "once").await, to);
    assert_eq!(to_all(&gateway, &to, "once").await, sent);
    assert_eq!(arrived_at(&gateway, "once").await, to);
    let delivering = doc! { "delivering": { "$exists": true } };
    let left: Option<Document> = gateway.raw("messages").find_one(delivering).await.expect("read");
    assert_eq!(left, None);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ends_between_the_message_and_its_job_is_finished_by_the_sweep() {
    let gateway = Gateway::with(short_bounds).await;
    people(&gateway, &["ann"]).await;
    let to = crowd(&gateway, 150).await;
    to_all(&gateway, &to, "once").await;
    gateway.raw("jobs").delete_many(doc! {}).await.expect("removed");
    done(&gateway).await;
    assert_eq!(arrived_at(&gateway, "once").await, to);
}
