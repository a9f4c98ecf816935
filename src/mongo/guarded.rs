//! The guarded write: the condition stands in the update's filter, never in a read before it.
//!
//! Source of the pattern: "compare and set" in MongoDB's manual on atomicity of single-document
//! writes, <https://www.mongodb.com/docs/manual/core/write-operations-atomicity/>.

use std::{marker::PhantomData, time::Duration};

use mongodb::{
    bson::{self, Document, RawDocumentBuf, doc},
    options::{ReturnDocument, UpdateModifications},
};

use serde::de::DeserializeOwned;

use super::{
    driver::{Raw, decode, is_duplicate_key},
    expression::both,
    flow::Run,
    plain::{find_and_modify, update},
};
use crate::error::Error;

/// What became of a guarded write. There is no fourth case, and none may be dropped.
#[must_use = "the outcome of a write decides what may be done next"]
#[derive(Debug)]
pub enum Outcome<T> {
    /// The guard held and the write is on a majority; the document as it stands after it.
    Applied(T),
    /// The guard didn't hold when the write came; nothing changed.
    Refused,
    /// Nobody can say: it may have been applied or may yet be. It is never undone and never shown
    /// as refused; the caller hears the error, the flow is repeated under its op id or swept.
    Unknown(Error),
}

impl<T> Outcome<T> {
    /// `Some` when applied, `None` when refused.
    ///
    /// # Errors
    /// The outcome is unknown: the caller must stop here and leave the rest to a repeat or a sweep.
    pub fn decided(self) -> Result<Option<T>, Error> {
        match self {
            Self::Applied(after) => Ok(Some(after)),
            Self::Refused => Ok(None),
            Self::Unknown(error) => Err(error),
        }
    }
}

/// A guarded write that is ready to be sent: as `findAndModify`, which answers with the document after, or
/// as a plain `update`.
#[must_use = "nothing is written before apply() or done()"]
pub struct Guarded<T: DeserializeOwned> {
    write: Write,
    holds: PhantomData<fn() -> T>,
}

/// The write without its document type.
struct Write {
    collection: Raw,
    filter: Document,
    update: UpdateModifications,
    array_filters: Vec<Document>,
    answer: Option<Document>,
    limit: Option<Duration>,
    once: bool,
}

impl<T: DeserializeOwned> Guarded<T> {
    pub(super) fn new(collection: Raw, filter: Document, update: UpdateModifications) -> Self {
        let (array_filters, answer, limit, once) = (Vec::new(), None, None, false);
        let write = Write { collection, filter, update, array_filters, answer, limit, once };
        Self { write, holds: PhantomData }
    }

    /// Applied only before the run's deadline on the server's clock: for every take and every give.
    pub fn within(mut self, run: &Run) -> Self {
        self.write.filter = both(self.write.filter, run.alive());
        self.write.limit = Some(run.command_limit());
        self
    }

    /// Which array elements `$[name]` in the update means.
    pub fn array_filters(mut self, filters: Vec<Document>) -> Self {
        self.write.array_filters = filters;
        self
    }

    /// Answers with only these fields of the document after; `T` must be readable from them.
    pub fn answering(mut self, fields: Document) -> Self {
        self.write.answer = Some(fields);
        self
    }

    /// Its guard holds no more once it is applied. MongoDB then needs no record of it, in which it would find
    /// that a command was sent again: see `plain`.
    pub fn once(mut self) -> Self {
        self.write.once = true;
        self
    }

    /// Sends it where nobody looks at the document after, as a plain `update`: it costs MongoDB less. As with
    /// [`Self::once`], it may be sent again.
    pub async fn done(self) -> Outcome<()> {
        match self.write.update().await {
            Ok(true) => Outcome::Applied(()),
            Ok(false) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// Sends it.
    pub async fn apply(self) -> Outcome<T> {
        let after = if self.write.once {
            let after = self.write.once().await;
            after.and_then(|after| {
                after.map(bson::deserialize_from_document).transpose().map_err(Error::internal)
            })
        } else {
            self.write.send().await.and_then(|after| after.as_ref().map(decode).transpose())
        };
        match after {
            Ok(Some(after)) => Outcome::Applied(after),
            Ok(None) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }
}

impl Write {
    /// Says whether the guard held.
    async fn update(self) -> Result<bool, Error> {
        let change = bson::serialize_to_bson(&self.update).map_err(Error::internal)?;
        let mut one = doc! { "q": self.filter, "u": change };
        if !self.array_filters.is_empty() {
            one.insert("arrayFilters", self.array_filters);
        }
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let updated = update(&self.collection, vec![one], limit).await?;
        // A taken unique key refuses the write like any other guard.
        if updated.refused()?.is_empty() && updated.matched()? > 0 {
            return Ok(true);
        }
        updated.told()?;
        Ok(false)
    }

    /// The document after.
    async fn once(self) -> Result<Option<Document>, Error> {
        let change = bson::serialize_to_bson(&self.update).map_err(Error::internal)?;
        let mut said = doc! { "query": self.filter, "update": change };
        if !self.array_filters.is_empty() {
            said.insert("arrayFilters", self.array_filters);
        }
        if let Some(fields) = self.answer {
            said.insert("fields", fields);
        }
        find_and_modify(&self.collection, said, self.limit.unwrap_or(DEFAULT_LIMIT)).await
    }

    async fn send(self) -> Result<Option<RawDocumentBuf>, Error> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        // The server's limit doesn't count while a command waits in front of it, so the gateway
        // stops waiting by itself a little later. The command is not dropped.
        let patience = limit + Duration::from_secs(1);
        let handle = self.collection.clone();
        handle
            .send_within(patience, "findAndModify", async move {
                let mut action = self
                    .collection
                    .find_one_and_update(self.filter, self.update)
                    .return_document(ReturnDocument::After)
                    .max_time(limit);
                if !self.array_filters.is_empty() {
                    action = action.array_filters(self.array_filters);
                }
                if let Some(fields) = self.answer {
                    action = action.projection(fields);
                }
                match action.await {
                    // A taken unique key refuses the write like any other guard.
                    Err(error) if is_duplicate_key(&error) => Ok(None),
                    answer => answer,
                }
            })
            .await
    }
}

/// `maxTimeMS` of writes that belong to no run.
const DEFAULT_LIMIT: Duration = Duration::from_secs(10);
