//! Follows the topics that have subscribers in this gateway. Each is followed by one tailable cursor.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::Duration,
};

use tokio::sync::watch;

use super::{
    super::{
        documents::{MessageDocument, TopicEntry, TopicsDocument},
        store,
        types::TopicMessages,
    },
    behind::Behind,
    window::{Joining, MOST, MOST_BYTES, Part, Window},
};
use crate::{
    app::App,
    error::Result,
    graphql::{shared::Shared, shares::Client},
    locks::lock,
    mongo::{
        Stored,
        rings::{BATCH, Ring},
    },
};

/// Pause before a ring is read again after an error, or because it is empty.
const PAUSE: Duration = Duration::from_millis(250);
/// Number of responses that subscribers share, for each topic.
const RESPONSES: usize = 4;
/// Time that sending to one subscriber takes about. A signal is followed by a pause of so long for each subscriber.
const SENDING: Duration = Duration::from_micros(20);
/// Bounds of the pause after a signal: a timer isn't finer, and nobody waits longer.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(250);

/// What subscribers are told.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signal {
    /// Whether the ring was read to its end once.
    pub(super) is_open: bool,
    /// Whether the topic was deleted.
    pub(super) is_over: bool,
}

/// A topic with subscribers in this gateway.
pub(super) struct Channel {
    pub(super) topic: TopicEntry,
    recent: Mutex<Recent>,
    signal: watch::Sender<Signal>,
}

/// The last messages of a topic, and the last responses with them.
pub(super) struct Recent {
    pub(super) window: Window,
    responses: VecDeque<(Part, Shared<TopicMessages>)>,
}

/// The topics with subscribers in this gateway, by ring.
#[derive(Default)]
pub(super) struct Channels {
    all: Mutex<HashMap<String, Arc<Channel>>>,
    behind: OnceLock<Arc<Behind>>,
}

/// The reads of one subscriber before the window.
pub(super) struct Reads {
    ring: Ring,
    behind: Arc<Behind>,
    client: Client,
}

/// Messages that a subscriber reads before the window, as many as fit into a response.
pub(super) struct Older {
    pub(super) messages: Vec<Arc<MessageDocument>>,
    /// Number of those that are read next.
    pub(super) most: usize,
}

/// Number of subscribers to topics of this gateway.
pub fn subscribers(app: &App) -> usize {
    let channels = app.shared::<Channels>();
    let all = lock(&channels.all);
    all.values().map(|channel| channel.signal.receiver_count()).sum()
}

impl Recent {
    /// The messages from this number on, and the number after them. `None` if there are none. All subscribers that are
    /// at the same place get the same response.
    pub(super) fn next(&mut self, from: u64) -> Option<(Shared<TopicMessages>, u64)> {
        let part = self.window.part(from);
        if part.next == part.start {
            return None;
        }
        let known = self.responses.iter().rev().find(|(of, _)| *of == part);
        if let Some((_, response)) = known {
            return Some((response.clone(), part.next));
        }
        let messages = self.window.messages(part);
        let missed = (!part.is_after_gap).then_some(part.missed);
        let response = Shared::new(TopicMessages::after(messages, missed)?);
        if self.responses.len() >= RESPONSES {
            self.responses.pop_front();
        }
        self.responses.push_back((part, response.clone()));
        Some((response, part.next))
    }
}

impl Channel {
    pub(super) fn recent(&self) -> MutexGuard<'_, Recent> {
        lock(&self.recent)
    }

    /// Reads the ring until the cursor is closed, or the topic has no subscribers.
    async fn read(&self, app: &App, channels: &Channels) -> Result<()> {
        let ring = store::ring(app, &self.topic);
        let end = ring.newest::<MessageDocument>().await?.map(|newest| newest.id);
        let mut joining = Joining::new(&self.recent().window);
        let mut is_at_end = end.is_none();
        let (mut scan, mut found) = ring.follow::<MessageDocument>().await?;
        loop {
            is_at_end = is_at_end || found.is_empty();
            let count = found.len();
            {
                let window = &mut self.recent().window;
                for message in found {
                    is_at_end = is_at_end || Some(&message.id) == end.as_ref();
                    joining.add(window, message);
                }
                if is_at_end {
                    joining.end(window);
                }
            }
            self.signal.send_if_modified(|signal| {
                let is_new = count > 0 || is_at_end && !signal.is_open;
                signal.is_open |= is_at_end;
                is_new
            });
            if !channels.is_wanted(self) {
                return Ok(());
            }
            if is_at_end && (1..BATCH).contains(&count) {
                self.pause().await;
            }
            match scan.next().await? {
                Some(next) => found = next,
                None => return Ok(()),
            }
        }
    }

    /// Waits while the subscribers are sent to. Messages that are published meanwhile are sent together.
    async fn pause(&self) {
        let subscribers = u32::try_from(self.signal.receiver_count()).unwrap_or(u32::MAX);
        let pause = SENDING.saturating_mul(subscribers).min(LONGEST);
        if pause >= SHORTEST {
            tokio::time::sleep(pause).await;
        }
    }
}

impl Reads {
    /// The reads of the ring by this client.
    pub(super) fn new(app: &App, ring: Ring, client: Client) -> Self {
        let percent = app.config().client_share_percent;
        let channels = app.shared::<Channels>();
        let behind = channels.behind.get_or_init(|| Arc::new(Behind::of(percent)));
        Self { ring, behind: Arc::clone(behind), client }
    }

    /// The messages after the one with this id, at most `most`; without an id the oldest ones. `None` if the ring doesn't
    /// have it.
    ///
    /// # Errors
    /// `Unread` or `Internal`.
    pub(super) async fn read(&self, after: Option<&str>, most: usize) -> Result<Option<Older>> {
        let read = || {
            let (ring, after) = (self.ring.clone(), after.map(str::to_owned));
            async move {
                let found = match after {
                    Some(id) => ring.after(&id, most).await,
                    None => ring.oldest(most).await.map(Some),
                };
                // The rest isn't kept.
                let older = found.map(|found| found.map(|found| Older::of(found, most)));
                let bytes =
                    older.as_ref().map_or(0, |older| older.as_ref().map_or(0, Older::bytes));
                (older, bytes)
            }
        };
        self.behind.read(self.client, read).await?
    }
}

impl Older {
    /// The first of these messages, as many as fit into a response.
    fn of(found: Vec<MessageDocument>, most: usize) -> Self {
        let (count, mut bytes) = (found.len(), 0);
        let fitting = found.into_iter().take_while(|message| {
            let fits = bytes < MOST_BYTES;
            bytes += message.size();
            fits
        });
        let messages: Vec<_> = fitting.map(Arc::new).collect();
        let most = if messages.len() < count { messages.len() } else { (2 * most).min(MOST) };
        Self { messages, most }
    }

    fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.size()).sum()
    }
}

impl Channels {
    /// Subscribes to a topic, whose ring is followed from then on.
    pub(super) fn subscribe(
        app: &App,
        topic: TopicEntry,
    ) -> (Arc<Channel>, watch::Receiver<Signal>) {
        let channels = app.shared::<Self>();
        let mut all = lock(&channels.all);
        if let Some(channel) = all.get(&topic.ring) {
            return (Arc::clone(channel), channel.signal.subscribe());
        }
        let (signal, receiver) = watch::channel(Signal::default());
        let window = Window::new(app.config().topic_window_bytes);
        let recent = Mutex::new(Recent { window, responses: VecDeque::new() });
        let channel = Arc::new(Channel { topic, recent, signal });
        all.insert(channel.topic.ring.clone(), Arc::clone(&channel));
        drop(all);
        tokio::spawn(channels.follow(app.clone(), Arc::clone(&channel)));
        (channel, receiver)
    }

    /// Reads a ring while the topic exists and has subscribers.
    async fn follow(self: Arc<Self>, app: App, channel: Arc<Channel>) {
        while self.is_wanted(&channel) {
            let read = channel.read(&app, &self).await;
            if !self.is_wanted(&channel) {
                return;
            }
            match store::find(&app, &channel.topic.name).await {
                Ok(found)
                    if found.as_ref().is_none_or(|found| found.ring != channel.topic.ring) =>
                {
                    lock(&self.all).remove(&channel.topic.ring);
                    channel.signal.send_modify(|signal| signal.is_over = true);
                    return;
                }
                _ => {}
            }
            if let Err(error) = read {
                app.metrics().streams.restarted(TopicsDocument::COLLECTION);
                tracing::warn!(
                    event = "topic_unread",
                    topic = channel.topic.name,
                    ?error,
                    "a topic couldn't be read; it is read again"
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether the topic has subscribers. If not, it is forgotten.
    fn is_wanted(&self, channel: &Channel) -> bool {
        let mut all = lock(&self.all);
        let is_wanted = channel.signal.receiver_count() > 0;
        // Another one of the same topic may have taken its place.
        let is_listed = |listed: &Arc<Channel>| std::ptr::eq(Arc::as_ptr(listed), channel);
        if !is_wanted && all.get(&channel.topic.ring).is_some_and(is_listed) {
            all.remove(&channel.topic.ring);
        }
        is_wanted
    }
}
