//! Subscriptions to topics.

use std::sync::Arc;

use futures_util::Stream;
use tokio::sync::watch;

use super::{
    super::{documents::TopicEntry, store, types::TopicMessages},
    TOPIC,
    channel::{Channel, Channels, Older, Reads, Signal},
    check_name, is_visible,
    window::MOST,
};
use crate::graphql::{
    prelude::*,
    shared::Shared,
    shares::{Client, Clients},
    subscription::{Progress, nothing},
};

/// Maximum number of characters of a position.
const POSITION: usize = 64;

/// Follows a topic. The first response comes at once: it has the messages since the position, or none. If the topic doesn't
/// exist, or isn't visible to the caller, the only response is the error `NotFound`.
///
/// # Errors
/// `BadInput` that names the argument.
pub fn topic(
    cx: Cx<'_>,
    name: String,
    since: Option<String>,
    progress: Arc<Progress>,
) -> Result<impl Stream<Item = async_graphql::Result<Shared<TopicMessages>>> + use<>> {
    check_name("name", &name)?;
    if let Some(since) = &since {
        input::verbatim("since", since, 1..=POSITION)?;
    }
    let (app, requester) = (cx.app.clone(), cx.requester.clone());
    let client = app.shared::<Clients>().of_caller(&requester);
    Ok(async_stream::stream! {
        let topic = match super::ready(&app, &name).await {
            Ok(Some(topic)) if is_visible(&requester, &topic) => topic,
            Ok(_) => {
                yield Err(nothing(TOPIC, &name).into());
                return;
            }
            Err(error) => {
                yield Err(error.into());
                return;
            }
        };
        let mut subscriber = Subscriber::new(&app, topic, client, since);
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
    channel: Arc<Channel>,
    reads: Reads,
    signal: watch::Receiver<Signal>,
    place: Place,
}

/// Where a subscriber is.
enum Place {
    /// Nothing is read yet. It is to begin after the message of this id, or at the present end.
    Start(Option<String>),
    /// In the ring.
    Ring(RingPlace),
    /// In the window, before the message of this number.
    Window(u64),
}

/// A place that the window doesn't reach back to.
struct RingPlace {
    /// Id of the last message before it.
    after: String,
    /// Number of messages that are read next.
    most: usize,
    /// Whether there was no response yet.
    is_first: bool,
}

impl Subscriber {
    fn new(app: &App, topic: TopicEntry, client: Client, position: Option<String>) -> Self {
        let reads = Reads::new(app, store::ring(app, &topic), client);
        let (channel, signal) = Channels::subscribe(app, topic);
        Self { channel, reads, signal, place: Place::Start(position) }
    }

    /// The next response; `None` at the end.
    async fn next(&mut self, progress: &Progress) -> Result<Option<Shared<TopicMessages>>> {
        loop {
            // What changes from here on is seen when it waits.
            let is_over = self.signal.borrow_and_update().is_over;
            let response = match &self.place {
                Place::Start(_) => self.begin().await?,
                Place::Window(from) => {
                    let next = self.channel.recent().next(*from);
                    next.map(|(response, next)| {
                        self.place = Place::Window(next);
                        response
                    })
                }
                Place::Ring(_) if is_over => None,
                Place::Ring(_) => self.next_older().await?,
            };
            if response.is_some() {
                return Ok(response);
            }
            let is_over = is_over || self.signal.borrow().is_over;
            if matches!(self.place, Place::Window(_)) {
                progress.wait();
            }
            if is_over || self.signal.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    /// Finds the place, and returns the first response.
    async fn begin(&mut self) -> Result<Option<Shared<TopicMessages>>> {
        let opened = self.signal.wait_for(|signal| signal.is_open || signal.is_over).await;
        if !opened.is_ok_and(|signal| !signal.is_over) {
            return Ok(None);
        }
        let Place::Start(since) = &mut self.place else { return Ok(None) };
        let since = since.take();
        let found = {
            let mut recent = self.channel.recent();
            let from = since.as_deref().map(|since| recent.window.after(since));
            match (since, from) {
                (Some(since), None | Some(None)) => Err(since),
                (Some(since), Some(Some(from))) => {
                    let none = || (Shared::new(TopicMessages::none(since, Some(0))), from);
                    Ok(recent.next(from).unwrap_or_else(none))
                }
                (None, _) => {
                    let newest = recent.window.newest().unwrap_or(&self.channel.topic.ring);
                    let none = TopicMessages::none(newest.to_owned(), Some(0));
                    Ok((Shared::new(none), recent.window.end()))
                }
            }
        };
        match found {
            Ok((response, next)) => {
                self.place = Place::Window(next);
                Ok(Some(response))
            }
            Err(after) => {
                self.place = Place::Ring(RingPlace { after, most: MOST, is_first: true });
                self.next_older().await
            }
        }
    }

    /// The next response of a place in the ring. `None` if the gateway itself hasn't read so far yet.
    async fn next_older(&mut self) -> Result<Option<Shared<TopicMessages>>> {
        let Place::Ring(RingPlace { after, most, is_first }) = &self.place else { return Ok(None) };
        let end = {
            let mut recent = self.channel.recent();
            if let Some(from) = recent.window.after(after) {
                let none = || Shared::new(TopicMessages::none(after.clone(), Some(0)));
                let (response, next) = match recent.next(from) {
                    Some((response, next)) => (Some(response), next),
                    None => (is_first.then(none), from),
                };
                self.place = Place::Window(next);
                return Ok(response);
            }
            recent.window.end()
        };
        let (most, mut missed) = (*most, Some(0));
        let found = match self.reads.read(Some(after), most).await? {
            Some(Older { messages, .. }) if messages.is_empty() => return Ok(None),
            Some(found) => Some(found),
            // Its message was overwritten, or was never there.
            None => {
                missed = None;
                self.reads.read(None, most).await?
            }
        };
        let last = found.as_ref().and_then(|found| found.messages.last());
        let (Some(last), Some(found)) = (last.map(|last| last.id.clone()), found) else {
            let response = TopicMessages::none(self.channel.topic.ring.clone(), missed);
            self.place = Place::Window(end);
            return Ok(Some(Shared::new(response)));
        };
        self.place = Place::Ring(RingPlace { after: last, most: found.most, is_first: false });
        Ok(TopicMessages::after(found.messages, missed).map(Shared::new))
    }
}
