//! GraphQL types of the game.

mod inputs;
mod results;

use async_graphql::SimpleObject;

pub use self::{inputs::*, results::*};
use super::{
    documents::{
        CharacterDocument, Direction, EquipmentSlot, Exit, Intrinsics, ItemDocument, PlaceDocument,
        PlayerEntry, RoomCopy, ThingRecord,
    },
    operations,
};
use crate::{
    domains::assets::{Asset, operations::asset_by_id},
    graphql::{
        prelude::*,
        scalars::{DateTime, int},
    },
};

object! {
    /// A character of the game, with the place where it is and all that it carries. Only its player and the game's masters
    /// see it; others see it as a `Player` at its place.
    pub type Character = CharacterDocument as character {
        /// Global id of the character.
        pub id: ID = NodeKind::CHARACTER.id(&character.id),
        /// What others call it, 1 to 100 characters.
        name: &str = &character.name,
        /// Class, such as `wizard`.
        class: &str = &character.class,
        /// What it was born with.
        intrinsics: &Intrinsics = &character.intrinsics,
        /// Health, from 0 to `maxHealth`.
        health: i32 = int(character.health),
        /// Maximum of the health.
        max_health: i32 = int(character.max_health),
        /// Mana, from 0 to `maxMana`.
        mana: i32 = int(character.mana),
        /// Maximum of the mana.
        max_mana: i32 = int(character.max_mana),
        /// Gold that it can pay.
        gold: Long = Long(character.gold),
        /// The place where it is, as it was a moment ago.
        room?: Room<'_> = Room { place: &character.place, copy: character.room.get()? },
        /// What it wears, by the part of the body.
        armor: Vec<WornThing<'_>> = worn(&character.inventory, false),
        /// What it holds, by hand.
        weapons: Vec<WornThing<'_>> = worn(&character.inventory, true),
        /// What it carries and neither wears nor holds. What is in containers is in their `contents`.
        inventory: Vec<Thing<'_>> = roots(&character.inventory, |thing| thing.slot.is_none()),
        /// Time at which it was created.
        created_at: DateTime = character.created_at.into(),
    }
}

impl Character {
    /// State that is compared to detect changes.
    pub(super) fn face(&self) -> (i64, Option<i64>) {
        (self.0.version, self.0.room.integer("version").ok())
    }
}

object! {
    /// A place of the game, with the characters and things that are there.
    pub type Place = PlaceDocument as place {
        /// Global id of the place.
        pub id: ID = NodeKind::PLACE.id(&place.id),
        /// What the place is called, 1 to 100 characters.
        title: &str = &place.title,
        /// Description; may be empty.
        description: &str = &place.description,
        /// Whether things are sold and bought here.
        is_shop: bool = place.is_shop,
        /// Gold of the shop, and of characters that were deleted here.
        gold: Long = Long(place.gold),
        /// Exits, at most one for each direction.
        exits: Vec<PlaceExit<'_>> = exits(&place.exits),
        /// Characters that are here, at most 100.
        players: Vec<Player<'_>> = players(&place.players),
        /// Things that lie here. What is in containers is in their `contents`.
        things: Vec<Thing<'_>> = roots(&place.inventory, |_| true),
        /// Number of changes of the place.
        version: ID = ID(place.version.to_string()),
    }
}

object! {
    /// An item of the catalogue: what all things of its kind have in common.
    pub type Item = ItemDocument as item {
        /// Global id of the item.
        pub id: ID = NodeKind::ITEM.id(&item.id),
        /// Name of one piece.
        name: &str = &item.name,
        /// Name of several pieces; null if it has none of its own.
        plural: Option<&str> = item.plural.as_deref(),
        /// Description; may be empty.
        description: &str = &item.description,
        /// Price of a piece in gold.
        price: Long = Long(item.price),
        /// Gold that a shop pays for a piece: half of the price, rounded down.
        resale_price: Long = Long(resale_price(item)),
        /// Weight of a piece in grams.
        weight: i32 = int(item.weight),
        /// Where it can be worn or held; empty if nowhere.
        slots: &[EquipmentSlot] = &item.slots,
        /// Number of things that it holds; null if it isn't a container.
        capacity: Option<i32> = item.capacity.map(int),
        /// Whether pieces form stacks.
        is_stackable: bool = item.stacks,
        /// Global id of the asset that is its picture; null without one.
        picture_id: Option<ID> = item.picture.as_ref().map(|id| NodeKind::ASSET.id(id)),
        /// Its picture; null without one, and if the caller can't see it.
        picture(context)?: Option<Asset> = {
            let Some(id) = &item.picture else { return Ok(None) };
            asset_by_id(cx(context), id).await?.map(Asset::from)
        },
    }
}

/// Gold that a shop pays for a piece.
pub(super) fn resale_price(item: &ItemDocument) -> i64 {
    item.price / 2
}

/// The place of a character, as the character's document has it.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// `_id` of the place.
    place: &'a str,
    copy: &'a RoomCopy,
}

object! {
    /// The place where a character is, as it was a moment ago. It comes from the character's own document.
    impl Room<'_> as room {
        /// Global id of the place.
        place_id: ID = NodeKind::PLACE.id(room.place),
        /// The place as it is now. It takes another read.
        place(context)?: Option<Place> = {
            let id = NodeKind::PLACE.id(room.place);
            operations::place(cx(context), &id).await?.map(Place::from)
        },
        /// What the place is called, 1 to 100 characters.
        title: &str = &room.copy.title,
        /// Description; may be empty.
        description: &str = &room.copy.description,
        /// Whether things are sold and bought here.
        is_shop: bool = room.copy.is_shop,
        /// Exits, at most one for each direction.
        exits: Vec<PlaceExit<'_>> = exits(&room.copy.exits),
        /// Characters that are here, this one among them.
        players: Vec<Player<'_>> = players(&room.copy.players),
        /// Things that lie here. What is in containers is in their `contents`.
        things: Vec<Thing<'_>> = roots(&room.copy.things, |_| true),
        /// Version of the place that this copy shows.
        version: ID = ID(room.copy.version.to_string()),
    }
}

fn exits(exits: &[Exit]) -> Vec<PlaceExit<'_>> {
    exits.iter().map(PlaceExit).collect()
}

/// The characters that no unfinished move brings or takes away.
fn players(players: &[PlayerEntry]) -> Vec<Player<'_>> {
    players.iter().filter(|player| player.is_present()).map(Player).collect()
}

/// A way out of a place to another one. The way back is an exit of that place, if there is one.
#[derive(Debug, Clone, Copy)]
pub struct PlaceExit<'a>(&'a Exit);

object! {
    /// A way out of a place to another one. The way back is an exit of that place, if there is one.
    impl PlaceExit<'_> as exit {
        /// Where the exit leads. A place has at most one exit in each direction.
        direction: Direction = exit.0.direction,
        /// Global id of the place that it leads to.
        place_id: ID = NodeKind::PLACE.id(&exit.0.to),
        /// The place that it leads to.
        place(context)?: Option<Place> = {
            let id = NodeKind::PLACE.id(&exit.0.to);
            operations::place(cx(context), &id).await?.map(Place::from)
        },
    }
}

/// A character as others see it.
#[derive(Debug, Clone, Copy)]
pub struct Player<'a>(&'a PlayerEntry);

object! {
    /// A character as others see it.
    impl Player<'_> as player {
        /// Global id of the character, for gifts.
        id: ID = NodeKind::CHARACTER.id(&player.0.id),
        /// What others call it, 1 to 100 characters.
        name: &str = &player.0.name,
        /// Class, such as `wizard`.
        class: &str = &player.0.class,
    }
}

/// A thing that is worn or held.
#[derive(Debug, Clone, Copy)]
pub struct WornThing<'a> {
    slot: EquipmentSlot,
    thing: Thing<'a>,
}

object! {
    /// A thing that is worn or held.
    impl WornThing<'_> as worn {
        /// Part of the body or hand.
        slot: EquipmentSlot = worn.slot,
        /// What is on that part or in that hand. It may be a container.
        thing: Thing<'_> = worn.thing,
    }
}

/// A thing in a list of things.
#[derive(Debug, Clone, Copy)]
pub struct Thing<'a> {
    all: &'a [ThingRecord],
    record: &'a ThingRecord,
}

impl<'a> Thing<'a> {
    fn inner(&self) -> Vec<Self> {
        Self::those(self.all, |thing| thing.inside.as_ref() == Some(&self.record.id))
    }

    /// The things for which `wanted` holds, without those that an unfinished move brings or takes away.
    fn those(all: &'a [ThingRecord], wanted: impl Fn(&ThingRecord) -> bool) -> Vec<Self> {
        let each = all.iter().filter(|thing| thing.is_present() && wanted(thing));
        each.map(|record| Self { all, record }).collect()
    }
}

/// The things for which `wanted` holds and that aren't in containers.
fn roots(things: &[ThingRecord], wanted: impl Fn(&ThingRecord) -> bool) -> Vec<Thing<'_>> {
    Thing::those(things, |thing| thing.inside.is_none() && wanted(thing))
}

/// What is worn, or what is held.
fn worn(things: &[ThingRecord], is_hand: bool) -> Vec<WornThing<'_>> {
    let is_wanted = |slot: EquipmentSlot| slot.is_hand() == is_hand;
    let found = roots(things, |thing| thing.slot.is_some_and(is_wanted));
    let each = found.into_iter().filter_map(|thing| Some((thing.record.slot?, thing)));
    each.map(|(slot, thing)| WornThing { slot, thing }).collect()
}

object! {
    /// A thing, or a stack of pieces of one item.
    impl Thing<'_> as thing {
        /// Id of the thing. It is unique in the world, and has no meaning outside the game.
        pub id: &str = &thing.record.id,
        /// Name of one piece.
        name: &str = &thing.record.name,
        /// What it is called, such as `+3 wizard's hat` or `12 arrows`.
        description: String = thing.record.description(),
        /// Number of pieces.
        quantity: Long = Long(thing.record.quantity),
        /// Enchantment.
        bonus: i32 = int(thing.record.bonus),
        /// Price of a piece, if it is for sale; otherwise null. The contents of a container for sale have none: they are bought
        /// with it.
        price: Option<Long> = thing.record.price.map(Long),
        /// Where it can be worn or held; empty if nowhere.
        slots: &[EquipmentSlot] = &thing.record.slots,
        /// Number of things that it holds; null if it isn't a container.
        capacity: Option<i32> = thing.record.capacity.map(int),
        /// Things in the container; empty for other things.
        contents: Vec<Self> = thing.inner(),
        /// Global id of its item.
        item_id: ID = NodeKind::ITEM.id(&thing.record.item),
        /// Its item in the catalogue, with the picture.
        item(context)?: Option<Item> = {
            let id = NodeKind::ITEM.id(&thing.record.item);
            operations::item(cx(context), &id).await?.map(Item::from)
        },
    }
}

/// A character that was deleted.
#[derive(Debug, SimpleObject)]
pub struct DeletedCharacter {
    /// Global id of the deleted character.
    pub id: ID,
}
