//! Estimates the cost of an operation from its document and its variables before anything is executed.
//!
//! The cost is the number of objects that the response may hold. Each object counts one, and selections below
//! a list count once for each element. The length of a connection is its `first` (or `last`). If an argument of
//! a list field is a list of ids, or of representations of entities, the length is their number. Other lists are assumed
//! to have [`ASSUMED`] elements. A field of a root type and a connection count [`COMMAND`] more, because they send commands to MongoDB. So does
//! a value without fields that no cache may keep (`@cacheControl(maxAge: 0)`), because it is read whenever it is shown.
//! The idea is from <https://ibm.github.io/graphql-specs/cost-spec.html>.

use std::collections::HashSet;

use async_graphql::{
    Name, Number, Positioned, Value, Variables,
    parser::types::{
        BaseType, Field, FragmentDefinition, OperationDefinition, Selection, SelectionSet, Type,
        VariableDefinition,
    },
};
use async_graphql_value::Value as Literal;

use super::{
    document::Fragments,
    introspection,
    limits::{Limits, check, too_complex},
    typename::TYPENAME_KEY,
    types::{Types, named, root},
};
use crate::{error::Error, graphql::page};

/// Assumed length of a list for which no argument gives a length.
const ASSUMED: usize = 10;
/// Additional cost of a field that sends commands of its own; see above.
const COMMAND: usize = 10;
/// Maximum number of selections of a document, with fragments counted at each spread. A short document with
/// nested fragments can expand to very many selections.
const MAX_SELECTIONS: usize = 20_000;

/// Name of the cost limit. The cost may depend on variables.
pub(super) const MAX_COST: &str = "max_cost";

/// The parts of one document that were visited.
#[derive(Debug, Default)]
pub(super) struct Seen {
    selections: usize,
    /// Fragments that are spread somewhere.
    fragments: HashSet<Name>,
}

/// The measured cost of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    /// Estimated number of objects of the response.
    pub(super) cost: usize,
    /// Whether the cost is the same with any variables.
    pub(super) is_fixed: bool,
}

/// Measures an operation, and checks its limits.
///
/// # Errors
/// `TooComplex` with the name of the limit; `BadInput` if the operation uses introspection and may not, or if
/// fragments form a cycle.
pub(super) fn measure(
    types: &Types,
    limits: &Limits,
    fragments: &Fragments,
    operation: &OperationDefinition,
    variables: &Variables,
    seen: &mut Seen,
) -> Result<Measured, Error> {
    let mut walk = Walk::new(types, limits, fragments, variables, seen);
    walk.declared = &operation.variable_definitions;
    walk.directives = operation.directives.len();
    let cost = walk.set(&operation.selection_set.node, root(operation.ty), 1, None)?;
    if cost > limits.cost {
        let reason = format!("may cost {cost}, more than {}", limits.cost);
        return Err(too_complex(MAX_COST, reason));
    }
    Ok(Measured { cost, is_fixed: walk.is_fixed })
}

/// Measures the fragments that no operation uses. The library also visits them before it rejects them.
///
/// # Errors
/// `TooComplex`, or `BadInput` if fragments form a cycle.
pub(super) fn measure_unused(
    types: &Types,
    limits: &Limits,
    fragments: &Fragments,
    seen: &mut Seen,
) -> Result<(), Error> {
    let none = Variables::default();
    for (name, fragment) in fragments {
        if seen.fragments.contains(name) {
            continue;
        }
        let mut walk = Walk::new(types, limits, fragments, &none, seen);
        walk.open.push(name);
        let FragmentDefinition { type_condition, selection_set, .. } = &fragment.node;
        walk.set(&selection_set.node, &type_condition.node.on.node, 2, None)?;
    }
    Ok(())
}

struct Walk<'a, 's> {
    types: &'a Types,
    limits: &'a Limits,
    fragments: &'a Fragments,
    variables: &'a Variables,
    declared: &'a [Positioned<VariableDefinition>],
    is_fixed: bool,
    /// The fragments that are currently being visited.
    open: Vec<&'a Name>,
    seen: &'s mut Seen,
    aliases: usize,
    root_fields: usize,
    directives: usize,
}

impl<'a, 's> Walk<'a, 's> {
    fn new(
        types: &'a Types,
        limits: &'a Limits,
        fragments: &'a Fragments,
        variables: &'a Variables,
        seen: &'s mut Seen,
    ) -> Self {
        Self {
            types,
            limits,
            fragments,
            variables,
            declared: &[],
            is_fixed: true,
            open: Vec::new(),
            seen,
            aliases: 0,
            root_fields: 0,
            directives: 0,
        }
    }

    /// The cost of a selection set on one object. `length` is the length of the lists in it, if known.
    fn set(
        &mut self,
        set: &'a SelectionSet,
        of: &str,
        depth: usize,
        length: Option<usize>,
    ) -> Result<usize, Error> {
        let limits = self.limits;
        if depth > limits.depth && !set.items.is_empty() {
            let reason = format!("is nested more than {} levels deep", limits.depth);
            return Err(too_complex("max_depth", reason));
        }
        let mut cost: usize = 0;
        for selection in &set.items {
            self.seen.selections += 1;
            self.directives += selection.node.directives().len();
            check(self.seen.selections, MAX_SELECTIONS, "selections", "selections")?;
            check(self.directives, limits.directives, "max_directives", "directives")?;
            let below = match &selection.node {
                Selection::Field(field) => self.field(&field.node, of, depth, length)?,
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|on| &on.node.on.node);
                    let of = on.map_or(of, Name::as_str);
                    self.set(&fragment.node.selection_set.node, of, depth, length)?
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    match self.fragments.get(name) {
                        Some(_) if self.open.contains(&name) => return Err(self.cycle(name)),
                        Some(fragment) => {
                            let FragmentDefinition { type_condition, selection_set, .. } =
                                &fragment.node;
                            self.open.push(name);
                            self.seen.fragments.insert(name.clone());
                            let of = &type_condition.node.on.node;
                            let below = self.set(&selection_set.node, of, depth, length)?;
                            self.open.pop();
                            below
                        }
                        None => 0,
                    }
                }
            };
            cost = cost.saturating_add(below);
        }
        Ok(cost)
    }

    /// The error for a cycle of fragments that ends in this one.
    fn cycle(&self, name: &Name) -> Error {
        let how = match self.open.last() {
            Some(last) if *last != name => format!("{name} comes back to itself by {last}"),
            _ => format!("{name} spreads itself"),
        };
        Error::bad_input("query", format!("its fragments form a cycle: {how}"))
    }

    fn field(
        &mut self,
        field: &'a Field,
        of: &str,
        depth: usize,
        length: Option<usize>,
    ) -> Result<usize, Error> {
        let limits = self.limits;
        let name = field.name.node.as_str();
        if field.response_key().node == TYPENAME_KEY {
            return Ok(0); // the gateway's, not the client's
        }
        self.aliases += usize::from(field.alias.is_some());
        check(self.aliases, limits.aliases, "max_aliases", "aliases")?;
        let is_introspection = depth == 1 && matches!(name, "__schema" | "__type");
        if depth == 1 {
            self.root_fields += 1;
            check(self.root_fields, limits.root_fields, "max_root_fields", "root fields")?;
            if is_introspection && !limits.introspection {
                let reason = "introspection is off here; the setting `introspection` turns it on";
                return Err(Error::bad_input("query", reason));
            }
        }
        let below = &field.selection_set.node;
        let Some(ty) = self.types.field(of, name) else {
            // Introspection, or a field that the library rejects.
            let cost = self.set(below, "", depth + 1, None)?;
            if is_introspection {
                introspection::check(self.fragments, below)?;
            }
            return Ok(cost);
        };
        let is_read = self.types.max_age(of, name) == Some(0);
        let (parent, of) = (of, named(ty));
        let is_page = of.ends_with("Connection");
        let is_value = !self.types.is_composite(of);
        let command = if depth == 1 || is_page || is_value && is_read { COMMAND } else { 0 };
        if is_value {
            return Ok(command);
        }
        let is_list = matches!(ty.base, BaseType::List(_));
        let requested = self.requested_length(field, parent);
        let (count, inner) = if is_list {
            (length.or(requested).unwrap_or(ASSUMED), None)
        } else if is_page {
            (1, Some(requested.unwrap_or(page::DEFAULT.unsigned_abs() as usize)))
        } else {
            (1, None)
        };
        let one = 1 + self.set(below, of, depth + 1, inner)?;
        Ok(command.saturating_add(count.saturating_mul(one)))
    }

    /// Number of elements that the arguments of a field of the type `of` request: the largest, because a client
    /// chooses their order. A number above the page limit is refused later.
    fn requested_length(&mut self, field: &Field, of: &str) -> Option<usize> {
        let mut requested = None;
        for (name, value) in &field.arguments {
            let is_page = matches!(name.node.as_str(), "first" | "last");
            if !is_page && !self.are_ids(of, &field.name.node, &name.node) {
                continue;
            }
            let variables = self.variables;
            let length = match &value.node {
                Literal::Variable(name) if is_page || self.is_list(name) => {
                    self.is_fixed = false;
                    match variables.get(name) {
                        Some(Value::Number(number)) if is_page => Some(page_length(number)),
                        Some(Value::List(keys)) if !is_page => Some(keys.len()),
                        _ => None,
                    }
                }
                Literal::Number(number) if is_page => Some(page_length(number)),
                Literal::List(keys) if !is_page => Some(keys.len()),
                _ => None,
            };
            requested = length.max(requested);
        }
        requested
    }

    /// Whether an argument is a list of ids, or of representations of entities. The list that it is given to has an element
    /// for each.
    fn are_ids(&self, of: &str, field: &str, argument: &str) -> bool {
        let is_key = |inner: &Type| matches!(named(inner), "ID" | "_Any");
        let typed = self.types.argument(of, field, argument);
        typed.is_some_and(|(ty, _)| matches!(&ty.base, BaseType::List(inner) if is_key(inner)))
    }

    /// Whether a variable is declared to hold a list.
    fn is_list(&self, variable: &Name) -> bool {
        self.declared.iter().any(|declared| {
            let VariableDefinition { name, var_type, .. } = &declared.node;
            name.node == *variable && matches!(var_type.node.base, BaseType::List(_))
        })
    }
}

fn page_length(number: &Number) -> usize {
    let length = number.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    length.min(page::MAX.unsigned_abs() as usize)
}
