//! What the rooms hold of a person, for an export.

use super::{
    declarations,
    search::{Pages, ids, searched},
};
use crate::{
    domains::{Room, switched_on},
    graphql::prelude::*,
    mongo::personal::{self, Personal},
};

/// The `_id`s of what the person owns and documents of a declaration name.
async fn owned(app: &App, personal: &Personal, subject: &str) -> Result<Vec<String>> {
    match personal.subjects().and_then(|subjects| subjects.owned) {
        Some(owned) => ids(app, owned.collection, owned.owner, subject).await,
        None => Ok(Vec::new()),
    }
}

/// The lists of copies in the documents of a collection of the room.
fn copies(room: &'static Room, collection: &str) -> Vec<&'static str> {
    let declared = room.personal.iter().filter(|one| one.collection == collection);
    let of_copies = declared.filter_map(Personal::subjects).filter(|subjects| subjects.are_copies);
    let fields = of_copies.flat_map(|subjects| subjects.fields);
    fields.filter_map(|field| field.path.split_once("[]")).map(|(list, _)| list).collect()
}

/// Removes the fields from a whole document of a collection that an export leaves out, because others keep them from the person.
pub fn leave_out(collection: &str, document: &mut mongodb::bson::Document) {
    for (_, declared) in declarations() {
        let subjects = declared.subjects().filter(|_| declared.collection == collection);
        for path in subjects.map_or(&[][..], |subjects| subjects.untold) {
            personal::take_out(document, path);
        }
    }
}

/// Calls `each` for everything that the rooms hold of the subject: with the room, the collection, the path of the field
/// that holds the subject, and the document or the element of a list. Documents that only name what the person owns have
/// the path of the field that names it.
///
/// # Errors
/// `Unavailable` or `Internal`, or an error of `each`.
pub async fn export<E: From<Error>>(
    app: &App,
    subject: &str,
    mut each: impl FnMut(&'static str, &str, &'static str, mongodb::bson::Document) -> Result<(), E>,
) -> Result<(), E> {
    for room in switched_on(app.config()) {
        for personal in room.personal {
            if personal.subjects().is_none_or(|subjects| subjects.are_copies) {
                continue;
            }
            let owned = owned(app, personal, subject).await?;
            let copies = copies(room, personal.collection);
            for searched in searched(app, personal).await? {
                let searched = searched.with_owned(owned.clone()).without_copies(copies.clone());
                let mut pages = Pages::of(&searched, subject);
                while let Some(page) = pages.next().await? {
                    for one in &page {
                        for (path, told) in searched.told(one, subject).await? {
                            each(room.name, searched.name(), path, told)?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
