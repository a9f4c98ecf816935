//! What is wrong with the value of an argument or a variable: the deepest path, and what is expected there.
//!
//! The library takes any scalar for an input object, and refuses it only when the field runs. So the literals of a
//! document are checked here, before any field runs.

use std::convert::Infallible;

use async_graphql::{
    Name, Pos, Value, Variables,
    indexmap::IndexMap,
    parser::types::{BaseType, Field, Selection, SelectionSet, Type},
};
use async_graphql_value::Value as Literal;

use super::{
    near::nearest,
    types::{Input, Types, named},
};
use crate::{error::Error, graphql::scalars};

/// Maximum number of names that a message lists.
const LISTED: usize = 15;
/// Maximum number of characters of a name that is repeated in a message.
const LONGEST_NAME: usize = 64;

/// An argument of a document, with its declared type.
pub(super) struct Argument<'a> {
    pub(super) at: Pos,
    name: &'a str,
    ty: &'a Type,
    value: &'a Literal,
}

/// Finds what is wrong with values.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) types: &'a Types,
    /// The variables in literals. A variable that isn't there is taken for valid, except where it is the one field that an
    /// object requires.
    pub(super) variables: Option<&'a Variables>,
    /// Whether messages list names of the schema.
    pub(super) suggests: bool,
}

impl Values<'_> {
    /// The error of an argument; `None` if its value is valid.
    pub(super) fn error(&self, argument: &Argument<'_>) -> Option<Error> {
        self.fault(argument.name, argument.ty, argument.value)
    }

    /// The error of the value at `path`; `None` if it is valid.
    pub(super) fn fault(&self, path: &str, ty: &Type, value: &Literal) -> Option<Error> {
        let fault = |reason: String| Some(Error::bad_input(path.to_owned(), reason));
        match (&ty.base, value) {
            (_, Literal::Variable(name)) => {
                let value = self.variables?.get(name)?.clone().into_value();
                self.fault(path, ty, &value)
            }
            (_, Literal::Null) if ty.nullable => None,
            (_, Literal::Null) => fault(format!("must not be null: it is of type {ty}")),
            (BaseType::List(inner), Literal::List(values)) => {
                let mut values = values.iter().enumerate();
                values.find_map(|(nth, value)| self.fault(&format!("{path}.{nth}"), inner, value))
            }
            (BaseType::List(inner), value) => self.fault(path, inner, value),
            (BaseType::Named(of), value) => match self.types.input(of) {
                Some(Input::Enum(values)) => {
                    let given = match value {
                        Literal::Enum(name) => name.as_str(),
                        Literal::String(name) => name,
                        _ => "",
                    };
                    if values.contains(given) {
                        return None;
                    }
                    let listed = self.listed(": its values are ", values.iter());
                    let given = clipped(given);
                    fault(format!(
                        "enumeration type \"{of}\" does not contain the value \"{given}\"{listed}"
                    ))
                }
                Some(Input::Object { fields, one_of }) => match value {
                    Literal::Object(given) => self.object(path, of, (fields, *one_of), given),
                    _ => fault(self.object_expected(of, fields, *one_of)),
                },
                None => {
                    let Ok(value) =
                        value.clone().into_const_with(|_| Ok::<_, Infallible>(Value::Null));
                    if scalars::is_valid(of, &value) {
                        return None;
                    }
                    let values = scalars::values(of).map(|values| format!(": {values}"));
                    fault(format!("must be of type {of}{}", values.unwrap_or_default()))
                }
            },
        }
    }

    fn object(
        &self,
        path: &str,
        of: &str,
        (fields, one_of): (&IndexMap<String, (Type, bool)>, bool),
        given: &IndexMap<Name, Literal>,
    ) -> Option<Error> {
        // An unknown field may be a misspelt one that is missing.
        if let Some(name) = given.keys().find(|name| !fields.contains_key(name.as_str())) {
            let name = clipped(name);
            let near = nearest(&name, fields.keys().map(String::as_str));
            let hint = match near.filter(|_| self.suggests) {
                Some(near) => format!(". Did you mean \"{near}\"?"),
                None => self.listed(": its fields are ", fields.keys()),
            };
            let reason = format!("unknown field of type {of}{hint}");
            return Some(Error::bad_input(format!("{path}.{name}"), reason));
        }
        if one_of && (given.len() != 1 || given.values().any(|value| self.is_null(value))) {
            let mut names: Vec<_> = fields.keys().map(String::as_str).collect();
            names.sort_unstable();
            let of =
                if self.suggests { format!("of {}", names.join(", ")) } else { "field".into() };
            let reason = format!("exactly one {of} is required, and not null");
            return Some(Error::bad_input(path.to_owned(), reason));
        }
        fields.iter().find_map(|(name, (ty, optional))| {
            let path = format!("{path}.{name}");
            match given.get(name.as_str()) {
                Some(value) => self.fault(&path, ty, value),
                None if *optional => None,
                None => Some(Error::bad_input(path, format!("is required: it is of type {ty}"))),
            }
        })
    }

    fn is_null(&self, value: &Literal) -> bool {
        match value {
            Literal::Null => true,
            Literal::Variable(name) => {
                let is_null = |variables: &Variables| {
                    variables.get(name).is_none_or(|value| *value == Value::Null)
                };
                self.variables.is_some_and(is_null)
            }
            _ => false,
        }
    }

    fn object_expected(
        &self,
        of: &str,
        fields: &IndexMap<String, (Type, bool)>,
        one_of: bool,
    ) -> String {
        let required: Vec<_> =
            fields.iter().filter(|(_, (_, optional))| !optional).map(|(name, _)| name).collect();
        let names = if required.is_empty() {
            let start = if one_of { ", with exactly one of " } else { ", with any of " };
            self.listed(start, fields.keys())
        } else {
            self.listed(", with ", required.into_iter())
        };
        format!("must be an object of type {of}{names}")
    }

    /// The names after `start`; nothing if messages don't list names.
    fn listed<'n>(&self, start: &str, names: impl ExactSizeIterator<Item = &'n String>) -> String {
        if !self.suggests {
            return String::new();
        }
        let more = if names.len() > LISTED { ", …" } else { "" };
        let names: Vec<_> = names.take(LISTED).map(String::as_str).collect();
        format!("{start}{}{more}", names.join(", "))
    }
}

fn clipped(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

impl<'a> Argument<'a> {
    /// The variables that are fields of input objects that require exactly one field.
    pub(super) fn choices(&self, types: &Types) -> Vec<&'a Name> {
        let mut names = Vec::new();
        add_choices(types, self.ty, self.value, &mut names);
        names
    }

    /// The variables without which the argument, or a field of an input object in it, is left out. An argument without a default
    /// doesn't count: there null is the same.
    pub(super) fn omissible(&self) -> Vec<&'a Name> {
        let mut names = Vec::new();
        match self.value {
            Literal::Variable(name) if !self.ty.nullable => names.push(name),
            value => add_variables_of_fields(value, &mut names),
        }
        names
    }
}

fn add_variables_of_fields<'a>(value: &'a Literal, names: &mut Vec<&'a Name>) {
    match value {
        Literal::List(values) => {
            for value in values {
                add_variables_of_fields(value, names);
            }
        }
        Literal::Object(fields) => {
            for value in fields.values() {
                match value {
                    Literal::Variable(name) => names.push(name),
                    value => add_variables_of_fields(value, names),
                }
            }
        }
        _ => {}
    }
}

fn add_choices<'a>(types: &Types, ty: &Type, value: &'a Literal, names: &mut Vec<&'a Name>) {
    match (&ty.base, value) {
        (BaseType::List(inner), Literal::List(values)) => {
            for value in values {
                add_choices(types, inner, value, names);
            }
        }
        (BaseType::List(inner), value) => add_choices(types, inner, value, names),
        (BaseType::Named(of), Literal::Object(given)) => {
            let Some(Input::Object { fields, one_of }) = types.input(of) else { return };
            for (name, value) in given {
                match (value, fields.get(name.as_str())) {
                    (Literal::Variable(variable), _) if *one_of => names.push(variable),
                    (value, Some((ty, _))) => add_choices(types, ty, value, names),
                    (_, None) => {}
                }
            }
        }
        _ => {}
    }
}

/// Adds the arguments of a field of the type `of`.
pub(super) fn add_arguments_of<'a>(
    types: &'a Types,
    field: &'a Field,
    of: &str,
    all: &mut Vec<Argument<'a>>,
) {
    for (name, value) in &field.arguments {
        if let Some((ty, _)) = types.argument(of, &field.name.node, &name.node) {
            let (at, name) = (name.pos, name.node.as_str());
            all.push(Argument { at, name, ty, value: &value.node });
        }
    }
}

/// Adds the arguments of the fields of a selection.
pub(super) fn add_arguments<'a>(
    types: &'a Types,
    set: &'a SelectionSet,
    of: &str,
    all: &mut Vec<Argument<'a>>,
) {
    for selection in &set.items {
        match &selection.node {
            Selection::Field(field) => {
                let field = &field.node;
                add_arguments_of(types, field, of, all);
                if let Some(ty) = types.field(of, &field.name.node) {
                    add_arguments(types, &field.selection_set.node, named(ty), all);
                }
            }
            Selection::InlineFragment(fragment) => {
                let condition = fragment.node.type_condition.as_ref();
                let of = condition.map_or(of, |condition| condition.node.on.node.as_str());
                add_arguments(types, &fragment.node.selection_set.node, of, all);
            }
            Selection::FragmentSpread(_) => {}
        }
    }
}
