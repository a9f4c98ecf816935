//! What a room consists of, as one value.

use std::pin::Pin;

use crate::{
    app::App,
    error::Error,
    flow::Sweep,
    graphql::node_id::NodeKind,
    invariants::Report,
    mongo::{Stored, indexes::Declared},
};

/// A room: everything that the gateway assembles from it, except for its fields of the schema.
#[derive(Debug)]
pub struct Room {
    /// Name of the room, of its module and in the configuration.
    pub name: &'static str,
    /// Names of the rooms without which it can't run.
    pub needs: &'static [&'static str],
    /// Kinds of documents with a global id.
    pub nodes: &'static [NodeKind],
    /// Its collections with their indexes.
    pub collections: &'static [Declared],
    /// Finishes flows that were interrupted.
    pub sweep: Option<Swept>,
    /// Checks the invariants.
    pub check: Option<Check>,
    /// Corrects stored values that are derived from other documents, and returns where it did.
    pub repair: Option<Repair>,
}

/// A running part of a room.
type Running<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// See [`Room::sweep`].
pub type Swept = for<'a> fn(&'a App, &'a mut Sweep) -> Running<'a, ()>;
/// See [`Room::check`].
pub type Check = for<'a> fn(&'a App, &'a mut Report) -> Running<'a, Result<(), Error>>;
/// See [`Room::repair`].
pub type Repair = for<'a> fn(&'a App) -> Running<'a, Result<Vec<String>, Error>>;

impl Room {
    /// A room without collections, sweeps and invariants.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            needs: &[],
            nodes: &[],
            collections: &[],
            sweep: None,
            check: None,
            repair: None,
        }
    }
}

/// The declaration of a collection and its indexes.
pub(crate) const fn declared<T: Stored>() -> Declared {
    (T::COLLECTION, T::INDEXES)
}
