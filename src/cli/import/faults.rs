//! The faults of an import's lines, with the path of the field.

use std::fmt;

use serde::{
    Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess,
        SeqAccess, VariantAccess, Visitor,
        value::{BorrowedStrDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

use crate::graphql::refusals::InvalidInput;

/// The fault of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Path of the field, such as `categories[0]`; none if the fault isn't in a single field.
    pub(super) field: Option<String>,
    /// The reason.
    pub(super) reason: String,
}

impl Fault {
    /// A fault of the line as a whole.
    pub(super) fn of_line(reason: impl Into<String>) -> Self {
        Self { field: None, reason: reason.into() }
    }

    /// A fault of a field. `field` is a path with indexes between dots.
    pub(super) fn of_field(field: &str, reason: impl Into<String>) -> Self {
        let steps = field.split('.').map(|step| match step.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Name(step.to_owned()),
        });
        Self { field: Some(shown(steps)), reason: reason.into() }
    }

    /// The fault of a text that isn't a line of this type. `fault` is the parser's error.
    pub(super) fn of_text<T: DeserializeOwned>(text: &str, fault: &serde_json::Error) -> Self {
        let value = serde_json::from_str::<Value>(text).ok();
        let misfit = value.and_then(|value| T::deserialize(Node(&value)).err());
        let steps = misfit.map(|misfit| misfit.0).filter(|steps| !steps.is_empty());
        // The parser's line number is always 1. The line number in the file is reported separately.
        let reason = fault.to_string().replace(" at line 1 column", " at column");
        Self { field: steps.map(|steps| shown(steps.into_iter().rev())), reason }
    }
}

impl From<InvalidInput> for Fault {
    fn from(invalid: InvalidInput) -> Self {
        let field = invalid.field.strip_prefix("input.").unwrap_or(&invalid.field);
        Self::of_field(field, invalid.reason)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(formatter, "{field}: {}", self.reason),
            None => formatter.write_str(&self.reason),
        }
    }
}

/// One step of the path to a field.
#[derive(Debug)]
enum Step {
    Name(String),
    Index(usize),
}

fn shown(steps: impl Iterator<Item = Step>) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Name(name) if path.is_empty() => path = name,
            Step::Name(name) => path = format!("{path}.{name}"),
            Step::Index(index) => path = format!("{path}[{index}]"),
        }
    }
    path
}

/// The path of a value that doesn't fit its type, the last step first.
#[derive(Debug)]
struct Misfit(Vec<Step>);

impl Misfit {
    fn of(name: &str) -> Self {
        Self(vec![Step::Name(name.to_owned())])
    }

    fn below(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value doesn't fit its type")
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self(Vec::new())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of(field)
    }

    fn unknown_field(field: &str, _expected: &'static [&'static str]) -> Self {
        Self::of(field)
    }

    fn unknown_variant(variant: &str, _expected: &'static [&'static str]) -> Self {
        Self::of(variant)
    }
}

/// A value of the line, deserialised to find the path of a value that doesn't fit.
struct Node<'a>(&'a Value);

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (_, Some(number)) => visitor.visit_i64(number),
                _ => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(all) => visitor.visit_seq(Elements(all.iter().enumerate())),
            Value::Object(fields) => visitor.visit_map(Fields { all: fields.iter(), next: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(name) => {
                let name: StrDeserializer<'_, Misfit> = name.as_str().into_deserializer();
                visitor.visit_enum(name)
            }
            Value::Object(fields) => match only(fields) {
                Some((name, value)) => visitor.visit_enum(Choice { name, value }),
                None => Err(Misfit(Vec::new())),
            },
            _ => Err(Misfit(Vec::new())),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The only field of an object, if it has exactly one.
fn only(fields: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut all = fields.iter();
    let (name, value) = all.next()?;
    all.next().is_none().then_some((name.as_str(), value))
}

struct Elements<'a>(std::iter::Enumerate<std::slice::Iter<'a, Value>>);

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some((index, value)) = self.0.next() else { return Ok(None) };
        let element = seed.deserialize(Node(value));
        element.map(Some).map_err(|misfit| misfit.below(Step::Index(index)))
    }
}

struct Fields<'a> {
    all: serde_json::map::Iter<'a>,
    next: Option<(&'a str, &'a Value)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        let Some((name, value)) = self.all.next() else { return Ok(None) };
        self.next = Some((name, value));
        let key = seed.deserialize(BorrowedStrDeserializer::new(name));
        // An error of an unknown field already contains its name.
        let known = |misfit: Misfit| if misfit.0.is_empty() { Misfit::of(name) } else { misfit };
        key.map(Some).map_err(known)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let (name, value) = self.next.take().unwrap_or(("", &Value::Null));
        let below = |misfit: Misfit| misfit.below(Step::Name(name.to_owned()));
        seed.deserialize(Node(value)).map_err(below)
    }
}

struct Choice<'a> {
    name: &'a str,
    value: &'a Value,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Misfit;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Misfit> {
        Ok((seed.deserialize(BorrowedStrDeserializer::new(self.name))?, self))
    }
}

impl Choice<'_> {
    fn below<T>(name: &str, read: Result<T, Misfit>) -> Result<T, Misfit> {
        read.map_err(|misfit| misfit.below(Step::Name(name.to_owned())))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        Err(Misfit::of(self.name))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        Self::below(self.name, seed.deserialize(Node(self.value)))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        Self::below(self.name, Node(self.value).deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        Self::below(self.name, Node(self.value).deserialize_any(visitor))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domains::{catalog::ImportProduct, categories::import::ImportCategory};

    fn field<T: DeserializeOwned>(text: &str) -> Option<String> {
        let fault = serde_json::from_str::<T>(text).err().expect("it doesn't fit");
        Fault::of_text::<T>(text, &fault).field
    }

    #[test]
    fn a_misfit_has_the_path_of_its_field() {
        let sound = json!({
            "sku": "a",
            "categories": ["/music", "/film"],
            "pricing": { "list": 1, "retail": 1, "currency": "EUR" },
            "contributors": [{ "personKey": "ann", "role": "author" }],
            "content": { "title": "T", "issueDate": "1959-08-17", "details": { "album": {
                "genres": ["Jazz"], "tracks": [{ "title": "One" }, { "title": "Two", "seconds": 2 }] } } },
        });
        assert!(serde_json::from_value::<ImportProduct>(sound.clone()).is_ok());
        for (at, value, path) in [
            ("/sku", json!(1), "sku"),
            ("/categories/1", json!(1), "categories[1]"),
            ("/pricing/currency", json!("nothing"), "pricing.currency"),
            ("/pricing", json!({ "list": 1, "currency": "EUR" }), "pricing.retail"),
            ("/contributors/0/role", json!("No Slug"), "contributors[0].role"),
            ("/content/issueDate", json!("yesterday"), "content.issueDate"),
            ("/content/details", json!({ "vinyl": {} }), "content.details.vinyl"),
            ("/content/details", json!(1), "content.details"),
            (
                "/content/details/album/tracks/1/seconds",
                json!("2"),
                "content.details.album.tracks[1].seconds",
            ),
            (
                "/content/details/album/tracks/1",
                json!({ "name": "Two" }),
                "content.details.album.tracks[1].name",
            ),
        ] {
            let mut line = sound.clone();
            *line.pointer_mut(at).expect("a value") = value;
            assert_eq!(field::<ImportProduct>(&line.to_string()).as_deref(), Some(path));
        }
        let path = field::<ImportCategory>(r#"{"path": "/a", "names": {"no tag": "A"}}"#);
        assert_eq!(path.as_deref(), Some("names.no tag"));
        assert_eq!(field::<ImportCategory>(r#"{"path": "/a"}"#).as_deref(), Some("names"));
        assert_eq!(field::<ImportCategory>(r#"{"path": "/a", "#), None);
        assert_eq!(field::<ImportCategory>("[]"), None);
    }

    #[test]
    fn indexes_of_elements_are_in_brackets() {
        let fault = Fault::from(InvalidInput::new("content.tracks.3.title", "is empty"));
        assert_eq!(fault.to_string(), "content.tracks[3].title: is empty");
        assert_eq!(Fault::of_line("isn't UTF-8").to_string(), "isn't UTF-8");
    }
}
