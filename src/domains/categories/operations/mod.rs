//! The rules of the category tree.

mod names;
mod shape;

use mongodb::bson::Bson;

pub use names::{add_translation, remove_translation, rename_category};
pub(super) use shape::create;
pub use shape::{change_category_slug, create_category, delete_category, move_category};

use super::{
    documents::{CategoryCopy, CategoryDocument},
    store,
    types::{Category, CategoryBy, CategoryLink},
};
use crate::{
    domains::metadata::{self, MetadataFilter},
    graphql::{input::path_or_top, prelude::*},
};

/// One category.
pub async fn category(app: &App, by: CategoryBy) -> Result<Option<CategoryDocument>> {
    match by {
        CategoryBy::Slug(slug) => {
            let mut found = store::list_of_slug(app, &slug).await?;
            if found.len() > 1 {
                let reason = "is that of several categories: ask by path";
                return Err(Error::bad_input("by.slug", reason));
            }
            Ok(found.pop())
        }
        CategoryBy::Path(path) => at_path(app, input::path("by.path", &path)?).await,
        CategoryBy::Id(id) => match input::id(NodeKind::CATEGORY, &id) {
            Ok(id) => store::find_shown(app, &id).await,
            Err(_) => Ok(None),
        },
    }
}

/// The category at a path. During a change of the tree two may show the same path; the one with the higher
/// version was changed last.
async fn at_path(app: &App, path: &str) -> Result<Option<CategoryDocument>> {
    let found = store::list_at(app, path).await?;
    Ok(found
        .into_iter()
        .max_by(|left, right| (left.tree.cv, &left.id).cmp(&(right.tree.cv, &right.id))))
}

/// A menu: the categories directly below a path, by slug.
pub async fn menu(
    app: &App,
    parent_path: &str,
    paging: Paging,
) -> Result<Connection<CategoryLink>> {
    let parent_path = path_or_top("parentPath", parent_path)?;
    let order = Order { list: format!("categories {parent_path}"), keys: vec![("slug", 1)] };
    let page = Page::new(app, order, paging)?;
    let found = store::list_menu(app, &page, parent_path).await?;
    Ok(page.connection(found, |entry| vec![entry.slug.as_str().into()], CategoryLink::from))
}

/// Everything below a path, by path.
pub async fn subtree(
    app: &App,
    path: &str,
    include_self: bool,
    paging: Paging,
) -> Result<Connection<Category>> {
    let path = path_or_top("path", path)?;
    let order = Order { list: format!("categorySubtree {path}"), keys: vec![("path", 1)] };
    let page = Page::new(app, order, paging)?;
    // It sorts before everything below it.
    let itself = include_self && path != TOP && (page.from().is_none() || page.is_backward());
    let found = store::list_subtree(app, &page, path, itself).await?;
    Ok(page.connection(found, |found| vec![Bson::from(found.path.as_str())], Category::from))
}

/// The categories with a pair of metadata that the caller may read, by `_id`.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn with_metadata(
    cx: Cx<'_>,
    pair: MetadataFilter,
    paging: Paging,
) -> Result<Connection<Category>> {
    let order = Order { list: format!("categoriesWith {pair:?}"), keys: vec![("_id", 1)] };
    let having = metadata::operations::having(cx.requester, "metadata", pair)?;
    let page = Page::new(&cx, order, paging)?;
    let found = store::list_having(&cx, &page, having).await?;
    Ok(page.connection(found, |found| vec![Bson::from(found.id.as_str())], Category::from))
}

/// The copies of these categories for products, in the same order. Categories that don't exist, whose
/// creation isn't finished or that are being deleted are absent. A flow that adds copies to a product reads
/// them again after its write.
pub async fn copies(app: &App, ids: &[String]) -> Result<Vec<CategoryCopy>> {
    Ok(decided_copies(app, ids, &[]).await?.unwrap_or_default())
}

/// Like [`copies`]; `None` while one of `begun` is being deleted and that isn't committed yet. The deletion
/// either finds the products that began to use the category and is refused, or is finished soon.
pub async fn decided_copies(
    app: &App,
    ids: &[String],
    begun: &[String],
) -> Result<Option<Vec<CategoryCopy>>> {
    let found = store::list_by_ids(app, ids).await?;
    if found.iter().any(|found| found.tree.deleting.is_some() && begun.contains(&found.id)) {
        return Ok(None);
    }
    let settled = |id: &String| found.iter().find(|found| found.id == *id && found.is_settled());
    Ok(Some(ids.iter().filter_map(settled).map(CategoryDocument::copy).collect()))
}

/// Like [`copies`] for the categories at these paths.
///
/// # Errors
/// `Unavailable` also if two categories show the same path during a change of the tree.
pub async fn copies_at(app: &App, paths: &[String]) -> Result<Vec<CategoryCopy>> {
    let found = store::list_by_paths(app, paths).await?;
    let mut shown = std::collections::HashSet::new();
    if !found.iter().all(|found| shown.insert(found.path.as_str())) {
        return Err(two_at_once());
    }
    Ok(found.iter().filter(|found| found.is_settled()).map(CategoryDocument::copy).collect())
}

/// The category at a path, for callers that depend on it; an error if two show the same path.
pub(super) async fn one_at(app: &App, path: &str) -> Result<Option<CategoryDocument>> {
    let mut found = store::list_at(app, path).await?;
    if found.len() > 1 { Err(two_at_once()) } else { Ok(found.pop()) }
}

fn two_at_once() -> Error {
    Error::unavailable("another change of the category tree gives a category the same path")
}
