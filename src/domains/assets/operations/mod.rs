//! The rules of assets.

mod download;
mod edits;
mod media;
mod names;
mod put;
mod receive;
mod removal;
mod reservation;
mod upload;

use async_graphql::{ID, connection::Connection};
use mongodb::bson::{Bson, DateTime};

pub use super::store::{Expected, PhotosBy, is_parent, list_photos as photos};
pub use download::{bytes, is_shown_inline};
pub use edits::{edit_asset, tag_asset, untag_asset};
pub use put::{PutRefusal, put};
pub use removal::delete_asset;
pub(super) use removal::{discard, dispose};
pub use upload::{replace_asset, upload_asset};

use super::{
    documents::AssetDocument,
    store::{self, AssetList, Condition, Test},
    types::{
        Asset, AssetBy, AssetsBy, AttributeCondition, AttributeRange, AttributeValueInput,
        AttributesFilter, DateRange, KEY, NumberRange, TextRange,
    },
};
use crate::{
    app::App,
    domains::audiences::may_see,
    error::Error,
    graphql::{
        cx::Cx,
        input,
        node_id::NodeKind,
        page::{Page, Paging},
        refusals::{InvalidInput, NotFound, Stop},
        requester::Requester,
    },
};

/// The asset, if the caller may read it.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn asset(cx: Cx<'_>, by: &AssetBy) -> Result<Option<AssetDocument>, Error> {
    let found = match by {
        AssetBy::Id(id) => match input::id(NodeKind::Asset, id) {
            Ok(id) => store::find_by(&cx, "_id", &id).await?,
            Err(_) => None,
        },
        AssetBy::Path(path) => {
            store::find_by(&cx, "metadata.path", input::path("by.path", path)?).await?
        }
    };
    Ok(found.filter(|(now, asset)| may_read(asset, cx.requester, *now)).map(|(_, asset)| asset))
}

/// Whether the caller may read it: it is complete, published by now, and open to everyone or to one of the
/// caller's roles. Editors may read everything.
fn may_read(asset: &AssetDocument, requester: &Requester, now: DateTime) -> bool {
    asset.whole().is_some() && may_see(requester, &asset.metadata.access, asset.published_at <= now)
}

/// A page of assets that the caller may read.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn assets(
    cx: Cx<'_>,
    by: AssetsBy,
    paging: Paging,
) -> Result<Connection<String, Asset>, Error> {
    let list = match by {
        AssetsBy::Tag(tag) => AssetList::Tag(input::tag("by.tag", &tag)?),
        AssetsBy::ParentId(id) => AssetList::Parent(Some(content_id(&id))),
        AssetsBy::Root(true) => AssetList::Parent(None),
        AssetsBy::Root(false) => return Err(Error::bad_input("by.root", "takes true alone")),
        AssetsBy::Attributes(filter) => attributes(filter)?,
    };
    let page = Page::new(&cx, list.order(), paging)?;
    let found = store::list(&cx, &list, cx.requester, &page).await?;
    Ok(page.connection(found, |(position, _)| position.clone(), |(_, asset)| asset.into()))
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
    input::id(NodeKind::Content, id).unwrap_or_default()
}

fn condition(field: &str, condition: AttributeCondition) -> Result<Condition, InvalidInput> {
    let AttributeCondition { key, eq, range, exists } = condition;
    let key = input::verbatim(&format!("{field}.key"), &key, 1..=KEY)?;
    let test = match (eq, range, exists) {
        (Some(value), None, None) => Test::Equals(value.stored(&format!("{field}.eq"))?),
        (None, Some(range), None) => between(&format!("{field}.range"), range)?,
        (None, None, Some(true)) => Test::Exists,
        (None, None, Some(false)) => {
            return Err(InvalidInput::new(&format!("{field}.exists"), "takes true alone"));
        }
        _ => {
            let reason = "needs exactly one of eq, range and exists";
            return Err(InvalidInput::new(field, reason));
        }
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
    let stored =
        |limit: Option<AttributeValueInput>| limit.map(|limit| limit.stored(field)).transpose();
    let (from, to): (Option<Bson>, Option<Bson>) = (stored(from)?, stored(to)?);
    if from.is_none() && to.is_none() {
        return Err(InvalidInput::new(field, "needs from, to or both"));
    }
    if from.as_ref().is_some_and(|from| !Test::Between(None, to.clone()).takes(from)) {
        return Err(InvalidInput::new(field, "begins behind its end"));
    }
    Ok(Test::Between(from, to))
}

/// Updates the paths of the assets in a parent; `version` is the version of the new path. It may be repeated,
/// and may run after a later one.
///
/// # Errors
/// `Unavailable` or `Internal`: it has to be repeated.
pub async fn repath(app: &App, parent: &str, path: &str, version: i64) -> Result<u64, Error> {
    store::update_paths(app, parent, path, version, None).await
}

/// The asset, if it is complete and not deleted.
async fn find_visible<U: From<NotFound>>(app: &App, id: &str) -> Result<AssetDocument, Stop<U>> {
    let asset = store::find(app, id).await?.filter(|asset| asset.whole().is_some());
    asset.ok_or_else(|| not_found(id).into())
}

fn not_found(id: &str) -> NotFound {
    NotFound::of(NodeKind::Asset, id)
}
