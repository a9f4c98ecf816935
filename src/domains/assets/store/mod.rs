//! Every MongoDB call of assets.

mod blobs;
mod lists;
mod uploads;

use mongodb::bson::{Bson, DateTime, Document, doc};

pub(super) use blobs::{chunks, find_blob, list_blobs, list_named, remove_blob, retire};
pub(super) use lists::{AssetList, Condition, Test, list};
pub use lists::{PhotosBy, list_photos};
pub use uploads::Expected;
pub(super) use uploads::{
    Purpose, abandon, finish, remove_settled, renew, settle_removals, take_upload,
};

use super::{
    documents::{ATTRIBUTES, AssetDocument, Attribute, OF_FILE, ParentDocument, TOP},
    types::EditAssetInput,
};
use crate::{
    app::App,
    domains::audiences,
    error::Error,
    flow::Attempt,
    graphql::{input::TAGS, scalars::Slug},
    mongo::{
        Outcome, Stored,
        collection::List,
        expression::{append, array, both, choose, filter, literal, map, stored, whole},
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
    find_one(app, filter).await
}

async fn find_one<T: Stored>(app: &App, filter: Document) -> Result<Option<T>, Error> {
    let list = List { filter, limit: 1, ..List::default() };
    Ok(app.collection::<T>().list(list).await?.pop())
}

/// Whether any asset, including one whose upload is in progress, prevents the deletion of a parent. The
/// caller must have marked the parent as being deleted.
pub async fn is_parent(app: &App, parent: &str) -> Result<bool, Error> {
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

pub(super) async fn insert<T: Stored>(app: &App, document: T) -> Outcome<()> {
    app.collection().insert(document).await
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

/// Edits an asset if its nonce is still the one that was read. Absent fields stay unchanged; attributes replace
/// all but those that are read from the file.
pub(super) async fn edit(app: &App, input: &EditAssetInput) -> Outcome<AssetDocument> {
    let fields = [
        ("metadata.title", input.title.as_ref().map(literal)),
        ("metadata.language", input.language.as_ref().map(|it| literal(stored(it)))),
        ("metadata.access", input.access.as_ref().map(literal)),
        ("publishedAt", input.publish_at.map(|at| at.0.into())),
    ];
    let mut set = doc! { "metadata.nonce": literal(app.ids().random()) };
    set.extend(fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))));
    let mut condition = doc! { "metadata.nonce": input.version.as_str() };
    if let Some(attributes) = &input.attributes {
        let attributes: Vec<_> = attributes.iter().cloned().map(Attribute::from).collect();
        let of_file = attributes_of_file("$eq");
        set.insert("attributes", concat(literal(stored(&attributes)), of_file.clone()));
        let room =
            at_most(doc! { "$add": [{ "$size": of_file }, size(attributes.len())] }, ATTRIBUTES);
        condition = both(condition, room);
    }
    change(app, &input.asset_id, condition, set).await
}

/// Adds and removes tags, which are kept in a fixed order. Refused if there would be too many.
pub(super) async fn change_tags(
    app: &App,
    id: &str,
    add: &[String],
    remove: &[String],
) -> Outcome<AssetDocument> {
    let left = doc! { "$setDifference": ["$metadata.tags", literal(remove.to_vec())] };
    let tags = doc! { "$setUnion": [left, literal(add.to_vec())] };
    let room = at_most(doc! { "$size": &tags }, TAGS);
    let sorted = doc! { "$sortArray": { "input": tags, "sortBy": 1 } };
    change(app, id, room, doc! { "metadata.tags": sorted }).await
}

/// Guard: the number isn't larger than `most`.
fn at_most(number: Document, most: usize) -> Document {
    doc! { "$expr": { "$lte": [number, size(most)] } }
}

fn size(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Changes an asset that readers can see.
async fn change(app: &App, id: &str, condition: Document, set: Document) -> Outcome<AssetDocument> {
    let stages = vec![doc! { "$set": set }, relist()];
    app.collection().guarded(both(condition, visible(id)), stages).apply().await
}

/// Guard: readers can see the asset.
fn visible(id: &str) -> Document {
    doc! { "_id": id, "file": { "$exists": true }, "deleting": { "$exists": false } }
}

/// Commits a deletion: from here on the asset doesn't exist for anyone, and its blobs and comments are to be
/// removed. A tombstone is left: its slug is free, and a late insert finds its key taken.
pub(super) async fn mark_deleting(
    app: &App,
    id: &str,
    nonce: Option<&str>,
) -> Outcome<AssetDocument> {
    let mut guard = visible(id);
    if let Some(nonce) = nonce {
        guard.insert("metadata.nonce", nonce);
    }
    let nothing = || Bson::Array(Vec::new());
    let gone = doc! { "$set": {
        "deleting": "$$NOW",
        "deletedAt": "$$NOW",
        "outbox": outbox_with("file", true),
        // A parent of its own: it appears among no siblings.
        "metadata.parentId": { "$concat": ["deleted ", "$_id"] },
        "metadata.path": "",
        "metadata.title": "",
        "metadata.tags": nothing(),
        "attributes": nothing(),
    } };
    let upload = doc! { "$set": { "outbox": outbox_with("upload", false) } };
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
pub(super) async fn remove_tombstones(app: &App, before: DateTime) -> Result<u64, Error> {
    let due = doc! { "deletedAt": { "$lt": before }, "deleting": { "$exists": false } };
    app.collection::<AssetDocument>().remove_many(due).await
}

/// Expression of the outbox, with the blob that `field` names added if there is one.
fn outbox_with(field: &str, shown: bool) -> Bson {
    let entry = whole(doc! { "blob": format!("${field}.blob"), "shown": shown, "at": "$$NOW" });
    let none = doc! { "$eq": [{ "$type": format!("${field}.blob") }, "missing"] };
    choose(none, array("outbox"), append(array("outbox"), vec![entry]))
}

/// Expression of the concatenation of two arrays.
fn concat(left: impl Into<Bson>, right: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$concatArrays": [left.into(), right.into()] })
}

/// Expression of the attributes that are read from the file (`is`: `$eq`), or of the others (`$ne`).
fn attributes_of_file(is: &str) -> Bson {
    filter(array("attributes"), doc! { is: [{ "$indexOfCP": ["$$this.key", OF_FILE] }, 0] })
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

/// Maximum number of documents of each kind per sweep.
const MOST: i64 = 100;

/// Documents whose time in `field` is before `before`, the oldest first.
pub(super) async fn list_due<T: Stored>(
    app: &App,
    field: &str,
    before: DateTime,
) -> Result<Vec<T>, Error> {
    let (filter, sort) = (doc! { field: { "$lt": before } }, doc! { field: 1 });
    app.collection().list(List { filter, sort, limit: MOST, ..List::default() }).await
}
