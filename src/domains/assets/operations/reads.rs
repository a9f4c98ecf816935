//! Reads of assets, for readers and editors.

use super::super::{
    documents::AssetDocument,
    store::{self, AssetList, Condition, Test, is_ordered},
    types::{
        Asset, AssetBy, AssetsBy, AttributeCondition, AttributeRange, AttributeValueInput,
        AttributesFilter, DateRange, KEY, NumberRange, TextRange,
    },
};
use crate::{
    domains::{audiences::may_see, former_paths},
    graphql::prelude::*,
    mongo::collection::Timed,
};

/// The asset, if the caller may read it: it is complete, published by now, and open to everyone or to one of
/// the caller's roles. Editors may read everything.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn asset(cx: Cx<'_>, by: AssetBy) -> Result<Option<AssetDocument>> {
    match by {
        AssetBy::Id(id) => match input::id(NodeKind::ASSET, &id) {
            Ok(id) => asset_by_id(cx, &id).await,
            Err(_) => Ok(None),
        },
        AssetBy::Path(path) => at_path(cx, input::path("by.path", &path)?).await,
    }
}

/// The asset with this `_id`, if the caller may read it; see [`asset`].
pub async fn asset_by_id(cx: Cx<'_>, id: &str) -> Result<Option<AssetDocument>> {
    let found = store::assets(&cx).get_timed(id).await?;
    Ok(found.and_then(|found| seen(cx, found)))
}

/// The asset that has the path, or else the one that had it last, if the caller may read it. `path` is checked.
///
/// # Errors
/// `Unavailable` or `Internal`: the read failed.
pub async fn at_path(cx: Cx<'_>, path: &str) -> Result<Option<AssetDocument>> {
    let found = former_paths::find(&cx, path).await?.into_iter();
    let best = found.filter_map(|found| seen(cx, found)).max_by_key(|asset| {
        let AssetDocument { metadata, former, parent_cv, .. } = asset;
        let former = former.as_deref().unwrap_or_default();
        former_paths::rank(path, &metadata.path, former, *parent_cv)
    });
    Ok(best.map(|asset| {
        let redirected_from = (asset.metadata.path != path).then(|| path.to_owned());
        AssetDocument { redirected_from, ..asset }
    }))
}

/// An asset that was read, if the caller may read it.
fn seen(cx: Cx<'_>, found: Timed<AssetDocument>) -> Option<AssetDocument> {
    let Timed { now, document: asset } = found;
    let is_published = asset.published_at <= now;
    let sees = asset.visible_file().is_some()
        && may_see(cx.requester, &asset.metadata.access, is_published);
    sees.then_some(asset)
}

/// A page of assets that the caller may read.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn assets(cx: Cx<'_>, by: AssetsBy, paging: Paging) -> Result<Connection<Asset>> {
    let list = match by {
        AssetsBy::Tag(tag) => AssetList::Tag(input::tag("by.tag", &tag)?),
        AssetsBy::ParentId(id) => {
            AssetList::Parent(Some(input::id_or_none(NodeKind::CONTENT, &id)))
        }
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
    let parent = parent_id.map(|id| input::id_or_none(NodeKind::CONTENT, &id));
    Ok(AssetList::Attributes { all, parent })
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
