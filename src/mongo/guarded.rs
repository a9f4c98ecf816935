//! The guarded write: its condition is part of the update's filter, instead of a read before the update.
//!
//! Source of the pattern: "compare and set" in MongoDB's manual on atomicity of single-document writes,
//! <https://www.mongodb.com/docs/manual/core/write-operations-atomicity/>.

use std::{marker::PhantomData, time::Duration};

use mongodb::{
    bson::{self, Document, RawDocumentBuf, doc},
    options::{ReturnDocument, UpdateModifications},
};

use serde::de::DeserializeOwned;

use super::{
    driver::{Raw, decode, is_duplicate_key},
    expression::both,
    raw_writes::{find_and_modify, update},
};
use crate::error::Error;

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

impl<T> Outcome<T> {
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
    projection: Option<Document>,
    limit: Option<Duration>,
    once: bool,
}

impl<T: DeserializeOwned> Guarded<T> {
    pub(super) fn new(collection: Raw, filter: Document, update: UpdateModifications) -> Self {
        let (array_filters, projection, limit, once) = (Vec::new(), None, None, false);
        let write = Write { collection, filter, update, array_filters, projection, limit, once };
        Self { write, holds: PhantomData }
    }

    /// Adds a condition to the guard, and sets the command's `maxTimeMS`.
    pub fn also(mut self, guard: Document, limit: Duration) -> Self {
        self.write.filter = both(self.write.filter, guard);
        self.write.limit = Some(limit);
        self
    }

    /// Sets the filters of the array elements that `$[name]` in the update selects.
    pub fn array_filters(mut self, filters: Vec<Document>) -> Self {
        self.write.array_filters = filters;
        self
    }

    /// Returns only these fields of the document after the write; `T` must be decodable from them.
    pub fn answering(mut self, fields: Document) -> Self {
        self.write.projection = Some(fields);
        self
    }

    /// States that the guard no longer holds after the write. MongoDB then needs no record of the write to
    /// recognise a repeated command; see `raw_writes`.
    pub fn once(mut self) -> Self {
        self.write.once = true;
        self
    }

    /// Sends the write as `update`, which doesn't return the document and costs MongoDB less. As with
    /// [`Self::once`], the command may be sent again.
    pub async fn done(self) -> Outcome<()> {
        match self.write.update().await {
            Ok(true) => Outcome::Applied(()),
            Ok(false) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// Sends the write as `findAndModify`, [`once`](Self::once). Returns the document after the write, or `None`
    /// if the guard didn't hold.
    ///
    /// # Errors
    /// The outcome is unknown; see [`Outcome::decided`].
    pub async fn after(self) -> Result<Option<T>, Error> {
        self.once().apply().await.decided()
    }

    /// Sends the write as [`done`](Self::done), and returns whether the guard held.
    ///
    /// # Errors
    /// The outcome is unknown; see [`Outcome::decided`].
    pub async fn held(self) -> Result<bool, Error> {
        Ok(self.done().await.decided()?.is_some())
    }

    /// Sends the write as `findAndModify`.
    pub async fn apply(self) -> Outcome<T> {
        let after = if self.write.once {
            let after = self.write.find_and_modify_raw().await;
            after.and_then(|after| {
                after.map(bson::deserialize_from_document).transpose().map_err(Error::internal)
            })
        } else {
            self.write
                .find_and_modify()
                .await
                .and_then(|after| after.as_ref().map(decode).transpose())
        };
        match after {
            Ok(Some(after)) => Outcome::Applied(after),
            Ok(None) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }
}

impl Write {
    /// Sends an `update`, and returns whether the guard held.
    async fn update(self) -> Result<bool, Error> {
        let change = bson::serialize_to_bson(&self.update).map_err(Error::internal)?;
        let mut one = doc! { "q": self.filter, "u": change };
        if !self.array_filters.is_empty() {
            one.insert("arrayFilters", self.array_filters);
        }
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let updated = update(&self.collection, vec![one], limit).await?;
        // A duplicate key refuses the write like any other guard.
        if updated.refused()?.is_empty() && updated.matched()? > 0 {
            return Ok(true);
        }
        updated.check_refusal()?;
        Ok(false)
    }

    /// Sends a raw `findAndModify`, and returns the document after the write.
    async fn find_and_modify_raw(self) -> Result<Option<Document>, Error> {
        let change = bson::serialize_to_bson(&self.update).map_err(Error::internal)?;
        let mut fields = doc! { "query": self.filter, "update": change };
        if !self.array_filters.is_empty() {
            fields.insert("arrayFilters", self.array_filters);
        }
        if let Some(projection) = self.projection {
            fields.insert("fields", projection);
        }
        find_and_modify(&self.collection, fields, self.limit.unwrap_or(DEFAULT_LIMIT)).await
    }

    /// Sends a `findAndModify` by the driver, and returns the document after the write.
    async fn find_and_modify(self) -> Result<Option<RawDocumentBuf>, Error> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        // `maxTimeMS` doesn't include the time that a command waits before the server starts it. The gateway
        // therefore waits a little longer. The command isn't dropped.
        let time_limit = limit + Duration::from_secs(1);
        let handle = self.collection.clone();
        handle
            .send_within(time_limit, "findAndModify", async move {
                let mut action = self
                    .collection
                    .find_one_and_update(self.filter, self.update)
                    .return_document(ReturnDocument::After)
                    .max_time(limit);
                if !self.array_filters.is_empty() {
                    action = action.array_filters(self.array_filters);
                }
                if let Some(projection) = self.projection {
                    action = action.projection(projection);
                }
                match action.await {
                    // A duplicate key refuses the write like any other guard.
                    Err(error) if is_duplicate_key(&error) => Ok(None),
                    reply => reply,
                }
            })
            .await
    }
}

/// `maxTimeMS` of writes that belong to no attempt.
const DEFAULT_LIMIT: Duration = Duration::from_secs(10);
