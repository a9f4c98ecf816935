//! The discussed documents as a caller sees them. Who may see something may see what is said about it.

use std::collections::HashSet;

use mongodb::bson::{DateTime, doc};

use super::super::documents::{Kind, OpenDiscussion, Parent, ParentDocument, ParentKind, of_kind};
use crate::{
    app::App,
    error::Error,
    graphql::requester::Requester,
    mongo::{Run, collection::List, expression::both},
};

/// The discussion of something that the caller may see: `None` where it may not, `Some(None)` where no
/// discussion was opened.
#[expect(clippy::option_option, reason = "whether it is seen is not whether it is discussed")]
fn seen<K: Kind>(
    found: Option<ParentDocument<K>>,
    requester: &Requester,
    now: Option<DateTime>,
) -> Option<Option<OpenDiscussion>> {
    let found = found.filter(|parent| parent.is_seen_by(requester, now))?;
    Some(found.discussion.map(|discussion| *discussion))
}

/// As it is read for lists.
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

/// Which of these the caller may see, by one command for each kind.
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

/// As [`list_seen`], of one kind.
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

/// As it is read by a run, which begins with it.
pub(in super::super) async fn open(
    app: &App,
    parent: &Parent,
    requester: &Requester,
) -> Result<(Run, Option<Option<OpenDiscussion>>), Error> {
    of_kind!(parent.kind, Own => {
        let (run, found) = app.collection::<Own>().open(app.bounds(), &parent.key).await?;
        Ok((run, seen(found, requester, Some(run.now()))))
    })
}
