//! Comments in bulk, from elsewhere: they are stored as if they had been posted then.
//!
//! They go into a discussion that stores one document per comment. The discussion notes that a bulk comes.
//! Then the documents are inserted, each with an id made from the bulk's; one update then counts them all. The
//! same bulk again changes nothing.

use mongodb::bson::DateTime;

use super::{
    documents::{CommentDocument, Layout},
    operations::parent_of,
    store::{self, Place},
};
use crate::{app::App, error::Error, mongo::Version};

/// One comment of a bulk.
#[derive(Debug, Clone)]
pub struct ImportComment {
    /// Subject of who wrote it.
    pub author: String,
    /// What it says.
    pub text: String,
    /// Position in the bulk of the comment that it replies to, before it.
    pub reply_to: Option<usize>,
    /// When it was posted.
    pub at: DateTime,
}

/// Comments per command.
const BATCH: usize = 1_000;

/// Puts a bulk of comments into a discussion. `name` tells it from other bulks.
///
/// # Errors
/// `BadInput` where there is no such discussion, or trouble: repeat it.
pub async fn import(
    app: &App,
    on: &async_graphql::ID,
    name: &str,
    bulk: &[ImportComment],
) -> Result<(), Error> {
    let parent = parent_of(on).map_err(|_| Error::bad_input("on", "isn't there"))?;
    let discussion = store::settled(app, &parent).await?;
    let per_document = discussion.filter(|discussion| {
        discussion.layout == Layout::PerDocument && discussion.migration.is_none()
    });
    let Some(discussion) = per_document else {
        return Err(Error::bad_input("on", "has no discussion of one document per comment"));
    };
    let run = app.begin().await?;
    if !store::begin_import(app, &parent, &discussion, name, &run).await? {
        return Ok(());
    }
    let place = Place::now(&parent, &discussion);
    let mut comments: Vec<CommentDocument> = Vec::with_capacity(bulk.len());
    for (number, one) in bulk.iter().enumerate() {
        let id = app.ids().derived(&["import", &discussion.id, name, &number.to_string()]);
        let above = one.reply_to.and_then(|to| comments.get(to));
        let above = above.map(|to| (to.slug.clone(), to.sort_key.clone())).unwrap_or_default();
        // Long enough for any bulk: a name that is taken can't be told from a repeat here.
        let short = CommentDocument::short(&id, 16);
        let slug = if above.0.is_empty() { short.clone() } else { format!("{}/{short}", above.0) };
        comments.push(CommentDocument {
            key: place.key(&id),
            on: place.on(),
            parent: parent.clone(),
            slug,
            reply_to: above.0,
            sort_key: format!("{}{}", above.1, CommentDocument::level(one.at, &short)),
            at: one.at,
            author: one.author.clone(),
            text: one.text.clone(),
            stars: None,
            nonce: id.clone(),
            id,
            version: 1,
            edited_at: None,
            removed: None,
            origin: String::new(),
            due: None,
            settled_at: None,
            sealed: false,
            v: Version,
        });
    }
    for batch in comments.chunks(BATCH) {
        store::insert_all(app, batch).await?;
    }
    // Only now: so many inserts may take longer than a run.
    let run = app.begin().await?;
    comments.sort_by(|left, right| (right.at, &right.id).cmp(&(left.at, &left.id)));
    store::take_all(app, &parent, &discussion, name, &comments, &run).await
}
