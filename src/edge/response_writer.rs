//! Serialisation of responses for `/graphql`.

use std::collections::BTreeMap;

use async_graphql::{Response, Value, text};
use serde::Serialize;

use super::execution::Cost;

/// Serialises a response to JSON. Without execution there is no `data`.
pub(super) fn serialized(
    response: &Response,
    is_executed: bool,
    cost: Option<Cost>,
) -> serde_json::Result<Vec<u8>> {
    let data_length = if let Value::Binary(text) = &response.data { text.len() } else { 0 };
    let mut body = Vec::with_capacity(data_length + OVERHEAD);
    body.push(b'{');
    if is_executed {
        begin(&mut body, "data");
        text::write(&response.data, &mut body);
    }
    if !response.errors.is_empty() {
        begin(&mut body, "errors");
        serde_json::to_writer(&mut body, &response.errors)?;
    }
    let extensions = Extensions { cost, others: &response.extensions };
    if !extensions.is_empty() {
        begin(&mut body, "extensions");
        serde_json::to_writer(&mut body, &extensions)?;
    }
    body.push(b'}');
    Ok(body)
}

/// Starts the next member of an object.
fn begin(object: &mut Vec<u8>, name: &str) {
    if object.len() > 1 {
        object.push(b',');
    }
    object.push(b'"');
    object.extend_from_slice(name.as_bytes());
    object.extend_from_slice(b"\":");
}

/// Typical size of a response without its data, in bytes.
const OVERHEAD: usize = 128;

#[derive(Serialize)]
struct Extensions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    #[serde(flatten)]
    others: &'a BTreeMap<String, Value>,
}

impl Extensions<'_> {
    fn is_empty(&self) -> bool {
        self.cost.is_none() && self.others.is_empty()
    }
}
