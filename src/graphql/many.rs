//! Lists of [declared inputs](super::bulk) that are parsed with their request, straight from its text. The library's values
//! between the text and the inputs would cost several times as much.
//!
//! Such a list is binary among the variables: it is the JSON of the list. What it was parsed as is kept beside it, until the
//! last copy of the text is dropped. The types of the variables are known later. If an operation takes something else, or
//! isn't known yet, the variable gets the [value](expand) of its text, which is valid JSON by then.

use std::{
    any::Any,
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    marker::PhantomData,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard},
};

use async_graphql::{
    InputType, InputValueError, InputValueResult, Name, Value, Variables, registry::Registry,
};
use bytes::Bytes;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, IgnoredAny, SeqAccess, Visitor},
};

use super::scalars::{DateTime, Long};
use crate::locks::lock;

/// What can be parsed from JSON directly. It takes nothing that its [`InputType`] wouldn't take, and understands it alike. It
/// may refuse what the other one takes: then the list is parsed as any other value.
pub trait FromJson: Sized {
    /// Parses it.
    ///
    /// # Errors
    /// The JSON is something else.
    fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// The value of a missing field; `None` if it must be given.
    fn missing() -> Option<Self> {
        None
    }
}

/// An input that can be an element of such a list; [`bulk_input!`](super::bulk) implements it.
pub trait Element: InputType + FromJson + 'static {
    /// Number of its fields.
    const FIELDS: usize;
}

impl FromJson for String {
    fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl FromJson for i32 {
    fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl FromJson for Long {
    fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self)
    }
}

impl FromJson for DateTime {
    fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = DateTime;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a time")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<DateTime, E> {
                DateTime::parse_date_time(text).ok_or_else(|| E::custom("isn't a time"))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Option::<Json<T>>::deserialize(deserializer)?;
        Ok(given.map(|Json(value)| value))
    }

    fn missing() -> Option<Self> {
        Some(None)
    }
}

/// A value for `serde`.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<'de, T: FromJson> Deserialize<'de> for Json<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::from_json(deserializer).map(Self)
    }
}

/// The value of a field that was given or not.
///
/// # Errors
/// It must be given.
pub fn given<T: FromJson, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.or_else(T::missing).ok_or_else(|| E::missing_field(name))
}

/// Finds the position of a field by its name. The fields of a text are mostly in their order.
#[derive(Debug)]
pub struct Position<'a> {
    /// The names of all fields.
    pub names: &'a [String],
    /// The position after that of the field before.
    pub next: usize,
}

impl<'de> DeserializeSeed<'de> for Position<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Position<'_> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        // Those after the last one that was given are compared first.
        let (before, after) = self.names.split_at(self.next.min(self.names.len()));
        let found = after.iter().position(|known| known == name);
        let found = found.map(|found| before.len() + found);
        let found = found.or_else(|| before.iter().position(|known| known == name));
        found.ok_or_else(|| E::custom("unknown field"))
    }
}

/// The elements of a list.
struct Elements<T> {
    /// Maximum number.
    most: usize,
    of: PhantomData<T>,
}

impl<'de, T: FromJson> Visitor<'de> for Elements<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(Json(element)) = elements.next_element()? {
            if list.len() == self.most {
                return Err(A::Error::custom("too many elements"));
            }
            list.push(element);
        }
        Ok(list)
    }
}

/// The parser of lists with elements of one type.
#[derive(Debug, Clone, Copy)]
pub struct Bulk(fn(&[u8], usize) -> Option<ParsedList>);

impl Bulk {
    /// That of lists with these elements.
    pub const fn of<T: Element>() -> Self {
        Self(parsed::<T>)
    }

    /// Parses the list with which a text in JSON begins. `None` if it isn't valid, has elements of another type or none, or
    /// has more than `max` values.
    pub fn read(self, text: &[u8], max: usize) -> Option<ParsedList> {
        (self.0)(text, max)
    }
}

/// A list that was parsed.
#[derive(Debug)]
pub struct ParsedList {
    /// The value of the variable.
    pub value: Value,
    /// Length in bytes of the list in JSON.
    pub length: usize,
    /// Maximum number of values in the list.
    pub values: usize,
}

fn parsed<T: Element>(text: &[u8], max: usize) -> Option<ParsedList> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // An element is a value too.
    let each = T::FIELDS + 1;
    let elements = Elements { most: max / each, of: PhantomData::<T> };
    let list = deserializer.deserialize_seq(elements).ok()?;
    let length = deserializer.into_iter::<IgnoredAny>().byte_offset();
    let values = list.len() * each;
    let text = Text(text.get(..length).filter(|_| !list.is_empty())?.into());
    let parsed = Parsed { element: T::type_name(), list: Arc::new(list) };
    all().insert(address(&text.0), parsed);
    Some(ParsedList { value: Value::Binary(Bytes::from_owner(text)), length, values })
}

/// What a list was parsed as.
struct Parsed {
    /// Name of the type of its elements.
    element: Cow<'static, str>,
    list: Arc<dyn Any + Send + Sync>,
}

/// The parsed lists of all requests, by the addresses of their texts.
static PARSED: Mutex<BTreeMap<usize, Parsed>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<usize, Parsed>> {
    lock(&PARSED)
}

fn address(text: &[u8]) -> usize {
    text.as_ptr().addr()
}

/// The text of a parsed list. Nothing else is at its address while it is there.
struct Text(Box<[u8]>);

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let parsed = all().remove(&address(&self.0));
        // Many inputs take their time, in which others needn't wait.
        drop(parsed);
    }
}

/// Whether a binary variable is a list that was parsed as elements of this type.
pub fn is_of(list: &Bytes, element: &str) -> bool {
    all().get(&address(list)).is_some_and(|parsed| parsed.element == element)
}

/// Gives each variable that is a parsed list the value of its text, unless it is taken as it is.
pub fn expand(variables: &mut Variables, is_taken: impl Fn(&Name, &Bytes) -> bool) {
    for (name, value) in &mut **variables {
        if let Value::Binary(text) = value
            && !is_taken(name, text)
        {
            *value = serde_json::from_slice(text).unwrap_or_default();
        }
    }
}

/// A list of inputs, which may have been parsed with its request.
#[derive(Debug, Clone)]
pub struct Many<T>(Arc<Vec<T>>);

impl<T> Deref for Many<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Serialize> Serialize for Many<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// For the schema it is a list.
impl<T: InputType + 'static> InputType for Many<T> {
    type RawValueType = Self;

    fn type_name() -> Cow<'static, str> {
        <Vec<T> as InputType>::type_name()
    }

    fn qualified_type_name() -> String {
        <Vec<T> as InputType>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <Vec<T> as InputType>::create_type_info(registry)
    }

    fn parse(value: Option<Value>) -> InputValueResult<Self> {
        if let Some(Value::Binary(text)) = &value {
            let list = all().get(&address(text)).map(|parsed| Arc::clone(&parsed.list));
            if let Some(Ok(list)) = list.map(Arc::downcast) {
                return Ok(Self(list));
            }
        }
        let list = <Vec<T> as InputType>::parse(value).map_err(InputValueError::propagate)?;
        Ok(Self(Arc::new(list)))
    }

    fn to_value(&self) -> Value {
        Value::List(self.iter().map(InputType::to_value).collect())
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
