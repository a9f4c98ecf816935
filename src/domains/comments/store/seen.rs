//! Reads of discussed documents with a check of visibility. A discussion is visible with its document.

use std::collections::HashSet;

use mongodb::bson::{DateTime, doc};

use super::super::documents::{Kind, OpenDiscussion, Parent, ParentDocument, ParentKind, of_kind};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::requester::Requester,
    mongo::{collection::List, expression::both},
};

/// The discussion of a document: `None` if the caller can't see the document, `Some(None)` if no discussion
/// was opened.
#[expect(clippy::option_option, reason = "whether it is seen is not whether it is discussed")]
fn seen<K: Kind>(
    found: Option<ParentDocument<K>>,
    requester: &Requester,
    now: Option<DateTime>,
) -> Option<Option<OpenDiscussion>> {
    let found = found.filter(|parent| parent.is_seen_by(requester, now))?;
    Some(found.discussion.map(|discussion| *discussion))
}

/// Reads the discussion for lists.
pub(in super::super) async fn find(
    app: &App,
    parent: &Parent,
    requester: &Requester,
) -> Result<Option<Option<OpenDiscussion>>, Error> {
    of_kind!(parent.kind, Own => {
        if Own::IS_TIMED {
            return Ok(open(app, parent, requester).await?.1);
        }
        let found = app.collection::<Own>().get_part(&parent.key, Own::FIELDS).await?;
        Ok(seen(found, requester, None))
    })
}

/// Which of these documents the caller can see, with one command per kind.
pub(in super::super) async fn list_seen(
    app: &App,
    requester: &Requester,
    parents: &HashSet<&Parent>,
) -> Result<HashSet<Parent>, Error> {
    let kinds = ParentKind::ALL.map(|kind| list_seen_of(app, requester, kind, parents));
    let [products, contents, assets] = kinds;
    let (products, contents, assets) = tokio::try_join!(products, contents, assets)?;
    Ok([products, contents, assets].into_iter().flatten().collect())
}

/// Like [`list_seen`] for one kind.
async fn list_seen_of(
    app: &App,
    requester: &Requester,
    kind: ParentKind,
    parents: &HashSet<&Parent>,
) -> Result<Vec<Parent>, Error> {
    let own = parents.iter().filter(|parent| parent.kind == kind);
    let keys: Vec<_> = own.map(|parent| parent.key.as_str()).collect();
    let Ok(limit @ 1..) = i64::try_from(keys.len()) else { return Ok(Vec::new()) };
    of_kind!(kind, Own => {
        let filter = both(doc! { "_id": { "$in": keys } }, kind.seen_by(requester));
        let projection = Some(doc! { "_id": 1 });
        let list = List { filter, limit, projection, hint: Some("_id_"), ..List::default() };
        let found = app.collection::<Own>().list(list).await?;
        Ok(found.into_iter().map(|parent| Parent { kind, key: parent.key }).collect())
    })
}

/// Reads the discussion and begins an attempt with that read.
pub(in super::super) async fn open(
    app: &App,
    parent: &Parent,
    requester: &Requester,
) -> Result<(Attempt, Option<Option<OpenDiscussion>>), Error> {
    of_kind!(parent.kind, Own => {
        let (attempt, found) = app.collection::<Own>().open(app.bounds(), &parent.key).await?;
        Ok((attempt, seen(found, requester, Some(attempt.now()))))
    })
}
