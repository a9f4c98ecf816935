//! The months whose collections this gateway knows to exist. It creates a collection before its first insert there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OnceCell;

use super::super::{calendar::Month, store};
use crate::{app::App, error::Error};

#[derive(Default)]
struct Months(Mutex<HashMap<Month, Arc<OnceCell<()>>>>);

impl Months {
    fn all(&self) -> MutexGuard<'_, HashMap<Month, Arc<OnceCell<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the collection of a month with its indexes, unless this gateway has done it.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub(in super::super) async fn demand(app: &App, month: Month) -> Result<(), Error> {
    let months = app.shared::<Months>();
    let known = Arc::clone(months.all().entry(month).or_default());
    // Calls that arrive meanwhile wait for the same command.
    known.get_or_try_init(|| store::prepare(app, month)).await?;
    Ok(())
}

/// Notes that the collection of a month was dropped.
pub(in super::super) fn forget(app: &App, month: Month) {
    app.shared::<Months>().all().remove(&month);
}
