//! Versions of stored documents, and their upgrades.
//!
//! A document holds the version of its shape in `v`; one without `v` is of version 1. A type declares in
//! [`Stored::UPGRADES`] how a document of one version becomes one of the next: as the stages of an update, and as the same
//! change of a document in memory. The number of upgrades, plus one, is the newest version.
//!
//! - **Reads** take every version up to the newest, and upgrade in memory.
//! - **Updates** are valid for all of these versions, and leave `v` as it is. A new version therefore only adds to the one
//!   before: it says of a field that it is there, or that its value can be relied on. A field that isn't written any more
//!   is removed by a later version, when no gateway reads it.
//! - **Inserts** write the newest version that is *in force*. `docgate migrate` puts the newest version of a collection in
//!   force, in the collection `schemaVersions`, which gateways read every few seconds. Until then they write
//!   the version that was in force before, at first version 1. The gateways of the release before can read it: so these can
//!   run beside it, and one can go back.
//! - **A document of a newer version** than the newest is refused by every read, and isn't matched by any
//!   update or removal: their filters contain `v`. There are two exceptions. Roll-ups ([`rollup`](super::rollup)) replace
//!   documents by what follows from others. Additions to counters ([`counts`](super::counts)) name the version only while a
//!   gateway knows that a newer version than its newest is in force, because MongoDB is faster if the filter is `_id` alone.
//!   A gateway learns that up to `sweep_millis` after the version was put in force, later if its reads of `schemaVersions`
//!   fail, and soon after its start. Until then it also adds to documents of the newer version, and leaves what the newer
//!   version derives from counts as it is.
//! - A type that overrides [`Stored::read`] upgrades what it reads itself.
//!
//! `docgate migrate` reads the `_id`s and versions of a collection in the order of `_id`, and sends updates of 100 documents.
//! The filter of each names the version that its stages start from. This is why it is safe:
//!
//! - MongoDB evaluates filter and stages together, for each document. So a document is upgraded from what it contains at
//!   that moment, whatever gateways have written since its version was read.
//! - An upgraded document doesn't match again. Two migrations at once upgrade each document once, and one that is
//!   repeated continues.
//! - Stages depend on their document alone, so the order in which documents are upgraded makes no difference.
//! - A gateway of an earlier release may leave a document of version 1 without what the newest version adds, or with another
//!   value of it. An upgrade computes it anew for that reason. Once the document is upgraded, that gateway refuses to
//!   read it. It has no filters by version if its release had none; so the last of them is stopped before the migration.

use std::{
    collections::{BTreeMap, HashMap},
    future::ready,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::{
    Collection, Stored, Version,
    bulk::Walk,
    collection::{List, Timed},
    driver::{decode, decode_document, encode, stored_id},
    stored::document,
};
use crate::error::Error;

/// How a document of one version becomes one of the next.
#[derive(Debug, Clone, Copy)]
pub struct Upgrade {
    /// What the new version says, as a sentence.
    pub says: &'static str,
    /// Fields that a document has from the new version on, unless they are optional.
    pub fields: &'static [&'static str],
    /// The stages of an update, without the one that sets `v`. They don't fail, whatever the document contains.
    pub stages: fn() -> Vec<Document>,
    /// The same change of a document in memory. Fields that weren't read are missing from it.
    pub in_memory: fn(&mut Document),
}

/// The newest version of a type with these upgrades.
pub const fn newest(upgrades: &[Upgrade]) -> i32 {
    let (mut version, mut rest) = (1, upgrades);
    while let [_, others @ ..] = rest {
        version += 1;
        rest = others;
    }
    version
}

document! {
    /// The version that is in force in a collection.
    pub struct SchemaVersionDocument {
        /// Name of the collection.
        pub collection as "_id": String,
        /// The version that gateways write, if they know it.
        pub in_force: i32,
        /// Server time at which a migration last began.
        pub at: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "schemaVersions" by unsharded("it has at most one document for each collection") {}
}

/// The versions that are in force, by collection.
pub(crate) type InForce = HashMap<String, i32>;

/// The versions of a collection that aren't known or aren't the newest, and what was done about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Number of documents that were read.
    pub read: u64,
    /// Number of documents that were upgraded.
    pub upgraded: u64,
    /// Number of documents of a newer version than the newest, which were left alone.
    pub newer: u64,
}

/// Documents per update.
const AT_ONCE: usize = 100;
/// Updates in flight.
const UPDATES: usize = 4;

/// The filter without documents of a newer version than `newest`.
pub(super) fn known(mut filter: Document, newest: i32) -> Document {
    if !filter.contains_key("v") {
        filter.insert("v", doc! { "$not": { "$gt": newest } });
    }
    filter
}

/// Text that an update of a document of a newer version fails to convert to a number.
const NEWER: &str = "docgate:newer:";

/// The stage by which an upsert fails if it meets a document of a newer version than `newest`. Its filter can't contain
/// the version: the upsert would try to insert the document.
pub(super) fn check(newest: i32) -> Document {
    let fails = doc! { "$toInt": { "$concat": [NEWER, { "$type": "$v" }] } };
    doc! { "$set": { "v": { "$cond": [{ "$gt": ["$v", newest] }, fails, "$v"] } } }
}

/// Whether this is the server's text about a failure of [`check`].
pub(super) fn is_newer(text: &str) -> bool {
    text.contains(NEWER)
}

/// The version of a stored document.
fn version_of(stored: &RawDocument) -> i32 {
    let number = match stored.get("v") {
        Ok(Some(RawBsonRef::Int32(number))) => return number,
        Ok(Some(RawBsonRef::Int64(number))) => number,
        _ => 1,
    };
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Upgrades a document in memory.
fn upgrade<T: Stored>(document: &mut Document) {
    let version = document.get_i32("v").unwrap_or(1);
    let done = usize::try_from(version.saturating_sub(1)).unwrap_or(0);
    for upgrade in T::UPGRADES.iter().skip(done) {
        (upgrade.in_memory)(document);
    }
    if done < T::UPGRADES.len() {
        document.insert("v", newest(T::UPGRADES));
    }
}

/// Decodes a stored document, after it was upgraded in memory.
pub(crate) fn read<T: Stored>(stored: &RawDocumentBuf) -> Result<T, Error> {
    let newest = newest(T::UPGRADES);
    // Finding the version in the bytes costs each read a pass over them, so a type without upgrades looks for it only after
    // an error.
    if T::UPGRADES.is_empty() || version_of(stored) >= newest {
        // A newer document may differ in any field, so another one may be met before its version.
        return decode(stored).map_err(|error| match version_of(stored) {
            version if version > newest && matches!(error, Error::Internal(_)) => {
                newer(version, newest)
            }
            _ => error,
        });
    }
    let mut document = decode(stored)?;
    upgrade::<T>(&mut document);
    decode_document(&document)
}

/// The error of a document of a version that isn't known.
fn newer(version: i32, newest: i32) -> Error {
    let text = super::stored::NEWER;
    Error::NewerVersion(format!("{text}: {version}; it knows up to {newest}").into())
}

/// Like [`read`], of a document with the server's time.
pub(super) fn read_timed<T: Stored>(stored: &RawDocumentBuf) -> Result<Timed<T>, Error> {
    if T::UPGRADES.is_empty() {
        return decode(stored).or_else(|error| {
            if matches!(error, Error::Internal(_)) {
                let Timed { document, .. } = decode::<Timed<RawDocumentBuf>>(stored)?;
                read::<T>(&document)?;
            }
            Err(error)
        });
    }
    let Timed { now, document } = decode::<Timed<RawDocumentBuf>>(stored)?;
    Ok(Timed { now, document: read(&document)? })
}

impl<T: Stored> Collection<T> {
    /// The version that inserted documents have: the newest that is known and in force.
    pub fn written_version(&self) -> i32 {
        let newest = newest(T::UPGRADES);
        if newest == 1 { 1 } else { self.loader().in_force(self.name()).min(newest) }
    }

    /// A new document in its stored form.
    pub(super) fn new_document(&self, document: &T) -> Result<RawDocumentBuf, Error> {
        let written = self.written_version();
        if written == newest(T::UPGRADES) {
            return encode(document);
        }
        let mut fields: Document = decode(&encode(document)?)?;
        fields.insert("v", written);
        encode(&fields)
    }

    /// Number of documents by version, in ascending order.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn count_versions(&self) -> Result<Vec<(i32, u64)>, Error> {
        let mut counts = BTreeMap::new();
        let mut walk = Walk::default();
        loop {
            let batch = self.versions(&walk, WINDOW).await?;
            let Some((last, _)) = batch.last() else { return Ok(counts.into_iter().collect()) };
            walk = Walk(Some(last.clone()));
            for (_, version) in batch {
                *counts.entry(version).or_default() += 1;
            }
        }
    }

    /// The `_id`s and versions of the next documents, at most `limit` of them.
    async fn versions(&self, walk: &Walk, limit: u32) -> Result<Vec<(Bson, i32)>, Error> {
        let next = List {
            filter: doc! { "_id": walk.rest() },
            sort: doc! { "_id": 1 },
            limit: limit.into(),
            projection: Some(doc! { "_id": 1, "v": 1 }),
            hint: Some("_id_"),
            ..List::default()
        };
        let found = self.list_raw(next).await?;
        let read = |stored: &RawDocumentBuf| Ok((stored_id(stored)?, version_of(stored)));
        found.iter().map(read).collect()
    }

    /// Upgrades the next documents of the walk, at most `limit` of them. Returns what it did, and the rest of the walk, which is
    /// `None` at the end of the collection.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been upgraded, and the call may be repeated.
    pub async fn upgrade_next(
        &self,
        walk: Walk,
        limit: u32,
    ) -> Result<(Step, Option<Walk>), Error> {
        let newest = newest(T::UPGRADES);
        let batch = self.versions(&walk, limit).await?;
        let Some((last, _)) = batch.last() else { return Ok((Step::default(), None)) };
        let rest = Walk(Some(last.clone()));
        let mut step =
            Step { read: u64::try_from(batch.len()).unwrap_or(u64::MAX), ..Step::default() };
        let mut behind = BTreeMap::<i32, Vec<Bson>>::new();
        for (id, version) in batch {
            if version > newest {
                step.newer += 1;
            } else if version < newest {
                behind.entry(version).or_default().push(id);
            }
        }
        let parts: Vec<_> = behind
            .iter()
            .flat_map(|(version, ids)| ids.chunks(AT_ONCE).map(|ids| (*version, ids.to_vec())))
            .map(|(version, ids)| self.upgrade_each(version, ids))
            .collect();
        let upgraded = stream::iter(parts).buffer_unordered(UPDATES);
        step.upgraded = upgraded.try_fold(0, |sum, more| ready(Ok(sum + more))).await?;
        Ok((step, Some(rest)))
    }

    /// Upgrades those of the documents that still have this version, and returns their number.
    async fn upgrade_each(&self, version: i32, ids: Vec<Bson>) -> Result<u64, Error> {
        let has_version = if version == 1 {
            doc! { "$in": [1, Bson::Null] } // null stands for a missing field too
        } else {
            doc! { "$eq": version }
        };
        let done = usize::try_from(version.saturating_sub(1)).unwrap_or(0);
        let stages = T::UPGRADES.iter().skip(done).flat_map(|upgrade| (upgrade.stages)());
        let stages = stages.chain([doc! { "$set": { "v": newest(T::UPGRADES) } }]);
        let filter = doc! { "_id": { "$in": ids }, "v": has_version };
        self.update_many(filter, stages.collect::<Vec<_>>()).await
    }
}

/// Documents that are read by one command when they are counted.
const WINDOW: u32 = 1_000;

impl Collection<SchemaVersionDocument> {
    /// The versions that are in force.
    ///
    /// # Errors
    /// `Unread` or `Internal`.
    pub(crate) async fn in_force(&self) -> Result<InForce, Error> {
        let list = List { sort: doc! { "_id": 1 }, limit: i64::from(WINDOW), ..List::default() };
        let found = self.list(list).await?;
        Ok(found.into_iter().map(|found| (found.collection, found.in_force)).collect())
    }

    /// Puts a version of a collection in force, unless a newer one is. It may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn put_in_force(&self, collection: &str, version: i32) -> Result<(), Error> {
        let newest = doc! { "$max": ["$inForce", version] };
        let set = doc! { "$set": { "inForce": newest, "at": "$$NOW", "v": 1 } };
        self.upsert_each(vec![(doc! { "_id": collection }, vec![set])]).await.map(|_refused| ())
    }
}
