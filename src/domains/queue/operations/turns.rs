//! Claims over several queues. The queues take turns, so that no queue waits until another one is empty.
//!
//! A gateway remembers in which order such claims have taken from its queues. A claim takes first from the queue that was
//! left out for the longest time. That queue then becomes the last one. So each queue of a claim has its turn after at most as
//! many claims as that claim has queues, even if other workers name other combinations of queues. A claim of several jobs
//! divides their number among its queues. If one queue has too few jobs, the others may give more.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

use super::{
    super::documents::JobDocument,
    line::{self, Wanted},
};
use crate::{app::App, error::Result, join::join_all, locks::lock};

/// Number of queues from which on their order is forgotten.
const QUEUES: usize = 10_000;

/// The order in which claims have taken from queues.
#[derive(Default)]
struct Turns(Mutex<Order>);

#[derive(Default)]
struct Order {
    /// The number of each queue; that of the last one is the highest.
    numbers: HashMap<String, u64>,
    last: u64,
}

impl Turns {
    /// Sorts the queues by their turns. The first `count` of them have their turn now.
    fn next(&self, queues: &mut [&str], count: usize) {
        let mut order = lock(&self.0);
        if order.numbers.len() >= QUEUES {
            order.numbers.clear();
        }
        // A queue that never had a turn comes first.
        queues.sort_by_key(|queue| order.numbers.get(*queue).copied());
        for queue in queues.iter().take(count) {
            order.last += 1;
            let last = order.last;
            order.numbers.insert((*queue).to_owned(), last);
        }
    }
}

/// Claims jobs of these queues; fewer than wanted, or none, if there are no more.
///
/// # Errors
/// As [`line::claim`]. If one queue fails and another one has given jobs, these are the answer.
pub(super) async fn claim(
    app: &App,
    queues: &[String],
    wanted: Wanted,
) -> Result<Vec<JobDocument>> {
    if let [queue] = queues {
        return line::claim(app, queue, wanted).await;
    }
    let turns = app.shared::<Turns>();
    let mut open: Vec<&str> = queues.iter().map(String::as_str).collect();
    let (mut claimed, mut slots) = (Vec::new(), wanted.slots.clone());
    while !slots.is_empty() && !open.is_empty() {
        turns.next(&mut open, slots.len());
        let parts = divide(&open, &slots);
        let claims = parts.iter().map(|(queue, slots)| {
            let slots = slots.to_vec();
            line::claim(app, queue, Wanted { slots, ..wanted.clone() })
        });
        let answers = join_all(claims).await;
        let (mut left, mut failed) = (Vec::new(), None);
        for ((queue, part), answer) in parts.into_iter().zip(answers) {
            let jobs = match answer {
                Ok(jobs) => jobs,
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            };
            if jobs.len() < part.len() {
                open.retain(|other| *other != queue);
            }
            left.extend(unused(part, &jobs));
            claimed.extend(jobs);
        }
        match failed {
            Some(error) if claimed.is_empty() => return Err(error),
            Some(_) => break,
            None => slots = left,
        }
    }
    Ok(claimed)
}

/// Divides the slots among the queues, the first of which get one more.
fn divide<'a, 'b>(queues: &[&'a str], slots: &'b [usize]) -> Vec<(&'a str, &'b [usize])> {
    let (each, more) = (slots.len() / queues.len(), slots.len() % queues.len());
    let mut rest = slots;
    let mut parts = Vec::new();
    for (position, queue) in queues.iter().enumerate() {
        let (part, others) = rest.split_at(each + usize::from(position < more));
        rest = others;
        if !part.is_empty() {
            parts.push((*queue, part));
        }
    }
    parts
}

/// The slots that no job has.
fn unused(slots: &[usize], jobs: &[JobDocument]) -> Vec<usize> {
    let used: HashSet<usize> = jobs.iter().filter_map(line::slot).collect();
    if used.is_empty() {
        // Without an idempotency key jobs have no slots; only their number counts.
        return slots.iter().copied().skip(jobs.len()).collect();
    }
    slots.iter().copied().filter(|slot| !used.contains(slot)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_its_turn_whatever_else_is_claimed() {
        let turns = Turns::default();
        let first = |queues: &[&'static str]| {
            let mut queues = queues.to_vec();
            turns.next(&mut queues, 1);
            queues[0]
        };
        let mut asked = HashMap::<_, usize>::new();
        // Two workers that claim in turn: if there were one counter for both, each would ask one queue only.
        for _ in 0..10 {
            *asked.entry(first(&["a", "b"])).or_default() += 1;
            *asked.entry(first(&["b", "a"])).or_default() += 1;
            *asked.entry(first(&["c", "a"])).or_default() += 1;
        }
        assert!(asked["a"] >= 8 && asked["b"] >= 8 && asked["c"] >= 5, "{asked:?}");
    }

    #[test]
    fn slots_are_divided_and_none_is_lost() {
        let slots: Vec<usize> = (0..7).collect();
        let parts = divide(&["a", "b", "c"], &slots);
        assert_eq!(parts, [("a", &slots[..3]), ("b", &slots[3..5]), ("c", &slots[5..])]);
        assert_eq!(divide(&["a", "b", "c"], &slots[..1]), [("a", &slots[..1])]);
    }
}
