//! What readers and editors look up.

use async_graphql::{ID, connection::Connection};
use mongodb::bson::Bson;

use super::{
    super::{
        documents::TOP,
        store::{self, Way},
        types::{Content, ContentBy, ContentRevision, ContentsBy, Shown, TextInContent},
    },
    checks::checked_tag,
    own_id,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        page::{Order, Page},
        refusals::InvalidInput,
        requester::Requester,
        scalars::LocaleTag,
    },
};

/// One piece of content, as far as the caller may see it.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn content(
    app: &App,
    requester: &Requester,
    by: &ContentBy,
) -> Result<Option<Shown>, Error> {
    match by {
        ContentBy::Id(id) => by_id(app, requester, &own_id("by.id", id)?).await,
        ContentBy::Path(path) => at_path(app, requester, input::path("by.path", path)?).await,
    }
}

/// The content with that `_id`, as far as the caller may see it.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn by_id(app: &App, requester: &Requester, id: &str) -> Result<Option<Shown>, Error> {
    Ok(store::find_timed(app, id).await?.and_then(|found| Shown::to(requester, found)))
}

/// What has that path, else what had it last.
async fn at_path(app: &App, requester: &Requester, path: &str) -> Result<Option<Shown>, Error> {
    let found = store::find_by_path(app, path).await?.into_iter();
    let shown = found.filter_map(|found| Shown::to(requester, found));
    let best = shown.max_by_key(|shown| {
        let node = shown.node();
        let left = node.former.iter().find(|former| former.path == path);
        // Among several that have it, which isn't for long, the one that got it last.
        (node.metadata.path == path, left.map(|former| former.until), node.cv)
    });
    Ok(best.map(|shown| shown.asked_by(path)))
}

/// A feed or full text, as far as the caller may see it.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn contents(
    app: &App,
    requester: &Requester,
    by: &ContentsBy,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, Content>, Error> {
    let way = checked_way(app, by)?;
    let page = Page::new(app, way.order(), first, after)?;
    let found = store::list(app, &way, requester, &page).await?;
    let found: Vec<_> = found
        .into_iter()
        .filter_map(|(position, found)| Some((position, Shown::to(requester, found)?)))
        .collect();
    let values = |(position, _): &(Vec<Bson>, _)| position.clone();
    Ok(page.connection(found, values, |(_, shown)| shown.into()))
}

fn checked_way(app: &App, by: &ContentsBy) -> Result<Way, InvalidInput> {
    Ok(match by {
        ContentsBy::Tag(tag) => Way::Tag(checked_tag("by.tag", tag)?),
        ContentsBy::Parent(id) => Way::Parent(own_id("by.parent", id)?),
        ContentsBy::Type(kind) => Way::Type((*kind).into()),
        ContentsBy::RecentIn(path) => Way::In(path_or_top("by.recentIn", path)?.to_owned()),
        ContentsBy::Text(TextInContent { query, within, language }) => {
            let site = LocaleTag::parse_tag(&app.config().site_locale);
            let language = language.as_ref().or(site.as_ref());
            let within = within.as_deref().unwrap_or(TOP);
            Way::Text {
                query: input::text("by.text.query", query, 1..=200)?,
                language: language.map_or("none", LocaleTag::stemming),
                within: path_or_top("by.text.within", within)?.to_owned(),
            }
        }
    })
}

fn path_or_top<'a>(field: &str, path: &'a str) -> Result<&'a str, InvalidInput> {
    if path == TOP { Ok(path) } else { input::path(field, path) }
}

/// Everything right below a parent, published or not, by slug.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn below(
    app: &App,
    requester: &Requester,
    parent: Option<&ID>,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, Content>, Error> {
    let parent = parent.map(|parent| own_id("parent", parent)).transpose()?;
    let list = format!("contentBelow {}", parent.as_deref().unwrap_or(TOP));
    let page = Page::new(app, Order { list, keys: vec![("metadata.slug", 1)] }, first, after)?;
    let found = store::list_below(app, &page, parent.as_deref()).await?.into_iter();
    let found: Vec<_> = found.filter_map(|found| Shown::to(requester, found)).collect();
    let slug = |shown: &Shown| vec![shown.node().metadata.slug.as_str().into()];
    Ok(page.connection(found, slug, Content::from))
}

/// Former versions, newest first.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn revisions(
    app: &App,
    content: &ID,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, ContentRevision>, Error> {
    let id = own_id("content", content)?;
    let order =
        Order { list: format!("contentRevisions {id}"), keys: vec![("version.number", -1)] };
    let page = Page::new(app, order, first, after)?;
    let found = store::list_revisions(app, &page, &id).await?;
    Ok(page.connection(found, |found| vec![found.version.number.into()], ContentRevision::from))
}

/// What an Atom feed shows: what is at a path, and the newest of what lies right in it. Two commands: what
/// is at a path is known once it is found.
pub(in super::super) async fn feed_at(
    app: &App,
    path: &str,
) -> Result<Option<(Shown, Vec<Shown>)>, Error> {
    let anyone = Requester::default();
    let Some(head) = at_path(app, &anyone, input::path("path", path)?).await? else {
        return Ok(None);
    };
    let way = Way::Parent(head.node().id.clone());
    let page = Page::new(app, way.order(), None, None)?;
    let found = store::list(app, &way, &anyone, &page).await?.into_iter();
    let entries = found.take(20).filter_map(|(_, found)| Shown::to(&anyone, found)).collect();
    Ok(Some((head, entries)))
}
