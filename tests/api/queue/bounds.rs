//! The bounds on unfinished jobs and on dead letters.

use docgate::{background, config::Config, domains};
use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{
    ENQUEUE, JOB, RETRY, claimed, complete, enqueue, enqueued, fail, operator, producer, state,
    stats, text,
};
use crate::support::{Gateway, key, until};

fn bounds(config: &mut Config) {
    config.queue_jobs = 12;
    config.queue_jobs_per_producer = 8;
}

/// Enqueues jobs side by side as this producer. Returns the refusals.
async fn enqueue_as(gateway: &Gateway, subject: &str, count: usize) -> Vec<Value> {
    let client = gateway.user(subject, &["producer"]);
    let queue = |at: usize| format!("queue-{}", at % 3);
    let one = |at| {
        let input = json!({ "queue": queue(at), "payload": at.to_string() });
        client.field(ENQUEUE, json!({ "input": input }))
    };
    let mut answers = join_all((0..count).map(one)).await;
    answers.retain(|answer| answer["__typename"] != "Job");
    answers
}

async fn live(gateway: &Gateway) -> i64 {
    let mut sum = 0;
    for queue in ["queue-0", "queue-1", "queue-2"] {
        let [ready, delayed, claimed, _] = stats(gateway, queue).await;
        sum += ready + delayed + claimed;
    }
    sum
}

/// Lets the estimate become old enough to be counted again before a refusal.
async fn a_second() {
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_has_a_share_and_all_have_a_bound() {
    let gateway = Gateway::with(bounds).await;
    let refused = enqueue_as(&gateway, "greedy", 30).await;
    assert_eq!(refused.len(), 22, "{refused:#?}");
    for refusal in &refused {
        assert_eq!((&refusal["code"], &refusal["limit"]), (&json!("QUEUE_FULL"), &json!(8)));
        assert_eq!(refusal["scope"], "PRODUCER");
    }
    assert_eq!(live(&gateway).await, 8);
    // The others still have room, up to the bound on all.
    let refused = enqueue_as(&gateway, "another", 7).await;
    assert_eq!(refused.len(), 3, "{refused:#?}");
    for refusal in &refused {
        assert_eq!((&refusal["scope"], &refusal["limit"]), (&json!("ALL"), &json!(12)));
    }
    assert_eq!(live(&gateway).await, 12);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delayed_and_claimed_jobs_count_and_completed_ones_do_not() {
    let gateway = Gateway::with(bounds).await;
    for number in 0..3 {
        enqueued(&gateway, "queue-0", &number.to_string()).await;
        let later = json!({ "queue": "queue-1", "payload": "", "runAt": "2999-01-01T00:00:00Z" });
        assert_eq!(enqueue(&gateway, later).await["state"], "DELAYED");
    }
    let claims = [claimed(&gateway, "queue-0").await, claimed(&gateway, "queue-0").await];
    assert!(enqueue_as(&gateway, "a-producer", 2).await.is_empty());
    assert_eq!(enqueue_as(&gateway, "a-producer", 1).await.len(), 1);
    // Also in the eyes of a gateway that has added none of them.
    let other = gateway.sibling().await;
    assert_eq!(enqueue_as(&other, "a-producer", 1).await.len(), 1);
    for claim in &claims {
        assert_eq!(complete(&gateway, claim).await["__typename"], "CompletedJob");
    }
    // A count that took long isn't repeated soon.
    let has_room = async || enqueue_as(&gateway, "a-producer", 1).await.is_empty();
    until("the completed jobs don't count", has_room).await;
    assert_eq!(enqueue_as(&gateway, "a-producer", 4).await.len(), 3);
    assert_eq!(live(&gateway).await, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_that_count_at_the_same_time_exceed_a_bound_once() {
    let gateway = Gateway::with(bounds).await;
    let other = gateway.sibling().await;
    for _ in 0..3 {
        futures_util::future::join(
            enqueue_as(&gateway, "greedy", 12),
            enqueue_as(&other, "greedy", 12),
        )
        .await;
        a_second().await;
    }
    // Each has added at most what it had room for when it counted first.
    let live = live(&gateway).await;
    assert!((8..=16).contains(&live), "{live}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_adds_no_job_takes_no_room() {
    let gateway = Gateway::with(bounds).await;
    let input =
        json!({ "queue": "queue-0", "payload": "", "uniqueKey": "k", "idempotencyKey": "op" });
    let job = enqueue(&gateway, input.clone()).await;
    let again = join_all((0..20).map(|_| enqueue(&gateway, input.clone()))).await;
    assert!(again.iter().all(|other| *other == job), "{again:#?}");
    for _ in 0..20 {
        let exists = json!({ "queue": "queue-0", "payload": "", "uniqueKey": "k" });
        assert_eq!(enqueue(&gateway, exists).await["code"], "JOB_EXISTS");
    }
    assert!(enqueue_as(&gateway, "a-producer", 7).await.is_empty());
    // A repeat finds its job although there is no room for another one.
    assert_eq!(enqueue_as(&gateway, "a-producer", 1).await.len(), 1);
    assert_eq!(enqueue(&gateway, input.clone()).await, job);
    let mut other = input;
    other["payload"] = json!("other");
    assert_eq!(enqueue(&gateway, other).await["code"], "CONFLICT");
    assert_eq!(live(&gateway).await, 8);
}

/// Makes a dead letter of a queue as this producer, and returns its id.
async fn dead(gateway: &Gateway, subject: &str, queue: &str) -> String {
    let client = gateway.user(subject, &["producer"]);
    let input = json!({ "queue": queue, "payload": "" });
    let job = client.field(ENQUEUE, json!({ "input": input })).await;
    let claim = claimed(gateway, queue).await;
    assert_eq!(json!(claim.0), job["id"], "{job:#}");
    let failed = fail(gateway, &claim, json!({ "isRetryable": false })).await;
    assert_eq!(failed["state"], "DEAD", "{failed:#}");
    claim.0
}

async fn exists(gateway: &Gateway, id: &str) -> bool {
    let found = operator(gateway).run(JOB, json!({ "id": id })).await;
    !found["data"]["job"].is_null()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_many_dead_letters_the_oldest_go() {
    let gateway = Gateway::with(|config| {
        config.queue_dead_jobs = 5;
        config.queue_dead_jobs_per_producer = 3;
    })
    .await;
    let mut greedy = Vec::new();
    for number in 0..5 {
        greedy.push(dead(&gateway, "greedy", &format!("queue-{}", number % 2)).await);
    }
    gateway.sweep().await;
    let mut left = Vec::new();
    for id in &greedy {
        left.push(exists(&gateway, id).await);
    }
    assert_eq!(left, [false, false, true, true, true], "its oldest ones went");
    // The bound on all of them: the oldest go, whoever has added them.
    let mut others = Vec::new();
    for subject in ["ann", "ann", "bob"] {
        others.push(dead(&gateway, subject, "queue-2").await);
    }
    gateway.sweep().await;
    assert!(!exists(&gateway, &greedy[2]).await && exists(&gateway, &greedy[3]).await);
    for id in &others {
        assert!(exists(&gateway, id).await);
    }
    let before = gateway.snapshot().await["jobs"].clone();
    gateway.sweep().await;
    assert!(gateway.snapshot().await["jobs"] == before, "there is no surplus any more");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_of_dead_letters_that_fails_keeps_no_others() {
    let gateway = Gateway::with(|config| config.queue_dead_jobs_per_producer = 1).await;
    let mut oldest = Vec::new();
    for subject in ["ann", "bob"] {
        oldest.push(dead(&gateway, subject, "mail").await);
        dead(&gateway, subject, "mail").await;
    }
    let refused = doc! {
        "failCommands": ["delete"], "namespace": format!("{}.jobs", gateway.database.name()),
        "errorCode": 2,
    };
    let point = gateway.fail_point(doc! { "times": 1 }, refused).await;
    let passed = background::sweep_room(&gateway.app, &domains::queue::ROOM).await;
    point.off().await;
    assert!(passed.is_err(), "{passed:?}");
    let exist = async || [exists(&gateway, &oldest[0]).await, exists(&gateway, &oldest[1]).await];
    assert_eq!(exist().await, [true, false]);
    gateway.sweep().await;
    assert_eq!(exist().await, [false, false]);
    assert_eq!(stats(&gateway, "mail").await, [0, 0, 0, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_of_docgate_itself_are_not_counted() {
    let gateway = Gateway::with(|config| {
        config.queue_dead_jobs = 1;
        config.queue_dead_jobs_per_producer = 1;
    })
    .await;
    let own = ["one", "two", "three"];
    for id in own {
        dead(&gateway, "ann", "mail").await;
        let at = DateTime::from_millis(gateway.app.clock().timestamp_millis());
        let job = doc! {
            "_id": id, "queue": "docgate.nobodys", "payload": "", "priority": 0, "state": "DEAD", "attempts": 5,
            "maxAttempts": 5, "input": "", "at": at, "deadAt": at, "v": 1,
        };
        gateway.raw("jobs").insert_one(job).await.expect("inserted");
    }
    gateway.sweep().await;
    for id in own {
        assert!(gateway.raw("jobs").find_one(doc! { "_id": id }).await.expect("read").is_some());
    }
    assert_eq!(stats(&gateway, "mail").await, [0, 0, 0, 1]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_available_again_is_no_surplus() {
    let gateway = Gateway::with(|config| {
        config.queue_dead_jobs = 2;
        config.queue_dead_jobs_per_producer = 2;
    })
    .await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(dead(&gateway, "ann", "mail").await);
    }
    let retry = json!({ "input": { "queue": "mail", "max": 1 } });
    assert_eq!(operator(&gateway).field(RETRY, retry).await["count"], 1);
    gateway.sweep().await;
    assert_eq!(state(&gateway, &ids[0]).await, "READY");
    assert_eq!(stats(&gateway, "mail").await, [1, 0, 0, 2]);
    let stored = gateway.raw("jobs").find_one(doc! { "_id": key(&ids[1]) }).await.expect("read");
    assert_eq!(stored.expect("a job").get_str("by").expect("a producer"), "ann");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_is_told_what_it_has() {
    let gateway = Gateway::with(bounds).await;
    enqueue_as(&gateway, "a-producer", 8).await;
    let query = "mutation { enqueue(input: { queue: \"mail\", payload: \"\" }) {
        ... on QueueFull { code message limit scope } } }";
    let refused = producer(&gateway).field(query, json!({})).await;
    let message = text(&refused["message"]);
    assert_eq!(message, "you have as many unfinished jobs as the gateway permits, 8");
}
