//! Declared inputs: one declaration gives the GraphQL input, its checks with the path of the failing field, and
//! the digest of the idempotency key.
//!
//! ```text
//! input! {
//!     /// Input of `addCartLine`.
//!     pub struct AddCartLineInput {
//!         /// Global id of the cart.
//!         pub cart_id: ID where id(NodeKind::CART),
//!         /// Number of pieces to add.
//!         pub quantity: Long where within(1..=MAX_QUANTITY),
//!         /// Idempotency key of the call.
//!         pub idempotency_key: Option<ID> where optional(idempotency_key()),
//!     }
//! }
//! ```
//!
//! The checks behind `where` are the functions of this module. They normalise the value in place: a text loses
//! white space at its ends, and a global id becomes the `_id`. A field without a check takes every value of its
//! type.

use std::{
    collections::HashSet,
    hash::Hash,
    ops::{Deref, RangeInclusive},
};

use async_graphql::{ID, MaybeUndefined};
use serde::Serialize;

use super::{
    input as checks,
    node_id::NodeKind,
    refusals::{InvalidInput, NotFound, Unusable},
};
pub use crate::mongo::shape::camel_case;

/// An input that can check itself; [`input!`](crate::graphql::input) implements it.
pub trait Input: Sized {
    /// Checks and normalises every field.
    ///
    /// # Errors
    /// The first field that is invalid, or that names a document that can't exist.
    fn check(&mut self) -> Result<(), Unusable>;

    /// The checked input.
    ///
    /// # Errors
    /// As [`Self::check`].
    fn checked(mut self) -> Result<Checked<Self>, Unusable> {
        self.check()?;
        Ok(Checked(self))
    }
}

/// An input with an idempotency key; [`input!`](crate::graphql::input) implements it.
pub trait Keyed: Serialize {
    /// The key.
    fn idempotency_key(&self) -> Option<&ID>;
}

/// An input whose fields are valid and normalised.
#[derive(Debug, Clone)]
pub struct Checked<I>(I);

impl<I> Deref for Checked<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.0
    }
}

impl<I> Checked<I> {
    /// The input itself, to move its values.
    pub fn into_inner(self) -> I {
        self.0
    }
}

/// A global id of this kind; see [`id`](super::input::id).
pub fn id(kind: NodeKind) -> impl Fn(&str, &mut ID) -> Result<(), NotFound> {
    move |_, value| {
        value.0 = checks::id(kind, value)?;
        Ok(())
    }
}

/// The SKU of an existing product; see [`sku`](super::input::sku).
pub fn sku() -> impl Fn(&str, &mut ID) -> Result<(), NotFound> {
    |_, value| checks::sku(value).map(|_| ())
}

/// SKU of a variant; see [`variant`](super::input::variant).
pub fn variant() -> impl Fn(&str, &mut ID) -> Result<(), NotFound> {
    |_, value| checks::variant(value)
}

/// A client's idempotency key: 1 to 128 characters, at least one of them visible.
pub fn idempotency_key() -> impl Fn(&str, &mut ID) -> Result<(), InvalidInput> {
    |field, value| checks::verbatim(field, value, 1..=128).map(|_| ())
}

/// A text for display; see [`text`](super::input::text).
pub fn text(
    length: RangeInclusive<usize>,
) -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    move |field, value| {
        *value = checks::text(field, value, length.clone())?;
        Ok(())
    }
}

/// A text by which things are told apart; see [`composed`](super::input::composed).
pub fn composed(
    length: RangeInclusive<usize>,
) -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    move |field, value| {
        *value = checks::composed(field, value, length.clone())?;
        Ok(())
    }
}

/// A text that is compared with others; see [`verbatim`](super::input::verbatim).
pub fn verbatim<T: AsRef<str>>(
    length: RangeInclusive<usize>,
) -> impl Fn(&str, &mut T) -> Result<(), InvalidInput> {
    move |field, value| checks::verbatim(field, value.as_ref(), length.clone()).map(|_| ())
}

/// A text of at most `most` bytes. Unlike other texts it may contain every character.
pub fn bytes(most: usize) -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    move |field, text| {
        if text.len() > most {
            return Err(InvalidInput::new(field, format!("takes at most {most} bytes")));
        }
        Ok(())
    }
}

/// A country; see [`country`](super::input::country).
pub fn country() -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    |field, value| checks::country(field, value).map(|_| ())
}

/// A text on one line; see [`line`](super::input::line).
pub fn line(
    length: RangeInclusive<usize>,
) -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    move |field, value| checks::line(field, value, length.clone()).map(|_| ())
}

/// The name of a page of a site; see [`page`](super::input::page).
pub fn page() -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    |field, value| checks::page(field, value).map(|_| ())
}

/// An email address; see [`email`](super::input::email).
pub fn email() -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    |field, value| checks::email(field, value)
}

/// A number in a range.
pub fn within<T: Copy + Into<i64>>(
    range: RangeInclusive<i64>,
) -> impl Fn(&str, &mut T) -> Result<(), InvalidInput> {
    move |field, value| checks::within(field, (*value).into(), range.clone()).map(|_| ())
}

/// Tags; see [`tags`](super::input::tags).
pub fn tags() -> impl Fn(&str, &mut Vec<String>) -> Result<(), InvalidInput> {
    |field, value| {
        *value = checks::tags(field, value)?;
        Ok(())
    }
}

/// An input inside another one; the path of its failing field begins with the field that holds it.
pub fn nested<I: Input>() -> impl Fn(&str, &mut I) -> Result<(), Unusable> {
    |field, value| {
        value.check().map_err(|fault| match fault {
            Unusable::Invalid(invalid) => Unusable::Invalid(invalid.below(field)),
            missing @ Unusable::Missing(_) => missing,
        })
    }
}

/// An input that names no documents; see [`nested`].
pub fn valid<I: Input>(field: &str, value: &mut I) -> Result<(), InvalidInput> {
    nested()(field, value).map_err(|fault| match fault {
        Unusable::Invalid(invalid) => invalid,
        Unusable::Missing(missing) => InvalidInput::new(field, missing.message),
    })
}

/// A value that may be absent.
pub fn optional<T, E>(
    check: impl Fn(&str, &mut T) -> Result<(), E>,
) -> impl Fn(&str, &mut Option<T>) -> Result<(), E> {
    move |field, value| value.as_mut().map_or(Ok(()), |value| check(field, value))
}

/// A value that may be omitted, which means something else than null.
pub fn given<T, E>(
    check: impl Fn(&str, &mut T) -> Result<(), E>,
) -> impl Fn(&str, &mut MaybeUndefined<T>) -> Result<(), E> {
    move |field, value| match value {
        MaybeUndefined::Value(value) => check(field, value),
        MaybeUndefined::Null | MaybeUndefined::Undefined => Ok(()),
    }
}

/// A list of at most `max` values. The path of a failing one ends in its position.
pub fn each<T, E: From<InvalidInput>>(
    max: usize,
    check: impl Fn(&str, &mut T) -> Result<(), E>,
) -> impl Fn(&str, &mut Vec<T>) -> Result<(), E> {
    move |field, values| {
        checks::at_most(field, values, max)?;
        let mut positions = values.iter_mut().enumerate();
        positions.try_for_each(|(position, value)| check(&format!("{field}.{position}"), value))
    }
}

/// A list of 1 to `max` values, which are checked elsewhere.
pub fn at_least_one<T>(max: usize) -> impl Fn(&str, &mut Vec<T>) -> Result<(), InvalidInput> {
    move |field, values| checks::at_least_one(field, values, max)
}

/// Checks that values differ in their keys. `name` is the field that has the key.
///
/// # Errors
/// `InvalidInput` with the path of the first key that is given twice.
pub fn unique<'a, T, K: Eq + Hash>(
    field: &str,
    values: &'a [T],
    name: &str,
    key: impl Fn(&'a T) -> K,
) -> Result<(), InvalidInput> {
    let mut seen = HashSet::new();
    match values.iter().position(|value| !seen.insert(key(value))) {
        Some(at) => Err(InvalidInput::new(&format!("{field}.{at}.{name}"), "is given twice")),
        None => Ok(()),
    }
}

/// Declares inputs; see [`declared`](crate::graphql::declared). An input with `: Deserialize` can also stand in
/// the lines of an import, where unknown fields are refused.
macro_rules! input {
    (keyed $name:ident idempotency_key) => {
        impl $crate::graphql::declared::Keyed for $name {
            fn idempotency_key(&self) -> Option<&async_graphql::ID> {
                self.idempotency_key.as_ref()
            }
        }
    };
    (keyed $name:ident $other:ident) => {};
    (checks $name:ident { $( $field:ident $(where $check:expr)?, )* }) => {
        impl $crate::graphql::declared::Input for $name {
            fn check(&mut self) -> Result<(), $crate::graphql::refusals::Unusable> {
                #[allow(unused_imports, reason = "an input may have no checks")]
                use $crate::graphql::declared::*;
                $( $( ($check)(&camel_case(stringify!($field)), &mut self.$field)?; )? )*
                Ok(())
            }
        }
    };
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident $(: $deserialize:ident)? {
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty $(where $check:expr)?, )*
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Serialize, async_graphql::InputObject)]
        $(
            #[derive(serde::$deserialize)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
        )?
        #[allow(unreachable_pub, reason = "the types of a room may be private")]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        $crate::graphql::declared::input! { checks $name { $( $field $(where $check)?, )* } }
        $( $crate::graphql::declared::input! { keyed $name $field } )*
    )+};
}

pub(crate) use input;
