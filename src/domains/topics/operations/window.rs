//! The last messages of a topic in this gateway, which all of its subscribers share.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use super::super::documents::MessageDocument;

/// Maximum number of messages of one response.
pub(super) const MOST: usize = 100;
/// Size of the messages from which a response gets no further one, in bytes. A slow client holds as much of each
/// response that waits for it.
pub(super) const MOST_BYTES: usize = 256 << 10;

/// Messages in their order. Each has a number, which rises by one and is known in this gateway only.
#[derive(Debug)]
pub(super) struct Window {
    messages: VecDeque<Entry>,
    /// Number of the oldest message.
    first: u64,
    /// Size of the messages in bytes.
    bytes: usize,
    /// Size from which the oldest ones are forgotten.
    most_bytes: usize,
    /// Number of the last message after a gap that is forgotten.
    forgotten_gap: Option<u64>,
}

#[derive(Debug)]
struct Entry {
    message: Arc<MessageDocument>,
    /// Whether messages before it may have been missed.
    is_after_gap: bool,
}

/// What a subscriber gets next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Number of its first message.
    pub(super) start: u64,
    /// Number of the message after it.
    pub(super) next: u64,
    /// Number of messages before it that are no longer in the window.
    pub(super) missed: u64,
    /// Whether messages before it were missed whose number isn't known.
    pub(super) is_after_gap: bool,
}

impl Window {
    pub(super) fn new(most_bytes: usize) -> Self {
        let messages = VecDeque::new();
        Self { messages, first: 0, bytes: 0, most_bytes, forgotten_gap: None }
    }

    /// Adds the newest message.
    pub(super) fn push(&mut self, message: Arc<MessageDocument>, is_after_gap: bool) {
        self.bytes += message.size();
        self.messages.push_back(Entry { message, is_after_gap });
        while self.bytes > self.most_bytes && self.messages.len() > 1 {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.bytes -= oldest.message.size();
            if oldest.is_after_gap {
                self.forgotten_gap = Some(self.first);
            }
            self.first += 1;
        }
    }

    /// Number of the next message.
    pub(super) fn end(&self) -> u64 {
        self.first + u64::try_from(self.messages.len()).unwrap_or(0)
    }

    /// The newest message's id.
    pub(super) fn newest(&self) -> Option<&str> {
        self.messages.back().map(|entry| entry.message.id.as_str())
    }

    /// Number of the message after the one with this id.
    pub(super) fn after(&self, id: &str) -> Option<u64> {
        // Most subscribers come back soon.
        let behind = self.messages.iter().rev().position(|entry| entry.message.id == id)?;
        Some(self.end() - u64::try_from(behind).unwrap_or(0))
    }

    /// The ids of all messages.
    pub(super) fn ids(&self) -> HashSet<String> {
        self.messages.iter().map(|entry| entry.message.id.clone()).collect()
    }

    /// What follows from this number on, up to [`MOST`] and [`MOST_BYTES`]. A message after a gap is the first of a
    /// response.
    pub(super) fn part(&self, from: u64) -> Part {
        let start = from.max(self.first);
        let mut rest = self.from(start).take(MOST).peekable();
        let is_after_gap = rest.peek().is_some_and(|entry| entry.is_after_gap)
            || self.forgotten_gap.is_some_and(|gap| from <= gap);
        let (mut next, mut bytes) = (start, 0);
        for entry in rest {
            if next > start && (entry.is_after_gap || bytes >= MOST_BYTES) {
                break;
            }
            bytes += entry.message.size();
            next += 1;
        }
        Part { start, next, missed: start - from.min(start), is_after_gap }
    }

    /// The messages of a part that this window returned since it was last changed.
    pub(super) fn messages(&self, part: Part) -> Vec<Arc<MessageDocument>> {
        let count = usize::try_from(part.next - part.start).unwrap_or(0);
        self.from(part.start).take(count).map(|entry| Arc::clone(&entry.message)).collect()
    }

    fn from(&self, start: u64) -> impl Iterator<Item = &Entry> {
        let skipped = usize::try_from(start - self.first.min(start)).unwrap_or(usize::MAX);
        self.messages.range(skipped.min(self.messages.len())..)
    }
}

/// Puts the documents of a ring that is read again from its start after those that the window has.
pub(super) struct Joining {
    /// Ids of the window's messages that weren't met in the ring. At its end, those are left that the ring has lost with
    /// a former primary: if a repeated call publishes them once more, the subscribers have them already.
    known: HashSet<String>,
    /// Whether one of them was met, or nothing is known.
    is_joined: bool,
    is_at_end: bool,
    /// Number of the message after those that the window had before.
    new_from: u64,
    /// Messages that are new unless a known one follows.
    pending: Window,
}

impl Joining {
    pub(super) fn new(window: &Window) -> Self {
        let known = window.ids();
        let (is_joined, pending) = (known.is_empty(), Window::new(window.most_bytes));
        Self { known, is_joined, is_at_end: false, new_from: window.end(), pending }
    }

    /// Adds the next document of the ring.
    pub(super) fn add(&mut self, window: &mut Window, message: MessageDocument) {
        if self.known.remove(&message.id) {
            self.is_joined = true;
            self.pending = Window::new(window.most_bytes);
        } else if self.is_joined {
            window.push(Arc::new(message), false);
        } else {
            self.pending.push(Arc::new(message), false);
        }
    }

    /// The end of the ring is reached: unless a known message was met, the others are new, and there may have been more.
    pub(super) fn end(&mut self, window: &mut Window) {
        if !self.is_at_end {
            self.is_at_end = true;
            let before = usize::try_from(self.new_from.saturating_sub(window.first)).unwrap_or(0);
            let before = window.messages.iter().take(before).map(|entry| &entry.message.id);
            let lost = before.rev().take_while(|id| self.known.contains(*id)).cloned();
            self.known = if self.is_joined { lost.collect() } else { HashSet::new() };
        }
        if !self.is_joined {
            self.is_joined = true;
            for (at, entry) in std::mem::take(&mut self.pending.messages).into_iter().enumerate() {
                window.push(entry.message, at == 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::DateTime;

    use super::*;
    use crate::mongo::Version;

    fn message(id: &str) -> MessageDocument {
        let (payload, at) = (Some("x".repeat(100)), DateTime::from_millis(0));
        MessageDocument { id: id.to_owned(), payload, at, input: String::new(), v: Version }
    }

    fn ids(window: &Window, part: Part) -> Vec<String> {
        window.messages(part).iter().map(|message| message.id.clone()).collect()
    }

    /// A window of three messages, after a, b, c and d.
    fn lapped() -> Window {
        let mut window = Window::new(3 * message("a").size());
        for id in ["a", "b", "c", "d"] {
            window.push(Arc::new(message(id)), false);
        }
        window
    }

    #[test]
    fn a_slow_reader_is_told_how_much_it_missed() {
        let window = lapped();
        let part = window.part(0);
        assert_eq!((ids(&window, part), part.missed, part.next), (list(&["b", "c", "d"]), 1, 4));
        let part = window.part(2);
        assert_eq!((ids(&window, part), part.missed, part.next), (list(&["c", "d"]), 0, 4));
        let part = window.part(4);
        assert_eq!((ids(&window, part), part.missed, part.next), (list(&[]), 0, 4));
    }

    #[test]
    fn a_slow_reader_is_told_of_a_gap_that_the_window_has_forgotten() {
        let mut window = Window::new(3 * message("a").size());
        for id in ["a", "b", "c", "d", "e"] {
            window.push(Arc::new(message(id)), id == "b");
        }
        let part = window.part(1);
        assert_eq!((ids(&window, part), part.is_after_gap), (list(&["c", "d", "e"]), true));
        // It has read the message after the gap.
        let part = window.part(2);
        assert_eq!((ids(&window, part), part.is_after_gap), (list(&["c", "d", "e"]), false));
    }

    fn list(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn a_response_is_bounded_in_number_and_size() {
        let mut window = Window::new(1 << 20);
        for at in 0..=MOST {
            window.push(Arc::new(message(&at.to_string())), false);
        }
        assert_eq!(window.part(0).next, MOST as u64);
        let mut window = Window::new(1 << 20);
        for _ in 0..3 {
            let large = MessageDocument { payload: Some("x".repeat(MOST_BYTES)), ..message("a") };
            window.push(Arc::new(large), false);
        }
        let part = window.part(0);
        assert_eq!((part.next, window.part(part.next).next), (1, 2));
    }

    #[test]
    fn a_position_is_found_by_its_id() {
        assert_eq!(lapped().after("b"), Some(2));
        assert_eq!(lapped().after("d"), Some(4));
        assert_eq!(lapped().after("a"), None);
    }

    /// A ring is read again to its end, and then this follows.
    fn joined(ring: &[&str], later: &[&str]) -> Window {
        let mut window = lapped();
        let mut joining = Joining::new(&window);
        for id in ring {
            joining.add(&mut window, message(id));
        }
        joining.end(&mut window);
        for id in later {
            joining.add(&mut window, message(id));
            joining.end(&mut window);
        }
        window
    }

    /// What follows after the messages of [`lapped`].
    fn after(window: &Window) -> (Vec<String>, bool, u64) {
        let part = window.part(4);
        (ids(window, part), part.is_after_gap, part.missed)
    }

    #[test]
    fn a_ring_that_is_read_again_continues_after_the_last_known_message() {
        let window = joined(&["a", "b", "c", "d", "e"], &["f"]);
        assert_eq!(after(&window), (list(&["e", "f"]), false, 0));
    }

    #[test]
    fn a_message_that_was_lost_and_is_published_again_is_told_once() {
        // The newest one was lost with a primary. It is published again before or after the ring's end is reached.
        for (ring, later) in [
            (vec!["b", "c", "e", "d"], vec!["f"]),
            (vec!["b", "c", "e"], vec!["d", "f"]),
            (vec!["b", "c"], vec!["e", "d", "f"]),
        ] {
            assert_eq!(after(&joined(&ring, &later)), (list(&["e", "f"]), false, 0), "{ring:?}");
        }
        // A message that the ring has overwritten is another matter.
        let window = joined(&["c", "d"], &["b", "e"]);
        assert_eq!(after(&window), (list(&["b", "e"]), false, 0));
    }

    #[test]
    fn a_ring_that_has_no_known_message_is_after_a_gap() {
        assert_eq!(after(&joined(&["f", "g"], &["h"])), (list(&["f", "g", "h"]), true, 0));
        assert_eq!(after(&joined(&[], &[])).0, list(&[]));
    }
}
