//! What the schema adds to the library's messages about an invalid document, and the errors that the library misses.

use async_graphql::{Pos, ServerError, Variables, parser::types::SelectionSet};

use super::{
    near::nearest,
    prepared::PreparedOperation,
    types::{Types, named, root},
    values::{Argument, Values, add_arguments},
};
use crate::error::Error;

/// Number of errors of a document, from the first one, for which a similar name is looked for.
const SUGGESTED: usize = 20;

/// Removes repeated errors, names the part of an argument that is invalid and what is expected there, and, with
/// `suggests`, suggests a name for a misspelt one.
pub fn improve(
    errors: &mut Vec<ServerError>,
    types: &Types,
    operation: &PreparedOperation,
    variables: &Variables,
    suggests: bool,
) {
    let mut seen: Vec<(String, Vec<Pos>)> = Vec::new();
    errors.retain(|error| {
        let one = (error.message.clone(), error.locations.clone());
        let is_new = !seen.contains(&one);
        seen.push(one);
        is_new
    });
    let arguments = operation.arguments(types);
    let values = Values { types, variables: Some(variables), suggests };
    for (nth, error) in errors.iter_mut().enumerate() {
        if error.message.starts_with("Invalid value for argument ") {
            let at = error.locations.first();
            let argument = arguments.iter().find(|argument| Some(&argument.at) == at);
            if let (Some(invalid), Some(at)) =
                (argument.and_then(|argument| values.error(argument)), at)
            {
                *error = located(invalid, *at);
            }
        } else if suggests
            && nth < SUGGESTED
            && let Some(better) = suggestion(error, types, operation)
        {
            error.message = better;
        }
    }
}

/// Adds the errors of invalid literals that the library takes for valid: a scalar instead of an input object, a number
/// beyond its range, and any in an object with a variable that isn't given.
pub fn add_invalid_literals(
    errors: &mut Vec<ServerError>,
    types: &Types,
    operation: &PreparedOperation,
    suggests: bool,
) {
    let values = Values { types, variables: None, suggests };
    let mut arguments = operation.arguments(types);
    arguments.retain(|argument| !errors.iter().any(|error| error.locations.contains(&argument.at)));
    arguments.sort_unstable_by_key(|argument| argument.at);
    let invalid = arguments
        .iter()
        .filter_map(|argument| values.error(argument).map(|error| located(error, argument.at)));
    errors.extend(invalid);
}

fn located(error: Error, at: Pos) -> ServerError {
    async_graphql::Error::from(error).into_server_error(at)
}

fn suggestion(error: &ServerError, types: &Types, operation: &PreparedOperation) -> Option<String> {
    let message = &error.message;
    let near = if let Some(rest) = message.strip_prefix("Unknown field \"") {
        let (field, rest) = rest.split_once("\" on type \"")?;
        let (of, rest) = rest.split_once("\".")?;
        if types.field(of, "nodes").is_some_and(|nodes| types.field(named(nodes), field).is_some())
        {
            let message = message.strip_suffix(rest)?;
            return Some(format!("{message} It is in \"nodes {{ … }}\"."));
        }
        nearest(field, types.fields_of(of)).filter(|_| rest.is_empty())?
    } else if let Some(rest) = message.strip_prefix("Unknown argument \"") {
        let (argument, rest) = rest.split_once("\" on field \"")?;
        let (field, rest) = rest.split_once("\" of type \"")?;
        let of = rest.strip_suffix("\".")?;
        nearest(argument, types.arguments_of(of, field))?
    } else {
        let name = message.strip_prefix("Unknown type \"")?.strip_suffix('"')?;
        let mut variables =
            operation.definitions().flat_map(|operation| &operation.variable_definitions);
        let is_variable = variables.any(|variable| error.locations.contains(&variable.pos));
        let near = if is_variable {
            nearest(name, types.input_names())
        } else {
            nearest(name, types.composite_names())
        };
        return Some(format!("{message}. Did you mean \"{}\"?", near?));
    };
    Some(format!("{message} Did you mean \"{near}\"?"))
}

impl PreparedOperation {
    /// The arguments of the fields of the document's operations and fragments.
    fn arguments<'a>(&'a self, types: &'a Types) -> Vec<Argument<'a>> {
        let mut all = Vec::new();
        for (set, of) in self.selections() {
            add_arguments(types, set, of, &mut all);
        }
        all
    }

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
