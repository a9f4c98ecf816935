//! Objects that are written as JSON as soon as their fields are resolved.
//!
//! Most responses are only needed as text, so that maps of their fields aren't needed. If a response is requested
//! [as text](AsText), each object is a [`Value::Binary`] that contains its JSON. Responses have no other binary
//! values.

use bytes::Bytes;
use serde::Serialize;
use upstream::{
    Name, Request, Value,
    indexmap::{IndexMap, map::Entry},
};

/// Data of an operation whose response is requested as text.
#[derive(Debug)]
pub(crate) struct AsText;

/// The request, whose response is to be text. This requires an operation without any fragments and directives.
#[must_use]
pub fn requested(request: Request) -> Request {
    request.data(AsText)
}

/// The fields of an object that are resolved so far.
pub(crate) enum Object {
    Values(IndexMap<Name, Value>),
    /// From the opening brace on, without the closing one.
    Text(Vec<u8>),
}

/// Expected number of bytes of a field's text.
const EXPECTED: usize = 40;

impl Object {
    /// An object without fields, with room for this many.
    pub(crate) fn new(as_text: bool, fields: usize) -> Self {
        if as_text {
            let mut text = Vec::with_capacity(fields * EXPECTED);
            text.push(b'{');
            Self::Text(text)
        } else {
            Self::Values(IndexMap::with_capacity(fields))
        }
    }

    /// Adds a field. Fields with the same response key are merged; in text, no key occurs twice.
    pub(crate) fn put(&mut self, key: &Name, value: Value) {
        match self {
            Self::Values(values) => insert(values, key.clone(), value),
            Self::Text(text) => {
                // Otherwise the text would grow several times while the objects of a list are added.
                text.reserve(objects(&value));
                if text.len() > 1 {
                    text.push(b',');
                }
                // Field names contain nothing that has to be escaped.
                text.push(b'"');
                text.extend_from_slice(key.as_bytes());
                text.extend_from_slice(b"\":");
                write(&value, text);
            }
        }
    }

    /// Adds the fields of another object.
    pub(crate) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Values(values), Self::Values(more)) => {
                more.into_iter().for_each(|(key, value)| insert(values, key, value));
            }
            (Self::Text(text), Self::Text(more)) => {
                if text.len() > 1 && more.len() > 1 {
                    text.push(b',');
                }
                text.extend_from_slice(&more[1..]);
            }
            _ => {} // an operation's objects are all of one kind
        }
    }

    /// The object as a value; null if it has no fields.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Values(values) if values.is_empty() => Value::Null,
            Self::Values(values) => Value::Object(values),
            Self::Text(text) if text.len() == 1 => Value::Null,
            Self::Text(mut text) => {
                text.push(b'}');
                Value::Binary(Bytes::from(text))
            }
        }
    }
}

/// Number of bytes of the objects in a value that are text.
fn objects(value: &Value) -> usize {
    match value {
        Value::Binary(object) => object.len() + 1,
        Value::List(values) => values.iter().map(objects).sum(),
        _ => 0,
    }
}

fn insert(object: &mut IndexMap<Name, Value>, key: Name, value: Value) {
    match object.entry(key) {
        Entry::Vacant(free) => drop(free.insert(value)),
        Entry::Occupied(mut taken) => merge(taken.get_mut(), value),
    }
}

/// Merges the values of two fields with the same response key.
fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.into_iter().for_each(|(key, value)| insert(into, key, value));
        }
        (Value::List(into), Value::List(more)) => {
            into.iter_mut().zip(more).for_each(|(into, more)| merge(into, more));
        }
        _ => {} // equal values
    }
}

/// Writes the value of a response as JSON.
///
/// # Panics
/// Never: any scalar can be written into memory.
pub fn write(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Binary(object) => text.extend_from_slice(object),
        Value::List(values) => {
            text.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                write(value, text);
            }
            text.push(b']');
        }
        Value::Object(values) => {
            text.push(b'{');
            for (at, (key, value)) in values.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                // The key of a scalar can be any text.
                write_scalar(key.as_str(), text);
                text.push(b':');
                write(value, text);
            }
            text.push(b'}');
        }
        scalar => write_scalar(scalar, text),
    }
}

fn write_scalar(scalar: &(impl Serialize + ?Sized), text: &mut Vec<u8>) {
    #[expect(clippy::expect_used, reason = "a vector takes everything")]
    serde_json::to_writer(text, scalar).expect("a scalar in memory");
}

/// Parses the parts of a response that are text.
///
/// # Panics
/// Never with the value of a response: its text is JSON.
pub fn read(value: Value) -> Value {
    match value {
        #[expect(clippy::expect_used, reason = "it was written here")]
        Value::Binary(text) => serde_json::from_slice(&text).expect("JSON"),
        Value::List(values) => Value::List(values.into_iter().map(read).collect()),
        Value::Object(values) => {
            Value::Object(values.into_iter().map(|(key, value)| (key, read(value))).collect())
        }
        value => value,
    }
}
