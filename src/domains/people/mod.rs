//! People and the works to which they contributed. A product embeds its contributors, and a person embeds their works,
//! because both lists are small.
//!
//! - `people` is the record of a name; products carry copies of it in `contributors`.
//! - `products` is the record of who contributed to a product; people carry copies of it in `works`.
//!
//! A rename is a flow of this room, and the person's document is its decider. The outbox names the version that is still to
//! be written to the products, and every copy with a lower version is updated. A product that copies a name at the same
//! moment reads it again afterwards (see the catalog), so no change is missed. A credit is a flow of the catalog, because
//! the product is its decider. The catalog applies it to `works` through this room.
//!
//! ```text
//!   renamePerson ──▶ name, version, outbox ──spread──▶ products.contributors ──▶ outbox entry goes
//! ```
//!
//! An entry of `works` has the version of its product and is replaced as a whole, only by a higher version.
//! An entry without roles is a tombstone: an older apply that is still under way can't restore the work, because its version
//! is lower. Each apply ends with its attempt. So after two grace periods no apply of an earlier version is left, and the
//! sweep removes the tombstone.
//!
//! People aren't deleted, because products and orders refer to them.
//!
//! Invariants: every copy of a name equals the record; `nameKey` is the name in lower case.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room, broadcasts::broadcasts, images::Illustrated, nodes::node_type, room::documented,
};
use crate::{
    graphql::node_id::NodeKind,
    mongo::{Stored, condition::Condition, personal::Personal},
};
pub use documents::{PersonDocument, PersonName, Work};
pub use types::{Person, PersonSuggestion};

impl NodeKind {
    /// A person who contributes to products.
    pub const PERSON: Self = Self::new("person");
}

pub const ROOM: Room = Room {
    extends: &[("ContributorFacet", "person")],
    nodes: &[node_type!(PERSON: Person, |cx, id| operations::person(&cx, id))],
    illustrated: &[Illustrated {
        kind: NodeKind::PERSON,
        collection: PersonDocument::COLLECTION,
        // People aren't deleted.
        exists: || Condition::All(Vec::new()),
    }],
    documents: &[documented::<PersonDocument>()],
    broadcasts: broadcasts! {
        "people" {
            find "nameKey" = "list: people by the beginning of their name",
            find "search.words" = "list: suggestions for words",
            find "search.typos" = "list: suggestions for words with a typing error",
            find "outbox.at" = "sweep: names that are still to be spread",
            update "works.stoneAt" = "sweep: tombstones of works",
        }
    },
    personal: &[Personal::nothing(
        "people",
        "people whose works are for sale; they have no tokens. `renamePerson`, `setPersonAddress` and `docgate import people` change them",
    )],
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("people")
};
