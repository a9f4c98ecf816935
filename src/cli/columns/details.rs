//! The columns `type` and `details` of a product, which are one object in its line.

use serde_json::{Value, json};

use super::put;
use crate::domains::catalog::types::OWN_FIELDS;

/// Path of the data that depends on the type of a product.
pub(super) const DETAILS: &str = "content.details";
/// Path of the type itself, which is the name of the field in that data.
pub(super) const TYPE: &str = "content.details.type";
/// Path of the type of a product whose type has no fields of its own.
pub(super) const GENERIC_TYPE: &str = "content.details.generic.type";

/// The details of a type.
pub(super) fn typed(kind: &str, mut details: Value) -> Value {
    if OWN_FIELDS.contains(&kind) {
        return json!({ kind: details });
    }
    put(&mut details, "type", kind.into());
    json!({ "generic": details })
}

/// The type of a product, and the details without it.
pub(super) fn untyped(line: &Value) -> (String, Value) {
    let details = line.pointer("/content/details").and_then(Value::as_object);
    let Some((kind, own)) = details.and_then(|details| details.iter().next()) else {
        return (String::new(), json!({}));
    };
    let mut own = own.clone();
    let own_kind = own.as_object_mut().and_then(|fields| {
        // What isn't there needs no cell.
        fields.retain(|_, value| !value.is_null() && *value != json!([]));
        fields.remove("type")
    });
    let kind =
        own_kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_else(|| kind.clone());
    (kind, own)
}
