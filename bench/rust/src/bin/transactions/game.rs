//! What docgate guarantees of giving gold and of picking up, by a transaction: a repeat with the same idempotency key
//! changes nothing and answers the same, with another input it is a conflict; both characters are alive and at one place;
//! nobody gets more gold than there may be; what is picked up joins the stack of its like; each change counts the document's
//! version; the characters' copies of a place follow behind the answer, together if the place changes often. The answer is
//! the character with its gold. The caller is believed: no token is verified. Whole stacks aren't picked up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use futures_util::FutureExt as _;
use mongodb::{
    ClientSession, Database,
    bson::{Bson, DateTime, Document, doc},
    error::Result,
    options::ReturnDocument,
};
use serde::Deserialize;

use super::{assured::is_duplicate, copy_with_indexes, insert, refused, status, step, together};

/// The largest amount of gold.
const LARGEST: i64 = 1_000_000_000_000_000_000;
/// Things that a character can carry.
const THINGS: usize = 200;
/// Shortest time between two passes over the copies of one place, as in docgate.
const PAUSE: Duration = Duration::from_millis(500);
const CHARACTERS: &str = "sure_characters";
const PLACES: &str = "sure_places";
const MOVES: &str = "sure_moves";

#[derive(Deserialize)]
struct Gift {
    op: String,
    by: String,
    from: String,
    to: String,
}

#[derive(Deserialize)]
struct Pick {
    op: String,
    by: String,
    character: String,
    thing: String,
}

/// The database, and the places whose copies are being written, with whether they have changed since.
#[derive(Clone)]
struct Game {
    database: Database,
    spreading: Arc<Mutex<HashMap<String, bool>>>,
}

/// A pick-up, and where its character is.
struct There {
    asked: Pick,
    place: String,
}

/// The one update of a guarded step. Returns the document after it.
async fn after(
    database: &Database,
    session: &mut ClientSession,
    collection: &str,
    (filter, update): (Document, Document),
    shown: Document,
) -> Result<Option<Document>> {
    let collection = database.collection::<Document>(collection);
    let changed = collection.find_one_and_update(filter, update).projection(shown);
    changed.return_document(ReturnDocument::After).session(session).await
}

/// The record of the op.
fn record(op: &str, input: &str, holders: [(&str, &str); 2]) -> Document {
    let holders = holders.map(|(kind, id)| doc! { "kind": kind, "id": id });
    let now = DateTime::now();
    let expires = DateTime::from_millis(now.timestamp_millis() + 86_400_000);
    doc! {
        "_id": op, "input": input, "try": op, "state": "COMMITTED", "after": [],
        "holders": holders.to_vec(), "at": now, "expiresAt": expires, "v": 1,
    }
}

fn told(id: &str, character: &Document) -> Document {
    doc! { "id": id, "gold": character.get_i64("gold").unwrap_or_default() }
}

async fn give_gold(
    database: &Database,
    session: &mut ClientSession,
    Gift { op, by, from, to }: &Gift,
) -> Result<Document> {
    let holders = [("CHARACTER", &**from), ("CHARACTER", &**to)];
    insert(database, session, MOVES, record(op, &format!("{from} {to}"), holders)).await?;
    let payer = doc! { "_id": from, "owner": by, "state": "ALIVE", "gold": { "$gte": 1_i64 } };
    let less = doc! { "$inc": { "gold": -1_i64, "version": 1_i64 } };
    let shown = doc! { "place": 1, "gold": 1 };
    let payer = after(database, session, CHARACTERS, (payer, less), shown).await?;
    let payer = payer.ok_or_else(refused)?;
    let payee = doc! {
        "_id": to, "state": "ALIVE", "place": payer.get("place"), "gold": { "$lte": LARGEST - 1 },
    };
    let more = doc! { "$inc": { "gold": 1_i64, "version": 1_i64 } };
    step(database, session, CHARACTERS, payee, more).await?;
    Ok(told(from, &payer))
}

async fn pick_up(
    database: &Database,
    session: &mut ClientSession,
    There { asked: Pick { op, by, character, thing }, place }: &There,
) -> Result<Document> {
    let holders = [("CHARACTER", &**character), ("PLACE", &**place)];
    insert(database, session, MOVES, record(op, &format!("{character} {thing}"), holders)).await?;
    let has = doc! { "id": thing, "quantity": { "$gte": 2_i64 }, "price": null };
    let pile = doc! { "_id": place, "inventory": { "$elemMatch": has } };
    let less = doc! {
        "$inc": { "inventory.$.quantity": -1_i64, "version": 1_i64 },
        "$min": { "pendingAt": DateTime::now() },
    };
    let shown = doc! { "inventory": { "$elemMatch": { "id": thing } } };
    let found = after(database, session, PLACES, (pile, less), shown).await?.ok_or_else(refused)?;
    let found = found.get_array("inventory").ok().and_then(|all| all.first()?.as_document());
    let piece = found.ok_or_else(refused)?;
    let owner = doc! { "_id": character, "owner": by, "state": "ALIVE", "place": place };
    let mut like = owner.clone();
    let same = |field: &str| piece.get(field).cloned().unwrap_or(Bson::Null);
    let is_like = doc! {
        "stacks": true, "item": same("item"), "bonus": same("bonus"), "price": null, "in": null,
    };
    like.insert("inventory", doc! { "$elemMatch": is_like });
    let shown = doc! { "gold": 1 };
    let more = doc! { "$inc": { "inventory.$.quantity": 1_i64, "version": 1_i64 } };
    if let Some(own) = after(database, session, CHARACTERS, (like, more), shown.clone()).await? {
        return Ok(told(character, &own));
    }
    let mut room = owner;
    room.insert(format!("inventory.{}", THINGS - 1), doc! { "$exists": false });
    let mut piece = piece.clone();
    piece.extend(doc! { "id": op, "quantity": 1_i64 });
    let more = doc! { "$push": { "inventory": piece }, "$inc": { "version": 1_i64 } };
    let own = after(database, session, CHARACTERS, (room, more), shown).await?;
    Ok(told(character, &own.ok_or_else(refused)?))
}

impl Game {
    /// Brings the copies of a place up to date, unless somebody does.
    fn spread_soon(&self, place: String) {
        let is_running = self.with(|all| {
            let is_known = all.contains_key(&place);
            all.insert(place.clone(), is_known);
            is_known
        });
        if is_running {
            return;
        }
        let own = self.clone();
        tokio::spawn(async move {
            while own.spread(&place).await.is_ok() {
                let again = own.with(|all| match all.get_mut(&place) {
                    Some(again) if *again => {
                        *again = false;
                        true
                    }
                    _ => {
                        all.remove(&place);
                        false
                    }
                });
                if !again {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
            own.with(|all| all.remove(&place));
        });
    }

    fn with<R>(&self, act: impl FnOnce(&mut HashMap<String, bool>) -> R) -> R {
        act(&mut self.spreading.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn spread(&self, place: &str) -> Result<()> {
        let places = self.database.collection::<Document>(PLACES);
        let Some(found) = places.find_one(doc! { "_id": place }).await? else { return Ok(()) };
        let field = |name: &str| found.get(name).cloned().unwrap_or(Bson::Null);
        let version = field("version");
        let room = doc! {
            "version": &version, "title": field("title"), "description": field("description"),
            "isShop": field("isShop"), "exits": field("exits"), "players": field("players"),
            "things": field("inventory"),
        };
        let older = doc! { "place": place, "room.version": { "$lt": &version } };
        let characters = self.database.collection::<Document>(CHARACTERS);
        characters.update_many(older, doc! { "$set": { "room": room } }).await?;
        let unchanged = doc! { "_id": place, "version": version };
        places.update_one(unchanged, doc! { "$unset": { "pendingAt": "" } }).await.map(drop)
    }
}

type Answer = std::result::Result<Json<Document>, StatusCode>;

/// The answer to a call, or to its repeat.
async fn answer(
    database: &Database,
    done: Result<Document>,
    (op, input): (&str, String),
    character: &str,
) -> Answer {
    let error = match done {
        Ok(told) => return Ok(Json(told)),
        Err(error) if is_duplicate(&error) => error,
        Err(error) => return Err(status(&error)),
    };
    let find = async |collection: &str, filter: Document| {
        let found = database.collection::<Document>(collection).find_one(filter).await;
        found.map_err(|_| status(&error))
    };
    find(MOVES, doc! { "_id": op, "input": input }).await?.ok_or(StatusCode::CONFLICT)?;
    let own = find(CHARACTERS, doc! { "_id": character }).await?.ok_or(StatusCode::NOT_FOUND)?;
    Ok(Json(told(character, &own)))
}

async fn gold(State(game): State<Game>, Json(asked): Json<Gift>) -> Answer {
    let done = together(&game.database, &asked, |database, session, asked| {
        give_gold(database, session, asked).boxed()
    });
    let done = done.await;
    let Gift { op, from, to, .. } = &asked;
    answer(&game.database, done, (op, format!("{from} {to}")), from).await
}

async fn pick(State(game): State<Game>, Json(asked): Json<Pick>) -> Answer {
    let characters = game.database.collection::<Document>(CHARACTERS);
    let own = characters.find_one(doc! { "_id": &asked.character, "owner": &asked.by });
    let own = own.projection(doc! { "place": 1 }).await;
    let own = own.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?.ok_or(StatusCode::NOT_FOUND)?;
    let place = own.get_str("place").map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?.to_owned();
    let there = There { asked, place };
    let done = together(&game.database, &there, |database, session, there| {
        pick_up(database, session, there).boxed()
    });
    let done = done.await;
    let There { asked: Pick { op, character, thing, .. }, place } = &there;
    if done.is_ok() {
        game.spread_soon(place.clone());
    }
    answer(&game.database, done, (op, format!("{character} {thing}")), character).await
}

/// Copies docgate's collections with their indexes.
pub async fn router(database: Database) -> Result<Router> {
    for (name, copied) in [("characters", true), ("places", true), ("moves", false)] {
        copy_with_indexes(&database, name, copied).await?;
    }
    let router = Router::new().route("/gold", post(gold)).route("/pick", post(pick));
    Ok(router.with_state(Game { database, spreading: Arc::default() }))
}
