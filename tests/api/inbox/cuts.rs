//! Every flow, cut at each of its commands in each way; and the jobs.

use docgate::domains::queue::JobDocument;
use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, deserialize_from_document, doc};
use serde_json::{Value, json};

use super::{MARK, SEND, arrived_at, client, conversation, crowd, inbox, send, unread};
use crate::{
    social::{bury, deliver, people},
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
            let input = json!({ "toUserIds": [old, new], "text": "once", "idempotencyKey": "op" });
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
                let input = json!({ "toUserIds": [to], "text": key, "idempotencyKey": key });
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
    let stored = gateway.stored("jobs").await.into_iter();
    let jobs = stored.map(|job| deserialize_from_document(job).expect("a job"));
    jobs.filter(|job: &JobDocument| job.done_at.is_none()).collect()
}

/// The jobs of the batch that begins at this position.
async fn jobs_from(gateway: &Gateway, from: usize) -> Vec<JobDocument> {
    let mut jobs = jobs(gateway).await;
    jobs.retain(|job| job.payload.ends_with(&format!("\"from\":{from}}}")));
    assert_eq!(jobs.len(), 1, "one job for each batch");
    jobs
}

/// Does the work of jobs, without the queue around it.
async fn run(gateway: &Gateway, jobs: Vec<JobDocument>) {
    let work = docgate::domains::work(gateway.app.config());
    let own = work.iter().find(|work| work.queue == "docgate.messages").expect("the queue");
    let _cut = join_all(jobs.into_iter().map(|job| (own.handler)(gateway.app.clone(), job))).await;
}

/// Sends a message to all of them, under this key.
async fn to_all(gateway: &Gateway, to: &[String], key: &str) -> Value {
    let input = json!({ "toUserIds": to, "text": key, "idempotencyKey": key });
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

/// Lets each of them have a bucket, with one message of ann, as if it had been delivered.
async fn seed(gateway: &Gateway, to: &[&String]) {
    let at = DateTime::from_millis(1_000_000_000_000);
    let shown = doc! { "id": "before", "by": "ann", "text": "before", "at": at };
    let view = |reader: &str, with: &str| format!("{} {reader} {with}", reader.len());
    let entry = |to: &&String| {
        let views = [view("ann", to), view(to, "ann")];
        doc! { "_id": format!("before {to}"), "views": views, "message": &shown, "v": 1 }
    };
    let bucket = |to: &&String| {
        let messages = [shown.clone()];
        doc! { "_id": format!("{to} 0"), "owner": to, "n": 0_i64, "open": to, "messages": messages, "v": 1 }
    };
    let message = doc! {
        "_id": "before", "shown": &shown, "to": to, "withheld": [], "input": "", "v": 1,
    };
    let all: [(&str, Vec<Document>); 3] = [
        ("messages", vec![message]),
        ("conversationEntries", to.iter().map(entry).collect()),
        ("inboxBuckets", to.iter().map(bucket).collect()),
    ];
    for (collection, documents) in all {
        gateway.raw(collection).insert_many(documents).await.expect("inserted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_ten_thousand_that_is_cut_half_way_and_repeated_arrives_once() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    people(&gateway, &["ann"]).await;
    let to = crowd(&gateway, 10_000).await;
    // All but some hundred of them have a bucket.
    seed(&gateway, &to[..5_300].iter().chain(&to[5_700..]).collect::<Vec<_>>()).await;
    let sent = to_all(&gateway, &to, "once").await;
    assert_eq!(arrived_at(&gateway, "once").await, to[..100]);
    for from in (100..5_100).step_by(500) {
        run(&gateway, jobs_from(&gateway, from).await).await;
    }
    assert_eq!(arrived_at(&gateway, "once").await, to[..5_100]);
    // The next job dies after the message, the conversations, and the copies to those who have a bucket.
    let half = jobs_from(&gateway, 5_100).await;
    let dying = gateway.sibling_behind_proxy().await;
    dying.proxy.as_ref().expect("a proxy").cut_all_from(3, Cut::BeforeForwarding);
    run(&dying, half.clone()).await;
    assert_eq!(arrived_at(&gateway, "once").await, to[..5_300]);
    // The sender repeats the call. Then that job is done three times at once, and all of them once more.
    assert_eq!(to_all(&gateway, &to, "once").await, sent);
    tokio::join!(deliver(&gateway), run(&gateway, half.clone()), run(&gateway, half));
    done(&gateway).await;
    assert_eq!(to_all(&gateway, &to, "once").await, sent);
    assert_eq!(arrived_at(&gateway, "once").await, to);
    let messages = gateway.stored("messages").await;
    assert!(messages.iter().all(|message| !message.contains_key("delivering")));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_has_failed_too_often_is_done_in_the_end() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    people(&gateway, &["ann"]).await;
    let to = crowd(&gateway, 150).await;
    to_all(&gateway, &to, "once").await;
    bury(&gateway).await;
    deliver(&gateway).await;
    assert_eq!(arrived_at(&gateway, "once").await, to[..100]);
    done(&gateway).await;
    assert_eq!(arrived_at(&gateway, "once").await, to);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ends_between_the_message_and_its_job_is_finished_by_the_sweep() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    people(&gateway, &["ann"]).await;
    let to = crowd(&gateway, 150).await;
    to_all(&gateway, &to, "once").await;
    gateway.raw("jobs").delete_many(doc! {}).await.expect("removed");
    done(&gateway).await;
    assert_eq!(arrived_at(&gateway, "once").await, to);
}
