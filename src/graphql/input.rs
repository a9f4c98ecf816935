//! Validation of arguments. Each error names the field, so that a client can show it next to the input.

use std::ops::RangeInclusive;

use iso_currency::Country;

use super::{
    node_id::NodeKind,
    refusals::{InvalidInput, NotFound},
    scalars::Slug,
    text,
};

/// Validates a text for display: trims white space and checks that it has `length` characters. A text whose
/// minimum length is zero may be blank; any other one needs at least one visible character. The permitted
/// characters are listed in [`text`](super::text).
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn text(
    field: &str,
    value: &str,
    length: RangeInclusive<usize>,
) -> Result<String, InvalidInput> {
    verbatim(field, text::trimmed(value), length)
}

/// Validates a text for display by which its owner tells things apart, such as the label of an address: a [`text`] in its
/// [composed](text::composed) form.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn composed(
    field: &str,
    value: &str,
    length: RangeInclusive<usize>,
) -> Result<String, InvalidInput> {
    text(field, &text::composed(value), length)
}

/// Validates a text for comparisons, such as a search, a prefix or an external name. It isn't trimmed. Its
/// characters are checked as in [`text`].
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn verbatim(
    field: &str,
    value: &str,
    length: RangeInclusive<usize>,
) -> Result<String, InvalidInput> {
    // The length in bytes is checked first, so that the characters of a very long text needn't be counted.
    if value.len() > length.end() * 4 || !length.contains(&value.chars().count()) {
        let (min, max) = (length.start(), length.end());
        return Err(InvalidInput::new(field, format!("takes {min} to {max} characters")));
    }
    if let Some(fault) = text::fault(value) {
        return Err(InvalidInput::new(field, fault));
    }
    if *length.start() > 0 && !text::is_visible(value) {
        return Err(InvalidInput::new(field, "needs at least one visible character"));
    }
    Ok(value.to_owned())
}

/// Decodes a global id of this kind to the `_id`. A text that isn't such an id is treated as the id of a
/// document that doesn't exist.
///
/// # Errors
/// `NotFound`: no document of this kind can have this id.
pub fn id(kind: NodeKind, value: &str) -> Result<String, NotFound> {
    let key = kind.key(value).filter(|key| is_key(key));
    key.ok_or_else(|| NotFound::given(kind.name(), value))
}

/// The same for conditions and lists: a text that isn't such an id becomes an empty one, which no document has.
pub fn id_or_none(kind: NodeKind, value: &str) -> String {
    id(kind, value).unwrap_or_default()
}

/// Validates the SKU of an existing product. A text that can't be an SKU is treated as the SKU of a product
/// that doesn't exist.
///
/// # Errors
/// `NotFound`: no product can have this SKU.
pub fn sku(value: &str) -> Result<String, NotFound> {
    if is_sku(value) {
        return Ok(value.to_owned());
    }
    Err(NotFound::given("product", value))
}

/// Validates a key: 1 to 128 ASCII letters, digits, `-`, `_`, `~` or `:`.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn key(field: &str, value: &str) -> Result<String, InvalidInput> {
    if is_key(value) {
        return Ok(value.to_owned());
    }
    let reason = "takes 1 to 128 letters, digits, '-', '_', '~' or ':'";
    Err(InvalidInput::new(field, reason))
}

/// Whether the text is a valid key.
pub fn is_key(value: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~' | b':');
    (1..=128).contains(&value.len()) && value.bytes().all(fits)
}

/// Whether the text can be a SKU: that of a product, which is a key, or that of a variant, which is a key, a dot and
/// another key. Both have up to 128 characters.
pub fn is_sku(value: &str) -> bool {
    let is_of_variant = |(product, code)| is_key(product) && is_key(code);
    is_key(value) || (value.len() <= 128 && value.split_once('.').is_some_and(is_of_variant))
}

/// Validates the SKU of an existing variant. Another text is treated as the SKU of a variant that doesn't exist.
///
/// # Errors
/// `NotFound`: no variant can have this SKU.
pub fn variant(value: &str) -> Result<(), NotFound> {
    if is_sku(value) && !is_key(value) {
        return Ok(());
    }
    Err(NotFound::given("variant", value))
}

/// Checks the name of a queue or topic.
///
/// # Errors
/// `InvalidInput` that names the field.
pub fn plain_name(field: &str, name: &str) -> Result<(), InvalidInput> {
    /// Maximum length.
    const LONGEST: usize = 64;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = name.bytes();
    let is_name = name.len() <= LONGEST
        && bytes.next().is_some_and(is_plain)
        && bytes.all(|byte| is_plain(byte) || b"-_.".contains(&byte));
    if !is_name {
        let reason = "takes 1 to 64 lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or a digit";
        return Err(InvalidInput::new(field, reason));
    }
    Ok(())
}

/// Validates a country: an assigned code of [ISO 3166-1](https://www.iso.org/iso-3166-country-codes.html).
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn country(field: &str, value: &str) -> Result<String, InvalidInput> {
    // The crate parses an empty text as an unspecified country.
    if value.len() == 2 && value.parse::<Country>().is_ok() {
        return Ok(value.to_owned());
    }
    let reason = "takes an assigned ISO 3166-1 code of two capital letters, such as DE";
    Err(InvalidInput::new(field, reason))
}

/// Validates the form of an email address: a name, `@` and a host, without characters that a mail header would read as more
/// than one address. The address stays as it is written. Only a message that arrives tells whether it exists.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn email(field: &str, value: &str) -> Result<(), InvalidInput> {
    let address = line(field, value, 1..=254)?;
    let odd = |c: char| c.is_whitespace() || text::is_ignorable(c) || "()<>[]:;@\\,\"".contains(c);
    let is_address = address.rsplit_once('@').is_some_and(|(name, host)| {
        let is_host = host.contains('.') && host.split('.').all(|part| !part.is_empty());
        is_host && !name.is_empty() && !name.contains(odd) && !host.contains(odd)
    });
    if is_address {
        return Ok(());
    }
    Err(InvalidInput::new(field, "isn't an email address such as ann@shop.example"))
}

/// Maximum length of a path in bytes.
const MAX_PATH: usize = 4_000;

/// Validates a path: slugs, each with a `/` before it.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn path<'a>(field: &str, value: &'a str) -> Result<&'a str, InvalidInput> {
    let steps = value.strip_prefix('/').filter(|steps| steps.len() < MAX_PATH);
    if steps.is_some_and(|steps| steps.split('/').all(|step| Slug::parse_slug(step).is_some())) {
        return Ok(value);
    }
    Err(InvalidInput::new(field, "isn't a path such as /music/jazz"))
}

/// Path above the roots of a tree.
pub const TOP: &str = "/";

/// Validates a path or [`TOP`].
///
/// # Errors
/// As [`path`].
pub fn path_or_top<'a>(field: &str, value: &'a str) -> Result<&'a str, InvalidInput> {
    if value == TOP { Ok(value) } else { path(field, value) }
}

/// Maximum number of tags of one document.
pub const TAGS: usize = 30;

/// Validates tags. They are returned sorted and without duplicates.
///
/// # Errors
/// `InvalidInput` with the name of the field and the position of the tag.
pub fn tags(field: &str, tags: &[String]) -> Result<Vec<String>, InvalidInput> {
    at_most(field, tags, TAGS)?;
    let each = |(at, tag): (usize, &String)| self::tag(&format!("{field}.{at}"), tag);
    let mut tags = tags.iter().enumerate().map(each).collect::<Result<Vec<_>, _>>()?;
    tags.sort();
    tags.dedup();
    Ok(tags)
}

/// Validates a tag: 1 to 64 characters on one line.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn tag(field: &str, tag: &str) -> Result<String, InvalidInput> {
    line(field, tag, 1..=64)
}

/// Validates a text of `length` characters on one line, without white space at its ends.
///
/// # Errors
/// `InvalidInput` with the name of the field.
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

/// Maximum length of the name of a page, in bytes: that of the path of a logged request, so that each can be counted. A command
/// with the counts of 1,000 pages stays below the limit of 16 MB.
const PAGE_BYTES: usize = 8_192;

/// Validates the name of a page whose visits are counted: one line of up to 8,192 bytes.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn page(field: &str, value: &str) -> Result<String, InvalidInput> {
    if !(1..=PAGE_BYTES).contains(&value.len()) {
        return Err(InvalidInput::new(field, format!("takes 1 to {PAGE_BYTES} bytes")));
    }
    line(field, value, 1..=PAGE_BYTES)
}

/// Converts a text to lower case, for keys that are searched. Characters are converted one by one, so that a
/// prefix of the text gives a prefix of the key.
pub fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Validates a number: it must be in `range`.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn within(field: &str, value: i64, range: RangeInclusive<i64>) -> Result<i64, InvalidInput> {
    if range.contains(&value) {
        return Ok(value);
    }
    let reason = format!("must be between {} and {}", range.start(), range.end());
    Err(InvalidInput::new(field, reason))
}

/// Validates the length of a list: it can have at most `max` elements.
///
/// # Errors
/// `InvalidInput` with the name of the field.
pub fn at_most<T>(field: &str, list: &[T], max: usize) -> Result<(), InvalidInput> {
    if list.len() <= max {
        return Ok(());
    }
    Err(InvalidInput::new(field, format!("takes at most {max} elements")))
}

/// Checks the length of a list that has 1 to `max` elements.
pub fn at_least_one<T>(field: &str, list: &[T], max: usize) -> Result<(), InvalidInput> {
    if list.is_empty() {
        return Err(InvalidInput::new(field, "takes at least one element"));
    }
    at_most(field, list, max)
}
