//! Every MongoDB call of the category tree, except for those of [`Tree`].

use mongodb::bson::{Document, doc};

use super::{
    MAX_NAMES,
    documents::{CategoryDocument, MenuEntry, Names, TOP},
};
use crate::{
    app::App,
    error::Error,
    flow::{
        Attempt,
        tree::{self, Tree},
    },
    graphql::{
        page::Page,
        scalars::{LocaleTag, Slug},
    },
    mongo::{
        Outcome,
        collection::List,
        expression::{both, literal, stored},
        guarded::Guarded,
    },
};

/// The category tree.
pub(super) type Categories = Tree<CategoryDocument>;

/// The category with that `_id`, for readers.
pub(super) async fn find_shown(app: &App, id: &str) -> Result<Option<CategoryDocument>, Error> {
    app.collection::<CategoryDocument>().get(id).await
}

/// The categories with this path. There are several only while a change of the tree hasn't reached all of
/// them: one of them still shows its previous path.
pub(super) async fn list_at(app: &App, path: &str) -> Result<Vec<CategoryDocument>, Error> {
    let found = app.collection::<CategoryDocument>().find_timed(&["path"], path).await?;
    Ok(found.into_iter().map(|found| found.document).collect())
}

/// Up to two categories with that slug, wherever they are.
pub(super) async fn list_of_slug(app: &App, slug: &Slug) -> Result<Vec<CategoryDocument>, Error> {
    list_two(app, doc! { "slug": slug.as_str() }).await
}

async fn list_two(app: &App, filter: Document) -> Result<Vec<CategoryDocument>, Error> {
    app.collection().list(List { filter, limit: 2, hint: Some("slug"), ..List::default() }).await
}

/// The category with that slug below a parent, or at the root.
pub(super) async fn find_below(
    app: &App,
    parent: Option<&str>,
    slug: &Slug,
) -> Result<Option<CategoryDocument>, Error> {
    Ok(list_two(app, doc! { "slug": slug.as_str(), "parentId": parent }).await?.pop())
}

/// The categories directly below a path, from the index alone.
pub(super) async fn list_menu(
    app: &App,
    page: &Page,
    parent_path: &str,
) -> Result<Vec<MenuEntry>, Error> {
    let list = List {
        projection: Some(doc! { "_id": 1, "slug": 1, "path": 1, "names": 1 }),
        hint: Some("menu"),
        ..page.list(doc! { "parentPath": parent_path })
    };
    app.collection().list(list).await
}

/// The categories below a path, and with `itself` the one at the path before them.
pub(super) async fn list_subtree(
    app: &App,
    page: &Page,
    path: &str,
    itself: bool,
) -> Result<Vec<CategoryDocument>, Error> {
    let mut filter = tree::below("path", path);
    if itself {
        filter = doc! { "$or": [{ "path": path }, filter] };
    }
    app.collection().list(page.list(filter)).await
}

pub(super) async fn list_by_ids(app: &App, ids: &[String]) -> Result<Vec<CategoryDocument>, Error> {
    app.collection().list(List::of_ids(ids)).await
}

pub(super) async fn list_by_paths(
    app: &App,
    paths: &[String],
) -> Result<Vec<CategoryDocument>, Error> {
    let filter = doc! { "path": { "$in": paths } };
    // During a change of the tree, two categories may show the same path.
    let limit = count(paths.len() * 2 + 1);
    app.collection().list(List { filter, limit, ..List::default() }).await
}

/// The condition under which a name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// There is a name in that language.
    Named,
    /// There is no name in that language or the same one, and there is room for another.
    Unnamed,
}

pub(super) async fn set_name(
    app: &App,
    id: &str,
    locale: &LocaleTag,
    name: &str,
    before: Before,
) -> Outcome<CategoryDocument> {
    let field = format!("names.{}", locale.as_str());
    let condition = match before {
        Before::Named => doc! { &field: { "$exists": true } },
        Before::Unnamed => doc! { "$or": [
            { &field: name },
            { &field: { "$exists": false }, "$expr": { "$lt": [names_count(), count(MAX_NAMES)] } },
        ] },
    };
    let stages = vec![doc! { "$set": { field: literal(name) } }, changed(app)];
    change(app, id, condition, stages).apply().await
}

/// Removes a name, unless it is the last.
pub(super) async fn remove_name(
    app: &App,
    id: &str,
    locale: &LocaleTag,
) -> Outcome<CategoryDocument> {
    let field = format!("names.{}", locale.as_str());
    let condition = doc! {
        &field: { "$exists": true }, "$expr": { "$gt": [names_count(), 1_i64] },
    };
    let stages = vec![doc! { "$unset": field }, changed(app)];
    change(app, id, condition, stages).apply().await
}

pub(super) async fn replace_names(app: &App, id: &str, names: &Names) -> Outcome<CategoryDocument> {
    let stages = vec![doc! { "$set": { "names": literal(stored(names)) } }, changed(app)];
    change(app, id, doc! {}, stages).apply().await
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn names_count() -> Document {
    doc! { "$size": { "$objectToArray": "$names" } }
}

/// Also refused if another category below the same parent has the slug.
pub(super) async fn set_slug(
    app: &App,
    id: &str,
    slug: &Slug,
    attempt: &Attempt,
) -> Outcome<CategoryDocument> {
    let above = doc! { "$cond": [{ "$eq": ["$parentPath", TOP] }, "", "$parentPath"] };
    let slug = literal(slug.as_str());
    let set = doc! { "$set": { "slug": &slug, "path": { "$concat": [above, "/", &slug] } } };
    change(app, id, doc! {}, vec![set, changed(app)]).within(attempt).apply().await
}

/// Moves a category below `parent` in the state in which it was read, or to the root. Also refused if another
/// category has its slug there.
pub(super) async fn set_parent(
    app: &App,
    id: &str,
    parent: Option<&CategoryDocument>,
    attempt: &Attempt,
) -> Outcome<CategoryDocument> {
    let change = app.ids().random();
    Categories::over(app).move_below(changeable(id), parent, Vec::new(), change, attempt).await
}

/// Changes a category that isn't being deleted.
fn change(
    app: &App,
    id: &str,
    condition: Document,
    stages: Vec<Document>,
) -> Guarded<CategoryDocument> {
    app.collection().guarded(both(condition, changeable(id)), stages)
}

fn changeable(id: &str) -> Document {
    doc! { "_id": id, "deleting": { "$exists": false } }
}

/// Raises the version and adds an outbox entry for the copies.
fn changed(app: &App) -> Document {
    tree::changed(app.ids().random())
}
