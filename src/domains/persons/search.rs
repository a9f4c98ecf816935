//! Finds the documents that hold a subject: of one declaration, page by page, also of rooms that are switched off.

use super::declarations;
use crate::{
    domains::{documents as documented, shards, switched_off},
    graphql::prelude::*,
    mongo::{
        Walk,
        personal::{self, Found, Holds, Personal, Searched},
    },
};

/// The collections that a declaration stands for, if they hold subjects.
pub(super) async fn searched(app: &App, personal: &Personal) -> Result<Vec<Searched>> {
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
pub(super) struct Pages<'a> {
    searched: &'a Searched,
    subject: &'a str,
    /// What is left; `None` at the end.
    rest: Option<Walk>,
}

impl<'a> Pages<'a> {
    pub(super) fn of(searched: &'a Searched, subject: &'a str) -> Self {
        Self { searched, subject, rest: Some(Walk::default()) }
    }

    /// The next page, which may have none; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Found>>> {
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
pub(super) async fn elsewhere(app: &App, subject: &str) -> Result<Vec<&'static str>> {
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
