//! Exports and erases the personal data of one person in all rooms.
//!
//! A person is known by the subject of their tokens. Each room declares in [`Room::personal`](super::Room::personal)
//! the fields of its collections that hold a subject. [`Room::erase`](super::Room::erase) ends what the person has
//! begun, such as carts, by the room's own operations.
//!
//! ```text
//!   pseudonym ──▶ operations of each room: carts, bookings, comments, posts, … ──▶ fields of each collection ──▶ done
//! ```
//!
//! An erasure first stores its pseudonym ([`ErasureDocument`]), and removes that document at its end. So another run
//! finishes an interrupted one with the same pseudonym, and two runs at once have the same pseudonym too. Each change
//! is one command on one document. Its filter names what was read, so a repeated run finds nothing. A document with an
//! unfinished flow, such as a cart that is being checked out, is left to the next run, because the flow would write the
//! subject again. So would a job that computes documents from others, such as the roll-up of sessions. So the run
//! first erases the documents from which the job computes. Then it waits for the lease of the job, and erases the computed ones.
//!
//! A room that is switched off may have documents of the person. They are left to a run in which it is on, and the erasure
//! isn't finished before: so that run puts the same pseudonym into them as stands in the documents of the other rooms.
//!
//! Afterwards nothing leads from the subject to the pseudonym.

mod documents;
mod store;
pub mod table;

use std::collections::BTreeMap;

pub use documents::ErasureDocument;

use super::{ROOMS, Room, documents as documented, shards, switched_off, switched_on};
use crate::{
    flow::lease::Lease,
    graphql::prelude::*,
    mongo::{
        Walk,
        personal::{self, Found, Holds, Personal, Searched},
    },
};

/// A running erasure.
#[derive(Debug)]
pub struct Erasing {
    /// Subject of the person.
    pub subject: String,
    /// The person as a caller of the rooms' operations, with every role.
    pub requester: Requester,
    /// What takes the place of the subject in documents that stay. It is random.
    pub pseudonym: String,
    /// Whether the files that the person has uploaded stay, under the pseudonym.
    pub keeps_files: bool,
    /// What was ended by operations, by its kind in the plural.
    pub ended: BTreeMap<&'static str, u64>,
    /// What stays and why, each as a sentence.
    pub remarks: Vec<String>,
    /// What has to end before it can be erased, each as a sentence.
    pub waits: Vec<String>,
}

impl Erasing {
    /// Notes that something of this kind was ended.
    pub fn ends(&mut self, kind: &'static str) {
        *self.ended.entry(kind).or_default() += 1;
    }
}

/// What a collection had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Name of the collection.
    pub collection: String,
    /// Number of documents that hold the subject.
    pub found: usize,
}

/// The outcome of an erasure.
#[derive(Debug, Default)]
pub struct Erased {
    /// The collections that had something.
    pub counts: Vec<Count>,
    /// See [`Erasing::ended`].
    pub ended: BTreeMap<&'static str, u64>,
    /// See [`Erasing::remarks`].
    pub remarks: Vec<String>,
    /// See [`Erasing::waits`]. If there are any, the erasure isn't finished: it is to be repeated.
    pub waits: Vec<String>,
    /// Names of rooms that are switched off and hold something of the person. If there are any, the erasure isn't finished: it
    /// is to be repeated when they are on. They are only looked for if nothing waits.
    pub elsewhere: Vec<&'static str>,
}

impl Erased {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.ended.is_empty() && self.is_finished()
    }

    /// Whether nothing is left to be erased.
    pub fn is_finished(&self) -> bool {
        self.waits.is_empty() && self.elsewhere.is_empty()
    }
}

/// What docgate's own collections hold.
const OWN: [Personal; 3] = [
    Personal::nothing("leases", "the holders are processes"),
    Personal::nothing("schemaVersions", "versions of collections"),
    Personal::nothing(
        "erasures",
        "an erasure that isn't finished: its key is derived from the subject by the gateways' secret",
    ),
];

/// The declarations of all rooms, each with the name of the room, and docgate's own.
pub fn declarations() -> Vec<(&'static str, Personal)> {
    let own = OWN.iter().map(|personal| ("docgate", *personal));
    let of_room = |room: &&'static Room| room.personal.iter().map(|one| (room.name, *one));
    own.chain(ROOMS.iter().flat_map(of_room)).collect()
}

/// The collections that a declaration stands for, if they hold subjects.
async fn searched(app: &App, personal: &Personal) -> Result<Vec<Searched>> {
    let Holds::Subjects(subjects) = personal.holds else { return Ok(Vec::new()) };
    let placed = shards::collections().into_iter().find(|one| one.name == personal.collection);
    let placed = placed.ok_or_else(|| {
        Error::internal(format!("{} is no declared collection", personal.collection))
    })?;
    let all = documented(app.config());
    let newest = all.iter().find(|(_, one)| placed.is(one.collection));
    let newest = newest.map_or(1, |(_, one)| one.newest());
    let names = personal::names(app.placement(), placed.group, placed.name).await?;
    let of = |name: String| {
        let at = (name.as_str(), placed.group);
        Searched::new(app.placement(), at, subjects, placed.shard_key, newest)
    };
    Ok(names.into_iter().map(of).collect())
}

/// The documents of a collection that hold the subject, page by page.
struct Pages<'a> {
    searched: &'a Searched,
    subject: &'a str,
    /// What is left; `None` at the end.
    rest: Option<Walk>,
}

impl<'a> Pages<'a> {
    fn of(searched: &'a Searched, subject: &'a str) -> Self {
        Self { searched, subject, rest: Some(Walk::default()) }
    }

    /// The next page, which may have none; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<Found>>> {
        let Some(walk) = &self.rest else { return Ok(None) };
        let (found, rest) = self.searched.next(self.subject, walk).await?;
        self.rest = rest;
        Ok(Some(found))
    }
}

/// The `_id`s of the documents of a collection that hold the subject at this path.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn ids(
    app: &App,
    collection: &'static str,
    path: &'static str,
    subject: &str,
) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for (_, personal) in declarations() {
        if personal.collection != collection || !personal.has(path) {
            continue;
        }
        for searched in searched(app, &personal).await? {
            let mut pages = Pages::of(&searched, subject);
            while let Some(page) = pages.next().await? {
                let found = page.iter().filter(|one| one.paths.contains(&path));
                ids.extend(found.filter_map(|one| one.id().map(str::to_owned)));
            }
        }
    }
    Ok(ids)
}

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
/// that holds the subject, and the document or the element of a list. Documents that only
/// name what the person owns have the path of the field that names it.
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

/// The declarations of rooms that are switched off, of collections that the database has and that hold subjects.
async fn switched_off_ones(app: &App) -> Result<Vec<(&'static str, Personal)>> {
    let off = switched_off(app.config());
    if off.is_empty() {
        return Ok(Vec::new());
    }
    let (there, placed) = (app.placement().collections().await?, shards::collections());
    let exists = |personal: &Personal| {
        placed
            .iter()
            .filter(|one| one.name == personal.collection)
            .any(|one| there.iter().any(|(group, name)| *group == one.group && one.is(name)))
    };
    let is_one = |(room, personal): &(&'static str, Personal)| {
        off.contains(room) && personal.subjects().is_some() && exists(personal)
    };
    Ok(declarations().into_iter().filter(is_one).collect())
}

/// The rooms that are switched off although the database has collections of theirs that hold subjects. An export doesn't
/// search them.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn unsearched(app: &App) -> Result<Vec<&'static str>> {
    let mut rooms: Vec<_> =
        switched_off_ones(app).await?.into_iter().map(|(room, _)| room).collect();
    // The declarations of a room follow each other.
    rooms.dedup();
    Ok(rooms)
}

/// The rooms that are switched off and hold the subject.
async fn elsewhere(app: &App, subject: &str) -> Result<Vec<&'static str>> {
    let mut rooms = Vec::new();
    for (room, personal) in switched_off_ones(app).await? {
        if !rooms.contains(&room) && is_held(app, &personal, subject).await? {
            rooms.push(room);
        }
    }
    Ok(rooms)
}

/// Whether a collection whose room is switched off holds the subject.
async fn is_held(app: &App, personal: &Personal, subject: &str) -> Result<bool> {
    for searched in searched(app, personal).await? {
        let searched = searched.without_index();
        let mut pages = Pages::of(&searched, subject);
        while let Some(page) = pages.next().await? {
            if !page.is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// What an erasure would find. It changes nothing.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn look(app: &App, subject: &str) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    for room in switched_on(app.config()) {
        for personal in room.personal {
            for searched in searched(app, personal).await? {
                let mut pages = Pages::of(&searched, subject);
                while let Some(page) = pages.next().await? {
                    let found = page.iter().filter(|one| !one.paths.is_empty()).count();
                    note(&mut counts, searched.name(), found);
                }
            }
        }
    }
    Ok(counts)
}

fn note(counts: &mut Vec<Count>, collection: &str, found: usize) {
    if found == 0 {
        return;
    }
    match counts.iter_mut().find(|count| count.collection == collection) {
        Some(count) => count.found += found,
        None => counts.push(Count { collection: collection.to_owned(), found }),
    }
}

/// Erases the person with this subject from all rooms. It may be repeated, and run several times at once.
///
/// # Errors
/// `Unavailable` or `Internal`: it is to be repeated.
pub async fn erase(app: &App, subject: &str, keeps_files: bool) -> Result<Erased> {
    let erasure = store::begin(app, subject).await?;
    let mut erasing = Erasing {
        subject: subject.to_owned(),
        requester: Requester::new(subject, None, vec![Role::Admin]),
        pseudonym: erasure.pseudonym,
        keeps_files,
        ended: BTreeMap::new(),
        remarks: Vec::new(),
        waits: Vec::new(),
    };
    let rooms: Vec<&Room> = switched_on(app.config()).collect();
    for erase in rooms.iter().filter_map(|room| room.erase) {
        erase(app, &mut erasing).await?;
    }
    let mut counts = Vec::new();
    for personal in rooms.iter().flat_map(|room| room.personal) {
        let lease = personal.subjects().and_then(|subjects| subjects.computed_under);
        if let Some(lease) = lease
            && !has_ended(app, lease).await?
        {
            let name = personal.collection;
            erasing.waits.push(format!("{name}: its documents are being computed"));
        }
        for searched in searched(app, personal).await? {
            let (mut changed, mut left) = (0, 0);
            let mut pages = Pages::of(&searched, subject);
            while let Some(page) = pages.next().await? {
                for found in page.iter().filter(|one| !one.paths.is_empty()) {
                    // One that has changed since it was read is left, too.
                    let has_changed = !found.is_in_flight
                        && searched.erase(found, subject, &erasing.pseudonym).await?;
                    if has_changed {
                        changed += 1;
                    } else {
                        left += 1;
                    }
                }
            }
            if left > 0 {
                let name = searched.name();
                let are = if left == 1 { "document is" } else { "documents are" };
                erasing.waits.push(format!("{name}: {left} {are} being changed"));
            }
            note(&mut counts, searched.name(), changed);
        }
    }
    let Erasing { ended, remarks, waits, .. } = erasing;
    let elsewhere = if waits.is_empty() { elsewhere(app, subject).await? } else { Vec::new() };
    let erased = Erased { counts, ended, remarks, waits, elsewhere };
    if erased.is_finished() {
        store::end(app, &erasure.id).await?;
    }
    Ok(erased)
}

/// Waits for the end of the job that holds a lease, for at most the length of an attempt. Returns whether it has ended.
async fn has_ended(app: &App, lease: &str) -> Result<bool> {
    let holder = app.ids().random();
    match Lease::wait_for(app.collection(), lease, holder, app.bounds()).await {
        Ok((lease, _attempt)) => {
            lease.end(true).await;
            Ok(true)
        }
        Err(Error::Unavailable(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether an unfinished erasure puts this pseudonym in place of this subject.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn is_replacing(app: &App, subject: &str, pseudonym: &str) -> Result<bool> {
    let unfinished = store::unfinished(app, subject).await?;
    Ok(unfinished.is_some_and(|erasure| erasure.pseudonym == pseudonym))
}

#[cfg(test)]
mod tests;
