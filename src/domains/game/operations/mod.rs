//! The business rules of the game, and its reads for clients.

mod acting;
mod actions;
mod characters;
mod copies;
mod live;
mod moving;
mod wearing;
mod world;

use super::{
    documents::{CharacterDocument, CharacterState, ItemDocument, PlaceDocument},
    store,
    types::{Character, Item, Place},
};
use crate::graphql::prelude::*;

pub use self::{actions::*, characters::*, live::place_changed, wearing::*, world::*};
pub(super) use self::{copies::spread, moving::Moves};

/// A character, for its player and for the game's masters.
pub async fn character(cx: Cx<'_>, id: &str) -> Result<Option<CharacterDocument>> {
    let Ok(id) = input::id(NodeKind::CHARACTER, id) else { return Ok(None) };
    let found = store::characters(&cx).get(&id).await?;
    let may_see =
        |found: &CharacterDocument| cx.requester.is(&found.owner) || cx.requester.has(Role::Master);
    Ok(found.filter(|found| found.state != CharacterState::Arriving && may_see(found)))
}

/// The characters of the caller, oldest first.
pub async fn my_characters(cx: Cx<'_>, paging: Paging) -> Result<Connection<Character>> {
    let subject = cx.requester.subject()?;
    let keys = vec![("createdAt", 1), ("_id", 1)];
    let page = Page::new(&cx, Order { list: format!("myCharacters:{subject}"), keys }, paging)?;
    let found = store::list_of_owner(&cx, subject, &page).await?;
    let values = |found: &CharacterDocument| vec![found.created_at.into(), (&found.id).into()];
    Ok(page.connection(found, values, Character::from))
}

/// All places by their titles, or those whose title begins with a text.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn places(
    app: &App,
    title_prefix: Option<String>,
    paging: Paging,
) -> Result<Connection<Place>> {
    let (page, prefix) = named(app, ("places", "title"), ("titlePrefix", title_prefix), paging)?;
    let found = store::list_named(app, "title", prefix.as_deref(), &page).await?;
    let values = |found: &PlaceDocument| vec![(&found.title).into(), (&found.id).into()];
    Ok(page.connection(found, values, Place::from))
}

/// All items of the catalogue by their names, or those whose name begins with a text.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn items(
    app: &App,
    name_prefix: Option<String>,
    paging: Paging,
) -> Result<Connection<Item>> {
    let (page, prefix) = named(app, ("items", "name"), ("namePrefix", name_prefix), paging)?;
    let found = store::list_named(app, "name", prefix.as_deref(), &page).await?;
    let values = |found: &ItemDocument| vec![(&found.name).into(), (&found.id).into()];
    Ok(page.connection(found, values, Item::from))
}

/// A page of a list in the order of names, and the checked prefix of the names.
fn named(
    app: &App,
    (list, key): (&str, &'static str),
    (argument, prefix): (&str, Option<String>),
    paging: Paging,
) -> Result<(Page, Option<String>)> {
    let prefix = prefix.map(|prefix| input::verbatim(argument, &prefix, 1..=100)).transpose()?;
    let list = format!("{list} {prefix:?}");
    Ok((Page::new(app, Order { list, keys: vec![(key, 1), ("_id", 1)] }, paging)?, prefix))
}

/// A place, for everyone who is signed in.
pub async fn place(cx: Cx<'_>, id: &str) -> Result<Option<PlaceDocument>> {
    match input::id(NodeKind::PLACE, id) {
        Ok(id) if cx.requester.subject.is_some() => store::places(&cx).get(&id).await,
        _ => Ok(None),
    }
}

/// An item of the catalogue, for everyone who is signed in.
pub async fn item(cx: Cx<'_>, id: &str) -> Result<Option<ItemDocument>> {
    match input::id(NodeKind::ITEM, id) {
        Ok(id) if cx.requester.subject.is_some() => store::items(&cx).get(&id).await,
        _ => Ok(None),
    }
}
