//! The rules of the category tree.

mod create;
mod delete;
mod names;
mod shape;

use async_graphql::connection::Connection;
use mongodb::bson::Bson;

pub(super) use create::plant;
pub use create::{NewCategory, create};
pub use delete::delete;
pub use names::{add_translation, remove_translation, rename};
pub use shape::{change_slug, move_below};

use super::{
    documents::{CategoryCopy, CategoryDocument, Names, TOP},
    store,
    types::{Category, CategoryBy, CategoryLink},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        page::{Order, Page},
        refusals::{AlreadyExists, InvalidInput, NotFound},
        scalars::{LocaleTag, Slug},
    },
};

/// Categories from a root to the deepest, at the most. It is checked where a category is created or
/// moved, against what is there at that moment: it bounds what an operation costs, and nothing
/// else hangs on it.
const DEPTH: usize = 16;
/// Names of one category at the most.
const LOCALES: usize = 100;
/// Characters of a name at the most.
const NAME: usize = 200;

/// One category.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn category(app: &App, by: CategoryBy) -> Result<Option<CategoryDocument>, Error> {
    match by {
        CategoryBy::Slug(slug) => only_of_slug(app, &slug).await,
        CategoryBy::Path(path) => at_path(app, sound_path("by.path", &path)?).await,
        CategoryBy::Id(id) => match own_id(&id) {
            Ok(id) => store::find_shown(app, &id).await,
            Err(_) => Ok(None),
        },
    }
}

/// The category at a path. While a change of the tree is under way two may show the same path; the
/// one of the higher version was changed last.
async fn at_path(app: &App, path: &str) -> Result<Option<CategoryDocument>, Error> {
    let found = store::list_at(app, path).await?;
    Ok(found.into_iter().max_by(|left, right| (left.cv, &left.id).cmp(&(right.cv, &right.id))))
}

/// The category of a slug that only one has.
async fn only_of_slug(app: &App, slug: &Slug) -> Result<Option<CategoryDocument>, Error> {
    let mut found = store::list_of_slug(app, slug, 2).await?;
    if found.len() > 1 {
        return Err(Error::bad_input("by.slug", "is that of several categories: ask by path"));
    }
    Ok(found.pop())
}

/// The refusal of a slug that another category has at that place.
fn taken(parent: Option<&CategoryDocument>, slug: &Slug) -> AlreadyExists {
    let above = parent.map_or("", |parent| parent.path.as_str());
    AlreadyExists::new("category", format!("{above}/{}", slug.as_str()))
}

/// A menu: the categories right below a path, by slug.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn menu(
    app: &App,
    parent_path: &str,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, CategoryLink>, Error> {
    let parent_path = path_or_top("parentPath", parent_path)?;
    let order = Order { list: format!("categories {parent_path}"), keys: vec![("slug", 1)] };
    let page = Page::new(app, order, first, after)?;
    let found = store::list_menu(app, &page, parent_path).await?;
    Ok(page.connection(found, |entry| vec![entry.slug.as_str().into()], CategoryLink::from))
}

/// Everything below a path, by path.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn subtree(
    app: &App,
    path: &str,
    include_self: bool,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, Category>, Error> {
    let path = path_or_top("path", path)?;
    let order = Order { list: format!("categorySubtree {path}"), keys: vec![("path", 1)] };
    let page = Page::new(app, order, first, after)?;
    // It sorts before all that is below it, so it can stand on the first page only.
    let itself = include_self && path != TOP && after.is_none();
    let found = store::list_subtree(app, &page, path, itself).await?;
    Ok(page.connection(found, |found| vec![Bson::from(found.path.as_str())], Category))
}

/// What products carry of these categories, in their order. Those that don't exist, aren't settled
/// yet or are being deleted are absent. A product that begins to copy reads them again after its
/// write.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn copies(app: &App, ids: &[String]) -> Result<Vec<CategoryCopy>, Error> {
    Ok(decided_copies(app, ids, &[]).await?.unwrap_or_default())
}

/// As [`copies`]; `None` while one of `begun` is being deleted, which isn't decided yet: its deletion
/// finds whoever began to build upon it before and is refused, or is done in a moment.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn decided_copies(
    app: &App,
    ids: &[String],
    begun: &[String],
) -> Result<Option<Vec<CategoryCopy>>, Error> {
    let found = store::list_by_ids(app, ids).await?;
    if found.iter().any(|found| found.deleting.is_some() && begun.contains(&found.id)) {
        return Ok(None);
    }
    let settled = |id: &String| found.iter().find(|found| found.id == *id && found.is_settled());
    Ok(Some(ids.iter().filter_map(settled).map(CategoryDocument::copy).collect()))
}

/// As [`copies`], of the categories at these paths.
///
/// # Errors
/// `Unavailable`, also while a change of the tree is under way and two show the same path. `Internal`.
pub async fn copies_at(app: &App, paths: &[String]) -> Result<Vec<CategoryCopy>, Error> {
    let found = store::list_by_paths(app, paths).await?;
    let mut shown = std::collections::HashSet::new();
    if !found.iter().all(|found| shown.insert(found.path.as_str())) {
        return Err(two_at_once());
    }
    Ok(found.iter().filter(|found| found.is_settled()).map(CategoryDocument::copy).collect())
}

/// The one category at a path, for who builds upon it.
pub(super) async fn one_at(app: &App, path: &str) -> Result<Option<CategoryDocument>, Error> {
    let mut found = store::list_at(app, path).await?;
    if found.len() > 1 { Err(two_at_once()) } else { Ok(found.pop()) }
}

fn two_at_once() -> Error {
    Error::unavailable("a change of the category tree is under way to one that has the same path")
}

/// The `_id` behind a global id that a client gave.
fn own_id(global: &str) -> Result<String, NotFound> {
    input::id(NodeKind::Category, global)
}

fn not_found(id: &str) -> NotFound {
    NotFound::of(NodeKind::Category, id)
}

pub(super) fn sound_name(field: &str, name: &str) -> Result<String, InvalidInput> {
    input::text(field, name, 1..=NAME)
}

pub(super) fn sound_names(
    field: &str,
    given: Vec<(LocaleTag, String)>,
) -> Result<Names, InvalidInput> {
    input::at_most(field, &given, LOCALES)?;
    if given.is_empty() {
        return Err(InvalidInput::new(field, "takes at least one name"));
    }
    let mut names = Names::new();
    for (place, (locale, name)) in given.into_iter().enumerate() {
        let name = sound_name(&format!("{field}.{place}.name"), &name)?;
        if names.insert(locale, name).is_some() {
            let field = format!("{field}.{place}.locale");
            return Err(InvalidInput::new(&field, "is there twice"));
        }
    }
    Ok(names)
}

pub(super) fn sound_path<'a>(field: &'static str, path: &'a str) -> Result<&'a str, Error> {
    Ok(input::path(field, path)?)
}

fn path_or_top<'a>(field: &'static str, path: &'a str) -> Result<&'a str, Error> {
    if path == TOP { Ok(path) } else { sound_path(field, path) }
}
