//! An attempt at a flow with a decision: take, decide, give.

use super::{
    Carried, Decided, Known, Next, Statements,
    ending::{find, remember_void},
};
use crate::{
    error::Error,
    flow::{Attempt, Op},
    join::{join_all, try_join_all},
    mongo::{batched, guarded::Sends},
};

/// Maximum number of void decisions of one op.
const MAX_VOID: usize = 100;

/// Whether the op was decided. `first` is what was read of its first decision.
///
/// # Errors
/// `Unavailable` if too many attempts of it were voided; else those of the reads.
pub async fn known<S: Statements>(
    room: S,
    op: &Op,
    first: Option<S::Decision>,
) -> Result<Known<S::Receiver>, Error> {
    let (mut found, mut after) = (first.map(Into::into), Vec::new());
    for number in 0..MAX_VOID {
        let id = if number == 0 { op.id.clone() } else { room.derived(op, number) };
        if number > 0 {
            found = find(room, &id).await?;
        }
        match found.take() {
            None => return Ok(Known::Fresh(Next { id, after })),
            Some(decided) if decided.is_void => after.push(id),
            Some(decided) if decided.input == op.input => return Ok(Known::Committed(decided)),
            Some(_) => return Ok(Known::OtherInput),
        }
    }
    Err(Error::unavailable("too many calls with this idempotency key were cut"))
}

/// Takes all parts, decides under this id, and gives them. The caller has checked the parts against what was read.
///
/// # Errors
/// The outcome of a step is unknown. A repeat or the sweep carries on.
pub async fn carry<S: Statements>(
    room: S,
    op: &Op,
    next: &Next,
    attempt: &Attempt,
    parts: &mut [S::Part],
) -> Result<Carried<S::Given>, Error> {
    let is_of_op =
        |part: &S::Part| S::marks_as_read(part).iter().any(|mark| S::named(mark)[0] == next.id);
    if parts.iter().any(is_of_op) {
        // Another attempt at it isn't finished.
        return Ok(Carried::Wait);
    }
    if !remember_void(room, &next.after, attempt.now()).await? {
        // One of them was forgotten meanwhile, and has been made anew.
        return Ok(Carried::Again);
    }
    let own = room.random();
    for part in &mut *parts {
        S::name(part, &next.id, &own);
    }
    let parts = &*parts;
    let taken = batched(join_all(parts.iter().map(|part| take(room, part, attempt)))).await;
    let taken = taken.into_iter().collect::<Result<Vec<bool>, Error>>()?;
    if taken.contains(&false) {
        undo_taken(room, parts, &taken).await?;
        // A document that is there already belongs to a cut attempt, which the sweep resolves.
        let mut each = parts.iter().zip(&taken);
        let waits = each.any(|(part, taken)| S::creates(S::mark(part)) && !taken);
        return Ok(if waits { Carried::Wait } else { Carried::Again });
    }
    let decided = Decided {
        id: next.id.clone(),
        after: next.after.clone(),
        input: op.input.clone(),
        attempt: own,
        is_void: false,
        receivers: parts.iter().map(S::receiver).collect(),
        at: attempt.now(),
        open_at: Some(attempt.now()),
        expires_at: None,
    };
    if room.decisions().insert(&decided.into()).await.decided()?.is_none() {
        // A repeat has decided it, or the sweep has voided it.
        undo_taken(room, parts, &taken).await?;
        return Ok(Carried::Again);
    }
    Ok(Carried::Given(room.give_all(parts).await?))
}

async fn take<S: Statements>(room: S, part: &S::Part, attempt: &Attempt) -> Result<bool, Error> {
    match room.take(part, attempt).await? {
        Some(Sends::Once) => Ok(true),
        Some(Sends::Twice) => {
            Err(Error::unavailable("a part was taken by a command that was sent twice"))
        }
        None => Ok(false),
    }
}

/// Undoes the parts that were taken.
async fn undo_taken<S: Statements>(
    room: S,
    parts: &[S::Part],
    taken: &[bool],
) -> Result<(), Error> {
    let all = parts.iter().zip(taken).filter(|(_, taken)| **taken);
    let undone =
        all.map(|(part, _)| async move { room.undo(&S::receiver(part), S::mark(part)).await });
    batched(try_join_all(undone)).await?;
    let receivers: Vec<_> = parts.iter().map(S::receiver).collect();
    room.undone(&receivers);
    Ok(())
}
