//! The few aggregation expressions that guards and pipeline updates are made of.
//!
//! In a pipeline update every value is an expression: a string that begins with `$` would be read
//! as a field path, and a document would be merged into what is there. Whatever comes from outside
//! therefore goes through [`literal`].

use mongodb::bson::{Bson, DateTime, Document, doc, serialize_to_bson};
use serde::Serialize;

/// The value itself, whatever it looks like.
pub fn literal(value: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$literal": value.into() })
}

/// A value of ours as it is stored: in a filter by itself, in a pipeline inside [`literal`].
///
/// # Panics
/// On a value that has no form in BSON, which no field of our documents has.
pub fn stored(value: &impl Serialize) -> Bson {
    #[expect(clippy::expect_used, reason = "fields of our documents always serialise")]
    serialize_to_bson(value).expect("a field of a document")
}

/// True while the server's clock is before `moment`.
pub fn before(moment: DateTime) -> Document {
    doc! { "$expr": { "$lt": ["$$NOW", moment] } }
}

/// True when the moment in `field` lies more than `millis` in the past of the server's clock.
pub fn older_than(field: &str, millis: i64) -> Document {
    doc! { "$expr": { "$lt": [format!("${field}"), { "$subtract": ["$$NOW", millis] }] } }
}

/// Both filters must hold. Unlike merging the documents this keeps two `$expr` or two conditions on
/// one field apart.
pub fn both(left: Document, right: Document) -> Document {
    if left.is_empty() {
        return right;
    }
    doc! { "$and": [left, right] }
}

/// Strings that begin with `prefix`, as the range of an index: nothing from outside ever becomes a
/// pattern.
pub fn starts_with(prefix: &str) -> Document {
    let mut range = doc! { "$gte": prefix };
    if let Some(end) = behind(prefix) {
        range.insert("$lt", end);
    }
    range
}

/// The first string, in the order of code points, behind all that begin with `prefix`.
fn behind(prefix: &str) -> Option<String> {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        // The code points of surrogates are no characters: the next one follows behind them.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            end.push(next);
            return Some(end.into_iter().collect());
        }
    }
    None
}

/// The array in `field`, an empty one where the field is missing.
pub fn array(field: &str) -> Bson {
    Bson::Document(doc! { "$ifNull": [format!("${field}"), []] })
}

/// The array expression with `entries` (expressions) at its end.
pub fn append(array: impl Into<Bson>, entries: Vec<Bson>) -> Bson {
    Bson::Document(doc! { "$concatArrays": [array.into(), entries] })
}

/// The elements for which `condition` holds; the element is `$$this`.
pub fn filter(array: impl Into<Bson>, condition: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$filter": { "input": array.into(), "cond": condition.into() } })
}

/// Every element replaced by `with`; the element is `$$this`.
pub fn map(array: impl Into<Bson>, with: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$map": { "input": array.into(), "in": with.into() } })
}

/// The element `$$this` with the fields of `changes` (expressions) replaced.
pub fn changed(changes: Document) -> Bson {
    Bson::Document(doc! { "$mergeObjects": ["$$this", changes] })
}

/// A whole document made of expressions. A bare document in `$set` would be merged into the old
/// value; this replaces it.
pub fn whole(fields: Document) -> Bson {
    Bson::Document(doc! { "$mergeObjects": [fields] })
}

/// `then` where `condition` holds, else `otherwise`.
pub fn choose(
    condition: impl Into<Bson>,
    then: impl Into<Bson>,
    otherwise: impl Into<Bson>,
) -> Bson {
    Bson::Document(doc! { "$cond": [condition.into(), then.into(), otherwise.into()] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range() {
        assert_eq!(starts_with("kind"), doc! { "$gte": "kind", "$lt": "kine" });
        assert_eq!(starts_with("a\u{d7ff}"), doc! { "$gte": "a\u{d7ff}", "$lt": "a\u{e000}" });
        let last = format!("a{}", char::MAX);
        assert_eq!(starts_with(&last), doc! { "$gte": &last, "$lt": "b" });
        assert_eq!(starts_with(""), doc! { "$gte": "" });
    }
}
