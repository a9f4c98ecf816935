//! Values of documents, read and compared as MongoDB's expressions do it. A [`Condition`](super::condition::Condition) is
//! checked by it in memory.

use std::cmp::Ordering;

use mongodb::bson::{Bson, Document};

/// The value at a path, as an expression finds it.
pub(super) fn value(document: &Document, path: &str) -> Option<Bson> {
    let Some((field, rest)) = path.split_once('.') else { return document.get(path).cloned() };
    match document.get(field)? {
        Bson::Document(inner) => value(inner, rest),
        Bson::Array(all) => {
            let inner = all.iter().filter_map(Bson::as_document);
            Some(Bson::Array(inner.filter_map(|inner| value(inner, rest)).collect()))
        }
        _ => None,
    }
}

/// The sum of two numbers; `None` if one isn't a number.
pub(super) fn added(one: &Bson, other: &Bson) -> Option<Bson> {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.saturating_add(other).into()),
        _ => Some((real(one)? + real(other)?).into()),
    }
}

/// The elements of an array; none if it is missing or something else.
pub(super) fn elements(array: Option<Bson>) -> Vec<Bson> {
    match array {
        Some(Bson::Array(all)) => all,
        _ => Vec::new(),
    }
}

/// Whether MongoDB regards both values as equal: numbers of different types may be.
pub(super) fn equal(left: &Bson, right: &Bson) -> bool {
    match (rank(Some(left)), rank(Some(right))) {
        (NUMBER, NUMBER) => order(Some(left), Some(right)) == Ordering::Equal,
        _ => left == right,
    }
}

/// Rank of numbers in MongoDB's order of types.
const NUMBER: u8 = 3;

/// Rank of the value's type in MongoDB's order, as far as it matters beside a number.
fn rank(value: Option<&Bson>) -> u8 {
    match value {
        Some(Bson::MinKey) => 0,
        None | Some(Bson::Undefined) => 1,
        Some(Bson::Null) => 2,
        Some(Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_)) => NUMBER,
        Some(_) => 4,
    }
}

fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "MongoDB takes it as a double too, beside a double")]
fn real(value: &Bson) -> Option<f64> {
    match value {
        Bson::Double(number) => Some(*number),
        other => whole(other).map(|number| number as f64),
    }
}

/// The order of two values. At least one is a number.
pub(super) fn order(left: Option<&Bson>, right: Option<&Bson>) -> Ordering {
    if let (Some(left), Some(right)) = (left.and_then(whole), right.and_then(whole)) {
        return left.cmp(&right);
    }
    match (left.and_then(real), right.and_then(real)) {
        // NaN is less than any other number.
        (Some(left), Some(right)) => {
            left.partial_cmp(&right).unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}
