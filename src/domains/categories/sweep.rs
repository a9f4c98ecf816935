//! Sweep of categories: finishes interrupted creations, deletions and fan-outs.

use mongodb::bson::DateTime;

use super::store::Categories;
use crate::{
    app::App,
    error::Error,
    mongo::tree::{sweep_creations, sweep_deletions, sweep_fan_outs},
};

/// Finishes flows that have been untouched for long enough; returns how many.
///
/// # Errors
/// `Unavailable` or `Internal`: the rest is left to the next sweep.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now().timestamp_millis();
    let before = DateTime::from_millis(now - app.bounds().two_grace_periods_millis());
    let tree = Categories(app.clone());
    let done = [
        sweep_creations(&tree, before).await,
        sweep_deletions(&tree, before).await,
        sweep_fan_outs(&tree, before).await,
    ];
    done.into_iter().sum()
}
