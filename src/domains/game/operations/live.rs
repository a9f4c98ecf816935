//! Subscriptions to places. A crowded place has many followers, and changes often. One task for each place reads
//! it after changes, at most five times a second, however many followers it has.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::Stream;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use super::super::{documents::PlaceDocument, store, types::Place};
use crate::{
    graphql::{prelude::*, shared::Shared, subscription::Progress},
    mongo::watch::Changes,
};

/// Shortest time between two reads of a place.
const PAUSE: Duration = Duration::from_millis(200);
/// Time after which it is looked whether a place still has followers.
const CHECK: Duration = Duration::from_secs(1);

/// What is known of a place.
#[derive(Clone, Default)]
enum Known {
    /// It wasn't read yet.
    #[default]
    Nothing,
    /// There is no such place.
    Missing,
    /// The place, which is resolved once for all followers.
    Place(Arc<PlaceDocument>, Shared<Place>),
}

/// The places that have followers in this gateway.
#[derive(Default)]
struct Watched(Mutex<HashMap<String, Arc<watch::Sender<Known>>>>);

impl Watched {
    /// Subscribes to a place, which is watched from then on.
    fn subscribe(app: &App, place: String) -> watch::Receiver<Known> {
        let watched = app.shared::<Self>();
        let mut all = watched.all();
        if let Some(known) = all.get(&place) {
            return known.subscribe();
        }
        let (known, receiver) = watch::channel(Known::Nothing);
        let known = Arc::new(known);
        all.insert(place.clone(), Arc::clone(&known));
        drop(all);
        let changes = app.hub().watch::<PlaceDocument>(place.clone());
        tokio::spawn(Arc::clone(&watched).watch(app.clone(), place, known, changes));
        receiver
    }

    /// Reads a place now and after changes, until it has no followers.
    async fn watch(
        self: Arc<Self>,
        app: App,
        place: String,
        known: Arc<watch::Sender<Known>>,
        mut changes: Changes,
    ) {
        let mut is_reset = false;
        loop {
            let earliest = Instant::now() + PAUSE;
            let found = store::places(&app).get(&place).await;
            let has_failed = found.is_err();
            match found {
                Ok(found) => {
                    // After an interruption the same version may have other content.
                    let is_told = std::mem::take(&mut is_reset);
                    known.send_if_modified(|known| known.replace(found, is_told));
                }
                Err(error) => tracing::warn!(
                    event = "place_unread",
                    place,
                    %error,
                    "a place couldn't be read for its followers; it is read again"
                ),
            }
            loop {
                let has_changed = tokio::select! {
                    is_open = changes.changed() => {
                        if !is_open {
                            self.all().remove(&place);
                            return;
                        }
                        is_reset |= changes.take().is_reset;
                        true
                    }
                    () = sleep(CHECK) => false,
                };
                if !self.is_wanted(&place, &known) {
                    return;
                }
                if has_changed || has_failed {
                    break;
                }
            }
            sleep_until(earliest).await;
        }
    }

    /// Whether the place has followers. If not, it is forgotten.
    fn is_wanted(&self, place: &str, known: &watch::Sender<Known>) -> bool {
        let mut all = self.all();
        let is_wanted = known.receiver_count() > 0;
        if !is_wanted {
            all.remove(place);
        }
        is_wanted
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<watch::Sender<Known>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Replaces what is known. Returns whether something has changed, or may have because of a reset.
    fn replace(&mut self, found: Option<PlaceDocument>, is_reset: bool) -> bool {
        match (&*self, &found) {
            (Self::Missing, None) => return false,
            (Self::Place(known, _), Some(found)) if known.version == found.version && !is_reset => {
                return false;
            }
            _ => {}
        }
        *self = found.map_or(Self::Missing, |found| {
            let place = Place::from(found.clone());
            Self::Place(Arc::new(found), Shared::new(place))
        });
        true
    }
}

/// Follows a place. If the subscriber selects what depends on the caller, such as pictures, it is resolved for this
/// subscriber alone.
pub fn place_changed(
    cx: Cx<'_>,
    id: &ID,
    is_personal: bool,
    progress: Arc<Progress>,
) -> impl Stream<Item = async_graphql::Result<Shared<Place>>> + use<> {
    // No place has an empty `_id`.
    let id = input::id(NodeKind::PLACE, id).unwrap_or_default();
    let mut known = Watched::subscribe(cx.app, id);
    async_stream::stream! {
        loop {
            let now = known.borrow_and_update().clone();
            match now {
                Known::Missing => return,
                Known::Nothing => {}
                Known::Place(place, _) if is_personal => {
                    yield Ok(Shared::new(Place::from((*place).clone())));
                }
                Known::Place(_, shared) => yield Ok(shared),
            }
            progress.wait();
            if known.changed().await.is_err() {
                return;
            }
        }
    }
}
