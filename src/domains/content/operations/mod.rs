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
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{NotFound, Stop},
        trees::settled,
    },
    mongo::{Outcome, Run},
};

/// Steps from a root to the deepest, at the most. It is checked where content is created or moved,
/// against what is there at that moment: it bounds what an operation costs, and nothing else hangs on it.
const DEPTH: usize = 16;

/// The `_id` behind a global id that a client gave.
fn own_id(global: &str) -> Result<String, NotFound> {
    input::id(NodeKind::Content, global)
}

/// Content that was found, where it takes changes.
fn changeable<U: From<NotFound>>(
    found: Option<NodeDocument>,
    id: &str,
) -> Result<NodeDocument, Stop<U>> {
    settled(found, NodeKind::Content, id)
}

/// What a write that needs no more than that the content is there has made of it.
async fn written<U: From<NotFound>>(
    app: &App,
    id: &str,
    run: &Run,
    outcome: Outcome<NodeDocument>,
) -> Result<NodeDocument, Stop<U>> {
    if let Some(written) = outcome.decided()? {
        return Ok(written);
    }
    changeable::<U>(store::find(app, id).await?, id)?;
    Err(run.overdue().into())
}
