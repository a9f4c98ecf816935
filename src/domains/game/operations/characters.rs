//! Creates and deletes characters.

use super::{
    super::{
        documents::{
            CharacterDocument, CharacterState, HolderKind, Intrinsics, MoveDocument, PlaceDocument,
            PlayerEntry, RoomCopy, ThingRecord,
        },
        store::{self, Found, Part, Reason, characters, places, present},
        types::{
            CreateCharacterInput, CreateCharacterResult, DeleteCharacterInput,
            DeleteCharacterResult, DeletedCharacter, Why,
        },
    },
    acting::{first_move, make, no_character, place_of},
    moving::{Carried, Known, finish, is_alive, known},
};
use crate::{
    graphql::prelude::*,
    mongo::{
        Deferred, Version,
        condition::{has_element, has_room, is},
    },
};

/// Health and mana at the beginning: a base, and points for each point of constitution or intelligence.
const BASE: i32 = 50;
const PER_POINT: i32 = 5;

/// What a character is born with.
pub(in super::super) struct Birth<'a> {
    /// Subject of the player.
    pub(in super::super) owner: &'a str,
    pub(in super::super) name: String,
    pub(in super::super) class: String,
    pub(in super::super) intrinsics: Intrinsics,
    pub(in super::super) gold: i64,
    /// `_id` of the place where it begins.
    pub(in super::super) place: &'a str,
    pub(in super::super) inventory: Vec<ThingRecord>,
}

impl Birth<'_> {
    /// The character, which isn't seen yet. Its `_id` is that of the op, whichever of the op's moves is committed: so no two
    /// calls of an op create two characters, however long ago the first one was made.
    fn character(self, op: &Op, attempt: &Attempt, room: Deferred<RoomCopy>) -> CharacterDocument {
        let Self { owner, name, class, intrinsics, gold, place, inventory } = self;
        let health = i64::from(BASE + PER_POINT * intrinsics.constitution);
        let mana = i64::from(BASE + PER_POINT * intrinsics.intelligence);
        CharacterDocument {
            id: op.id.clone(),
            owner: owner.to_owned(),
            name,
            class,
            state: CharacterState::Arriving,
            intrinsics,
            health,
            max_health: health,
            mana,
            max_mana: mana,
            gold,
            minted: gold,
            inventory,
            place: place.to_owned(),
            room,
            marks: Vec::new(),
            marked_at: None,
            version: 0,
            created_at: attempt.now(),
            input: op.input.clone(),
            v: Version,
        }
    }
}

/// Creates a character of the caller at a place.
pub async fn create_character(
    cx: Cx<'_>,
    input: CreateCharacterInput,
) -> Answer<CreateCharacterResult> {
    let (owner, input) = (cx.requester.subject()?, &input.checked()?);
    let intrinsics = input.intrinsics.clone().unwrap_or_default();
    intrinsics.demand_fair()?;
    let op = &cx.op(&[owner, "createCharacter"], input);
    let birth = || Birth {
        owner,
        name: input.name.clone(),
        class: input.class.clone(),
        intrinsics: intrinsics.clone(),
        gold: 0,
        place: &input.place_id,
        inventory: Vec::new(),
    };
    bear(&cx, op, birth).await
}

/// Lets a character be born, once per op. As long as the character is there, a repeat returns it, also if the op's move is
/// forgotten.
pub(in super::super) async fn bear<'a>(
    app: &App,
    op: &Op,
    birth: impl Fn() -> Birth<'a>,
) -> Answer<CreateCharacterResult> {
    let birth = &birth;
    let read = || async move {
        let attempt = app.begin().await?;
        Ok((attempt, first_move(app, op).await?))
    };
    decide(read, |attempt: Attempt, decided| async move {
        let next = match known(app, op, decided).await? {
            Known::Committed(decided) => {
                finish(app, &decided).await?;
                let mut holders = decided.receivers.iter();
                let born = holders.find(|holder| holder.kind == HolderKind::Character);
                let id = born.map_or(&*op.id, |born| &*born.id);
                let born = characters(app).get_settled(id).await?;
                return Ok(Step::Done(born.ok_or_else(|| no_character(id))?));
            }
            Known::Fresh(next) => next,
            Known::OtherInput => return Err(OtherInput.into()),
        };
        let birth = birth();
        let place = places(app).get_settled(birth.place).await?;
        let no_place = || Why::from(NotFound::of(NodeKind::PLACE, birth.place));
        let place = place.ok_or_else(no_place)?;
        let mut room = RoomCopy::of(&place);
        let born = birth.character(op, &attempt, Deferred::of(room.clone())?);
        let player = PlayerEntry::of(&born);
        room.players.push(player.clone());
        let room = Deferred::of(room)?;

        let mut newborn = Part::of(Found::Newborn(Box::new(CharacterDocument { room, ..born })));
        newborn.mark.begins = Some(true);
        let mut there = Part::of_place(place);
        there.welcomes(player);
        let parts = vec![newborn, there];
        match make::<CreateCharacterResult>(app, &attempt, op, &next, parts).await? {
            Carried::Given(Some(born)) => Ok(Step::Done(*born)),
            Carried::Given(None) => Err(no_character(&op.id).into()),
            Carried::Again => Ok(Step::Again),
            // Either another attempt isn't finished, or the character is there and its move is forgotten.
            Carried::Wait => match characters(app).get_settled(&op.id).await? {
                Some(born) if is_alive(&born) && born.input == op.input => Ok(Step::Done(born)),
                Some(born) if is_alive(&born) => Err(OtherInput.into()),
                _ => Ok(Step::Wait),
            },
        }
    })
    .await
}

/// Deletes a character of the caller. What it carries, and its gold, stays at its place.
pub async fn delete_character(
    cx: Cx<'_>,
    input: DeleteCharacterInput,
) -> Answer<DeleteCharacterResult> {
    let (owner, input) = (cx.requester.subject()?, &input.checked()?);
    let id = &*input.character_id;
    let op = &Op { id: cx.ids().derived(&["deleteCharacter", owner, id]), input: String::new() };
    let read = || async move {
        let (attempt, found, decided) = store::begin_with_move(&cx, id, &op.id).await?;
        Ok((attempt, (found, decided)))
    };
    decide(read, |attempt: Attempt, (found, decided): (Option<CharacterDocument>, _)| async move {
        let deleted = || DeletedCharacter { id: NodeKind::CHARACTER.id(id) };
        let found = found.filter(|found| found.owner == owner);
        let (op, known) = &deletion(cx, op, found.as_ref(), decided).await?;
        let next = match known {
            Known::Committed(decided) => {
                finish(&cx, decided).await?;
                return Ok(Step::Done(deleted()));
            }
            Known::Fresh(next) => next,
            Known::OtherInput => return Err(Error::internal("a deletion with an input").into()),
        };
        let found = found.ok_or_else(|| NotFound::of(NodeKind::CHARACTER, id))?;
        if !is_alive(&found) {
            return Ok(Step::Wait);
        }
        let place = place_of(&cx, &found).await?;
        let parts = farewell(found, place);
        Ok(match make::<DeleteCharacterResult>(&cx, &attempt, op, next, parts).await? {
            Carried::Given(_) => Step::Done(deleted()),
            Carried::Again => Step::Again,
            Carried::Wait => Step::Wait,
        })
    })
    .await
}

/// The op of a character's deletion, and whether it was decided before.
///
/// If the idempotency key that created a character is forgotten, another one can be created under the same `_id`, once the first
/// one is deleted. The deletion of the second one is an op of its own.
async fn deletion(
    cx: Cx<'_>,
    op: &Op,
    found: Option<&CharacterDocument>,
    decided: Option<MoveDocument>,
) -> Result<(Op, Known)> {
    let before = known(&cx, op, decided).await?;
    let (Known::Committed(decided), Some(found)) = (&before, found) else {
        return Ok((op.clone(), before));
    };
    if found.created_at < decided.at {
        return Ok((op.clone(), before));
    }
    let created = found.created_at.timestamp_millis().to_string();
    let id = cx.ids().derived(&["deleteCharacter again", &op.id, &created]);
    let op = Op { id, ..op.clone() };
    let decided = first_move(&cx, &op).await?;
    let known = known(&cx, &op, decided).await?;
    Ok((op, known))
}

/// The parts of a deletion: the place gets what the character carries, and its gold.
fn farewell(character: CharacterDocument, place: PlaceDocument) -> Vec<Part> {
    let arrives = |thing: &ThingRecord| match &thing.inside {
        Some(_) => thing.clone(),
        None => thing.loose(),
    };
    let mut to = Part::of_place(place);
    to.receives(character.inventory.iter().map(arrives).collect());
    to.earns(character.gold);
    to.mark.minted = character.minted;
    to.demand(has_element("players", present(&character.id)), Reason::InTheWay);
    to.leaves = Some(character.id.clone());

    let (version, gold, place) = (character.version, character.gold, character.place.clone());
    let leaving = character.inventory.iter().map(|thing| thing.id.clone()).collect();
    let mut from = Part::of_character(character);
    from.demand_at(&place);
    from.demand(is("version", version), Reason::InTheWay);
    from.demand(has_room("marks", 1), Reason::InTheWay);
    from.pays(gold);
    from.leaving = leaving;
    from.mark.ends = Some(true);
    vec![from, to]
}
