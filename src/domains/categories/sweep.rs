//! Ends what was cut: creations, deletions, fan-outs.

use mongodb::bson::DateTime;

use super::store::Categories;
use crate::{
    app::App,
    error::Error,
    mongo::tree::{sweep_creations, sweep_deletions, sweep_fan_outs},
};

/// Ends what nothing touched for long; answers how much that was.
///
/// # Errors
/// `Unavailable` or `Internal`; what is left is tried again.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now().timestamp_millis();
    let before = DateTime::from_millis(now - app.bounds().quiet_millis());
    let tree = Categories(app.clone());
    let done = [
        sweep_creations(&tree, before).await,
        sweep_deletions(&tree, before).await,
        sweep_fan_outs(&tree, before).await,
    ];
    done.into_iter().sum()
}
