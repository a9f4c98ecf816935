//! The parameters of a GraphQL request, from a body or from a query string.
//! <https://graphql.github.io/graphql-over-http/draft/#sec-Request-Parameters>

use async_graphql::{Request, Variables};
use axum::http::{HeaderMap, header::CONTENT_TYPE};
use memchr::{memchr2, memmem};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{json::Object, variables};
use crate::{domains::ROOMS, error::Error};

/// One request, not yet validated.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Parameters {
    /// The document.
    pub(super) query: Option<String>,
    /// Id of a trusted document that replaces `query`.
    #[serde(rename = "documentId")]
    pub(super) document_id: Option<String>,
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
    #[serde(default, deserialize_with = "variables::read")]
    variables: Option<Variables>,
    extensions: Option<Object>,
    /// Length in bytes of the JSON text with all of these; 0 if they came in another form.
    #[serde(skip)]
    pub(super) length: usize,
}

/// Maximum length in bytes of a client's id of an operation. Each response on a stream with several operations repeats it.
pub(super) const MAX_ID: usize = 256;

impl Parameters {
    /// Parses one request in JSON.
    ///
    /// # Errors
    /// `BadInput` naming `field`.
    pub(super) fn read(field: &'static str, text: &[u8]) -> Result<Self, Error> {
        // The first byte is checked, because serde would also deserialise the struct from an array.
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => {
                let parameters = match Self::with_list(text) {
                    Some(parameters) => parameters,
                    None => json(field, text)?,
                };
                Ok(Self { length: text.len(), ..parameters })
            }
            Some(_) => Err(Error::bad_input(field, "isn't a GraphQL request in JSON")),
            None => Err(Error::bad_input(field, "is empty")),
        }
    }

    /// Parses one request whose first list among the variables is one of inputs that are [parsed](crate::graphql::many) with
    /// their request. `None` if it isn't, or if anything is wrong: then the request is parsed like any other.
    fn with_list(text: &[u8]) -> Option<Self> {
        if text.len() <= SHORT {
            return None;
        }
        let (name, begin) = first_list(text)?;
        let mut parsers = ROOMS.iter().flat_map(|room| room.bulk);
        let list = parsers.find_map(|bulk| bulk.read(text.get(begin..)?, MAX_VALUES))?;
        let (before, after) = (text.get(..begin)?, text.get(begin + list.length..)?);
        let (place, place_in_json) = ("\u{1}", r#""\u0001""#);
        // JSON has no other way to write this character. So nothing after it can be mistaken for it.
        let is_ambiguous = memmem::find(after, b"u0001").is_some();
        if is_ambiguous || values(before) + values(after) + list.values > MAX_VALUES {
            return None;
        }
        let rest = [before, place_in_json.as_bytes(), after].concat();
        let mut parameters: Self = serde_json::from_slice(&rest).ok()?;
        let variable = parameters.variables.as_mut()?.get_mut(name)?;
        if *variable != async_graphql::Value::String(place.to_owned()) {
            // There is another value under this name.
            return None;
        }
        *variable = list.value;
        Some(parameters)
    }

    /// Parses one request from a JSON object.
    ///
    /// # Errors
    /// `BadInput` naming `field`.
    pub(super) fn of_object(
        field: &'static str,
        object: Map<String, Value>,
    ) -> Result<Self, Error> {
        serde_json::from_value(Value::Object(object)).map_err(|fault| unreadable(field, &fault))
    }
}

/// The content of a body.
#[derive(Debug)]
pub(super) enum Body {
    One(Parameters),
    /// Several requests. The responses have the same order.
    Batch(Vec<Parameters>),
}

impl Body {
    /// Parses a body in JSON.
    ///
    /// # Errors
    /// `BadInput` naming what can't be read.
    pub(super) fn read(body: &[u8], max: usize) -> Result<Self, Error> {
        match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => {
                if max == 1 {
                    return Err(Error::bad_input(
                        "body",
                        "is a list: batches are switched off here",
                    ));
                }
                let all: Vec<Object> = json("body", body)?;
                if !(1..=max).contains(&all.len()) {
                    let reason = format!("is a list of {}: 1 to {max} requests", all.len());
                    return Err(Error::bad_input("body", reason));
                }
                let read = |Object(one)| Parameters::of_object("body", one);
                all.into_iter().map(read).collect::<Result<_, _>>().map(Self::Batch)
            }
            _ => Parameters::read("body", body).map(Self::One),
        }
    }
}

/// Maximum number of values in one JSON text. Parsed values take many times the memory of plain text. A message to the
/// maximum number of recipients fits, and so does the maximum number of events with all fields.
const MAX_VALUES: usize = 12_500;
/// Length in bytes up to which a text isn't counted, because it can't have many more values.
const SHORT: usize = 16 << 10;

/// Checks the number of values before parsing.
///
/// # Errors
/// `BadInput` naming `field` if there are too many.
pub(super) fn check_values(field: &'static str, text: &[u8]) -> Result<(), Error> {
    if text.len() > SHORT && values(text) > MAX_VALUES {
        return Err(Error::bad_input(field, format!("has more than {MAX_VALUES} values")));
    }
    Ok(())
}

fn json<T: DeserializeOwned>(field: &'static str, text: &[u8]) -> Result<T, Error> {
    check_values(field, text)?;
    serde_json::from_slice(text).map_err(|fault| unreadable(field, &fault))
}

/// The approximate number of values in a JSON text. Each follows a comma or is the first in brackets.
fn values(text: &[u8]) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b',' | b'[' | b'{' => count += 1,
            b'"' => match behind_string(text, at) {
                Some(end) => at = end,
                None => return count,
            },
            _ => {}
        }
    }
    count
}

/// The position behind the string that begins before `at`; `None` if it doesn't end.
fn behind_string(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let found = memchr2(b'"', b'\\', rest)?;
        let is_end = rest.get(found) == Some(&b'"');
        at += found + if is_end { 1 } else { 2 };
        if is_end {
            return Some(at);
        }
    }
}

/// The first variable that is a list, by its name in the text and the position of the list. `None` if the name has escapes, or
/// if no colon precedes the list. Apart from that, the text may be no valid JSON.
fn first_list(text: &[u8]) -> Option<(&str, usize)> {
    let (mut depth, mut at, mut string, mut end) = (0_usize, 0, &[][..], 0);
    let mut is_in_variables = false;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                end = behind_string(text, at + 1)?;
                string = text.get(at + 1..end - 1)?;
                at = end;
                continue;
            }
            b'[' if depth == 2 && is_in_variables => {
                // Otherwise the string before it is another variable's name, or a value.
                let is_name = !string.contains(&b'\\') && text.get(end..at)?.trim_ascii() == b":";
                return is_name.then_some((std::str::from_utf8(string).ok()?, at));
            }
            b'[' | b'{' => {
                depth += 1;
                if depth == 2 {
                    is_in_variables = *byte == b'{' && string == b"variables";
                }
            }
            b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    None
}

fn unreadable(field: &'static str, fault: &serde_json::Error) -> Error {
    Error::bad_input(field, format!("isn't a GraphQL request in JSON: {fault}"))
}

/// Whether the content type is JSON. Pages of another site can send such a body only after a CORS preflight.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = text.split(';').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case("application/json")
}

impl Parameters {
    /// Parses the query string of a GET.
    ///
    /// # Errors
    /// `BadInput` naming the parameter.
    pub(super) fn of_query_string(text: &str) -> Result<Self, Error> {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            match &*name {
                "query" => read.query = Some(value.into_owned()),
                "documentId" => read.document_id = Some(value.into_owned()),
                "operationName" => {
                    read.operation_name = Some(value.into_owned()).filter(|name| !name.is_empty());
                }
                "variables" if !value.is_empty() => {
                    read.variables = json("variables", value.as_bytes())?;
                }
                "extensions" if !value.is_empty() => {
                    read.extensions = json("extensions", value.as_bytes())?;
                }
                _ => {}
            }
        }
        Ok(read)
    }

    /// The SHA-256 of the document in hexadecimal digits, as Apollo's clients send it (automatic persisted
    /// queries).
    /// <https://www.apollographql.com/docs/apollo-server/performance/apq>
    ///
    /// # Errors
    /// `BadInput` if `persistedQuery` is malformed.
    pub(super) fn persisted(&self) -> Result<Option<&str>, Error> {
        let all = self.extensions.as_ref();
        let Some(found) = all.and_then(|Object(all)| all.get("persistedQuery")) else {
            return Ok(None);
        };
        let is_digest =
            |hash: &&str| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = found.get("sha256Hash").and_then(Value::as_str).filter(is_digest);
        let is_known_version = found.get("version").and_then(Value::as_u64) == Some(1);
        match hash {
            Some(hash) if is_known_version => Ok(Some(hash)),
            _ => {
                let reason = "must hold version 1 and sha256Hash, 64 hexadecimal digits";
                Err(Error::bad_input("extensions.persistedQuery", reason))
            }
        }
    }

    /// Whether the request has a document, or may refer to one.
    pub(super) fn has_document(&self) -> bool {
        self.query.is_some() || self.document_id.is_some() || self.extensions.is_some()
    }

    /// The client's id of the operation, on a stream with several operations.
    pub(super) fn operation_id(&self) -> Option<String> {
        match self.extensions.as_ref()?.0.get("operationId")? {
            Value::String(id) if (1..=MAX_ID).contains(&id.len()) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        }
    }

    /// The request with this document.
    pub(super) fn into_request(self, text: String) -> Request {
        let mut request = Request::new(text);
        request.operation_name = self.operation_name;
        request.variables = self.variables.unwrap_or_default();
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (text, count) in [
            ("{}", 1),
            (r#"{"a,b":"[{\",","c":[1,2]}"#, 4),
            (r#"["\\",1]"#, 2),
            (r#"["\\\"[",{"":""}]"#, 3),
            (r#"{"never ends,"#, 1),
            (r#"{"never ends\"#, 1),
        ] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn a_long_list_of_inputs_is_parsed_with_its_request() {
        let event = r#"{"host":"h","site":"s","path":"/\u0061","status":200}"#;
        let events = format!("[{}]", vec![event; 500].join(" , "));
        for (text, is_parsed) in [
            (r#"{"query":"q","variables":{"events":$}}"#, true),
            (
                r#" {"variables" : { "k":"\"[{","events": $ ,"z":[1,{"a":[]}]} , "query":"a\nb[{"} "#,
                true,
            ),
            (
                r#"{"extensions":{"a":[[1]]},"variables":{"b":{"c":[{}]},"events":$},"other":[[]]}"#,
                true,
            ),
            (r#"{"variables":{"events":1,"events":$}}"#, true),
            (r#"{"variables":{"events":"\u0001","events":$}}"#, true),
            (r#"{"variables":{"events":$,"events":null}}"#, false),
            (r#"{"variables":{"events":$,"\u0065vents":"\u0001"}}"#, false),
            (r#"{"variables":{"\u0065vents":$}}"#, false),
            (r#"{"variables":{"\\u0065vents":"\u0001","\u0065vents":$}}"#, false),
            (r#"{"variables":{"events":"\u0001","k":"events",$:1}}"#, false),
            (r#"{"variables":{"events":"\u0001","k":"events":$}}"#, false),
            (r#"{"variables":{"events":$},"query":"\u0001"}"#, false),
            (r#"{"variables":{"events":[],"more":$}}"#, false),
            (r#"{"variables":{"input":{"events":$}}}"#, false),
            (r#"{"variables":[{"events":$}]}"#, false),
            (r#"{"variables":{"events":null},"events":[$]}"#, false),
            (r#"{"extensions":{"events":$},"variables":{"events":null}}"#, false),
            (r#"{"variables":{"events":$},"variables":{}}"#, false),
            (r#"{"variables":{"events":$}"#, false),
            (r#"{"variables":{"events":$}} x"#, false),
            (r#"{"variables":{"events":$,}}"#, false),
            (r#"{"variables":{"events" $}}"#, false),
            (r#"{"variables":{"events":$ $}}"#, false),
        ] {
            let whole = text.replace('$', &events);
            let parsed = Parameters::with_list(whole.as_bytes());
            assert_eq!(parsed.is_some(), is_parsed, "{text}");
            let Some(parsed) = parsed else { continue };
            let usual: Parameters = serde_json::from_str(&whole).expect("parameters");
            let mut variables = parsed.variables.expect("variables");
            let is_kept = matches!(variables["events"], async_graphql::Value::Binary(_));
            assert!(is_kept, "{text}");
            crate::graphql::many::expand(&mut variables, |_, _| false);
            assert_eq!(variables, usual.variables.expect("variables"), "{text}");
            assert_eq!(parsed.query, usual.query, "{text}");
        }
        let long = format!("[{}]", vec![event; 1_100].join(","));
        for list in [events.trim_end_matches(']'), &long, &events.replace("200", "\"200\"")] {
            let text = format!(r#"{{"variables":{{"events":{list}}}}}"#);
            assert!(Parameters::with_list(text.as_bytes()).is_none());
        }
    }
}
