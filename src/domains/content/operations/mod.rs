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
use crate::{domains::trees::Unsettled, flow::Attempt, mongo::Outcome};

/// Maximum number of steps from a root to the deepest content. It is checked when content is created or
/// moved, against the state at that moment. It limits the cost of an operation; nothing else depends on it.
const DEPTH: usize = 16;

/// The result of a write whose guard only requires that the content exists.
async fn written(
    tree: &Nodes,
    id: &str,
    attempt: &Attempt,
    outcome: Outcome<NodeDocument>,
) -> Result<Shown, Unsettled> {
    if let Some(written) = outcome.decided()? {
        return Ok(Shown::written(written, attempt.now()));
    }
    tree.get(id).await?;
    Err(attempt.overdue().into())
}
