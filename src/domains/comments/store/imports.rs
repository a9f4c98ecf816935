//! What a discussed document is told of comments in bulk.

use mongodb::bson::doc;

use super::{
    super::documents::{CommentDocument, OpenDiscussion, Parent},
    parents::{LATEST, excerpt, settled, write},
};
use crate::{
    app::App,
    error::Error,
    mongo::{Run, expression::stored},
};

/// Notes that the comments of a bulk of that name come: until they are taken, some may be there that the
/// discussion doesn't count. Answers whether they are still to be imported.
pub(in super::super) async fn begin_import(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    bulk: &str,
    run: &Run,
) -> Result<bool, Error> {
    let guard = doc! {
        "discussion.id": &discussion.id,
        "discussion.epoch": discussion.epoch,
        "discussion.imported": { "$ne": bulk },
    };
    let update = doc! { "$addToSet": { "discussion.importing": bulk } };
    if write(app, parent, guard, update, run).await.decided()?.is_some() {
        return Ok(true);
    }
    if is_imported(app, parent, bulk).await? { Ok(false) } else { Err(run.overdue()) }
}

async fn is_imported(app: &App, parent: &Parent, bulk: &str) -> Result<bool, Error> {
    let now = settled(app, parent).await?;
    Ok(now.is_some_and(|now| now.imported.iter().any(|other| other == bulk)))
}

/// Takes the comments of a bulk of that name, newest first, where it didn't before.
pub(in super::super) async fn take_all(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    bulk: &str,
    comments: &[CommentDocument],
    run: &Run,
) -> Result<(), Error> {
    let guard = doc! {
        "discussion.id": &discussion.id,
        "discussion.epoch": discussion.epoch,
        "discussion.imported": { "$ne": bulk },
    };
    let count = i64::try_from(comments.len()).map_err(Error::internal)?;
    let newest = comments.iter().take(LATEST.unsigned_abs() as usize);
    let newest: Vec<_> = newest.map(|comment| stored(&excerpt(comment))).collect();
    let latest = doc! { "$each": newest, "$sort": { "at": -1, "id": -1 }, "$slice": LATEST };
    let update = doc! {
        "$inc": { "discussion.count": count, "discussion.total": count },
        "$push": { "discussion.latest": latest, "discussion.imported": bulk },
        "$pull": { "discussion.importing": bulk },
    };
    if write(app, parent, guard, update, run).await.decided()?.is_some() {
        return Ok(());
    }
    if is_imported(app, parent, bulk).await? { Ok(()) } else { Err(run.overdue()) }
}
