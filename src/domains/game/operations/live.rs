//! Subscriptions to places. A crowded place has many followers, and changes often. One task for each place reads
//! it after changes, at most five times a second, however many followers it has.

use std::{sync::Arc, time::Duration};

use futures_util::Stream;
use tokio::time::{Instant, sleep_until};

use super::super::{documents::PlaceDocument, store, types::Place};
use crate::graphql::{
    prelude::*,
    shared::Shared,
    subscription::{Progress, nothing},
    watched::{Watched, Watching},
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

/// Reads a place now and after changes.
async fn watch_place(app: App, watching: Watching<String, Known>) {
    let place = watching.key();
    let mut changes = app.hub().watch::<PlaceDocument>(place.clone());
    let mut is_reset = false;
    loop {
        let earliest = Instant::now() + PAUSE;
        let found = store::places(&app).get(place).await;
        let has_failed = found.is_err();
        match found {
            Ok(found) => {
                // After an interruption the same version may have other content.
                let is_told = std::mem::take(&mut is_reset);
                watching.update(|known| known.replace(found, is_told));
            }
            Err(error) => tracing::warn!(
                event = "place_unread",
                place,
                %error,
                "a place couldn't be read for its followers; it is read again"
            ),
        }
        loop {
            let Some(has_changed) = watching.wait(CHECK, changes.changed()).await else { return };
            is_reset |= changes.take().is_reset;
            if has_changed || has_failed {
                break;
            }
        }
        sleep_until(earliest).await;
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
/// subscriber alone. If there is no such place, the only response is the error `NotFound`.
pub fn place_changed(
    cx: Cx<'_>,
    id: &ID,
    is_personal: bool,
    progress: Arc<Progress>,
) -> impl Stream<Item = async_graphql::Result<Shared<Place>>> + use<> {
    let key = input::id_or_none(NodeKind::PLACE, id);
    let (mut known, id) = (Watched::subscribe(cx.app, key, watch_place), id.clone());
    async_stream::stream! {
        loop {
            let now = known.borrow_and_update().clone();
            match now {
                // Places are never removed, so it was missing from the beginning.
                Known::Missing => {
                    yield Err(nothing(NodeKind::PLACE.name(), &id).into());
                    return;
                }
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
