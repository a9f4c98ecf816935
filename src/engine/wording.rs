//! What the schema adds to the library's messages about an invalid document, and the errors that the library misses.

use std::collections::{HashMap, HashSet};

use async_graphql::{Pos, ServerError, Variables, parser::types::VariableDefinition};

use super::{
    near::nearest,
    prepared::PreparedOperation,
    types::{Types, named},
    usages::Misfit,
    values::{Argument, Values},
};
use crate::error::Error;

/// Number of errors of a document, from the first one, for which a similar name is looked for.
const SUGGESTED: usize = 20;
/// Beginning of the library's message about the value of an argument.
const ARGUMENT: &str = "Invalid value for argument ";

/// Adds the errors of variables whose types don't fit where they are used, in the place of the errors of their values
/// there. Variables whose declaration has an error, such as an unknown type, are left out.
pub fn add_misfits(errors: &mut Vec<ServerError>, types: &Types, operation: &PreparedOperation) {
    let known: HashSet<Pos> = errors.iter().flat_map(|error| &error.locations).copied().collect();
    let mut misfits = operation.document.misfits(types);
    misfits.retain(|misfit| !known.contains(&misfit.declared));
    let used: HashSet<Pos> = misfits.iter().map(|misfit| misfit.used).collect();
    let is_of_misfit = |error: &ServerError| {
        is_of_argument(error) && error.locations.iter().any(|at| used.contains(at))
    };
    errors.retain(|error| !is_of_misfit(error));
    errors.extend(misfits.into_iter().map(|Misfit { declared, used, error }| {
        let mut error = located(error, used);
        error.locations.insert(0, declared);
        error
    }));
}

/// Removes repeated errors, names the part of an argument that is invalid and what is expected there, and, with
/// `suggests`, suggests a name for a misspelt one.
pub fn improve(
    errors: &mut Vec<ServerError>,
    types: &Types,
    operation: &PreparedOperation,
    variables: &Variables,
    suggests: bool,
) {
    let mut seen: HashSet<(String, Vec<Pos>)> = HashSet::new();
    errors.retain(|error| seen.insert((error.message.clone(), error.locations.clone())));
    // Only these errors need them.
    let mut arguments: HashMap<Pos, Argument<'_>> = HashMap::new();
    if errors.iter().any(is_of_argument) {
        for argument in operation.document.arguments(types) {
            arguments.entry(argument.at).or_insert(argument);
        }
    }
    let values = Values { types, variables: Some(variables), suggests };
    for (nth, error) in errors.iter_mut().enumerate() {
        if is_of_argument(error) {
            let argument = error.locations.first().and_then(|at| arguments.get(at));
            if let Some((invalid, at)) =
                argument.and_then(|argument| Some((values.error(argument)?, argument.at)))
            {
                *error = located(invalid, at);
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
/// beyond its range, and any in an object with a variable that isn't given. Such a variable is invalid where it is the one
/// field that an object requires. A default is a literal too, whether the request gives the variable a value or not.
pub fn add_invalid_literals(
    errors: &mut Vec<ServerError>,
    types: &Types,
    operation: &PreparedOperation,
    variables: &Variables,
    suggests: bool,
) {
    let values = Values { types, variables: None, suggests };
    add_invalid_defaults(errors, operation, values);
    add_invalid(errors, operation.document.arguments(types), values);
    let choices = operation.document.null_choices(types, operation.index, variables);
    add_invalid(errors, choices, Values { types, variables: Some(variables), suggests });
}

/// Adds the errors of the defaults of variables, unless their declarations have errors already.
fn add_invalid_defaults(
    errors: &mut Vec<ServerError>,
    operation: &PreparedOperation,
    values: Values<'_>,
) {
    let known: HashSet<Pos> = errors.iter().flat_map(|error| &error.locations).copied().collect();
    let declared = operation.definitions().flat_map(|operation| &operation.variable_definitions);
    errors.extend(declared.filter(|one| !known.contains(&one.pos)).filter_map(|one| {
        let VariableDefinition { name, var_type, default_value, .. } = &one.node;
        let default = default_value.as_ref()?.node.clone().into_value();
        let error = values.fault(&format!("variables.{}", name.node), &var_type.node, &default)?;
        Some(located(error, one.pos))
    }));
}

/// Adds the errors of arguments, unless they have errors already.
fn add_invalid(
    errors: &mut Vec<ServerError>,
    mut arguments: Vec<Argument<'_>>,
    values: Values<'_>,
) {
    let known: HashSet<Pos> = errors.iter().flat_map(|error| &error.locations).copied().collect();
    arguments.retain(|argument| !known.contains(&argument.at));
    arguments.sort_unstable_by_key(|argument| argument.at);
    let invalid = arguments
        .iter()
        .filter_map(|argument| values.error(argument).map(|error| located(error, argument.at)));
    errors.extend(invalid);
}

fn is_of_argument(error: &ServerError) -> bool {
    error.message.starts_with(ARGUMENT)
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
