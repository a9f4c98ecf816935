//! Lists the queues, and counts their jobs.
//!
//! No document lists the names of the queues. Three indexes begin with the name: that of READY jobs, that of DELAYED and
//! CLAIMED ones, and that of dead letters. A page reads each of them from name to name, with one read of one job for each
//! name. So its cost follows from the number of names, and not from the number of jobs.

use std::collections::BTreeSet;

use mongodb::bson::Bson;

use super::{
    super::{documents::JobState, store, types::QueueStats},
    OWN, check_queue,
};
use crate::{graphql::prelude::*, join::try_join_all};

/// The largest number that is counted.
const COUNTED: u64 = 100_000;
/// The first text after all that begin with [`OWN`].
const AFTER_OWN: &str = "docgate/";

/// The numbers of a queue.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn queue_stats(cx: Cx<'_>, queue: String) -> Result<QueueStats> {
    check_queue("queue", &queue)?;
    stats(&cx, queue).await
}

/// The queues that have jobs other than DONE ones, in the order of their names, without those of docgate itself.
///
/// # Errors
/// `BadInput` that names the argument, or a read failed.
pub async fn queues(cx: Cx<'_>, paging: Paging) -> Result<Connection<QueueStats>> {
    let order = Order { list: "queues".to_owned(), keys: vec![("queue", 1)] };
    let page = Page::new(&cx, order, paging)?;
    let of = |state| names(&cx, state, &page);
    let found = try_join_all([JobState::Ready, JobState::Delayed, JobState::Dead].map(of)).await?;
    // The first names of all are among the first ones of each.
    let found: BTreeSet<String> = found.into_iter().flatten().collect();
    let mut found: Vec<String> = found.into_iter().collect();
    if page.is_backward() {
        found.reverse();
    }
    found.truncate(page.wanted());
    let mut queues = Vec::new();
    // One queue after the other: the counts of many queues would take all connections.
    for name in found {
        queues.push(stats(&cx, name).await?);
    }
    Ok(page.connection(queues, |of: &QueueStats| vec![Bson::from(&of.queue)], |of| of))
}

/// The names of the queues with jobs of this state that the page may need, in the direction in which it is read.
async fn names(app: &App, state: JobState, page: &Page) -> Result<Vec<String>> {
    let is_backward = page.is_backward();
    let mut beyond = page.from().and_then(|from| from.first().cloned());
    let mut names = Vec::new();
    while names.len() < page.wanted() {
        let Some(name) = store::next_queue(app, state, beyond, is_backward).await? else { break };
        if name.starts_with(OWN) {
            beyond = Some(if is_backward { OWN } else { AFTER_OWN }.into());
            continue;
        }
        beyond = Some(Bson::from(&name));
        names.push(name);
    }
    Ok(names)
}

async fn stats(app: &App, queue: String) -> Result<QueueStats> {
    let states = [JobState::Ready, JobState::Delayed, JobState::Claimed, JobState::Dead];
    let count = |state| store::count(app, &queue, state, COUNTED);
    let counts = try_join_all(states.map(count)).await?;
    let number =
        |at: usize| Long(counts.get(at).and_then(|count| i64::try_from(*count).ok()).unwrap_or(0));
    let (ready, delayed, claimed, dead) = (number(0), number(1), number(2), number(3));
    Ok(QueueStats { queue, ready, delayed, claimed, dead })
}
