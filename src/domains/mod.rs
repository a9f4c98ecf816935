//! The rooms: one module per domain. Most of them have the same files:
//!
//! - `documents`: the stored documents
//! - `store`: every MongoDB call, one function per round trip
//! - `operations`: the rules
//! - `types`: the types of the schema
//! - `resolvers`: translation between schema and operations
//! - `person`: the personal data in the collections, and how an erasure ends what the person has begun
//! - `sweep`: finishes or aborts interrupted flows, and makes the waiting jobs of the queue ready
//! - `invariants`: the rules that `docgate check` verifies
//!
//! `events`, `hits`, `series`, `sessions` and `queue` have no flows: each of their changes is one write of each document.
//! `payments` has no documents; it has a file for each provider.
//!
//! Several rooms share the modules beside them, such as [`baskets`] and their [`checkout`].
//!
//! Rooms call each other only through their operations, and only further down these lines:
//!
//! - `orders → {carts, payments} → {inventory, transfers} → catalog → {categories, comments, people}`
//! - `theater → payments`
//! - `{content, game} → assets → {comments, identities}`
//! - `inbox → social → {assets, queue}`
//!
//! `queue` is below all of them. `ads`, `events`, `hits`, `series`, `sessions` and `topics` are independent. There is one
//! exception: a field may show an object of a room further up, such as a cart's order. It calls the operation that reads the
//! object, and is listed in that room's [`extends`](Room::extends).

pub mod ads;
pub mod assets;
pub mod carts;
pub mod catalog;
pub mod categories;
pub mod comments;
pub mod content;
pub mod events;
pub mod game;
pub mod hits;
pub mod identities;
pub mod inbox;
pub mod inventory;
pub mod orders;
pub mod payments;
pub mod people;
pub mod queue;
pub mod series;
pub mod sessions;
pub mod social;
pub mod theater;
pub mod topics;
pub mod transfers;

pub mod attributes;
pub mod audiences;
pub mod baskets;
pub mod broadcasts;
pub mod checkout;
pub mod counted;
pub mod delivery;
pub mod former_paths;
pub mod images;
pub mod metadata;
pub mod nodes;
pub mod outside;
pub mod paying;
pub mod persons;
mod room;
pub mod shapes;
pub mod shards;
pub mod times;
pub mod trees;

use comments::Discussable;
use metadata::MetadataOwner;
use persons::ErasureDocument;
use queue::operations::Work;
pub use room::{
    CheckFn, CountFn, Documented, EraseFn, FaultsFn, Later, Made, RepairFn, Room, RoomFields,
    SweepFn, UpgradeFn,
};

use std::time::Duration;

use async_graphql::{MergedSubscription, merged::Part};

use crate::{
    app::App,
    config::Config,
    error::Error,
    flow::lease::LeaseDocument,
    invariants::{Progress, Report},
    mongo::{indexes::Declared, migrations::SchemaVersionDocument},
};

/// Every room. Sweeps run in this order: deciders before receivers.
pub const ROOMS: &[&Room] = &[
    &orders::ROOM,
    &carts::ROOM,
    &theater::ROOM,
    &transfers::ROOM,
    &payments::ROOM,
    &inventory::ROOM,
    // Products wait for the end of an interrupted deletion.
    &categories::ROOM,
    &catalog::ROOM,
    &comments::ROOM,
    &people::ROOM,
    &content::ROOM,
    &inbox::ROOM,
    &social::ROOM,
    &identities::ROOM,
    &game::ROOM,
    &assets::ROOM,
    &hits::ROOM,
    &series::ROOM,
    &sessions::ROOM,
    &events::ROOM,
    &ads::ROOM,
    &queue::ROOM,
    &topics::ROOM,
];

/// The documents of docgate itself.
const OWN: [Documented; 3] = [
    room::documented::<LeaseDocument>(),
    room::documented::<SchemaVersionDocument>(),
    room::documented::<ErasureDocument>(),
];

/// The fields of rooms in a root type of the schema.
macro_rules! root {
    (
        $(#[$meta:meta])*
        MergedSubscription pub struct $type:ident: $($room:ident::$fields:ident,)+
    ) => {
        $(#[$meta])*
        #[derive(MergedSubscription, Default)]
        pub struct $type($($room::resolvers::$fields),+);

        impl $type {
            fn fields() -> Vec<RoomFields> {
                let name = stringify!($type);
                vec![$(RoomFields::of_subscription::<$room::resolvers::$fields>(name, &$room::ROOM)),+]
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $type:ident of $name:literal: $($room:ident::$fields:ident,)+
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $type;

        impl $type {
            fn fields() -> Vec<RoomFields> {
                vec![$(RoomFields::of::<$room::resolvers::$fields>($name, &$room::ROOM)),+]
            }

            /// The fields as parts of the root type.
            pub(crate) fn of_rooms() -> Vec<Part> {
                vec![$(Part::of::<$room::resolvers::$fields>()),+]
            }
        }
    };
}

root! {
    /// Query fields of all rooms.
    pub struct Queries of "Query":
        game::GameQuery,
        topics::TopicsQuery,
        theater::TheaterQuery,
        ads::AdsQuery,
        queue::QueueQuery,
        inbox::InboxQuery,
        social::SocialQuery,
        hits::HitsQuery,
        series::SeriesQuery,
        sessions::SessionsQuery,
        events::EventsQuery,
        identities::IdentitiesQuery,
        transfers::TransfersQuery,
        people::PeopleQuery,
        orders::OrdersQuery,
        inventory::InventoryQuery,
        carts::CartsQuery,
        assets::AssetsQuery,
        comments::CommentsQuery,
        content::ContentQuery,
        categories::CategoriesQuery,
        catalog::CatalogQuery,
}

root! {
    /// Mutation fields of all rooms.
    pub struct Mutations of "Mutation":
        catalog::CatalogMutation,
        categories::CategoriesMutation,
        people::PeopleMutation,
        comments::CommentsMutation,
        inventory::InventoryMutation,
        carts::CartsMutation,
        orders::OrdersMutation,
        transfers::TransfersMutation,
        content::ContentMutation,
        metadata::MetadataMutation,
        identities::IdentitiesMutation,
        assets::AssetsMutation,
        hits::HitsMutation,
        series::SeriesMutation,
        sessions::SessionsMutation,
        events::EventsMutation,
        ads::AdsMutation,
        queue::QueueMutation,
        social::SocialMutation,
        topics::TopicsMutation,
        inbox::InboxMutation,
        theater::TheaterMutation,
        game::GameMutation,
}

root! {
    /// Subscription fields of all rooms.
    MergedSubscription pub struct Subscription:
        carts::CartsSubscription,
        comments::CommentsSubscription,
        game::GameSubscription,
        hits::HitsSubscription,
        inbox::InboxSubscription,
        inventory::InventorySubscription,
        orders::OrdersSubscription,
        queue::QueueSubscription,
        social::SocialSubscription,
        theater::TheaterSubscription,
        topics::TopicsSubscription,
        transfers::TransfersSubscription,
}

/// The fields of the root types, by room.
pub fn fields() -> Vec<RoomFields> {
    [Queries::fields(), Mutations::fields(), Subscription::fields()].concat()
}

/// The rooms that are switched on.
pub fn switched_on(config: &Config) -> impl Iterator<Item = &'static Room> {
    let rooms = &config.rooms;
    let is_on = move |name| rooms.is_empty() || rooms.iter().any(|on| on == name);
    ROOMS.iter().copied().filter(move |room| is_on(room.name))
}

/// Whether the room with this name is switched on.
pub fn is_on(config: &Config, name: &str) -> bool {
    switched_on(config).any(|room| room.name == name)
}

/// Names of the rooms that are switched off.
pub fn switched_off(config: &Config) -> Vec<&'static str> {
    let on: Vec<&str> = switched_on(config).map(|room| room.name).collect();
    ROOMS.iter().map(|room| room.name).filter(|name| !on.contains(name)).collect()
}

/// Faults of the configuration key `rooms`, each as a sentence.
pub fn faults(config: &Config) -> Vec<String> {
    let names: Vec<&str> = ROOMS.iter().map(|room| room.name).collect();
    let unknown = config.rooms.iter().filter(|name| !names.contains(&name.as_str()));
    let unknown = unknown.map(|name| {
        format!("rooms: there is no room {name:?}; the rooms are {}", names.join(", "))
    });
    let missing = switched_on(config).flat_map(|room| {
        let missing = room.needs.iter().filter(|name| !is_on(config, name));
        missing.map(|name| format!("rooms: {} needs {name}", room.name))
    });
    unknown.chain(missing).collect()
}

/// Faults of the settings that belong to rooms, each as a sentence.
pub fn setting_faults(config: &Config) -> Vec<String> {
    ROOMS.iter().filter_map(|room| room.faults).flat_map(|of| of(config)).collect()
}

/// Every kind of documents that can be discussed, of all rooms.
pub fn discussable() -> impl Iterator<Item = &'static Discussable> {
    ROOMS.iter().flat_map(|room| room.discussed)
}

/// Every kind of documents that have metadata, of the rooms that are switched on.
pub fn metadata_owners(config: &Config) -> impl Iterator<Item = &'static MetadataOwner> {
    switched_on(config).flat_map(|room| room.metadata)
}

/// Every collection of the rooms that are switched on, with its indexes.
pub fn collections(config: &Config) -> Vec<Declared> {
    let own = OWN.iter().filter_map(|documents| documents.declared);
    own.chain(switched_on(config).flat_map(Room::collections)).collect()
}

/// What [`collections`] returns, and the collections that the rooms create while they run.
pub fn all_collections(config: &Config) -> Vec<Declared> {
    let later = switched_on(config).flat_map(|room| room.later).map(|later| later.declared);
    collections(config).into_iter().chain(later).collect()
}

/// What [`collections`] returns, and the collections of months that there are.
pub fn indexed(config: &Config) -> Vec<Declared> {
    let later = switched_on(config).flat_map(|room| room.later);
    let monthly = later.filter(|later| later.made == Made::Monthly).map(|later| later.declared);
    collections(config).into_iter().chain(monthly).collect()
}

/// The documents of every collection of the rooms that are switched on, each with its room; those of docgate itself have
/// none.
pub fn documents(config: &Config) -> Vec<(Option<&'static Room>, Documented)> {
    documents_of(switched_on(config))
}

/// Like [`documents`], with those of the rooms that are switched off.
pub fn all_documents() -> Vec<(Option<&'static Room>, Documented)> {
    documents_of(ROOMS.iter().copied())
}

fn documents_of(
    rooms: impl Iterator<Item = &'static Room>,
) -> Vec<(Option<&'static Room>, Documented)> {
    let own = OWN.iter().map(|documents| (None, *documents));
    let of_room =
        |room: &'static Room| room.documents.iter().map(move |documents| (Some(room), *documents));
    own.chain(rooms.flat_map(of_room)).collect()
}

/// The queues of the rooms' own jobs, with their handlers.
pub fn work(config: &Config) -> Vec<Work> {
    if !is_on(config, queue::ROOM.name) {
        return Vec::new();
    }
    switched_on(config).filter_map(|room| room.work).flat_map(|work| work()).collect()
}

/// Pause before a rule that seems to be broken is looked at again.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// Checks the invariants of every room. A flow that is running changes documents between the reads of the check, so only
/// those violations count that a second look finds again.
///
/// # Errors
/// `Unavailable`: a read failed.
pub async fn check(app: &App, progress: Progress) -> Result<Report, Error> {
    let all = || check_each(app, switched_on(app.config()), progress);
    let first = all().await?;
    if first.is_clean() {
        return Ok(first);
    }
    first.looks_again(SECOND_LOOK);
    tokio::time::sleep(SECOND_LOOK).await;
    Ok(first.confirmed_by(&all().await?))
}

/// Checks the invariants of these rooms once.
///
/// # Errors
/// `Unavailable`: a read failed.
pub async fn check_each(
    app: &App,
    rooms: impl Iterator<Item = &'static Room>,
    progress: Progress,
) -> Result<Report, Error> {
    let mut report = Report::telling(progress);
    for room in rooms {
        let Some(check) = room.check else { continue };
        match check(app, &mut report).await {
            // Documents that can't be read, for example. They don't keep the other rooms from being checked.
            Err(Error::Internal(why) | Error::NewerVersion(why)) => {
                report.add(&format!("{}: all rules can be checked", room.name), [why]);
            }
            done => done?,
        }
    }
    Ok(report)
}

/// Corrects stored values that are derived from other documents. Returns what it corrected.
///
/// # Errors
/// `Unavailable` or `Internal`: it can be repeated.
pub async fn repair(app: &App, progress: Progress) -> Result<Vec<String>, Error> {
    let mut repaired = Vec::new();
    for room in switched_on(app.config()) {
        if let Some(repair) = room.repair {
            repaired.extend(repair(app, progress).await?);
        }
    }
    Ok(repaired)
}
