//! What the schema adds to the library's messages about an invalid document.

use async_graphql::{
    Pos, ServerError,
    parser::types::{Selection, SelectionSet},
};

use super::{
    prepared::PreparedOperation,
    types::{Types, named, root},
};

/// The library's messages for an input of which exactly one field is required.
const ONE_OF: [&str; 2] = [
    "Oneof input objects requires have exactly one field",
    "Oneof Input Objects require that exactly one field must be supplied and that field must not be null",
];

/// Removes repeated errors, names the fields of an input of which one is required, and, with `suggests`, suggests a
/// field for a misspelt one.
pub fn improve(
    errors: &mut Vec<ServerError>,
    types: &Types,
    operation: &PreparedOperation,
    suggests: bool,
) {
    let mut seen: Vec<(String, Vec<Pos>)> = Vec::new();
    errors.retain(|error| {
        let one = (error.message.clone(), error.locations.clone());
        let is_new = !seen.contains(&one);
        seen.push(one);
        is_new
    });
    for error in errors {
        let message = &error.message;
        let better = one_of(message, &error.locations, types, operation)
            .or_else(|| suggestion(message, types).filter(|_| suggests));
        if let Some(better) = better {
            error.message = better;
        }
    }
}

/// `Invalid value for argument "by.category", exactly one of …`.
fn one_of(
    message: &str,
    locations: &[Pos],
    types: &Types,
    operation: &PreparedOperation,
) -> Option<String> {
    let start = ONE_OF.iter().find_map(|end| message.strip_suffix(end))?;
    let path = start.split('"').nth(1)?;
    let choices = locations.first().and_then(|at| {
        let mut selections = operation.selections();
        let argument = selections.find_map(|(set, of)| argument_at(*at, set, of, types))?;
        types.choices(argument, path.split('.').skip(1))
    });
    let which = choices.map_or_else(|| "its fields".to_owned(), |names| names.join(", "));
    Some(format!("{start}exactly one of {which} is required, and not null"))
}

/// The type of the argument whose name is at this position of the document.
fn argument_at<'a>(
    at: Pos,
    set: &SelectionSet,
    of: &str,
    types: &'a Types,
) -> Option<&'a async_graphql::parser::types::Type> {
    set.items.iter().find_map(|selection| match &selection.node {
        Selection::Field(field) => {
            let name = &field.node.name.node;
            let mut arguments = field.node.arguments.iter();
            if let Some((argument, _)) = arguments.find(|(argument, _)| argument.pos == at) {
                return types.argument(of, name, &argument.node);
            }
            let of = named(types.field(of, name)?);
            argument_at(at, &field.node.selection_set.node, of, types)
        }
        Selection::InlineFragment(fragment) => {
            let condition = fragment.node.type_condition.as_ref();
            let of = condition.map_or(of, |condition| condition.node.on.node.as_str());
            argument_at(at, &fragment.node.selection_set.node, of, types)
        }
        Selection::FragmentSpread(_) => None,
    })
}

/// The library suggests no field whose letters are transposed, such as `titel` for `title`.
fn suggestion(message: &str, types: &Types) -> Option<String> {
    let rest = message.strip_prefix("Unknown field \"")?;
    let (field, of) = rest.split_once("\" on type \"")?;
    let of = of.strip_suffix("\".")?;
    let mut near: Vec<_> = types.fields_of(of).filter(|name| is_transposed(name, field)).collect();
    near.sort_unstable();
    let names = near.first()?;
    Some(format!("{message} Did you mean \"{names}\"?"))
}

/// Whether the names differ in two adjacent letters only, which are transposed.
fn is_transposed(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let Some(at) = left.iter().zip(right).position(|(one, other)| one != other) else {
        return false;
    };
    match (left.get(at..), right.get(at..)) {
        (Some([a, b, left @ ..]), Some([c, d, right @ ..])) => a == d && b == c && left == right,
        _ => false,
    }
}

impl PreparedOperation {
    /// The selections of the document's operations and fragments, each with the type that they are of.
    fn selections(&self) -> impl Iterator<Item = (&SelectionSet, &str)> {
        let operations =
            self.definitions().map(|operation| (&operation.selection_set.node, root(operation.ty)));
        let fragments = self.fragments().map(|fragment| {
            (&fragment.selection_set.node, fragment.type_condition.node.on.node.as_str())
        });
        operations.chain(fragments)
    }
}

#[cfg(test)]
mod tests {
    use super::is_transposed;

    #[test]
    fn transposed_letters_are_recognised() {
        assert!(is_transposed("title", "titel") && is_transposed("sku", "ksu"));
        for other in ["title", "titl", "tilte ", "tleti", ""] {
            assert!(!is_transposed("title", other), "{other}");
        }
    }
}
