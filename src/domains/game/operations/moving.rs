//! Moves take things, gold and characters from one document to another. They are flows with a
//! [decision](crate::flow::decision), whose module describes the steps, their guards and why they are safe. This module
//! makes the statements of these steps.

use std::sync::Arc;

use super::{
    super::{
        documents::{
            CharacterDocument, CharacterState, Holder, HolderKind, Mark, MoveDocument, RoomCopy,
        },
        store::{self, Extent, Found, Part, characters, moves, places},
    },
    copies::{spread, spread_soon},
};
use crate::{
    flow::{
        Bounds,
        decision::{self, Decided, Statements},
    },
    graphql::prelude::*,
    join::try_join_all,
    mongo::{Collection, batched, guarded::Sends, prelude::DateTime, unhurried},
};

pub(super) use decision::Next;
/// Whether a move of an op was committed before.
pub(super) type Known = decision::Known<Holder>;
/// What became of an attempt at a move. Contains the first of its documents, if that is a character.
pub(super) type Carried = decision::Carried<Option<Box<CharacterDocument>>>;

/// Whether the op was committed. `first` is what was read of its first move.
pub(super) async fn known(app: &App, op: &Op, first: Option<MoveDocument>) -> Result<Known> {
    decision::known(Moves(app), op, first).await
}

/// Gives what isn't given yet of a committed move, and settles it.
pub(super) async fn finish(app: &App, decided: &Decided<Holder>) -> Result<()> {
    decision::finish(Moves(app), decided).await
}

/// Takes all parts, commits the move under this id, and gives them. The caller has checked the parts against what was
/// read.
pub(super) async fn carry(
    app: &App,
    attempt: &Attempt,
    op: &Op,
    next: &Next,
    mut parts: Vec<Part>,
) -> Result<Carried> {
    let carried = decision::carry(Moves(app), op, next, attempt, &mut parts).await?;
    if let Carried::Given(_) = &carried {
        let holders: Vec<_> = parts.iter().map(Moves::receiver).collect();
        spread_soon(app, &holders);
        settle_soon(app, next);
    }
    Ok(carried)
}

/// Settles a move behind the reply, with others if writes may share commands.
fn settle_soon(app: &App, next: &Next) {
    if app.config().coalesce_writes && next.is_first() {
        let lot: Arc<decision::Lot<MoveDocument>> = app.shared();
        let Some(wait) = lot.add(next) else { return };
        let own = app.clone();
        let settle = async move { decision::settle_lot(Moves(&own), &lot, wait).await };
        app.in_background("settling moves", settle);
        return;
    }
    let (own, next) = (app.clone(), next.clone());
    let settle = async move { decision::settle_behind(Moves(&own), &next).await };
    app.in_background("settling a move", unhurried(settle));
}

/// The statements of moves.
#[derive(Clone, Copy)]
pub(in super::super) struct Moves<'a>(pub(in super::super) &'a App);

impl Statements for Moves<'_> {
    type Decision = MoveDocument;
    type Receiver = Holder;
    type Part = Part;
    type Mark = Mark;
    type Given = Option<Box<CharacterDocument>>;

    fn decisions(self) -> Collection<MoveDocument> {
        moves(self.0)
    }

    fn bounds(self) -> Bounds {
        self.0.bounds()
    }

    fn random(self) -> String {
        self.0.ids().random()
    }

    fn derived(self, op: &Op, number: usize) -> String {
        self.0.ids().derived(&["move", &op.id, &number.to_string()])
    }

    fn receiver(part: &Part) -> Holder {
        part.found.holder()
    }

    fn marks_as_read(part: &Part) -> &[Mark] {
        part.found.marks()
    }

    fn mark(part: &Part) -> &Mark {
        &part.mark
    }

    fn name(part: &mut Part, decision: &str, attempt: &str) {
        (part.mark.of, part.mark.attempt) = (decision.to_owned(), attempt.to_owned());
    }

    fn named(mark: &Mark) -> [&str; 2] {
        [&mark.of, &mark.attempt]
    }

    fn marked_at(mark: &Mark) -> Option<DateTime> {
        mark.at
    }

    fn creates(mark: &Mark) -> bool {
        mark.begins == Some(true)
    }

    /// Characters first; see [`Self::give_all`].
    fn in_order(holders: &[Holder]) -> Vec<&Holder> {
        let is_place = |holder: &&Holder| holder.kind == HolderKind::Place;
        let (there, gone): (Vec<_>, Vec<_>) = holders.iter().partition(is_place);
        gone.into_iter().chain(there).collect()
    }

    async fn take(self, part: &Part, attempt: &Attempt) -> Result<Option<Sends>> {
        let Self(app) = self;
        Ok(match &part.found {
            Found::Newborn(character) => {
                let at = Some(attempt.now());
                let mark = Mark { at, begins: Some(true), ..part.mark.clone() };
                let character =
                    CharacterDocument { marks: vec![mark], marked_at: at, ..(**character).clone() };
                let inserted = characters(app).insert(&character).await.decided()?;
                inserted.map(|()| Sends::Once)
            }
            Found::Character(_) => {
                characters(app).write_made(|| part.take(), attempt).await?.applied()
            }
            Found::Place(_) | Found::Copied { .. } => {
                places(app).write_made(|| part.take(), attempt).await?.applied()
            }
        })
    }

    /// A character comes to a place before the place has it: so the place's next copy reaches it.
    async fn give_all(self, parts: &[Part]) -> Result<Self::Given> {
        let Self(app) = self;
        if parts.iter().all(Part::is_gold_alone) {
            return give_gold(app, parts).await;
        }
        let room = parts.iter().find_map(|part| room_of(part, parts));
        let (room, Some((first, others))) = (room.as_ref(), parts.split_first()) else {
            return Ok(None);
        };
        let rest = async {
            let each = others.iter();
            let given = each.map(|part| async move {
                give(app, &part.found.holder(), &part.mark, room, part.extent()).await
            });
            try_join_all(given).await
        };
        let mark = &first.mark;
        if mark.to.is_some() || mark.begins == Some(true) {
            let after = give_first(app, first, room).await?;
            batched(rest).await?;
            return Ok(after);
        }
        let given = async { tokio::try_join!(give_first(app, first, room), rest) };
        batched(given).await.map(|(after, _)| after)
    }

    async fn give(self, holder: &Holder, mark: &Mark) -> Result<()> {
        let Self(app) = self;
        let room = match &mark.to {
            Some(to) => places(app).get_settled(to).await?.as_ref().map(RoomCopy::of),
            None => None,
        };
        give(app, holder, mark, room.as_ref(), Extent::ANY).await.map(drop)
    }

    async fn undo(self, holder: &Holder, mark: &Mark) -> Result<bool> {
        let Self(app) = self;
        match holder.kind {
            HolderKind::Character if mark.begins == Some(true) => {
                store::remove_character(app, &holder.id, mark).await
            }
            HolderKind::Character => characters(app).change(store::undo(holder, mark)).held().await,
            HolderKind::Place => places(app).change(store::undo(holder, mark)).held().await,
        }
    }

    async fn marks(self, holder: &Holder) -> Result<Vec<Mark>> {
        Ok(store::marks_of(self.0, holder.kind, &holder.id).await?.unwrap_or_default())
    }

    fn undone(self, holders: &[Holder]) {
        spread_soon(self.0, holders);
    }

    async fn finished(self, holders: &[Holder]) -> Result<()> {
        for holder in holders.iter().filter(|holder| holder.kind == HolderKind::Place) {
            spread(self.0, &holder.id).await?;
        }
        Ok(())
    }
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

/// Gives the parts of a move of gold alone, and returns the first character.
async fn give_gold(app: &App, parts: &[Part]) -> Result<Option<Box<CharacterDocument>>> {
    let Some((first, others)) = parts.split_first() else { return Ok(None) };
    let each = others.iter().map(|part| store::give_gold(app, part).held());
    let first_given = store::give_gold(app, first).then_read();
    let given = async { tokio::try_join!(first_given, try_join_all(each)) };
    let (after, _) = batched(given).await?;
    if let Some(after) = after {
        return Ok(Some(Box::new(after)));
    }
    let found = characters(app).get_settled(&first.found.holder().id).await?;
    Ok(found.map(Box::new))
}

/// Gives the first part, and returns it if it is a character that lives on.
async fn give_first(
    app: &App,
    part: &Part,
    room: Option<&RoomCopy>,
) -> Result<Option<Box<CharacterDocument>>> {
    let (holder, mark, extent) = (&part.found.holder(), &part.mark, part.extent());
    if holder.kind == HolderKind::Place || mark.ends == Some(true) {
        give(app, holder, mark, room, extent).await?;
        return Ok(None);
    }
    let change = store::give(holder, mark, room, extent);
    let given = characters(app).change(change).then_read().await?;
    match given {
        Some(after) => Ok(Some(Box::new(after))),
        None => Ok(characters(app).get_settled(&holder.id).await?.map(Box::new)),
    }
}

/// Gives a part of a committed move, unless it is given.
async fn give(
    app: &App,
    holder: &Holder,
    mark: &Mark,
    room: Option<&RoomCopy>,
    extent: Extent,
) -> Result<bool> {
    match holder.kind {
        HolderKind::Character if mark.ends == Some(true) => {
            store::remove_character(app, &holder.id, mark).await
        }
        HolderKind::Character => {
            characters(app).change(store::give(holder, mark, room, extent)).held().await
        }
        HolderKind::Place => {
            places(app).change(store::give(holder, mark, None, extent)).held().await
        }
    }
}

/// Whether the character is seen by others.
pub(super) fn is_alive(character: &CharacterDocument) -> bool {
    character.state == CharacterState::Alive
}
