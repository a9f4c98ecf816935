//! Tests that every collection declares its personal data.

use std::collections::BTreeSet;

use super::declarations;
use crate::{
    config::Config,
    domains::{documents as documented, shards},
    mongo::{
        personal::{Erasure, Find, Holds, Personal},
        shape::{Content, Shape},
    },
};

#[test]
fn every_collection_says_what_it_holds_of_a_person() {
    let declared: BTreeSet<_> =
        declarations().into_iter().map(|(room, one)| (room, one.collection)).collect();
    let rooms_of = |room| if room == "flow" { "docgate" } else { room };
    let placed = shards::collections().into_iter().map(|one| (rooms_of(one.room), one.name));
    let all = documented(&Config::default());
    let documents =
        all.iter().map(|(room, one)| (room.map_or("docgate", |room| room.name), one.collection));
    let placed: BTreeSet<_> = placed.collect();
    // The documents of periods have the name of their collections' beginning.
    let is_covered = |(room, name): &(&str, &str)| {
        placed.contains(&(*room, *name))
            || shards::collections().iter().any(|one| one.room == *room && one.is(name))
            || placed.contains(&(*room, &*format!("{name}_*")))
    };
    let uncovered: Vec<_> = documents.filter(|one| !is_covered(one)).collect();
    assert!(uncovered.is_empty(), "documents without a declared collection: {uncovered:?}");
    let missing: Vec<_> = placed.difference(&declared).collect();
    assert!(missing.is_empty(), "`personal` of the room doesn't declare {missing:?}");
    let unknown: Vec<_> = declared.difference(&placed).collect();
    assert!(unknown.is_empty(), "`personal` declares what isn't a collection: {unknown:?}");
}

#[test]
fn declarations_are_sound() {
    for (room, personal) in declarations() {
        let name = personal.collection;
        match personal.holds {
            Holds::Nothing(why) => assert!(!why.is_empty(), "{room}: {name}"),
            Holds::Subjects(subjects) => {
                assert!(!subjects.fields.is_empty(), "{room}: {name}");
                if let Some(owned) = subjects.owned {
                    let of = |one: &(&str, Personal)| {
                        one.1.collection == owned.collection && one.1.has(owned.owner)
                    };
                    assert!(declarations().iter().any(of), "{room}: {name}");
                    assert!(matches!(subjects.find, Find::Walk), "{room}: {name}");
                }
                let told = subjects.in_flight.map_or(&[][..], |flow| flow.fields);
                assert!(told.iter().all(|field| !field.contains(['.', '['])), "{room}: {name}");
                for field in subjects.fields {
                    let is_element = matches!(field.erasure, Erasure::Element);
                    let is_part = is_element || field.is_copied;
                    assert!(!is_part || field.path.contains("[]"), "{name}.{}", field.path);
                }
            }
        }
    }
}

#[test]
fn indexes_that_are_named_exist_and_begin_with_the_field() {
    for (_, personal) in declarations() {
        let Some(subjects) = personal.subjects() else { continue };
        let Find::Index(field, index) = subjects.find else { continue };
        let placed = shards::collections().into_iter();
        let placed = placed.filter(|one| one.name == personal.collection);
        let mut indexes = placed.flat_map(|one| one.indexes);
        let found = indexes.find(|one| one.name == index);
        let first = found.and_then(|one| one.fields().next());
        assert_eq!(first, Some(field), "{}: {index}", personal.collection);
    }
}

#[test]
fn mutations_that_are_named_exist() {
    let schema = include_str!("../../../schema.graphql");
    let collections = shards::collections();
    for (_, personal) in declarations() {
        let texts: Vec<&str> = match personal.holds {
            Holds::Nothing(why) => vec![why],
            Holds::Subjects(subjects) => {
                let told = subjects.fields.iter().filter_map(|field| match field.erasure {
                    Erasure::Operation(what) => Some(what),
                    _ => None,
                });
                told.collect()
            }
        };
        // What stands between backticks: every second part.
        let names = texts.iter().flat_map(|text| text.split('`').skip(1).step_by(2));
        let is_field = |name: &&str| {
            name.contains(|letter: char| letter.is_ascii_uppercase())
                && name.chars().all(|letter| letter.is_ascii_alphanumeric())
                && !collections.iter().any(|placed| placed.is(name))
        };
        for name in names.filter(is_field) {
            assert!(schema.contains(&format!("\t{name}(")), "{}: {name}", personal.collection);
        }
    }
}

/// The paths of the fields whose comment says that they hold a subject.
fn subjects(path: &str, shape: &Shape, found: &mut Vec<String>) {
    let Content::Fields(fields) = shape.content else { return };
    for field in fields.iter().filter(|field| !field.has("skip")) {
        let part = (field.part)();
        if let Some(part) = part.filter(|_| field.has("flatten")) {
            subjects(path, &part, found);
            continue;
        }
        let path = if path.is_empty() { field.key() } else { format!("{path}.{}", field.key()) };
        if field.comment().starts_with("Subject") {
            found.push(path.clone());
        }
        if let Some(part) = part {
            subjects(&path, &part, found);
        }
    }
}

#[test]
fn every_field_that_is_said_to_hold_a_subject_is_declared() {
    let declared: BTreeSet<(&str, String)> = declarations()
        .iter()
        .flat_map(|(_, one)| {
            let fields = one.subjects().map_or(&[][..], |subjects| subjects.fields);
            fields.iter().map(|field| (one.collection, field.path.replace("[]", "")))
        })
        .collect();
    let mut missing = Vec::new();
    for (_, documents) in documented(&Config::default()) {
        let mut found = Vec::new();
        subjects("", &documents.shape, &mut found);
        // The documents of periods have the name of their collections' beginning.
        let names = [documents.collection.to_owned(), format!("{}_*", documents.collection)];
        let is_declared = |path: &String| {
            declared.iter().any(|(name, one)| names.iter().any(|own| own == name) && one == path)
        };
        found.retain(|path| !is_declared(path));
        missing.extend(found.into_iter().map(|path| format!("{}.{path}", documents.collection)));
    }
    assert!(missing.is_empty(), "`personal` of the room doesn't declare {missing:?}");
}
