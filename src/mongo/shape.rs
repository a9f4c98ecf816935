//! Descriptions of stored documents, for the documentation. [`document!`](super::stored) derives a description from
//! each declaration, so that the documentation can't differ from the code.

use std::{collections::BTreeMap, marker::PhantomData};

/// A type that is declared with [`document!`](super::stored), or a list or map of one.
pub trait Described {
    /// Its description.
    const SHAPE: Shape;
}

/// The description of a type.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Name of the type in the code.
    pub name: &'static str,
    /// Its attributes as they are written, comments among them.
    pub attributes: &'static [&'static str],
    /// What it consists of.
    pub content: Content,
}

/// What a type consists of.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// The fields of a document.
    Fields(&'static [Field]),
    /// The values of an enum.
    Values(&'static [&'static str]),
}

/// The description of a field.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name in the code.
    pub name: &'static str,
    /// Name in stored documents, if it isn't the one in the code in camel case.
    pub stored: Option<&'static str>,
    /// Its attributes as they are written, comments among them.
    pub attributes: &'static [&'static str],
    /// Its type as it is written.
    pub type_name: &'static str,
    /// Whether documents without it are declared: `name?: Type`.
    pub is_optional: bool,
    /// The description of its type, if there is one.
    pub part: fn() -> Option<Shape>,
}

impl Shape {
    /// The comment of the type in one line.
    pub fn comment(&self) -> String {
        comment(self.attributes)
    }
}

impl Field {
    /// Name in stored documents.
    pub fn key(&self) -> String {
        let renamed = || {
            self.attributes.iter().find_map(|attribute| {
                let (_, rest) = attribute.split_once("rename = \"")?;
                Some(rest.split_once('"')?.0.to_owned())
            })
        };
        let stored = self.stored.map(str::to_owned);
        stored.or_else(renamed).unwrap_or_else(|| camel_case(self.name))
    }

    /// The comment of the field in one line.
    pub fn comment(&self) -> String {
        comment(self.attributes)
    }

    /// Whether the attribute of serde has this word.
    pub fn has(&self, word: &str) -> bool {
        self.attributes.iter().any(|attribute| {
            let rest = attribute.strip_prefix("serde(").unwrap_or_default();
            rest.split([',', ')']).any(|one| one.trim() == word)
        })
    }
}

/// The lines of a comment, which is written as the attributes `doc = "…"`.
fn comment(attributes: &[&str]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let text = attribute.strip_prefix("doc")?.trim_start().strip_prefix('=')?.trim();
        let text = text.strip_prefix('r').unwrap_or(text).trim_matches('#');
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        Some(text.trim().replace("\\\"", "\"").replace("[`", "`").replace("`]", "`"))
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// The name of a field in the schema and in stored documents: `owner_id` is `ownerId`.
pub fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// The name of an enum's value in stored documents: `AtCheckout` is `AT_CHECKOUT`.
pub fn value_name(name: &str) -> String {
    let mut stored = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !stored.is_empty() {
            stored.push('_');
        }
        stored.push(letter.to_ascii_uppercase());
    }
    stored
}

/// The first of the texts.
pub const fn first(texts: &[&'static str]) -> Option<&'static str> {
    match texts {
        [first, ..] => Some(first),
        [] => None,
    }
}

impl<T: Described> Described for Option<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Described> Described for Vec<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Described> Described for Box<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<K, T: Described> Described for BTreeMap<K, T> {
    const SHAPE: Shape = T::SHAPE;
}

/// Finds out whether `T` is described. A method is looked for on `&Probe<T>` first, where [`IfDescribed`] has it, and then
/// on `&&Probe<T>`, where [`Otherwise`] has it. So `(&Probe::<T>::of_type()).shape()` compiles for every type.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// A probe of `T`.
    pub const fn of_type() -> Self {
        Self(PhantomData)
    }
}

/// See [`Probe`].
pub trait IfDescribed {
    /// The description.
    fn shape(&self) -> Option<Shape>;
}

impl<T: Described> IfDescribed for Probe<T> {
    fn shape(&self) -> Option<Shape> {
        Some(T::SHAPE)
    }
}

/// See [`Probe`].
pub trait Otherwise {
    /// No description.
    fn shape(&self) -> Option<Shape>;
}

impl<T> Otherwise for &Probe<T> {
    fn shape(&self) -> Option<Shape> {
        None
    }
}

/// What the macro needs to ask for the description of a type; see [`Probe`].
pub mod prelude {
    pub use super::{IfDescribed, Otherwise, Probe};
}

#[cfg(test)]
mod tests {
    use super::{Content, Described, value_name};
    use crate::mongo::stored::document;

    document! {
        /// A line
        /// of two.
        struct Whole {
            /// Its [`id`](Self).
            id as "_id": String,
            long_name?: i64,
            #[serde(default)]
            parts: Vec<Part>,
        }

        /// A part.
        struct Part {
            kind: Kind,
        }

        /// Kinds.
        enum Kind {
            AtFirst,
            Then,
        }
    }

    #[test]
    fn a_declaration_is_described() {
        let shape = Whole::SHAPE;
        assert_eq!((shape.name, shape.comment().as_str()), ("Whole", "A line of two."));
        let Content::Fields([id, long, parts]) = shape.content else { panic!("{shape:?}") };
        assert_eq!((id.key().as_str(), id.type_name, id.is_optional), ("_id", "String", false));
        assert!((id.part)().is_none() && id.comment().starts_with("Its `id`"), "{}", id.comment());
        assert_eq!(
            (long.key().as_str(), long.type_name, long.is_optional),
            ("longName", "i64", true)
        );
        assert!(parts.has("default") && !parts.has("flatten"));
        let part = (parts.part)().expect("a part");
        let Content::Fields([kind]) = part.content else { panic!("{part:?}") };
        let Some(Content::Values(values)) = (kind.part)().map(|kind| kind.content) else {
            panic!("{kind:?}")
        };
        assert_eq!(
            values.iter().map(|value| value_name(value)).collect::<Vec<_>>(),
            ["AT_FIRST", "THEN"]
        );
    }
}
