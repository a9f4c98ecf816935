//! Checks of the input of assets.

use std::collections::BTreeSet;

use mongodb::bson::Bson;

use super::super::{
    documents::Attribute,
    store::OF_FILE,
    types::{AttributeInput, AttributeValueInput},
};
use crate::graphql::{input, refusals::InvalidInput, requester::Role, scalars::Slug, text};

/// Maximum length of an attribute's key, in characters.
pub(super) const KEY: usize = 100;
/// Maximum length of an attribute's text, in characters.
pub(super) const VALUE: usize = 1_000;
/// Maximum number of attributes of one asset, including those that are read from its file.
pub(super) const ATTRIBUTES: usize = 150;
/// Maximum number of attributes in one call.
const GIVEN: usize = 100;
/// Maximum length of a title, in characters.
const TITLE: usize = 300;
/// Length to which file names are truncated, in characters.
const NAME: usize = 200;
/// Maximum length of a slug that is derived from a file name, in characters.
const SLUG: usize = 64;

pub(super) fn title(title: &str) -> Result<String, InvalidInput> {
    input::text("title", title, 1..=TITLE)
}

/// Names of roles as a sorted set.
pub(super) fn access(names: &[String]) -> Result<Vec<String>, InvalidInput> {
    input::at_most("access", names, Role::ALL.len())?;
    let role = |name: &String| {
        let role = Role::from_name(name).map(|role| role.name().to_owned());
        role.ok_or_else(|| {
            let known: Vec<_> = Role::ALL.iter().map(|role| role.name()).collect();
            InvalidInput::new("access", format!("takes names of roles: {}", known.join(", ")))
        })
    };
    Ok(names.iter().map(role).collect::<Result<BTreeSet<_>, _>>()?.into_iter().collect())
}

pub(super) fn attributes(given: &[AttributeInput]) -> Result<Vec<Attribute>, InvalidInput> {
    input::at_most("attributes", given, GIVEN)?;
    let mut keys = BTreeSet::new();
    let one = |(at, AttributeInput { key, value }): (usize, &AttributeInput)| {
        let field = format!("attributes.{at}");
        // Verbatim: searches use key and value exactly as they were given.
        let key = input::verbatim(&format!("{field}.key"), key, 1..=KEY)?;
        if key.starts_with(OF_FILE) {
            let reason = format!("begins with {OF_FILE}, which is what files say of themselves");
            return Err(InvalidInput::new(&format!("{field}.key"), reason));
        }
        if !keys.insert(key.clone()) {
            return Err(InvalidInput::new(&format!("{field}.key"), "is there twice"));
        }
        Ok(Attribute { key, value: self::value(&format!("{field}.value"), value)? })
    };
    given.iter().enumerate().map(one).collect()
}

/// A value as it is stored: with its type.
pub(super) fn value(field: &str, value: &AttributeValueInput) -> Result<Bson, InvalidInput> {
    Ok(match value {
        AttributeValueInput::Text(text) => input::verbatim(field, text, 0..=VALUE)?.into(),
        AttributeValueInput::Number(number) => Bson::Double(*number),
        AttributeValueInput::Date(moment) => moment.0.into(),
        AttributeValueInput::Flag(flag) => Bson::Boolean(*flag),
    })
}

/// The name of a file without its folders, and without characters that a name can't have.
pub(super) fn file_name(told: &str) -> String {
    let last = told.rsplit(['/', '\\']).next().unwrap_or_default();
    let fits = |c: &char| !c.is_control() && !text::is_directing(*c);
    let name: String = last.chars().filter(fits).take(NAME).collect();
    let name = text::trimmed(&name);
    if text::is_visible(name.trim_matches('.')) { name.to_owned() } else { "file".to_owned() }
}

/// A slug derived from a file's name: its letters and digits, with hyphens for everything else.
pub(super) fn slug_of(name: &str) -> Option<Slug> {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if slug.len() == SLUG {
            break;
        }
        if character.is_ascii_lowercase() || character.is_ascii_digit() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    Slug::parse_slug(slug.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_no_name_has() {
        for (told, name, slug) in [
            ("Lisbon, Tram 28.JPG", "Lisbon, Tram 28.JPG", Some("lisbon-tram-28-jpg")),
            ("../../etc/passwd", "passwd", Some("passwd")),
            ("C:\\pictures\\a.png", "a.png", Some("a-png")),
            ("a\0b\r\nc.png", "abc.png", Some("abc-png")),
            ("..%2f..%2fx", "..%2f..%2fx", Some("2f-2fx")),
            ("$where", "$where", Some("where")),
            ("..", "file", Some("file")),
            ("", "file", Some("file")),
            ("写真.png", "写真.png", Some("png")),
            ("写真", "写真", None),
            ("---", "---", None),
            ("\u{202e}gpj.exe", "gpj.exe", Some("gpj-exe")),
            ("\u{200b}\u{ad}", "file", Some("file")),
        ] {
            assert_eq!(file_name(told), name, "{told:?}");
            let made = slug_of(name);
            assert_eq!(made.as_ref().map(Slug::as_str), slug, "{told:?}");
        }
        let long = "x".repeat(10_000);
        assert_eq!(
            (file_name(&long).len(), slug_of(&long).map(|slug| slug.as_str().len())),
            (200, Some(64))
        );
    }
}
