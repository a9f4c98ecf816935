//! The sweep of sessions rolls up the sessions that have arrived.

use super::operations;
use crate::{app::App, flow::Sweep};

pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    sweep.note("roll-up", operations::roll_up_if_due(app).await);
}
