//! Delivers a record to many lists, such as a post to walls and news, or a message to inboxes. A list is a series of
//! [`Page`]s with copies, and gets one copy of the record. The work is divided into [`Batch`]es, which jobs of the
//! [work queue](super::queue) do one after the other.
//!
//! ```text
//!   record, with `delivering` ──▶ job: first batch ──▶ job: next batch ──▶ … ──▶ last batch: `delivering` goes
//! ```
//!
//! # What a room provides
//!
//! - A type that implements [`Batch`], with what a job has to know: the `_id` of the record, and where the batch begins.
//! - [`work`] of this type in its [`Room::work`](super::Room::work).
//! - A field of the record, such as `delivering`, that is set by the update that decides the delivery. The last batch
//!   removes it.
//! - [`add`] of the first batch after that update, and again by the sweep as long as the field is set.
//!
//! # What is guaranteed
//!
//! A batch is done at least once, and the next one not before it was done to its end. So the last batch is the end of the
//! delivery.
//!
//! | what happens | what follows |
//! |---|---|
//! | a batch is added again, by a repeated call or the sweep | its job exists, because the id follows from what the batch is: nothing |
//! | a job is repeated, or a worker that has lost its lease goes on | the batch is done once more; a [`Page`] has no second copy, and the next job exists |
//! | the process dies between the record and the first job | the field is set: a repeat of the call or the sweep adds the job |
//! | the process dies within a batch, or before it has added the next job | the lease ends, and another worker does the job from its beginning |
//! | a batch fails | the job is tried again, up to 100 times and at most an hour apart |
//! | it fails that often | the job is a dead letter; the sweep of the queue makes it available again after two grace periods |
//! | a job is done for so long that it was removed | adding it does the batches after it once more, which changes nothing |
//!
//! A batch must be repeatable for this. It may read the record anew, and do nothing if that is no longer to be delivered.

use std::{collections::HashSet, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use super::queue::{
    JobDocument,
    operations::{self as queue, Handled, NewJob, Work},
};
use crate::{app::App, error::Error, flow::Op, join::try_join_all, mongo::Stored};

/// Number of attempts of a job.
const ATTEMPTS: i32 = 100;
/// Maximum number of times that the pages are looked for that take copies.
const ROUNDS: usize = 50;

/// One batch of a delivery, or other work of a room that is done by a job. Its JSON is the payload of the job. Two equal
/// batches are one.
pub trait Batch: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name of the queue, behind `docgate.`.
    const QUEUE: &'static str;

    /// Does the batch, and returns the next one. It may run any number of times, also at once.
    ///
    /// # Errors
    /// The batch isn't done; it is tried again.
    fn run(self, app: &App) -> impl Future<Output = Result<Option<Self>, Error>> + Send;
}

/// The queue of these batches, and its handler.
pub fn work<B: Batch>() -> Vec<Work> {
    let handler = |app: App, job: JobDocument| {
        let done = async move {
            let done = run::<B>(&app, &job.payload).await;
            done.map_err(|error| error.to_string())
        };
        Box::pin(done) as Handled
    };
    vec![Work::own(B::QUEUE, Arc::new(handler))]
}

async fn run<B: Batch>(app: &App, payload: &str) -> Result<(), Error> {
    let batch: B = serde_json::from_str(payload).map_err(Error::internal)?;
    match batch.run(app).await? {
        Some(next) => add(app, &next).await,
        None => Ok(()),
    }
}

/// Adds the job that does a batch, unless it was added.
///
/// # Errors
/// The outcome is unknown: it can be repeated.
pub async fn add<B: Batch>(app: &App, batch: &B) -> Result<(), Error> {
    let payload = serde_json::to_string(batch).map_err(Error::internal)?;
    let id = app.ids().derived(&["batch", B::QUEUE, &payload]);
    let new = NewJob { max_attempts: ATTEMPTS, ..NewJob::own(B::QUEUE, payload) };
    queue::add(app, Op { id, input: String::new() }, new).await.map(|_added| ())
}

/// A page of a list: a document with copies. Unique indexes let a list have one copy of a record and one page of a number,
/// so that concurrent deliveries can't double anything.
pub trait Page: Stored {
    /// A copy of a record.
    type Copy: Sync;

    /// Adds the copy to the page of each list that takes copies, unless the list has one. Returns whether each had such a
    /// page, and no copy.
    fn push_each(
        app: &App,
        lists: &[String],
        copy: &Self::Copy,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Those of the lists that have the copy.
    fn lists_with(
        app: &App,
        lists: &[String],
        copy: &Self::Copy,
    ) -> impl Future<Output = Result<HashSet<String>, Error>> + Send;

    /// The last page of a list, as far as the copy belongs there; contents may be missing.
    fn last(
        app: &App,
        list: &str,
        copy: &Self::Copy,
    ) -> impl Future<Output = Result<Option<Self>, Error>> + Send;

    /// Whether it takes copies.
    fn is_open(&self) -> bool;

    /// The page after the last one of a list, with the copy.
    fn next(last: Option<&Self>, list: &str, copy: &Self::Copy) -> Self;
}

/// Puts a copy into each of the lists that has none. The reads only choose what to try; the guard of the update and the
/// unique indexes decide. So it may be repeated, also by a worker that has lost its lease.
///
/// # Errors
/// Some of the lists may have no copy; it can be repeated.
pub async fn put<P: Page>(app: &App, mut to: Vec<String>, copy: &P::Copy) -> Result<(), Error> {
    for _ in 0..ROUNDS {
        if to.is_empty() || P::push_each(app, &to, copy).await? {
            return Ok(());
        }
        let there = P::lists_with(app, &to, copy).await?;
        to.retain(|list| !there.contains(list));
        let last = try_join_all(to.iter().map(|list| P::last(app, list, copy))).await?;
        let (mut left, mut begun, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for (list, last) in to.into_iter().zip(last) {
            if last.as_ref().is_some_and(P::is_open) {
                left.push(list);
            } else {
                new.push(P::next(last.as_ref(), &list, copy));
                begun.push(list);
            }
        }
        // A refused page exists, or the list has a copy by now.
        let refused = app.collection().insert_many(new).await?;
        left.extend(refused.into_iter().filter_map(|at| begun.get(at).cloned()));
        to = left;
    }
    Err(Error::unavailable("the pages of the lists keep changing"))
}
