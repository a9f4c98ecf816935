//! The documents of the game as MongoDB stores them.

mod parts;

use async_graphql::SimpleObject;

pub(super) use self::parts::{Direction, EquipmentSlot, Exit, PlayerEntry, RoomCopy, ThingRecord};
use crate::{flow::decision::Decided, graphql::prelude::*, mongo::prelude::*};

/// Maximum number of stacks of things that a character carries, or that lie at a place.
pub(super) const THINGS: usize = 100;
/// Maximum number of characters at a place.
pub(super) const PLAYERS: usize = 100;
/// Maximum number of characters of one player at a place.
pub(super) const OWN_PLAYERS: i64 = 10;
/// Maximum number of unfinished moves of one document.
pub(super) const MARKS: usize = 200;
/// Maximum amount of gold of one character or place.
pub(super) const LARGEST: i64 = 1_000_000_000_000;
/// Maximum number of pieces that one call moves or makes.
pub(super) const QUANTITY: i64 = 1_000_000;
/// Maximum of health and of mana.
pub(super) const STRONGEST: i64 = 1_000_000;

document! {
    /// One character, with all that is shown of it.
    pub struct CharacterDocument {
        /// Derived from the idempotency key or the import's key, otherwise random.
        pub id as "_id": String,
        /// Subject of the player.
        pub owner: String,
        pub name: String,
        pub class: String,
        pub state: CharacterState,
        pub intrinsics: Intrinsics,
        pub health: i64,
        pub max_health: i64,
        pub mana: i64,
        pub max_mana: i64,
        /// Gold, without what unfinished moves have taken.
        pub gold: i64,
        /// Gold that was made for it and for what it was given with a deleted character, minus what was destroyed.
        pub minted: i64,
        /// What it carries. `in` of a thing names the container that holds it.
        pub inventory: Vec<ThingRecord>,
        /// `_id` of the place where it is.
        pub place: String,
        /// Copy of that place.
        pub room: Deferred<RoomCopy>,
        /// The unfinished moves that it takes part in.
        pub marks: Vec<Mark>,
        /// Server time of the oldest mark.
        pub marked_at?: DateTime,
        /// Number of changes, also of those that aren't shown.
        pub version: i64,
        /// Server time of its creation.
        pub created_at: DateTime,
        /// Digest of the input that created it.
        pub input: String,
        pub v: Version<1>,
    } in "characters" {
        plain("owner_created", "owner state createdAt _id", "myCharacters"),
        plain("place", "place", "the copies of a place"),
        of_field("marked_at", "markedAt", "the sweep of moves that were cut"),
    }

    /// Whether a character takes part in the game.
    pub enum CharacterState {
        /// It is being created. Nobody sees it yet.
        Arriving,
        /// It takes part.
        Alive,
        /// It is being deleted.
        Leaving,
    }

    /// One place, with all that is there.
    pub struct PlaceDocument {
        /// Derived from the idempotency key or the import's key, otherwise random.
        pub id as "_id": String,
        pub title: String,
        pub description: String,
        /// Whether things are sold and bought there.
        pub is_shop: bool,
        /// One exit at most for each direction.
        pub exits: Vec<Exit>,
        /// The characters that are there.
        pub players: Vec<PlayerEntry>,
        /// What lies there. `in` of a thing names the container that holds it.
        pub inventory: Vec<ThingRecord>,
        /// Gold of the shop, and of characters that were deleted here.
        pub gold: i64,
        /// Gold that was made for it and for the characters that were deleted here.
        pub minted: i64,
        /// The unfinished moves that it takes part in.
        pub marks: Vec<Mark>,
        /// Server time of the oldest mark.
        pub marked_at?: DateTime,
        /// Number of changes. A copy is overwritten by a higher version.
        pub version: i64,
        /// Set as long as copies may be older: server time of the first change that isn't copied.
        pub pending_at?: DateTime,
        /// Digest of the input that created it.
        pub input: String,
        pub v: Version<1>,
    } in "places" {
        plain("title", "title _id", "places"),
        of_field("marked_at", "markedAt", "the sweep of moves that were cut"),
        of_field("pending_at", "pendingAt", "the sweep of copies that are behind"),
    }

    /// One entry of the catalogue of items. It never changes.
    pub struct ItemDocument {
        /// Derived from the idempotency key or the import's key, otherwise random.
        pub id as "_id": String,
        pub name: String,
        /// Name of several pieces.
        pub plural?: String,
        pub description: String,
        /// Price of a piece in gold.
        pub price: i64,
        /// Weight of a piece in grams.
        pub weight: i64,
        /// Where it can be worn or held.
        pub slots: Vec<EquipmentSlot>,
        /// Of a container: number of things that it holds.
        pub capacity?: i64,
        /// Whether pieces form one stack.
        pub stacks: bool,
        /// `_id` of the asset that is its picture.
        pub picture?: String,
        /// Digest of the input that created it.
        pub input: String,
        pub v: Version<1>,
    } in "items" {
        plain("name", "name _id", "items"),
    }

    /// The decision about a move: what takes part is given under its try, and undone under any other.
    pub struct MoveDocument {
        /// The op, or derived from it and the number of void moves before.
        pub id as "_id": String,
        /// Digest of the op's input.
        pub input: String,
        /// The try that is committed. It is random, so no two attempts insert equal documents.
        pub attempt as "try": String,
        pub state: MoveState,
        /// Ids of the op's moves before, which are void.
        pub after: Vec<String>,
        /// The documents that take part.
        pub holders: Vec<Holder>,
        /// Server time of the attempt's beginning.
        pub at: DateTime,
        /// Set until everything is given: `at`.
        pub open_at?: DateTime,
        /// Server time at which it is removed.
        pub expires_at?: DateTime,
        pub v: Version<1>,
    } in "moves" {
        of_field("open_at", "openAt", "the sweep of moves that aren't given"),
        expiry("expires_at", "expiresAt", "the removal of decisions that nobody asks for"),
    }

    /// What was decided about a move.
    pub enum MoveState {
        /// What was taken under its try is given.
        Committed,
        /// No try of it is ever committed.
        Void,
    }

    /// A document that takes part in a move.
    #[derive(PartialEq, Eq)]
    pub struct Holder {
        pub kind: HolderKind,
        pub id: String,
    }

    /// Kind of a document that takes part in a move.
    pub enum HolderKind {
        /// A character.
        Character,
        /// A place.
        Place,
    }

    /// The part of one document in an unfinished move.
    #[derive(Default)]
    pub struct Mark {
        /// `_id` of the move.
        pub of as "move": String,
        /// The try that took it.
        pub attempt as "try": String,
        /// Server time of the taking.
        pub at?: DateTime,
        /// Gold that was taken, and returns if the move is void.
        pub paid: i64,
        /// Gold that comes if the move is committed.
        pub earned: i64,
        /// Gold that is made if the move is committed; negative if it is destroyed.
        pub minted: i64,
        /// Of a character that walks: `_id` of the place that it goes to.
        pub to?: String,
        /// Changes of attributes if the move is committed.
        pub changes?: Changes,
        /// The move creates the character.
        pub begins?: bool,
        /// The move deletes the character.
        pub ends?: bool,
    }

    /// Increments of a character's attributes.
    #[derive(Default)]
    pub struct Changes {
        pub health: i64,
        pub max_health: i64,
        pub mana: i64,
        pub max_mana: i64,
    }
}

impl From<Decided<Holder>> for MoveDocument {
    fn from(decided: Decided<Holder>) -> Self {
        let Decided { id, after, input, attempt, is_void, receivers, at, open_at, expires_at } =
            decided;
        let state = if is_void { MoveState::Void } else { MoveState::Committed };
        let holders = receivers;
        Self { id, input, attempt, state, after, holders, at, open_at, expires_at, v: Version }
    }
}

impl From<MoveDocument> for Decided<Holder> {
    fn from(stored: MoveDocument) -> Self {
        let MoveDocument { id, input, attempt, state, after, holders, at, open_at, .. } = stored;
        let (is_void, receivers) = (state == MoveState::Void, holders);
        let expires_at = stored.expires_at;
        Self { id, after, input, attempt, is_void, receivers, at, open_at, expires_at }
    }
}

input! {
    /// What a character was born with. Each is 1 to 20, and all of them together at most 72.
    #[derive(PartialEq, Eq, Deserialize, SimpleObject)]
    #[graphql(name = "Intrinsics", input_name = "IntrinsicsInput")]
    pub struct Intrinsics {
        /// Strength of the body.
        pub strength: i32 where within(1..=20),
        /// Agility.
        pub dexterity: i32 where within(1..=20),
        /// Endurance. It determines the health at the beginning.
        pub constitution: i32 where within(1..=20),
        /// Intellect. It determines the mana at the beginning.
        pub intelligence: i32 where within(1..=20),
        /// Insight.
        pub wisdom: i32 where within(1..=20),
        /// Appeal to others.
        pub charisma: i32 where within(1..=20),
    }
}

impl Default for Intrinsics {
    fn default() -> Self {
        let [strength, dexterity, constitution, intelligence, wisdom, charisma] = [10; 6];
        Self { strength, dexterity, constitution, intelligence, wisdom, charisma }
    }
}

impl Intrinsics {
    /// Checks the sum of all of them.
    ///
    /// # Errors
    /// It is too high.
    pub(super) fn demand_fair(&self) -> Result<(), InvalidInput> {
        let Self { strength, dexterity, constitution, intelligence, wisdom, charisma } = self;
        if strength + dexterity + constitution + intelligence + wisdom + charisma > 72 {
            return Err(InvalidInput::new("intrinsics", "must add up to at most 72"));
        }
        Ok(())
    }
}
