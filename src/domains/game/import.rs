//! Bulk import of a world: `docgate import world`.
//!
//! ```json
//! {"item": {"key": "hat", "name": "wizard's hat", "price": 40, "slots": ["HEAD"]}}
//! {"place": {"key": "hall", "title": "A hall", "things": [{"key": "hat-1", "item": "hat", "bonus": 3}]}}
//! {"place": {"key": "garden", "title": "A garden"}}
//! {"exit": {"from": "hall", "direction": "NORTH", "to": "garden"}}
//! {"character": {"key": "ann", "owner": "subject-of-ann", "name": "Ann", "class": "wizard", "place": "hall", "gold": 10}}
//! ```
//!
//! A line refers only to lines before it: to the items of its things, and to places. So exits have lines of their own. The
//! `_id` of each document is derived from its key alone. A line that is imported again changes nothing; one with another
//! content under the same key is refused.

mod lines;

use std::{collections::HashSet, mem::discriminant};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    documents::{
        CharacterState, Direction, EquipmentSlot, Exit, ItemDocument, LARGEST, QUANTITY, THINGS,
        ThingRecord,
    },
    operations::{Birth, bear, fresh_item, fresh_place},
    store::{self, items, places},
    things,
    types::{CreateCharacterResult, CreateItemInput},
};
use crate::{
    graphql::{declared::valid, prelude::*},
    join::try_join_all,
    mongo::expression::{count, stored},
};

pub use lines::{ImportCharacter, ImportExit, ImportItem, ImportPlace, ImportThing, ImportWorld};

/// Why a line isn't imported.
type Refused = Stop<LineRefusal>;

/// The refusal of a line.
#[derive(Debug)]
pub struct LineRefusal(InvalidInput);

impl From<InvalidInput> for LineRefusal {
    fn from(refusal: InvalidInput) -> Self {
        Self(refusal)
    }
}

/// The `_id` of what was imported under this key.
pub fn id_of(kind: &str, field: &str, key: &str) -> Result<String, InvalidInput> {
    let key = input::key(field, key)?;
    let digest = Sha256::new().chain_update("imported ").chain_update(kind);
    let digest = digest.chain_update("\0").chain_update(key).finalize();
    Ok(BASE64.encode(&digest[..16]))
}

/// Number of lines that are imported at once.
const AT_ONCE: usize = 32;

/// Imports `lines`. Returns for each line, in the same order, why it was refused, if it was. Lines that follow each other
/// are imported at once if they are of one kind and have different keys: such lines don't refer to each other.
///
/// # Errors
/// Some of the lines may have been imported; the import can be repeated.
pub async fn import(app: &App, lines: &[ImportWorld]) -> Result<Vec<Result<(), InvalidInput>>> {
    let mut answers = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let mut keys = HashSet::new();
        let alike = rest.iter().take_while(|line| discriminant(*line) == discriminant(first));
        let count = alike.map(ImportWorld::key).take_while(|key| keys.insert(*key)).count();
        let (alike, others) = rest.split_at(count);
        rest = others;
        let done = stream::iter(alike).map(|line| import_line(app, line)).buffered(AT_ONCE);
        answers.extend(done.try_collect::<Vec<_>>().await?);
    }
    Ok(answers)
}

impl ImportWorld {
    /// Name of the field that holds the line.
    fn kind(&self) -> &'static str {
        match self {
            Self::Item(_) => "item",
            Self::Place(_) => "place",
            Self::Exit(_) => "exit",
            Self::Character(_) => "character",
        }
    }

    /// Name of the field that holds the line, its key, and the global id of what it is stored as: of items and places.
    pub fn id(&self) -> Option<(&'static str, &str, ID)> {
        let (key, node) = match self {
            Self::Item(line) => (&line.key, NodeKind::ITEM),
            Self::Place(line) => (&line.key, NodeKind::PLACE),
            Self::Exit(_) | Self::Character(_) => return None,
        };
        let id = id_of(self.kind(), "key", key).ok()?;
        Some((self.kind(), key.as_str(), node.id(&id)))
    }

    /// What no two lines that are imported at once may share.
    fn key(&self) -> (&str, Option<Direction>) {
        match self {
            Self::Item(line) => (&line.key, None),
            Self::Place(line) => (&line.key, None),
            Self::Exit(line) => (&line.from, Some(line.direction)),
            Self::Character(line) => (&line.key, None),
        }
    }
}

async fn import_line(app: &App, line: &ImportWorld) -> Result<Result<(), InvalidInput>> {
    let done = match line {
        ImportWorld::Item(line) => import_item(app, line).await,
        ImportWorld::Place(line) => import_place(app, line).await,
        ImportWorld::Exit(line) => import_exit(app, line).await,
        ImportWorld::Character(line) => import_character(app, line).await,
    };
    match done {
        Ok(()) => Ok(Ok(())),
        Err(Stop::Refused(LineRefusal(refusal))) => Ok(Err(refusal.below(line.kind()))),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// The op of a line.
fn op(kind: &str, key: &str, line: &impl Serialize) -> Result<Op, InvalidInput> {
    let id = id_of(kind, "key", key)?;
    Ok(Op { id, input: Op::digest(line) })
}

/// Whether what is stored under the line's key is the line itself.
fn is_same(stored: &str, op: &Op) -> Result<(), Refused> {
    let reason = "was imported with another content";
    op.demand_same(stored).map_err(|OtherInput| InvalidInput::new("key", reason).into())
}

async fn import_item(app: &App, line: &ImportItem) -> Result<(), Refused> {
    let op = op("item", &line.key, line)?;
    let input = CreateItemInput {
        name: line.name.clone(),
        plural: line.plural.clone(),
        description: line.description.clone(),
        price: Long(line.price),
        weight: line.weight,
        slots: Some(line.slots.clone()),
        capacity: line.capacity,
        is_stackable: Some(line.is_stackable),
        picture_id: line.picture_id.clone().map(ID),
        idempotency_key: None,
    };
    let input = input.checked().map_err(|unusable| match unusable {
        Unusable::Invalid(invalid) => invalid,
        Unusable::Missing(missing) => InvalidInput::new("pictureId", missing.message),
    })?;
    let item = items(app).insert_once(fresh_item(&op, input.into_inner())?).await?;
    is_same(&item.input, &op)
}

async fn import_place(app: &App, line: &ImportPlace) -> Result<(), Refused> {
    let op = op("place", &line.key, line)?;
    let title = input::text("title", &line.title, 1..=100)?;
    let description = input::text("description", &line.description, 0..=2_000)?;
    let gold = input::within("gold", line.gold, 0..=LARGEST)?;
    let things = things_of(app, Holding::Place, &op.id, &line.things).await?;
    let place = fresh_place(&op, title, description, line.is_shop, gold, things);
    let place = places(app).insert_once(place).await?;
    is_same(&place.input, &op)
}

async fn import_exit(app: &App, line: &ImportExit) -> Result<(), Refused> {
    let from = id_of("place", "from", &line.from)?;
    let to = id_of("place", "to", &line.to)?;
    if from == to {
        return Err(InvalidInput::new("to", "is the place itself").into());
    }
    for (field, id) in [("from", &from), ("to", &to)] {
        if places(app).get(id).await?.is_none() {
            return Err(InvalidInput::new(field, "is no place of a line before").into());
        }
    }
    let exit = Exit { direction: line.direction, to };
    let attempt = app.begin().await?;
    let change = store::set_exit(app, &from, &stored(&line.direction), Some(&exit));
    change.within(&attempt).held().await?;
    Ok(())
}

async fn import_character(app: &App, line: &ImportCharacter) -> Result<(), Refused> {
    let op = op("character", &line.key, line)?;
    let owner = input::verbatim("owner", &line.owner, 1..=200)?;
    let name = input::text("name", &line.name, 1..=100)?;
    let class = input::text("class", &line.class, 1..=40)?;
    let mut intrinsics = line.intrinsics.clone().unwrap_or_default();
    valid("intrinsics", &mut intrinsics)?;
    intrinsics.demand_fair()?;
    let gold = input::within("gold", line.gold, 0..=LARGEST)?;
    let place = id_of("place", "place", &line.place)?;
    // One that is being created may still be undone, because its import was cut.
    if let Some(found) = store::characters(app).get_settled(&op.id).await?
        && found.state != CharacterState::Arriving
    {
        return is_same(&found.input, &op);
    }
    if places(app).get(&place).await?.is_none() {
        return Err(InvalidInput::new("place", "is no place of a line before").into());
    }
    // A character that was deleted has left its things at a place. One that is imported again gets others.
    let inventory = things_of(app, Holding::Character, &app.ids().random(), &line.things).await?;
    let birth = || Birth {
        owner: &owner,
        name: name.clone(),
        class: class.clone(),
        intrinsics: intrinsics.clone(),
        gold,
        place: &place,
        inventory: inventory.clone(),
    };
    match bear(app, &op, birth).await {
        Ok(_) => Ok(()),
        Err(Stop::Failed(error)) => Err(error.into()),
        Err(Stop::Refused(CreateCharacterResult::NoRoom(_))) => {
            Err(InvalidInput::new("place", "has no room for the character").into())
        }
        Err(Stop::Refused(_)) => {
            let reason = "was imported not long ago, and the character was deleted since; \
                          it can be imported again when that is forgotten (flow_ops_seconds)";
            Err(InvalidInput::new("key", reason).into())
        }
    }
}

/// The item of a thing.
async fn item_of(app: &App, at: usize, line: &ImportThing) -> Result<ItemDocument, Refused> {
    let field = format!("things.{at}.item");
    let item = items(app).get(&id_of("item", &field, &line.item)?).await?;
    let no_item = || InvalidInput::new(&field, "is no item of a line before");
    Ok(item.ok_or_else(no_item)?)
}

/// What has the things of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holding {
    Place,
    Character,
}

/// The things of a place or a character. Their ids are derived from `holder` and their keys.
async fn things_of(
    app: &App,
    holding: Holding,
    holder: &str,
    lines: &[ImportThing],
) -> Result<Vec<ThingRecord>, Refused> {
    input::at_most("things", lines, THINGS)?;
    let found =
        try_join_all(lines.iter().enumerate().map(|(at, line)| item_of(app, at, line))).await?;
    let (mut things, mut ids) = (Vec::<ThingRecord>::new(), HashSet::new());
    for (at, (line, item)) in lines.iter().zip(&found).enumerate() {
        let field = |name: &str| format!("things.{at}.{name}");
        let key = |name: &str, key: &str| {
            input::key(&field(name), key).map(|key| app.ids().derived(&["thing", holder, &key]))
        };
        let id = key("key", &line.key)?;
        if !ids.insert(id.clone()) {
            return Err(InvalidInput::new(&field("key"), "is the key of another thing").into());
        }
        let most = if item.stacks { QUANTITY } else { 1 };
        let quantity = input::within(&field("quantity"), line.quantity.unwrap_or(1), 1..=most)?;
        let bonus = input::within(&field("bonus"), line.bonus, -100..=100)?;
        let price = line.price.map(|price| input::within(&field("price"), price, 1..=LARGEST));
        if line.price.is_some() && (holding == Holding::Character || line.inside.is_some()) {
            let reason = "is for what lies at a place, and in no container";
            return Err(InvalidInput::new(&field("price"), reason).into());
        }
        let inside = line.inside.as_deref().map(|inside| key("inside", inside)).transpose()?;
        if let Some(inside) = &inside {
            let container = things.iter().find(|thing| thing.id == *inside);
            let Some(capacity) = container.and_then(|container| container.capacity) else {
                return Err(InvalidInput::new(&field("inside"), "is no container before it").into());
            };
            if count(things::count_inside(&things, inside)) >= capacity {
                return Err(InvalidInput::new(&field("inside"), "is full").into());
            }
        }
        let slot = line.slot;
        if let Some(reason) = slot.and_then(|slot| unwearable(slot, holding, line, item, &things)) {
            return Err(InvalidInput::new(&field("slot"), reason).into());
        }
        let thing = ThingRecord::of(item, id, quantity, bonus);
        things.push(ThingRecord { price: price.transpose()?, inside, slot, ..thing });
    }
    Ok(things)
}

/// Why a thing can't be worn or held at a slot, if it can't. `things` are those before it.
fn unwearable(
    slot: EquipmentSlot,
    holding: Holding,
    line: &ImportThing,
    item: &ItemDocument,
    things: &[ThingRecord],
) -> Option<&'static str> {
    if holding != Holding::Character || line.inside.is_some() {
        return Some("is for what a character wears or holds");
    }
    if !item.slots.contains(&slot) {
        return Some("isn't where it can be worn or held");
    }
    let is_taken = things.iter().any(|other| other.slot == Some(slot));
    is_taken.then_some("has another thing already")
}
