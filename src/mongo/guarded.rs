//! The guarded write: its condition is part of the update's filter, instead of a read before the update.
//!
//! Source of the pattern: "compare and set" in MongoDB's manual on atomicity of single-document writes,
//! <https://www.mongodb.com/docs/manual/core/write-operations-atomicity/>.

use std::{marker::PhantomData, mem, sync::Arc, time::Duration};

use mongodb::{
    bson::{self, Bson, Document, RawDocumentBuf, doc},
    options::UpdateModifications,
};

use super::{
    driver::{Raw, encode},
    expression::both,
    lists::{List, find_many},
    loader::Loader,
    lookup::{Fields, Keys, Lookup},
    migrations,
    raw_writes::{self, Modified, update},
    stored::Stored,
    writer::{self, After},
};
use crate::{config::Concern, error::Error};

/// The outcome of a guarded write. There is no fourth case, and callers must handle each of the three.
#[must_use = "the outcome of a write decides what may be done next"]
#[derive(Debug)]
pub enum Outcome<T> {
    /// The guard held, and a majority holds the write. Contains the document after the write.
    Applied(T),
    /// The guard didn't hold when the write was evaluated; nothing changed.
    Refused,
    /// The write may have been applied, or may still be. It is never undone and never reported as refused. The
    /// caller gets the error; the flow is repeated under its idempotency key or finished by a sweep.
    Unknown(Error),
}

/// How often the command of an applied write was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sends {
    /// Every command was answered, so nothing more can come of the write.
    Once,
    /// The connection broke after the first command, and the second one was applied. The first one may still reach
    /// the server, and is applied if its guard holds then.
    Twice,
}

impl<T> Outcome<T> {
    /// The outcome of a write that returned `Some` if it was applied and `None` if it was refused.
    pub(super) fn of(decided: Result<Option<T>, Error>) -> Self {
        match decided {
            Ok(Some(after)) => Self::Applied(after),
            Ok(None) => Self::Refused,
            Err(error) => Self::Unknown(error),
        }
    }

    /// The outcome with another result.
    pub(super) fn map<U>(self, to: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Applied(after) => Outcome::Applied(to(after)),
            Self::Refused => Outcome::Refused,
            Self::Unknown(error) => Outcome::Unknown(error),
        }
    }

    /// `Some` if applied, `None` if refused.
    ///
    /// # Errors
    /// The outcome is unknown: the caller must stop, and leave the rest to a repeat or a sweep.
    pub fn decided(self) -> Result<Option<T>, Error> {
        match self {
            Self::Applied(after) => Ok(Some(after)),
            Self::Refused => Ok(None),
            Self::Unknown(error) => Err(error),
        }
    }
}

/// A guarded write that is ready to be sent: as `findAndModify`, which returns the document after the write,
/// or as `update`, which doesn't.
///
/// The command may be sent twice, and its first copy may arrive last; see `raw_writes`. So one of three is true: after the
/// write the guard no longer holds, or a repetition does no harm even after later writes, or the write is
/// [numbered](Guarded::numbered).
#[must_use = "nothing is written before it is sent"]
pub struct Guarded<T: Stored> {
    write: Write,
    loader: Arc<Loader>,
    holds: PhantomData<fn() -> T>,
}

/// The write without its document type.
#[derive(Clone)]
pub(super) struct Write {
    pub(super) collection: Raw,
    /// `_id` of the document, if the filter doesn't have it; see [`Guarded::of_each`].
    pub(super) id: Option<String>,
    pub(super) filter: Arc<Document>,
    pub(super) update: Arc<UpdateModifications>,
    /// Whether the last stage of the update computes the derived field; see `super::derived`.
    pub(super) derives: bool,
    /// The newest version of documents that it may change; see `super::migrations`.
    pub(super) newest: i32,
    projection: Option<Document>,
    applied_if: Option<Box<Document>>,
    limit: Option<Duration>,
    /// Whether its command has a number; see [`Guarded::numbered`].
    pub(super) is_numbered: bool,
    /// The writes like it, and its own key; see [`Guarded::alike`].
    pub(super) alike: Option<(&'static Alike, String)>,
}

/// Writes of different documents that one statement makes together. What each of them changes follows from its document and
/// its key.
#[derive(Debug)]
pub struct Alike {
    /// Its name, by which the writes are grouped.
    pub name: &'static str,
    /// Whether their callers need to know that each of the guards held.
    pub is_certain: bool,
    /// The guard and the fields that are set, as expressions, of the writes with these keys. The guard is a filter, and an
    /// expression if it is certain.
    pub of: fn(&[Bson]) -> (Document, Document),
}

impl<T: Stored> Guarded<T> {
    pub(super) fn new(
        loader: &Arc<Loader>,
        collection: Raw,
        filter: Document,
        update: UpdateModifications,
        derives: bool,
        newest: i32,
    ) -> Self {
        let loader = Arc::clone(loader);
        let write = Write {
            collection,
            id: None,
            filter: Arc::new(filter),
            update: Arc::new(update),
            derives,
            newest,
            projection: None,
            applied_if: None,
            limit: None,
            is_numbered: false,
            alike: None,
        };
        Self { write, loader, holds: PhantomData }
    }

    /// Adds a condition to the guard, and sets the command's `maxTimeMS`.
    pub fn also(mut self, guard: Document, limit: Duration) -> Self {
        let filter = Arc::unwrap_or_clone(self.write.filter);
        self.write.filter = Arc::new(both(filter, guard));
        self.write.limit = Some(limit);
        self
    }

    /// This write, whose filter names no `_id`, of each of these documents. Those that share a command are one statement, which
    /// MongoDB parses once. It doesn't tell which of its documents refused it. So a write that was applied can count as refused if
    /// another one of them was refused, or if a document of such a statement isn't there. This is for writes whose callers find
    /// out then what became of each.
    pub fn of_each(self, ids: impl IntoIterator<Item = String>) -> Vec<Self> {
        let Self { write, loader, .. } = self;
        let of = |id| {
            let write = Write { id: Some(id), ..write.clone() };
            Self { write, loader: Arc::clone(&loader), holds: PhantomData }
        };
        ids.into_iter().map(of).collect()
    }

    /// States that the document matches `filter` if the write was applied, and otherwise doesn't. `filter` selects it
    /// by a unique key. If the reply to a command is lost, the command is sent again; a guard that doesn't hold then
    /// leaves open whether the first one was applied. This filter decides it.
    pub fn applied_if(mut self, filter: Document) -> Self {
        self.write.applied_if = Some(Box::new(filter));
        self
    }

    /// States that the guard can hold again after the write, and that a copy that arrived late would undo a later write.
    /// The command of the write then has a number, by which MongoDB answers the second copy with the result of the first
    /// (`super::numbered`). No copy is applied after the outcome is known. A command that it shares with other writes has a
    /// number for all of them.
    pub fn numbered(mut self) -> Self {
        self.write.is_numbered = true;
        self
    }

    /// States that the write can share a statement with others that are alike. `key` is in the guard of this write alone. MongoDB
    /// parses the statement once for all of them.
    ///
    /// If the statement [is certain](Alike::is_certain), it fails at the first document that refuses it, and then each write is
    /// sent by itself. So a write that was applied can count as refused, as in [`Self::of_each`]. Otherwise MongoDB doesn't tell
    /// which of the guards held. So a write that shared a statement counts as applied, also if its guard didn't hold, or if a
    /// shard missed its document while the balancer moved it. If the statement fails, a write that was applied can count as
    /// refused. This is for writes after which the caller goes on in the same way in both cases.
    pub fn alike(mut self, alike: &'static Alike, key: &str) -> Self {
        let is_possible = alike.is_certain || !self.write.derives;
        self.write.alike = is_possible.then(|| (alike, key.to_owned()));
        self
    }

    /// Returns only these fields of the document after the write; `T` must be decodable from them.
    pub fn answering(mut self, fields: Document) -> Self {
        self.write.projection = Some(fields);
        self
    }

    /// Sends the write as `update`, which doesn't return the document and costs MongoDB less. Writes of other requests
    /// may share the command.
    pub async fn done(self) -> Outcome<()> {
        Outcome::of(self.sends().await).map(|_sends| ())
    }

    /// Sends the write so that writes of other requests may share its command. Returns the document after the write, or
    /// `None` if the guard didn't hold. If the command was shared, the document is read afterwards and may contain later
    /// writes. [`Self::after`] returns exactly what was written.
    ///
    /// # Errors
    /// The outcome is unknown; see [`Outcome::decided`].
    pub async fn then_read(self) -> Result<Option<T>, Error> {
        let read = Box::pin(self.sends_then_read()).await?;
        Ok(read.map(|(after, _sends)| after))
    }

    /// Like [`Self::then_read`], and returns how often the command was sent; see [`Self::sends`].
    ///
    /// # Errors
    /// The outcome is unknown; see [`Outcome::decided`].
    pub async fn sends_then_read(self) -> Result<Option<(T, Sends)>, Error> {
        let Some((writer, selected)) = self.loader.writers.of(&self.write) else {
            let Some((after, sends)) = Box::pin(self.write.find_and_modify()).await? else {
                return Ok(None);
            };
            return Ok(Some((migrations::read(&after)?, sends)));
        };
        let Self { write, loader, .. } = self;
        let (collection, reads) = (write.collection.name, write.collection.reads);
        let id = selected.id.clone();
        let submitted = Box::pin(writer::submit(writer, (write, selected), true));
        let (after, sends) = match submitted.await.decided()? {
            None => return Ok(None),
            Some(After::Exact(after, sends)) => {
                return Ok(Some((migrations::read(&after)?, sends)));
            }
            Some(After::Unread(sends)) => {
                let keys = Keys::Id;
                // As attempts begin with it, so that the reads of both share commands.
                let fields = Fields::Timed;
                let lookup = Lookup { collection, reads, keys, fields, majority: true };
                (loader.read(&lookup, &id).await?, sends)
            }
        };
        let removed = || Error::unavailable("the document was removed after the write");
        Ok(Some((migrations::read(after.ok_or_else(removed)?.as_ref())?, sends)))
    }

    /// Sends the write as [`send`](Self::send). Returns the document after the write, or `None` if the guard didn't
    /// hold.
    ///
    /// # Errors
    /// The outcome is unknown; see [`Outcome::decided`].
    pub async fn after(self) -> Result<Option<T>, Error> {
        self.send().await.decided()
    }

    /// Sends the write as [`done`](Self::done), and returns whether the guard held.
    ///
    /// # Errors
    /// The outcome is unknown; see [`Outcome::decided`].
    pub async fn held(self) -> Result<bool, Error> {
        Ok(self.sends().await?.is_some())
    }

    /// Sends the write as [`done`](Self::done), and returns how often its command was sent, or `None` if the guard
    /// didn't hold. It is for writes whose guard can hold again before their deadline: after [`Sends::Twice`], what
    /// makes it hold again has to wait until that deadline has passed.
    ///
    /// # Errors
    /// The outcome is unknown; see [`Outcome::decided`].
    pub async fn sends(self) -> Result<Option<Sends>, Error> {
        let Self { write, loader, .. } = self;
        let Some((writer, selected)) = loader.writers.of(&write) else {
            return Box::pin(write.update()).await;
        };
        let submitted = Box::pin(writer::submit(writer, (write, selected), false));
        let after = submitted.await.decided()?;
        Ok(after.map(|after| match after {
            After::Unread(sends) | After::Exact(_, sends) => sends,
        }))
    }

    /// Sends the write as `findAndModify`.
    pub async fn send(self) -> Outcome<T> {
        let after = self.write.find_and_modify().await;
        let read = |(after, _sends)| migrations::read(&after);
        Outcome::of(after.and_then(|after| after.map(read).transpose()))
    }
}

impl Write {
    /// `maxTimeMS` of the command.
    pub(super) fn limit(&self) -> Duration {
        self.limit.unwrap_or(DEFAULT_LIMIT)
    }

    /// The document, if it shows that the write was applied. `uncertain` is the error after which a command was sent
    /// again and refused. It is returned if the write may not have been applied.
    pub(super) async fn if_applied(&self, uncertain: Error) -> Result<RawDocumentBuf, Error> {
        let Some(filter) = self.applied_if.as_deref().cloned() else { return Err(uncertain) };
        let list = List { filter, limit: 1, ..List::default() };
        let found = Box::pin(find_many(self.collection.clone(), list, self.limit())).await;
        found.unwrap_or_default().pop().ok_or(uncertain)
    }

    /// Sends an `update`. Returns how often, or `None` if the guard didn't hold.
    pub(super) async fn update(mut self) -> Result<Option<Sends>, Error> {
        if self.is_numbered {
            // Alone, all writes with numbers are commands of one kind.
            self.projection = Some(doc! { "_id": 1 });
            return Ok(Box::pin(self.find_and_modify()).await?.map(|(_after, sends)| sends));
        }
        let change = self.take_change()?;
        let one = encode(&doc! { "q": self.take_filter(), "u": change })?;
        let (concern, limit) = (Concern::Majority, self.limit());
        let updated = update(&self.collection, vec![one], None, concern, limit).await?;
        // A duplicate key refuses the write like any other guard.
        if updated.refused()?.is_empty() && updated.matched()? > 0 {
            return Ok(Some(updated.sends()));
        }
        match updated.check_refusal() {
            Ok(()) => Ok(None),
            Err(uncertain) => self.if_applied(uncertain).await.map(|_after| Some(Sends::Once)),
        }
    }

    /// Sends a `findAndModify`. Returns the document after the write, and how often it was sent.
    pub(super) async fn find_and_modify(
        mut self,
    ) -> Result<Option<(RawDocumentBuf, Sends)>, Error> {
        let change = self.take_change()?;
        let (filter, mut fields) = (self.take_filter(), doc! { "update": change });
        if let Some(projection) = self.projection.take() {
            fields.insert("fields", projection);
        }
        let (limit, is_numbered) = (self.limit(), self.is_numbered);
        let sent =
            raw_writes::find_and_modify(&self.collection, filter, fields, is_numbered, limit);
        match sent.await? {
            Modified::Applied(after, sends) => Ok(Some((after, sends))),
            Modified::Refused => Ok(None),
            Modified::Uncertain(error) => {
                let after = self.if_applied(error).await?;
                Ok(Some((after, Sends::Once)))
            }
        }
    }

    /// The update as the commands have it.
    fn take_change(&mut self) -> Result<Bson, Error> {
        let nothing = Arc::new(UpdateModifications::Pipeline(Vec::new()));
        match Arc::unwrap_or_clone(mem::replace(&mut self.update, nothing)) {
            UpdateModifications::Pipeline(stages) => {
                Ok(stages.into_iter().map(Bson::Document).collect())
            }
            update => bson::serialize_to_bson(&update).map_err(Error::internal),
        }
    }

    /// The filter, which doesn't match documents of versions that aren't known.
    fn take_filter(&mut self) -> Document {
        let filter = Arc::unwrap_or_clone(mem::take(&mut self.filter));
        migrations::known(self.with_id(filter), self.newest)
    }

    /// The filter, with the `_id`.
    pub(super) fn whole_filter(&self) -> Document {
        self.with_id(Document::clone(&self.filter))
    }

    fn with_id(&self, filter: Document) -> Document {
        match &self.id {
            Some(id) => both(doc! { "_id": id }, filter),
            None => filter,
        }
    }
}

/// `maxTimeMS` of writes that belong to no attempt.
pub(super) const DEFAULT_LIMIT: Duration = Duration::from_secs(10);
