//! The bounds on the number of jobs: of one producer, and of all producers together.
//!
//! A gateway estimates each number: the result of its last count, and the jobs that it has added since. So an `enqueue`
//! needs no command of its own for its bound. A number is counted again
//!
//! - at a producer's first `enqueue`;
//! - before a refusal, unless the last count is younger than [`AGAIN`];
//! - if the last count is older than [`INTERVAL`], and more than a hundredth of the bound was added since.
//!
//! A slow count makes the pauses longer, so that counting takes a small part of MongoDB's time.
//!
//! A count may miss jobs that are claimed at the same moment. One gateway alone exceeds a bound at most by the number
//! of these jobs. Several gateways learn of each other's jobs only by counting, so together they may exceed a bound
//! further. Each gateway exceeds it at most by a hundredth of the bound or by the jobs that it adds in one interval,
//! whichever is more. `retryDeadJobs` isn't refused because of a bound, and jobs of docgate itself aren't counted.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::super::{
    store,
    types::{QueueFull, QueueScope},
};
use crate::{graphql::prelude::*, locks::lock};

/// Minimum age of a count that is replaced because of its age.
const INTERVAL: Duration = Duration::from_secs(5);
/// Minimum age of a count that is replaced before a refusal.
const AGAIN: Duration = Duration::from_secs(1);
/// The same ages as multiples of the time that the count took.
const INTERVAL_TIMES: u32 = 20;
const AGAIN_TIMES: u32 = 10;
/// Number of producers from which on those are forgotten who enqueue nothing at the moment. They are counted again.
const PRODUCERS: usize = 1_000;

/// The estimates of this gateway.
#[derive(Default)]
struct Estimates {
    all: Arc<Estimate>,
    by_producer: Mutex<HashMap<String, Arc<Estimate>>>,
}

/// The number of jobs of one producer, or of all, as far as this gateway knows.
#[derive(Default)]
struct Estimate {
    numbers: Mutex<Numbers>,
    /// Held while the jobs are counted.
    counting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Numbers {
    last: Option<Count>,
    /// Jobs that were added since the last count began, or that were being added then.
    added: u64,
    /// The same since the count began that is under way.
    added_meanwhile: u64,
    /// Jobs that are being added.
    under_way: u64,
}

/// The result of a count.
#[derive(Clone, Copy)]
struct Count {
    jobs: u64,
    began: Instant,
    took: Duration,
}

/// What the estimate says of one more job.
enum Answer {
    /// There is room, which is taken.
    Taken,
    /// There is no room.
    Full,
    /// The jobs have to be counted; the last count began then.
    Outdated(Option<Instant>),
}

/// The room for one job in both bounds. It is held until the job has been added, and then dropped.
pub(super) struct Admitted {
    of_producer: Place,
    of_all: Place,
}

impl Admitted {
    /// Gives the room back, because no job was added.
    pub(super) fn give_back(self) {
        self.of_producer.give_back();
        self.of_all.give_back();
    }
}

/// Admits one more job of a producer, if there is room for it.
///
/// # Errors
/// The jobs couldn't be counted. Nothing was added.
pub(super) async fn admit(app: &App, by: &str) -> Result<Result<Admitted, QueueFull>> {
    let estimates = app.shared::<Estimates>();
    let full = |limit: u64, scope, whose| {
        let message = format!("{whose} as many unfinished jobs as the gateway permits, {limit}");
        QueueFull::because(message, Long(i64::try_from(limit).unwrap_or(i64::MAX)), scope)
    };
    let limit = app.config().queue_jobs_per_producer;
    let Some(of_producer) = estimates.of(by).take(app, Some(by), limit).await? else {
        return Ok(Err(full(limit, QueueScope::Producer, "you have")));
    };
    let limit = app.config().queue_jobs;
    let Some(of_all) = estimates.all.take(app, None, limit).await? else {
        of_producer.give_back();
        return Ok(Err(full(limit, QueueScope::All, "all producers together have")));
    };
    Ok(Ok(Admitted { of_producer, of_all }))
}

impl Estimates {
    fn of(&self, by: &str) -> Arc<Estimate> {
        let mut all = lock(&self.by_producer);
        if let Some(known) = all.get(by) {
            return Arc::clone(known);
        }
        if all.len() >= PRODUCERS {
            all.retain(|_, estimate| Arc::strong_count(estimate) > 1);
        }
        Arc::clone(all.entry(by.to_owned()).or_default())
    }
}

impl Estimate {
    /// Takes the room for one job; `None` if there is none.
    async fn take(
        self: &Arc<Self>,
        app: &App,
        by: Option<&str>,
        limit: u64,
    ) -> Result<Option<Place>> {
        loop {
            match self.answer(limit) {
                Answer::Taken => {
                    return Ok(Some(Place { estimate: Arc::clone(self), is_used: true }));
                }
                Answer::Full => return Ok(None),
                Answer::Outdated(began) => self.count(app, by, limit, began).await?,
            }
        }
    }

    fn answer(&self, limit: u64) -> Answer {
        let mut numbers = lock(&self.numbers);
        let Some(Count { jobs, began, took }) = numbers.last else {
            return Answer::Outdated(None);
        };
        let age = began.elapsed();
        let is_full = jobs.saturating_add(numbers.added) >= limit;
        let is_outdated = if is_full {
            age >= AGAIN.max(took * AGAIN_TIMES)
        } else {
            numbers.added > limit / 100 && age >= INTERVAL.max(took * INTERVAL_TIMES)
        };
        if is_outdated {
            return Answer::Outdated(Some(began));
        }
        if is_full {
            return Answer::Full;
        }
        numbers.added += 1;
        numbers.added_meanwhile += 1;
        numbers.under_way += 1;
        Answer::Taken
    }

    /// Counts the jobs, unless another caller has done so since the count that began at `last`.
    async fn count(
        &self,
        app: &App,
        by: Option<&str>,
        limit: u64,
        last: Option<Instant>,
    ) -> Result<()> {
        let _turn = self.counting.lock().await;
        {
            let mut numbers = lock(&self.numbers);
            if numbers.last.map(|count| count.began) != last {
                return Ok(());
            }
            // The count may miss these.
            numbers.added_meanwhile = numbers.under_way;
        }
        let began = Instant::now();
        let jobs = store::count_live(app, by, limit).await?;
        let mut numbers = lock(&self.numbers);
        numbers.last = Some(Count { jobs, began, took: began.elapsed() });
        numbers.added = numbers.added_meanwhile;
        Ok(())
    }
}

/// The room for one job in one bound. It is taken for good, unless `is_used` is false when it is dropped.
struct Place {
    estimate: Arc<Estimate>,
    is_used: bool,
}

impl Place {
    fn give_back(mut self) {
        self.is_used = false;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut numbers = lock(&self.estimate.numbers);
        numbers.under_way = numbers.under_way.saturating_sub(1);
        if !self.is_used {
            numbers.added = numbers.added.saturating_sub(1);
            numbers.added_meanwhile = numbers.added_meanwhile.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes rooms until that is refused. Returns the rooms.
    fn fill(estimate: &Arc<Estimate>, limit: u64) -> Vec<Place> {
        let mut places = Vec::new();
        while matches!(estimate.answer(limit), Answer::Taken) {
            places.push(Place { estimate: Arc::clone(estimate), is_used: true });
        }
        places
    }

    /// A count of this age that took this long.
    fn counted(jobs: u64, age: Duration, took: Duration) -> Arc<Estimate> {
        let estimate = Arc::<Estimate>::default();
        let began = Instant::now().checked_sub(age).expect("a time before");
        let last = Some(Count { jobs, began, took });
        lock(&estimate.numbers).last = last;
        estimate
    }

    #[test]
    fn room_is_taken_up_to_the_limit_and_given_back() {
        // It took so long that it isn't replaced before the end of the test.
        let estimate = counted(7, Duration::ZERO, Duration::from_secs(60));
        let mut places = fill(&estimate, 10);
        assert_eq!(places.len(), 3);
        assert!(matches!(estimate.answer(10), Answer::Full));
        drop(places.pop());
        assert!(matches!(estimate.answer(10), Answer::Full), "a job was added");
        places.pop().expect("a place").give_back();
        assert_eq!(fill(&estimate, 10).len(), 1);
    }

    #[test]
    fn a_count_is_replaced_before_a_refusal_or_after_many_jobs() {
        let full = counted(10, AGAIN, Duration::ZERO);
        assert!(matches!(full.answer(10), Answer::Outdated(Some(_))));
        // Few jobs were added since: the count still holds.
        let old = counted(0, INTERVAL, Duration::ZERO);
        assert_eq!(fill(&old, 1_000).len(), 11);
        assert!(matches!(old.answer(1_000), Answer::Outdated(Some(_))));
        assert!(matches!(Estimate::default().answer(10), Answer::Outdated(None)));
    }
}
