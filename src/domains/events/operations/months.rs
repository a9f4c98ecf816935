//! The months whose collections this gateway knows to exist. It creates a collection before its first insert there, and
//! once a minute makes sure that it is still there: somebody may have dropped it, and an insert would create one without
//! indexes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::sync::OnceCell;

use super::super::{EventDocument, calendar::Month, store};
use crate::{app::App, error::Error, locks::lock, mongo::periods::Period};

/// How long a month is known to exist.
const FRESH: Duration = Duration::from_secs(60);

/// The collection of a month, once it is known to exist.
type Existing = Arc<OnceCell<Arc<Period<EventDocument>>>>;

/// Whether a month exists, and since when that is to be found out.
struct Known {
    since: Instant,
    exists: Existing,
}

#[derive(Default)]
struct Months(Mutex<HashMap<Month, Known>>);

impl Months {
    /// What is known of a month.
    fn of(&self, month: Month) -> Existing {
        let mut all = lock(&self.0);
        all.retain(|_, known| known.since.elapsed() < FRESH);
        let new = || Known { since: Instant::now(), exists: Arc::default() };
        Arc::clone(&all.entry(month).or_insert_with(new).exists)
    }
}

/// The collection of a month. It is created with its indexes, unless this gateway has just done that.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub(in super::super) async fn demand(
    app: &App,
    month: Month,
) -> Result<Arc<Period<EventDocument>>, Error> {
    // Calls that arrive meanwhile wait for the same command.
    let exists = app.shared::<Months>().of(month);
    let create = || async { store::prepare(app, month).await.map(Arc::new) };
    Ok(Arc::clone(exists.get_or_try_init(create).await?))
}

/// Notes that the collection of a month was dropped.
pub(in super::super) fn forget(app: &App, month: Month) {
    lock(&app.shared::<Months>().0).remove(&month);
}
