//! Compares the indexes of an export with those that its collections have already.

use std::collections::BTreeSet;

use mongodb::bson::{Bson, Document};

/// The indexes that a collection gets from an export.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The collection: what its database is to the gateway, and its name.
    pub place: (&'a str, &'a str),
    /// The specifications of the indexes.
    pub indexes: Vec<Document>,
}

/// An existing index that prevents one of an export.
#[derive(Debug)]
pub struct Clash {
    /// Name of the database.
    pub database: String,
    /// Name of the collection.
    pub collection: String,
    /// Name of the existing index.
    pub index: String,
    /// What differs from the one of the export, such as `key` and `unique`.
    pub differences: Vec<String>,
}

/// Properties that may differ.
const UNCOMPARED: [&str; 3] = ["v", "ns", "background"];

/// The first existing index that has the name of a wanted one and another definition, or the other way round: its name, and what
/// differs.
pub(super) fn find(wanted: &[Document], existing: &[Document]) -> Option<(String, Vec<String>)> {
    wanted.iter().find_map(|wanted| {
        existing.iter().find_map(|index| {
            let differences = differences(wanted, index);
            let is_named_so = wanted.get("name") == index.get("name");
            let clashes =
                if is_named_so { !differences.is_empty() } else { differences == ["name"] };
            let name = || index.get_str("name").unwrap_or_default().to_owned();
            clashes.then(|| (name(), differences))
        })
    })
}

/// Names of the properties that differ.
fn differences(one: &Document, other: &Document) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differs = |name: &&String| {
        !UNCOMPARED.contains(&name.as_str()) && !is_alike(one.get(*name), other.get(*name))
    };
    names.into_iter().filter(differs).cloned().collect()
}

/// Whether two values are the same to MongoDB. A property that isn't there is false.
fn is_alike(one: Option<&Bson>, other: Option<&Bson>) -> bool {
    match (one, other) {
        (Some(Bson::Document(one)), Some(Bson::Document(other))) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| one.0 == other.0 && is_alike(Some(one.1), Some(other.1)))
        }
        (Some(Bson::Boolean(false)), None) | (None, Some(Bson::Boolean(false))) => true,
        (Some(one), Some(other)) => {
            one == other || number(one).is_some_and(|one| Some(one) == number(other))
        }
        (one, other) => one == other,
    }
}

/// A number as text, which is the same for all types of numbers.
fn number(value: &Bson) -> Option<String> {
    match value {
        Bson::Int32(number) => Some(number.to_string()),
        Bson::Int64(number) => Some(number.to_string()),
        Bson::Double(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    #[test]
    fn indexes_are_compared_by_what_they_do() {
        let wanted = doc! { "v": 2, "key": { "a": 1, "b": -1 }, "name": "one", "unique": true };
        for (existing, differences) in [
            (
                doc! { "v": 1, "key": { "a": 1.0, "b": -1_i64 }, "name": "one", "unique": true, "sparse": false },
                &[][..],
            ),
            (doc! { "key": { "b": -1, "a": 1 }, "name": "one", "unique": true }, &["key"]),
            (doc! { "key": { "a": 1, "b": 1 }, "name": "one" }, &["key", "unique"]),
            (doc! { "key": { "a": 1, "b": -1 }, "name": "two", "unique": true }, &["name"]),
            (doc! { "key": { "a": 1 }, "name": "two", "unique": true }, &[]),
        ] {
            let found = find(std::slice::from_ref(&wanted), std::slice::from_ref(&existing));
            let found = found.map(|(_, differences)| differences).unwrap_or_default();
            assert_eq!(found, differences, "{existing}");
        }
    }
}
