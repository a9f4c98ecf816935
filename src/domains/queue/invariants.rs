//! Invariants of the work queue, for `docgate check`.

use std::collections::HashSet;

use super::documents::{JobDocument, JobState, unique};
use crate::{app::App, error::Result, invariants::Report};

/// Checks that each job has the fields of its state, and that unique keys are unique.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let (mut keys, mut shared) = (HashSet::new(), Vec::new());
    report.rule("queue: each job has exactly the fields of its state");
    let each = |job: JobDocument| {
        if let Some(fault) = fault(&job) {
            report.broken(format!("{} of {:?} is {:?}: {fault}", job.id, job.queue, job.state));
        }
        if let Some(key) = job.unique
            && !keys.insert(key.clone())
        {
            shared.push(format!("{key:?} is also that of {}", job.id));
        }
    };
    app.collection().for_each(each).await?;
    report.rule("queue: at most one live job has a unique key");
    for what in shared {
        report.broken(what);
    }
    Ok(())
}

/// What is wrong with a job.
fn fault(job: &JobDocument) -> Option<&'static str> {
    use JobState::{Claimed, Dead, Delayed, Done, Ready};
    let state = job.state;
    let is_live = matches!(state, Ready | Delayed | Claimed);
    let unique = job.unique_key.as_ref().map(|key| unique(&job.queue, key));
    let rules = [
        (
            job.ready.is_some() == (state == Ready)
                && job.ready.as_ref().is_none_or(|place| place.queue == job.queue),
            "its place in the line",
        ),
        (job.due.is_some() == matches!(state, Delayed | Claimed), "its time"),
        (
            state != Claimed || job.claim.as_ref().is_some_and(|claim| claim.end.is_none()),
            "its claim",
        ),
        (job.done_at.is_some() == (state == Done), "its end"),
        (job.dead_at.is_some() == (state == Dead), "its death"),
        (job.unique == unique.filter(|_| is_live), "its unique key"),
        (
            (i32::from(state == Claimed)..=job.max_attempts).contains(&job.attempts),
            "the number of its attempts",
        ),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
}
