//! The rules of assets.

mod checks;
mod download;
mod edits;
mod finish;
mod media;
mod put;
mod receive;
mod removal;
mod replace;
mod upload;

use async_graphql::ID;
use mongodb::bson::{Bson, DateTime};

pub use super::store::PhotosBy;
pub use download::{bytes, is_shown_inline};
pub use edits::{Edit, edit, tag, untag};
pub use put::{Expectation, Put, PutRefusal, Putting, put};
pub use removal::delete;
pub(super) use removal::{bury, dispose, let_go};
pub use replace::{Replacement, replace};
pub use upload::{NewAsset, upload};

use super::{
    documents::{AssetDocument, TOP},
    store::{self, Condition, Test, Way},
    types::{
        AssetBy, AssetsBy, AttributeCondition, AttributeRange, AttributesFilter, DateRange,
        NumberRange, TextRange,
    },
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        page::Page,
        refusals::{InvalidInput, NotFound},
        requester::{Requester, Role},
        scalars::Slug,
    },
};

/// The asset, if the caller may read it.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn asset(
    app: &App,
    requester: &Requester,
    by: &AssetBy,
) -> Result<Option<AssetDocument>, Error> {
    let found = match by {
        AssetBy::Id(id) => match own_id(id) {
            Ok(id) => store::find_by(app, "_id", &id).await?,
            Err(_) => None,
        },
        AssetBy::Path(path) => {
            store::find_by(app, "metadata.path", input::path("by.path", path)?).await?
        }
    };
    Ok(found.filter(|(now, asset)| may_read(asset, requester, *now)).map(|(_, asset)| asset))
}

/// Whether the caller may read it: it is complete, published by now, and open to everyone or to one of the
/// caller's roles. Editors may read everything.
fn may_read(asset: &AssetDocument, requester: &Requester, now: DateTime) -> bool {
    let access = &asset.metadata.access;
    let is_for = |role: &Role| access.iter().any(|name| name == role.name());
    asset.whole().is_some()
        && (requester.has(Role::Editor)
            || (asset.published_at <= now
                && (access.is_empty() || requester.roles.iter().any(is_for))))
}

/// A page of assets that the caller may read, each with its position in the order.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn assets(
    app: &App,
    requester: &Requester,
    by: &AssetsBy,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<(Page, Vec<(Vec<Bson>, AssetDocument)>), Error> {
    let way = match by {
        AssetsBy::Tag(tag) => Way::Tag(input::tag("by.tag", tag)?),
        AssetsBy::Parent(id) => Way::Parent(Some(content_id(id))),
        AssetsBy::Root(true) => Way::Parent(None),
        AssetsBy::Root(false) => return Err(Error::bad_input("by.root", "takes true alone")),
        AssetsBy::Attributes(filter) => attributes(filter)?,
    };
    let page = Page::new(app, way.order(), first, after)?;
    let found = store::list(app, &way, requester, &page).await?;
    Ok((page, found))
}

/// Maximum number of conditions of one list.
const CONDITIONS: usize = 5;

fn attributes(AttributesFilter { all, owner }: &AttributesFilter) -> Result<Way, InvalidInput> {
    if !(1..=CONDITIONS).contains(&all.len()) {
        let reason = format!("takes 1 to {CONDITIONS} conditions");
        return Err(InvalidInput::new("by.attributes.all", reason));
    }
    let all = all
        .iter()
        .enumerate()
        .map(|(at, condition)| tested(&format!("by.attributes.all.{at}"), condition));
    let mut all: Vec<_> = all.collect::<Result<_, _>>()?;
    // The index is entered by the first condition: the one that is likely to match the fewest.
    all.sort_by_key(|condition| match condition.test {
        Test::Equals(_) => 0,
        Test::Between(..) => 1,
        Test::Exists => 2,
    });
    Ok(Way::Attributes { all, owner: owner.as_ref().map(content_id) })
}

/// The `_id` of the parent of a list. An invalid id becomes an empty one, which no content has.
fn content_id(id: &ID) -> String {
    input::id(NodeKind::Content, id).unwrap_or_default()
}

fn tested(field: &str, condition: &AttributeCondition) -> Result<Condition, InvalidInput> {
    let AttributeCondition { key, eq, range, exists } = condition;
    let key = input::verbatim(&format!("{field}.key"), key, 1..=checks::KEY)?;
    let test = match (eq, range, exists) {
        (Some(value), None, None) => Test::Equals(checks::value(&format!("{field}.eq"), value)?),
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

fn between(field: &str, range: &AttributeRange) -> Result<Test, InvalidInput> {
    let text = |bound: &Option<String>| {
        let checked = |text| input::verbatim(field, text, 0..=checks::VALUE).map(Bson::from);
        bound.as_ref().map(|text| checked(text)).transpose()
    };
    let (from, to) = match range {
        AttributeRange::Text(TextRange { from, to }) => (text(from)?, text(to)?),
        AttributeRange::Number(NumberRange { from, to }) => {
            (from.map(Bson::from), to.map(Bson::from))
        }
        AttributeRange::Date(DateRange { from, to }) => {
            (from.map(|from| from.0.into()), to.map(|to| to.0.into()))
        }
    };
    if from.is_none() && to.is_none() {
        return Err(InvalidInput::new(field, "needs from, to or both"));
    }
    if from.as_ref().is_some_and(|from| !Test::Between(None, to.clone()).takes(from)) {
        return Err(InvalidInput::new(field, "begins behind its end"));
    }
    Ok(Test::Between(from, to))
}

/// The photos of a feed that the caller may read, after the page's cursor. The order is that of
/// `publishedAt`, newest first, and `_id`.
pub async fn photos(
    app: &App,
    requester: &Requester,
    by: PhotosBy<'_>,
    page: &Page,
) -> Result<Vec<AssetDocument>, Error> {
    store::list_photos(app, by, requester, page).await
}

/// Updates the paths of the assets in a parent; `version` is the version of the new path. It may be repeated,
/// and may run after a later one.
///
/// # Errors
/// `Unavailable` or `Internal`: it has to be repeated.
pub async fn repath(app: &App, parent: &str, path: &str, version: i64) -> Result<u64, Error> {
    store::update_paths(app, parent, path, version, None).await
}

/// Whether any asset, including one whose upload is in progress, prevents the deletion of a parent. The
/// caller must have marked the parent as being deleted.
pub async fn is_parent(app: &App, parent: &str) -> Result<bool, Error> {
    store::is_parent(app, parent).await
}

/// The path of a slug in a parent with that path.
fn path_in(parent: &str, slug: &Slug) -> String {
    let above = if parent == TOP { "" } else { parent };
    format!("{above}/{}", slug.as_str())
}

fn not_found(id: &str) -> NotFound {
    NotFound::of(NodeKind::Asset, id)
}

fn own_id(id: &ID) -> Result<String, NotFound> {
    input::id(NodeKind::Asset, id)
}
