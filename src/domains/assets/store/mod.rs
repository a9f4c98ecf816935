//! MongoDB access of assets. The guarded writes are values, which the caller sends.

mod lists;
mod renditions;
mod uploads;

pub(super) use lists::{AssetList, Condition, Test, is_ordered, list};
pub use lists::{PhotosBy, list_photos};
pub(super) use renditions::*;
pub use uploads::Expected;
pub(super) use uploads::*;

use super::{
    documents::{ATTRIBUTES, AssetDocument, Attribute, FILE, OF_FILE, ParentDocument, VIDEO},
    types::EditAssetInput,
    view::StoredPicture,
};
use crate::{
    domains::{audiences, former_paths},
    graphql::prelude::*,
    mongo::{Parts, prelude::*},
};

/// The collection of the assets.
pub(super) fn assets(app: &App) -> Collection<AssetDocument> {
    app.collection()
}

/// The same, for reads of what an image needs. If they are timed, they share their commands with those of whole assets.
pub(super) fn pictures(app: &App) -> Collection<StoredPicture> {
    app.collection()
}

/// Reads what images need of many assets.
pub(super) async fn find_pictures(app: &App, ids: Vec<&str>) -> Result<Parts<StoredPicture>> {
    pictures(app).get_parts(ids, StoredPicture::ONLY).await
}

/// The collection of the content that contains assets.
pub(super) fn parents(app: &App) -> Collection<ParentDocument> {
    app.collection()
}

/// The asset that has a slug in a parent, even if readers can't see it.
pub(super) async fn find_slug(
    app: &App,
    parent: Option<&str>,
    slug: &Slug,
) -> Result<Option<AssetDocument>> {
    let filter = doc! { "metadata.parentId": parent, "metadata.slug": slug.as_str() };
    assets(app).first(List { filter, ..List::default() }).await
}

/// Whether any asset, including one whose upload is in progress, prevents the deletion of a parent. The
/// caller must have marked the parent as being deleted.
pub async fn is_parent(app: &App, parent: &str) -> Result<bool> {
    Ok(assets(app).count(doc! { "metadata.parentId": parent }, 1).await? > 0)
}

pub(super) async fn find_parent_by_path(app: &App, path: &str) -> Result<Option<ParentDocument>> {
    let filter = doc! { "metadata.path": path };
    let found = parents(app).list(List { filter, limit: 2, ..List::default() }).await?;
    Ok(found.into_iter().find(ParentDocument::holds_assets))
}

/// Updates the paths of the assets in a parent (or only of `only`) that have an older version.
pub(super) async fn update_paths(
    app: &App,
    parent: &str,
    path: &str,
    version: i64,
    only: Option<&str>,
) -> Result<u64> {
    let mut filter = doc! { "metadata.parentId": parent, "parentCv": { "$lt": version } };
    if let Some(only) = only {
        filter.insert("_id", only);
    }
    let path = doc! { "$concat": [literal(path), "/", "$metadata.slug"] };
    // A path that no reader has seen isn't a former one.
    let is_left = doc! { "$and": [
        { "$ne": ["$metadata.path", &path] }, not(is_missing("file")),
    ] };
    let set = doc! { "$set": {
        "former": choose(is_left, former_paths::with_left(&path), "$former"),
        "metadata.path": path,
        "parentCv": version,
    } };
    assets(app).update_many(filter, vec![set, listed_stage()]).await
}

/// Edits an asset in the version that was read. Absent fields don't change; attributes replace all but those
/// that are read from the file.
pub(super) fn edit(app: &App, input: &EditAssetInput) -> Guarded<AssetDocument> {
    // An empty text removes the description.
    let described =
        |text: &String| if text.is_empty() { Bson::from("$$REMOVE") } else { literal(text) };
    let fields = [
        ("metadata.title", input.title.as_ref().map(literal)),
        ("metadata.description", input.description.as_ref().map(described)),
        ("metadata.language", input.language.as_ref().map(|it| literal(stored(it)))),
        ("metadata.access", input.access.as_ref().map(literal)),
        ("publishedAt", input.publish_at.map(|at| at.0.into())),
    ];
    let mut set = doc! { "metadata.nonce": literal(app.ids().random()) };
    set.extend(fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))));
    let mut guard = doc! { "metadata.nonce": input.version.as_str() };
    if let Some(attributes) = &input.attributes {
        let attributes: Vec<_> = attributes.iter().cloned().map(Attribute::from).collect();
        let of_file = attributes_of_file(true);
        guard = both(guard, at_most(ATTRIBUTES.saturating_sub(attributes.len()), &of_file));
        set.insert("attributes", concat([literal(stored(&attributes)), of_file]));
    }
    change(app, &input.asset_id, guard, set)
}

/// Adds and removes tags, which are kept in a fixed order. Refused if there would be too many.
pub(super) fn change_tags(
    app: &App,
    id: &str,
    add: &[String],
    remove: &[String],
) -> Guarded<AssetDocument> {
    let (guard, set) = audiences::change_tags(add, remove);
    change(app, id, guard, set).numbered()
}

/// Guard: the array expression has at most `most` elements.
fn at_most(most: usize, array: &Bson) -> Document {
    doc! { "$expr": { "$lte": [{ "$size": array }, count(most)] } }
}

/// Changes an asset that readers can see.
fn change(app: &App, id: &str, guard: Document, set: Document) -> Guarded<AssetDocument> {
    let guard = both(guard, visible(id));
    assets(app).guarded(guard, vec![doc! { "$set": set }, listed_stage()])
}

/// Adds the attributes by which a file is found, as [`FileFacts::attributes`](super::documents::FileFacts::attributes) has
/// them, if the asset has none. Its lists follow.
pub(super) fn add_attributes(app: &App, id: &str) -> Guarded<AssetDocument> {
    let key = |name: &str| literal(format!("{FILE}{name}"));
    let added = vec![
        doc! { "key": key("type"), "value": "$file.type" },
        doc! { "key": key("size"), "value": { "$toDouble": "$file.length" } },
        doc! { "key": key("name"), "value": "$file.name" },
    ];
    let all = append(array("attributes"), added.into_iter().map(Bson::from).collect());
    let none = doc! { "attributes.key": { "$ne": format!("{FILE}type") } };
    change(app, id, none, doc! { "attributes": all })
}

/// Guard: readers can see the asset.
fn visible(id: &str) -> Document {
    doc! { "_id": id, "file": { "$exists": true }, "deleting": { "$exists": false } }
}

/// Commits a deletion: from here on the asset doesn't exist for anyone, and its blobs and comments are to be
/// removed. A tombstone is left: its slug is free, and a late insert finds its key taken.
pub(super) fn mark_deleting(app: &App, id: &str, version: Option<&str>) -> Guarded<AssetDocument> {
    let mut guard = visible(id);
    if let Some(version) = version {
        guard.insert("metadata.nonce", version);
    }
    let nothing = || Bson::Array(Vec::new());
    let gone = doc! { "$set": {
        "deleting": "$$NOW",
        "deletedAt": "$$NOW",
        "outbox": outbox_with_file(),
        // A parent of its own: it appears among no siblings.
        "metadata.parentId": { "$concat": ["deleted ", "$_id"] },
        "metadata.path": "",
        "metadata.title": "",
        "metadata.tags": nothing(),
        "attributes": nothing(),
    } };
    let upload = doc! { "$set": { "outbox": outbox_with("upload", false) } };
    let unset = doc! { "$unset": ["file", "upload", "meta", "former", "metadata.description"] };
    assets(app).guarded(guard, vec![gone, upload, unset, listed_stage()])
}

/// Notes that only the tombstone of a deleted asset is left.
pub(super) fn settle_deletion(app: &App, id: &str) -> Guarded<AssetDocument> {
    let done = doc! {
        "_id": id, "deletedAt": { "$exists": true }, "deleting": { "$exists": true }, "outbox": [],
    };
    assets(app).set(done, doc! { "deleting": "$$REMOVE", "discussion": "$$REMOVE" })
}

/// Removes the tombstones from before `before`; returns how many.
pub(super) async fn remove_tombstones(app: &App, before: DateTime) -> Result<u64> {
    let due = doc! { "deletedAt": { "$lt": before }, "deleting": { "$exists": false } };
    assets(app).remove_many(due).await
}

/// Expression of the outbox, with the blob that `field` names added if there is one.
fn outbox_with(field: &str, shown: bool) -> Bson {
    let blob = format!("{field}.blob");
    let entry = whole(doc! { "blob": format!("${blob}"), "shown": shown, "at": "$$NOW" });
    choose(is_missing(&blob), array("outbox"), append(array("outbox"), vec![entry]))
}

/// Expression of the outbox, with the blobs of the file and of its renditions added, if there is a file.
fn outbox_with_file() -> Bson {
    let entry = whole(doc! { "blob": "$$this.blob", "shown": true, "at": "$$NOW" });
    concat([outbox_with("file", true), map(array("file.renditions"), entry)])
}

/// Expression of the concatenation of arrays.
fn concat<const N: usize>(arrays: [Bson; N]) -> Bson {
    Bson::Document(doc! { "$concatArrays": arrays.to_vec() })
}

/// Expression of the attributes that are read from the file, or of the others.
fn attributes_of_file(are_of_file: bool) -> Bson {
    let begins = |with: &str| doc! { "$eq": [{ "$indexOfCP": ["$$this.key", with] }, 0] };
    let is_of_file = doc! { "$or": [begins(OF_FILE), begins(FILE)] };
    filter(array("attributes"), if are_of_file { is_of_file } else { not(is_of_file) })
}

/// The stage that recomputes `listed`; see [`listed`](super::documents::listed). An asset that readers can't
/// see is in no list.
fn listed_stage() -> Document {
    let each_in = |list: &str, of: Bson| map(of, doc! { "$concat": [list, " ", "$$this"] });
    let tags = |list: &str| each_in(list, "$metadata.tags".into());
    let parent =
        |list: &str| each_in(list, vec![doc! { "$ifNull": ["$metadata.parentId", ""] }].into());
    let none = || Bson::Array(Vec::new());
    let of_photo =
        concat([tags("photoTag"), parent("photoParent"), each_in("photoIn", levels_above())]);
    let is_photo = doc! { "$or": [
        { "$eq": ["$metadata.type", "photo"] },
        { "$eq": [{ "$indexOfCP": ["$file.type", VIDEO] }, 0] },
    ] };
    let lists = concat([tags("tag"), parent("parent"), choose(is_photo, of_photo, none())]);
    let all = audiences::listed_as(lists);
    doc! { "$set": { "listed": choose(is_missing("file"), none(), all) } }
}

/// Expression of the levels above `metadata.path`: an empty string, then each path from the root on.
fn levels_above() -> Bson {
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
