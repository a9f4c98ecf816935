//! Checks that the commands of gateways could be routed on a sharded cluster: that each names the shard key of its
//! collection, or is a listed broadcast. It also checks that each write of a core collection waits for a majority of the
//! members. The driver reports every command before it sends it.
//!
//! A gateway that has sent another command fails its test when it is dropped. With `TEST_ROUTES=FILE` in the
//! environment nothing fails: each such kind of commands is appended to the file as a line of
//! `broadcasts.rs` of the room, with the name of the first test that sent it.

use std::{
    collections::BTreeSet,
    fs::OpenOptions,
    io::Write as _,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use docgate::{
    domains::{broadcasts::listed, shards},
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
             broadcasts.rs of the room, or they don't wait for a majority: {unlisted:#?}"
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
    filter: Selection,
    /// Whether a router refuses it without the key: `findAndModify`, and upserts.
    needs_key: bool,
    /// Whether it changes one document. Without the key it has to name `_id`.
    is_single: bool,
}

/// What a filter restricts.
#[derive(Default)]
struct Selection {
    /// Fields that have to equal one value, or one of several.
    equal: BTreeSet<String>,
    /// Fields that are restricted, these included. Conditions such as `$exists: false` and ranges of `_id` don't count.
    fields: BTreeSet<String>,
}

impl Selection {
    fn of(filter: &Document) -> Self {
        let mut selection = Self::default();
        selection.add(filter);
        selection
    }

    fn add(&mut self, filter: &Document) {
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
                    self.fields.insert(field.clone());
                }
                (operator, _) if operator.starts_with('$') => {}
                (_, condition) => {
                    if is_equality(condition) {
                        self.equal.insert(field.clone());
                    }
                    // A range of `_id` is a part of all documents.
                    if is_restriction(condition) && (field != "_id" || is_equality(condition)) {
                        self.fields.insert(field.clone());
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

/// The statements of a command on one collection; none of a command of another kind.
fn statements(command: &Document) -> Vec<Statement<'_>> {
    let Some(name) = command.keys().next().map(String::as_str) else { return Vec::new() };
    let document = |of: &Document, field: &str| of.get_document(field).cloned().unwrap_or_default();
    let is = |of: &Document, field: &str| of.get_bool(field).unwrap_or(false);
    let each = |field: &str| {
        let all = command.get_array(field).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(Bson::as_document).cloned().collect::<Vec<_>>()
    };
    let read = |filter| Statement { command: name, filter, needs_key: false, is_single: false };
    match name {
        "find" => vec![read(Selection::of(&document(command, "filter")))],
        "count" | "distinct" => vec![read(Selection::of(&document(command, "query")))],
        "aggregate" => {
            let stages = each("pipeline");
            let first = stages.first().cloned().unwrap_or_default();
            let filter = match first.get_document("$match") {
                Ok(filter) => Selection::of(filter),
                Err(_) => {
                    Selection { fields: first.keys().cloned().collect(), ..Selection::default() }
                }
            };
            vec![read(filter)]
        }
        "findAndModify" => {
            let filter = Selection::of(&document(command, "query"));
            vec![Statement { command: name, filter, needs_key: true, is_single: true }]
        }
        "update" => {
            let statement = |one: Document| Statement {
                command: name,
                filter: Selection::of(&document(&one, "q")),
                needs_key: is(&one, "upsert"),
                is_single: !is(&one, "multi"),
            };
            each("updates").into_iter().map(statement).collect()
        }
        "delete" => {
            let is_single =
                |one: &Document| matches!(one.get("limit"), Some(Bson::Int32(1) | Bson::Int64(1)));
            let statement = |one: Document| Statement {
                command: name,
                filter: Selection::of(&document(&one, "q")),
                needs_key: false,
                is_single: is_single(&one),
            };
            each("deletes").into_iter().map(statement).collect()
        }
        "insert" => {
            let statement = |one: Document| {
                let mut fields = BTreeSet::new();
                paths(&one, "", &mut fields);
                let filter = Selection { equal: fields.clone(), fields };
                Statement { command: name, filter, needs_key: true, is_single: false }
            };
            each("documents").into_iter().map(statement).collect()
        }
        _ => Vec::new(),
    }
}

/// The paths of a document's fields.
fn paths(document: &Document, above: &str, found: &mut BTreeSet<String>) {
    for (field, value) in document {
        let path = format!("{above}{field}");
        if let Bson::Document(below) = value {
            paths(below, &format!("{path}."), found);
        }
        found.insert(path);
    }
}

/// A write of a core collection that is answered before a majority of the members has it.
fn weak_write(command: &Document) -> Option<String> {
    const WRITES: [&str; 4] = ["insert", "update", "delete", "findAndModify"];
    let (name, collection) = command.iter().next()?;
    let collection = collection.as_str().filter(|_| WRITES.contains(&name.as_str()))?;
    let is_core = |placed: shards::Placed| placed.is(collection) && placed.group == Group::Core;
    let concern = command.get_document("writeConcern");
    let waits = concern.is_ok_and(|concern| concern.get_str("w").is_ok_and(|w| w == "majority"));
    (!waits && shards::collections().into_iter().any(is_core))
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
    let statements = statements(command);
    if statements.is_empty() {
        return BTreeSet::new();
    }
    if TESTS_OWN.contains(&collection.as_str()) {
        return BTreeSet::new();
    }
    let Some(placed) = shards::collections().into_iter().find(|placed| placed.is(collection))
    else {
        return BTreeSet::from([format!("\"{collection}\": no room declares this collection")]);
    };
    let Some(key) = placed.shard_key.field() else { return BTreeSet::new() };
    let is_routed = |filter: &Selection| filter.equal.contains(key);
    let fault = |Statement { command, filter, needs_key, is_single }: Statement<'_>| {
        if is_routed(&filter) {
            return None;
        }
        let fields: Vec<&str> = filter.fields.iter().map(String::as_str).collect();
        let kind = format!("\"{}\" {{ {command} \"{}\" = \"…\", }}", placed.name, fields.join(" "));
        if needs_key {
            return Some(format!("{kind} {UNLISTABLE}: it has to name {key}"));
        }
        if is_single && !filter.equal.contains("_id") {
            return Some(format!("{kind} {UNLISTABLE}: it has to name {key} or _id"));
        }
        listed(placed.name, command, &fields).is_none().then_some(kind)
    };
    statements.into_iter().filter_map(fault).collect()
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
