//! Former paths of content and assets: a request for one of them leads to the present path.
//!
//! A document has its present path in `metadata.path`, and the paths that it had before in `former`.

use crate::{
    app::App,
    error::Result,
    mongo::{collection::Timed, prelude::*},
};

/// Maximum number of former paths of one document.
const MOST: i32 = 20;
/// The fields that a lookup by path uses. Each has an index.
const PATHS: &[&str] = &["metadata.path", "former.path"];

document! {
    /// A path that a document had.
    #[derive(PartialEq, Eq)]
    pub struct FormerPath {
        pub path: String,
        /// Server time at which it was left.
        pub until: DateTime,
    }
}

/// The documents that have this path or had it before, each with the server's time. The best answer to a request has
/// the highest [`rank`].
///
/// # Errors
/// `Unread` or `Internal`: the read failed.
pub async fn find<T: Stored>(app: &App, path: &str) -> Result<Vec<Timed<T>>> {
    app.collection().find_timed(PATHS, path).await
}

/// The rank of a document that [`find`] returned. The document that has the path is above those that had it, and of these
/// the last one to leave it is the highest. If several have it, which doesn't last long, the one that got it last is the
/// highest: `version` is the version of the document's path.
pub fn rank(
    path: &str,
    present: &str,
    former: &[FormerPath],
    version: i64,
) -> (bool, Option<DateTime>, i64) {
    let left = former.iter().find(|former| former.path == path);
    (present == path, left.map(|former| former.until), version)
}

/// Expression of `former` for a document that leaves its path and gets the path `path`, an expression. The new path isn't
/// a former one any more.
pub fn with_left(path: &Document) -> Bson {
    let left = whole(doc! { "path": "$metadata.path", "until": "$$NOW" });
    let is_neither = not(doc! { "$in": ["$$this.path", ["$metadata.path", path]] });
    let others = filter(array("former"), is_neither);
    Bson::Document(doc! { "$slice": [{ "$concatArrays": [[left], others] }, MOST] })
}
