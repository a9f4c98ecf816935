//! The end of flows with a decision: by the attempt that decided, by a repeat, or by the sweep.

use std::{marker::PhantomData, mem, sync::Mutex, time::Duration};

use mongodb::bson::{DateTime, Document, doc};
use tokio::time::sleep;

use super::{Decided, Next, Statements};
use crate::{
    error::Error,
    flow::{Attempt, Sweep, later},
    locks::lock,
    mongo::{expression::millis, guarded::Guarded},
};

/// Number of decisions that one command of the sweep reads.
const SWEPT: i64 = 500;
/// Number of decisions of a lot that are settled without waiting for more.
const LOT: usize = 500;
/// How long a lot waits for more decisions.
const LOT_WAIT: Duration = Duration::from_millis(100);
/// Stored `state` of a void decision.
const VOID: &str = "VOID";

pub(super) async fn find<S: Statements>(
    room: S,
    id: &str,
) -> Result<Option<Decided<S::Receiver>>, Error> {
    Ok(room.decisions().get_settled(id).await?.map(Into::into))
}

/// Settles the decision of the attempt that made it, behind the reply.
///
/// # Errors
/// The outcome is unknown. The sweep settles it.
pub async fn settle_behind<S: Statements>(room: S, next: &Next) -> Result<(), Error> {
    if !next.after.is_empty() {
        let attempt = room.decisions().begin(room.bounds()).await?;
        remember_void(room, &next.after, attempt.now()).await?;
    }
    settle(room, &next.id).held().await.map(drop)
}

/// Decisions whose parts are all given. One command is going to settle them. If the gateway is killed before, the sweep
/// settles them.
#[derive(Debug)]
pub struct Lot<D> {
    ids: Mutex<Vec<String>>,
    of: PhantomData<fn() -> D>,
}

impl<D> Default for Lot<D> {
    fn default() -> Self {
        Self { ids: Mutex::default(), of: PhantomData }
    }
}

impl<D> Lot<D> {
    /// Adds the decision of the attempt that made it. Returns the time after which the caller has to [settle](settle_lot) the
    /// lot, or `None` if another caller does it.
    pub fn add(&self, next: &Next) -> Option<Duration> {
        let mut ids = lock(&self.ids);
        ids.push(next.id.clone());
        match ids.len() {
            1 => Some(LOT_WAIT),
            LOT => Some(Duration::ZERO),
            _ => None,
        }
    }

    fn take(&self) -> Vec<String> {
        mem::take(&mut lock(&self.ids))
    }
}

/// Settles the decisions of a lot after this time, by one command.
///
/// # Errors
/// The outcome is unknown. The sweep settles them.
pub async fn settle_lot<S: Statements>(
    room: S,
    lot: &Lot<S::Decision>,
    wait: Duration,
) -> Result<(), Error> {
    sleep(wait).await;
    let ids = lot.take();
    if ids.is_empty() {
        return Ok(());
    }
    room.decisions().set_each(ids, is_open(), settled(room)).await
}

/// Gives what isn't given yet of a committed decision, and settles it.
///
/// # Errors
/// The outcome of a step is unknown. A repeat or the sweep carries on.
pub async fn finish<S: Statements>(room: S, decided: &Decided<S::Receiver>) -> Result<(), Error> {
    if decided.open_at.is_none() {
        return Ok(());
    }
    for receiver in S::in_order(&decided.receivers) {
        let marks = room.marks(receiver).await?;
        let own = marks.iter().find(|mark| S::named(mark)[1] == decided.attempt);
        if let Some(mark) = own {
            room.give(receiver, mark).await?;
        }
    }
    remember_void(room, &decided.after, decided.at).await?;
    settle(room, &decided.id).held().await?;
    room.finished(&decided.receivers).await
}

/// Finishes committed decisions that were cut.
pub async fn sweep<S: Statements>(room: S, sweep: &mut Sweep) {
    let (by, before) = (("openAt", "open_at"), sweep.unchanged_before());
    let open = |from, limit| room.decisions().list_between(by, from, before, limit);
    let end =
        |decided: S::Decision| async move { finish(room, &decided.into()).await.map(|()| true) };
    sweep.each_page("decisions", SWEPT, open, end).await;
}

/// Resolves the marks of a document from before `before`, whatever was decided. Returns whether there was one.
///
/// # Errors
/// The outcome of a step is unknown. The next pass carries on.
pub async fn resolve_each<S: Statements>(
    room: S,
    receiver: &S::Receiver,
    marks: &[S::Mark],
    before: DateTime,
) -> Result<bool, Error> {
    let attempt = room.decisions().begin(room.bounds()).await?;
    let mut is_resolved = false;
    for mark in marks.iter().filter(|mark| S::marked_at(mark).is_none_or(|at| at < before)) {
        is_resolved |= resolve(room, receiver, mark, &attempt).await?;
    }
    Ok(is_resolved)
}

/// Resolves the mark of an attempt that is over. Returns whether it was still there.
async fn resolve<S: Statements>(
    room: S,
    receiver: &S::Receiver,
    mark: &S::Mark,
    attempt: &Attempt,
) -> Result<bool, Error> {
    let [id, own] = S::named(mark);
    let decided = match find(room, id).await? {
        Some(decided) => decided,
        None if void(room, id, attempt.now()).await? => return room.undo(receiver, mark).await,
        None => {
            let decided = find(room, id).await?;
            decided.ok_or_else(|| Error::unavailable("a decision isn't settled yet"))?
        }
    };
    // Of a decision that is settled, the mark of a document that it creates is a late copy of the insert: the document may
    // have been deleted since.
    let is_late = decided.open_at.is_none() && S::creates(mark);
    if decided.is_void || decided.attempt != own || is_late {
        return room.undo(receiver, mark).await;
    }
    let open_at = decided.open_at.or(Some(decided.at));
    finish(room, &Decided { open_at, ..decided }).await.map(|()| true)
}

/// Notes that everything of a decision is given. It is removed when its idempotency key is forgotten.
fn settle<S: Statements>(room: S, id: &str) -> Guarded<S::Decision> {
    let mut guard = doc! { "_id": id };
    guard.extend(is_open());
    room.decisions().set(guard, settled(room))
}

/// The guard of a settle.
fn is_open() -> Document {
    doc! { "openAt": { "$exists": true } }
}

/// The fields that a settle sets.
fn settled<S: Statements>(room: S) -> Document {
    let expires = doc! { "$add": ["$$NOW", millis(room.bounds().ops)] };
    doc! { "openAt": "$$REMOVE", "expiresAt": expires }
}

/// Decides that no try is committed. Refused if it is decided already.
async fn void<S: Statements>(room: S, id: &str, now: DateTime) -> Result<bool, Error> {
    let tombstone = Decided {
        id: id.to_owned(),
        after: Vec::new(),
        input: String::new(),
        attempt: room.random(),
        is_void: true,
        receivers: Vec::new(),
        at: now,
        open_at: None,
        expires_at: Some(later(now, room.bounds().ops)),
    };
    Ok(room.decisions().insert(&tombstone.into()).await.decided()?.is_some())
}

/// Remembers void decisions of an op for twice the time of idempotency keys from now on, so longer than its committed one.
/// One that is forgotten already is made anew. Returns `false` if one of them was committed or voided again meanwhile.
pub(super) async fn remember_void<S: Statements>(
    room: S,
    ids: &[String],
    now: DateTime,
) -> Result<bool, Error> {
    for id in ids {
        let expires = doc! { "$add": ["$$NOW", millis(room.bounds().ops * 2)] };
        let guard = doc! { "_id": id, "state": VOID };
        let set = doc! { "expiresAt": expires };
        if !room.decisions().set(guard, set).held().await? && !void(room, id, now).await? {
            return Ok(false);
        }
    }
    Ok(true)
}
