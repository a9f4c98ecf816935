//! Opaque global ids: the kind of document and its `_id` in base64url. All ids that clients send and receive
//! have this form; natural keys, such as an SKU, are fields with names of their own.

use async_graphql::ID;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

/// A kind of documents that have a global id. Each room declares its kinds as constants of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeKind(&'static str);

impl NodeKind {
    /// The kind with this name, such as `cart`. The name is a part of global ids and never changes.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Name of the kind.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The global id of a document of this kind.
    pub fn id(self, key: &str) -> ID {
        ID(BASE64.encode([self.name(), ":", key].concat()))
    }

    /// The `_id` of a global id; `None` if the text isn't an id of this kind.
    pub fn key(self, id: &str) -> Option<String> {
        decode(id).filter(|(name, _)| name == self.name()).map(|(_, key)| key)
    }
}

/// Maximum number of characters of a global id; a key has up to 128, and that of a comment up to 160.
const LONGEST: usize = 256;

/// Name of the kind, and `_id`, of a global id; `None` if the text doesn't have the form of one. There may be no
/// kind with this name.
pub fn decode(id: &str) -> Option<(String, String)> {
    if id.len() > LONGEST {
        return None;
    }
    let mut name = String::from_utf8(BASE64.decode(id).ok()?).ok()?;
    let colon = name.find(':')?;
    let key = name.split_off(colon + 1);
    name.truncate(colon);
    Some((name, key))
}
