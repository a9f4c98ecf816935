//! The work queue: each job is done once, whatever happens to its worker.

mod bounds;
mod commands;
mod cuts;
mod listed;
mod retries;
mod several;
mod workers;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use docgate::graphql::node_id::NodeKind;
use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use crate::support::{Client, Gateway, key, pages_both_ways, very_long_bounds};

const ENQUEUE: &str = "mutation($input: EnqueueInput!) { enqueue(input: $input) {
    __typename ... on Job { id queue payload priority state attempts maxAttempts uniqueKey availableAt }
    ... on JobExists { jobId } ... on QueueFull { limit scope } ... on UserError { code message } ... on InvalidInput { field } } }";
const CLAIM: &str = "mutation($input: ClaimJobInput!) { claimJob(input: $input) {
    __typename ... on ClaimedJobs { jobs { token job { id payload state attempts claimedBy leaseEndsAt } } }
    ... on UserError { code message } ... on InvalidInput { field } } }";
const HEARTBEAT: &str = "mutation($input: HeartbeatJobInput!) { heartbeatJob(input: $input) {
    __typename ... on Job { id state leaseEndsAt } ... on ClaimLost { jobState } ... on UserError { code } } }";
const COMPLETE: &str = "mutation($input: CompleteJobInput!) { completeJob(input: $input) {
    __typename ... on CompletedJob { jobId job { id state endedAt } } ... on ClaimLost { jobState }
    ... on UserError { code } } }";
const FAIL: &str = "mutation($input: FailJobInput!) { failJob(input: $input) {
    __typename ... on Job { id state attempts failureReason availableAt } ... on ClaimLost { jobState }
    ... on UserError { code } ... on InvalidInput { field } } }";
const RETRY: &str = "mutation($input: RetryDeadJobsInput!) { retryDeadJobs(input: $input) {
    __typename ... on RetriedJobs { count skipped } ... on UserError { code } } }";
const JOB: &str =
    "query($id: ID!) { job(id: $id) { id queue payload state attempts failureReason } }";
const STATS: &str =
    "query($queue: String!) { queueStats(queue: $queue) { queue ready delayed claimed dead } }";

fn producer(gateway: &Gateway) -> Client {
    gateway.user("a-producer", &["producer"])
}

fn worker(gateway: &Gateway) -> Client {
    gateway.user("a-worker", &["worker"])
}

fn operator(gateway: &Gateway) -> Client {
    gateway.user("an-operator", &["operator"])
}

/// Enqueues a job, and returns the answer.
async fn enqueue(gateway: &Gateway, input: Value) -> Value {
    producer(gateway).field(ENQUEUE, json!({ "input": input })).await
}

/// Enqueues a job with this payload, and returns its id.
async fn enqueued(gateway: &Gateway, queue: &str, payload: &str) -> String {
    let job = enqueue(gateway, json!({ "queue": queue, "payload": payload })).await;
    assert_eq!(job["__typename"], "Job", "{job:#}");
    text(&job["id"])
}

/// Claims jobs, and returns the answer.
async fn claim(gateway: &Gateway, input: Value) -> Value {
    worker(gateway).field(CLAIM, json!({ "input": input })).await
}

/// The jobs that a claim returned.
fn jobs(claimed: &Value) -> &Vec<Value> {
    claimed["jobs"].as_array().unwrap_or_else(|| panic!("claimed jobs: {claimed:#}"))
}

/// Claims one job, and returns its id and token.
async fn claimed(gateway: &Gateway, queue: &str) -> (String, String) {
    let found = claim(gateway, json!({ "queue": queue, "leaseSeconds": 600 })).await;
    let job = jobs(&found).first().expect("a job");
    (text(&job["job"]["id"]), text(&job["token"]))
}

/// The payloads of all jobs that can be claimed, in order.
async fn payloads(gateway: &Gateway, queue: &str) -> Vec<String> {
    let found = claim(gateway, json!({ "queue": queue, "max": 100 })).await;
    jobs(&found).iter().map(|one| text(&one["job"]["payload"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value:#}")).to_owned()
}

fn with((id, token): &(String, String)) -> Value {
    json!({ "input": { "jobId": id, "token": token } })
}

async fn complete(gateway: &Gateway, claim: &(String, String)) -> Value {
    worker(gateway).field(COMPLETE, with(claim)).await
}

async fn fail(gateway: &Gateway, claim: &(String, String), more: Value) -> Value {
    let mut variables = with(claim);
    variables["input"]["reason"] = json!("it broke");
    for (name, value) in more.as_object().expect("an object") {
        variables["input"][name] = value.clone();
    }
    worker(gateway).field(FAIL, variables).await
}

async fn state(gateway: &Gateway, id: &str) -> Value {
    worker(gateway).field(JOB, json!({ "id": id })).await["state"].clone()
}

async fn stats(gateway: &Gateway, queue: &str) -> [i64; 4] {
    let stats = operator(gateway).field(STATS, json!({ "queue": queue })).await;
    ["ready", "delayed", "claimed", "dead"].map(|name| stats[name].as_i64().expect("a number"))
}

/// Lets the lease or delay of a job end now.
async fn end_lease(gateway: &Gateway, id: &str) {
    let past = doc! { "$set": { "due": DateTime::from_millis(gateway.app.clock().timestamp_millis() - 1_000) } };
    let done = gateway.raw("jobs").update_one(doc! { "_id": key(id) }, past).await.expect("set");
    assert_eq!(done.matched_count, 1);
    // A pass over the queue is made at most every 200 ms.
    tokio::time::sleep(Duration::from_millis(250)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_enqueued_claimed_completed_and_found() {
    let gateway = Gateway::start().await;
    let payload = "{\"$set\": \"$x\", \"to\":\t\"a\u{202e}b\"}\n";
    let id = enqueued(&gateway, "mail", payload).await;
    assert_eq!(stats(&gateway, "mail").await, [1, 0, 0, 0]);
    let found = claim(&gateway, json!({ "queue": "mail", "max": 10 })).await;
    let [one] = jobs(&found).as_slice() else { panic!("one job: {found:#}") };
    assert_eq!((&one["job"]["id"], &one["job"]["payload"]), (&json!(id), &json!(payload)));
    assert_eq!((&one["job"]["state"], &one["job"]["attempts"]), (&json!("CLAIMED"), &json!(1)));
    assert_eq!(one["job"]["claimedBy"], "a-worker");
    assert_eq!(stats(&gateway, "mail").await, [0, 0, 1, 0]);
    assert!(jobs(&claim(&gateway, json!({ "queue": "mail" })).await).is_empty());
    gateway.assert_sound().await;

    let done = complete(&gateway, &(id.clone(), text(&one["token"]))).await;
    assert_eq!((&done["jobId"], &done["job"]["state"]), (&json!(id), &json!("DONE")), "{done:#}");
    assert_eq!(stats(&gateway, "mail").await, [0; 4]);
    assert_eq!(state(&gateway, &id).await, "DONE");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outsiders_neither_see_nor_change_jobs() {
    let gateway = Gateway::start().await;
    let id = enqueued(&gateway, "mail", "secret").await;
    for client in [gateway.shopper("ann"), gateway.user("other", &["producer"]), gateway.service()]
    {
        assert_eq!(client.run(JOB, json!({ "id": id })).await["data"]["job"], Value::Null);
    }
    let seen = producer(&gateway).field(JOB, json!({ "id": id })).await;
    assert_eq!(seen["payload"], "secret", "its producer sees it");
    let input = json!({ "input": { "queue": "mail" } });
    for client in [gateway.shopper("ann"), producer(&gateway), operator(&gateway)] {
        assert_eq!(client.error_code(CLAIM, input.clone()).await, "FORBIDDEN");
    }
    let query = "query($id: ID!) { node(id: $id) { id ... on Job { payload } } }";
    let seen = worker(&gateway).field(query, json!({ "id": id })).await;
    assert_eq!(seen["payload"], "secret");
    let seen = gateway.shopper("ann").run(query, json!({ "id": id })).await;
    assert_eq!(seen["data"]["node"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_names_its_field_and_changes_nothing() {
    let gateway = Gateway::start().await;
    let before = gateway.snapshot().await;
    let long = "q".repeat(65);
    for queue in ["", "A", "a b", "-a", "a$", "docgate.mail", long.as_str(), "ä"] {
        let said = enqueue(&gateway, json!({ "queue": queue, "payload": "" })).await;
        assert_eq!(said["field"], "input.queue", "{queue:?}: {said:#}");
        let said = claim(&gateway, json!({ "queue": queue })).await;
        assert_eq!(said["field"], "input.queue", "{queue:?}: {said:#}");
    }
    for (field, value) in [
        ("payload", json!("x".repeat(65_537))),
        ("priority", json!(10)),
        ("priority", json!(-1)),
        ("maxAttempts", json!(0)),
        ("uniqueKey", json!("")),
    ] {
        let mut input = json!({ "queue": "mail", "payload": "" });
        input[field] = value;
        let said = enqueue(&gateway, input).await;
        assert_eq!(said["field"], format!("input.{field}"), "{said:#}");
    }
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_enqueue_adds_one_job() {
    let gateway = Gateway::start().await;
    let input = json!({ "queue": "mail", "payload": "a", "idempotencyKey": "op" });
    let many = join_all((0..8).map(|_| enqueue(&gateway, input.clone()))).await;
    assert!(many.iter().all(|job| job == &many[0]), "{many:#?}");
    assert_eq!(stats(&gateway, "mail").await, [1, 0, 0, 0]);
    let other = json!({ "queue": "mail", "payload": "b", "idempotencyKey": "op" });
    assert_eq!(enqueue(&gateway, other.clone()).await["__typename"], "Conflict");
    let client = gateway.user("another", &["producer"]);
    let job = client.field(ENQUEUE, json!({ "input": other })).await;
    assert_eq!(job["payload"], "b", "another caller's key is another op");
    // Also after the job was done.
    let claims = [claimed(&gateway, "mail").await, claimed(&gateway, "mail").await];
    for claim in &claims {
        assert_eq!(complete(&gateway, claim).await["__typename"], "CompletedJob");
    }
    assert_eq!(enqueue(&gateway, input).await["state"], "DONE");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_key_has_one_live_job() {
    let gateway = Gateway::start().await;
    let input = json!({ "queue": "mail", "payload": "a", "uniqueKey": "k $1" });
    let many = join_all((0..64).map(|_| enqueue(&gateway, input.clone()))).await;
    let added: Vec<_> = many.iter().filter(|one| one["__typename"] == "Job").collect();
    let [job] = added.as_slice() else { panic!("one job: {many:#?}") };
    for other in many.iter().filter(|one| one["__typename"] != "Job") {
        assert_eq!((&other["code"], &other["jobId"]), (&json!("JOB_EXISTS"), &job["id"]));
    }
    let elsewhere = json!({ "queue": "other", "payload": "a", "uniqueKey": "k $1" });
    assert_eq!(enqueue(&gateway, elsewhere).await["__typename"], "Job");
    // A claimed job is live, a done one isn't.
    let claim = claimed(&gateway, "mail").await;
    assert_eq!(enqueue(&gateway, input.clone()).await["__typename"], "JobExists");
    complete(&gateway, &claim).await;
    assert_eq!(enqueue(&gateway, input.clone()).await["__typename"], "Job");
    // A dead one isn't either, and stays dead as long as there is a live one.
    let dead = claimed(&gateway, "mail").await;
    fail(&gateway, &dead, json!({ "isRetryable": false })).await;
    assert_eq!(enqueue(&gateway, input).await["__typename"], "Job");
    let retry = json!({ "input": { "queue": "mail" } });
    let retried = operator(&gateway).field(RETRY, retry.clone()).await;
    assert_eq!((&retried["count"], &retried["skipped"]), (&json!(0), &json!(1)));
    let claim = claimed(&gateway, "mail").await;
    complete(&gateway, &claim).await;
    assert_eq!(operator(&gateway).field(RETRY, retry).await["count"], 1);
    assert_eq!(state(&gateway, &dead.0).await, "READY");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_lost_its_claim_changes_nothing() {
    let gateway = Gateway::start().await;
    let id = enqueued(&gateway, "mail", "a").await;
    let first = claimed(&gateway, "mail").await;
    // The worker died: its lease ends, and another gets the job.
    end_lease(&gateway, &id).await;
    let before = gateway.snapshot().await;
    for said in [
        complete(&gateway, &first).await,
        fail(&gateway, &first, json!({})).await,
        worker(&gateway).field(HEARTBEAT, with(&first)).await,
    ] {
        assert_eq!(said["code"], "CLAIM_LOST", "{said:#}");
    }
    assert!(gateway.snapshot().await == before);
    let second = claimed(&gateway, "mail").await;
    assert_eq!(second.0, id);
    assert_ne!(second.1, first.1);
    assert_eq!(complete(&gateway, &first).await["code"], "CLAIM_LOST");
    assert_eq!(fail(&gateway, &first, json!({})).await["code"], "CLAIM_LOST");
    assert_eq!(state(&gateway, &id).await, "CLAIMED");
    assert_eq!(complete(&gateway, &second).await["__typename"], "CompletedJob");
    assert_eq!(complete(&gateway, &first).await["code"], "CLAIM_LOST");
    let unknown = (NodeKind::JOB.id("nothing").0, second.1);
    assert_eq!(complete(&gateway, &unknown).await["code"], "NOT_FOUND");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_keeps_a_claim() {
    let gateway = Gateway::start().await;
    for seconds in [1, 5, 25] {
        let queue = format!("mail-{seconds}");
        let id = enqueued(&gateway, &queue, "a").await;
        let found = claim(&gateway, json!({ "queue": queue, "leaseSeconds": seconds })).await;
        let held = (id, text(&jobs(&found)[0]["token"]));
        let mut variables = with(&held);
        variables["input"]["leaseSeconds"] = json!(600);
        let renewed = worker(&gateway).field(HEARTBEAT, variables.clone()).await;
        // On a busy machine the lease may have ended before.
        if seconds < 25 && renewed["code"] == "CLAIM_LOST" {
            continue;
        }
        assert_eq!(renewed["state"], "CLAIMED", "{renewed:#}");
        let renewed = worker(&gateway).field(HEARTBEAT, variables).await;
        assert_eq!(renewed["state"], "CLAIMED", "{renewed:#}");
        tokio::time::sleep(Duration::from_millis(seconds * 1_000 + 300)).await;
        assert!(jobs(&claim(&gateway, json!({ "queue": queue })).await).is_empty());
        assert_eq!(complete(&gateway, &held).await["__typename"], "CompletedJob");
        break;
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_repeats_changes_nothing() {
    let gateway = Gateway::start().await;
    for payload in ["a", "b", "c"] {
        enqueued(&gateway, "mail", payload).await;
    }
    let input = json!({ "queue": "mail", "max": 2, "idempotencyKey": "op" });
    let both = join_all((0..6).map(|_| claim(&gateway, input.clone()))).await;
    let ids: BTreeSet<_> = both.iter().flat_map(jobs).map(|one| text(&one["job"]["id"])).collect();
    assert_eq!(ids.len(), 2, "{both:#?}");
    let again = claim(&gateway, input.clone()).await;
    assert_eq!(jobs(&again).len(), 2);
    let other = json!({ "queue": "mail", "max": 1, "idempotencyKey": "op" });
    assert_eq!(claim(&gateway, other).await["__typename"], "Conflict");
    let claims: Vec<_> =
        jobs(&again).iter().map(|one| (text(&one["job"]["id"]), text(&one["token"]))).collect();
    let done = complete(&gateway, &claims[0]).await;
    let failed = fail(&gateway, &claims[1], json!({})).await;
    assert_eq!(failed["state"], "DELAYED", "{failed:#}");
    let before = gateway.snapshot().await;
    assert_eq!(complete(&gateway, &claims[0]).await, done);
    assert_eq!(fail(&gateway, &claims[1], json!({})).await, failed);
    // What has ended in one way doesn't end in another.
    assert_eq!(fail(&gateway, &claims[0], json!({})).await["code"], "CLAIM_LOST");
    assert_eq!(complete(&gateway, &claims[1]).await["code"], "CLAIM_LOST");
    let again = claim(&gateway, input).await;
    assert_eq!(jobs(&again).len(), 2, "the same jobs as they are now: {again:#}");
    assert!(gateway.snapshot().await == before);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_repeated_after_its_lease_is_a_new_one() {
    let gateway = Gateway::start().await;
    let id = enqueued(&gateway, "mail", "a").await;
    let input = json!({ "queue": "mail", "leaseSeconds": 600, "idempotencyKey": "op" });
    let first = claim(&gateway, input.clone()).await;
    end_lease(&gateway, &id).await;
    let again = claim(&gateway, input).await;
    let (first, again) = (&jobs(&first)[0], &jobs(&again)[0]);
    assert_eq!(again["job"]["id"], json!(id));
    assert_eq!(again["job"]["attempts"], 2, "{again:#}");
    assert_ne!(again["token"], first["token"]);
    let held = (id, text(&again["token"]));
    assert_eq!(complete(&gateway, &held).await["__typename"], "CompletedJob");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_job_goes_to_the_dead_letters_and_comes_back() {
    let gateway = Gateway::start().await;
    let input = json!({ "queue": "mail", "payload": "poison", "maxAttempts": 3 });
    let id = text(&enqueue(&gateway, input).await["id"]);
    let mut delays = Vec::new();
    for attempt in 1..=2 {
        let claim = claimed(&gateway, "mail").await;
        let before = gateway.app.clock().timestamp_millis();
        let failed = fail(&gateway, &claim, json!({})).await;
        let after = gateway.app.clock().timestamp_millis();
        assert_eq!((&failed["state"], &failed["attempts"]), (&json!("DELAYED"), &json!(attempt)));
        let stored = gateway.raw("jobs").find_one(doc! { "_id": key(&id) }).await.expect("read");
        let due = stored.expect("the job").get_datetime("due").expect("a time").timestamp_millis();
        // The delay began between the two.
        delays.push((due - before, due - after));
        end_lease(&gateway, &id).await;
    }
    let is_between =
        |(longest, shortest): (i64, i64), least, most| longest >= least && shortest <= most;
    assert!(is_between(delays[0], 500, 2_000) && is_between(delays[1], 1_500, 4_000), "{delays:?}");
    // The last attempt ends with the worker's death.
    claimed(&gateway, "mail").await;
    end_lease(&gateway, &id).await;
    assert!(jobs(&claim(&gateway, json!({ "queue": "mail" })).await).is_empty());
    assert_eq!(state(&gateway, &id).await, "DEAD");
    assert_eq!(stats(&gateway, "mail").await, [0, 0, 0, 1]);
    let list = "query($first: Int) { deadJobs(queue: \"mail\", first: $first) {
        nodes { id failureReason endedAt } } }";
    let dead = operator(&gateway).field(list, json!({})).await;
    assert_eq!(dead["nodes"][0]["id"], json!(id));
    assert_eq!(dead["nodes"][0]["failureReason"], "the lease ran out");
    gateway.assert_sound().await;

    let retry = json!({ "input": { "queue": "mail" } });
    assert_eq!(operator(&gateway).field(RETRY, retry.clone()).await["count"], 1);
    assert_eq!(operator(&gateway).field(RETRY, retry).await["count"], 0, "a repeat");
    let claim = claimed(&gateway, "mail").await;
    assert_eq!(claim.0, id);
    assert_eq!(complete(&gateway, &claim).await["job"]["state"], "DONE");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_dead_letters_has_pages() {
    let gateway = Gateway::start().await;
    for number in 0..5 {
        enqueued(&gateway, "mail", &number.to_string()).await;
        let claim = claimed(&gateway, "mail").await;
        let dead = fail(&gateway, &claim, json!({ "isRetryable": false })).await;
        assert_eq!(dead["state"], "DEAD", "{dead:#}");
    }
    let found = pages_both_ways(&operator(&gateway), "deadJobs(queue: \"mail\"", "payload").await;
    let payloads: Vec<_> = found.iter().map(|node| text(&node["payload"])).collect();
    assert_eq!(payloads, ["4", "3", "2", "1", "0"]);
    let retry = json!({ "input": { "queue": "mail", "max": 2 } });
    assert_eq!(operator(&gateway).field(RETRY, retry).await["count"], 2);
    assert_eq!(stats(&gateway, "mail").await, [2, 0, 0, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn priorities_come_first_and_starve_nobody() {
    let gateway = Gateway::start().await;
    for (payload, priority) in [("low", 0), ("high", 9), ("middle", 4), ("low-2", 0), ("high-2", 9)]
    {
        let input = json!({ "queue": "mail", "payload": payload, "priority": priority });
        enqueue(&gateway, input).await;
    }
    assert_eq!(payloads(&gateway, "mail").await, ["high", "high-2", "middle", "low", "low-2"]);
    // A job that has waited longer than the difference of priorities is worth isn't overtaken any more.
    let old = enqueued(&gateway, "print", "old").await;
    let earlier = DateTime::from_millis(gateway.app.clock().timestamp_millis() - 10 * 60_000);
    let waited = doc! { "$set": { "ready.rank": earlier } };
    gateway.raw("jobs").update_one(doc! { "_id": key(&old) }, waited).await.expect("set");
    enqueue(&gateway, json!({ "queue": "print", "payload": "high", "priority": 9 })).await;
    assert_eq!(payloads(&gateway, "print").await, ["old", "high"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_job_waits_for_its_time() {
    let gateway = Gateway::start().await;
    for millis in [1_500, 10_000, 40_000] {
        let queue = format!("mail-{millis}");
        let now = || gateway.app.clock().timestamp_millis();
        let due = now() + millis;
        let at = docgate::app::rfc3339(DateTime::from_millis(due));
        let input = json!({ "queue": queue, "payload": "later", "runAt": at });
        let job = enqueue(&gateway, input).await;
        enqueued(&gateway, &queue, "now").await;
        let first = payloads(&gateway, &queue).await;
        let waiting = stats(&gateway, &queue).await;
        // On a busy machine its time may have come before.
        if millis < 40_000 && now() >= due {
            continue;
        }
        assert_eq!((&job["state"], &job["availableAt"]), (&json!("DELAYED"), &json!(at)));
        assert_eq!(first, ["now"]);
        assert_eq!(waiting, [0, 1, 1, 0]);
        gateway.assert_sound().await;
        let left = u64::try_from(due - now()).unwrap_or_default();
        tokio::time::sleep(Duration::from_millis(left + 300)).await;
        assert_eq!(payloads(&gateway, &queue).await, ["later"]);
        break;
    }
    let past = json!({ "queue": "mail", "payload": "past", "runAt": "2020-01-01T00:00:00Z" });
    assert_eq!(enqueue(&gateway, past).await["state"], "READY");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_workers_do_each_of_a_thousand_jobs_once() {
    let gateway = Gateway::with(very_long_bounds).await;
    let other = gateway.sibling().await;
    let numbers: Vec<_> = (0..1_000).map(|number| number.to_string()).collect();
    for some in numbers.chunks(50) {
        join_all(some.iter().map(|number| enqueued(&gateway, "mail", number))).await;
    }
    let work = async |gateway: &Gateway| {
        let mut done = Vec::new();
        loop {
            let wanted = json!({ "queue": "mail", "max": 3, "leaseSeconds": 3_600 });
            let found = claim(gateway, wanted).await;
            if jobs(&found).is_empty() {
                // Workers at two gateways may meet at the end of the queue.
                if stats(gateway, "mail").await[0] == 0 {
                    return done;
                }
                continue;
            }
            for one in jobs(&found) {
                let claim = (text(&one["job"]["id"]), text(&one["token"]));
                let said = complete(gateway, &claim).await;
                assert_eq!(said["__typename"], "CompletedJob", "{said:#}");
                done.push(text(&one["job"]["payload"]));
            }
        }
    };
    let workers = (0..16).map(|number| work(if number % 2 == 0 { &gateway } else { &other }));
    let done: Vec<Vec<String>> = join_all(workers).await;
    let mut times = BTreeMap::new();
    for payload in done.iter().flatten() {
        *times.entry(payload).or_insert(0) += 1;
    }
    assert_eq!(times.len(), 1_000);
    assert!(times.values().all(|times| *times == 1), "{times:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_jobs_are_removed_in_time() {
    let gateway = Gateway::start().await;
    let id = enqueued(&gateway, "mail", "a").await;
    let claim = claimed(&gateway, "mail").await;
    complete(&gateway, &claim).await;
    gateway.sweep().await;
    assert_eq!(state(&gateway, &id).await, "DONE");
    let old = DateTime::from_millis(gateway.app.clock().timestamp_millis() - 25 * 3_600_000);
    let old = doc! { "$set": { "doneAt": old } };
    gateway.raw("jobs").update_one(doc! { "_id": key(&id) }, old).await.expect("set");
    gateway.sweep().await;
    let gone = worker(&gateway).run(JOB, json!({ "id": id })).await;
    assert_eq!(gone["data"]["job"], Value::Null, "{gone:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_what_is_wrong() {
    let gateway = Gateway::start().await;
    let id = enqueued(&gateway, "mail", "a").await;
    let without_place = doc! { "$unset": { "ready": "" } };
    gateway.raw("jobs").update_one(doc! { "_id": key(&id) }, without_place).await.expect("set");
    let report = gateway.check().await;
    assert!(!report.is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_cant_be_read_hold_up_no_others() {
    let gateway = Gateway::start().await;
    for payload in ["1", "2", "3"] {
        let id = enqueued(&gateway, "mail", payload).await;
        let damage = doc! { "$set": { "payload": 1 } };
        let jobs = gateway.raw("jobs");
        jobs.update_one(doc! { "_id": key(&id) }, damage).await.expect("damaged");
    }
    let whole = enqueued(&gateway, "mail", "whole").await;
    assert_eq!(claimed(&gateway, "mail").await.0, whole);
    assert!(payloads(&gateway, "mail").await.is_empty());
}
