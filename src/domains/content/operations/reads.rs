//! Reads of content, for readers and editors.

use std::cmp::Ordering;

use futures_util::future::try_join;
use mongodb::bson::Bson;

use super::super::{
    documents::NodeDocument,
    store::{self, Listing},
    types::{Content, ContentBy, ContentRevision, ContentsBy, Shown, TextInContent},
};
use crate::{
    domains::{
        assets::{self, AssetDocument, operations::PhotosBy},
        former_paths, metadata,
    },
    graphql::{input::path_or_top, prelude::*},
};

/// What a list needs: whether the texts are read, and the language that the client asks for.
type Needed<'a> = (bool, Option<&'a LocaleTag>);

/// One content, if the caller can see it.
pub async fn content(cx: Cx<'_>, by: &ContentBy) -> Result<Option<Content>> {
    match by {
        ContentBy::Id(id) => match input::id(NodeKind::CONTENT, id) {
            Ok(id) => by_id(cx, &id).await,
            Err(_) => Ok(None),
        },
        ContentBy::Path(path) => any_at_path(cx, input::path("by.path", path)?).await,
    }
}

/// The content, picture or video that has the path, or else the one that had it last. Assets are read only if no content
/// has the path.
async fn any_at_path(cx: Cx<'_>, path: &str) -> Result<Option<Content>> {
    let node = at_path(cx, path).await?;
    let has_it = |node: &Shown| node.node().metadata.path == path;
    if node.as_ref().is_some_and(has_it) {
        return Ok(node.map(Content::from));
    }
    let asset = assets::operations::at_path(cx, path).await?.and_then(Content::of_asset);
    let asset_has_it = asset.as_ref().is_some_and(|asset| asset.path() == path);
    Ok(if asset_has_it { asset } else { node.map(Content::from).or(asset) })
}

/// The content with that `_id`, if the caller can see it.
pub async fn by_id(cx: Cx<'_>, id: &str) -> Result<Option<Content>> {
    let found = store::find_timed(&cx, id).await?;
    Ok(found.and_then(|found| Shown::to(cx.requester, found)).map(Content::from))
}

/// The content that has the path, or else the one that had it last.
async fn at_path(cx: Cx<'_>, path: &str) -> Result<Option<Shown>> {
    let found = former_paths::find(&cx, path).await?.into_iter();
    let shown = found.filter_map(|found| Shown::to(cx.requester, found));
    let best = shown.max_by_key(|shown| {
        let NodeDocument { metadata, former, tree, .. } = shown.node();
        former_paths::rank(path, &metadata.path, former, tree.cv)
    });
    Ok(best.map(|shown| shown.requested_at(path)))
}

/// A feed or the results of a full-text search, as far as the caller can see them. Texts are read only if
/// `texts` is set.
pub async fn contents(
    cx: Cx<'_>,
    by: &ContentsBy,
    (texts, locale): Needed<'_>,
    paging: Paging,
) -> Result<Connection<Content>> {
    let listing = listing_of(cx, by)?;
    let page = Page::new(&cx, listing.order(), paging)?;
    let photos = async {
        match photos_of(&listing) {
            Some(by) => assets::operations::photos(&cx, cx.requester, by, &page).await,
            None => Ok(Vec::new()),
        }
    };
    // Both lists are read in parallel; they have the same order and are merged.
    let (found, photos) =
        try_join(store::list(&cx, &listing, cx.requester, texts, &page), photos).await?;
    let mut all: Vec<(Vec<Bson>, Content)> = found
        .into_iter()
        .filter_map(|(place, found)| Some((place, Shown::to(cx.requester, found)?.into())))
        .collect();
    if !photos.is_empty() {
        let place = |photo: &AssetDocument| vec![photo.published_at.into(), Bson::from(&photo.id)];
        all.extend(
            photos.into_iter().filter_map(|photo| Some((place(&photo), Content::of_asset(photo)?))),
        );
        all.sort_by(|(left, _), (right, _)| newest_first(left, right));
        if page.is_backward() {
            all.reverse();
        }
    }
    let node = |(_, content): (_, Content)| content.in_language(locale);
    Ok(page.connection(all, |(place, _)| place.clone(), node))
}

/// The corresponding list of photos, if the feed contains photos.
fn photos_of(listing: &Listing) -> Option<PhotosBy<'_>> {
    match listing {
        Listing::Tag(tag) => Some(PhotosBy::Tag(tag)),
        Listing::Parent(id) => Some(PhotosBy::Parent(id)),
        Listing::In(path) => Some(PhotosBy::In(path)),
        Listing::Type(_) | Listing::Metadata(_) | Listing::Text { .. } => None,
    }
}

/// The order of feeds, by the values of their sort keys.
fn newest_first(left: &[Bson], right: &[Bson]) -> Ordering {
    let at = |values: &[Bson]| values.first().and_then(Bson::as_datetime).copied();
    let id = |values: &[Bson]| values.last().and_then(Bson::as_str).map(str::to_owned);
    at(right).cmp(&at(left)).then_with(|| id(left).cmp(&id(right)))
}

/// Checks the arguments.
fn listing_of(cx: Cx<'_>, by: &ContentsBy) -> Result<Listing, InvalidInput> {
    Ok(match by {
        ContentsBy::Tag(tag) => Listing::Tag(input::tag("by.tag", tag)?),
        ContentsBy::ParentId(id) => Listing::Parent(input::id_or_none(NodeKind::CONTENT, id)),
        ContentsBy::Type(kind) => Listing::Type((*kind).into()),
        ContentsBy::Below(path) => Listing::In(path_or_top("by.below", path)?.to_owned()),
        ContentsBy::Metadata(pair) => {
            let pair = pair.clone();
            Listing::Metadata(metadata::operations::having(cx.requester, "by.metadata", pair)?)
        }
        ContentsBy::Text(TextInContent { query, within, language }) => {
            let within = within.as_deref().unwrap_or(TOP);
            Listing::Text {
                query: input::verbatim("by.text.query", query, 1..=200)?,
                language: LocaleTag::stemming_of(language.as_ref(), &cx.config().site_locale),
                within: path_or_top("by.text.within", within)?.to_owned(),
            }
        }
    })
}

/// The children of a parent, published or not, by slug. Texts are read only if `texts` is set.
pub async fn below(
    cx: Cx<'_>,
    parent: Option<&ID>,
    (texts, locale): Needed<'_>,
    paging: Paging,
) -> Result<Connection<Content>> {
    let parent = parent.map(|parent| input::id_or_none(NodeKind::CONTENT, parent));
    let list = format!("contentBelow {}", parent.as_deref().unwrap_or(TOP));
    let page = Page::new(&cx, Order { list, keys: vec![("metadata.slug", 1)] }, paging)?;
    let found = store::list_below(&cx, &page, parent.as_deref(), texts).await?.into_iter();
    let found: Vec<_> = found.filter_map(|found| Shown::to(cx.requester, found)).collect();
    let slug = |shown: &Shown| vec![shown.node().metadata.slug.as_str().into()];
    Ok(page.connection(found, slug, |shown| Content::from(shown).in_language(locale)))
}

/// Former versions of the content with that `_id`, newest first.
pub async fn revisions(app: &App, id: &str, paging: Paging) -> Result<Connection<ContentRevision>> {
    let order =
        Order { list: format!("contentRevisions {id}"), keys: vec![("version.number", -1)] };
    let page = Page::new(app, order, paging)?;
    let found = store::list_revisions(app, &page, id).await?;
    Ok(page.connection(found, |found| vec![found.version.number.into()], ContentRevision::from))
}

/// Maximum number of entries of an Atom feed.
const ENTRIES: usize = 20;

/// The content at a path and the newest content anywhere below it, for an Atom feed. The content at the path
/// is read first; the lists below it are then read in parallel.
pub(in super::super) async fn feed_at(
    app: &App,
    path: &str,
) -> Result<Option<(Shown, Vec<Content>)>> {
    let cx = Cx { app, requester: &Requester::default() };
    let Some(head) = at_path(cx, input::path("path", path)?).await? else {
        return Ok(None);
    };
    let by = ContentsBy::Below(head.node().metadata.path.clone());
    let first = i32::try_from(ENTRIES + 1).ok();
    let entries = contents(cx, &by, (true, None), Paging { first, ..Paging::default() }).await?;
    let entries = entries.edges.into_iter().map(|edge| edge.node);
    let is_head =
        |entry: &Content| entry.shown().is_ok_and(|shown| shown.node().id == head.node().id);
    let entries = entries.filter(|entry| !is_head(entry)).take(ENTRIES).collect();
    Ok(Some((head, entries)))
}
