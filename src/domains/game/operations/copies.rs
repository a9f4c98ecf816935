//! The copies of places in the documents of their characters.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::super::{
    documents::{Holder, HolderKind, PlaceDocument},
    store::{self, places},
};
use crate::graphql::prelude::*;

/// Shortest time between two passes over the copies of one place.
const PAUSE: Duration = Duration::from_millis(500);

/// The places whose copies are being brought up to date by this gateway, and whether they have changed since.
#[derive(Default)]
struct Spreading(Mutex<HashMap<String, bool>>);

impl Spreading {
    fn with<R>(&self, act: impl FnOnce(&mut HashMap<String, bool>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
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

/// Brings the copies of the places among the holders up to date, behind the reply. Changes that follow each other soon
/// are copied together.
pub(super) fn spread_soon(app: &App, holders: &[Holder]) {
    let shared: Arc<Spreading> = app.shared();
    for holder in holders.iter().filter(|holder| holder.kind == HolderKind::Place) {
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
                tokio::time::sleep(PAUSE).await;
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
