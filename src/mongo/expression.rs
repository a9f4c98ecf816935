//! The aggregation expressions of guards and pipeline updates.
//!
//! In a pipeline update every value is an expression: a string that begins with `$` would be read as a field
//! path, and a document would be merged into the existing value. Every value from outside therefore goes
//! through [`literal`].

use std::time::Duration;

use mongodb::bson::{Bson, DateTime, Document, doc, serialize_to_bson};
use serde::Serialize;

/// The value itself, never evaluated as an expression.
pub fn literal(value: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$literal": value.into() })
}

/// The stored form of a value: used directly in a filter, and inside [`literal`] in a pipeline.
///
/// # Panics
/// If the value has no form in BSON, which is the case for no field of a stored document.
pub fn stored(value: &impl Serialize) -> Bson {
    #[expect(clippy::expect_used, reason = "fields of our documents always serialise")]
    serialize_to_bson(value).expect("a field of a document")
}

/// The stored form of the fields of a struct; see [`stored`].
pub fn stored_fields(value: &impl Serialize) -> Document {
    match stored(value) {
        Bson::Document(fields) => fields,
        _ => Document::new(),
    }
}

/// True while the server's clock is before `moment`.
pub fn before(moment: DateTime) -> Document {
    doc! { "$expr": { "$lt": ["$$NOW", moment] } }
}

/// The duration in milliseconds, MongoDB's unit of time.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The duration in whole seconds.
pub fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

/// True if the time in `field` is longer ago than `age` by the server's clock.
pub fn older_than(field: &str, age: Duration) -> Document {
    doc! { "$expr": { "$lt": [format!("${field}"), { "$subtract": ["$$NOW", millis(age)] }] } }
}

/// Requires both filters. Unlike a merged document, this keeps two `$expr` or two conditions on one field
/// apart.
pub fn both(left: Document, right: Document) -> Document {
    if left.is_empty() {
        return right;
    }
    doc! { "$and": [left, right] }
}

/// The number as BSON has it.
pub fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Guard: all these expressions are true. In a shared command, MongoDB finds the document of a guard of this form without
/// planning a query. Writes of one document whose guards have this form are combined; see `super::writer`.
pub fn all(conditions: Vec<Document>) -> Document {
    doc! { "$expr": { "$and": conditions } }
}

/// Expression: `field`, which isn't an array, has this value. Without a value: it is null or missing.
pub fn equals(field: &str, value: Option<impl Into<Bson>>) -> Document {
    let field = format!("${field}");
    let (field, value) = match value {
        Some(value) => (Bson::from(field), literal(value)),
        None => (Bson::from(doc! { "$ifNull": [field, Bson::Null] }), Bson::Null),
    };
    doc! { "$eq": [field, value] }
}

/// Expression: `condition` is false.
pub fn not(condition: Document) -> Document {
    doc! { "$not": [condition] }
}

/// Matches strings that begin with `prefix`, as an index range. A value from outside never becomes a pattern.
pub fn starts_with(prefix: &str) -> Document {
    let mut range = doc! { "$gte": prefix };
    if let Some(end) = prefix_end(prefix) {
        range.insert("$lt", end);
    }
    range
}

/// The first string, in the order of code points, after all that begin with `prefix`.
fn prefix_end(prefix: &str) -> Option<String> {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        // Surrogate code points aren't characters; the next character follows after them.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            end.push(next);
            return Some(end.into_iter().collect());
        }
    }
    None
}

/// The array in `field`; an empty one if the field is missing.
pub fn array(field: &str) -> Bson {
    Bson::Document(doc! { "$ifNull": [format!("${field}"), []] })
}

/// True if the document doesn't have `field`.
pub fn is_missing(field: &str) -> Document {
    doc! { "$eq": [{ "$type": format!("${field}") }, "missing"] }
}

/// The array expression with `entries` (expressions) appended.
pub fn append(array: impl Into<Bson>, entries: Vec<Bson>) -> Bson {
    Bson::Document(doc! { "$concatArrays": [array.into(), entries] })
}

/// The elements for which `condition` holds; the element is `$$this`.
pub fn filter(array: impl Into<Bson>, condition: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$filter": { "input": array.into(), "cond": condition.into() } })
}

/// Each element replaced by `with`; the element is `$$this`.
pub fn map(array: impl Into<Bson>, with: impl Into<Bson>) -> Bson {
    Bson::Document(doc! { "$map": { "input": array.into(), "in": with.into() } })
}

/// True for an element `$$this` whose `field` has this value.
pub fn element_is(field: &str, value: impl Into<Bson>) -> Document {
    doc! { "$eq": [format!("$$this.{field}"), literal(value)] }
}

/// The elements except for those whose `field` has this value.
pub fn without(array: impl Into<Bson>, field: &str, value: impl Into<Bson>) -> Bson {
    filter(array, doc! { "$ne": [format!("$$this.{field}"), literal(value)] })
}

/// The elements except for those whose `field` has one of these values.
pub fn without_any(array: impl Into<Bson>, field: &str, values: Vec<impl Into<Bson>>) -> Bson {
    let values: Vec<Bson> = values.into_iter().map(Into::into).collect();
    let is_one = doc! { "$in": [format!("$$this.{field}"), literal(values)] };
    filter(array, doc! { "$not": [is_one] })
}

/// The elements, with those replaced by `with` whose `field` has this value.
pub fn replaced(
    array: impl Into<Bson>,
    field: &str,
    value: impl Into<Bson>,
    with: impl Into<Bson>,
) -> Bson {
    map(array, choose(element_is(field, value), with, "$$this"))
}

/// The element `$$this` with the fields of `changes` (expressions) replaced.
pub fn changed(changes: Document) -> Bson {
    Bson::Document(doc! { "$mergeObjects": ["$$this", changes] })
}

/// A document made of expressions, which replaces the old value. A bare document in `$set` would be merged
/// into it.
pub fn whole(fields: Document) -> Bson {
    Bson::Document(doc! { "$mergeObjects": [fields] })
}

/// `then` if `condition` holds, else `otherwise`.
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
