//! The parts of characters and places: things, the characters at a place, exits, and the copy of a place.

use async_graphql::Enum;

use super::{CharacterDocument, PlaceDocument};
use crate::mongo::prelude::*;

document! {
    /// A stack of pieces of one item: one piece, if they don't form stacks.
    #[derive(PartialEq, Eq)]
    pub struct ThingRecord {
        /// Unique in the world.
        pub id: String,
        /// `_id` of the item.
        pub item: String,
        pub name: String,
        pub plural?: String,
        pub quantity: i64,
        /// Enchantment, shown as `+3`.
        pub bonus: i64,
        /// Whether it forms stacks with its like.
        pub stacks: bool,
        /// Where it can be worn or held.
        pub slots: Vec<EquipmentSlot>,
        /// Of a container: number of things that it holds.
        pub capacity?: i64,
        /// Id of the container that holds it.
        pub inside as "in"?: String,
        /// Where it is worn or held.
        pub slot?: EquipmentSlot,
        /// Price of a piece, if it is for sale. What is in a container has none: it is for sale with the container.
        pub price?: i64,
        /// The try of a move that takes it away if it is committed.
        pub leaving?: String,
        /// The try of a move that brings it if it is committed.
        pub arriving?: String,
    }

    /// A character as it is seen at its place.
    #[derive(PartialEq, Eq)]
    pub struct PlayerEntry {
        /// `_id` of the character.
        pub id: String,
        pub name: String,
        pub class: String,
        /// Subject of the player. It isn't shown.
        pub by: String,
        /// See [`ThingRecord::leaving`].
        pub leaving?: String,
        /// See [`ThingRecord::arriving`].
        pub arriving?: String,
    }

    /// An exit of a place.
    #[derive(PartialEq, Eq)]
    pub struct Exit {
        pub direction: Direction,
        /// `_id` of the place that it leads to.
        pub to: String,
    }

    /// Copy of a place in the documents of its characters.
    pub struct RoomCopy {
        /// Version of the place.
        pub version: i64,
        pub title: String,
        pub description: String,
        pub is_shop: bool,
        pub exits: Vec<Exit>,
        pub players: Vec<PlayerEntry>,
        pub things: Vec<ThingRecord>,
    }

    /// Direction of an exit.
    #[derive(Enum, Hash)]
    pub enum Direction {
        /// To the north.
        North,
        /// To the east.
        East,
        /// To the south.
        South,
        /// To the west.
        West,
        /// Upwards.
        Up,
        /// Downwards.
        Down,
        /// Into something, such as a house.
        In,
        /// Out of something.
        Out,
    }

    /// Part of the body on which a thing is worn, or hand that holds it.
    #[derive(Enum)]
    pub enum EquipmentSlot {
        /// Head, for hats and helmets.
        Head,
        /// Neck, for chains and amulets.
        Neck,
        /// Chest and back, for clothes and mail.
        Body,
        /// Arms from shoulder to wrist.
        Arms,
        /// Hands, for gloves.
        Hands,
        /// A finger, for a ring.
        Finger,
        /// Legs from hip to ankle.
        Legs,
        /// Feet, for boots.
        Feet,
        /// Left hand, which holds a weapon or a shield.
        LeftHand,
        /// Right hand, which holds a weapon or a shield.
        RightHand,
    }
}

impl EquipmentSlot {
    /// Whether it is a hand that holds something.
    pub(in super::super) fn is_hand(self) -> bool {
        matches!(self, Self::LeftHand | Self::RightHand)
    }
}

impl PlayerEntry {
    /// The character as it is seen.
    pub(in super::super) fn of(character: &CharacterDocument) -> Self {
        let CharacterDocument { id, name, class, owner, .. } = character;
        Self {
            id: id.clone(),
            name: name.clone(),
            class: class.clone(),
            by: owner.clone(),
            leaving: None,
            arriving: None,
        }
    }

    /// Whether no unfinished move brings it or takes it away.
    pub(in super::super) fn is_present(&self) -> bool {
        self.leaving.is_none() && self.arriving.is_none()
    }
}

impl RoomCopy {
    /// The copy of a place: what unfinished moves bring or take away isn't shown.
    pub(in super::super) fn of(place: &PlaceDocument) -> Self {
        let players = place.players.iter().filter(|player| player.is_present());
        let things = place.inventory.iter().filter(|thing| thing.is_present());
        Self {
            version: place.version,
            title: place.title.clone(),
            description: place.description.clone(),
            is_shop: place.is_shop,
            exits: place.exits.clone(),
            players: players.cloned().collect(),
            things: things.cloned().collect(),
        }
    }
}
