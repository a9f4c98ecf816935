//! MongoDB access of the game. The guarded writes are values: the caller sends them.

mod ends;
mod parts;

pub(super) use ends::{Extent, give, give_gold, undo};
pub(super) use parts::{Found, Part, Reason, Split, present};

use super::documents::{
    CharacterDocument, CharacterState, Exit, HolderKind, ItemDocument, Mark, MoveDocument,
    PlaceDocument, RoomCopy, ThingRecord,
};
use crate::{
    graphql::prelude::*,
    mongo::{batched, prelude::*},
};

pub(super) fn characters(app: &App) -> Collection<CharacterDocument> {
    app.collection()
}

pub(super) fn places(app: &App) -> Collection<PlaceDocument> {
    app.collection()
}

pub(super) fn items(app: &App) -> Collection<ItemDocument> {
    app.collection()
}

pub(super) fn moves(app: &App) -> Collection<MoveDocument> {
    app.collection()
}

/// Begins an attempt with a character as its first read, and reads the decision about a move beside it.
pub(super) async fn begin_with_move(
    app: &App,
    character: &str,
    id: &str,
) -> Result<(Attempt, Option<CharacterDocument>, Option<MoveDocument>)> {
    let moves = moves(app);
    let decided = moves.get_timed_settled(id);
    let read = async { tokio::try_join!(app.begin_with(character), decided) };
    let ((attempt, character), decided) = batched(read).await?;
    Ok((attempt, character, decided.map(|timed| timed.document)))
}

/// The player's characters from the beginning of a page on.
pub(super) async fn list_of_owner(
    app: &App,
    owner: &str,
    page: &Page,
) -> Result<Vec<CharacterDocument>> {
    let filter = doc! { "owner": owner, "state": stored(&CharacterState::Alive) };
    characters(app).list(page.list(filter)).await
}

/// Documents from the beginning of a page on, in the order of `name`, by the index of that name. With a prefix, those whose
/// `name` begins with it.
pub(super) async fn list_named<T: Stored>(
    app: &App,
    name: &'static str,
    prefix: Option<&str>,
    page: &Page,
) -> Result<Vec<T>> {
    let filter = prefix.map_or_else(Document::new, |prefix| doc! { name: starts_with(prefix) });
    app.collection().list(List { hint: Some(name), ..page.list(filter) }).await
}

/// The inventory of a living character as it was read is replaced.
pub(super) fn rearrange(
    app: &App,
    read: &CharacterDocument,
    inventory: &[ThingRecord],
) -> Guarded<CharacterDocument> {
    let alive = stored(&CharacterState::Alive);
    let guard = doc! { "_id": &read.id, "state": alive, "version": read.version };
    let set = doc! {
        "inventory": literal(stored(&inventory)), "version": { "$add": ["$version", 1] },
    };
    characters(app).set(guard, set)
}

/// The exit of a place in this direction is opened to another place or closed. Refused if that changes nothing.
pub(super) fn set_exit(
    app: &App,
    place: &str,
    direction: &Bson,
    exit: Option<&Exit>,
) -> Guarded<PlaceDocument> {
    let rest = without("$exits", "direction", direction.clone());
    let (guard, exits) = match exit {
        Some(exit) => {
            let same =
                doc! { "exits": { "$elemMatch": { "direction": direction, "to": &exit.to } } };
            (doc! { "$nor": [same] }, append(rest, vec![literal(stored(exit))]))
        }
        None => (doc! { "exits.direction": direction }, rest),
    };
    let set = doc! {
        "exits": exits,
        "version": { "$add": ["$version", 1] },
        "pendingAt": { "$ifNull": ["$pendingAt", "$$NOW"] },
    };
    places(app).set(both(doc! { "_id": place }, guard), set).numbered()
}

/// Brings the copies of a place up to date. Returns the number of characters that had an older one.
pub(super) async fn spread(app: &App, place: &PlaceDocument) -> Result<u64> {
    let older = doc! { "place": &place.id, "room.version": { "$lt": place.version } };
    let room = literal(stored(&RoomCopy::of(place)));
    characters(app).update_many(older, vec![doc! { "$set": { "room": room } }]).await
}

/// Notes that no copy is older than this version of the place.
pub(super) fn end_spreading(app: &App, place: &PlaceDocument) -> Guarded<PlaceDocument> {
    let guard = doc! { "_id": &place.id, "version": place.version };
    places(app).set(guard, doc! { "pendingAt": "$$REMOVE" })
}

/// Removes a character that never arrived, or that leaves, by its mark.
pub(super) async fn remove_character(app: &App, id: &str, mark: &Mark) -> Result<bool> {
    let marked = doc! { "_id": id, "marks.try": &mark.attempt };
    Ok(characters(app).remove(marked).await.decided()?.is_some())
}

/// Number of documents of one kind that one command of the sweep reads.
pub(super) const SWEPT: i64 = 500;

/// Calls `each` for every document of a kind.
pub(super) async fn for_each<T: Stored>(app: &App, each: impl FnMut(T)) -> Result<()> {
    app.collection().for_each(each).await
}

/// The marks of a document, and `None` if there is no such document.
pub(super) async fn marks_of(app: &App, kind: HolderKind, id: &str) -> Result<Option<Vec<Mark>>> {
    Ok(match kind {
        HolderKind::Character => {
            characters(app).get_settled(id).await?.map(|character| character.marks)
        }
        HolderKind::Place => places(app).get_settled(id).await?.map(|place| place.marks),
    })
}
