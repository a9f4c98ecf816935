//! One holder at a time, until a deadline on the server's clock.
//!
//! For background work a lease only saves work. Where it serialises something (the shape of the
//! category tree) the holder's writes are guarded by its run's deadline as well, and the lease ends
//! no earlier than one bound after the run began.

use std::time::{Duration, Instant};

use mongodb::bson::{DateTime, doc};
use serde::{Deserialize, Serialize};

use super::{
    collection::{Collection, Stored},
    expression::literal,
    flow::{Bounds, Run},
    guarded::Outcome,
    indexes::Index,
};
use crate::error::Error;

/// A lease as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeaseDocument {
    /// What is leased.
    #[serde(rename = "_id")]
    pub name: String,
    /// Who has it.
    pub holder: String,
    /// Until when, on the server's clock.
    pub until: DateTime,
    /// Up to when the work under it was done, for work that goes on where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<DateTime>,
}

impl Stored for LeaseDocument {
    const COLLECTION: &'static str = "leases";
    const INDEXES: &'static [Index] = &[];
}

/// A lease that is held.
#[derive(Debug)]
pub struct Lease {
    leases: Collection<LeaseDocument>,
    name: String,
    holder: String,
    done: Option<DateTime>,
}

/// Pause between two tries to get a lease.
const POLL: Duration = Duration::from_millis(20);

impl Lease {
    /// Takes the lease `name` for one bound, and a run that begins with it; waits for it as long as a
    /// run lasts.
    ///
    /// # Errors
    /// `Unavailable`: another holds it, or the outcome is unknown. `Internal`.
    pub async fn wait_for(
        leases: Collection<LeaseDocument>,
        name: &str,
        holder: String,
        bounds: Bounds,
    ) -> Result<(Self, Run), Error> {
        let since = Instant::now();
        loop {
            let run = leases.begin(bounds).await?;
            let taken = Self::take(leases.clone(), name, holder.clone(), &run, bounds).await?;
            if let Some(lease) = taken {
                return Ok((lease, run));
            }
            if since.elapsed() >= bounds.run {
                return Err(Error::unavailable(format!("another holds the lease {name}")));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Gives it back where every command under it was answered, else lets it run out.
    pub async fn end(self, answered: bool) {
        let name = self.name.clone();
        if answered && let Outcome::Unknown(error) = self.release().await {
            tracing::warn!(name, ?error, "the lease isn't given back and runs out");
        }
    }

    /// Takes the lease `name` for one bound from `run`'s beginning; `None` while another holds it.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it may be held until its deadline by nobody.
    pub async fn take(
        leases: Collection<LeaseDocument>,
        name: &str,
        holder: String,
        run: &Run,
        bounds: Bounds,
    ) -> Result<Option<Self>, Error> {
        let end =
            run.now().timestamp_millis() + i64::try_from(bounds.one().as_millis()).unwrap_or(0);
        let until = DateTime::from_millis(end);
        let lease = |done| Self {
            leases: leases.clone(),
            name: name.to_owned(),
            holder: holder.clone(),
            done,
        };
        let free = doc! { "_id": name, "$expr": { "$lt": ["$until", "$$NOW"] } };
        let set = doc! { "$set": { "holder": literal(&holder), "until": until } };
        if let Some(taken) = leases.guarded(free, vec![set]).within(run).apply().await.decided()? {
            return Ok(Some(lease(taken.done)));
        }
        // Held by another, or never held: the first holder inserts it.
        let (name, holder) = (name.to_owned(), holder.clone());
        let first = LeaseDocument { name, holder, until, done: None };
        Ok(leases.insert(first).await.decided()?.map(|()| lease(None)))
    }

    /// Up to when the work under it was done; `None` where that was never said.
    pub fn done(&self) -> Option<DateTime> {
        self.done
    }

    /// Says up to when the work under it was done, and goes on. Refused where another has it by now.
    pub async fn note_done(&self, upto: DateTime) -> Outcome<LeaseDocument> {
        let mine = doc! { "_id": &self.name, "holder": &self.holder };
        self.leases.guarded(mine, doc! { "$set": { "done": upto } }).apply().await
    }

    /// Gives it back. Only for a holder whose every command was answered; who has an unknown one
    /// behind it lets the lease run out.
    pub async fn release(self) -> Outcome<()> {
        let mine = doc! { "_id": &self.name, "holder": &self.holder };
        let free = doc! { "$set": { "until": DateTime::from_millis(0) } };
        match self.leases.guarded(mine, free).apply().await {
            Outcome::Applied(_) => Outcome::Applied(()),
            Outcome::Refused => Outcome::Refused,
            Outcome::Unknown(error) => Outcome::Unknown(error),
        }
    }
}
