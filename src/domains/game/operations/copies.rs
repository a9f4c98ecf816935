//! The copies of places in the documents of their characters.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::super::{
    documents::{Holder, HolderKind, PlaceDocument},
    store::{self, places},
};
use crate::{graphql::prelude::*, locks::lock};

/// Shortest time between two passes over the copies of one place.
const PAUSE: Duration = Duration::from_millis(500);
/// Later passes begin at multiples of this time. So those of several busy places begin together, and share their reads and
/// the ends of their passes.
const TURN: Duration = Duration::from_millis(100);

/// The copies that are being brought up to date by this gateway.
struct Spreading {
    /// Their places, and whether they have changed since.
    places: Mutex<HashMap<String, bool>>,
    /// Since when turns are counted.
    since: Instant,
}

impl Default for Spreading {
    fn default() -> Self {
        Self { places: Mutex::default(), since: Instant::now() }
    }
}

impl Spreading {
    fn with<R>(&self, act: impl FnOnce(&mut HashMap<String, bool>) -> R) -> R {
        act(&mut lock(&self.places))
    }

    /// How long a place waits for its next pass.
    fn pause(&self) -> Duration {
        until_turn(self.since.elapsed())
    }

    /// Whether the copies of a place have to be looked at once more: they are behind, or the place has changed. If not,
    /// it is forgotten.
    fn again(&self, place: &str, is_behind: bool) -> bool {
        self.with(|all| match all.get_mut(place) {
            Some(again) if *again || is_behind => {
                *again = false;
                true
            }
            _ => {
                all.remove(place);
                false
            }
        })
    }
}

/// The time from `now` to the first turn after the pause.
fn until_turn(now: Duration) -> Duration {
    let (earliest, turn) = ((now + PAUSE).as_millis(), TURN.as_millis());
    let ahead = u64::try_from(earliest.next_multiple_of(turn) - earliest).unwrap_or_default();
    PAUSE + Duration::from_millis(ahead)
}

/// Brings the copies of the places among the holders up to date, behind the reply. Changes that follow each other soon
/// are copied together.
pub(super) fn spread_soon(app: &App, holders: &[Holder]) {
    let mut places = holders.iter().filter(|holder| holder.kind == HolderKind::Place).peekable();
    if places.peek().is_none() {
        return;
    }
    let shared: Arc<Spreading> = app.shared();
    for holder in places {
        let place = holder.id.clone();
        let is_running = shared.with(|all| {
            let is_known = all.contains_key(&place);
            all.insert(place.clone(), is_known);
            is_known
        });
        if is_running {
            continue;
        }
        let (own, shared) = (app.clone(), Arc::clone(&shared));
        app.in_background("copying a place", async move {
            loop {
                let done = spread(&own, &place).await;
                if done.is_err() {
                    shared.with(|all| all.remove(&place));
                }
                let is_behind = done? == Some(false);
                if !shared.again(&place, is_behind) {
                    return Ok(());
                }
                tokio::time::sleep(shared.pause()).await;
            }
        });
    }
}

/// Brings the copies of a place up to date with the place as it is read. Returns `None` if they are up to date already,
/// and `Some(false)` if the place has changed meanwhile.
pub(in super::super) async fn spread(app: &App, place: &str) -> Result<Option<bool>> {
    let found: Option<PlaceDocument> = places(app).get_settled(place).await?;
    let Some(found) = found.filter(|found| found.pending_at.is_some()) else {
        return Ok(None);
    };
    store::spread(app, &found).await?;
    store::end_spreading(app, &found).held().await.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_of_several_places_begin_at_one_turn() {
        let turns = [1_001, 1_050, 1_099, 1_100].map(|now| {
            let now = Duration::from_millis(now);
            now + until_turn(now)
        });
        assert_eq!(turns, [Duration::from_millis(1_600); 4]);
        let later = Duration::from_millis(1_101);
        assert_eq!(later + until_turn(later), Duration::from_millis(1_700));
    }
}
