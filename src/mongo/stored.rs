//! Stored document types: their declaration, and the version of their shape.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use super::{
    derived::Derived,
    indexes::Index,
    migrations::{self, Upgrade},
    placement::Group,
    shards::ShardKey,
};
use crate::{config::Config, error::Error};

/// A document type and the collection that holds it.
pub trait Stored: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    /// Name of the collection.
    const COLLECTION: &'static str;
    /// The group of the collection.
    const GROUP: Group = Group::Core;
    /// The indexes that its reads need. A type for a part of another type's documents declares none.
    const INDEXES: &'static [Index] = &[];
    /// The upgrades of its documents: the first one makes version 2 of version 1. A type for a part of another type's
    /// documents has the upgrades of that type.
    const UPGRADES: &'static [Upgrade] = &[];
    /// How a cluster divides the collection among its shards.
    const SHARD_KEY: ShardKey = ShardKey::ID;
    /// The only fields that reads by key and lists return, if there are any. The keys of the reads are among them, and so is the
    /// time of a list for a sweep.
    const ONLY: &'static [&'static str] = &[];
    /// The fields that reads of whole documents leave out, because the type doesn't have them. None of them is a key of a
    /// read.
    const UNREAD: &'static [&'static str] = &[];

    /// The field that every update derives from others of its document, if there is one. Updates are pipelines then. An
    /// inserted document brings the field itself.
    fn derived(_config: &Config) -> Option<Derived> {
        None
    }

    /// Decodes a document of the collection, of any known version.
    ///
    /// # Errors
    /// `NewerVersion` if its version isn't known; `Internal` if the document has another shape.
    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self, Error> {
        migrations::read(&stored)
    }
}

/// The version of a document's shape, its field `v`. Decoding a document of a newer version than `NEWEST`
/// fails. Encoding writes `NEWEST`; see [`migrations`] for the version that is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version<const NEWEST: i32>;

/// Beginning of the message about a document of a version that isn't known.
pub(super) const NEWER: &str = "the document is of a version that this docgate doesn't know";

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
                "{NEWER}: {found}; it knows up to {NEWEST}"
            )));
        }
        Ok(Self)
    }
}

/// Declares stored documents, the parts of them, and the values that they choose from. Fields are stored in camel case.
/// `name?: Type` is an `Option` that is absent from the stored document if it is `None`; an `Option<Type>` is stored as
/// null. `name as "n": Type` is stored as `n`. A value of an `enum` is stored as its name in capitals.
///
/// ```text
/// document! {
///     /// One cart.
///     pub struct CartDocument {
///         /// 128 random bits.
///         pub id as "_id": String,
///         /// Subject of the shopper.
///         pub owner?: String,
///     } in "carts" {
///         of("owner_modified", "owner state -modifiedAt -_id", "owner", "myCart"),
///     }
/// }
/// ```
///
/// Behind `in` stand the collection and its indexes, each by the name of a constructor of [`Index`]; `+ INDEX` at their
/// end is an index that is declared elsewhere. `in "events" of Log {` also declares the [`Group`]; without it, that is `Core`.
/// `in "comments" by hash_of("on", "…") {` also declares a shard key by the name of a constructor of [`ShardKey`]; without it,
/// the key is the hash of `_id`. A type for a part of the documents of a collection has no indexes: `in "carts";`, or
/// `in CartDocument;`. Behind a colon stand the fields that its reads return, if not all: `in CartDocument: ["_id", "owner"];`.
macro_rules! document {
    () => {};
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident { $($fields:tt)* } in $collection:literal
        $(of $group:ident)? $(by $shard_key:ident($($part:expr),+))? {
            $( $index:ident($($property:expr),+), )*
            $( + $other:expr, )*
        }
        $($rest:tt)*
    ) => {
        $crate::mongo::stored::document! { $(#[$meta])* $visibility struct $name { $($fields)* } }

        impl $crate::mongo::Stored for $name {
            const COLLECTION: &'static str = $collection;
            $( const GROUP: $crate::mongo::Group = $crate::mongo::Group::$group; )?
            const INDEXES: &'static [$crate::mongo::indexes::Index] = &[
                $( $crate::mongo::indexes::Index::$index($($property),+), )*
                $( $other, )*
            ];
            $(
                const SHARD_KEY: $crate::mongo::shards::ShardKey =
                    $crate::mongo::shards::ShardKey::$shard_key($($part),+);
            )?
        }

        $crate::mongo::stored::document! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident { $($fields:tt)* }
        in $($collection:literal)? $($whole:ident)? $(: [$($only:expr),+])?;
        $($rest:tt)*
    ) => {
        $crate::mongo::stored::document! { $(#[$meta])* $visibility struct $name { $($fields)* } }

        impl $crate::mongo::Stored for $name {
            const COLLECTION: &'static str =
                $($collection)? $(<$whole as $crate::mongo::Stored>::COLLECTION)?;
            $(
                const GROUP: $crate::mongo::Group = <$whole as $crate::mongo::Stored>::GROUP;
                const UPGRADES: &'static [$crate::mongo::migrations::Upgrade] =
                    <$whole as $crate::mongo::Stored>::UPGRADES;
            )?
            $( const ONLY: &'static [&'static str] = &[$($only),+]; )?
        }

        $crate::mongo::stored::document! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $field_visibility:vis $field:ident $(as $stored:literal)? $(?: $optional:ty)? $(: $type:ty)?,
            )*
        }
        $($rest:tt)*
    ) => {
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

        impl $crate::mongo::shape::Described for $name {
            const SHAPE: $crate::mongo::shape::Shape = $crate::mongo::shape::Shape {
                name: stringify!($name),
                attributes: &[$(stringify!($meta)),*],
                content: $crate::mongo::shape::Content::Fields(&[$(
                    $crate::mongo::shape::Field {
                        name: stringify!($field),
                        stored: $crate::mongo::shape::first(&[$($stored)?]),
                        attributes: &[$(stringify!($field_meta)),*],
                        type_name: concat!($(stringify!($type))? $(stringify!($optional))?),
                        is_optional: $crate::mongo::shape::first(&[$(stringify!($optional))?])
                            .is_some(),
                        part: || {
                            use $crate::mongo::shape::prelude::*;
                            (&Probe::<$($type)? $(Option<$optional>)?>::of_type()).shape()
                        },
                    },
                )*]),
            };
        }

        $crate::mongo::stored::document! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident { $( $(#[$value_meta:meta])* $value:ident, )* }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        $visibility enum $name {
            $( $(#[$value_meta])* $value, )*
        }

        impl $crate::mongo::shape::Described for $name {
            const SHAPE: $crate::mongo::shape::Shape = $crate::mongo::shape::Shape {
                name: stringify!($name),
                attributes: &[$(stringify!($meta)),*],
                content: $crate::mongo::shape::Content::Values(&[$(stringify!($value)),*]),
            };
        }

        $crate::mongo::stored::document! { $($rest)* }
    };
}

pub(crate) use document;
