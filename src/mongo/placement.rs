//! Divides the collections into groups, by how much the loss of their documents would matter. Each group has a
//! [`Place`]: its database, and the settings by which it is written and read. Every collection is opened by the place
//! of its group.
//!
//! A type of documents declares its group ([`Stored::GROUP`](super::Stored::GROUP)); all types of one collection have the
//! same. The collections of a `$lookup` are of one group, because it reads within one database.
//!
//! The settings of a group apply only to writes and reads on which no decision depends:
//!
//! - The write concern is that of additions: counters, upserts of many documents, and appended documents. Guarded writes
//!   and single inserts always wait for a majority, because their callers decide by the outcome.
//! - The consistency is that of query fields with the argument `consistency` ([`super::consistency`]).
//! - The compression applies to collections that the gateway creates.

use std::{fmt, sync::Arc, time::Duration};

use mongodb::{
    Database,
    bson::{Document, doc},
    options::{ReadPreference, ReadPreferenceOptions, SelectionCriteria},
};

use super::{
    consistency,
    driver::send,
    faults::{COLLECTION_EXISTS, has_code},
    indexes::Declared,
};
use crate::{
    config::{Compression, Concern, Config, Consistency},
    error::Error,
};

/// Collections of the same worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// What flows decide by, and what nobody can enter again: goods, orders, accounts, texts, users.
    Core,
    /// Traces of what people do, which are counted and shown: hits, views, sessions, feeds.
    Activity,
    /// Records that are kept for a while: events.
    Log,
}

/// The group of a collection that is read, and whether a secondary may serve the read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reads {
    /// The group.
    pub group: Group,
    /// Whether a secondary may serve it.
    pub is_eventual: bool,
}

/// The database of a group, and its settings.
#[derive(Debug)]
pub struct Place {
    database: Database,
    concern: Concern,
    compression: Option<Compression>,
    consistency: Consistency,
}

/// The places of all groups. Cheap to clone.
#[derive(Clone)]
pub struct Placement {
    places: Arc<[Arc<Place>; 3]>,
    /// How the server of an eventual read is selected.
    eventual: SelectionCriteria,
}

impl fmt::Debug for Placement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let databases = Group::ALL.map(|group| self.database(group).name().to_owned());
        formatter.debug_tuple("Placement").field(&databases).finish()
    }
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 3] = [Self::Core, Self::Activity, Self::Log];
}

impl Placement {
    /// The places by the configuration. `core` is the gateway's database; the other databases have the same client.
    pub fn new(config: &Config, core: &Database) -> Self {
        let at = |name: Option<&String>| match name {
            Some(name) => core.client().database(name),
            None => core.clone(),
        };
        let place = |name, concern, compression, consistency| {
            Arc::new(Place { database: at(name), concern, compression, consistency })
        };
        let activity = config.activity_database.as_ref();
        let places = [
            place(None, Concern::Majority, config.core_compression, config.core_consistency),
            place(
                activity,
                config.activity_write_concern,
                config.activity_compression,
                config.activity_consistency,
            ),
            place(
                config.log_database.as_ref(),
                config.log_write_concern,
                config.log_compression,
                config.log_consistency,
            ),
        ];
        let staleness = Duration::from_secs(config.eventual_staleness_seconds.into());
        let options = ReadPreferenceOptions::builder().max_staleness(staleness).build();
        let preference = ReadPreference::SecondaryPreferred { options: Some(options) };
        let eventual = SelectionCriteria::ReadPreference(preference);
        Self { places: Arc::new(places), eventual }
    }

    /// All groups in one database, with the default settings.
    pub fn in_one(database: &Database) -> Self {
        Self::new(&Config::default(), database)
    }

    /// The database of a group.
    pub fn database(&self, group: Group) -> &Database {
        &self.of(group).database
    }

    /// When additions to a group are acknowledged.
    pub fn concern(&self, group: Group) -> Concern {
        self.of(group).concern
    }

    pub(super) fn of(&self, group: Group) -> &Arc<Place> {
        let [core, activity, log] = &*self.places;
        match group {
            Group::Core => core,
            Group::Activity => activity,
            Group::Log => log,
        }
    }

    /// How a collection of the group is read by the field that is resolved now.
    pub(super) fn reads(&self, group: Group) -> Reads {
        let is_eventual = consistency::now(self.of(group).consistency) == Consistency::Eventual;
        Reads { group, is_eventual }
    }

    /// How the server is selected, if it isn't the primary.
    pub(super) fn selection(&self, reads: Reads) -> Option<SelectionCriteria> {
        reads.is_eventual.then(|| self.eventual.clone())
    }

    /// The names of all collections in the databases of the groups, each with a group.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn collections(&self) -> Result<Vec<(Group, String)>, Error> {
        let mut all = Vec::new();
        for group in Group::ALL {
            let names = collection_names(self.database(group)).await?;
            all.extend(names.into_iter().map(|name| (group, name)));
        }
        Ok(all)
    }

    /// Those of the collections that are in the gateway's database although their group has another one, for example
    /// because the configuration was changed. The gateway doesn't read them there.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn left_behind(&self, declared: &[Declared]) -> Result<Vec<&'static str>, Error> {
        let core = self.database(Group::Core);
        let moved = |group: Group| self.database(group).name() != core.name();
        if !Group::ALL.into_iter().any(moved) {
            return Ok(Vec::new());
        }
        let there = collection_names(core).await?;
        let left = declared.iter().filter(|declared| {
            moved(declared.group) && there.iter().any(|existing| declared.is(existing))
        });
        Ok(left.map(|declared| declared.name).collect())
    }
}

impl Place {
    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) fn concern(&self) -> Concern {
        self.concern
    }

    /// The fields of a `create` that set how the collection is stored.
    pub(super) fn storage(&self) -> Document {
        let Some(compression) = self.compression else { return Document::new() };
        let compressor = match compression {
            Compression::None => "none",
            Compression::Snappy => "snappy",
            Compression::Zstd => "zstd",
        };
        let config = format!("block_compressor={compressor}");
        doc! { "storageEngine": { "wiredTiger": { "configString": config } } }
    }
}

impl Concern {
    /// The field `writeConcern` of a command.
    pub(super) fn document(self) -> Document {
        match self {
            Self::Primary => doc! { "w": 1, "j": false },
            Self::Journal => doc! { "w": 1, "j": true },
            Self::Majority => doc! { "w": "majority" },
        }
    }
}

/// The names of the collections of a database.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub(super) async fn collection_names(database: &Database) -> Result<Vec<String>, Error> {
    let database = database.clone();
    send("", "listCollections", async move { database.list_collection_names().await }).await
}

/// Creates a collection, if its place says how it is stored. Otherwise its first document creates it. It may exist.
pub(super) async fn create(place: &Place, collection: &str) -> Result<(), Error> {
    let storage = place.storage();
    if storage.is_empty() {
        return Ok(());
    }
    let mut command = doc! { "create": collection, "writeConcern": { "w": "majority" } };
    command.extend(storage);
    let database = place.database().clone();
    let created = async move {
        match database.run_command(command).await {
            Err(fault) if has_code(&fault, &[COLLECTION_EXISTS]) => Ok(()),
            reply => reply.map(|_| ()),
        }
    };
    send(collection, "create", created).await
}
