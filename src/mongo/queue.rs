//! The queue of a batcher: the items that wait for a command, and the rules by which they are sent.

use std::{collections::VecDeque, time::Instant};

use crate::error::Error;

/// Maximum number of commands of one kind in flight.
const MAX_LANES: usize = 2;
/// Batches of up to this size are too small to be worth waiting for.
const SMALL_BATCH: usize = 3;

/// The queue of a batcher.
pub(super) struct Queue<I> {
    pub(super) items: VecDeque<I>,
    /// The second queue.
    pub(super) late: VecDeque<I>,
    /// When the second queue became non-empty.
    pub(super) late_since: Option<Instant>,
    /// Whether a task waits until the second queue is due.
    pub(super) has_timer: bool,
    /// Polls of requests that are adding items.
    pub(super) polls: usize,
    /// Open lanes. Each has one command in flight, or is about to send one.
    pub(super) lanes: usize,
    /// Commands in flight.
    pub(super) commands_in_flight: usize,
    /// Items in the commands in flight.
    pub(super) items_in_flight: usize,
    /// Items in the command that ended last.
    pub(super) last_batch: usize,
    /// Whether an item has waited too long.
    pub(super) is_overdue: bool,
    /// Whether a command was sent, or the queue became non-empty, since the last check.
    pub(super) has_progressed: bool,
}

impl<I> Default for Queue<I> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            late: VecDeque::new(),
            late_since: None,
            has_timer: false,
            polls: 0,
            lanes: 0,
            commands_in_flight: 0,
            items_in_flight: 0,
            last_batch: 0,
            is_overdue: false,
            has_progressed: false,
        }
    }
}

impl<I> Queue<I> {
    /// Number of queued items from which the next command is sent. It is never higher than `threshold`.
    fn required(&self, threshold: usize) -> usize {
        match self.items_in_flight.max(self.last_batch) {
            _ if self.is_overdue || self.items_in_flight == 0 => 1,
            largest if largest <= SMALL_BATCH => self.items_in_flight,
            _ => threshold,
        }
    }

    /// Checks that so many more items may be queued, when `max` are permitted.
    pub(super) fn demand_room(&self, more: usize, max: usize) -> Result<(), Error> {
        if self.items.len() + self.late.len() + more <= max {
            return Ok(());
        }
        Err(Error::unavailable("the queue of the batcher is full"))
    }

    /// Whether enough items are queued for the next command.
    pub(super) fn is_ready(&self, threshold: usize) -> bool {
        self.items.len() >= self.required(threshold)
    }

    /// Whether another lane is permitted, and no lane is about to send the queue.
    pub(super) fn may_open_lane(&self) -> bool {
        self.lanes == self.commands_in_flight && self.lanes < MAX_LANES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: usize = 512;

    fn required(items_in_flight: usize, last_batch: usize, is_overdue: bool) -> usize {
        let queue = Queue::<()> { items_in_flight, last_batch, is_overdue, ..Queue::default() };
        queue.required(THRESHOLD)
    }

    #[test]
    fn small_batches_run_in_parallel_and_large_ones_are_collected() {
        assert_eq!(required(0, 0, false), 1, "no command is in flight");
        assert_eq!(required(0, 400, false), 1, "whatever the last batch was");
        assert_eq!(required(1, 1, false), 1);
        assert_eq!(required(SMALL_BATCH, 1, false), SMALL_BATCH);
        assert_eq!(required(SMALL_BATCH + 1, 1, false), THRESHOLD);
        assert_eq!(required(1, 60, false), THRESHOLD, "the small batch in flight is an exception");
        assert_eq!(required(60, 60, true), 1, "an item has waited too long");
    }

    #[test]
    fn a_second_command_is_sent_once_the_next_one_is_full() {
        let queued = |count: usize| Queue {
            items: vec![(); count].into(),
            items_in_flight: 20,
            commands_in_flight: 1,
            lanes: 1,
            ..Queue::default()
        };
        assert!(!queued(THRESHOLD - 1).is_ready(THRESHOLD));
        assert!(queued(THRESHOLD).is_ready(THRESHOLD) && queued(THRESHOLD).may_open_lane());
    }
}
