//! Sweep of categories: finishes interrupted creations, deletions and fan-outs.

use super::store::Categories;
use crate::{
    app::App,
    flow::{Sweep, tree::sweep_tree},
};

/// Finishes interrupted creations, deletions and fan-outs.
pub async fn sweep(app: &App, sweep: &mut Sweep) {
    sweep_tree(&Categories(app.clone()), sweep).await;
}
