//! Checks of arguments. Each names its field, so that a client can show the fault where it is.

use std::ops::RangeInclusive;

use iso_currency::Country;

use super::{
    node_id::{self, NodeKind},
    refusals::{InvalidInput, NotFound},
    scalars::Slug,
    text,
};
use crate::mongo::flow::Op;

/// A text that people write and read: `length` characters without white space at its ends. What may have no
/// character at all may be blank; anything else holds at least one that is seen. Which characters are taken is
/// said in [`text`](super::text).
///
/// # Errors
/// Names the field.
pub fn text(
    field: &str,
    value: &str,
    length: RangeInclusive<usize>,
) -> Result<String, InvalidInput> {
    checked(field, text::trimmed(value), length)
}

/// A text that is taken as it is, because it is compared with others: a search, a prefix, a name that someone
/// else has made. Its characters are checked like those of [`text`].
///
/// # Errors
/// Names the field.
pub fn verbatim(
    field: &str,
    value: &str,
    length: RangeInclusive<usize>,
) -> Result<String, InvalidInput> {
    checked(field, value, length)
}

fn checked(
    field: &str,
    value: &str,
    length: RangeInclusive<usize>,
) -> Result<String, InvalidInput> {
    // Bytes first: counting the characters of 16 MB isn't worth it.
    if value.len() > length.end() * 4 || !length.contains(&value.chars().count()) {
        let (least, most) = (length.start(), length.end());
        return Err(InvalidInput::new(field, format!("takes {least} to {most} characters")));
    }
    if let Some(fault) = text::fault(value) {
        return Err(InvalidInput::new(field, fault));
    }
    if *length.start() > 0 && !text::is_visible(value) {
        return Err(InvalidInput::new(field, "takes at least one character that is seen"));
    }
    Ok(value.to_owned())
}

/// The `_id` behind a global id of that kind. A text that is no such id is as good as the id of nothing.
///
/// # Errors
/// There can be nothing of that kind with this id.
pub fn id(kind: NodeKind, value: &str) -> Result<String, NotFound> {
    let key = node_id::decode(value).filter(|(found, _)| *found == kind).map(|(_, key)| key);
    key.filter(|key| is_key(key)).ok_or_else(|| NotFound::given(kind.name(), value))
}

/// The SKU of a product that is there already. A text that can't be one is as good as the SKU of nothing.
///
/// # Errors
/// There can be no product of this SKU.
pub fn sku(value: &str) -> Result<String, NotFound> {
    if is_key(value) {
        return Ok(value.to_owned());
    }
    Err(NotFound::given(NodeKind::Product.name(), value))
}

/// A key: 1 to 128 printable ASCII characters without `$`, `.`, quotes or spaces.
///
/// # Errors
/// Names the field.
pub fn key(field: &str, value: &str) -> Result<String, InvalidInput> {
    if is_key(value) {
        return Ok(value.to_owned());
    }
    let reason = "takes 1 to 128 letters, digits, '-', '_', '~' or ':'";
    Err(InvalidInput::new(field, reason))
}

/// Whether it can be a key.
pub fn is_key(value: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~' | b':');
    (1..=128).contains(&value.len()) && value.bytes().all(fits)
}

/// A country: a code that [ISO 3166-1](https://www.iso.org/iso-3166-country-codes.html) has assigned.
///
/// # Errors
/// Names the field.
pub fn country(field: &str, value: &str) -> Result<String, InvalidInput> {
    // The crate reads an empty text as a country that isn't specified.
    if value.len() == 2 && value.parse::<Country>().is_ok() {
        return Ok(value.to_owned());
    }
    let reason = "takes an assigned ISO 3166-1 code of two capital letters, such as DE";
    Err(InvalidInput::new(field, reason))
}

/// Bytes of a path at the most.
const PATH: usize = 4_000;

/// A path: slugs, each behind a `/`.
///
/// # Errors
/// Names the field.
pub fn path<'a>(field: &str, value: &'a str) -> Result<&'a str, InvalidInput> {
    let steps = value.strip_prefix('/').filter(|steps| steps.len() < PATH);
    if steps.is_some_and(|steps| steps.split('/').all(|step| Slug::parse_slug(step).is_some())) {
        return Ok(value);
    }
    Err(InvalidInput::new(field, "isn't a path such as /music/jazz"))
}

/// Tags of one thing at the most.
pub const TAGS: usize = 30;

/// Tags: a set, sorted.
///
/// # Errors
/// Names the field, and which of them.
pub fn tags(field: &str, tags: &[String]) -> Result<Vec<String>, InvalidInput> {
    at_most(field, tags, TAGS)?;
    let each = |(at, tag): (usize, &String)| self::tag(&format!("{field}.{at}"), tag);
    let mut tags = tags.iter().enumerate().map(each).collect::<Result<Vec<_>, _>>()?;
    tags.sort();
    tags.dedup();
    Ok(tags)
}

/// A tag: 1 to 64 characters on one line.
///
/// # Errors
/// Names the field.
pub fn tag(field: &str, tag: &str) -> Result<String, InvalidInput> {
    line(field, tag, 1..=64)
}

/// A text of `length` characters on one line, without spaces at its ends.
///
/// # Errors
/// Names the field.
pub fn line(
    field: &str,
    value: &str,
    length: RangeInclusive<usize>,
) -> Result<String, InvalidInput> {
    let line = verbatim(field, value, length)?;
    if text::trimmed(&line) != line || !text::is_line(&line) {
        let reason = "takes no line breaks or tabs, and no spaces at its ends";
        return Err(InvalidInput::new(field, reason));
    }
    Ok(line)
}

/// A text in lower case, for keys by which it is found. Letter by letter, so that a prefix of the
/// text gives a prefix of the key.
pub fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// A number within `range`.
///
/// # Errors
/// Names the field.
pub fn within(field: &str, value: i64, range: RangeInclusive<i64>) -> Result<i64, InvalidInput> {
    if range.contains(&value) {
        return Ok(value);
    }
    let reason = format!("must be between {} and {}", range.start(), range.end());
    Err(InvalidInput::new(field, reason))
}

/// A list of at most `most` elements.
///
/// # Errors
/// Names the field.
pub fn at_most<T>(field: &str, list: &[T], most: usize) -> Result<(), InvalidInput> {
    if list.len() <= most {
        return Ok(());
    }
    Err(InvalidInput::new(field, format!("takes at most {most} elements")))
}

/// An optional op id: any 1 to 128 characters that the client chose, of which at least one is seen.
///
/// # Errors
/// Names the field.
pub fn op_id(value: Option<&async_graphql::ID>) -> Result<Option<String>, InvalidInput> {
    value.map(|id| verbatim("opId", id, 1..=128)).transpose()
}

/// The op of a call whose `op_id` came from the client; see [`crate::app::Ids::op`].
///
/// # Errors
/// The op id can't be used.
pub fn op(
    app: &crate::app::App,
    scope: &[&str],
    op_id_argument: Option<&async_graphql::ID>,
    input: &impl serde::Serialize,
) -> Result<Op, InvalidInput> {
    Ok(app.ids().op(scope, op_id(op_id_argument)?.as_deref(), input))
}
