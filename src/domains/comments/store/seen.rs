//! Reads of discussed documents with a check of visibility. A discussion is visible with its document.

use std::collections::HashSet;

use mongodb::bson::{DateTime, doc};

use super::{
    super::documents::{Kind, Parent, ParentDocument, ParentKind, of_kind},
    Discussed,
    parents::of,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::cx::Cx,
    mongo::{collection::List, expression::both},
};

/// The discussion of a document: `None` if the caller can't see the document, `Some(None)` if no discussion
/// was opened.
type Seen<'a> = Option<Option<Discussed<'a>>>;

fn seen<K: Kind>(
    cx: Cx<'_>,
    kind: ParentKind,
    found: Option<ParentDocument<K>>,
    now: Option<DateTime>,
) -> Seen<'_> {
    let found = found.filter(|parent| parent.is_seen_by(cx.requester, now))?;
    Some(of(cx.app, kind, found))
}

/// Reads the discussion for lists.
pub(in super::super) async fn find<'a>(cx: Cx<'a>, parent: &Parent) -> Result<Seen<'a>, Error> {
    of_kind!(parent.kind, Own => {
        if Own::IS_TIMED {
            return Ok(open(cx, parent).await?.1);
        }
        let found = cx.collection::<Own>().get_part(&parent.key, Own::FIELDS).await?;
        Ok(seen(cx, parent.kind, found, None))
    })
}

/// Which of these documents the caller can see, with one command per kind.
pub(in super::super) async fn list_seen(
    cx: Cx<'_>,
    parents: &HashSet<&Parent>,
) -> Result<HashSet<Parent>, Error> {
    let kinds = ParentKind::ALL.map(|kind| list_seen_of(cx, kind, parents));
    let [products, contents, assets] = kinds;
    let (products, contents, assets) = tokio::try_join!(products, contents, assets)?;
    Ok([products, contents, assets].into_iter().flatten().collect())
}

/// Like [`list_seen`] for one kind.
async fn list_seen_of(
    cx: Cx<'_>,
    kind: ParentKind,
    parents: &HashSet<&Parent>,
) -> Result<Vec<Parent>, Error> {
    let own = parents.iter().filter(|parent| parent.kind == kind);
    let keys: Vec<_> = own.map(|parent| parent.key.as_str()).collect();
    let Ok(limit @ 1..) = i64::try_from(keys.len()) else { return Ok(Vec::new()) };
    of_kind!(kind, Own => {
        let filter = both(doc! { "_id": { "$in": keys } }, kind.seen_by(cx.requester));
        let projection = Some(doc! { "_id": 1 });
        let list = List { filter, limit, projection, hint: Some("_id_"), ..List::default() };
        let found = cx.collection::<Own>().list(list).await?;
        Ok(found.into_iter().map(|parent| Parent { kind, key: parent.key }).collect())
    })
}

/// Reads the discussion and begins an attempt with that read.
pub(in super::super) async fn open<'a>(
    cx: Cx<'a>,
    parent: &Parent,
) -> Result<(Attempt, Seen<'a>), Error> {
    of_kind!(parent.kind, Own => {
        let (attempt, found) = cx.collection::<Own>().open(cx.bounds(), &parent.key).await?;
        Ok((attempt, seen(cx, parent.kind, found, Some(attempt.now()))))
    })
}

/// Like [`open`], whether or not the caller can see the document.
pub(in super::super) async fn reopen<'a>(
    app: &'a App,
    parent: &Parent,
) -> Result<(Attempt, Option<Discussed<'a>>), Error> {
    of_kind!(parent.kind, Own => {
        let (attempt, found) = app.collection::<Own>().open(app.bounds(), &parent.key).await?;
        Ok((attempt, found.and_then(|found| of(app, parent.kind, found))))
    })
}
