//! The rules of assets.

mod changes;
mod illustrate;
mod media;
mod paths;
mod pictures;
mod put;
mod receive;
mod renditions;
mod reservation;
mod upload;

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use mongodb::bson::DateTime;

pub use super::store::{Expected, PhotosBy, is_parent, list_photos as photos};
pub use changes::{delete_asset, edit_asset, tag_asset, untag_asset};
pub(super) use changes::{discard, dispose};
pub use illustrate::set_images;
pub use paths::at_path;
pub use put::put;
pub use renditions::{AtWidth, NotRendered, Picture, at_width, drop_rendition, picture, render};
pub use upload::{replace_asset, upload_asset};

use super::{
    documents::{AssetDocument, FileFacts},
    store::{self, AssetList, Condition, Test, is_ordered},
    types::{
        Asset, AssetBy, AssetsBy, AttributeCondition, AttributeRange, AttributeValueInput,
        AttributesFilter, DateRange, KEY, NumberRange, TextRange,
    },
};
use crate::{domains::audiences::may_see, graphql::prelude::*};

/// What an operation returns that creates or changes an asset.
type Changed<U> = Result<AssetDocument, Stop<U>>;

/// The asset, if the caller may read it: it is complete, published by now, and open to everyone or to one of
/// the caller's roles. Editors may read everything.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn asset(cx: Cx<'_>, by: AssetBy) -> Result<Option<AssetDocument>> {
    let id = match by {
        AssetBy::Id(id) => input::id(NodeKind::ASSET, &id),
        AssetBy::Path(path) => return at_path(cx, input::path("by.path", &path)?).await,
    };
    let Ok(id) = id else { return Ok(None) };
    let found = store::assets(&cx).get_timed_by("_id", &id).await?;
    let found = found.filter(|(now, asset)| may_read(cx, *now, asset));
    Ok(found.map(|(_, asset)| asset))
}

/// Whether the caller may read an asset that was read at the server time `now`.
fn may_read(cx: Cx<'_>, now: DateTime, asset: &AssetDocument) -> bool {
    asset.visible_file().is_some()
        && may_see(cx.requester, &asset.metadata.access, asset.published_at <= now)
}

/// The asset with this `_id`, if the caller may read it; see [`asset`].
pub async fn asset_by_id(cx: Cx<'_>, id: &str) -> Result<Option<AssetDocument>> {
    asset(cx, AssetBy::Id(NodeKind::ASSET.id(id))).await
}

/// A page of assets that the caller may read.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn assets(cx: Cx<'_>, by: AssetsBy, paging: Paging) -> Result<Connection<Asset>> {
    let list = match by {
        AssetsBy::Tag(tag) => AssetList::Tag(input::tag("by.tag", &tag)?),
        AssetsBy::ParentId(id) => AssetList::Parent(Some(content_id(&id))),
        AssetsBy::Root(true) => AssetList::Parent(None),
        AssetsBy::Root(false) => {
            return Err(Error::bad_input("by.root", "only `true` is accepted"));
        }
        AssetsBy::Attributes(filter) => attributes(filter)?,
    };
    let page = Page::new(&cx, list.order(), paging)?;
    let found = store::list(&cx, &list, cx.requester, &page).await?;
    Ok(page.connection(found, |asset| list.position(asset), Asset::from))
}

/// Maximum number of conditions of one list.
const CONDITIONS: usize = 5;

fn attributes(
    AttributesFilter { all, parent_id }: AttributesFilter,
) -> Result<AssetList, InvalidInput> {
    if !(1..=CONDITIONS).contains(&all.len()) {
        let reason = format!("takes 1 to {CONDITIONS} conditions");
        return Err(InvalidInput::new("by.attributes.all", reason));
    }
    let all = all.into_iter().enumerate();
    let all = all.map(|(at, one)| condition(&format!("by.attributes.all.{at}"), one));
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    // The index is entered by the first condition: the one that is likely to match the fewest.
    all.sort_by_key(|condition| match condition.test {
        Test::Equals(_) => 0,
        Test::Between(..) => 1,
        Test::Exists => 2,
    });
    Ok(AssetList::Attributes { all, parent: parent_id.as_ref().map(content_id) })
}

/// The `_id` of the parent of a list. An invalid id becomes an empty one, which no content has.
fn content_id(id: &ID) -> String {
    input::id(NodeKind::CONTENT, id).unwrap_or_default()
}

fn condition(field: &str, condition: AttributeCondition) -> Result<Condition, InvalidInput> {
    let AttributeCondition { key, eq, range, exists } = condition;
    let key = input::verbatim(&format!("{field}.key"), &key, 1..=KEY)?;
    let test = match (eq, range, exists) {
        (Some(value), None, None) => Test::Equals(value.stored(&format!("{field}.eq"))?),
        (None, Some(range), None) => between(&format!("{field}.range"), range)?,
        (None, None, Some(true)) => Test::Exists,
        (None, None, Some(false)) => {
            return Err(InvalidInput::new(&format!("{field}.exists"), "only `true` is accepted"));
        }
        _ => return Err(InvalidInput::new(field, "needs exactly one of eq, range and exists")),
    };
    Ok(Condition { key, test })
}

fn between(field: &str, range: AttributeRange) -> Result<Test, InvalidInput> {
    use AttributeValueInput::{Date, Number, Text};
    let (from, to) = match range {
        AttributeRange::Text(TextRange { from, to }) => (from.map(Text), to.map(Text)),
        AttributeRange::Number(NumberRange { from, to }) => (from.map(Number), to.map(Number)),
        AttributeRange::Date(DateRange { from, to }) => (from.map(Date), to.map(Date)),
    };
    let from = from.map(|from| from.stored(field)).transpose()?;
    let to = to.map(|to| to.stored(field)).transpose()?;
    match (&from, &to) {
        (None, None) => Err(InvalidInput::new(field, "needs from, to or both")),
        (Some(from), Some(to)) if !is_ordered(from, to) => {
            Err(InvalidInput::new(field, "`from` is after `to`"))
        }
        _ => Ok(Test::Between(from, to)),
    }
}

/// The bytes of a file in the given range, in order. Later changes of the asset don't affect them. After the
/// maximum duration of a download they end with an error.
pub fn bytes(
    app: &App,
    file: &FileFacts,
    range: Range<u64>,
) -> impl Stream<Item = Result<Bytes>> + Send + use<> {
    let longest = Duration::from_secs(app.config().asset_transfer_seconds);
    let since = Instant::now();
    let length = u64::try_from(file.length).unwrap_or(0);
    store::chunks(app).read(file.blob, length, range).map(move |piece| {
        if since.elapsed() > longest {
            return Err(Error::unavailable("a download took longer than it may"));
        }
        piece
    })
}

/// Updates the paths of the assets in a parent; `version` is the version of the new path. It may be repeated,
/// and may run after a later one.
///
/// # Errors
/// `Unavailable` or `Internal`: it has to be repeated.
pub async fn repath(app: &App, parent: &str, path: &str, version: i64) -> Result<u64> {
    store::update_paths(app, parent, path, version, None).await
}

/// The asset, if it is complete and not deleted.
async fn find_visible<U: From<NotFound>>(app: &App, id: &str) -> Changed<U> {
    let asset = store::assets(app).get_settled(id).await?;
    asset.filter(|asset| asset.visible_file().is_some()).ok_or_else(|| not_found(id).into())
}

fn not_found(id: &str) -> NotFound {
    NotFound::of(NodeKind::ASSET, id)
}
