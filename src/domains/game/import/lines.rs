//! The lines of an import of a world.

use serde::{Deserialize, Serialize};

use super::super::documents::{Direction, EquipmentSlot, Intrinsics};

/// One line of the import.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImportWorld {
    /// An item of the catalogue.
    Item(ImportItem),
    /// A place, with what lies there.
    Place(ImportPlace),
    /// An exit of a place.
    Exit(ImportExit),
    /// A character, with what it carries.
    Character(ImportCharacter),
}

/// An item of the catalogue.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportItem {
    /// The world's own key of the item.
    pub key: String,
    pub name: String,
    #[serde(default)]
    pub plural: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    pub price: i64,
    #[serde(default)]
    pub weight: Option<i32>,
    #[serde(default)]
    pub slots: Vec<EquipmentSlot>,
    #[serde(default)]
    pub capacity: Option<i32>,
    #[serde(default)]
    pub is_stackable: bool,
    /// Global id of an asset.
    #[serde(default)]
    pub picture_id: Option<String>,
}

/// A place.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportPlace {
    /// The world's own key of the place.
    pub key: String,
    pub title: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub is_shop: bool,
    #[serde(default)]
    pub gold: i64,
    #[serde(default)]
    pub things: Vec<ImportThing>,
}

/// A thing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportThing {
    /// Key of the thing, unique among the things of the line.
    pub key: String,
    /// Key of its item.
    pub item: String,
    #[serde(default)]
    pub quantity: Option<i64>,
    #[serde(default)]
    pub bonus: i64,
    /// Price of a piece, if it is for sale.
    #[serde(default)]
    pub price: Option<i64>,
    /// Key of the container that holds it, a thing before it.
    #[serde(default)]
    pub inside: Option<String>,
    /// Where the character wears or holds it. Without one it isn't written, because the line's digest is compared with that
    /// of earlier imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<EquipmentSlot>,
}

/// An exit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportExit {
    /// Key of the place that has it.
    pub from: String,
    pub direction: Direction,
    /// Key of the place that it leads to.
    pub to: String,
}

/// A character.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportCharacter {
    /// The world's own key of the character.
    pub key: String,
    /// Subject of the player.
    pub owner: String,
    pub name: String,
    pub class: String,
    /// What it is born with. Without it nothing is written, see [`ImportThing::slot`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intrinsics: Option<Intrinsics>,
    /// Key of the place where it begins.
    pub place: String,
    #[serde(default)]
    pub gold: i64,
    #[serde(default)]
    pub things: Vec<ImportThing>,
}
