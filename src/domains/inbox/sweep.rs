//! The sweep of messages begins interrupted deliveries again.

use super::{documents::MessageDocument, operations::deliver_again, store::messages};
use crate::{app::App, flow::Sweep};

/// Number of messages that one command reads.
const LIMIT: i64 = 100;

/// Begins deliveries again that were cut. The jobs of a delivery carry it on by themselves, so beginning it again adds
/// nothing to one that is under way.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let by = ("delivering", "delivering");
    let list = |from, limit| messages(app).list_between(by, from, before, limit);
    let deliver = |message: MessageDocument| async move { deliver_again(app, &message).await };
    // Those whose jobs still have to be done stay at the front.
    sweep.each_page("messages", LIMIT, list, deliver).await;
}
