//! Imports run one way, and MongoDB's words stay where they belong.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "architecture/documents.rs"]
mod documents;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use docgate::domains::ROOMS;

/// The layers, from the top down: a layer imports only from itself and from below.
const LAYERS: &[&[&str]] = &[
    &["cli"],
    &["background", "edge"],
    &["schema"],
    &["domains"],
    &["engine"],
    &["graphql"],
    &["app"],
    &["flow"],
    &["managed", "mongo"],
    &["metrics", "traces"],
    &["config"],
    &["error", "invariants", "join", "locks"],
];

/// Names of the rooms that a room names as needed.
fn needs(room: &str) -> Option<&'static [&'static str]> {
    ROOMS.iter().find(|of| of.name == room).map(|of| of.needs)
}

/// Whether a room needs another one, or a room that needs it.
fn reaches(room: &str, other: &str) -> bool {
    needs(room)
        .is_some_and(|needs| needs.iter().any(|needed| *needed == other || reaches(needed, other)))
}

/// The exceptions: fields that show an object of a room further up, such as a cart's order. Each is loaded by an
/// operation of that room, is in the room's `extends`, and no rule depends on it.
const UPHILL: [(&str, &str); 10] = [
    ("domains/assets/types/mod.rs", "content"),
    ("domains/carts/types.rs", "orders"),
    ("domains/categories/facets/types.rs", "people"),
    ("domains/catalog/types/ahead.rs", "inventory"),
    ("domains/catalog/types/product.rs", "inventory"),
    ("domains/catalog/types/variants.rs", "inventory"),
    ("domains/catalog/types/product.rs", "orders"),
    ("domains/identities/types.rs", "social"),
    ("domains/people/types.rs", "catalog"),
    ("domains/social/types/user.rs", "inbox"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every source file with its path below `src` and its text without comments.
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    let text = |path: PathBuf| {
        let code = fs::read_to_string(&path).expect("a source");
        let code = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        let below = path.strip_prefix(&root).expect("below src").display().to_string();
        (below, code)
    };
    found.into_iter().map(text).collect()
}

/// Paths `crate::a::b…` in a text, groups opened: `crate::{a::b, c}` gives both.
fn imports(code: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        open(&code[at + prefix.len()..], "", &mut found);
    }
    found
}

fn open(rest: &str, before: &str, found: &mut Vec<String>) {
    let rest = rest.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        let mut depth = 0;
        let mut start = 0;
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    if !group[start..at].trim().is_empty() {
                        open(&group[start..at], before, found);
                    }
                    start = at + 1;
                    if character == '}' {
                        return;
                    }
                }
                _ => {}
            }
        }
        return;
    }
    let end = rest
        .find(|character: char| !character.is_alphanumeric() && character != '_')
        .unwrap_or(rest.len());
    let path = if before.is_empty() {
        rest[..end].to_owned()
    } else {
        format!("{before}::{}", &rest[..end])
    };
    match rest[end..].strip_prefix("::") {
        Some(further) => open(further, &path, found),
        None => found.push(path),
    }
}

fn level(levels: &[&[&str]], name: &str) -> Option<usize> {
    levels.iter().position(|level| level.contains(&name))
}

#[test]
fn layers_import_downhill() {
    let mut uphill = Vec::new();
    for (file, code) in files() {
        let own = file.split(['/', '.']).next().expect("a name");
        let Some(own_level) = level(LAYERS, own) else { continue };
        for import in imports(&code, "crate::") {
            let layer = import.split("::").next().expect("a name");
            if let Some(other) = level(LAYERS, layer)
                && (other < own_level || (other == own_level && layer != own))
            {
                uphill.push(format!("{file} imports {import}"));
            }
        }
    }
    assert!(uphill.is_empty(), "{uphill:#?}");
}

#[test]
fn rooms_import_only_the_rooms_that_they_need() {
    let mut faults = Vec::new();
    for (file, code) in files() {
        let Some(inside) = file.strip_prefix("domains/") else { continue };
        let own = inside.split(['/', '.']).next().expect("a room");
        let Some(needed) = needs(own) else { continue };
        let paths = imports(&code, "domains::").into_iter().chain(imports(&code, "super::super::"));
        for path in paths {
            let mut parts = path.split("::");
            let (room, face) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            if room == own || needs(room).is_none() {
                continue;
            }
            if !needed.contains(&room) && !UPHILL.contains(&(file.as_str(), room)) {
                faults.push(format!("{file} imports {path}, which isn't in the room's `needs`"));
            }
            if ["store", "types", "documents", "resolvers"].contains(&face) {
                faults.push(format!("{file} reaches into {path}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_two_rooms_need_each_other() {
    for room in ROOMS {
        assert!(!reaches(room.name, room.name), "{} needs itself", room.name);
    }
}

#[test]
fn only_stores_documents_and_the_kit_speak_to_mongodb() {
    let mut faults = Vec::new();
    for (file, code) in files() {
        let allowed = file.starts_with("mongo/")
            || file.starts_with("flow/")
            || file.starts_with("managed/")
            // The stores and documents of several rooms share them.
            || file == "domains/attributes.rs"
            || file == "domains/audiences.rs"
            || file == "domains/counted.rs"
            || file == "domains/former_paths.rs"
            || file.contains("/store")
            || file.contains("/documents");
        // Unit tests may, which end a file.
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        if !allowed && code.contains("doc! {") {
            faults.push(file);
        }
    }
    assert!(faults.is_empty(), "doc! outside of stores: {faults:#?}");
}

#[test]
fn every_room_has_its_files() {
    let found = files();
    for room in ROOMS.iter().map(|room| room.name) {
        for file in ["mod", "operations"] {
            let there = found.iter().any(|(path, _)| {
                *path == format!("domains/{room}/{file}.rs")
                    || *path == format!("domains/{room}/{file}/mod.rs")
            });
            assert!(there, "{room} has no {file}.rs");
        }
    }
}

/// Names of the events in a text, behind `event = `.
fn events(code: &str) -> Vec<String> {
    let named = code.match_indices("event = \"").filter_map(|(at, found)| {
        let rest = &code[at + found.len()..];
        Some(rest.split_once('"')?.0.to_owned())
    });
    named.collect()
}

#[test]
fn every_log_event_has_a_name_that_the_docs_list() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/OPERATIONS.md");
    let docs = fs::read_to_string(docs).expect("docs/OPERATIONS.md");
    let (mut named, mut unnamed) = (BTreeSet::new(), Vec::new());
    for (file, code) in files() {
        named.extend(events(&code));
        for level in ["error", "warn", "info", "debug"] {
            for (at, call) in code.match_indices(&format!("tracing::{level}!(")) {
                if !code[at + call.len()..].trim_start().starts_with("event = \"") {
                    unnamed.push(format!("{file}: {}", code[at..].lines().next().unwrap_or("")));
                }
            }
        }
    }
    assert!(unnamed.is_empty(), "without an event: {unnamed:#?}");
    let (_, table) = docs.split_once("| event | level | meaning |").expect("a table of events");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cell = |row: &str| row.split('`').nth(1).map(str::to_owned);
    let listed: BTreeSet<String> = rows.filter_map(cell).collect();
    assert_eq!(named, listed, "docs/OPERATIONS.md lists the events of the code");
}
