//! JSON objects from outside.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// Beginning of the names that `serde_json` has for itself. For [`Value`] it parses the text of such a field as JSON, in
/// which there may be such a field again. Neither the depth nor the number of the values in it has a limit, and a stack
/// that overflows ends the process.
const RESERVED: &str = "$serde_json::private::";

/// An object with any fields. One that has a reserved name, at any depth, is refused.
#[derive(Debug, Default)]
pub(super) struct Object(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields).map(Self)
    }
}

/// Parses the fields of an object.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name.starts_with(RESERVED) {
                return Err(A::Error::custom("the name of a field is reserved"));
            }
            object.insert(name, fields.next_value_seed(AnyValue)?);
        }
        Ok(object)
    }
}

/// Parses any value.
struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Self)? {
            list.push(element);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Value, A::Error> {
        Fields.visit_map(fields).map(Value::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_what_it_says() {
        for text in [
            "{}",
            r#"{"a":null,"b":true,"c":-1,"d":18446744073709551615,"e":1.5,"f":"ä\n","g":[],"h":{}}"#,
            r#"{"list":[{"a":1,"b":{"a":[{"c":"x"}]}},{},[[{"a":1e300}]]],"twice":1,"twice":2}"#,
        ] {
            let Object(fields) = serde_json::from_str(text).expect("an object");
            let whole: Value = serde_json::from_str(text).expect("a value");
            assert_eq!(Value::Object(fields), whole, "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for text in ["[]", "1", "\"a\"", "null", "{\"a\":}", "", &deep] {
            assert!(serde_json::from_str::<Object>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_text_is_parsed_as_more_json() {
        for text in [
            r#"{"$serde_json::private::RawValue":"[1]"}"#,
            r#"{"a":{"$serde_json::private::RawValue":"[1]"}}"#,
            r#"{"a":[{"b":1,"\u0024serde_json::private::Raw\u0056alue":"[1]"}]}"#,
            r#"{"a":{"$serde_json::private::Number":"1"}}"#,
        ] {
            assert!(serde_json::from_str::<Object>(text).is_err(), "{text}");
        }
    }
}
