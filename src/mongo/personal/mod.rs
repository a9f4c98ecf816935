//! Declarations of the personal data in collections. Exports and erasures find a person's data by these declarations.
//!
//! A person is known by the subject of their tokens. A room declares for each of its collections either the fields that hold
//! a subject, or that there are none ([`Personal`]). A path with `[]` behind a name goes through the elements of a list.
//!
//! A collection is searched by an index of a field, or in the order of `_id` from its beginning to its end, at most
//! `PAGE` documents by one command ([`Find`]). A document is changed or removed by one command whose filter names the values
//! that were read, also those of the fields that tell of a flow. So a document that changes meanwhile isn't damaged, and is
//! found again by the next run.

mod path;
mod search;

use mongodb::bson::Document;

pub use path::take_out;
pub use search::{Found, Searched, names};

/// What a collection holds of a person.
#[derive(Debug, Clone, Copy)]
pub struct Personal {
    /// Name of the collection, as the room declares it. A `*` at its end stands for what is known only at run time.
    pub collection: &'static str,
    /// What it holds.
    pub holds: Holds,
}

/// See [`Personal::holds`].
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// Nothing of a person, for this reason.
    Nothing(&'static str),
    /// Subjects, and what belongs to them.
    Subjects(Subjects),
}

/// The fields of a collection that hold subjects.
#[derive(Debug, Clone, Copy)]
pub struct Subjects {
    /// How documents are found.
    pub find: Find,
    /// The fields.
    pub fields: &'static [Field],
    /// Whether a flow is going on in a document, which would write the subject again. It isn't changed then.
    pub in_flight: Option<InFlight>,
    /// Whether the documents are copies of others. An export leaves them out.
    pub are_copies: bool,
    /// Documents that an export has although they don't hold the subject.
    pub owned: Option<Owned>,
    /// Paths of fields that others keep from the person, who doesn't see them elsewhere either. An export leaves them out of a
    /// whole document.
    pub untold: &'static [&'static str],
    /// Name of the lease whose holder computes the documents from those of the declarations before. The holder may have read
    /// these before they were erased.
    pub computed_under: Option<&'static str>,
}

/// Documents that name what a person owns, such as the transfers to an account. An export has them; an erasure leaves them,
/// because what they name is under the pseudonym then. The collection must be one that is walked.
#[derive(Debug, Clone, Copy)]
pub struct Owned {
    /// Collection of what is owned.
    pub collection: &'static str,
    /// Its field that holds the subject.
    pub owner: &'static str,
    /// Field of the documents with the `_id` of what is owned, or a list of them.
    pub field: &'static str,
    /// Fields that are others' or gateways' matter. An export leaves them out of a document without the subject.
    pub without: &'static [&'static str],
}

/// See [`Subjects::in_flight`].
#[derive(Debug, Clone, Copy)]
pub struct InFlight {
    /// The fields of the document that tell it. They aren't paths. A document in which one of them changes meanwhile isn't
    /// changed.
    pub fields: &'static [&'static str],
    /// Whether they say so, of a document that holds the subject. It may look at the declared fields too, and of documents that
    /// are found by an index at all fields.
    pub is: fn(document: &Document, subject: &str) -> bool,
}

/// How the documents are found that hold a subject.
#[derive(Debug, Clone, Copy)]
pub enum Find {
    /// By their `_id`, which is the subject.
    Id,
    /// By this field, and the index with this name, which begins with the field.
    Index(&'static str, &'static str),
    /// By reading all documents in the order of `_id`.
    Walk,
}

/// A field that holds a subject.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Path of the field.
    pub path: &'static str,
    /// How the subject is in the value, if it isn't the value itself.
    pub key: Option<Key>,
    /// What an erasure does.
    pub erasure: Erasure,
    /// Whether the elements with it are copies. An export leaves them out.
    pub is_copied: bool,
}

/// Values that contain a subject.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Whether the value contains this subject.
    pub is_of: fn(value: &str, subject: &str) -> bool,
    /// The value with another subject in its place.
    pub with: fn(value: &str, subject: &str, other: &str) -> String,
}

/// What an erasure does with a field.
#[derive(Debug, Clone, Copy)]
pub enum Erasure {
    /// It removes the document.
    Document,
    /// It removes the element of the last list on the path.
    Element,
    /// It replaces the subject by the person's pseudonym, and these fields beside it by what is said of each.
    Pseudonym(&'static [(&'static str, Blank)]),
    /// An operation of the room ends it before the fields are looked at, as described here.
    Operation(&'static str),
}

/// What takes the place of a field beside a subject.
#[derive(Debug, Clone, Copy)]
pub enum Blank {
    /// Nothing: the field goes.
    Nothing,
    /// An empty text.
    Empty,
    /// The pseudonym.
    Pseudonym,
    /// Empty texts in these fields of it.
    EmptyFields(&'static [&'static str]),
}

impl Personal {
    /// Of a collection that holds nothing of a person, with the reason.
    pub const fn nothing(collection: &'static str, why: &'static str) -> Self {
        Self { collection, holds: Holds::Nothing(why) }
    }

    /// Of a collection with subjects.
    pub const fn of(collection: &'static str, find: Find, fields: &'static [Field]) -> Self {
        Self::declared(collection, find, fields, false)
    }

    /// The same of copies.
    pub const fn copies(collection: &'static str, find: Find, fields: &'static [Field]) -> Self {
        Self::declared(collection, find, fields, true)
    }

    const fn declared(
        collection: &'static str,
        find: Find,
        fields: &'static [Field],
        are_copies: bool,
    ) -> Self {
        let (in_flight, owned, computed_under) = (None, None, None);
        let untold = &[];
        let subjects =
            Subjects { find, fields, in_flight, are_copies, owned, untold, computed_under };
        Self { collection, holds: Holds::Subjects(subjects) }
    }

    /// The same with documents in which a flow may be going on, as these fields tell.
    #[must_use]
    pub const fn unless(
        self,
        fields: &'static [&'static str],
        is: fn(document: &Document, subject: &str) -> bool,
    ) -> Self {
        let Holds::Subjects(subjects) = self.holds else { return self };
        let in_flight = Some(InFlight { fields, is });
        Self { holds: Holds::Subjects(Subjects { in_flight, ..subjects }), ..self }
    }

    /// The same with documents that name what the person owns.
    #[must_use]
    pub const fn and_owned(self, owned: Owned) -> Self {
        let Holds::Subjects(subjects) = self.holds else { return self };
        Self { holds: Holds::Subjects(Subjects { owned: Some(owned), ..subjects }), ..self }
    }

    /// The same with fields that an export leaves out of a whole document; see [`Subjects::untold`].
    #[must_use]
    pub const fn without(self, untold: &'static [&'static str]) -> Self {
        let Holds::Subjects(subjects) = self.holds else { return self };
        Self { holds: Holds::Subjects(Subjects { untold, ..subjects }), ..self }
    }

    /// The same with documents that the holder of a lease computes from those of the declarations before.
    #[must_use]
    pub const fn computed_under(self, lease: &'static str) -> Self {
        let Holds::Subjects(subjects) = self.holds else { return self };
        let computed_under = Some(lease);
        Self { holds: Holds::Subjects(Subjects { computed_under, ..subjects }), ..self }
    }

    /// Whether a field with this path is declared.
    pub fn has(&self, path: &str) -> bool {
        self.subjects()
            .is_some_and(|subjects| subjects.fields.iter().any(|field| field.path == path))
    }

    /// The fields, if there are any.
    pub const fn subjects(&self) -> Option<&Subjects> {
        match &self.holds {
            Holds::Nothing(_) => None,
            Holds::Subjects(subjects) => Some(subjects),
        }
    }
}

impl Field {
    const fn new(path: &'static str, erasure: Erasure) -> Self {
        Self { path, key: None, erasure, is_copied: false }
    }

    /// A field whose document is removed.
    pub const fn removes(path: &'static str) -> Self {
        Self::new(path, Erasure::Document)
    }

    /// A field whose element is removed.
    pub const fn pulls(path: &'static str) -> Self {
        Self::new(path, Erasure::Element)
    }

    /// A field that gets the pseudonym.
    pub const fn replaces(path: &'static str) -> Self {
        Self::new(path, Erasure::Pseudonym(&[]))
    }

    /// A field that gets the pseudonym, and fields beside it. `list[].name` is a field of all elements of a list of the
    /// document; a search that walks doesn't read it.
    pub const fn blanks(path: &'static str, beside: &'static [(&'static str, Blank)]) -> Self {
        Self::new(path, Erasure::Pseudonym(beside))
    }

    /// A field whose document an operation of the room ends.
    pub const fn ends(path: &'static str, what: &'static str) -> Self {
        Self::new(path, Erasure::Operation(what))
    }

    /// The same with another way to find the subject in the value.
    #[must_use]
    pub const fn within(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same in the elements of a list that are copies, in a document that is none.
    #[must_use]
    pub const fn copied(self) -> Self {
        Self { is_copied: true, ..self }
    }

    /// Whether the value contains the subject.
    fn is_of(&self, value: &str, subject: &str) -> bool {
        self.key.map_or_else(|| value == subject, |key| (key.is_of)(value, subject))
    }

    /// The value with another subject.
    fn with(&self, value: &str, subject: &str, other: &str) -> String {
        self.key.map_or_else(|| other.to_owned(), |key| (key.with)(value, subject, other))
    }
}

/// Values of the form `OTHER SUBJECT`, in which the first part has no space.
pub const BEHIND_A_SPACE: Key = Key {
    is_of: |value, subject| value.split_once(' ').is_some_and(|(_, named)| named == subject),
    with: |value, _, other| {
        let first = value.split_once(' ').map_or("", |(first, _)| first);
        format!("{first} {other}")
    },
};

/// Values of the form `OTHER:SUBJECT`, in which the first part has no colon.
pub const BEHIND_A_COLON: Key = Key {
    is_of: |value, subject| value.split_once(':').is_some_and(|(_, named)| named == subject),
    with: |value, _, other| {
        let first = value.split_once(':').map_or("", |(first, _)| first);
        format!("{first}:{other}")
    },
};

/// Values of two subjects, in the form `LENGTH FIRST SECOND` with the length of the first one in bytes.
pub const ONE_OF_TWO: Key = Key {
    is_of: |value, subject| {
        two(value).is_some_and(|(first, second)| first == subject || second == subject)
    },
    with: |value, subject, other| {
        let Some((first, second)) = two(value) else { return value.to_owned() };
        let named = |name| if name == subject { other } else { name };
        let (first, second) = (named(first), named(second));
        format!("{} {first} {second}", first.len())
    },
};

fn two(value: &str) -> Option<(&str, &str)> {
    let (length, both) = value.split_once(' ')?;
    let length: usize = length.parse().ok()?;
    Some((both.get(..length)?, both.get(length..)?.strip_prefix(' ')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_found_in_keys() {
        let (is_of, with) = (ONE_OF_TWO.is_of, ONE_OF_TWO.with);
        assert!(is_of("3 a b c", "a b") && is_of("3 a b c", "c"));
        assert!(!is_of("3 a b c", "a") && !is_of("c", "c"));
        assert_eq!(with("3 a b c", "a b", "x"), "1 x c");
        assert_eq!(with("3 a b c", "c", "x"), "3 a b x");
        assert!((BEHIND_A_SPACE.is_of)("id a b", "a b"));
        assert!(!(BEHIND_A_SPACE.is_of)("id a b", "b"));
        assert_eq!((BEHIND_A_SPACE.with)("id a b", "a b", "x"), "id x");
        assert!((BEHIND_A_COLON.is_of)("id:a:b", "a:b"));
        assert_eq!((BEHIND_A_COLON.with)("id:a:b", "a:b", "x"), "id:x");
    }
}
