//! Messages of the GraphQL library about a document, in other words.

use super::scalars;

/// The message in other words; `None` if it stays as it is.
pub(super) fn reworded(message: &str) -> Option<String> {
    syntax(message).or_else(|| missing_argument(message)).or_else(|| scalar(message))
}

/// A syntax error. The parser draws the line over several lines, and ends with what it expected. The position is in
/// the error's `locations`.
fn syntax(message: &str) -> Option<String> {
    let drawn = message.trim_start().strip_prefix("--> ")?;
    let (_, expected) = drawn.rsplit_once("\n  = ")?;
    Some(format!("Syntax error: {}", expected.replace('_', " ")))
}

/// A required argument that is missing. The library calls the type of the parent that of the argument.
fn missing_argument(message: &str) -> Option<String> {
    let rest = message.strip_prefix("Field \"")?.strip_suffix("\" is required but not provided")?;
    let (field, rest) = rest.split_once("\" argument \"")?;
    let (argument, parent) = rest.split_once("\" of type \"")?;
    Some(format!(
        "Argument \"{argument}\" of field \"{parent}.{field}\" is required but not provided"
    ))
}

/// The value of a scalar: what its values look like.
fn scalar(message: &str) -> Option<String> {
    let (_, name) = message.strip_suffix('"')?.rsplit_once(", expected type \"")?;
    let values = scalars::values(name)?;
    Some(format!("{message}: {values}"))
}

#[cfg(test)]
mod tests {
    use super::reworded;

    #[test]
    fn a_syntax_error_is_one_line() {
        let drawn =
            " --> 1:3\n  |\n1 | { a ] }\n  |     ^---\n  |\n  = expected selection_set or field";
        let expected = "Syntax error: expected selection set or field";
        assert_eq!(reworded(drawn).as_deref(), Some(expected));
    }

    #[test]
    fn other_messages_stay() {
        for message in
            ["Unknown type \"Nope\"", "Field \"a\" of type \"B\" must have a selection", ""]
        {
            assert_eq!(reworded(message), None, "{message}");
        }
    }
}
