//! The description of a room, as one value.

use std::pin::Pin;

use async_graphql::{
    OutputType, SubscriptionType,
    registry::{MetaType, Registry},
    rows::Row,
};

use super::{
    broadcasts::Broadcast, comments::Discussable, images::Illustrated, metadata::MetadataOwner,
    nodes::NodeType, persons::Erasing, queue::operations::Work,
};
use crate::{
    app::App,
    config::Config,
    error::Error,
    flow::Sweep,
    graphql::{interface::OfInterface, many::Bulk},
    invariants::{Progress, Report},
    mongo::{
        Stored, Walk,
        derived::Derived,
        indexes::{Declared, Index},
        migrations::{Step, Upgrade, newest},
        personal::Personal,
        shape::{Described, Shape},
    },
};

/// Describes one domain module: its collections, sweep, invariants, jobs and schema extensions. The gateway is
/// assembled from [`ROOMS`](super::ROOMS), deciders before receivers, because that is the order of the sweeps. A new
/// room has to be added there. The root fields of the schema aren't included; see [`RoomFields`]. A room without
/// background work has no `sweep`.
#[derive(Debug)]
pub struct Room {
    /// Name of the room, of its module and in the configuration.
    pub name: &'static str,
    /// Names of the rooms without which it can't run.
    pub needs: &'static [&'static str],
    /// Checks its settings. Returns the message of each requirement that isn't met.
    pub faults: Option<FaultsFn>,
    /// Fields that other rooms' types have only with this room: type and field. A field of an interface is one of its
    /// members too.
    pub extends: &'static [(&'static str, &'static str)],
    /// Descriptions of fields of interfaces, where they differ from those of the members.
    pub descriptions: &'static [OfInterface],
    /// Mutations that increment counters. Without an idempotency key, a repeat may count twice.
    pub counters: &'static [&'static str],
    /// Lists of inputs that are parsed with their request.
    pub bulk: &'static [Bulk],
    /// Kinds of documents with a global id.
    pub nodes: &'static [NodeType],
    /// Kinds of documents that can be discussed.
    pub discussed: &'static [Discussable],
    /// Kinds of documents whose images `setImages` sets.
    pub illustrated: &'static [Illustrated],
    /// Kinds of documents that have metadata.
    pub metadata: &'static [MetadataOwner],
    /// Mutations that are made at once if they follow each other in a request.
    pub rows: &'static [Row],
    /// The documents of its collections, those of collections that it creates while it runs among them.
    pub documents: &'static [Documented],
    /// Collections of one kind of documents, if it has several.
    pub several: &'static [Declared],
    /// Collections that it creates while it runs.
    pub later: &'static [Later],
    /// Its commands that name no shard key. A router sends them to all shards.
    pub broadcasts: &'static [Broadcast],
    /// What its collections hold of a person, also those that it creates while it runs.
    pub personal: &'static [Personal],
    /// Ends what a person has begun, by the room's own operations. Fields follow from [`Self::personal`].
    pub erase: Option<EraseFn>,
    /// Finishes or aborts flows that were interrupted, and removes what is no longer needed.
    pub sweep: Option<SweepFn>,
    /// Counts again what its sweep has marked as dirty. In a gateway it runs beside the sweeps, because a count can take minutes.
    pub recount: Option<SweepFn>,
    /// The queues of its own jobs, with their handlers; see [`Work::own`](super::queue::operations::Work::own).
    pub work: Option<fn() -> Vec<Work>>,
    /// Checks the invariants.
    pub check: Option<CheckFn>,
    /// Corrects stored values that are derived from others, and returns what it corrected.
    pub repair: Option<RepairFn>,
}

/// The boxed future of a room's function.
pub(crate) type BoxedFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// See [`Room::faults`].
pub type FaultsFn = fn(&Config) -> Vec<String>;
/// See [`Room::sweep`] and [`Room::recount`].
pub type SweepFn = for<'a> fn(&'a App, &'a mut Sweep) -> BoxedFuture<'a, ()>;
/// See [`Room::erase`].
pub type EraseFn = for<'a> fn(&'a App, &'a mut Erasing) -> BoxedFuture<'a, Result<(), Error>>;
/// See [`Room::check`].
pub type CheckFn = for<'a> fn(&'a App, &'a mut Report) -> BoxedFuture<'a, Result<(), Error>>;
/// See [`Room::repair`].
pub type RepairFn = for<'a> fn(&'a App, Progress) -> BoxedFuture<'a, Result<Vec<String>, Error>>;

impl Room {
    /// A room without collections, sweeps and invariants.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            needs: &[],
            faults: None,
            extends: &[],
            descriptions: &[],
            counters: &[],
            bulk: &[],
            nodes: &[],
            discussed: &[],
            illustrated: &[],
            metadata: &[],
            rows: &[],
            documents: &[],
            several: &[],
            later: &[],
            broadcasts: &[],
            personal: &[],
            erase: None,
            sweep: None,
            recount: None,
            work: None,
            check: None,
            repair: None,
        }
    }

    /// Its collections with their indexes, groups and shard keys, without those that it creates while it runs.
    pub fn collections(&self) -> impl Iterator<Item = Declared> + use<> {
        let own = self.documents.iter().filter_map(|documents| documents.declared);
        own.chain(self.several.iter().copied())
    }
}

/// The documents of a collection: how they are described, and how they are upgraded.
#[derive(Debug, Clone, Copy)]
pub struct Documented {
    /// The collection, if there is one of the kind, and the room doesn't create it while it runs.
    pub declared: Option<Declared>,
    /// Name of the collection. If the room has several of the kind, the name of the first one.
    pub collection: &'static str,
    /// The description of a document.
    pub shape: Shape,
    /// The indexes of the collection.
    pub indexes: &'static [Index],
    /// The field that every update derives, if there is one.
    pub derived: fn(&Config) -> Option<Derived>,
    /// The upgrades of a document.
    pub upgrades: &'static [Upgrade],
    /// Upgrades the next documents after a position, at most this many.
    pub upgrade_next: UpgradeFn,
    /// Counts the documents by version.
    pub count_versions: CountFn,
}

/// See [`Documented::upgrade_next`].
pub type UpgradeFn =
    for<'a> fn(&'a App, Walk, u32) -> BoxedFuture<'a, Result<(Step, Option<Walk>), Error>>;
/// See [`Documented::count_versions`].
pub type CountFn = for<'a> fn(&'a App) -> BoxedFuture<'a, Result<Vec<(i32, u64)>, Error>>;

impl Documented {
    /// The newest version of a document.
    pub fn newest(&self) -> i32 {
        newest(self.upgrades)
    }

    /// The same without a collection: [`Room::several`] or [`Room::later`] declares those of the kind.
    pub(crate) const fn elsewhere(self) -> Self {
        Self { declared: None, ..self }
    }
}

/// The documents of a collection.
pub(crate) const fn documented<T: Stored + Described>() -> Documented {
    Documented {
        declared: Some(declared::<T>()),
        collection: T::COLLECTION,
        shape: T::SHAPE,
        indexes: T::INDEXES,
        derived: T::derived,
        upgrades: T::UPGRADES,
        upgrade_next: |app, position, limit| {
            Box::pin(async move { app.collection::<T>().upgrade_next(position, limit).await })
        },
        count_versions: |app| Box::pin(async move { app.collection::<T>().count_versions().await }),
    }
}

/// Returns the message of each setting requirement that isn't met.
pub(crate) fn unmet<const N: usize>(demands: [(bool, &str); N]) -> Vec<String> {
    let unmet = demands.into_iter().filter(|(is_met, _)| !is_met);
    unmet.map(|(_, fault)| fault.to_owned()).collect()
}

/// The declaration of a collection, its indexes, its group and its shard key.
pub(crate) const fn declared<T: Stored>() -> Declared {
    Declared { name: T::COLLECTION, indexes: T::INDEXES, group: T::GROUP, shard_key: T::SHARD_KEY }
}

/// Collections that a room creates while it runs, and so not with the indexes of [`Room::collections`].
#[derive(Debug, Clone, Copy)]
pub struct Later {
    /// The declaration of each of them.
    pub declared: Declared,
    /// What they are.
    pub made: Made,
}

/// What a collection is that a room creates while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// A time-series collection, which is created before its first document.
    TimeSeries,
    /// One for each month. The name ends with the year and the month, as in `2024_02`.
    Monthly,
    /// Any number of them, each with a random name.
    Random,
}

impl Later {
    /// Collections of the documents of `T`.
    pub(crate) const fn of<T: Stored>(name: &'static str, made: Made) -> Self {
        Self { declared: Declared { name, ..declared::<T>() }, made }
    }
}

/// The fields of one room in a root type of the schema.
#[derive(Debug, Clone)]
pub struct RoomFields {
    /// Name of the root type.
    pub root: &'static str,
    /// Name of the room.
    pub room: &'static str,
    /// Reads them from the library's type registry.
    pub read: fn(&mut Registry) -> MetaType,
}

impl RoomFields {
    /// The fields of a query or mutation type.
    pub(super) fn of<T: OutputType>(root: &'static str, owner: &Room) -> Self {
        Self { root, room: owner.name, read: Registry::create_fake_output_type::<T> }
    }

    /// The fields of a subscription type.
    pub(super) fn of_subscription<T: SubscriptionType>(root: &'static str, owner: &Room) -> Self {
        Self { root, room: owner.name, read: Registry::create_fake_subscription_type::<T> }
    }
}
