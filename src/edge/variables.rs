//! Parses the variables of a request. The objects of a list mostly have the same fields: their names are kept once, and
//! each object is made as large as the one before it.

use std::fmt;

use async_graphql::{Name, Value, Variables, indexmap::IndexMap};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;

/// Maximum number of names that are kept. They are searched one after the other.
const MAX_NAMES: usize = 32;
/// Beginning of the names that `serde_json` has for itself. For its own `Value` it parses the text of such a field as JSON,
/// in which there may be such a field again. Neither the depth nor the number of the values in it has a limit, and a stack
/// that overflows ends the process.
const RESERVED: &str = "$serde_json::private::";

/// Parses variables; null stands for none.
pub(super) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Variables>, D::Error> {
    match value(deserializer)? {
        Value::Null => Ok(None),
        object @ Value::Object(_) => Ok(Some(Variables::from_value(object))),
        _ => Err(D::Error::custom("the variables aren't an object")),
    }
}

/// Parses any value. An object with a [reserved](RESERVED) name is refused.
pub(super) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    deserializer.deserialize_any(Values(&mut Known::default()))
}

/// What is known of the objects before.
#[derive(Default)]
struct Known {
    names: Vec<Name>,
    /// Number of fields of the last one.
    fields: usize,
}

impl Known {
    fn name(&mut self, text: &str) -> Name {
        if let Some(known) = self.names.iter().find(|known| known.as_str() == text) {
            return known.clone();
        }
        let name = Name::new(text);
        if self.names.len() < MAX_NAMES {
            self.names.push(name.clone());
        }
        name
    }
}

/// Parses a value as the library does.
struct Values<'a>(&'a mut Known);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Values(self.0))? {
            list.push(element);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = IndexMap::with_capacity(self.0.fields);
        while let Some(name) = fields.next_key_seed(FieldName(self.0))? {
            object.insert(name, fields.next_value_seed(Values(self.0))?);
        }
        self.0.fields = object.len();
        Ok(Value::Object(object))
    }
}

/// Parses the name of a field.
struct FieldName<'a>(&'a mut Known);

impl<'de> DeserializeSeed<'de> for FieldName<'_> {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = Name;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
        if name.starts_with(RESERVED) {
            return Err(E::custom("the name of a field is reserved"));
        }
        Ok(self.0.name(name))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;

    use super::*;

    #[test]
    fn variables_are_those_that_the_library_reads() {
        let many: Vec<_> = (0..100).map(|n| format!(r#"{{"name{n}":{n},"same":null}}"#)).collect();
        let many = format!(r#"{{"many":[{}]}}"#, many.join(","));
        for text in [
            "null",
            "{}",
            r#"{"a":null,"b":true,"c":-1,"d":18446744073709551615,"e":1.5,"f":"ä\n","g":[],"h":{}}"#,
            r#"{"list":[{"a":1,"b":{"a":[{"c":"x"}]}},{},{"b":2,"a":"y"},[[{"a":1e300}]]]}"#,
            r#"{"twice":1,"twice":2,"in":{"b":1,"a":2,"b":3}}"#,
            &many,
        ] {
            let own = read(&mut serde_json::Deserializer::from_str(text)).expect("variables");
            let of_library = Variables::deserialize(&mut serde_json::Deserializer::from_str(text));
            let of_library = of_library.expect("variables");
            assert_eq!(own.unwrap_or_default(), of_library, "{text}");
            let parsed: serde_json::Value = serde_json::from_str(text).expect("JSON");
            let own = read(parsed).expect("variables");
            assert_eq!(own.unwrap_or_default(), of_library, "{text}");
        }
        for text in ["1", "[]", "\"a\"", "true", "{\"a\":}", "{\"a\":[1}", "{1:2}"] {
            assert!(read(&mut serde_json::Deserializer::from_str(text)).is_err(), "{text}");
        }
    }
}
