//! The limits of operations, and those of their texts.

use super::{tokens::tokens, typename::TYPENAME_KEY};
use crate::{config::Config, error::Error};

/// Maximum depth of nested brackets. The parser recurses into each on the stack of its thread.
const MAX_NESTED_BRACKETS: usize = 128;
/// Maximum length of a name or number in bytes. A response repeats a response key for each object of a list.
const MAX_NAME: usize = 256;

/// The limits of one operation.
#[derive(Debug, Clone)]
pub struct Limits {
    tokens: usize,
    pub(super) depth: usize,
    pub(super) aliases: usize,
    pub(super) root_fields: usize,
    pub(super) directives: usize,
    /// Maximum estimated number of objects of a response.
    pub cost: usize,
    /// Maximum size of a response in bytes.
    pub response: usize,
    pub(super) introspection: bool,
}

impl Limits {
    /// The limits in a gateway's configuration.
    pub fn of(config: &Config) -> Self {
        Self {
            tokens: config.max_tokens,
            depth: config.max_depth,
            aliases: config.max_aliases,
            root_fields: config.max_root_fields,
            directives: config.max_directives,
            cost: config.max_cost,
            response: config.max_response_bytes,
            introspection: config.introspection,
        }
    }

    /// Checks a document before it is parsed, which costs much more.
    ///
    /// # Errors
    /// `TooComplex`, or `BadInput` if the document uses a name that is reserved for the gateway.
    pub(super) fn check_text(&self, text: &str) -> Result<(), Error> {
        if text.contains(TYPENAME_KEY) {
            return Err(Error::bad_input(
                "query",
                format!("{TYPENAME_KEY} is reserved for the gateway"),
            ));
        }
        let (mut count, mut nested) = (0, 0_usize);
        for token in tokens(text.as_bytes()) {
            count += 1;
            check(count, self.tokens, "max_tokens", "tokens")?;
            if token.length > MAX_NAME && !token.is_string() {
                let reason = format!("has a name or number of more than {MAX_NAME} bytes");
                return Err(too_complex("name", reason));
            }
            match token.first {
                b'(' | b'[' | b'{' => nested += 1,
                b')' | b']' | b'}' => nested = nested.saturating_sub(1),
                _ => {}
            }
            check(nested, MAX_NESTED_BRACKETS, "brackets", "nested brackets")?;
        }
        Ok(())
    }
}

/// The refusal of an operation that exceeds a limit.
pub(super) fn too_complex(limit: &'static str, reason: String) -> Error {
    Error::TooComplex { limit, reason }
}

/// Checks that a counted number doesn't exceed its limit.
///
/// # Errors
/// `TooComplex`.
pub(super) fn check(
    found: usize,
    max: usize,
    limit: &'static str,
    what: &str,
) -> Result<(), Error> {
    if found > max {
        return Err(too_complex(limit, format!("has more than {max} {what}")));
    }
    Ok(())
}
