//! Reads of the discussed documents, most with a check of visibility, and the opening of discussions. A discussion
//! is visible with its document.

use std::collections::HashSet;

use super::{
    super::documents::{Layout, OpenDiscussion, Parent, ParentDocument, ParentKind},
    CommentStore, DiscussionHandle, Found,
};
use crate::{graphql::prelude::*, join::try_join_all, mongo::prelude::*};

/// The documents of this kind.
pub(super) fn parents(app: &App, kind: ParentKind) -> Collection<ParentDocument> {
    app.collection().named(kind.collection)
}

/// The discussion, without a check of visibility.
pub(crate) async fn settled<'a>(app: &'a App, parent: &Parent) -> Found<DiscussionHandle<'a>> {
    let found = parents(app, parent.kind).get_settled(&parent.key).await?;
    Ok(found.and_then(|found| of(app, parent.kind, found)))
}

impl<'a> CommentStore<'a> {
    /// The store's discussion as it is now; `None` if it is gone.
    pub(crate) async fn discussed(&self) -> Found<DiscussionHandle<'a>> {
        let now = settled(self.app, &self.parent).await?;
        Ok(now.filter(|now| now.id == self.discussion))
    }
}

impl DiscussionHandle<'_> {
    /// The discussion as it is now; `None` if it is gone.
    pub(crate) async fn now(&self) -> Found<Self> {
        self.store().discussed().await
    }
}

/// Writes into the discussed document; returns the discussion after the update, or `None` if it is refused.
pub(super) async fn write<'a>(
    app: &'a App,
    parent: &Parent,
    guard: Document,
    stages: Vec<Document>,
    attempt: &Attempt,
) -> Found<DiscussionHandle<'a>> {
    let filter = both(doc! { "_id": &parent.key }, guard);
    let write = parents(app, parent.kind).guarded(filter, stages).within(attempt);
    let Some(after) = write.then_read().await? else { return Ok(None) };
    let gone = || Error::internal("a discussion isn't where it was");
    of(app, parent.kind, after).map(Some).ok_or_else(gone)
}

/// Opens a discussion if there is none.
pub(crate) async fn open_discussion<'a>(
    app: &'a App,
    parent: &Parent,
    layout: Layout,
    seen: Document,
    attempt: &Attempt,
) -> Found<DiscussionHandle<'a>> {
    let guard = both(seen, doc! { "discussion": { "$exists": false } });
    let discussion = OpenDiscussion {
        id: app.ids().random(),
        layout,
        epoch: 1,
        count: 0,
        latest: Vec::new(),
        rating: None,
        opened_at: attempt.now(),
        total: 0,
        version: 1,
        since: attempt.now(),
        first_page: 0,
        marks: Vec::new(),
        entries: Vec::new(),
        migration: None,
        touched_at: None,
    };
    let set = doc! { "$set": { "discussion": literal(stored(&discussion)) } };
    write(app, parent, guard, vec![set], attempt).await
}

/// A page of the discussions of this kind of documents whose `touchedAt` is from `from` on and before `before`, oldest first.
pub(crate) async fn list_touched(
    app: &App,
    kind: ParentKind,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<DiscussionHandle<'_>>> {
    let filter = doc! { "discussion.touchedAt": { "$gte": from, "$lt": before } };
    let sort = doc! { "discussion.touchedAt": 1 };
    let projection = Some(doc! { "discussion": 1 });
    let hint = Some("discussion_touched");
    let list = List { filter, sort, limit, projection, hint, ..List::default() };
    let found = parents(app, kind).list_swept(("discussion.touchedAt", from), list).await?;
    let of = |one: Swept<ParentDocument>| one.and_then(|found| of(app, kind, found));
    Ok(found.into_iter().map(of).collect())
}

fn of(app: &App, kind: ParentKind, found: ParentDocument) -> Option<DiscussionHandle<'_>> {
    let parent = Parent { kind, key: found.key };
    Some(DiscussionHandle { app, parent, discussion: *found.discussion? })
}

/// Every discussion.
pub(crate) async fn for_each<'a>(
    app: &'a App,
    mut each: impl FnMut(DiscussionHandle<'a>),
) -> Result<()> {
    for kind in ParentKind::all() {
        let each = |found| of(app, kind, found).into_iter().for_each(&mut each);
        parents(app, kind).for_each(each).await?;
    }
    Ok(())
}

/// Reads the discussion for lists; `None` if there is none or the caller can't see the document.
pub(crate) async fn find<'a>(cx: Cx<'a>, parent: &Parent) -> Found<DiscussionHandle<'a>> {
    if parent.kind.is_read_whole {
        let Opened { is_seen, discussed, .. } = open(cx, parent).await?;
        return Ok(discussed.filter(|_| is_seen));
    }
    let found = parents(&cx, parent.kind).get_part(&parent.key, ParentDocument::FIELDS).await?;
    // Its visibility doesn't depend on the time.
    let any = DateTime::from_millis(0);
    let seen = found.filter(|found| parent.kind.is_seen_by(cx.requester, found, any));
    Ok(seen.and_then(|found| of(cx.app, parent.kind, found)))
}

/// Which of these documents the caller can see, with one command per kind.
pub(crate) async fn list_seen(cx: Cx<'_>, among: &HashSet<&Parent>) -> Result<HashSet<Parent>> {
    let seen = ParentKind::all().map(|kind| async move {
        let own = among.iter().filter(|parent| parent.kind == kind);
        let keys: Vec<_> = own.map(|parent| parent.key.as_str()).collect();
        if keys.is_empty() {
            return Ok::<_, Error>(Vec::new());
        }
        let mut list = List::of_ids(&keys);
        list.filter = both(list.filter, kind.seen_by(cx.requester));
        list.projection = Some(doc! { "_id": 1 });
        list.hint = Some("_id_");
        let found = parents(&cx, kind).list(list).await?;
        Ok(found.into_iter().map(|parent| Parent { kind, key: parent.key }).collect())
    });
    Ok(try_join_all(seen).await?.into_iter().flatten().collect())
}

/// A document as an attempt read it first.
#[derive(Debug)]
pub(crate) struct Opened<'a> {
    pub(crate) attempt: Attempt,
    /// Whether the document exists and the caller can see it.
    pub(crate) is_seen: bool,
    /// Its discussion, if one was opened.
    pub(crate) discussed: Option<DiscussionHandle<'a>>,
}

/// Begins an attempt by reading a document.
pub(crate) async fn open<'a>(cx: Cx<'a>, parent: &Parent) -> Result<Opened<'a>> {
    let kind = parent.kind;
    let (attempt, found) = parents(&cx, kind).begin_with(cx.bounds(), &parent.key).await?;
    let sees = |found| kind.is_seen_by(cx.requester, found, attempt.now());
    let is_seen = found.as_ref().is_some_and(sees);
    Ok(Opened { attempt, is_seen, discussed: found.and_then(|found| of(cx.app, kind, found)) })
}
