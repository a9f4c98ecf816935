//! Writes the documentation of stored documents from their declarations.

use std::{collections::BTreeSet, fmt::Write as _};

use super::Documented;
use crate::{
    config::Config,
    mongo::{
        derived::Derived,
        indexes::{Index, Kind},
        shape::{Content, Field, Shape, value_name},
    },
};

/// The beginning of the documentation.
const INTRODUCTION: &str = "\
# Stored documents

This page is printed by `docgate schema documents`. Do not edit it.

Each section is a collection. A name with `[]` behind it is a list, and one with `.*` behind it is a document whose keys \
are data. The column *since* tells the version from which every document has the field, if it isn't optional. An optional \
field is absent from documents that have no value of it. [MIGRATIONS.md](MIGRATIONS.md) describes versions and upgrades.

Documents carry their version as `v`. Those of `assets.files` carry it as `metadata.v`, because the format of GridFS leaves \
no other place. Chunks of files (`assets.chunks`) are in the format of every driver and have no version.

Every collection also has an index on `_id`. In the keys of the others, `-` is a descending order, `^10` a weight in a text \
index, `@` a point of a plane, and `%` a point on the globe.
";

/// The documentation of all documents, as Markdown.
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut all = super::documents(&Config::default());
    all.sort_by_key(|(_, documents)| documents.collection);
    for (room, documents) in all {
        let room = room.map_or_else(String::new, |room| format!(" Room `{}`.", room.name));
        describe(&mut text, &documents, &room);
    }
    text
}

fn describe(text: &mut String, documents: &Documented, room: &str) {
    let Documented { collection, shape, indexes, upgrades, .. } = documents;
    let newest = documents.newest();
    // Writing to a string doesn't fail.
    let _written =
        write!(text, "\n## `{collection}`\n\n{} Version {newest}.{room}\n", shape.comment());
    for (version, upgrade) in (2..).zip(*upgrades) {
        let _written = write!(text, "\nVersion {version}: {}\n", upgrade.says);
    }
    let since = |field: &str| {
        let added = (2..).zip(*upgrades).find(|(_, upgrade)| upgrade.fields.contains(&field));
        added.map_or(1, |(version, _)| version)
    };
    text.push_str("\n| field | type | since | meaning |\n|---|---|---|---|\n");
    rows(text, "", shape, &since);
    let not_decoded = (2..)
        .zip(*upgrades)
        .flat_map(|(version, upgrade)| upgrade.fields.iter().map(move |field| (version, *field)));
    let derived =
        (documents.derived)(&Config::default()).map(|Derived { field, .. }| (since(field), field));
    let unread: BTreeSet<_> = derived.into_iter().chain(not_decoded).collect();
    for (version, field) in unread {
        if !has_field(shape, field) {
            let _written = writeln!(text, "| `{field}` | derived, not read | {version} | |");
        }
    }
    if indexes.is_empty() {
        return;
    }
    text.push_str("\n| index | keys | properties | serves |\n|---|---|---|---|\n");
    for Index { name, keys, kind, serves } in *indexes {
        let _ =
            writeln!(text, "| `{name}` | `{keys}` | {} | {} |", properties(*kind), cell(serves));
    }
}

fn has_field(shape: &Shape, name: &str) -> bool {
    let Content::Fields(fields) = shape.content else { return false };
    fields.iter().any(|field| field.key() == name)
}

/// The rows of the fields of a document, and of the documents in it.
fn rows(text: &mut String, path: &str, shape: &Shape, since: &dyn Fn(&str) -> i32) {
    let Content::Fields(fields) = shape.content else { return };
    for field in fields.iter().filter(|field| !field.has("skip")) {
        let part = (field.part)();
        if let Some(part) = part.filter(|_| field.has("flatten")) {
            rows(text, path, &part, since);
            continue;
        }
        let key = format!("{path}{}", field.key());
        let first = key.split(['.', '[']).next().unwrap_or_default();
        let _written = writeln!(
            text,
            "| `{key}` | {} | {} | {} |",
            type_of(field, part.as_ref()),
            since(first),
            cell(&meaning(field, part.as_ref()))
        );
        if let Some(part) = &part {
            rows(text, &format!("{key}{}", within(field)), part, since);
        }
    }
}

/// What stands between the name of a field and those of the fields in it.
fn within(field: &Field) -> &'static str {
    let name = field.type_name;
    let is = |kind: &str| name.starts_with(kind) || name.contains(&format!("<{kind}"));
    match (is("Vec"), is("BTreeMap")) {
        (true, _) => "[].",
        (_, true) => ".*.",
        _ => ".",
    }
}

/// The type of a field as it is written.
fn type_of(field: &Field, part: Option<&Shape>) -> String {
    let values = match part.map(|part| part.content) {
        Some(Content::Values(values)) => {
            let names = values.iter().map(|value| format!("`{}`", value_name(value)));
            format!(": {}", names.collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    };
    let optional = if field.is_optional { ", optional" } else { "" };
    format!("`{}`{optional}{values}", field.type_name)
}

/// The comment of a field. A field without one has that of its type.
fn meaning(field: &Field, part: Option<&Shape>) -> String {
    let own = field.comment();
    match part {
        Some(part) if own.is_empty() => part.comment(),
        _ => own,
    }
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn properties(kind: Kind) -> String {
    match kind {
        Kind::Plain => String::new(),
        Kind::Unique => "unique".to_owned(),
        Kind::Where(field) => format!("documents with `{field}`"),
        Kind::UniqueWhere(field) => format!("unique, documents with `{field}`"),
        Kind::Below(field, most) => format!("documents with `{field}` below {most}"),
        Kind::Text(language) => format!("full text in the language `{language}`"),
        Kind::Plane(least, most) => format!("plane from {least} to {most}"),
        Kind::Expiry => "MongoDB removes a document after this time".to_owned(),
    }
}
