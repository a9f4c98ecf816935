//! Cursors: the signature of a list, and the sort keys of a document or of another place in the list.

use std::{convert::Infallible, sync::Arc};

use async_graphql::connection::CursorType;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use mongodb::bson::{self, Binary, Bson, RawBsonRef, RawDocument, spec::BinarySubtype};
use serde::Serialize;

use crate::{app::Ids, error::Error};

/// The cursor of an element of a page.
#[derive(Debug, Clone)]
pub enum Cursor {
    /// The sort keys of a document, and the signature of its list. They are encoded if the cursor is selected.
    Of(Vec<Bson>, Arc<str>),
    /// As clients see it.
    Encoded(String),
}

impl CursorType for Cursor {
    type Error = Infallible;

    fn decode_cursor(cursor: &str) -> Result<Self, Infallible> {
        Ok(Self::Encoded(cursor.to_owned()))
    }

    fn encode_cursor(&self) -> String {
        match self {
            Self::Of(keys, signature) => encode(keys, signature),
            Self::Encoded(cursor) => cursor.clone(),
        }
    }
}

/// Content of a cursor: the signature of its list, and the sort keys of its document.
#[derive(Serialize)]
struct Content<'a> {
    list: &'a str,
    keys: &'a [Bson],
}

/// A cursor whose sort keys the client can't read.
#[derive(Serialize)]
struct Hidden<'a> {
    list: &'a str,
    /// An encrypted [`Content`].
    content: Binary,
}

/// The cursor of the document with these sort keys, in the list with this signature.
fn encode(keys: &[Bson], signature: &str) -> String {
    let content = Content { list: signature, keys };
    BASE64.encode(bson::serialize_to_vec(&content).unwrap_or_default())
}

/// The cursor of a place that isn't that of a document which the client sees. It doesn't reveal the sort keys.
pub(super) fn encode_hidden(keys: &[Bson], signature: &str, ids: &Ids) -> String {
    let content = Content { list: signature, keys };
    let bytes = ids.encrypt(signature, bson::serialize_to_vec(&content).unwrap_or_default());
    let content = Binary { subtype: BinarySubtype::Generic, bytes };
    let hidden = Hidden { list: signature, content };
    BASE64.encode(bson::serialize_to_vec(&hidden).unwrap_or_default())
}

/// The sort keys of a cursor from outside.
///
/// # Errors
/// `BadInput` that names the argument: it isn't a cursor of this list.
pub(super) fn decode(
    argument: &'static str,
    cursor: &str,
    signature: &str,
    keys: usize,
    ids: &Ids,
) -> Result<Vec<Bson>, Error> {
    let bytes = BASE64.decode(cursor).ok();
    let read =
        bytes.and_then(|bytes| read(&bytes, signature, ids)).filter(|read| read.len() == keys);
    read.ok_or_else(|| Error::bad_input(argument, "isn't a cursor of this list"))
}

/// The sort keys, if the bytes are a cursor of the list with this signature.
fn read(bytes: &[u8], signature: &str, ids: &Ids) -> Option<Vec<Bson>> {
    let cursor = RawDocument::from_bytes(bytes).ok()?;
    if cursor.get_str("list").ok()? != signature {
        return None;
    }
    let Ok(content) = cursor.get_binary("content") else { return keys_of(cursor) };
    let decrypted = ids.decrypt(signature, content.bytes)?;
    keys_of(RawDocument::from_bytes(&decrypted).ok()?)
}

/// The sort keys of a cursor that can be read. Nested values aren't decoded, because a client can nest them so deeply that the
/// stack overflows, which ends the process.
fn keys_of(cursor: &RawDocument) -> Option<Vec<Bson>> {
    cursor.get_array("keys").ok()?.into_iter().map(|key| comparable(key.ok()?)).collect()
}

/// A value for comparisons. A pattern or a document isn't one, as it could change the meaning of the query.
fn comparable(key: RawBsonRef<'_>) -> Option<Bson> {
    match key {
        RawBsonRef::String(text) => Some(text.into()),
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number.into()),
        RawBsonRef::Double(number) => Some(number.into()),
        RawBsonRef::DateTime(moment) => Some(moment.into()),
        RawBsonRef::Boolean(is) => Some(is.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    /// A cursor whose only key is an array in an array, this many times.
    fn nested(signature: &str, depth: usize) -> String {
        let size = |bytes: usize| i32::try_from(bytes).expect("a size").to_le_bytes();
        let empty = 5;
        let mut keys: Vec<u8> = Vec::new();
        for around in (1..=depth).rev() {
            keys.extend(size(empty + 8 * around));
            keys.extend(b"\x040\0");
        }
        keys.extend(size(empty));
        keys.extend(vec![0; depth + 1]);
        let mut fields = b"\x02list\0".to_vec();
        fields.extend(size(signature.len() + 1));
        fields.extend(signature.bytes());
        fields.extend(b"\0\x04keys\0");
        fields.extend(keys);
        fields.push(0);
        let mut cursor = size(4 + fields.len()).to_vec();
        cursor.extend(fields);
        BASE64.encode(cursor)
    }

    #[test]
    fn a_cursor_holds_its_keys() {
        let keys: Vec<Bson> = vec![
            "text".into(),
            1_i32.into(),
            2_i64.into(),
            0.5.into(),
            bson::DateTime::from_millis(7).into(),
            true.into(),
        ];
        let ids = &Ids::new("a secret");
        let hidden = encode_hidden(&keys, "list", ids);
        for cursor in [encode(&keys, "list"), hidden.clone()] {
            assert_eq!(decode("after", &cursor, "list", 6, ids).expect("a cursor"), keys);
            for (signature, count) in [("other", 6), ("list", 5)] {
                assert!(decode("after", &cursor, signature, count, ids).is_err());
            }
        }
        assert!(decode("after", &hidden, "list", 6, &Ids::new("another")).is_err());
        let bytes = BASE64.decode(&hidden).expect("bytes");
        assert!(!bytes.windows(4).any(|some| some == b"text"));
    }

    #[test]
    fn no_key_is_more_than_a_value() {
        let pattern = Bson::Document(doc! { "$gt": "" });
        let ids = &Ids::new("a secret");
        let wrong = [pattern, Bson::Null, Bson::MaxKey, Bson::Array(vec![Bson::Null])];
        for key in wrong {
            assert!(decode("after", &encode(&[key], "list"), "list", 1, ids).is_err());
        }
        for depth in [0, 1, 100_000] {
            assert!(decode("after", &nested("list", depth), "list", 1, ids).is_err());
        }
        // What `nested` makes can be read.
        assert!(decode("after", &nested("list", 0), "list", 0, ids).expect("a cursor").is_empty());
    }
}
