//! The faults of an import's lines, with the path of the field.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::misfit::{Misfit, Node, Step};
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
        // The parser's line number is always 1. The line number in the file is reported separately.
        let parser = || fault.to_string().replace(" at line 1 column", " at column");
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return Self::of_line(format!("isn't JSON: {}", parser()));
        };
        match T::deserialize(Node(&value)).err() {
            Some(Misfit { steps, reason }) => {
                let field = (!steps.is_empty()).then(|| shown(steps.into_iter().rev()));
                Self { field, reason }
            }
            None => Self::of_line(parser()),
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domains::{catalog::ImportProduct, categories::import::ImportCategory};

    fn fault<T: DeserializeOwned>(text: &str) -> Fault {
        let fault = serde_json::from_str::<T>(text).err().expect("it doesn't fit");
        Fault::of_text::<T>(text, &fault)
    }

    fn field<T: DeserializeOwned>(text: &str) -> Option<String> {
        fault::<T>(text).field
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
    fn a_misfit_has_a_plain_reason() {
        for (line, told) in [
            (r#"{"sku": 1}"#, "sku: must be a string"),
            (r#"{"path": 1}"#, "path: is an unknown field; the fields are "),
            (r#"{"sku": "a"}"#, "content: is missing"),
            (r#"{"pricing": {"list": "1"}}"#, "pricing.list: must be a whole number"),
            (r#"{"content": {"details": {"vinyl": {}}}}"#, "content.details.vinyl: is none of "),
            ("[]", "must be an object"),
            (r#"{"sku": "#, "isn't JSON: EOF while parsing a value at column 8"),
        ] {
            let fault = fault::<ImportProduct>(line).to_string();
            assert!(fault.starts_with(told), "{line}: {fault}");
        }
    }

    #[test]
    fn indexes_of_elements_are_in_brackets() {
        let fault = Fault::from(InvalidInput::new("content.tracks.3.title", "is empty"));
        assert_eq!(fault.to_string(), "content.tracks[3].title: is empty");
        assert_eq!(Fault::of_line("isn't UTF-8").to_string(), "isn't UTF-8");
    }
}
