//! Sweep of series: creates the time-series collection of the engine `native` when the gateways start.

use super::store;
use crate::{app::App, config::SeriesEngine, flow::Sweep};

pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    if app.config().series_engine == SeriesEngine::Native {
        sweep.note("pageViewPoints", store::create_points(app).await);
    }
}
