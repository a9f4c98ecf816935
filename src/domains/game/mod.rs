//! The game: characters in places, with things, containers and gold.
//!
//! - `characters`: each with everything that its player sees, so also with a copy of its place
//! - `places`: each with its exits, the characters that are there, and the things that lie there
//! - `items`: the kinds of things; an entry never changes
//! - `moves`: the decisions about moves from one document to another
//!
//! # Moves
//!
//! A move changes two or three documents: picking up, dropping, giving, buying, selling, walking, and the creation and
//! deletion of a character. Minting things and changing attributes are moves of one document. So each of them happens once
//! for each idempotency key.
//!
//! ```text
//!   take from each document, ──▶ insert of the move ──▶ give to each ──▶ settle
//!   reserve room in each           │ (COMMITTED)
//!     │ refused                    │ its id is taken
//!     ▼                            ▼
//!   undo what was taken ◀──────────┘
//!
//!   sweep: mark without a decision ──▶ insert of the move (VOID) ──▶ undo
//! ```
//!
//! The move is the decider, but it is inserted only when everything was taken. `src/flow/decision/mod.rs` has the steps, their
//! guards and why they are safe. `operations/moving.rs` has the statements that they send. A thing that is taken stays in its
//! document, marked as leaving. It is also in the receiver's document, marked as arriving. So each document has all that is
//! needed to give or undo a cut move, and room is reserved without a counter.
//!
//! For picking up, dropping and giving, both sides have to be at one place. The guards of the updates that take demand it. The
//! guard of the update of the place that a character leaves demands the exit.
//!
//! What a container holds is for sale with it. So the guard of the update that takes a thing out of a container demands that
//! none of the containers around it has a price.
//!
//! # Changes within an inventory
//!
//! One update puts things on or off, or into and out of containers. It is guarded by the character's version. So a
//! container that is being carried off can't be filled, and no container gets into itself.
//!
//! # Copies of places
//!
//! Each change of a place raises its version and sets `pendingAt`. After the reply, one command
//! overwrites the copies with a lower version, and `pendingAt` is removed if the version is still the same. The sweep finishes
//! what was cut. A character that walks gets its copy before the place counts it among its players; so the place's next copy reaches it.
//!
//! # Who sees what
//!
//! A character is seen by its player and by the game's masters. Others see its name and class among the players of a place.
//!
//! # Invariants
//!
//! Each thing is in one document, each character at one place. Only what lies at a place, in no container, has a price. All
//! gold adds up to what was made (`minted`). A copy is as new as its place, unless the place has `pendingAt`.

mod documents;
pub mod import;
mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
mod things;
pub mod types;

use super::{Room, broadcasts::broadcasts, nodes::node_type, room::documented};
use crate::graphql::node_id::NodeKind;
pub use documents::{CharacterDocument, ItemDocument, MoveDocument, PlaceDocument};
use types::{Character, Item, Place};

impl NodeKind {
    /// A character of the game.
    pub const CHARACTER: Self = Self::new("character");
    /// A place of the game.
    pub const PLACE: Self = Self::new("place");
    /// An item of the game's catalogue.
    pub const ITEM: Self = Self::new("item");
}

/// The room.
pub const ROOM: Room = Room {
    needs: &["assets"],
    nodes: &[
        node_type!(CHARACTER: Character, |cx, id| operations::character(cx, id)),
        node_type!(PLACE: Place, |cx, id| operations::place(cx, id)),
        node_type!(ITEM: Item, |cx, id| operations::item(cx, id)),
    ],
    documents: &[
        documented::<CharacterDocument>(),
        documented::<PlaceDocument>(),
        documented::<ItemDocument>(),
        documented::<MoveDocument>(),
    ],
    broadcasts: broadcasts! {
        "characters" {
            find "owner" = "list: the characters of their owner",
            find "markedAt" = "sweep: moves that were cut",
            update "place" = "copies: a place changed, which its characters show",
        }
        "places" {
            find "title" = "list: places by title",
            find "markedAt" = "sweep: moves that were cut",
            find "pendingAt" = "sweep: places whose copies are behind",
        }
        "items" {
            find "name" = "list: items by name",
        }
        "moves" {
            find "openAt" = "sweep: moves that aren't given",
        }
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| Box::pin(person::erase(app, erasing))),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("game")
};
