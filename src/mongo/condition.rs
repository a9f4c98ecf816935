//! Conditions on a document as values. From each follows the expression that MongoDB evaluates in a guard, and the same
//! check of a document that was read.

use std::cmp::Ordering;

use mongodb::bson::{Bson, DateTime, Document, RawDocument, doc};

use super::{
    comparison::{added, elements, equal, order, value},
    driver::field_of,
    expression::{array, filter, literal, map, not},
};
use crate::error::Error;

/// A condition on a document. Fields are dotted paths, of constants of the code only. Below an array, a path stands for
/// the array of the values in its elements.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// All of them hold.
    All(Vec<Self>),
    /// At least one of them holds.
    Any(Vec<Self>),
    /// It doesn't hold.
    Not(Box<Self>),
    /// The field has this value, which isn't a document. Of an array, the elements are texts.
    Is(String, Bson),
    /// The document has the field.
    Exists(String),
    /// The array contains this value, which is neither an array nor a document. A missing array is empty.
    Contains(String, Bson),
    /// The array has an element that meets the condition, whose fields are those of the element. A missing array is
    /// empty.
    HasElement(String, Box<Self>),
    /// The first number isn't less than the second. As in MongoDB's order of types, a missing number is less than any
    /// other.
    AtLeast(Number, Number),
    /// The time isn't in the future, by the server's clock.
    IsPast(String),
}

/// A number in a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// The number itself.
    Value(i64),
    /// The number in the field.
    Field(String),
    /// The number in the field, or this one if it is missing.
    FieldOr(String, i64),
    /// The sum of the number in the field and this one.
    Sum(String, i64),
    /// The sum of the numbers in these fields. Below an array, it is that of all elements. What isn't a number counts as zero.
    Total(Vec<String>),
    /// The number of elements of the array. A missing array is empty.
    Size(String),
    /// The number of elements of the array that meet the condition, whose fields are those of the element. A missing
    /// array is empty.
    Count(String, Box<Condition>),
}

/// The field has this value.
pub fn is(field: impl Into<String>, value: impl Into<Bson>) -> Condition {
    Condition::Is(field.into(), value.into())
}

/// The document has the field.
pub fn exists(field: impl Into<String>) -> Condition {
    Condition::Exists(field.into())
}

/// The time isn't in the future; see [`Condition::IsPast`].
pub fn is_past(field: impl Into<String>) -> Condition {
    Condition::IsPast(field.into())
}

/// The document doesn't have the field.
pub fn is_absent(field: impl Into<String>) -> Condition {
    exists(field).negated()
}

/// The array contains this value; see [`Condition::Contains`].
pub fn contains(field: impl Into<String>, value: impl Into<Bson>) -> Condition {
    Condition::Contains(field.into(), value.into())
}

/// The array has an element that meets all these conditions; see [`Condition::HasElement`].
pub fn has_element(
    field: impl Into<String>,
    conditions: impl IntoIterator<Item = Condition>,
) -> Condition {
    let all = Condition::All(conditions.into_iter().collect());
    Condition::HasElement(field.into(), Box::new(all))
}

/// The first number isn't less than the second; see [`Condition::AtLeast`].
pub fn at_least(number: impl Into<Number>, least: impl Into<Number>) -> Condition {
    Condition::AtLeast(number.into(), least.into())
}

/// The array has fewer elements than `cap`.
pub fn has_room(field: impl Into<String>, cap: impl Into<i64>) -> Condition {
    at_least(cap.into() - 1, Number::Size(field.into()))
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Value(value)
    }
}

impl From<&str> for Number {
    fn from(field: &str) -> Self {
        Self::Field(field.to_owned())
    }
}

impl Condition {
    /// The condition that holds if this one doesn't.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// The condition as a guard.
    pub fn guard(&self) -> Document {
        doc! { "$expr": self.expression() }
    }

    /// The condition as an aggregation expression on the document.
    pub fn expression(&self) -> Document {
        self.below("")
    }

    /// The condition as an expression on the document, or with `$this.` on an element of an array.
    fn below(&self, root: &str) -> Document {
        let path = |field: &str| format!("${root}{field}");
        let array_of = |field: &str| array(&format!("{root}{field}"));
        let each = |all: &[Self]| all.iter().map(|one| one.below(root)).collect::<Vec<_>>();
        match self {
            Self::All(all) => doc! { "$and": each(all) },
            Self::Any(all) => doc! { "$or": each(all) },
            Self::Not(condition) => not(condition.below(root)),
            Self::Is(field, value) => doc! { "$eq": [path(field), literal(value.clone())] },
            Self::Exists(field) => doc! { "$ne": [{ "$type": path(field) }, "missing"] },
            Self::Contains(field, value) => {
                doc! { "$in": [literal(value.clone()), array_of(field)] }
            }
            Self::HasElement(field, condition) => {
                doc! { "$anyElementTrue": [map(array_of(field), condition.below("$this."))] }
            }
            Self::AtLeast(number, least) => {
                doc! { "$gte": [number.below(root), least.below(root)] }
            }
            Self::IsPast(field) => doc! { "$and": [
                { "$eq": [{ "$type": path(field) }, "date"] },
                { "$lte": [path(field), "$$NOW"] },
            ] },
        }
    }

    /// The fields of the document that the condition depends on, without the rest of their paths.
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::All(all) | Self::Any(all) => all.iter().flat_map(Self::fields).collect(),
            Self::Not(condition) => condition.fields(),
            Self::Is(field, _)
            | Self::Exists(field)
            | Self::Contains(field, _)
            | Self::HasElement(field, _)
            | Self::IsPast(field) => vec![root(field)],
            Self::AtLeast(number, least) => {
                number.fields().into_iter().chain(least.fields()).collect()
            }
        }
    }

    /// Like [`Self::holds`], for a document as it is stored. Only the fields of the condition are decoded.
    ///
    /// # Errors
    /// `Internal` if the document isn't BSON.
    pub fn holds_for(&self, stored: &RawDocument, now: DateTime) -> Result<bool, Error> {
        let mut fields = Document::new();
        for field in self.fields() {
            fields.extend(field_of(stored, field)?.map(|value| (field.to_owned(), value)));
        }
        Ok(self.holds(&fields, now))
    }

    /// Whether the condition holds for a document that was read when the server's clock showed `now`. An array in the
    /// place of a number, or a number in the place of an array, is an error for MongoDB; here it is a condition that
    /// doesn't hold.
    pub fn holds(&self, document: &Document, now: DateTime) -> bool {
        let value = |field: &str| value(document, field);
        match self {
            Self::All(all) => all.iter().all(|one| one.holds(document, now)),
            Self::Any(all) => all.iter().any(|one| one.holds(document, now)),
            Self::Not(condition) => !condition.holds(document, now),
            Self::Is(field, wanted) => value(field).is_some_and(|found| equal(&found, wanted)),
            Self::Exists(field) => value(field).is_some(),
            Self::Contains(field, wanted) => {
                elements(value(field)).iter().any(|found| equal(found, wanted))
            }
            Self::HasElement(field, condition) => elements(value(field)).iter().any(|found| {
                let fields = found.as_document();
                condition.holds(fields.unwrap_or(&Document::new()), now)
            }),
            Self::AtLeast(number, least) => {
                order(number.of(document, now).as_ref(), least.of(document, now).as_ref())
                    != Ordering::Less
            }
            Self::IsPast(field) => matches!(value(field), Some(Bson::DateTime(at)) if at <= now),
        }
    }
}

impl Number {
    /// The number as an aggregation expression on the document.
    pub fn expression(&self) -> Bson {
        self.below("")
    }

    fn below(&self, root: &str) -> Bson {
        let path = |field: &str| format!("${root}{field}");
        match self {
            Self::Value(value) => (*value).into(),
            Self::Field(field) => path(field).into(),
            Self::FieldOr(field, value) => doc! { "$ifNull": [path(field), *value] }.into(),
            Self::Sum(field, value) => doc! { "$add": [path(field), *value] }.into(),
            Self::Total(fields) => {
                let sums = fields.iter().map(|field| doc! { "$sum": path(field) });
                doc! { "$add": sums.collect::<Vec<_>>() }.into()
            }
            Self::Size(field) => doc! { "$size": array(&format!("{root}{field}")) }.into(),
            Self::Count(field, condition) => {
                let met = condition.below("$this.");
                doc! { "$size": filter(array(&format!("{root}{field}")), met) }.into()
            }
        }
    }

    /// The fields that it depends on, without the rest of their paths.
    fn fields(&self) -> Vec<&str> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Field(field)
            | Self::FieldOr(field, _)
            | Self::Sum(field, _)
            | Self::Size(field)
            | Self::Count(field, _) => vec![root(field)],
            Self::Total(fields) => fields.iter().map(|field| root(field)).collect(),
        }
    }

    fn of(&self, document: &Document, now: DateTime) -> Option<Bson> {
        let value = |field: &str| value(document, field);
        match self {
            Self::Value(value) => Some((*value).into()),
            Self::Field(field) => value(field),
            Self::FieldOr(field, other) => {
                value(field).filter(|found| *found != Bson::Null).or(Some((*other).into()))
            }
            Self::Sum(field, more) => {
                let sum = value(field).and_then(|number| added(&(*more).into(), &number));
                Some(sum.unwrap_or(Bson::Null))
            }
            Self::Total(fields) => {
                let numbers = fields.iter().flat_map(|field| match value(field) {
                    Some(Bson::Array(all)) => all,
                    one => one.into_iter().collect(),
                });
                Some(numbers.fold(Bson::Int64(0), |sum, more| added(&sum, &more).unwrap_or(sum)))
            }
            Self::Count(field, condition) => {
                let met = |found: &&Bson| {
                    let fields = found.as_document();
                    condition.holds(fields.unwrap_or(&Document::new()), now)
                };
                let met = elements(value(field)).iter().filter(met).count();
                Some(i64::try_from(met).unwrap_or(i64::MAX).into())
            }
            Self::Size(field) => {
                Some(i64::try_from(elements(value(field)).len()).unwrap_or(i64::MAX).into())
            }
        }
    }
}

/// The first field of a path.
fn root(path: &str) -> &str {
    path.split_once('.').map_or(path, |(field, _)| field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mongo::driver::encode;

    #[test]
    fn a_condition_holds_for_a_stored_document_as_for_a_decoded_one() {
        let condition =
            Condition::All(vec![is_past("a.at"), is_absent("gone"), contains("b.c", "x")]);
        let at = DateTime::from_millis(1);
        let document = doc! { "a": { "at": at }, "b": [{ "c": "x" }], "other": [1, 2] };
        let gone = doc! { "a": { "at": at }, "b": [{ "c": "x" }], "gone": true };
        for (document, now, expected) in
            [(&document, 0, false), (&document, 1, true), (&gone, 1, false)]
        {
            let (stored, now) = (encode(document).expect("encoded"), DateTime::from_millis(now));
            assert_eq!(condition.holds_for(&stored, now).expect("decoded"), expected);
            assert_eq!(condition.holds(document, now), expected);
        }
    }
}
