//! The last messages of a topic in this gateway, which all of its subscribers share.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use super::super::documents::MessageDocument;

/// Maximum number of messages of one response.
const MOST: usize = 100;

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
}

#[derive(Debug)]
struct Entry {
    message: Arc<MessageDocument>,
    /// Whether messages before it may have been missed.
    is_after_gap: bool,
}

/// What a subscriber gets next.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) messages: Vec<Arc<MessageDocument>>,
    /// Number of the message after these.
    pub(super) next: u64,
    /// Number of messages before these that are no longer in the window.
    pub(super) missed: u64,
    /// Whether messages before these were missed whose number isn't known.
    pub(super) is_after_gap: bool,
}

impl Window {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { messages: VecDeque::new(), first: 0, bytes: 0, most_bytes }
    }

    /// Adds the newest message.
    pub(super) fn push(&mut self, message: Arc<MessageDocument>, is_after_gap: bool) {
        self.bytes += message.size();
        self.messages.push_back(Entry { message, is_after_gap });
        while self.bytes > self.most_bytes && self.messages.len() > 1 {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.bytes -= oldest.message.size();
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

    /// The messages from this number on, up to [`MOST`]. A message after a gap is the first of a response.
    pub(super) fn take(&self, from: u64) -> Taken {
        let start = from.max(self.first);
        let skipped = usize::try_from(start - self.first).unwrap_or(usize::MAX);
        let mut rest = self.messages.iter().skip(skipped).take(MOST).peekable();
        let is_after_gap = rest.peek().is_some_and(|entry| entry.is_after_gap);
        let together = rest.enumerate().take_while(|(at, entry)| *at == 0 || !entry.is_after_gap);
        let messages: Vec<_> = together.map(|(_, entry)| Arc::clone(&entry.message)).collect();
        let next = start + u64::try_from(messages.len()).unwrap_or(0);
        Taken { messages, next, missed: start - from.min(start), is_after_gap }
    }
}

/// Puts the documents of a ring that is read again from its start after those that the window has.
pub(super) struct Joining {
    /// Ids of the window's messages.
    known: HashSet<String>,
    /// Whether one of them was met, or nothing is known.
    is_joined: bool,
    /// Messages that are new unless a known one follows.
    pending: Window,
}

impl Joining {
    pub(super) fn new(window: &Window) -> Self {
        let known = window.ids();
        Self { is_joined: known.is_empty(), known, pending: Window::new(window.most_bytes) }
    }

    /// Adds the next document of the ring.
    pub(super) fn add(&mut self, window: &mut Window, message: MessageDocument) {
        if self.known.contains(&message.id) {
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
        self.known = HashSet::new();
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

    fn message(id: &str) -> MessageDocument {
        let (payload, at) = (Some("x".repeat(100)), DateTime::from_millis(0));
        MessageDocument { id: id.to_owned(), payload, at, input: String::new() }
    }

    fn ids(taken: &Taken) -> Vec<&str> {
        taken.messages.iter().map(|message| message.id.as_str()).collect()
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
        let taken = lapped().take(0);
        assert_eq!((ids(&taken), taken.missed, taken.next), (vec!["b", "c", "d"], 1, 4));
        let taken = lapped().take(2);
        assert_eq!((ids(&taken), taken.missed, taken.next), (vec!["c", "d"], 0, 4));
        let taken = lapped().take(4);
        assert_eq!((ids(&taken), taken.missed, taken.next), (vec![], 0, 4));
    }

    #[test]
    fn a_position_is_found_by_its_id() {
        assert_eq!(lapped().after("b"), Some(2));
        assert_eq!(lapped().after("d"), Some(4));
        assert_eq!(lapped().after("a"), None);
    }

    fn joined(ring: &[&str]) -> Window {
        let mut window = lapped();
        let mut joining = Joining::new(&window);
        for id in ring {
            joining.add(&mut window, message(id));
        }
        joining.end(&mut window);
        window
    }

    #[test]
    fn a_ring_that_is_read_again_continues_after_the_last_known_message() {
        let taken = joined(&["a", "b", "c", "d", "e"]).take(4);
        assert_eq!((ids(&taken), taken.is_after_gap), (vec!["e"], false));
        // The newest one was rolled back.
        let taken = joined(&["b", "c", "e"]).take(4);
        assert_eq!((ids(&taken), taken.is_after_gap), (vec!["e"], false));
    }

    #[test]
    fn a_ring_that_has_no_known_message_is_after_a_gap() {
        let taken = joined(&["f", "g"]).take(4);
        assert_eq!((ids(&taken), taken.is_after_gap, taken.missed), (vec!["f", "g"], true, 0));
        assert!(joined(&[]).take(4).messages.is_empty());
    }
}
