//! The results of the mutations, and the refusals of the game.

use super::{
    super::{
        documents::{CharacterDocument, Direction, EquipmentSlot, ItemDocument, PlaceDocument},
        operations::Minted,
    },
    Character, DeletedCharacter, Item, Place,
};
use crate::graphql::prelude::*;

refusal! {
    /// There is no room for it: in an inventory, a container, a place or a purse.
    struct NoRoom as "NO_ROOM" {
        /// Number of things, of characters or of pieces of gold for which there is room in all.
        pub capacity: Long,
    }

    /// There is less gold than needed.
    struct InsufficientGold as "INSUFFICIENT_GOLD" {
        /// Gold that is needed.
        pub needed: Long,
        /// Gold that there is.
        pub available: Long,
    }

    /// The thing, or a container that holds it, is for sale, and not for the price of the call: buy that for its price.
    struct ForSale as "FOR_SALE" {
        /// Price of a piece of what is for sale.
        pub price: Long,
    }

    /// The thing is worn or held: unequip it first.
    struct ThingWorn as "THING_WORN" {
        /// Where it is worn or held.
        pub slot: EquipmentSlot,
    }

    /// Another thing is worn or held there already, or the thing itself at another place.
    struct SlotTaken as "SLOT_TAKEN" {
        /// The slot that is taken: by another thing, or by this one if it is worn or held already.
        pub slot: EquipmentSlot,
    }

    /// A container can't contain itself, at any depth.
    struct ContainerCycle as "CONTAINER_CYCLE" {}

    /// There is no exit in this direction.
    struct NoExit as "NO_EXIT" {
        /// Where the character wanted to go.
        pub direction: Direction,
    }
}

result! {
    /// Result of `createCharacter`: the character, or a refusal. `NoRoom`: the place is crowded, or has too many
    /// characters of the caller.
    pub enum CreateCharacterResult:
        CharacterDocument => Character | NotFound | NoRoom | Conflict | InvalidInput;

    /// Result of `deleteCharacter`: the id of the character that was deleted, or a refusal. `NoRoom`: the place has no room
    /// for what the character carries.
    pub enum DeleteCharacterResult: DeletedCharacter | NotFound | NoRoom | InvalidInput;

    /// Result of `createPlace`: the place, or a refusal.
    pub enum CreatePlaceResult: PlaceDocument => Place | Conflict | InvalidInput;

    /// Result of `setExit`: the place, or a refusal.
    pub enum SetExitResult: PlaceDocument => Place | NotFound | InvalidInput;

    /// Result of `createItem`: the item, or a refusal. `NotFound`: there is no such picture.
    pub enum CreateItemResult: ItemDocument => Item | NotFound | Conflict | InvalidInput;

    /// Result of `mintItem`: the character that carries the thing, or the place where it lies, or a refusal.
    pub enum MintItemResult of Minted: Character + Place | NotFound | NoRoom | Conflict | InvalidInput;

    /// Result of `changeAttributes`: the character, or a refusal. `InsufficientGold`: it has less gold than is to be taken.
    pub enum ChangeAttributesResult:
        CharacterDocument => Character | NotFound | InsufficientGold | NoRoom | Conflict | InvalidInput;

    /// Result of `pickUp`: the character with the thing, or a refusal. `ForSale`: the thing, or a container that holds it,
    /// has a price.
    pub enum PickUpResult:
        CharacterDocument => Character | NotFound | ForSale | NoRoom | Conflict | InvalidInput;

    /// Result of `drop`: the character without the thing, or a refusal. `NoRoom`: the place is full.
    pub enum DropResult:
        CharacterDocument => Character | NotFound | ThingWorn | NoRoom | Conflict | InvalidInput;

    /// Result of `giveItem`: the character without the thing, or a refusal. `NotFound`: there is no such thing, or the other
    /// character isn't here. `NoRoom`: the other character can't carry more.
    pub enum GiveItemResult:
        CharacterDocument => Character | NotFound | ThingWorn | NoRoom | Conflict | InvalidInput;

    /// Result of `giveGold`: the character with less gold, or a refusal. `NotFound`: the other character isn't here.
    pub enum GiveGoldResult:
        CharacterDocument => Character | NotFound | InsufficientGold | NoRoom | Conflict | InvalidInput;

    /// Result of `equip`: the character that wears or holds the thing, or a refusal.
    pub enum EquipResult:
        CharacterDocument => Character | NotFound | SlotTaken | InvalidInput;

    /// Result of `unequip`: the character, or a refusal.
    pub enum UnequipResult: CharacterDocument => Character | NotFound | InvalidInput;

    /// Result of `takeFromContainer`: the character with the thing, or a refusal. `ForSale`: a container that holds the thing
    /// has a price.
    pub enum TakeFromContainerResult:
        CharacterDocument => Character | NotFound | ForSale | NoRoom | Conflict | InvalidInput;

    /// Result of `putInContainer`: the character, or a refusal. `NoRoom`: the container is full.
    pub enum PutInContainerResult:
        CharacterDocument => Character | NotFound | ThingWorn | ContainerCycle | NoRoom | InvalidInput;

    /// Result of `move`: the character at its new place, or a refusal. `NoRoom`: that place is crowded, or has too many
    /// characters of the caller.
    pub enum MoveResult:
        CharacterDocument => Character | NotFound | NoExit | NoRoom | Conflict | InvalidInput;

    /// Result of `buy`: the character with the thing, or a refusal. `ForSale`: it has another price.
    pub enum BuyResult:
        CharacterDocument => Character | NotFound | ForSale | InsufficientGold | NoRoom | Conflict |
        InvalidInput;

    /// Result of `sell`: the character with the gold, or a refusal. `InsufficientGold`: the shop has less. `NoRoom`: the shop
    /// is full.
    pub enum SellResult:
        CharacterDocument => Character | NotFound | ThingWorn | InsufficientGold | NoRoom | Conflict |
        InvalidInput;
}

impl From<Minted> for MintItemResult {
    fn from(minted: Minted) -> Self {
        match minted {
            Minted::Character(found) => Self::Character((*found).into()),
            Minted::Place(found) => Self::Place((*found).into()),
        }
    }
}

/// Why a call is refused by what was read.
#[derive(Debug)]
pub enum Why {
    NotFound(NotFound),
    NoRoom(NoRoom),
    InsufficientGold(InsufficientGold),
    ForSale(ForSale),
    ThingWorn(ThingWorn),
    NoExit(NoExit),
    InvalidInput(InvalidInput),
}

/// The result of a mutation that moves something: it has the refusals that can occur in its move.
pub trait Refuses: Sized {
    /// The refusal as the result.
    fn refuses(why: Why) -> Stop<Self>;
}

impl<U: Refuses> From<Why> for Stop<U> {
    fn from(why: Why) -> Self {
        U::refuses(why)
    }
}

impl From<NotFound> for Why {
    fn from(refusal: NotFound) -> Self {
        Self::NotFound(refusal)
    }
}

impl From<InvalidInput> for Why {
    fn from(refusal: InvalidInput) -> Self {
        Self::InvalidInput(refusal)
    }
}

/// Implements [`Refuses`]: the refusals behind the colon are members of the result. No others can occur.
macro_rules! refuses {
    ($($result:ident: $($refusal:ident)+;)+) => {$(
        impl Refuses for $result {
            fn refuses(why: Why) -> Stop<Self> {
                match why {
                    $(Why::$refusal(refusal) => refusal.into(),)+
                    other => Stop::Failed(Error::internal(format!("an unexpected refusal: {other:?}"))),
                }
            }
        }
    )+};
}

refuses! {
    CreateCharacterResult: NotFound NoRoom InvalidInput;
    DeleteCharacterResult: NotFound NoRoom InvalidInput;
    MintItemResult: NotFound NoRoom InvalidInput;
    ChangeAttributesResult: NotFound InsufficientGold NoRoom InvalidInput;
    PickUpResult: NotFound ForSale NoRoom InvalidInput;
    DropResult: NotFound ThingWorn NoRoom InvalidInput;
    GiveItemResult: NotFound ThingWorn NoRoom InvalidInput;
    GiveGoldResult: NotFound InsufficientGold NoRoom InvalidInput;
    TakeFromContainerResult: NotFound ForSale NoRoom InvalidInput;
    MoveResult: NotFound NoExit NoRoom InvalidInput;
    BuyResult: NotFound ForSale InsufficientGold NoRoom InvalidInput;
    SellResult: NotFound ThingWorn InsufficientGold NoRoom InvalidInput;
}
