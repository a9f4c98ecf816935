//! MongoDB access of the work queue: reads of jobs, and the removal of those that are over.

mod changes;

pub(super) use changes::{back_off, claim, complete, fail, promote, renew, revive};

use std::ops::Range;

use super::documents::{JobDocument, JobHead, JobState, Retry, unique};
use crate::{
    graphql::prelude::*,
    mongo::{collection::Timed, prelude::*},
};

pub(super) fn jobs(app: &App) -> Collection<JobDocument> {
    app.collection()
}

fn heads(app: &App) -> Collection<JobHead> {
    app.collection()
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
        let (mut items, unreadable) = jobs(app).list_timed_readable(read, "$$ROOT").await?;
        if unreadable <= passed || items.len() >= limit || passed >= PASSED_OVER {
            items.truncate(limit);
            return Ok(items);
        }
        // Twice as many each time, so that few reads pass over however many.
        passed = unreadable.saturating_mul(2).min(PASSED_OVER);
    }
}

/// Whether a queue has a READY job.
pub(super) async fn has_ready(app: &App, queue: &str) -> Result<bool> {
    let filter = doc! { "ready.queue": queue };
    let read = List { filter, limit: 1, hint: Some("ready"), ..List::default() };
    Ok(!heads(app).list(read).await?.is_empty())
}

/// Jobs of a queue whose delay or lease has ended.
pub(super) async fn list_due(app: &App, queue: &str, limit: i64) -> Result<Vec<JobHead>> {
    let filter = doc! {
        "queue": queue, "due": any_time(), "$expr": { "$lte": ["$due", "$$NOW"] },
    };
    let sort = doc! { "due": 1 };
    let read = List { filter, sort, limit, hint: Some("due"), ..List::default() };
    let page = heads(app).list_swept(("due", DateTime::from_millis(0)), read).await?;
    Ok(page.into_iter().filter_map(|job| job.document).collect())
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
    Ok(heads(app).list(read).await?.pop().map(|job| job.queue))
}

/// The jobs that an op has claimed, unless they were claimed by another since.
pub(super) async fn list_claimed_by(app: &App, op: &str, limit: i64) -> Result<Vec<JobDocument>> {
    let filter = doc! { "claim.slot": starts_with(&format!("{op}/")) };
    let sort = doc! { "claim.slot": 1 };
    let read = List { filter, sort, limit, hint: Some("slot"), ..List::default() };
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
    heads(app).list(List { filter, sort, limit, hint: Some("dead"), ..List::default() }).await
}

/// Of these values of `unique`, those that live jobs have.
pub(super) async fn list_live_keys(app: &App, keys: &[String]) -> Result<Vec<String>> {
    let filter = doc! { "unique": { "$in": keys } };
    let limit = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    let live =
        heads(app).list(List { filter, limit, hint: Some("unique"), ..List::default() }).await?;
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
    heads(app).list_swept(("deadAt", time.start), read).await
}

/// The jobs that an op of `retryDeadJobs` made available again, as far as they exist and remember it.
pub(super) async fn list_retried_by(app: &App, op: &str, limit: i64) -> Result<Vec<JobHead>> {
    let filter = doc! { "retries.op": op };
    heads(app).list(List { filter, limit, hint: Some("retried"), ..List::default() }).await
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
    Ok(heads(app).list(read).await?.pop().and_then(|job| job.by))
}

/// Removes the oldest dead letters of a producer, or of all. Returns their number.
pub(super) async fn remove_oldest_dead(app: &App, by: Option<&str>, limit: i64) -> Result<u64> {
    let filter = doc! { "by": producer(by), "deadAt": any_time() };
    let sort = doc! { "deadAt": 1 };
    let hint = Some(if by.is_some() { "dead_by" } else { "died" });
    let oldest = heads(app).list(List { filter, sort, limit, hint, ..List::default() }).await?;
    let Some(last) = oldest.last().and_then(|job| job.dead_at) else { return Ok(0) };
    let ids: Vec<_> = oldest.into_iter().map(|job| job.id).collect();
    // One that was made available meanwhile has no time of its death, or a later one.
    let guard = doc! { "$gt": DateTime::from_millis(0), "$lte": last };
    jobs(app).remove_many(doc! { "_id": { "$in": ids }, "deadAt": guard }).await
}

/// Removes jobs that are DONE since before `before`. Returns their number.
pub(super) async fn remove_done(app: &App, before: DateTime, limit: i64) -> Result<u64> {
    let filter = doc! { "doneAt": { "$lt": before } };
    let done =
        heads(app).list(List { filter, limit, hint: Some("done"), ..List::default() }).await?;
    if done.is_empty() {
        return Ok(0);
    }
    let ids: Vec<_> = done.into_iter().map(|job| job.id).collect();
    // A DONE job never changes.
    jobs(app).remove_many(doc! { "_id": { "$in": ids }, "doneAt": { "$lt": before } }).await
}
