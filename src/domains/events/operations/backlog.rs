//! Events whose callers aren't waiting any more. Their size in memory is bounded, in all and for each subject.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{app::App, error::Error};

/// Maximum size of these events in a gateway, in bytes.
const BYTES: usize = 32 << 20;
/// What a call takes up beside its events.
const PER_CALL: usize = 1 << 10;

#[derive(Default)]
struct Backlog(Mutex<Sizes>);

#[derive(Default)]
struct Sizes {
    all: usize,
    by_subject: HashMap<String, usize>,
}

impl Backlog {
    fn sizes(&self) -> MutexGuard<'_, Sizes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The room that the events of a call take up until it is dropped.
pub(super) struct Place {
    backlog: Arc<Backlog>,
    subject: String,
    bytes: usize,
}

/// Takes room for the events of a call.
///
/// # Errors
/// `Overloaded` if there is none. Nothing was logged.
pub(super) fn take(app: &App, subject: &str, bytes: usize) -> Result<Place, Error> {
    let (backlog, bytes) = (app.shared::<Backlog>(), bytes + PER_CALL);
    let share = BYTES / 100 * app.config().client_share_percent;
    let mut sizes = backlog.sizes();
    let of_subject = sizes.by_subject.get(subject).copied().unwrap_or(0);
    // A call that is larger than a share is taken if it is the only one.
    let fits = of_subject == 0 || of_subject + bytes <= share;
    if !fits || sizes.all + bytes > BYTES {
        return Err(Error::Overloaded);
    }
    sizes.all += bytes;
    sizes.by_subject.insert(subject.to_owned(), of_subject + bytes);
    drop(sizes);
    Ok(Place { backlog, subject: subject.to_owned(), bytes })
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut sizes = self.backlog.sizes();
        sizes.all -= self.bytes;
        if let Some(of_subject) = sizes.by_subject.get_mut(&self.subject) {
            *of_subject -= self.bytes;
            if *of_subject == 0 {
                sizes.by_subject.remove(&self.subject);
            }
        }
    }
}
