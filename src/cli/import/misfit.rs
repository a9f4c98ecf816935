//! Finds the value of a line that doesn't fit its type: its path, and the reason in terms of JSON.

use std::fmt;

use serde::{
    Deserializer,
    de::{
        self, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess,
        Unexpected, VariantAccess, Visitor,
        value::{BorrowedStrDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

/// One step of the path to a field.
#[derive(Debug)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

/// A value that doesn't fit its type.
#[derive(Debug)]
pub(super) struct Misfit {
    /// Path of the value, the last step first.
    pub(super) steps: Vec<Step>,
    pub(super) reason: String,
}

impl Misfit {
    fn of(name: &str, reason: impl Into<String>) -> Self {
        Self { steps: vec![Step::Name(name.to_owned())], reason: reason.into() }
    }

    fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// A value that isn't what is expected.
    fn no(expected: &dyn Expected) -> Self {
        de::Error::custom(format_args!("must be {}", plain(&expected.to_string())))
    }

    fn no_choice() -> Self {
        de::Error::custom("must be an object with one field")
    }
}

/// The name of what a type's deserialiser expects, in terms of JSON.
fn plain(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "u8" | "u16" | "u32" => "a whole number of at most 32 bits",
        "i64" | "u64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { steps: Vec::new(), reason: message.to_string() }
    }

    fn invalid_type(_given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::no(expected)
    }

    fn invalid_value(_given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::no(expected)
    }

    fn invalid_length(_given: usize, expected: &dyn Expected) -> Self {
        Self::no(expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of(field, "is missing")
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let fields = expected.join(", ");
        Self::of(field, format!("is an unknown field; the fields are {fields}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::of(variant, format!("is none of {}", expected.join(", ")))
    }
}

/// A value of the line, deserialised to find the path of a value that doesn't fit.
pub(super) struct Node<'a>(pub(super) &'a Value);

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
                // The name is the value here, not a field.
                visitor.visit_enum(name).map_err(|misfit| Misfit { steps: Vec::new(), ..misfit })
            }
            Value::Object(fields) => match only(fields) {
                Some((name, value)) => visitor.visit_enum(Choice { name, value }),
                None => Err(Misfit::no_choice()),
            },
            _ => Err(Misfit::no_choice()),
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
        let known = |misfit: Misfit| {
            let is_named = !misfit.steps.is_empty();
            if is_named { misfit } else { misfit.below(Step::Name(name.to_owned())) }
        };
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
        Err(Misfit::of(self.name, "takes no value"))
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
