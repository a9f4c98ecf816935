//! JSON objects from outside.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

use super::variables;

/// An object with any fields. One that has a name which `serde_json` reserves for itself, at any depth, is refused; see
/// [`variables`].
#[derive(Debug, Default)]
pub(super) struct Object(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match variables::value(deserializer)?.into_json() {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            _ => Err(D::Error::custom("isn't an object")),
        }
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
