//! Document types, and the version of their shape.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use super::{derived::Derived, driver::decode, indexes::Index};
use crate::{config::Config, error::Error};

/// A document type and the collection that holds it.
pub trait Stored: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    /// Name of the collection.
    const COLLECTION: &'static str;
    /// The indexes that its reads need. A type for a part of another type's documents declares none.
    const INDEXES: &'static [Index] = &[];

    /// The field that every update derives from others of its document, if there is one. Updates are pipelines then. An
    /// inserted document brings the field itself.
    fn derived(_config: &Config) -> Option<Derived> {
        None
    }

    /// Decodes a document of the collection.
    ///
    /// # Errors
    /// `Internal` if the document has another shape.
    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self, Error> {
        decode(&stored)
    }
}

/// The version of a document's shape, its field `v`. Decoding a document of a newer version than `NEWEST`
/// fails. Encoding writes `NEWEST`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version<const NEWEST: i32>;

impl<const NEWEST: i32> Serialize for Version<NEWEST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(NEWEST)
    }
}

impl<'de, const NEWEST: i32> Deserialize<'de> for Version<NEWEST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = i32::deserialize(deserializer)?;
        if found > NEWEST {
            return Err(serde::de::Error::custom(format!(
                "the document is of version {found}, this docgate knows up to {NEWEST}"
            )));
        }
        Ok(Self)
    }
}

/// Declares stored documents and the parts of them: their fields are stored in camel case. `name?: Type` is an `Option`
/// that is absent from the stored document if it is `None`; an `Option<Type>` is stored as null. `name as "n": Type` is
/// stored as `n`.
macro_rules! document {
    ($(
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $field_visibility:vis $field:ident $(as $stored:literal)? $(?: $optional:ty)? $(: $type:ty)?,
            )*
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        $visibility struct $name {
            $(
                $(#[$field_meta])*
                $( #[serde(rename = $stored)] )?
                $(
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    #[cfg_attr(any(), optional($optional))]
                )?
                $field_visibility $field: $($type)? $(Option<$optional>)?,
            )*
        }
    )+};
}

pub(crate) use document;
