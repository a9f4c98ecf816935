//! Erases a person: first by the operations of the rooms, then in the fields of each collection.

use std::collections::BTreeMap;

use super::{
    search::{Pages, elsewhere, searched},
    store,
};
use crate::{
    domains::{Room, switched_on},
    flow::lease::Lease,
    graphql::prelude::*,
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
                    note(&mut counts, searched.name(), page.len());
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
                for found in &page {
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
