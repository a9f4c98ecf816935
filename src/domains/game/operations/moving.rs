//! Moves: things, gold and characters go from one document to another.
//!
//! | step | command | guard | deadline | if its outcome is unknown |
//! |---|---|---|---|---|
//! | take | update of each document | the rules of its part; the try isn't marked | yes | the sweep voids the move, and undoes |
//! | decide | insert of the move | its id is free | no | a repeat or the sweep reads it |
//! | give | update of each document | the try is marked | no | a repeat or the sweep gives |
//! | settle | update of the move | it is open | no | the sweep settles |
//! | void | insert of the move as void | its id is free | no | it is repeated |
//! | undo | update of each document | the try is marked | no | the sweep undoes |
//!
//! Each attempt has a random *try*, under which only it takes. So once its takes were answered, none can arrive any more,
//! and giving and undoing remove the mark. If the connection broke and a take was sent twice, the attempt stops, and the
//! sweep undoes it after its deadline.
//!
//! The insert of the move decides which try is committed. An attempt that can't take everything undoes what it has taken: no
//! other can commit its try. The sweep can't know whether an attempt still means to insert. So it first inserts the move as
//! void. The op can then be repeated under the next id. The void moves of an op are remembered longer than its committed one:
//! otherwise a repeat would find the first id free.

use futures_util::future::{join_all, try_join_all};

use super::{
    super::{
        documents::{
            CharacterDocument, CharacterState, Holder, HolderKind, Mark, MoveDocument, MoveState,
            RoomCopy,
        },
        store::{self, Found, Part, characters, moves, places},
    },
    copies::{spread, spread_soon},
};
use crate::{
    graphql::prelude::*,
    mongo::{Version, batched, guarded::Sends, unhurried},
};

/// Maximum number of moves of one op that the sweep has voided.
const MAX_VOID: usize = 100;

/// Whether a move of an op was committed before.
pub(super) enum Known {
    /// It wasn't.
    Fresh(Next),
    /// It was.
    Committed(MoveDocument),
    /// Another op with the same idempotency key was.
    OtherInput,
}

/// The move that an op makes next.
#[derive(Debug)]
pub(super) struct Next {
    /// Its `_id`.
    pub(super) id: String,
    /// Ids of the op's moves before, which are void.
    after: Vec<String>,
}

/// What became of an attempt at a move.
pub(super) enum Carried {
    /// It is committed and given. Contains the first of its documents, if that is a character.
    Given(Option<Box<CharacterDocument>>),
    /// Something was changed meanwhile: the documents have to be read again.
    Again,
    /// Another move is in the way.
    Wait,
}

/// The id of an op's move after `number` void ones.
fn move_id(app: &App, op: &Op, number: usize) -> String {
    match number {
        0 => op.id.clone(),
        number => app.ids().derived(&["move", &op.id, &number.to_string()]),
    }
}

/// Whether the op was committed. `first` is what was read of its first move.
pub(super) async fn known(app: &App, op: &Op, first: Option<MoveDocument>) -> Result<Known> {
    let (mut found, mut after) = (first, Vec::new());
    for number in 0..MAX_VOID {
        let id = move_id(app, op, number);
        if number > 0 {
            found = moves(app).get_settled(&id).await?;
        }
        match found.take() {
            None => return Ok(Known::Fresh(Next { id, after })),
            Some(decided) if decided.state == MoveState::Void => after.push(id),
            Some(decided) if decided.input == op.input => return Ok(Known::Committed(decided)),
            Some(_) => return Ok(Known::OtherInput),
        }
    }
    Err(Error::unavailable("too many calls with this idempotency key were cut"))
}

/// An attempt at a move.
#[derive(Clone, Copy)]
pub(super) struct Mover<'a> {
    pub(super) app: &'a App,
    pub(super) attempt: &'a Attempt,
    pub(super) op: &'a Op,
}

impl Mover<'_> {
    /// Takes all parts, commits the move under this id, and gives them. The caller has checked the parts against what was
    /// read.
    pub(super) async fn carry(self, next: &Next, mut parts: Vec<Part>) -> Result<Carried> {
        let Mover { app, attempt, op } = self;
        let Next { id, after } = next;
        let is_of_op = |mark: &Mark| mark.of == *id;
        if parts.iter().any(|part| part.found.marks().iter().any(is_of_op)) {
            // Another attempt at it isn't finished.
            return Ok(Carried::Wait);
        }
        if !store::remember_void(app, after, attempt.now()).await? {
            // One of them was forgotten meanwhile, and has been made anew.
            return Ok(Carried::Again);
        }
        let own = app.ids().random();
        for part in &mut parts {
            (part.mark.of, part.mark.attempt) = (id.clone(), own.clone());
        }
        let taken = batched(join_all(parts.iter().map(|part| self.take(part)))).await;
        let taken = taken.into_iter().collect::<Result<Vec<bool>>>()?;
        let holders: Vec<_> = parts.iter().map(|part| part.found.holder()).collect();
        let marks: Vec<_> = parts.iter().map(|part| part.mark.clone()).collect();
        if taken.contains(&false) {
            undo_taken(app, &holders, &marks, &taken).await?;
            let is_born = |(part, taken): (&Part, &bool)| part.mark.begins == Some(true) && !taken;
            // A newborn that is there already belongs to a cut attempt, which the sweep resolves.
            let waits = parts.iter().zip(&taken).any(is_born);
            return Ok(if waits { Carried::Wait } else { Carried::Again });
        }
        let decided = MoveDocument {
            id: id.clone(),
            after: after.clone(),
            input: op.input.clone(),
            attempt: own,
            state: MoveState::Committed,
            holders: holders.clone(),
            at: attempt.now(),
            open_at: Some(attempt.now()),
            expires_at: None,
            v: Version,
        };
        if moves(app).insert(decided).await.decided()?.is_none() {
            // A repeat has committed it, or the sweep has voided it.
            undo_taken(app, &holders, &marks, &taken).await?;
            return Ok(Carried::Again);
        }
        let room = parts.iter().find_map(|part| room_of(part, &parts));
        let first = self.give_all(&holders, &marks, room.as_ref()).await?;
        finish_soon(app, next, &holders);
        Ok(Carried::Given(first))
    }

    /// Takes a part. Returns whether its rules held.
    async fn take(self, part: &Part) -> Result<bool> {
        let Self { app, attempt, .. } = self;
        let sends = match &part.found {
            Found::Newborn(character) => {
                let at = Some(attempt.now());
                let mark = Mark { at, begins: Some(true), ..part.mark.clone() };
                let character =
                    CharacterDocument { marks: vec![mark], marked_at: at, ..(**character).clone() };
                return Ok(characters(app).insert(character).await.decided()?.is_some());
            }
            Found::Character(_) => match characters(app).write(&part.take(), attempt).await? {
                Verdict::Applied(sends) => sends,
                Verdict::Refused(..) | Verdict::Missing => return Ok(false),
            },
            Found::Place(_) => match places(app).write(&part.take(), attempt).await? {
                Verdict::Applied(sends) => sends,
                Verdict::Refused(..) | Verdict::Missing => return Ok(false),
            },
        };
        if sends == Sends::Twice {
            return Err(Error::unavailable(
                "a part of a move was taken by a command that was sent twice",
            ));
        }
        Ok(true)
    }

    /// Gives all parts of a committed move. A character comes to a place before the place has it: so the place's next copy
    /// reaches it.
    async fn give_all(
        self,
        holders: &[Holder],
        marks: &[Mark],
        room: Option<&RoomCopy>,
    ) -> Result<Option<Box<CharacterDocument>>> {
        let app = self.app;
        let (Some((first, others)), Some((mark, other_marks))) =
            (holders.split_first(), marks.split_first())
        else {
            return Ok(None);
        };
        let rest = async {
            let each = others.iter().zip(other_marks);
            try_join_all(each.map(|(holder, mark)| give(app, holder, mark, room))).await
        };
        if mark.to.is_some() || mark.begins == Some(true) {
            let after = give_first(app, first, mark, room).await?;
            batched(rest).await?;
            return Ok(after);
        }
        let (after, _) =
            batched(async { tokio::try_join!(give_first(app, first, mark, room), rest) }).await?;
        Ok(after)
    }
}

/// Undoes the parts that were taken.
async fn undo_taken(app: &App, holders: &[Holder], marks: &[Mark], taken: &[bool]) -> Result<()> {
    let all = holders.iter().zip(marks).zip(taken).filter(|(_, taken)| **taken);
    let undone = all.map(|((holder, mark), _)| undo(app, holder, mark));
    batched(try_join_all(undone)).await?;
    spread_soon(app, holders);
    Ok(())
}

/// Copy of the place that the character of a part goes to.
fn room_of(part: &Part, parts: &[Part]) -> Option<RoomCopy> {
    let to = part.mark.to.as_ref()?;
    parts.iter().find_map(|other| match &other.found {
        Found::Place(place) if place.id == *to => {
            let mut room = RoomCopy::of(place);
            room.players.extend(other.enters.clone());
            Some(room)
        }
        _ => None,
    })
}

/// Gives the first part, and returns it if it is a character that lives on.
async fn give_first(
    app: &App,
    holder: &Holder,
    mark: &Mark,
    room: Option<&RoomCopy>,
) -> Result<Option<Box<CharacterDocument>>> {
    if holder.kind == HolderKind::Place || mark.ends == Some(true) {
        give(app, holder, mark, room).await?;
        return Ok(None);
    }
    let given = characters(app).change(store::give(holder, mark, room)).then_read().await?;
    match given {
        Some(after) => Ok(Some(Box::new(after))),
        None => Ok(characters(app).get_settled(&holder.id).await?.map(Box::new)),
    }
}

/// Gives a part of a committed move, unless it is given.
async fn give(app: &App, holder: &Holder, mark: &Mark, room: Option<&RoomCopy>) -> Result<bool> {
    match holder.kind {
        HolderKind::Character if mark.ends == Some(true) => {
            store::remove_character(app, &holder.id, mark).await
        }
        HolderKind::Character => {
            characters(app).change(store::give(holder, mark, room)).held().await
        }
        HolderKind::Place => places(app).change(store::give(holder, mark, None)).held().await,
    }
}

/// Undoes a part of a try that is never committed.
async fn undo(app: &App, holder: &Holder, mark: &Mark) -> Result<bool> {
    match holder.kind {
        HolderKind::Character if mark.begins == Some(true) => {
            store::remove_character(app, &holder.id, mark).await
        }
        HolderKind::Character => characters(app).change(store::undo(holder, mark)).held().await,
        HolderKind::Place => places(app).change(store::undo(holder, mark)).held().await,
    }
}

/// Gives what isn't given yet of a committed move, and settles it.
pub(in super::super) async fn finish(app: &App, decided: &MoveDocument) -> Result<()> {
    if decided.open_at.is_none() {
        return Ok(());
    }
    let is_place = |holder: &&Holder| holder.kind == HolderKind::Place;
    let (there, gone): (Vec<_>, Vec<_>) = decided.holders.iter().partition(is_place);
    // Characters first; see `give_all`.
    for holder in gone.into_iter().chain(there) {
        let marks = store::marks_of(app, holder.kind, &holder.id).await?.unwrap_or_default();
        let Some(mark) = marks.into_iter().find(|mark| mark.attempt == decided.attempt) else {
            continue;
        };
        let room = match &mark.to {
            Some(to) => places(app).get_settled(to).await?.as_ref().map(RoomCopy::of),
            None => None,
        };
        give(app, holder, &mark, room.as_ref()).await?;
    }
    store::remember_void(app, &decided.after, decided.at).await?;
    store::settle(app, &decided.id).held().await?;
    for holder in decided.holders.iter().filter(is_place) {
        spread(app, &holder.id).await?;
    }
    Ok(())
}

/// Resolves the mark of an attempt that is over, whatever its move has become. Returns whether it was still there.
pub(in super::super) async fn resolve(
    app: &App,
    holder: &Holder,
    mark: &Mark,
    attempt: &Attempt,
) -> Result<bool> {
    let decided = match moves(app).get_settled(&mark.of).await? {
        Some(decided) => decided,
        None if store::void(app, &mark.of, attempt.now()).await? => {
            return undo(app, holder, mark).await;
        }
        None => {
            let decided = moves(app).get_settled(&mark.of).await?;
            decided.ok_or_else(|| Error::unavailable("a decision isn't settled yet"))?
        }
    };
    if decided.state == MoveState::Void || decided.attempt != mark.attempt {
        return undo(app, holder, mark).await;
    }
    if decided.open_at.is_none() && mark.begins == Some(true) {
        // Everything was given: this is a late copy of the insert of a character that may be deleted since.
        return store::remove_character(app, &holder.id, mark).await;
    }
    let open_at = decided.open_at.or(Some(decided.at));
    finish(app, &MoveDocument { open_at, ..decided }).await.map(|()| true)
}

/// Settles a move, and brings copies up to date, behind the reply.
fn finish_soon(app: &App, next: &Next, holders: &[Holder]) {
    spread_soon(app, holders);
    let (app, id, after) = (app.clone(), next.id.clone(), next.after.clone());
    let settle = {
        let app = app.clone();
        async move {
            if !after.is_empty() {
                let attempt = app.begin().await?;
                store::remember_void(&app, &after, attempt.now()).await?;
            }
            store::settle(&app, &id).held().await.map(drop)
        }
    };
    app.in_background("settling a move", unhurried(settle));
}

/// Whether the character is seen by others.
pub(super) fn is_alive(character: &CharacterDocument) -> bool {
    character.state == CharacterState::Alive
}
