//! Opaque global ids: the type's name and the document's own `_id`, base64url.

use async_graphql::ID;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

/// The global id of a document.
pub fn encode(type_name: &str, id: &str) -> ID {
    ID(BASE64.encode(format!("{type_name}:{id}")))
}

/// Type and `_id` of a global id; `None` for anything that isn't one.
pub fn decode(id: &str) -> Option<(String, String)> {
    let text = String::from_utf8(BASE64.decode(id).ok()?).ok()?;
    let (type_name, id) = text.split_once(':')?;
    Some((type_name.to_owned(), id.to_owned()))
}
