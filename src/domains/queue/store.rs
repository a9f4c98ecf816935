//! MongoDB access of the work queue. The guarded writes are values: the caller sends them.

use std::{ops::Range, time::Duration};

use super::documents::{Claim, End, JobDocument, JobHead, JobState, Retry, rank, unique};
use crate::{
    graphql::prelude::*,
    mongo::{collection::Timed, prelude::*},
};

/// Maximum number of jobs that one claim returns.
const MAX_CLAIMED: i64 = 100;

pub(super) fn jobs(app: &App) -> Collection<JobDocument> {
    app.collection()
}

/// Reads the heads of jobs.
async fn heads(app: &App, read: List) -> Result<Vec<JobHead>> {
    app.collection::<JobHead>().list(of_heads(read)).await
}

fn of_heads(read: List) -> List {
    let fields = JobHead::FIELDS.iter().map(|field| ((*field).to_owned(), Bson::Int32(1)));
    List { projection: Some(fields.collect()), ..read }
}

/// Matches a field with any time. Unlike `$exists` it is decided by the index alone.
fn any_time() -> Document {
    doc! { "$gt": DateTime::from_millis(0) }
}

/// Maximum number of jobs that can't be read and that [`list_ready`] passes over.
const PASSED_OVER: usize = 1_000;

/// The first READY jobs of a queue in the order of their rank, each with the server's time. A job that can't be read stays at the
/// front. It is passed over, because the others would never be claimed.
pub(super) async fn list_ready(
    app: &App,
    queue: &str,
    limit: usize,
) -> Result<Vec<Timed<JobDocument>>> {
    let mut passed = 0;
    loop {
        let read = List {
            filter: doc! { "ready.queue": queue },
            sort: doc! { "ready.rank": 1, "_id": 1 },
            limit: i64::try_from(limit.saturating_add(passed)).unwrap_or(i64::MAX),
            hint: Some("ready"),
            ..List::default()
        };
        let SweptPage { mut items, unreadable } =
            jobs(app).list_timed_swept(read, "$$ROOT").await?;
        if unreadable.len() <= passed || items.len() >= limit || passed >= PASSED_OVER {
            items.truncate(limit);
            return Ok(items);
        }
        // Twice as many each time, so that few reads pass over however many.
        passed = unreadable.len().saturating_mul(2).min(PASSED_OVER);
    }
}

/// Whether a queue has a READY job.
pub(super) async fn has_ready(app: &App, queue: &str) -> Result<bool> {
    let filter = doc! { "ready.queue": queue };
    let read = List { filter, limit: 1, hint: Some("ready"), ..List::default() };
    Ok(!heads(app, read).await?.is_empty())
}

/// Jobs of a queue whose delay or lease has ended.
pub(super) async fn list_due(app: &App, queue: &str, limit: i64) -> Result<Vec<JobHead>> {
    let filter = doc! {
        "queue": queue, "due": any_time(), "$expr": { "$lte": ["$due", "$$NOW"] },
    };
    let sort = doc! { "due": 1 };
    let read = List { filter, sort, limit, hint: Some("due"), ..List::default() };
    let heads = app.collection::<JobHead>();
    let page = heads.list_swept(("due", DateTime::from_millis(0)), of_heads(read)).await?;
    Ok(page.items)
}

/// The next queue, in the order of names, that has jobs of a state other than DONE; DELAYED and CLAIMED jobs count as one
/// state. It is the first one beyond `beyond`, or at an end of the order. `is_backward` reverses the order.
pub(super) async fn next_queue(
    app: &App,
    state: JobState,
    beyond: Option<Bson>,
    is_backward: bool,
) -> Result<Option<String>> {
    let (field, of_state, hint) = match state {
        JobState::Ready => ("ready.queue", Document::new(), "ready"),
        JobState::Delayed | JobState::Claimed => ("queue", doc! { "due": any_time() }, "due"),
        JobState::Dead => ("queue", doc! { "deadAt": any_time() }, "dead"),
        JobState::Done => return Ok(None),
    };
    let condition = match beyond {
        Some(beyond) if is_backward => doc! { "$lt": beyond },
        Some(beyond) => doc! { "$gt": beyond },
        None => doc! { "$gt": "" },
    };
    let mut filter = doc! { field: condition };
    filter.extend(of_state);
    let sort = doc! { field: if is_backward { -1 } else { 1 } };
    let read = List { filter, sort, limit: 1, hint: Some(hint), ..List::default() };
    Ok(heads(app, read).await?.pop().map(|job| job.queue))
}

/// The jobs that an op has claimed, unless they were claimed by another since.
pub(super) async fn list_claimed_by(app: &App, op: &str) -> Result<Vec<JobDocument>> {
    let filter = doc! { "claim.slot": starts_with(&format!("{op}/")) };
    let sort = doc! { "claim.slot": 1 };
    let read = List { filter, sort, limit: MAX_CLAIMED, hint: Some("slot"), ..List::default() };
    jobs(app).list(read).await
}

/// The live job of a queue with this unique key.
pub(super) async fn find_unique(app: &App, queue: &str, key: &str) -> Result<Option<JobDocument>> {
    let filter = doc! { "unique": unique(queue, key) };
    jobs(app).first(List { filter, hint: Some("unique"), ..List::default() }).await
}

/// A page of the dead letters of a queue.
pub(super) async fn list_dead(app: &App, page: &Page, queue: &str) -> Result<Vec<JobDocument>> {
    let filter = doc! { "queue": queue, "deadAt": { "$exists": true } };
    jobs(app).list(List { hint: Some("dead"), ..page.list(filter) }).await
}

/// The oldest dead letters of a queue: after the one with this `deadAt` and `_id`, and with `until` none after the last one
/// of that call.
pub(super) async fn list_oldest_dead(
    app: &App,
    queue: &str,
    after: Option<&(DateTime, String)>,
    until: Option<&Retry>,
    limit: i64,
) -> Result<Vec<JobHead>> {
    let (mut time, mut bounds) = (any_time(), Vec::new());
    if let Some((at, id)) = after {
        time = doc! { "$gte": *at };
        let same = doc! { "deadAt": *at, "_id": { "$gt": id } };
        bounds.push(doc! { "$or": [{ "deadAt": { "$gt": *at } }, same] });
    }
    if let Some(Retry { last_at, last_id, .. }) = until {
        time.insert("$lte", *last_at);
        let same = doc! { "deadAt": *last_at, "_id": { "$lte": last_id } };
        bounds.push(doc! { "$or": [{ "deadAt": { "$lt": *last_at } }, same] });
    }
    let mut filter = doc! { "queue": queue, "deadAt": time };
    if !bounds.is_empty() {
        filter.insert("$and", bounds);
    }
    let sort = doc! { "deadAt": 1, "_id": 1 };
    heads(app, List { filter, sort, limit, hint: Some("dead"), ..List::default() }).await
}

/// Of these values of `unique`, those that live jobs have.
pub(super) async fn list_live_keys(app: &App, keys: &[String]) -> Result<Vec<String>> {
    let filter = doc! { "unique": { "$in": keys } };
    let limit = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    let live = heads(app, List { filter, limit, hint: Some("unique"), ..List::default() }).await?;
    Ok(live.iter().filter_map(JobHead::unique).collect())
}

/// The dead letters of a queue that died in this time, the oldest first.
pub(super) async fn list_died(
    app: &App,
    queue: &str,
    time: Range<DateTime>,
    limit: i64,
) -> Result<SweptPage<JobHead>> {
    let filter = doc! { "queue": queue, "deadAt": { "$gte": time.start, "$lt": time.end } };
    let sort = doc! { "deadAt": 1, "_id": 1 };
    let read = List { filter, sort, limit, hint: Some("dead"), ..List::default() };
    app.collection().list_swept(("deadAt", time.start), of_heads(read)).await
}

/// The jobs that an op of `retryDeadJobs` made available again, as far as they exist and remember it.
pub(super) async fn list_retried_by(app: &App, op: &str, limit: i64) -> Result<Vec<JobHead>> {
    let filter = doc! { "retries.op": op };
    heads(app, List { filter, limit, hint: Some("retried"), ..List::default() }).await
}

/// Number of jobs of a queue in a state other than DONE, counted up to `limit`.
pub(super) async fn count(app: &App, queue: &str, state: JobState, limit: u64) -> Result<u64> {
    let (filter, hint) = match state {
        JobState::Ready => (doc! { "ready.queue": queue }, "ready"),
        JobState::Delayed | JobState::Claimed => {
            (doc! { "queue": queue, "due": any_time(), "state": stored(&state) }, "due")
        }
        JobState::Dead => (doc! { "queue": queue, "deadAt": any_time() }, "dead"),
        JobState::Done => return Ok(0),
    };
    jobs(app).count_by(hint, filter, limit).await
}

/// Matches the producer; without one, all producers. Jobs of docgate itself have none.
fn producer(by: Option<&str>) -> Bson {
    by.map_or_else(|| doc! { "$gt": "" }.into(), Bson::from)
}

/// Number of jobs of a producer, or of all, that are READY, DELAYED or CLAIMED, counted up to `limit` or somewhat more.
/// Two commands at once: a job that is claimed meanwhile may be counted twice or not at all.
pub(super) async fn count_live(app: &App, by: Option<&str>, limit: u64) -> Result<u64> {
    let ready = doc! { "by": producer(by), "ready.queue": { "$gt": "" } };
    let due = doc! { "by": producer(by), "due": any_time() };
    let jobs = jobs(app);
    let (ready, due) = futures_util::future::try_join(
        jobs.count_by("ready_by", ready, limit),
        jobs.count_by("due_by", due, limit),
    )
    .await?;
    Ok(ready.saturating_add(due))
}

/// Number of dead letters of a producer, or of all, counted up to `limit`.
pub(super) async fn count_dead(app: &App, by: Option<&str>, limit: u64) -> Result<u64> {
    let filter = doc! { "by": producer(by), "deadAt": any_time() };
    jobs(app).count_by("dead_by", filter, limit).await
}

/// The first producer after `after` who has dead letters.
pub(super) async fn next_producer_with_dead(app: &App, after: &str) -> Result<Option<String>> {
    let filter = doc! { "by": { "$gt": after }, "deadAt": any_time() };
    let sort = doc! { "by": 1 };
    let read = List { filter, sort, limit: 1, hint: Some("dead_by"), ..List::default() };
    Ok(heads(app, read).await?.pop().and_then(|job| job.by))
}

/// Removes the oldest dead letters of a producer, or of all. Returns their number.
pub(super) async fn remove_oldest_dead(app: &App, by: Option<&str>, limit: i64) -> Result<u64> {
    let filter = doc! { "by": producer(by), "deadAt": any_time() };
    let sort = doc! { "deadAt": 1 };
    let hint = Some(if by.is_some() { "dead_by" } else { "died" });
    let oldest = heads(app, List { filter, sort, limit, hint, ..List::default() }).await?;
    let Some(last) = oldest.last().and_then(|job| job.dead_at) else { return Ok(0) };
    let ids: Vec<_> = oldest.into_iter().map(|job| job.id).collect();
    // One that was made available meanwhile has no time of its death, or a later one.
    let guard = doc! { "$gt": DateTime::from_millis(0), "$lte": last };
    jobs(app).remove_many(doc! { "_id": { "$in": ids }, "deadAt": guard }).await
}

/// Claims a job that was read as READY, until `until`. A job that becomes READY again has another rank, so a copy of the command
/// that arrives late can't claim it.
pub(super) fn claim(
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
pub(super) fn promote(app: &App, job: &JobHead) -> Guarded<JobDocument> {
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
pub(super) fn revive(app: &App, job: &JobHead, by: Option<&Retry>) -> Guarded<JobDocument> {
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
    let retries = append(array("retries"), vec![whole(literals(stored_fields(retry)))]);
    set.insert("retries", doc! { "$slice": [retries, -RETRIES] });
    let applied = doc! { "_id": &job.id, "retries.op": &retry.op };
    change(app, guard, set, &["deadAt", "claim"]).applied_if(applied)
}

fn millis_ahead(priority: i32) -> i64 {
    -rank(DateTime::from_millis(0), priority).timestamp_millis()
}

/// Removes jobs that are DONE since before `before`. Returns their number.
pub(super) async fn remove_done(app: &App, before: DateTime, limit: i64) -> Result<u64> {
    let filter = doc! { "doneAt": { "$lt": before } };
    let done = heads(app, List { filter, limit, hint: Some("done"), ..List::default() }).await?;
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
