//! Checks that the commands of gateways could be routed on a sharded cluster: that each names the shard key of its
//! collection, or is a listed broadcast. It also checks that each write of a core collection waits for a majority of the
//! members. The driver reports every command before it sends it.
//!
//! A gateway that has sent another command fails its test when it is dropped. With `TEST_ROUTES=FILE` in the
//! environment nothing fails: each such kind of commands is appended to the file as a line of
//! the `broadcasts` of the room, with the name of the first test that sent it.

use std::{
    collections::BTreeSet,
    fs::OpenOptions,
    io::Write as _,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    thread,
};

use docgate::{
    domains::{
        broadcasts::listed,
        shards::{self, Placed},
    },
    mongo::Group,
};
use mongodb::{
    bson::{Bson, Document},
    event::{EventHandler, command::CommandEvent},
};

/// Environment variable with the name of the file to which unlisted kinds are appended.
const FILE: &str = "TEST_ROUTES";

/// What is said of a kind that a router refuses, or carries out on a shard by chance.
const UNLISTABLE: &str = "can't be listed";

/// Collections of tests, which no room has.
const TESTS_OWN: [&str; 2] = ["tallies", "things"];

/// The commands of one gateway that no list permits.
#[derive(Default)]
pub struct Routes {
    unlisted: Arc<Mutex<BTreeSet<String>>>,
}

impl Routes {
    /// What the driver calls with its events. It belongs to the test of the calling thread.
    pub fn handler(&self) -> EventHandler<CommandEvent> {
        let unlisted = Arc::clone(&self.unlisted);
        let test = thread::current().name().unwrap_or_default().to_owned();
        EventHandler::callback(move |event| {
            let CommandEvent::Started(started) = event else { return };
            if started.db == "admin" {
                return;
            }
            let command = &started.command;
            for fault in faults(command).into_iter().chain(weak_write(command)) {
                match std::env::var_os(FILE) {
                    Some(file) => append(&file, &fault, &test),
                    None => {
                        unlisted.lock().unwrap_or_else(PoisonError::into_inner).insert(fault);
                    }
                }
            }
        })
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        let unlisted = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            unlisted.is_empty() || thread::panicking(),
            "commands name neither the shard key of their collection nor are they listed in \
             the broadcasts of the room, or they don't wait for a majority: {unlisted:#?}"
        );
    }
}

/// Appends a kind to the file, once in each process.
fn append(file: &std::ffi::OsStr, fault: &str, test: &str) {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.insert(fault.to_owned()) {
        let opened = OpenOptions::new().create(true).append(true).open(file);
        let line = format!("{fault} // {test}\n");
        opened.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file is writable");
    }
}

/// A filter, or what takes its place.
struct Statement<'a> {
    /// What it does, such as `find`.
    command: &'a str,
    filter: Selection<'a>,
    /// Whether a router refuses it without the key: `findAndModify`, and upserts.
    needs_key: bool,
    /// Whether it changes one document. Without the key it has to name `_id`.
    is_single: bool,
}

/// What a filter restricts.
#[derive(Default)]
struct Selection<'a> {
    /// Fields that have to equal one value, or one of several.
    equal: BTreeSet<&'a str>,
    /// Fields that are restricted, these included. Conditions such as `$exists: false` and ranges of `_id` don't count.
    fields: BTreeSet<&'a str>,
}

impl<'a> Selection<'a> {
    fn of(filter: &'a Document) -> Self {
        let mut selection = Self::default();
        selection.add(filter);
        selection
    }

    /// What an inserted document determines: its fields, and the shard key wherever in it that is.
    fn inserted(document: &'a Document, key: &'a str) -> Self {
        let mut equal: BTreeSet<&str> = document.keys().map(String::as_str).collect();
        if has(document, key) {
            equal.insert(key);
        }
        Self { fields: equal.clone(), equal }
    }

    fn add(&mut self, filter: &'a Document) {
        for (field, condition) in filter {
            match (field.as_str(), condition) {
                ("$and", Bson::Array(all)) => {
                    all.iter().filter_map(Bson::as_document).for_each(|one| self.add(one));
                }
                ("$or", Bson::Array(all)) => {
                    let each: Vec<_> =
                        all.iter().filter_map(Bson::as_document).map(Self::of).collect();
                    let equal = each.iter().map(|one| one.equal.clone());
                    let equal = equal.reduce(|left, right| &left & &right);
                    self.equal.extend(equal.unwrap_or_default());
                    self.fields.extend(each.into_iter().flat_map(|one| one.fields));
                }
                ("$text", _) => {
                    self.fields.insert(field);
                }
                (operator, _) if operator.starts_with('$') => {}
                (_, condition) => {
                    if is_equality(condition) {
                        self.equal.insert(field);
                    }
                    // A range of `_id` is a part of all documents.
                    if is_restriction(condition) && (field != "_id" || is_equality(condition)) {
                        self.fields.insert(field);
                    }
                }
            }
        }
    }
}

/// The operators of a condition; `None` if it is a value.
fn operators(condition: &Bson) -> Option<&Document> {
    let operators = condition.as_document()?;
    operators.keys().next().is_some_and(|first| first.starts_with('$')).then_some(operators)
}

fn is_equality(condition: &Bson) -> bool {
    let Some(operators) = operators(condition) else {
        return !matches!(condition, Bson::RegularExpression(_));
    };
    operators.contains_key("$eq") || operators.contains_key("$in")
}

fn is_restriction(condition: &Bson) -> bool {
    const LOOSE: [&str; 4] = ["$ne", "$nin", "$not", "$size"];
    operators(condition).is_none_or(|operators| {
        operators.iter().any(|(operator, value)| match operator.as_str() {
            "$exists" => value == &Bson::Boolean(true),
            operator => !LOOSE.contains(&operator),
        })
    })
}

/// The statements of a command on one collection with this shard key; none of a command of another kind.
fn statements<'a>(command: &'a Document, key: &'a str) -> Vec<Statement<'a>> {
    let Some(name) = command.keys().next().map(String::as_str) else { return Vec::new() };
    let filter = |of: &'a Document, field: &str| {
        of.get_document(field).map(Selection::of).unwrap_or_default()
    };
    let is = |of: &Document, field: &str| of.get_bool(field).unwrap_or(false);
    let each = |field: &str| {
        let all = command.get_array(field).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(Bson::as_document)
    };
    let read = |filter| Statement { command: name, filter, needs_key: false, is_single: false };
    match name {
        "find" => vec![read(filter(command, "filter"))],
        "count" | "distinct" => vec![read(filter(command, "query"))],
        "aggregate" => {
            let stage = |first: &'a Document| {
                let fields = first.keys().map(String::as_str).collect();
                Selection { fields, ..Selection::default() }
            };
            let selected = each("pipeline").next().map(|first| {
                first.get_document("$match").map_or_else(|_| stage(first), Selection::of)
            });
            vec![read(selected.unwrap_or_default())]
        }
        "findAndModify" => {
            let filter = filter(command, "query");
            vec![Statement { command: name, filter, needs_key: true, is_single: true }]
        }
        "update" => {
            let statement = |one| Statement {
                command: name,
                filter: filter(one, "q"),
                needs_key: is(one, "upsert"),
                is_single: !is(one, "multi"),
            };
            each("updates").map(statement).collect()
        }
        "delete" => {
            let is_single =
                |one: &Document| matches!(one.get("limit"), Some(Bson::Int32(1) | Bson::Int64(1)));
            let statement = |one| Statement {
                command: name,
                filter: filter(one, "q"),
                needs_key: false,
                is_single: is_single(one),
            };
            each("deletes").map(statement).collect()
        }
        "insert" => {
            let statement = |one| {
                let filter = Selection::inserted(one, key);
                Statement { command: name, filter, needs_key: true, is_single: false }
            };
            each("documents").map(statement).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a document has a field with this path.
fn has(document: &Document, path: &str) -> bool {
    match path.split_once('.') {
        Some((field, below)) => document.get_document(field).is_ok_and(|one| has(one, below)),
        None => document.contains_key(path),
    }
}

/// Where the documents of this collection are; `None` if no room declares it.
fn placed(collection: &str) -> Option<&'static Placed> {
    static ALL: LazyLock<Vec<Placed>> = LazyLock::new(shards::collections);
    ALL.iter().find(|placed| placed.is(collection))
}

/// A write of a core collection that is answered before a majority of the members has it.
fn weak_write(command: &Document) -> Option<String> {
    const WRITES: [&str; 4] = ["insert", "update", "delete", "findAndModify"];
    let (name, collection) = command.iter().next()?;
    let collection = collection.as_str().filter(|_| WRITES.contains(&name.as_str()))?;
    let concern = command.get_document("writeConcern");
    let waits = concern.is_ok_and(|concern| concern.get_str("w").is_ok_and(|w| w == "majority"));
    (!waits && placed(collection).is_some_and(|placed| placed.group == Group::Core))
        .then(|| format!("\"{collection}\" {{ {name} }} doesn't wait for a majority"))
}

/// What a router would refuse of a command: its kinds that no list can permit.
pub fn refusals(command: &Document) -> BTreeSet<String> {
    let mut found = faults(command);
    found.retain(|fault| fault.contains(UNLISTABLE));
    found
}

/// What is wrong with a command: its unlisted kinds, each as a line of the list.
fn faults(command: &Document) -> BTreeSet<String> {
    let Some((_, Bson::String(collection))) = command.iter().next() else {
        return BTreeSet::new();
    };
    if TESTS_OWN.contains(&collection.as_str()) {
        return BTreeSet::new();
    }
    let Some(placed) = placed(collection) else {
        let is_one = !statements(command, "").is_empty();
        let unknown = format!("\"{collection}\": no room declares this collection");
        return is_one.then_some(unknown).into_iter().collect();
    };
    let Some(key) = placed.shard_key.field() else { return BTreeSet::new() };
    let fault = |Statement { command, filter, needs_key, is_single }: Statement<'_>| {
        if filter.equal.contains(key) {
            return None;
        }
        let fields: Vec<&str> = filter.fields.into_iter().collect();
        let kind = format!("\"{}\" {{ {command} \"{}\" = \"…\", }}", placed.name, fields.join(" "));
        if needs_key {
            return Some(format!("{kind} {UNLISTABLE}: it has to name {key}"));
        }
        if is_single && !filter.equal.contains("_id") {
            return Some(format!("{kind} {UNLISTABLE}: it has to name {key} or _id"));
        }
        listed(placed.name, command, &fields).is_none().then_some(kind)
    };
    statements(command, key).into_iter().filter_map(fault).collect()
}

#[test]
fn a_command_is_routed_by_its_shard_key_or_listed() {
    use mongodb::bson::doc;
    let is_fine = |command: Document| faults(&command).is_empty();
    assert!(is_fine(doc! { "find": "carts", "filter": { "_id": "a" } }));
    assert!(is_fine(doc! { "find": "carts", "filter": { "_id": { "$in": ["a", "b"] } } }));
    assert!(is_fine(doc! { "find": "carts", "filter": { "$and": [{ "_id": "a" }, { "v": 1 }] } }));
    assert!(is_fine(
        doc! { "find": "carts", "filter": { "$or": [{ "_id": "a" }, { "_id": "b" }] } }
    ));
    assert!(is_fine(doc! { "find": "carts", "filter": { "owner": "a", "state": "ACTIVE" } }));
    assert!(is_fine(doc! { "find": "carts", "filter": { "_id": { "$gt": "a" } } }));
    assert!(is_fine(doc! { "find": "jobs", "filter": { "anything": 1 } }));
    assert!(is_fine(doc! { "getMore": 1_i64, "collection": "carts" }));
    assert!(is_fine(doc! { "aggregate": "carts", "pipeline": [{ "$changeStream": {} }] }));
    assert!(is_fine(doc! { "insert": "comments", "documents": [{ "_id": 1, "on": "a" }] }));
    assert!(is_fine(doc! { "find": "events_2024_02", "filter": { "at": { "$gte": 1 } } }));

    let fault = |command: Document| {
        faults(&command).into_iter().next().unwrap_or_else(|| panic!("no fault: {command}"))
    };
    let found = fault(doc! { "find": "carts", "filter": { "lines.sku": "a" } });
    assert_eq!(found, "\"carts\" { find \"lines.sku\" = \"…\", }");
    fault(doc! { "find": "carts", "filter": { "$or": [{ "_id": "a" }, { "lines.sku": "b" }] } });
    fault(doc! { "find": "carts", "filter": { "deletedAt": { "$exists": false }, "a": 1 } });
    fault(doc! { "find": "nobodys", "filter": { "_id": "a" } });
    fault(doc! { "find": "commentPages", "filter": { "_id": "a" } });
    fault(doc! { "insert": "comments", "documents": [{ "_id": 1 }] });
    fault(doc! { "findAndModify": "comments", "query": { "_id": "a" }, "update": {} });
    let upsert = doc! { "q": { "_id": "a" }, "u": {}, "upsert": true };
    fault(doc! { "update": "comments", "updates": [upsert] });
    fault(doc! { "update": "carts", "updates": [{ "q": { "owner": "a" }, "u": {} }] });
}
