//! Every MongoDB call of assets.

mod blobs;
mod lists;
mod uploads;

use mongodb::bson::{Bson, DateTime, Document, doc};

pub(super) use blobs::{
    blob_ids, chunks, find_blob, insert_blob, list_due_blobs, list_named, remove_blob, retire,
};
pub use lists::PhotosBy;
pub(super) use lists::{Condition, Test, Way, list, list_photos};
pub(super) use uploads::{
    Expected, Finish, Purpose, abandon, finish, list_stalled, remove_settled, renew,
    settle_removals, take_upload,
};

use super::documents::{AssetDocument, Attribute, ParentDocument, TOP};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::scalars::{LocaleTag, Slug},
    mongo::{
        Outcome, audiences,
        collection::List,
        expression::{append, array, both, choose, filter, literal, map, stored, whole},
        guarded::Guarded,
    },
};

/// The asset with that value of `key`, for readers, with the server's time.
pub(super) async fn find_by(
    app: &App,
    key: &'static str,
    value: &str,
) -> Result<Option<(DateTime, AssetDocument)>, Error> {
    app.collection::<AssetDocument>().get_timed_by(key, value).await
}

pub(super) async fn find(app: &App, id: &str) -> Result<Option<AssetDocument>, Error> {
    app.collection::<AssetDocument>().get_settled(id).await
}

/// The asset that has a slug in a parent, even if readers can't see it.
pub(super) async fn find_slug(
    app: &App,
    parent: Option<&str>,
    slug: &Slug,
) -> Result<Option<AssetDocument>, Error> {
    let filter = doc! { "metadata.parentId": parent, "metadata.slug": slug.as_str() };
    let list = List { filter, limit: 1, ..List::default() };
    Ok(app.collection::<AssetDocument>().list(list).await?.pop())
}

/// Whether a parent contains any asset, including one whose upload is in progress.
pub(super) async fn is_parent(app: &App, parent: &str) -> Result<bool, Error> {
    let filter = doc! { "metadata.parentId": parent };
    Ok(app.collection::<AssetDocument>().count(filter, 1).await? > 0)
}

/// Begins an attempt by reading the content that is to contain an asset.
pub(super) async fn open_parent(
    app: &App,
    id: &str,
) -> Result<(Attempt, Option<ParentDocument>), Error> {
    app.collection::<ParentDocument>().open(app.bounds(), id).await
}

pub(super) async fn find_parent(app: &App, id: &str) -> Result<Option<ParentDocument>, Error> {
    app.collection::<ParentDocument>().get_settled(id).await
}

pub(super) async fn find_parent_by_path(
    app: &App,
    path: &str,
) -> Result<Option<ParentDocument>, Error> {
    let filter = doc! { "metadata.path": path };
    let list = List { filter, limit: 2, ..List::default() };
    let found = app.collection::<ParentDocument>().list(list).await?;
    Ok(found.into_iter().find(ParentDocument::holds_assets))
}

pub(super) async fn insert(app: &App, asset: AssetDocument) -> Outcome<()> {
    app.collection().insert(asset).await
}

/// Updates the paths of the assets in a parent (or only of `only`) that have an older version.
pub(super) async fn update_paths(
    app: &App,
    parent: &str,
    path: &str,
    version: i64,
    only: Option<&str>,
) -> Result<u64, Error> {
    let mut filter = doc! { "metadata.parentId": parent, "parentCv": { "$lt": version } };
    if let Some(only) = only {
        filter.insert("_id", only);
    }
    let above = if path == TOP { "" } else { path };
    let set = doc! { "$set": {
        "metadata.path": { "$concat": [literal(above), "/", "$metadata.slug"] },
        "parentCv": version,
    } };
    app.collection::<AssetDocument>().update_many(filter, vec![set, relist()], Vec::new()).await
}

/// The changes of an edit; absent fields stay unchanged.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub title: Option<String>,
    pub language: Option<LocaleTag>,
    pub access: Option<Vec<String>>,
    pub published_at: Option<DateTime>,
    /// Replaces all attributes except those that are read from the file.
    pub attributes: Option<Vec<Attribute>>,
}

/// Edits an asset if its nonce is still the one that was read.
pub(super) async fn edit(
    app: &App,
    id: &str,
    nonce: &str,
    changes: &Changes,
    next: &str,
    most: usize,
) -> Outcome<AssetDocument> {
    let mut set = doc! { "metadata.nonce": literal(next) };
    if let Some(title) = &changes.title {
        set.insert("metadata.title", literal(title));
    }
    if let Some(language) = &changes.language {
        set.insert("metadata.language", literal(stored(language)));
    }
    if let Some(access) = &changes.access {
        set.insert("metadata.access", literal(access.clone()));
    }
    if let Some(at) = changes.published_at {
        set.insert("publishedAt", at);
    }
    let mut condition = doc! { "metadata.nonce": nonce };
    if let Some(attributes) = &changes.attributes {
        let count = i64::try_from(attributes.len()).unwrap_or(i64::MAX);
        let of_file = of_file(array("attributes"));
        set.insert("attributes", concat(literal(stored(attributes)), of_file.clone()));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let room = doc! { "$lte": [{ "$add": [{ "$size": of_file }, count] }, most] };
        condition = both(condition, doc! { "$expr": room });
    }
    change(app, id, condition, vec![doc! { "$set": set }]).apply().await
}

/// Adds and removes tags, which are kept in a fixed order. Refused if there would be too many.
pub(super) async fn change_tags(
    app: &App,
    id: &str,
    add: &[String],
    remove: &[String],
    most: usize,
) -> Outcome<AssetDocument> {
    let left = doc! { "$setDifference": ["$metadata.tags", literal(remove.to_vec())] };
    let tags = doc! { "$setUnion": [left, literal(add.to_vec())] };
    let room = doc! { "$expr": {
        "$lte": [{ "$size": &tags }, i64::try_from(most).unwrap_or(i64::MAX)],
    } };
    let sorted = doc! { "$sortArray": { "input": tags, "sortBy": 1 } };
    change(app, id, room, vec![doc! { "$set": { "metadata.tags": sorted } }]).apply().await
}

/// Changes an asset that readers can see.
fn change(
    app: &App,
    id: &str,
    condition: Document,
    mut stages: Vec<Document>,
) -> Guarded<AssetDocument> {
    let there = doc! { "_id": id, "file": { "$exists": true }, "deleting": { "$exists": false } };
    stages.push(relist());
    app.collection().guarded(both(condition, there), stages)
}

/// Commits a deletion: from here on the asset doesn't exist for anyone, and its blobs and comments are to be
/// removed. A tombstone is left: its slug is free, and a late insert finds its key taken.
pub(super) async fn mark_deleting(
    app: &App,
    id: &str,
    nonce: Option<&str>,
) -> Outcome<AssetDocument> {
    let mut guard =
        doc! { "_id": id, "file": { "$exists": true }, "deleting": { "$exists": false } };
    if let Some(nonce) = nonce {
        guard.insert("metadata.nonce", nonce);
    }
    let nothing = || Bson::Array(Vec::new());
    let gone = doc! { "$set": {
        "deleting": "$$NOW",
        "deletedAt": "$$NOW",
        "outbox": let_go("file", true),
        // A parent of its own: it appears among no siblings.
        "metadata.parentId": { "$concat": ["deleted ", "$_id"] },
        "metadata.path": "",
        "metadata.title": "",
        "metadata.tags": nothing(),
        "attributes": nothing(),
    } };
    let upload = doc! { "$set": { "outbox": let_go("upload", false) } };
    let unset = doc! { "$unset": ["file", "upload"] };
    app.collection().guarded(guard, vec![gone, upload, unset, relist()]).apply().await
}

/// Notes that only the tombstone of a deleted asset is left.
pub(super) async fn settle_deletion(app: &App, id: &str) -> Outcome<AssetDocument> {
    let done = doc! {
        "_id": id, "deletedAt": { "$exists": true }, "deleting": { "$exists": true }, "outbox": [],
    };
    let unset = doc! { "$unset": { "deleting": "", "discussion": "" } };
    app.collection().guarded(done, unset).apply().await
}

/// Removes the tombstones from before `before`; returns how many.
pub(super) async fn remove_stones(app: &App, before: DateTime) -> Result<u64, Error> {
    let due = doc! { "deletedAt": { "$lt": before }, "deleting": { "$exists": false } };
    app.collection::<AssetDocument>().remove_many(due).await
}

/// Expression of the outbox, with the blob that `field` names added if there is one.
fn let_go(field: &str, shown: bool) -> Bson {
    let entry = whole(doc! { "blob": format!("${field}.blob"), "shown": shown, "at": "$$NOW" });
    let none = doc! { "$eq": [{ "$type": format!("${field}.blob") }, "missing"] };
    choose(none, array("outbox"), append(array("outbox"), vec![entry]))
}

/// Expression of the concatenation of two arrays.
fn concat(left: impl Into<Bson>, right: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$concatArrays": [left.into(), right.into()] })
}

/// Prefix of the keys of attributes that are read from the file.
pub(super) const OF_FILE: &str = "exif:";

/// Expression of the attributes that are read from the file.
fn of_file(attributes: impl Into<Bson>) -> Bson {
    filter(attributes, doc! { "$eq": [{ "$indexOfCP": ["$$this.key", OF_FILE] }, 0] })
}

/// Expression of the other attributes.
fn of_people(attributes: impl Into<Bson>) -> Bson {
    filter(attributes, doc! { "$ne": [{ "$indexOfCP": ["$$this.key", OF_FILE] }, 0] })
}

/// The stage that recomputes `listed`; see [`listed`](super::documents::listed). An asset that readers can't
/// see is in no list.
fn relist() -> Document {
    let each_in = |list: &str, of: Bson| map(of, doc! { "$concat": [list, " ", "$$this"] });
    let tags = |list: &str| each_in(list, "$metadata.tags".into());
    let parent =
        |list: &str| each_in(list, vec![doc! { "$ifNull": ["$metadata.parentId", ""] }].into());
    let photo =
        concat(concat(tags("photoTag"), parent("photoParent")), each_in("photoIn", above()));
    let is_photo = doc! { "$eq": ["$metadata.type", "photo"] };
    let of_photos = choose(is_photo, photo, Bson::Array(vec![]));
    let lists = concat(concat(tags("tag"), parent("parent")), of_photos);
    let all = audiences::listed_as("metadata.access", lists);
    let hidden = doc! { "$eq": [{ "$type": "$file" }, "missing"] };
    doc! { "$set": { "listed": choose(hidden, Bson::Array(vec![]), all) } }
}

/// Expression of the levels above `metadata.path`: an empty string, then each path from the root on.
fn above() -> Bson {
    let further = doc! { "$concat": [{ "$last": "$$value" }, "/", "$$this"] };
    let next = choose(doc! { "$eq": ["$$value", []] }, "", further);
    let all = doc! { "$reduce": {
        "input": { "$split": ["$metadata.path", "/"] },
        "initialValue": [],
        "in": append("$$value", vec![next]),
    } };
    let itself = doc! { "$subtract": [{ "$size": "$$all" }, 1] };
    Bson::Document(doc! { "$let": {
        "vars": { "all": all }, "in": { "$slice": ["$$all", itself] },
    } })
}

/// Assets whose field, `deleting` or `outbox.at`, is before `before`.
pub(super) async fn list_left_behind(
    app: &App,
    field: &'static str,
    before: DateTime,
    limit: i64,
) -> Result<Vec<AssetDocument>, Error> {
    let filter = doc! { field: { "$lt": before } };
    let sort = doc! { field: 1 };
    app.collection::<AssetDocument>().list(List { filter, sort, limit, ..List::default() }).await
}
