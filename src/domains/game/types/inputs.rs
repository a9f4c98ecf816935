//! The inputs of the mutations.

use super::super::documents::{Direction, EquipmentSlot, Intrinsics, LARGEST, QUANTITY, STRONGEST};
use crate::graphql::prelude::*;

/// Lengths of names and descriptions in characters.
const NAME: std::ops::RangeInclusive<usize> = 1..=100;
const TEXT: std::ops::RangeInclusive<usize> = 0..=2_000;

/// Checks the id of a thing. A text that can't be one is the id of a thing that doesn't exist.
fn thing(_: &str, value: &mut ID) -> Result<(), NotFound> {
    if input::is_key(value) { Ok(()) } else { Err(NotFound::given("thing", value)) }
}

/// Checks slots: a few, and none of them twice.
#[expect(clippy::ptr_arg, reason = "the check of a field gets the field itself")]
fn slots(field: &str, value: &mut Vec<EquipmentSlot>) -> Result<(), InvalidInput> {
    input::at_most(field, value, 10)?;
    let is_twice = |(at, slot): (usize, &EquipmentSlot)| value[..at].contains(slot);
    if value.iter().enumerate().any(is_twice) {
        return Err(InvalidInput::new(field, "names a slot twice"));
    }
    Ok(())
}

input! {
    /// Input of `createCharacter`: who the character is, and where it begins.
    pub struct CreateCharacterInput {
        /// Name, 1 to 100 characters.
        pub name: String where text(NAME),
        /// Class, such as `wizard`, 1 to 40 characters.
        pub class: String where text(1..=40),
        /// What it is born with. Default: 10 of each.
        pub intrinsics: Option<Intrinsics> where optional(valid),
        /// Global id of the place where it begins.
        pub place_id: ID where id(NodeKind::PLACE),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `deleteCharacter`: the character to delete.
    pub struct DeleteCharacterInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
    }

    /// Input of `createPlace`: what the place is.
    pub struct CreatePlaceInput {
        /// Title, 1 to 100 characters.
        pub title: String where text(NAME),
        /// Description, up to 2,000 characters. Default: none.
        pub description: Option<String> where optional(text(TEXT)),
        /// Whether things are sold and bought here. Default: they aren't.
        pub is_shop: Option<bool>,
        /// Gold of the shop, up to 10^12. Default: none.
        pub gold: Option<Long> where optional(within(0..=LARGEST)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `setExit`: the exit of a place, and where it leads.
    pub struct SetExitInput {
        /// Global id of the place that has the exit.
        pub place_id: ID where id(NodeKind::PLACE),
        /// Direction of the exit.
        pub direction: Direction,
        /// Global id of the place that it leads to. Without it the exit is closed.
        pub to_place_id: Option<ID> where optional(id(NodeKind::PLACE)),
    }

    /// Input of `createItem`: what all things of the item have in common.
    pub struct CreateItemInput {
        /// Name of one piece, 1 to 100 characters.
        pub name: String where text(NAME),
        /// Name of several pieces, 1 to 100 characters.
        pub plural: Option<String> where optional(text(NAME)),
        /// Description, up to 2,000 characters.
        pub description: Option<String> where optional(text(TEXT)),
        /// Price of a piece in gold, 1 to 10^12.
        pub price: Long where within(1..=LARGEST),
        /// Weight of a piece in grams. Default: 0.
        pub weight: Option<i32> where optional(within(0..=STRONGEST)),
        /// Where it can be worn or held, up to 10 different slots. Default: nowhere.
        pub slots: Option<Vec<EquipmentSlot>> where optional(slots),
        /// Number of things that it holds, 1 to 100, if it is a container.
        pub capacity: Option<i32> where optional(within(1..=100)),
        /// Whether pieces form stacks. Default: they don't.
        pub is_stackable: Option<bool>,
        /// Global id of the asset that is its picture.
        pub picture_id: Option<ID> where optional(id(NodeKind::ASSET)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `mintItem`: what is made, and who or which place gets it.
    pub struct MintItemInput {
        /// Global id of the item.
        pub item_id: ID where id(NodeKind::ITEM),
        /// Global id of the character that gets it. Exactly one of `characterId` and `placeId` must be set.
        pub character_id: Option<ID> where optional(id(NodeKind::CHARACTER)),
        /// Global id of the place where it lies.
        pub place_id: Option<ID> where optional(id(NodeKind::PLACE)),
        /// Number of pieces, 1 to 1,000,000. Default: 1.
        pub quantity: Option<i32> where optional(within(1..=QUANTITY)),
        /// Enchantment, -100 to 100. Default: 0.
        pub bonus: Option<i32> where optional(within(-100..=100)),
        /// Price of a piece, if it is for sale at the place.
        pub price: Option<Long> where optional(within(1..=LARGEST)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `changeAttributes`: increments. Each is -1,000,000 to 1,000,000 and 0 by default. Health and mana end within
    /// their bounds.
    pub struct ChangeAttributesInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Increment of the health.
        pub health: Option<i32> where optional(within(-STRONGEST..=STRONGEST)),
        /// Increment of the maximum of the health.
        pub max_health: Option<i32> where optional(within(-STRONGEST..=STRONGEST)),
        /// Increment of the mana.
        pub mana: Option<i32> where optional(within(-STRONGEST..=STRONGEST)),
        /// Increment of the maximum of the mana.
        pub max_mana: Option<i32> where optional(within(-STRONGEST..=STRONGEST)),
        /// Gold that is made, or destroyed if it is negative; up to 10^12.
        pub gold: Option<Long> where optional(within(-LARGEST..=LARGEST)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `pickUp`: the thing to pick up.
    pub struct PickUpInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. It lies at the character's place, maybe in a container.
        pub thing_id: ID where thing,
        /// Number of pieces, if the stack is to be split. Default: all.
        pub quantity: Option<i32> where optional(within(1..=QUANTITY)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `drop`: the thing to drop.
    pub struct DropInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. The character carries it and doesn't wear it.
        pub thing_id: ID where thing,
        /// Number of pieces, if the stack is to be split. Default: all.
        pub quantity: Option<i32> where optional(within(1..=QUANTITY)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `giveItem`: the thing to give, and who gets it.
    pub struct GiveItemInput {
        /// Global id of the character that gives.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Global id of the character that receives. It is at the same place.
        pub to_character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. The giver carries it and doesn't wear it.
        pub thing_id: ID where thing,
        /// Number of pieces, if the stack is to be split. Default: all.
        pub quantity: Option<i32> where optional(within(1..=QUANTITY)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `giveGold`: the amount to give, and who gets it.
    pub struct GiveGoldInput {
        /// Global id of the character that gives.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Global id of the character that receives. It is at the same place.
        pub to_character_id: ID where id(NodeKind::CHARACTER),
        /// Gold, 1 to 10^12.
        pub amount: Long where within(1..=LARGEST),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `equip`: the thing to wear or to hold.
    pub struct EquipInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. The character carries it, and not in a container.
        pub thing_id: ID where thing,
        /// Where it is to be worn or held. Default: the first of the thing's slots that is free.
        pub slot: Option<EquipmentSlot>,
    }

    /// Input of `unequip`: the thing to take off.
    pub struct UnequipInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. The character wears or holds it.
        pub thing_id: ID where thing,
    }

    /// Input of `takeFromContainer`: the thing to take out.
    pub struct TakeFromContainerInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. It is in a container that the character carries or that lies at its place.
        pub thing_id: ID where thing,
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `putInContainer`: the thing to put away, and the container.
    pub struct PutInContainerInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. The character carries it and doesn't wear it.
        pub thing_id: ID where thing,
        /// Id of the container. The character carries it.
        pub container_id: ID where thing,
    }

    /// Input of `move`: the exit to take.
    pub struct MoveInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Direction of the exit.
        pub direction: Direction,
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `buy`: the thing to buy, and its price.
    pub struct BuyInput {
        /// Global id of the character.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. It is for sale at the character's place.
        pub thing_id: ID where thing,
        /// Price of a piece as the caller knows it. If it has changed, nothing is bought.
        pub price: Long where within(1..=LARGEST),
        /// Number of pieces, if the stack is to be split. Default: all.
        pub quantity: Option<i32> where optional(within(1..=QUANTITY)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `sell`: the thing to sell.
    pub struct SellInput {
        /// Global id of the character. It is at a shop.
        pub character_id: ID where id(NodeKind::CHARACTER),
        /// Id of the thing. The character carries it and doesn't wear it.
        pub thing_id: ID where thing,
        /// Number of pieces, if the stack is to be split. Default: all.
        pub quantity: Option<i32> where optional(within(1..=QUANTITY)),
        /// Idempotency key, 1 to 128 characters.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}
