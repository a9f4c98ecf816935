//! Writes of many documents of one collection by few commands, for imports, sweeps and repairs.

use std::time::Duration;

use mongodb::{
    bson::{Bson, Document, RawDocumentBuf, doc},
    options::UpdateModifications,
};

use super::{
    Collection, Stored,
    driver::{REPLY_TIMEOUT, encode, insert, stored_id},
    expression::{choose, is_missing, literal, stored_fields},
    lists::List,
    migrations::{check, known, newest},
    raw_writes::{self, update},
    shared_writes::parts,
    write_command::Reply,
};
use crate::{config::Concern, error::Error};

/// Maximum size of the documents of an `insert` and of the elements of an `update`, in bytes. A command is one document of at
/// most 16 MiB.
const COMMAND_BYTES: usize = 4 << 20;
/// `maxTimeMS` of such an `insert`, of an `update` of many documents, and of commands with numbers.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// Progress of a walk through a collection in the order of `_id`: that of the last document that was visited, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Walk(pub(super) Option<Bson>);

impl Walk {
    /// The condition on the `_id`s of the documents that are left.
    pub(super) fn rest(&self) -> Document {
        let from_the_first = || doc! { "$gte": Bson::MinKey };
        self.0.as_ref().map_or_else(from_the_first, |last| doc! { "$gt": last.clone() })
    }
}

impl<T: Stored> Collection<T> {
    /// Inserts many documents unordered. Returns the positions that were refused as duplicates.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been inserted.
    pub async fn insert_many(&self, documents: Vec<T>) -> Result<Vec<usize>, Error> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let raw = documents.iter().map(|one| self.new_document(one)).collect::<Result<_, _>>()?;
        insert(self.inner(), raw).await
    }

    /// Inserts those of many documents that aren't there. If the key of a document is taken, it is there. So the command
    /// may be sent twice, and needs no transaction number.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been inserted.
    pub async fn insert_missing(&self, documents: &[T]) -> Result<(), Error> {
        let raw = documents.iter().map(|one| self.new_document(one));
        let raw: Vec<RawDocumentBuf> = raw.collect::<Result<_, _>>()?;
        let (collection, concern) = (self.inner(), Concern::Majority);
        for part in parts(raw, COMMAND_BYTES, |one| one.as_bytes().len()) {
            let reply = raw_writes::insert(&collection, part, concern, COMMAND_LIMIT).await?;
            let _there = reply.refused()?;
        }
        Ok(())
    }

    /// Updates every matching document, and returns their number. This is for copies: their version is their
    /// guard, and the update may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been updated.
    pub async fn update_many(
        &self,
        filter: Document,
        update: impl Into<UpdateModifications>,
    ) -> Result<u64, Error> {
        let inner = self.inner();
        let update = self.derive(update.into());
        let filter = known(filter, newest(T::UPGRADES));
        let updated =
            self.inner().send("update", async move { inner.update_many(filter, update).await });
        Ok(updated.await?.matched_count)
    }

    /// Updates those of the next `count` documents of the walk that match a filter, which has no condition on `_id`. Returns
    /// their number, and the rest of the walk, which is `None` after the last document. The update may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been updated.
    pub async fn update_next(
        &self,
        walk: Walk,
        count: u32,
        filter: Document,
        update: impl Into<UpdateModifications>,
    ) -> Result<(u64, Option<Walk>), Error> {
        let next = List {
            filter: doc! { "_id": walk.rest() },
            sort: doc! { "_id": 1 },
            limit: count.into(),
            projection: Some(doc! { "_id": 1 }),
            hint: Some("_id_"),
            ..List::default()
        };
        let next = self.list_raw(next).await?;
        let Some(end) = next.last() else { return Ok((0, None)) };
        let (mut visited, end) = (walk.rest(), stored_id(end)?);
        visited.insert("$lte", end.clone());
        let mut matching = doc! { "_id": visited };
        matching.extend(filter);
        let updated = self.update_many(matching, update).await?;
        let is_full = next.len() >= count as usize;
        Ok((updated, is_full.then_some(Walk(Some(end)))))
    }

    /// Sets fields to the values of expressions, by one command: of those documents with these `_id`s that the guard matches.
    /// This is for changes that may be repeated, if no caller needs to know whether the guard held.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been changed.
    pub async fn set_each(
        &self,
        ids: Vec<String>,
        guard: Document,
        fields: Document,
    ) -> Result<(), Error> {
        let mut filter = doc! { "_id": { "$in": ids } };
        filter.extend(guard);
        let statement = doc! {
            "q": known(filter, newest(T::UPGRADES)),
            "u": self.with_derived(vec![doc! { "$set": fields }]),
            "multi": true,
            // Otherwise MongoDB compares it with an index on the fields of the guard.
            "hint": "_id_",
        };
        let (collection, statement) = (self.inner(), vec![encode(&statement)?]);
        let sent = update(&collection, statement, None, Concern::Majority, COMMAND_LIMIT);
        sent.await?.refused().map(drop)
    }

    /// Removes every matching document, and returns their number. This is for removals that may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been removed.
    pub async fn remove_many(&self, filter: Document) -> Result<u64, Error> {
        let inner = self.inner();
        let filter = known(filter, newest(T::UPGRADES));
        let removed =
            self.inner().send("delete", async move { inner.delete_many(filter).await }).await?;
        Ok(removed.deleted_count)
    }

    /// Applies many upserts in their order by few commands, each to the one document that its filter selects. Returns the
    /// positions that were refused because their guard didn't hold, so that the insert found the key taken.
    /// This is for bulk work that may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the updates may have been applied.
    pub async fn upsert_each(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
    ) -> Result<Vec<usize>, Error> {
        self.upsert_all(updates, false).await
    }

    /// Like [`Self::upsert_each`], of upserts whose guards hold again after them: each command has a number, so no copy of it is
    /// applied after the outcome is known; see `super::numbered`.
    ///
    /// # Errors
    /// As those of [`Self::upsert_each`].
    pub async fn upsert_each_numbered(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
    ) -> Result<Vec<usize>, Error> {
        self.upsert_all(updates, true).await
    }

    async fn upsert_all(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        is_numbered: bool,
    ) -> Result<Vec<usize>, Error> {
        let filters = || updates.iter().map(|(filter, _)| filter.clone()).collect::<Vec<_>>();
        let mut filters = is_numbered.then(filters);
        // Nothing is decided by it.
        let concern = self.inner().concern();
        // A session whose number is in use for longer would hold up other writes; see `super::numbered`.
        let limit = if is_numbered { COMMAND_LIMIT } else { REPLY_TIMEOUT };
        let (mut refused, mut before) = (Vec::new(), 0);
        for command in self.update_commands(updates, true)? {
            let count = command.len();
            let numbered = filters.as_mut().map(|all| all.drain(..count).collect());
            let reply = update(&self.inner(), command, numbered, concern, limit).await?;
            let positions = reply.refused()?;
            if !positions.is_empty() {
                reply.check_refusal()?;
            }
            refused.extend(positions.into_iter().map(|position| before + position));
            before += count;
        }
        Ok(refused)
    }

    /// Inserts documents, each with the server's time at its insert as `field`. A document whose `_id` is taken isn't
    /// changed. Returns how many were inserted by the commands that were answered: if one was sent twice, those of the first
    /// copy aren't among them.
    ///
    /// An `insert` can't contain the server's time. So each document is an upsert, whose pipeline leaves a document
    /// alone that has the field.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been inserted.
    pub async fn insert_timed(
        &self,
        documents: Vec<T>,
        field: &str,
        limit: Duration,
    ) -> Result<usize, Error> {
        let upsert = |document: T| {
            let mut fields = stored_fields(&document);
            fields.insert("v", self.written_version());
            let filter = doc! { "_id": fields.get("_id") };
            let new = doc! { "$mergeObjects": [literal(fields), { field: "$$NOW" }] };
            let document = choose(is_missing(field), new, "$$ROOT");
            (filter, vec![doc! { "$replaceWith": document }])
        };
        let upserts = documents.into_iter().map(upsert).collect();
        let mut inserted = 0;
        for reply in self.update(upserts, true, Concern::Majority, limit).await? {
            reply.refused()?;
            inserted += reply.upserted();
        }
        Ok(inserted)
    }

    /// Applies many guarded updates by few commands, each to the one document that its filter selects. Returns
    /// whether all guards held, but not which of them didn't.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the updates may have been applied.
    pub async fn update_all(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        limit: Duration,
    ) -> Result<bool, Error> {
        let count = updates.len();
        let (mut matched, mut is_refused) = (0, false);
        for reply in self.update(updates, false, Concern::Majority, limit).await? {
            is_refused |= !reply.refused()?.is_empty();
            matched += reply.matched()?;
        }
        Ok(!is_refused && matched == count)
    }

    async fn update(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        upsert: bool,
        concern: Concern,
        limit: Duration,
    ) -> Result<Vec<Reply>, Error> {
        let mut replies = Vec::new();
        for command in self.update_commands(updates, upsert)? {
            replies.push(update(&self.inner(), command, None, concern, limit).await?);
        }
        Ok(replies)
    }

    /// The encoded elements of `update` commands, in their order. A command has as many as fit into [`COMMAND_BYTES`], or one that
    /// is larger.
    fn update_commands(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        upsert: bool,
    ) -> Result<Vec<Vec<RawDocumentBuf>>, Error> {
        let newest = newest(T::UPGRADES);
        let element = |(filter, mut stages): (Document, Vec<Document>)| {
            encode(&if upsert {
                stages.insert(0, check(newest));
                doc! { "q": filter, "u": self.with_derived(stages), "upsert": true }
            } else {
                doc! { "q": known(filter, newest), "u": self.with_derived(stages) }
            })
        };
        let elements = updates.into_iter().map(element);
        let elements: Vec<RawDocumentBuf> = elements.collect::<Result<_, _>>()?;
        Ok(parts(elements, COMMAND_BYTES, |one| one.as_bytes().len()))
    }
}
