//! The rules of content.

mod checks;
mod create;
mod edit;
mod place;
mod publish;
mod reads;
mod sets;

pub use create::create;
pub(super) use edit::keep;
pub use edit::{REVISIONS, edit, restore};
pub use place::{delete, move_to};
pub use publish::{publish, unpublish};
pub(super) use reads::feed_at;
pub use reads::{below, by_id, content, contents, revisions};
pub use sets::{set_access, tag, untag};

use super::{documents::NodeDocument, store};
use crate::{
    app::App,
    flow::Attempt,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{NotFound, Stop},
        trees::settled,
    },
    mongo::Outcome,
};

/// Maximum number of steps from a root to the deepest content. It is checked when content is created or
/// moved, against the state at that moment. It limits the cost of an operation; nothing else depends on it.
const DEPTH: usize = 16;

/// The `_id` of a global id from a client.
fn own_id(global: &str) -> Result<String, NotFound> {
    input::id(NodeKind::Content, global)
}

/// The content that was found, if it can be changed.
fn changeable<U: From<NotFound>>(
    found: Option<NodeDocument>,
    id: &str,
) -> Result<NodeDocument, Stop<U>> {
    settled(found, NodeKind::Content, id)
}

/// The result of a write whose guard only requires that the content exists.
async fn written<U: From<NotFound>>(
    app: &App,
    id: &str,
    attempt: &Attempt,
    outcome: Outcome<NodeDocument>,
) -> Result<NodeDocument, Stop<U>> {
    if let Some(written) = outcome.decided()? {
        return Ok(written);
    }
    changeable::<U>(store::find(app, id).await?, id)?;
    Err(attempt.overdue().into())
}
