//! Lazy documents: only the selected fields are decoded.
//!
//! Decoding a document into an owned type copies each of its strings and visits all nested values, although most
//! of them aren't part of the response. A view borrows its fields from the stored bytes, which are scanned once.
//! Nested values are decoded when they are selected; see [`Later`].

use std::{fmt, marker::PhantomData, sync::Arc};

use mongodb::bson::{DateTime, RawDocumentBuf};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::DeserializeOwned};
use yoke::{Yoke, Yokeable};

use super::{
    Version, decoder, driver,
    raw_bson::{Element, TypeMismatch},
};
use crate::error::Error;

/// A type that a field of a view can have.
pub trait Field<'a>: Sized {
    /// Decodes the value.
    ///
    /// # Errors
    /// The value has another type.
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch>;

    /// The value of a missing field; `None` if the field is required.
    fn absent() -> Option<Self> {
        None
    }
}

/// Maps the fields of a document to those of a struct. The struct becomes a [`Field`], and a whole document
/// can be viewed as it.
macro_rules! fields {
    (<$life:lifetime> $name:ty { $($key:literal => $field:ident),+ $(,)? }) => {
        impl<$life> $crate::mongo::lazy_document::Field<$life> for $name {
            fn read(
                value: $crate::mongo::raw_bson::Element<$life>,
            ) -> Result<Self, $crate::mongo::raw_bson::TypeMismatch> {
                use $crate::mongo::{raw_bson::TypeMismatch, lazy_document::Field};
                $(let mut $field = None;)+
                for element in value.fields()? {
                    let (key, value) = element?;
                    match key {
                        $(key if key == $key.as_bytes() => {
                            let read = Field::read(value);
                            $field = Some(read.map_err(|mismatch: TypeMismatch| mismatch.within($key))?);
                        })+
                        _ => {}
                    }
                }
                Ok(Self {
                    $($field: $field
                        .or_else(Field::absent)
                        .ok_or_else(|| TypeMismatch::default().within($key))?,)+
                })
            }
        }
    };
}

/// Declares views: structs whose fields have the names that they have in the stored document; see
/// [`fields!`].
macro_rules! view {
    ($(
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident<$life:lifetime> {
            $( $(#[$field_meta:meta])* $key:literal => $visible:vis $field:ident: $type:ty, )+
        }
    )+) => {$(
        $(#[$meta])*
        $visibility struct $name<$life> {
            $( $(#[$field_meta])* $visible $field: $type, )+
        }

        $crate::mongo::lazy_document::fields!(<$life> $name<$life> { $($key => $field),+ });
    )+};
}

pub(crate) use {fields, view};

impl<'a> Field<'a> for &'a str {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.as_str().ok_or_else(TypeMismatch::default)
    }
}

/// The server's arithmetic determines the width of a stored number. Every value that fits is accepted.
impl<'a> Field<'a> for i32 {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        i64::read(value)?.try_into().map_err(|_too_large| TypeMismatch::default())
    }
}

impl<'a> Field<'a> for i64 {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.as_integer().ok_or_else(TypeMismatch::default)
    }
}

impl<'a> Field<'a> for f64 {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.as_double().ok_or_else(TypeMismatch::default)
    }
}

impl<'a> Field<'a> for bool {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.as_bool().ok_or_else(TypeMismatch::default)
    }
}

impl<'a> Field<'a> for DateTime {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.as_date_time().ok_or_else(TypeMismatch::default)
    }
}

impl<'a, const NEWEST: i32> Field<'a> for Version<NEWEST> {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        match i32::read(value)? {
            found if found > NEWEST => Err(TypeMismatch::newer()),
            _ => Ok(Self),
        }
    }

    /// A document without a version is of version 1.
    fn absent() -> Option<Self> {
        Some(Self)
    }
}

impl<'a, T: Field<'a>> Field<'a> for Option<T> {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// A missing array is empty.
impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.items()?.map(|item| T::read(item?.1)).collect()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }
}

/// The keys and strings of a document, in its order.
#[derive(Debug, Clone)]
pub struct Entries<'a>(pub Vec<(&'a str, &'a str)>);

impl<'a> Field<'a> for Entries<'a> {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        let entry = |field: Result<(&'a [u8], Element<'a>), TypeMismatch>| {
            let (key, value) = field?;
            let key = str::from_utf8(key).map_err(|_damaged| TypeMismatch::default())?;
            Ok((key, Field::read(value)?))
        };
        value.fields()?.map(entry).collect::<Result<_, TypeMismatch>>().map(Self)
    }
}

/// A document that is decoded into an owned type.
#[derive(Debug, Clone)]
pub struct Owned<T>(pub T);

impl<'a, T: DeserializeOwned> Field<'a> for Owned<T> {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        let document = value.as_document().ok_or_else(TypeMismatch::default)?;
        let read = decoder::decode(document);
        read.map(Self).map_err(|_fault| TypeMismatch::default())
    }
}

/// A field that is decoded when it is selected.
#[derive(Debug)]
pub struct Later<'a, T> {
    value: Option<Element<'a>>,
    read_as: PhantomData<fn() -> T>,
}

impl<'a, T: Field<'a>> Later<'a, T> {
    /// Decodes the field.
    ///
    /// # Errors
    /// `Internal` if the stored value doesn't have the type that the view declares.
    pub fn get(&self) -> Result<T, Error> {
        self.part()
    }

    /// Decodes a part of the field: a view of some of its fields.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn part<P: Field<'a>>(&self) -> Result<P, Error> {
        let read = match self.value {
            Some(value) => P::read(value),
            None => P::absent().ok_or_else(TypeMismatch::default),
        };
        read.map_err(Error::internal)
    }
}

impl<'a, T> Field<'a> for Later<'a, T> {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        Ok(Self { value: Some(value), read_as: PhantomData })
    }

    fn absent() -> Option<Self> {
        Some(Self { value: None, read_as: PhantomData })
    }
}

/// A stored document with a view of it.
pub struct Viewed<V: for<'a> Yokeable<'a>>(Yoke<V, Arc<RawDocumentBuf>>);

impl<V> Viewed<V>
where
    V: for<'a> Yokeable<'a>,
    for<'a> <V as Yokeable<'a>>::Output: Field<'a>,
{
    /// Views a document that is in memory, in its stored form.
    ///
    /// # Errors
    /// `Internal` if the stored value doesn't have the type that the view declares.
    pub fn of(document: &impl Serialize) -> Result<Self, Error> {
        Self::over(Arc::new(driver::encode(document)?))
    }

    /// Views a stored document.
    ///
    /// # Errors
    /// `Internal` if the stored value doesn't have the type that the view declares.
    pub fn over(document: Arc<RawDocumentBuf>) -> Result<Self, Error> {
        Self::view(document).map_err(|mismatch| {
            if mismatch.is_newer() {
                Error::NewerVersion(mismatch.into())
            } else {
                Error::internal(mismatch)
            }
        })
    }

    fn view(document: Arc<RawDocumentBuf>) -> Result<Self, TypeMismatch> {
        let attached =
            Yoke::try_attach_to_cart(document, |document| Field::read(Element::of(document)));
        attached.map(Self)
    }

    /// The view.
    pub fn get(&self) -> &<V as Yokeable<'_>>::Output {
        self.0.get()
    }

    /// Number of bytes of the stored document.
    pub fn size(&self) -> usize {
        self.0.backing_cart().as_bytes().len()
    }
}

impl<V: for<'a> Yokeable<'a>> fmt::Debug for Viewed<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Viewed").finish_non_exhaustive()
    }
}

impl<'de, V> Deserialize<'de> for Viewed<V>
where
    V: for<'a> Yokeable<'a>,
    for<'a> <V as Yokeable<'a>>::Output: Field<'a>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = RawDocumentBuf::deserialize(deserializer)?;
        Self::view(Arc::new(document)).map_err(de::Error::custom)
    }
}

impl<V: for<'a> Yokeable<'a>> Serialize for Viewed<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.backing_cart().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{RawDocumentBuf, rawdoc};

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Part<'a> {
        name: &'a str,
        count: i64,
    }

    fields!(<'a> Part<'a> { "name" => name, "n" => count });

    #[derive(Debug, PartialEq)]
    struct Count {
        count: i64,
    }

    fields!(<'a> Count { "n" => count });

    #[derive(Debug, Yokeable)]
    struct Whole<'a> {
        id: &'a str,
        note: Option<&'a str>,
        size: Option<i32>,
        open: Option<bool>,
        parts: Later<'a, Vec<Part<'a>>>,
        names: Later<'a, Option<Entries<'a>>>,
        v: Version<1>,
    }

    fields!(<'a> Whole<'a> {
        "_id" => id,
        "note" => note,
        "size" => size,
        "open" => open,
        "parts" => parts,
        "names" => names,
        "v" => v,
    });

    fn viewed(document: RawDocumentBuf) -> Result<Viewed<Whole<'static>>, String> {
        Viewed::view(Arc::new(document)).map_err(|mismatch| mismatch.to_string())
    }

    #[test]
    fn a_view_shows_what_is_stored() {
        let stored = rawdoc! {
            "other": { "deep": [1, 2] },
            "parts": [{ "name": "a", "n": 1_i32 }, { "n": 2_i64, "name": "b" }],
            "note": null,
            "size": 7_i64,
            "open": true,
            "names": { "de": "Wort", "en": "word" },
            "v": 1,
            "_id": "x",
        };
        let viewed = viewed(stored.clone()).expect("a view");
        let view = viewed.get();
        assert_eq!((view.id, view.note, view.size, view.v), ("x", None, Some(7), Version));
        assert_eq!(view.open, Some(true));
        let parts = [Part { name: "a", count: 1 }, Part { name: "b", count: 2 }];
        assert_eq!(view.parts.get().expect("parts"), parts);
        let counts: Vec<Count> = view.parts.part().expect("parts");
        assert_eq!(counts, [Count { count: 1 }, Count { count: 2 }]);
        let names = view.names.get().expect("names").expect("some");
        assert_eq!(names.0, [("de", "Wort"), ("en", "word")]);
        // Serialization returns the stored document.
        assert_eq!(mongodb::bson::serialize_to_raw_document_buf(&viewed).expect("it"), stored);
    }

    #[test]
    fn missing_fields_are_empty() {
        let viewed = viewed(rawdoc! { "_id": "x", "v": 1 }).expect("a view");
        assert_eq!(viewed.get().note, None);
        assert!(viewed.get().parts.get().expect("none").is_empty());
        assert!(viewed.get().names.get().expect("none").is_none());
    }

    #[test]
    fn a_mismatch_names_the_field() {
        let message = |document| viewed(document).expect_err("a mismatch");
        assert!(message(rawdoc! { "v": 1 }).contains("`_id`"));
        assert!(message(rawdoc! { "_id": "x", "v": 2 }).contains("`v`"), "newer than is known");
        assert!(message(rawdoc! { "_id": "x", "v": 1, "note": 7 }).contains("`note`"));
        assert!(message(rawdoc! { "_id": "x", "v": 1, "size": 1_i64 << 40 }).contains("`size`"));
        // Nested values are checked only when they are selected.
        let odd = viewed(rawdoc! { "_id": "x", "v": 1, "parts": [{ "name": "a" }] });
        let fault = odd.expect("a view").get().parts.get().expect_err("a mismatch");
        let mismatch = std::error::Error::source(&fault).expect("the mismatch").to_string();
        assert!(mismatch.contains("`n`"), "{mismatch}");
    }
}
