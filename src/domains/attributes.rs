//! Conditions on attributes, which are pairs of key and value in an array of a document.
//!
//! One index of key, value and `_id` holds the attributes of all documents. A list reads the range of this index in
//! which one condition holds, in the order of the values. The server doesn't know this order, because the values are in
//! an array. So the read has no sort and can't go backwards. Further conditions are checked for each document of the
//! range.

use crate::{
    graphql::{
        declared::{each, nested, unique},
        prelude::*,
    },
    mongo::prelude::*,
};

/// Maximum length of a text, in characters.
pub const TEXT: usize = 1_000;

/// Declares the input of a value. Each kind of pairs has a type of its own for clients, with the same fields.
macro_rules! value_input {
    ($(#[doc = $about:literal])+ $name:ident) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, async_graphql::OneofObject, serde::Serialize)]
        pub enum $name {
            /// A text of at most 1,000 characters.
            Text(String),
            /// A number in double precision. It can't be NaN or infinite.
            Number(f64),
            /// A point in time.
            Date($crate::graphql::scalars::DateTime),
            /// True or false.
            Flag(bool),
        }

        impl $name {
            /// Checks a value. A text isn't trimmed: searches compare it exactly.
            fn check(field: &str, value: &Self) -> Result<(), $crate::graphql::prelude::InvalidInput> {
                use $crate::{domains::attributes::TEXT, graphql::{input, prelude::InvalidInput}};
                match value {
                    Self::Text(text) => input::verbatim(field, text, 0..=TEXT).map(|_| ()),
                    Self::Number(number) if !number.is_finite() => {
                        Err(InvalidInput::new(field, "isn't a finite number"))
                    }
                    _ => Ok(()),
                }
            }
        }

        impl From<$name> for mongodb::bson::Bson {
            fn from(value: $name) -> Self {
                match value {
                    $name::Text(text) => text.into(),
                    $name::Number(number) => number.into(),
                    $name::Date(moment) => moment.0.into(),
                    $name::Flag(flag) => flag.into(),
                }
            }
        }
    };
}
pub(crate) use value_input;

/// Checks a list of at most `most` inputs with different keys.
pub fn different<I: Input>(
    most: usize,
    key: impl Fn(&I) -> &str,
) -> impl Fn(&str, &mut Vec<I>) -> Result<(), Unusable> {
    move |field, all| {
        each(most, nested())(field, all)?;
        Ok(unique(field, all, "key", &key)?)
    }
}

/// Paths of the attributes in a document, in the order of their index. The index ends with `_id`.
#[derive(Debug, Clone, Copy)]
pub struct Attributes {
    /// Path of the key.
    pub key: &'static str,
    /// Path of the value.
    pub value: &'static str,
}

/// A condition of one attribute.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Key of the attribute.
    pub key: String,
    /// Condition of its value.
    pub test: Test,
}

/// A condition of its value.
#[derive(Debug, Clone)]
pub enum Test {
    /// It is this value.
    Equals(Bson),
    /// From, to: both of one type, both inclusive.
    Between(Option<Bson>, Option<Bson>),
    /// There is one.
    Exists,
}

impl Condition {
    /// The filter of the array.
    pub fn filter(&self) -> Document {
        let mut part = doc! { "key": &self.key };
        match &self.test {
            Test::Equals(value) => drop(part.insert("value", value.clone())),
            Test::Between(from, to) => {
                let limits = [("$gte", from), ("$lte", to)].into_iter();
                let range = limits.filter_map(|(is, limit)| Some((is.to_owned(), limit.clone()?)));
                part.insert("value", range.collect::<Document>());
            }
            Test::Exists => {}
        }
        doc! { "$elemMatch": part }
    }

    /// Index keys from the cursor to the end of the matching values.
    ///
    /// # Errors
    /// `BadInput` if the cursor is that of another list.
    pub fn between(&self, of: &Attributes, page: &Page) -> Result<(Document, Document)> {
        let key = |value, id| doc! { of.key: &self.key, of.value: value, "_id": id };
        let (least, most) = self.test.ends();
        let first = match page.from() {
            None => key(least, Bson::MinKey),
            // No text lies between a text and the same text followed by a zero.
            Some([value, Bson::String(id)]) if self.test.matches(value) => {
                key(value.clone(), format!("{id}\0").into())
            }
            Some(_) => return Err(Error::bad_input("after", "isn't a cursor of this list")),
        };
        Ok((first, key(most, Bson::MaxKey)))
    }
}

/// Whether both values are of one type, and the second isn't lower than the first.
pub fn is_ordered(low: &Bson, high: &Bson) -> bool {
    match (low, high) {
        (Bson::String(low), Bson::String(high)) => low <= high,
        (Bson::Double(low), Bson::Double(high)) => low <= high,
        (Bson::DateTime(low), Bson::DateTime(high)) => low <= high,
        _ => false,
    }
}

impl Test {
    fn matches(&self, value: &Bson) -> bool {
        match self {
            Self::Equals(only) => value == only,
            Self::Between(from, to) => {
                from.as_ref().is_none_or(|from| is_ordered(from, value))
                    && to.as_ref().is_none_or(|to| is_ordered(value, to))
            }
            Self::Exists => true,
        }
    }

    /// The lowest and the highest value that match, both inclusive.
    fn ends(&self) -> (Bson, Bson) {
        match self {
            Self::Equals(only) => (only.clone(), only.clone()),
            Self::Between(from, to) => {
                // Only values of one type, as in the filter.
                let (least, most) = match from.as_ref().or(to.as_ref()) {
                    Some(Bson::String(_)) => (Bson::from(""), Bson::from(Document::new())),
                    Some(Bson::DateTime(_)) => (DateTime::MIN.into(), DateTime::MAX.into()),
                    _ => (f64::NEG_INFINITY.into(), f64::INFINITY.into()),
                };
                (from.clone().unwrap_or(least), to.clone().unwrap_or(most))
            }
            Self::Exists => (Bson::MinKey, Bson::MaxKey),
        }
    }
}
