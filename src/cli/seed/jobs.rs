//! Jobs of the demo's work queue. Nobody works on `mail`, so a visitor can be its worker. As long as the demo runs, jobs
//! are added to `previews` and `invoices`, and a worker does them.

use docgate_demo::random::Random;
use mongodb::bson::DateTime;
use serde_json::{Value, json};

use super::{
    Steps,
    client::{DemoClient, someone},
    keep_acting, pause,
};
use crate::{
    app::{App, rfc3339},
    cli::failure::Failure,
    graphql::requester::{Requester, Role},
};

/// Numbers of the jobs of `mail` when the demo starts, by the state in which they stay.
const COMPLETED: usize = 6;
const DEAD: usize = 3;
const DELAYED: usize = 4;
const WAITING: usize = 15;

/// Pause between two rounds, in milliseconds.
const PAUSE: (i64, i64) = (800, 2_500);
/// The number of jobs of a burst, and the number of rounds between two bursts. A round does at most one job.
const BURST: usize = 8;
const ROUNDS: usize = 10;

const ENQUEUE: &str = "mutation($input: EnqueueInput!) { enqueue(input: $input) {
    __typename ... on UserError { code message } } }";
const CLAIM: &str = "mutation($input: ClaimJobInput!) { claimJob(input: $input) {
    __typename ... on ClaimedJobs { jobs { token job { id payload } } }
    ... on UserError { code message } } }";
const COMPLETE: &str = "mutation($input: CompleteJobInput!) { completeJob(input: $input) {
    __typename ... on UserError { code message } } }";
const FAIL: &str = "mutation($input: FailJobInput!) { failJob(input: $input) {
    __typename ... on UserError { code message } } }";

fn producer() -> Requester {
    someone("shop", &[Role::Producer])
}

fn worker() -> Requester {
    someone("printer", &[Role::Worker])
}

async fn enqueue(client: &DemoClient, input: Value) -> Result<(), Failure> {
    client.execute(&producer(), ENQUEUE, json!({ "input": input })).await.map(drop)
}

/// Claims jobs, each with its id, its token and its payload.
async fn claim(client: &DemoClient, input: Value) -> Result<Vec<[Value; 3]>, Failure> {
    let mut found = client.execute(&worker(), CLAIM, json!({ "input": input })).await?;
    let Value::Array(jobs) = found["claimJob"]["jobs"].take() else { return Ok(Vec::new()) };
    let parts = |mut one: Value| {
        [one["job"]["id"].take(), one["token"].take(), one["job"]["payload"].take()]
    };
    Ok(jobs.into_iter().map(parts).collect())
}

async fn complete(client: &DemoClient, id: Value, token: Value) -> Result<(), Failure> {
    let input = json!({ "jobId": id, "token": token });
    client.execute(&worker(), COMPLETE, json!({ "input": input })).await.map(drop)
}

async fn fail(
    client: &DemoClient,
    id: Value,
    token: Value,
    (reason, is_retryable): (&str, bool),
) -> Result<(), Failure> {
    let input =
        json!({ "jobId": id, "token": token, "reason": reason, "isRetryable": is_retryable });
    client.execute(&worker(), FAIL, json!({ "input": input })).await.map(drop)
}

/// Adds the jobs of `mail`, and completes or fails the first ones.
pub(super) async fn create(app: &App, client: &DemoClient, steps: &Steps) -> Result<(), Failure> {
    let bar = steps.begin("jobs", COMPLETED + DEAD + DELAYED + WAITING);
    let tomorrow = DateTime::from_millis(app.clock().timestamp_millis() + 86_400_000);
    let letter = |number: usize| {
        json!({
            "queue": "mail",
            "payload": json!({ "to": format!("customer-{number}@shop.example") }).to_string(),
            "idempotencyKey": format!("mail-{number}"),
        })
    };
    for number in 0..COMPLETED + DEAD {
        enqueue(client, letter(number)).await?;
        bar.inc(1);
    }
    let input = json!({ "queue": "mail", "max": COMPLETED + DEAD, "idempotencyKey": "mail" });
    for (number, [id, token, _]) in claim(client, input).await?.into_iter().enumerate() {
        if number < COMPLETED {
            complete(client, id, token).await?;
        } else {
            fail(client, id, token, ("the address doesn't exist", false)).await?;
        }
    }
    for number in COMPLETED + DEAD..COMPLETED + DEAD + DELAYED + WAITING {
        let mut input = letter(number);
        if number < COMPLETED + DEAD + DELAYED {
            input["runAt"] = json!(rfc3339(tomorrow));
        }
        enqueue(client, input).await?;
        bar.inc(1);
    }
    bar.finish();
    Ok(())
}

/// Adds jobs to `previews` and `invoices`, and does them one after the other. It never ends; dropping it ends it.
pub(in super::super) async fn work(app: &App) {
    let mut rounds = 0_usize..;
    keep_acting(app, PAUSE, async |client, random| {
        let round = rounds.next().unwrap_or_default();
        act(client, random, round, &app.ids().random()).await
    })
    .await;
}

/// A round: there may be new jobs, and the worker does one. `key` identifies the round.
async fn act(
    client: &DemoClient,
    random: &mut Random,
    round: usize,
    key: &str,
) -> Result<(), Failure> {
    if round.is_multiple_of(ROUNDS) {
        for number in 0..BURST {
            let queue = if random.chance(70) { "previews" } else { "invoices" };
            let sku = format!("ALB-{:05}", 1 + random.below(50));
            let payload = json!({ "sku": sku, "isReadable": !random.chance(3) }).to_string();
            let input = json!({
                "queue": queue, "payload": payload, "maxAttempts": 2,
                "idempotencyKey": format!("{key}-{number}"),
            });
            enqueue(client, input).await?;
        }
    }
    let queues = ["previews", "invoices"];
    let input = json!({ "queues": queues, "leaseSeconds": 30, "idempotencyKey": key });
    for [id, token, payload] in claim(client, input).await? {
        pause(random, PAUSE).await;
        if payload.as_str().is_some_and(|payload| payload.contains("false")) {
            fail(client, id, token, ("the picture can't be read", true)).await?;
        } else {
            complete(client, id, token).await?;
        }
    }
    Ok(())
}
