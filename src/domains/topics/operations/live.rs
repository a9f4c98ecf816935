//! Subscriptions to topics: one tailable cursor per topic, and any number of subscribers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::Stream;
use tokio::sync::watch;

use super::{
    super::{
        documents::{MessageDocument, TopicEntry, TopicsDocument},
        store,
        types::TopicMessages,
    },
    check_name, is_visible,
    older::Older,
    window::{Joining, Taken, Window},
};
use crate::{
    app::App,
    error::Error,
    graphql::{cx::Cx, input, subscription::Progress},
    mongo::{Stored, rings::Ring},
};

/// Pause before a ring is read again after an error, or because it is empty.
const PAUSE: Duration = Duration::from_millis(250);
/// Maximum number of characters of a position.
const POSITION: usize = 64;

/// What subscribers are told.
#[derive(Debug, Clone, Copy, Default)]
struct Signal {
    /// Whether the ring was read to its end once.
    is_open: bool,
    /// Whether the topic was deleted.
    is_over: bool,
    /// Rises with each change of the window.
    changes: u64,
}

/// A topic with subscribers in this gateway.
struct Channel {
    topic: TopicEntry,
    window: Mutex<Window>,
    signal: watch::Sender<Signal>,
}

/// The topics with subscribers in this gateway, by ring.
#[derive(Default)]
struct Channels(Mutex<HashMap<String, Arc<Channel>>>);

/// Number of subscribers to topics of this gateway.
pub fn subscribers(app: &App) -> usize {
    let channels = app.shared::<Channels>();
    let all = channels.all();
    all.values().map(|channel| channel.signal.receiver_count()).sum()
}

impl Channel {
    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the ring until the cursor is closed, or the topic has no subscribers.
    async fn read(&self, app: &App, channels: &Channels) -> Result<(), Error> {
        let ring = store::ring(app, &self.topic);
        let end = ring.newest::<MessageDocument>().await?.map(|newest| newest.id);
        let mut joining = Joining::new(&self.window());
        let mut is_at_end = end.is_none();
        let (mut scan, mut found) = ring.follow::<MessageDocument>().await?;
        loop {
            is_at_end = is_at_end || found.is_empty();
            let is_changed = !found.is_empty();
            {
                let mut window = self.window();
                for message in found {
                    is_at_end = is_at_end || Some(&message.id) == end.as_ref();
                    joining.add(&mut window, message);
                }
                if is_at_end {
                    joining.end(&mut window);
                }
            }
            self.signal.send_if_modified(|signal| {
                let is_new = is_changed || is_at_end && !signal.is_open;
                signal.is_open |= is_at_end;
                signal.changes += u64::from(is_new);
                is_new
            });
            if !channels.is_wanted(self) {
                return Ok(());
            }
            match scan.next().await? {
                Some(next) => found = next,
                None => return Ok(()),
            }
        }
    }
}

impl Channels {
    /// Subscribes to a topic, whose ring is followed from then on.
    fn subscribe(app: &App, topic: TopicEntry) -> (Arc<Channel>, watch::Receiver<Signal>) {
        let channels = app.shared::<Self>();
        let mut all = channels.all();
        if let Some(channel) = all.get(&topic.ring) {
            return (Arc::clone(channel), channel.signal.subscribe());
        }
        let (signal, receiver) = watch::channel(Signal::default());
        let window = Mutex::new(Window::new(app.config().topic_window_bytes));
        let channel = Arc::new(Channel { topic, window, signal });
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
                    self.all().remove(&channel.topic.ring);
                    channel.signal.send_modify(|signal| signal.is_over = true);
                    return;
                }
                _ => {}
            }
            if let Err(error) = read {
                app.metrics().streams().restarted(TopicsDocument::COLLECTION);
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
        let mut all = self.all();
        let is_wanted = channel.signal.receiver_count() > 0;
        // Another one of the same topic may have taken its place.
        let is_listed = |listed: &Arc<Channel>| std::ptr::eq(Arc::as_ptr(listed), channel);
        if !is_wanted && all.get(&channel.topic.ring).is_some_and(is_listed) {
            all.remove(&channel.topic.ring);
        }
        is_wanted
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Channel>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows a topic. The first response comes at once: it has the messages since the position, or none.
///
/// # Errors
/// `BadInput` that names the argument.
pub fn topic(
    cx: Cx<'_>,
    name: String,
    since: Option<String>,
    progress: Arc<Progress>,
) -> Result<impl Stream<Item = async_graphql::Result<TopicMessages>> + use<>, Error> {
    check_name("name", &name)?;
    if let Some(since) = &since {
        input::verbatim("since", since, 1..=POSITION)?;
    }
    let (app, requester) = (cx.app.clone(), cx.requester.clone());
    Ok(async_stream::stream! {
        let topic = match super::ready(&app, &name).await {
            Ok(Some(topic)) if is_visible(&requester, &topic) => topic,
            Ok(_) => return,
            Err(error) => {
                yield Err(error.into());
                return;
            }
        };
        let mut subscriber = Subscriber::new(&app, topic, since);
        loop {
            match subscriber.next(&progress).await {
                Ok(Some(messages)) => yield Ok(messages),
                Ok(None) => return,
                Err(error) => {
                    yield Err(error.into());
                    return;
                }
            }
        }
    })
}

/// One subscription.
struct Subscriber {
    ring: Ring,
    channel: Arc<Channel>,
    signal: watch::Receiver<Signal>,
    /// The position that the client gave, and from then on that of the last response.
    position: Option<String>,
    place: Place,
}

/// Where a subscriber reads.
enum Place {
    /// Nothing is read yet.
    Start,
    /// In the ring, up to the message of this id. The window continues with the message of this number.
    Ring(Box<Older>),
    /// In the window, from the message of this number on.
    Window(u64),
}

impl Subscriber {
    fn new(app: &App, topic: TopicEntry, position: Option<String>) -> Self {
        let ring = store::ring(app, &topic);
        let (channel, signal) = Channels::subscribe(app, topic);
        Self { ring, channel, signal, position, place: Place::Start }
    }

    /// The next response; `None` at the end.
    async fn next(&mut self, progress: &Progress) -> Result<Option<TopicMessages>, Error> {
        loop {
            match &mut self.place {
                Place::Start => match self.begin().await? {
                    Some(first) => return Ok(Some(first)),
                    None if self.signal.borrow().is_over => return Ok(None),
                    None => {}
                },
                Place::Ring(older) => {
                    let (messages, is_after_gap) = older.next().await?;
                    let is_last = messages.is_empty();
                    let next = older.continues();
                    if is_last {
                        self.place = Place::Window(next);
                    }
                    if !is_last || is_after_gap {
                        let taken = Taken { messages, next, missed: 0, is_after_gap };
                        return Ok(Some(self.respond(taken)));
                    }
                }
                Place::Window(from) => {
                    let from = *from;
                    let is_over = self.signal.borrow_and_update().is_over;
                    let taken = self.channel.window().take(from);
                    if !taken.messages.is_empty() {
                        self.place = Place::Window(taken.next);
                        return Ok(Some(self.respond(taken)));
                    }
                    progress.wait();
                    if is_over || self.signal.changed().await.is_err() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Finds the place of the position. Returns the first response, unless there is more to do.
    async fn begin(&mut self) -> Result<Option<TopicMessages>, Error> {
        let is_over = match self.signal.wait_for(|signal| signal.is_open || signal.is_over).await {
            Ok(signal) => signal.is_over,
            Err(_gone) => true,
        };
        if is_over {
            return Ok(None);
        }
        let seen = self.signal.borrow_and_update().changes;
        let (from, end, next) = {
            let window = self.channel.window();
            let from = self.position.as_deref().map(|since| window.after(since));
            (from, window.newest().map(ToOwned::to_owned), window.end())
        };
        match (from, end) {
            // From now on.
            (None, end) => {
                self.place = Place::Window(next);
                self.position = end;
                Ok(Some(self.respond(Taken::default())))
            }
            (Some(Some(from)), _) => {
                let taken = self.channel.window().take(from);
                self.place = Place::Window(taken.next);
                Ok(Some(self.respond(taken)))
            }
            (Some(None), None) => {
                self.place = Place::Window(next);
                Ok(Some(self.respond(Taken { is_after_gap: true, ..Taken::default() })))
            }
            (Some(None), Some(end)) => self.begin_in_ring(end, next, seen).await,
        }
    }

    /// The position isn't in the window, which ends with the message `end`.
    async fn begin_in_ring(
        &mut self,
        end: String,
        next: u64,
        seen: u64,
    ) -> Result<Option<TopicMessages>, Error> {
        let since = self.position.clone().unwrap_or_default();
        let there: Vec<MessageDocument> = self.ring.list(&[&since, &end]).await?;
        let has = |id: &str| there.iter().any(|message| message.id == id);
        if !has(&end) {
            // The ring has lapped the window, so all of its messages are to come.
            self.place = Place::Window(next);
            return Ok(Some(self.respond(Taken { is_after_gap: true, ..Taken::default() })));
        }
        let skip_to = has(&since).then_some(since);
        let mut older = Older::read(&self.ring, skip_to, end, next).await?;
        if !older.skip().await? {
            // The position is after the end of the window: this gateway hasn't read so far yet.
            let is_new = |signal: &Signal| signal.changes != seen || signal.is_over;
            let _over = self.signal.wait_for(is_new).await.is_ok();
            return Ok(None);
        }
        self.place = Place::Ring(Box::new(older));
        Ok(None)
    }

    fn respond(&mut self, taken: Taken) -> TopicMessages {
        if let Some(last) = taken.messages.last() {
            self.position = Some(last.id.clone());
        }
        let position = self.position.clone().unwrap_or_else(|| self.channel.topic.ring.clone());
        TopicMessages::new(taken.messages, position, (!taken.is_after_gap).then_some(taken.missed))
    }
}
