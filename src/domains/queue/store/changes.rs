//! Guarded writes of jobs: claim, renew, complete, fail, promote and revive. They are values: the caller sends them.

use std::time::Duration;

use super::{
    super::documents::{Claim, End, JobDocument, JobHead, JobState, Retry, rank, unique},
    any_time, jobs,
};
use crate::{app::App, mongo::prelude::*};

/// Claims a job that was read as READY, until `until`. A job that becomes READY again has another rank, so a copy of the command
/// that arrives late can't claim it.
pub(in super::super) fn claim(
    app: &App,
    job: &JobDocument,
    claim: &Claim,
    until: DateTime,
) -> Guarded<JobDocument> {
    let (id, rank) = (&job.id, job.ready.as_ref().map(|place| place.rank));
    let guard = doc! { "_id": id, "state": stored(&JobState::Ready), "ready.rank": rank };
    let set = doc! {
        "state": literal(stored(&JobState::Claimed)),
        "due": until,
        "claim": literal(stored(claim)),
        "attempts": { "$add": ["$attempts", 1] },
    };
    let applied = doc! { "_id": id, "claim.token": &claim.token };
    change(app, guard, set, &["ready"]).applied_if(applied)
}

/// The filter by which an ended claim is known.
fn ended(id: &str, token: &str, end: End) -> Document {
    doc! { "_id": id, "claim.token": token, "claim.end": stored(&end) }
}

/// Guard: the worker with this token has the job, and its lease hasn't run out.
fn held(id: &str, token: &str) -> Document {
    doc! {
        "_id": id,
        "state": stored(&JobState::Claimed),
        "claim.token": token,
        "$expr": { "$gt": ["$due", "$$NOW"] },
    }
}

/// Renews a lease from now on.
pub(in super::super) fn renew(
    app: &App,
    id: &str,
    token: &str,
    lease: Duration,
) -> Guarded<JobDocument> {
    jobs(app).set(held(id, token), doc! { "due": { "$add": ["$$NOW", millis(lease)] } })
}

/// Makes a claimed job DONE.
pub(in super::super) fn complete(app: &App, id: &str, token: &str) -> Guarded<JobDocument> {
    let set = doc! {
        "state": literal(stored(&JobState::Done)),
        "doneAt": "$$NOW",
        "claim.end": literal(stored(&End::Done)),
    };
    let done = change(app, held(id, token), set, &["due", "unique", "reason"]);
    done.applied_if(ended(id, token, End::Done))
}

/// Ends a failed attempt: the job is DELAYED, or DEAD after its last attempt or without `delay`.
pub(in super::super) fn fail(
    app: &App,
    id: &str,
    token: &str,
    reason: &str,
    delay: Option<Document>,
) -> Guarded<JobDocument> {
    let is_last: Bson = match &delay {
        Some(_) => doc! { "$gte": ["$attempts", "$maxAttempts"] }.into(),
        None => Bson::Boolean(true),
    };
    let mut set = buried_if(&is_last, stored(&JobState::Delayed));
    let due = delay.map_or(Bson::Null, |delay| doc! { "$add": ["$$NOW", delay] }.into());
    set.insert("due", choose(is_last.clone(), "$$REMOVE", due));
    set.insert("reason", literal(reason));
    set.insert("claim.end", literal(stored(&End::Failed)));
    change(app, held(id, token), set, &[]).applied_if(ended(id, token, End::Failed))
}

/// The fields of a job that is DEAD from now on if `is_last` holds, and otherwise `other`.
fn buried_if(is_last: &Bson, other: Bson) -> Document {
    let dead = literal(stored(&JobState::Dead));
    doc! {
        "state": choose(is_last.clone(), dead, literal(other)),
        "deadAt": choose(is_last.clone(), "$$NOW", "$$REMOVE"),
        "unique": choose(is_last.clone(), "$$REMOVE", "$unique"),
    }
}

/// Delay after a failed attempt, as an expression in milliseconds: it doubles with each attempt, and is multiplied with
/// `jitter`, so that jobs which failed together aren't tried together.
pub(in super::super) fn back_off(base: Duration, max: Duration, jitter: f64) -> Document {
    let doubled = doc! { "$pow": [2, { "$subtract": ["$attempts", 1] }] };
    let delay = doc! { "$min": [millis(max), { "$multiply": [millis(base), doubled] }] };
    doc! { "$toLong": { "$multiply": [jitter, delay] } }
}

/// Makes a job READY whose delay or lease has ended, or DEAD if its last attempt ended with its lease.
pub(in super::super) fn promote(app: &App, job: &JobHead) -> Guarded<JobDocument> {
    let guard = doc! {
        "_id": &job.id, "due": any_time(), "$expr": { "$lte": ["$due", "$$NOW"] },
    };
    let is_claimed = doc! { "$eq": ["$state", literal(stored(&JobState::Claimed))] };
    let is_last: Bson =
        doc! { "$and": [is_claimed.clone(), { "$gte": ["$attempts", "$maxAttempts"] }] }.into();
    let mut set = buried_if(&is_last, stored(&JobState::Ready));
    let since = job.due.unwrap_or(job.at);
    let place = doc! {
        "queue": literal(&job.queue), "rank": rank(since, job.priority),
    };
    set.insert("ready", choose(is_last, "$$REMOVE", whole(place)));
    set.insert("reason", choose(is_claimed, literal(LEASE_ENDED), "$reason"));
    change(app, guard, set, &["due", "claim.slot"])
}

/// The reason of an attempt whose lease ran out.
const LEASE_ENDED: &str = "the lease ran out";

/// Maximum number of calls of `retryDeadJobs` that a job remembers.
const RETRIES: i32 = 8;

/// Makes a DEAD job READY, with all of its attempts. The job remembers the call, if it has an idempotency key.
pub(in super::super) fn revive(
    app: &App,
    job: &JobHead,
    by: Option<&Retry>,
) -> Guarded<JobDocument> {
    let guard = doc! { "_id": &job.id, "state": stored(&JobState::Dead), "deadAt": job.dead_at };
    let place = doc! {
        "queue": literal(&job.queue),
        "rank": { "$subtract": ["$$NOW", millis_ahead(job.priority)] },
    };
    let mut set = doc! {
        "state": literal(stored(&JobState::Ready)), "ready": whole(place), "attempts": 0,
    };
    if let Some(key) = &job.unique_key {
        set.insert("unique", literal(unique(&job.queue, key)));
    }
    let Some(retry) = by else { return change(app, guard, set, &["deadAt", "claim"]) };
    let retries = append(array("retries"), vec![literal(stored(retry))]);
    set.insert("retries", doc! { "$slice": [retries, -RETRIES] });
    let applied = doc! { "_id": &job.id, "retries.op": &retry.op };
    change(app, guard, set, &["deadAt", "claim"]).applied_if(applied)
}

fn millis_ahead(priority: i32) -> i64 {
    -rank(DateTime::from_millis(0), priority).timestamp_millis()
}

/// A guarded write that sets fields to the values of expressions, and then removes others.
fn change(app: &App, guard: Document, set: Document, unset: &[&str]) -> Guarded<JobDocument> {
    let mut stages = vec![doc! { "$set": set }];
    if !unset.is_empty() {
        stages.push(doc! { "$unset": unset.to_vec() });
    }
    jobs(app).guarded(guard, stages)
}
