//! The rules of content.

mod create;
mod edit;
mod place;
mod publish;
mod reads;
mod sets;

pub use create::create_content;
pub(super) use edit::keep;
pub use edit::{REVISIONS, edit_content, restore_content};
pub use place::{delete_content, move_content};
pub use publish::{publish_content, unpublish_content};
pub(super) use reads::feed_at;
pub use reads::{below, by_id, content, contents, revisions};
pub use sets::{set_content_access, tag_content, untag_content};

use super::{documents::NodeDocument, store::Nodes, types::Shown};
use crate::{app::App, domains::trees::Unsettled, mongo::guarded::Guarded};

/// Sends a write whose guard only requires that the content exists.
async fn write(app: &App, id: &str, write: Guarded<NodeDocument>) -> Result<Shown, Unsettled> {
    let attempt = app.begin().await?;
    if let Some(written) = write.within(&attempt).then_read().await? {
        return Ok(Shown::written(written, attempt.now()));
    }
    Nodes::over(app).get(id).await?;
    Err(attempt.overdue().into())
}
