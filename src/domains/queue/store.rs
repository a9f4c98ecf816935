//! MongoDB access of the work queue. The guarded writes are values: the caller sends them.

use std::time::Duration;

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::documents::{Claim, End, JobDocument, JobState, rank, unique};
use crate::{
    app::App,
    error::Error,
    graphql::page::Page,
    mongo::{
        Collection,
        collection::{List, Timed},
        expression::{choose, literal, millis, starts_with, stored, stored_fields, whole},
        guarded::Guarded,
    },
};

/// Maximum number of jobs that one claim returns.
const MAX_CLAIMED: i64 = 100;

pub(super) fn jobs(app: &App) -> Collection<JobDocument> {
    app.collection()
}

/// The first READY jobs of a queue in the order of their rank, each with the server's time.
pub(super) async fn list_ready(
    app: &App,
    queue: &str,
    limit: i64,
) -> Result<Vec<Timed<JobDocument>>, Error> {
    let filter = doc! { "ready.queue": queue };
    let sort = doc! { "ready.rank": 1, "_id": 1 };
    let read = List { filter, sort, limit, hint: Some("ready"), ..List::default() };
    jobs(app).list_timed(read, "$$ROOT").await
}

/// Whether a queue has a READY job.
pub(super) async fn has_ready(app: &App, queue: &str) -> Result<bool, Error> {
    let filter = doc! { "ready.queue": queue };
    let read = List { filter, hint: Some("ready"), ..List::default() };
    Ok(jobs(app).first(read).await?.is_some())
}

/// Jobs of a queue whose delay or lease has ended.
pub(super) async fn list_due(
    app: &App,
    queue: &str,
    limit: i64,
) -> Result<Vec<JobDocument>, Error> {
    let filter = doc! {
        "queue": queue,
        "due": { "$gt": DateTime::from_millis(0) },
        "$expr": { "$lte": ["$due", "$$NOW"] },
    };
    let sort = doc! { "due": 1 };
    let read = List { filter, sort, limit, hint: Some("due"), ..List::default() };
    jobs(app).list(read).await
}

/// The first queue after `after`, in the order of names, that has DELAYED or CLAIMED jobs.
pub(super) async fn next_queue_with_due(app: &App, after: &str) -> Result<Option<String>, Error> {
    let filter = doc! { "queue": { "$gt": after }, "due": { "$exists": true } };
    let sort = doc! { "queue": 1 };
    let read = List { filter, sort, hint: Some("due"), ..List::default() };
    Ok(jobs(app).first(read).await?.map(|job| job.queue))
}

/// The jobs that an op has claimed, unless they were claimed by another since.
pub(super) async fn list_claimed_by(app: &App, op: &str) -> Result<Vec<JobDocument>, Error> {
    let filter = doc! { "claim.slot": starts_with(&format!("{op}/")) };
    let sort = doc! { "claim.slot": 1 };
    let read = List { filter, sort, limit: MAX_CLAIMED, hint: Some("slot"), ..List::default() };
    jobs(app).list(read).await
}

/// The live job of a queue with this unique key.
pub(super) async fn find_unique(
    app: &App,
    queue: &str,
    key: &str,
) -> Result<Option<JobDocument>, Error> {
    let filter = doc! { "unique": unique(queue, key) };
    jobs(app).first(List { filter, hint: Some("unique"), ..List::default() }).await
}

/// A page of the dead letters of a queue.
pub(super) async fn list_dead(
    app: &App,
    page: &Page,
    queue: &str,
) -> Result<Vec<JobDocument>, Error> {
    let filter = doc! { "queue": queue, "deadAt": { "$exists": true } };
    jobs(app).list(List { hint: Some("dead"), ..page.list(filter) }).await
}

/// The oldest dead letters of a queue.
pub(super) async fn list_oldest_dead(
    app: &App,
    queue: &str,
    limit: i64,
) -> Result<Vec<JobDocument>, Error> {
    let filter = doc! { "queue": queue, "deadAt": { "$exists": true } };
    let sort = doc! { "deadAt": 1, "_id": 1 };
    jobs(app).list(List { filter, sort, limit, hint: Some("dead"), ..List::default() }).await
}

/// Number of jobs of a queue in a state other than DONE, counted up to `limit`.
pub(super) async fn count(
    app: &App,
    queue: &str,
    state: JobState,
    limit: u64,
) -> Result<u64, Error> {
    let exists = doc! { "$exists": true };
    let filter = match state {
        JobState::Ready => doc! { "ready.queue": queue },
        JobState::Delayed | JobState::Claimed => {
            doc! { "queue": queue, "due": exists, "state": stored(&state) }
        }
        JobState::Dead => doc! { "queue": queue, "deadAt": exists },
        JobState::Done => return Ok(0),
    };
    jobs(app).count(filter, limit).await
}

/// Claims a READY job until `until`.
pub(super) fn claim(app: &App, id: &str, claim: &Claim, until: DateTime) -> Guarded<JobDocument> {
    let guard = doc! { "_id": id, "state": stored(&JobState::Ready) };
    let set = doc! {
        "state": literal(stored(&JobState::Claimed)),
        "due": until,
        "claim": whole(literals(stored_fields(claim))),
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
pub(super) fn renew(app: &App, id: &str, token: &str, lease: Duration) -> Guarded<JobDocument> {
    jobs(app).set(held(id, token), doc! { "due": { "$add": ["$$NOW", millis(lease)] } })
}

/// Makes a claimed job DONE.
pub(super) fn complete(app: &App, id: &str, token: &str) -> Guarded<JobDocument> {
    let set = doc! {
        "state": literal(stored(&JobState::Done)),
        "doneAt": "$$NOW",
        "claim.end": literal(stored(&End::Done)),
    };
    let done = change(app, held(id, token), set, &["due", "unique", "reason"]);
    done.applied_if(ended(id, token, End::Done))
}

/// Ends a failed attempt: the job is DELAYED, or DEAD after its last attempt or without `delay`.
pub(super) fn fail(
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
pub(super) fn back_off(base: Duration, max: Duration, jitter: f64) -> Document {
    let doubled = doc! { "$pow": [2, { "$subtract": ["$attempts", 1] }] };
    let delay = doc! { "$min": [millis(max), { "$multiply": [millis(base), doubled] }] };
    doc! { "$toLong": { "$multiply": [jitter, delay] } }
}

/// Makes a job READY whose delay or lease has ended, or DEAD if its last attempt ended with its lease.
pub(super) fn promote(app: &App, job: &JobDocument) -> Guarded<JobDocument> {
    let guard = doc! {
        "_id": &job.id,
        "due": { "$gt": DateTime::from_millis(0) },
        "$expr": { "$lte": ["$due", "$$NOW"] },
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

/// Makes a DEAD job READY, with all of its attempts.
pub(super) fn revive(app: &App, job: &JobDocument) -> Guarded<JobDocument> {
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
    change(app, guard, set, &["deadAt", "claim"])
}

fn millis_ahead(priority: i32) -> i64 {
    -rank(DateTime::from_millis(0), priority).timestamp_millis()
}

/// Removes jobs that are DONE since before `before`. Returns their number.
pub(super) async fn remove_done(app: &App, before: DateTime, limit: i64) -> Result<u64, Error> {
    let done = jobs(app).list_older(("doneAt", "done"), before, limit).await?;
    if done.is_empty() {
        return Ok(0);
    }
    let ids: Vec<_> = done.into_iter().map(|job| job.id).collect();
    // A DONE job never changes.
    jobs(app).remove_many(doc! { "_id": { "$in": ids }, "doneAt": { "$lt": before } }).await
}

/// A guarded write that sets fields to the values of expressions, and then removes others.
fn change(app: &App, guard: Document, set: Document, unset: &[&str]) -> Guarded<JobDocument> {
    let mut stages = vec![doc! { "$set": set }];
    if !unset.is_empty() {
        stages.push(doc! { "$unset": unset.to_vec() });
    }
    jobs(app).guarded(guard, stages)
}

/// The values as literals.
fn literals(fields: Document) -> Document {
    fields.into_iter().map(|(name, value)| (name, literal(value))).collect()
}
