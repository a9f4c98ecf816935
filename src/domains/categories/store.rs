//! Every MongoDB call of the category tree, except for those of [`Tree`]. The guarded writes are values, which the caller
//! sends.

use super::{
    MAX_NAMES,
    documents::{CategoryDocument, MenuEntry, Names},
    types::{AddTranslationInput, RemoveTranslationInput, RenameCategoryInput},
};
use crate::{
    flow::tree::{self, Branch, Tree},
    graphql::prelude::*,
    mongo::prelude::*,
};

/// The category tree.
pub(super) type Categories = Tree<CategoryDocument>;

/// The category with that `_id`, for readers.
pub(super) async fn find_shown(app: &App, id: &str) -> Result<Option<CategoryDocument>> {
    app.collection::<CategoryDocument>().get(id).await
}

/// The categories with this path. There are several only while a change of the tree hasn't reached all of
/// them: one of them still shows its previous path.
pub(super) async fn list_at(app: &App, path: &str) -> Result<Vec<CategoryDocument>> {
    let found = app.collection::<CategoryDocument>().find_timed(&["path"], path).await?;
    Ok(found.into_iter().map(|found| found.document).collect())
}

/// Up to two categories with that slug, wherever they are.
pub(super) async fn list_of_slug(app: &App, slug: &Slug) -> Result<Vec<CategoryDocument>> {
    let filter = doc! { "slug": slug.as_str() };
    app.collection().list(List { filter, limit: 2, hint: Some("slug"), ..List::default() }).await
}

/// The categories directly below a path, from the index alone.
pub(super) async fn list_menu(app: &App, page: &Page, parent_path: &str) -> Result<Vec<MenuEntry>> {
    let list = List { hint: Some("menu"), ..page.list(doc! { "parentPath": parent_path }) };
    app.collection().list(list).await
}

/// The categories below a path, and with `itself` the one at the path before them.
pub(super) async fn list_subtree(
    app: &App,
    page: &Page,
    path: &str,
    itself: bool,
) -> Result<Vec<CategoryDocument>> {
    let mut filter = tree::below("path", path);
    if itself {
        filter = doc! { "$or": [{ "path": path }, filter] };
    }
    app.collection().list(page.list(filter)).await
}

/// The categories with a pair of metadata, by `_id`; `having` is the filter that finds them.
pub(super) async fn list_having(
    app: &App,
    page: &Page,
    having: Document,
) -> Result<Vec<CategoryDocument>> {
    app.collection().list(List { hint: Some("metadata"), ..page.list(having) }).await
}

pub(super) async fn list_by_ids(app: &App, ids: &[String]) -> Result<Vec<CategoryDocument>> {
    app.collection().list(List::of_ids(ids)).await
}

pub(super) async fn list_by_paths(app: &App, paths: &[String]) -> Result<Vec<CategoryDocument>> {
    let filter = doc! { "path": { "$in": paths } };
    // During a change of the tree, two categories may show the same path.
    let limit = count(paths.len() * 2 + 1);
    app.collection().list(List { filter, limit, ..List::default() }).await
}

/// Changes the name in a language in which there is one.
pub(super) fn replace_name(app: &App, new: &RenameCategoryInput) -> Guarded<CategoryDocument> {
    let field = field_of(&new.locale);
    let named = doc! { &field: { "$exists": true } };
    change(app, &new.category_id, named, doc! { "$set": { field: literal(&new.name) } })
}

/// Adds a name in a language in which there is none or the same one, if there is room for another.
pub(super) fn add_name(app: &App, new: &AddTranslationInput) -> Guarded<CategoryDocument> {
    let (field, name) = (field_of(&new.locale), literal(&new.name));
    let has_room = doc! { "$lt": [names_count(), count(MAX_NAMES)] };
    let unnamed = doc! { "$expr": { "$or": [
        { "$eq": [format!("${field}"), &name] },
        { "$and": [is_missing(&field), has_room] },
    ] } };
    change(app, &new.category_id, unnamed, doc! { "$set": { field: name } })
}

/// Removes a name, unless it is the last.
pub(super) fn remove_name(app: &App, old: &RemoveTranslationInput) -> Guarded<CategoryDocument> {
    let field = field_of(&old.locale);
    let spare = doc! {
        &field: { "$exists": true }, "$expr": { "$gt": [names_count(), 1_i64] },
    };
    change(app, &old.category_id, spare, doc! { "$unset": field })
}

pub(super) fn replace_names(app: &App, id: &str, names: &Names) -> Guarded<CategoryDocument> {
    change(app, id, doc! {}, doc! { "$set": { "names": literal(stored(names)) } })
}

/// Changes the names of a category that isn't being deleted, if `guard` holds. Raises the version and adds an
/// outbox entry for the copies.
fn change(app: &App, id: &str, guard: Document, stage: Document) -> Guarded<CategoryDocument> {
    let guard = both(guard, CategoryDocument::changeable(id));
    let change = tree::changed(&app.ids().random());
    app.collection().guarded(guard, vec![stage, change]).numbered()
}

fn field_of(locale: &LocaleTag) -> String {
    format!("names.{}", locale.as_str())
}

fn names_count() -> Document {
    doc! { "$size": { "$objectToArray": "$names" } }
}
