//! Leases: one holder at a time, until a deadline on the server's clock.
//!
//! For background work, a lease only avoids duplicate work. A lease may also serialise changes, such as those of
//! the category tree. Then the deadline of the holder's attempt guards its writes too, and the lease ends no
//! earlier than one grace period after the attempt began.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use mongodb::bson::{DateTime, Document, doc};

use super::{Attempt, Bounds, later};
use crate::{
    error::Error,
    mongo::{
        collection::{Collection, Version},
        expression::literal,
        guarded::Outcome,
        stored::document,
    },
};

document! {
    /// A lease in its stored form.
    pub struct LeaseDocument {
        /// Name of the lease.
        pub name as "_id": String,
        /// The holder.
        pub holder: String,
        /// The deadline, on the server's clock.
        pub until: DateTime,
        /// Time up to which the work under the lease is done, for work that continues where it stopped.
        pub done?: DateTime,
        /// Digests of settings, by key, if the lease is what its holder states of them.
        pub settings?: BTreeMap<String, String>,
        /// Version of the document's shape. Documents of earlier releases don't have it.
        #[serde(default)]
        pub v: Version<1>,
    } in "leases" by unsharded("it has a few documents") {}
}

/// A held lease.
#[derive(Debug)]
pub struct Lease {
    leases: Collection<LeaseDocument>,
    name: String,
    holder: String,
    /// The deadline, by which its holder's earlier leases of that name differ from it.
    until: DateTime,
    done: Option<DateTime>,
}

/// Pause between two tries to get a lease.
const POLL: Duration = Duration::from_millis(20);

impl Lease {
    /// Acquires the lease `name` for one grace period, with an attempt that begins together with it. Waits
    /// for the lease for at most the length of an attempt.
    ///
    /// # Errors
    /// `Unavailable` if another holds it or the outcome is unknown; `Internal`.
    pub async fn wait_for(
        leases: Collection<LeaseDocument>,
        name: &str,
        holder: String,
        bounds: Bounds,
    ) -> Result<(Self, Attempt), Error> {
        let since = Instant::now();
        loop {
            let attempt = leases.begin(bounds).await?;
            let acquired =
                Self::acquire(leases.clone(), name, holder.clone(), &attempt, bounds).await?;
            if let Some(lease) = acquired {
                return Ok((lease, attempt));
            }
            if since.elapsed() >= bounds.attempt {
                return Err(Error::unavailable(format!("another holds the lease {name}")));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Releases the lease if every command under it was answered, and otherwise lets it expire.
    pub async fn end(self, answered: bool) {
        let name = self.name.clone();
        if answered && let Outcome::Unknown(error) = self.release().await {
            tracing::warn!(
                event = "lease_release_failed",
                name,
                ?error,
                "lease release failed; the lease expires"
            );
        }
    }

    /// Acquires the lease `name` for one grace period from the beginning of `attempt`. Returns `None` while
    /// another holds it.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; the lease may then stay taken until its deadline without a holder.
    pub async fn acquire(
        leases: Collection<LeaseDocument>,
        name: &str,
        holder: String,
        attempt: &Attempt,
        bounds: Bounds,
    ) -> Result<Option<Self>, Error> {
        let until = later(attempt.now(), bounds.grace_period());
        let lease = |done| Self {
            leases: leases.clone(),
            name: name.to_owned(),
            holder: holder.clone(),
            until,
            done,
        };
        let free = doc! { "_id": name, "$expr": { "$lt": ["$until", "$$NOW"] } };
        let set = doc! { "$set": { "holder": literal(&holder), "until": until, "v": 1 } };
        let mine = doc! { "_id": name, "holder": &holder, "until": until };
        // A copy that arrives after the release would take the lease for nobody.
        let acquire = leases.guarded(free, vec![set]).within(attempt).applied_if(mine).numbered();
        if let Some(acquired) = acquire.after().await? {
            return Ok(Some(lease(acquired.done)));
        }
        // Held by another, or never held: the first holder inserts it.
        let (name, holder) = (name.to_owned(), holder.clone());
        let first = LeaseDocument { name, holder, until, done: None, settings: None, v: Version };
        Ok(leases.insert(&first).await.decided()?.map(|()| lease(None)))
    }

    /// Keeps the lease until one grace period after the beginning of `attempt`. Returns `false` if it has ended.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; the lease may then be kept, but neither [`Self::release`] nor a later call finds it.
    pub async fn keep(&mut self, attempt: &Attempt, bounds: Bounds) -> Result<bool, Error> {
        let until = later(attempt.now(), bounds.grace_period());
        let kept = doc! { "_id": &self.name, "holder": &self.holder, "until": until };
        let keep = self.leases.guarded(self.mine(), doc! { "$set": { "until": until } });
        let is_kept = keep.within(attempt).applied_if(kept).held().await?;
        if is_kept {
            self.until = until;
        }
        Ok(is_kept)
    }

    /// Time up to which the work under the lease is done; `None` if it was never recorded.
    pub fn done(&self) -> Option<DateTime> {
        self.done
    }

    /// Records the time up to which the work under the lease is done, and keeps the lease. Refused if another
    /// holds it by now.
    pub async fn note_done(&self, upto: DateTime) -> Outcome<LeaseDocument> {
        self.leases.guarded(self.mine(), doc! { "$set": { "done": upto } }).send().await
    }

    /// Releases the lease. Only for a holder whose every command was answered; a holder with an unknown
    /// outcome lets the lease expire.
    pub async fn release(self) -> Outcome<()> {
        let until = DateTime::from_millis(0);
        let freed = doc! { "_id": &self.name, "holder": &self.holder, "until": until };
        let free = doc! { "$set": { "until": until } };
        self.leases.guarded(self.mine(), free).applied_if(freed).done().await
    }

    /// Guard: it is held, and not a later lease of the same holder.
    fn mine(&self) -> Document {
        doc! { "_id": &self.name, "holder": &self.holder, "until": self.until }
    }
}
