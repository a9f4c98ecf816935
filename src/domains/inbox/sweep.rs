//! The sweep of messages begins interrupted deliveries again.

use super::{documents::MessageDocument, operations::deliver_again, store::messages};
use crate::{app::App, flow::Sweep};

/// Maximum number of messages per pass.
const LIMIT: i64 = 100;

/// Begins deliveries again that were cut. The jobs of a delivery carry it on by themselves, so beginning it again adds
/// nothing to one that is under way.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let cut = messages(app).list_older(("delivering", "delivering"), before, LIMIT).await;
    let name = |message: &MessageDocument| format!("message {}", message.id);
    sweep.each(cut, name, |message| async move { deliver_again(app, &message).await }).await;
}
