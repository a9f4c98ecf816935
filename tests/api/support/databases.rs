//! The databases of tests. To build the indexes of a database takes longer than many a test, so a database whose
//! test has ended is emptied and given to another one, once it is certain that it is as new.
//!
//! A database has the collections and indexes of the rooms that its test needs, which the test's module tells. MongoDB has
//! a file for each of them, and with those of all rooms it spent a third of its time on opening and closing files.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, hash_map::Entry},
    mem,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use docgate::{
    config::Config,
    domains,
    error::Error,
    mongo::{
        Placement,
        indexes::{self, Declared},
    },
};
use futures_util::TryStreamExt;
use mongodb::{
    Client, Database,
    bson::{Document, doc},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{filled, fresh_name, mongod_port, of_each};

/// How long after its test a database may still hear of it: the test's tasks have ended with its runtime, but a
/// command may have been sent before.
const AFTERGLOW: Duration = Duration::from_millis(500);

/// Names of the rooms that the test of this thread needs: that of its module, the rooms that need it, and what all these
/// need. Tests of other modules need all rooms, which is an empty list.
fn rooms() -> Vec<String> {
    let thread = thread::current();
    let modules = match thread.name().and_then(|name| name.split("::").next()).unwrap_or_default() {
        "checkout" | "hot" | "refunds" | "shop" | "storm" => &["orders"][..],
        "categories" => &["categories", "inventory"],
        "elections" => &["orders", "hits"],
        "placement" => &[
            "orders", "hits", "series", "sessions", "events", "social", "content", "theater",
            "topics",
        ],
        "events" => &["events", "hits", "series"],
        "worlds" => &["game", "theater"],
        "migrations" => &["hits", "orders"],
        module => &[module],
    };
    let config = Config::default();
    let all = || domains::switched_on(&config);
    let mut needed: BTreeSet<&str> = all()
        .filter(|room| {
            modules.iter().any(|module| room.name == *module || room.needs.contains(module))
        })
        .map(|room| room.name)
        .collect();
    for _ in all() {
        let more = all().filter(|room| needed.contains(room.name)).flat_map(|room| room.needs);
        needed.extend(more.collect::<Vec<_>>());
    }
    needed.into_iter().map(str::to_owned).collect()
}

/// The collections of these rooms.
fn collections(rooms: &[String]) -> Vec<Declared> {
    domains::collections(&Config { rooms: rooms.to_vec(), ..Config::default() })
}

/// Fails if one of these collections belongs to a room that [`rooms`] doesn't give to the test.
pub fn assert_prepared(database: &str, used: &HashSet<String>) {
    let state = state();
    let Some((_, rooms)) = state.built.iter().find(|((_, name), _)| name == database) else {
        return;
    };
    let given: HashSet<&str> = collections(rooms).iter().map(|declared| declared.name).collect();
    for Declared { name, .. } in collections(&[]) {
        assert!(!used.contains(name) || given.contains(name), "{name} isn't in one of {rooms:?}");
    }
}

/// The name of a database that is as new, on a mongod that tests share. It belongs to the calling test
/// until that ends.
pub fn borrow() -> String {
    let free = state().free.get_mut(&rooms()).and_then(Vec::pop);
    let name = free.unwrap_or_else(fresh_name);
    BORROWED.with_borrow_mut(|borrowed| borrowed.push(Borrowed(name.clone())));
    name
}

thread_local! {
    /// What the test of this thread has borrowed: each test has a thread of its own.
    static BORROWED: RefCell<Vec<Borrowed>> = const { RefCell::new(Vec::new()) };
}

struct Borrowed(String);

impl Drop for Borrowed {
    fn drop(&mut self) {
        // Nobody receives it where the process is ending.
        let _ = returned().send((Instant::now(), mem::take(&mut self.0)));
    }
}

/// Builds the indexes of the rooms that the test needs, unless this process has built them there.
pub async fn prepare(database: &Database, port: u16) {
    let key = (port, database.name().to_owned());
    if state().built.contains_key(&key) {
        return;
    }
    let rooms = rooms();
    let declared = collections(&rooms);
    let placement = Placement::in_one(database);
    indexes::apply(&placement, &declared, false, |_| {}).await.expect("indexes");
    let indexes = indexes_of(database, &declared).await.expect("indexes");
    let mut state = state();
    state.indexes.insert(rooms.clone(), indexes);
    state.built.insert(key, rooms);
}

#[derive(Default)]
struct State {
    /// Names of databases that are as new, by their rooms.
    free: BTreeMap<Vec<String>, Vec<String>>,
    /// Port and name of those that have their indexes, and their rooms.
    built: HashMap<(u16, String), Vec<String>>,
    /// What [`indexes_of`] finds in a database with these rooms.
    indexes: BTreeMap<Vec<String>, BTreeSet<String>>,
}

fn state() -> MutexGuard<'static, State> {
    static STATE: OnceLock<Mutex<State>> = OnceLock::new();
    // A test that fails with it harms no other one.
    STATE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where databases go whose tests have ended. A thread of its own looks after them, as a test's runtime ends
/// with the test.
fn returned() -> &'static UnboundedSender<(Instant, String)> {
    static RETURNED: OnceLock<UnboundedSender<(Instant, String)>> = OnceLock::new();
    RETURNED.get_or_init(|| {
        let (send, receive) = unbounded_channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(renew_all(receive));
        });
        send
    })
}

async fn renew_all(mut returned: UnboundedReceiver<(Instant, String)>) {
    let mut clients = HashMap::new();
    while let Some((at, name)) = returned.recv().await {
        tokio::time::sleep_until((at + AFTERGLOW).into()).await;
        let port = mongod_port(&name);
        if let Entry::Vacant(vacant) = clients.entry(port) {
            let uri = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
            vacant.insert(Client::with_uri_str(uri).await.expect("a client"));
        }
        let database = clients[&port].database(&name);
        let rooms = state().built.get(&(port, name.clone())).cloned();
        let Some(rooms) = rooms else { continue };
        if renewed(&database, &rooms).await.unwrap_or(false) {
            state().free.entry(rooms).or_default().push(name);
        } else {
            // It isn't used again.
            let _ = database.drop().await;
        }
    }
}

/// Ends the cursors, change streams among them, whose connection was lost: idle ones, and those in which a
/// command still waits for a change.
async fn kill_cursors(database: &Database) -> mongodb::error::Result<()> {
    // Thousands of sessions that ended tests have left needn't be looked at.
    let wanted = doc! { "idleCursors": true, "allUsers": true, "idleSessions": false };
    let all = doc! { "$currentOp": wanted };
    let ns = doc! { "$regex": format!("^{}\\.", database.name()) };
    let here = doc! { "cursor.cursorId": { "$exists": true }, "ns": ns };
    let admin = database.client().database("admin");
    let found: Vec<Document> =
        admin.aggregate([all, doc! { "$match": here }]).await?.try_collect().await?;
    for operation in found {
        let place = operation.get_str("ns").unwrap_or_default();
        let collection = place.split_once('.').map_or("", |(_, collection)| collection);
        let cursor = operation.get_document("cursor").and_then(|cursor| cursor.get_i64("cursorId"));
        if let Ok(cursor) = cursor {
            database.run_command(doc! { "killCursors": collection, "cursors": [cursor] }).await?;
        }
    }
    Ok(())
}

/// Empties a database; whether it is then as new.
async fn renewed(database: &Database, rooms: &Vec<String>) -> Result<bool, Error> {
    kill_cursors(database).await.map_err(Error::internal)?;
    let names = database.list_collection_names().await.map_err(Error::internal)?;
    let declared = collections(rooms);
    let (own, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| declared.iter().any(|declared| declared.name == name));
    if others.iter().any(|name| name == "system.profile") {
        return Ok(false);
    }
    for name in others {
        database.collection::<Document>(&name).drop().await.map_err(Error::internal)?;
    }
    for name in filled(database, &own).await.map_err(Error::internal)? {
        database
            .collection::<Document>(&name)
            .delete_many(doc! {})
            .await
            .map_err(Error::internal)?;
    }
    let indexes = indexes_of(database, &declared).await.map_err(Error::internal)?;
    Ok(state().indexes.get(rooms) == Some(&indexes))
}

/// The indexes of these collections, each with its collection, by one command. That of `_id` is left out: a collection
/// without others is created by its first document.
async fn indexes_of(
    database: &Database,
    declared: &[Declared],
) -> mongodb::error::Result<BTreeSet<String>> {
    let names: Vec<String> = declared.iter().map(|declared| declared.name.to_owned()).collect();
    let others = doc! { "$match": { "name": { "$ne": "_id_" } } };
    let stages = [doc! { "$indexStats": {} }, others, doc! { "$project": { "spec": 1 } }];
    let found = of_each(database, &names, &stages).await?;
    Ok(found.into_iter().map(|(_, index)| index.to_string()).collect())
}
