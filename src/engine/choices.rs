//! Variables in input objects that require exactly one field (`@oneOf`). Whether such an object is valid depends on the
//! variables of the request: a null, or a variable that isn't given, is no choice.

use std::collections::HashSet;

use async_graphql::{
    Name, Value, Variables,
    parser::types::{Selection, SelectionSet},
};

use super::{
    completion::is_skipped,
    document::{Fragments, PreparedDocument},
    types::{Types, named, root},
    values::{Argument, add_arguments_of},
};

impl PreparedDocument {
    /// The arguments of an operation in which such an object has a variable without a value. Selections that the variables
    /// skip are left out.
    pub(super) fn null_choices<'a>(
        &'a self,
        types: &'a Types,
        index: usize,
        variables: &'a Variables,
    ) -> Vec<Argument<'a>> {
        let operation = &self.operations[index].definition.node;
        let (visited, found) = (HashSet::new(), Vec::new());
        let mut walk = Walk { types, fragments: &self.fragments, variables, visited, found };
        walk.set(&operation.selection_set.node, root(operation.ty));
        let mut found = walk.found;
        let declared = &operation.variable_definitions;
        let is_null = |name: &Name| {
            declared.iter().any(|one| one.node.name.node == *name)
                && variables.get(name).is_none_or(|value| *value == Value::Null)
        };
        found.retain(|argument| argument.choices(types).into_iter().any(is_null));
        found
    }
}

/// Collects the arguments of the selections that aren't skipped.
struct Walk<'a> {
    types: &'a Types,
    fragments: &'a Fragments,
    variables: &'a Variables,
    /// Names of the fragments that were visited.
    visited: HashSet<&'a Name>,
    found: Vec<Argument<'a>>,
}

impl<'a> Walk<'a> {
    fn set(&mut self, set: &'a SelectionSet, of: &str) {
        let (types, variables) = (self.types, self.variables);
        let is_true = |name: &Name| variables.get(name) == Some(&Value::Boolean(true));
        for selection in &set.items {
            if is_skipped(selection.node.directives(), is_true) {
                continue;
            }
            match &selection.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    add_arguments_of(types, field, of, &mut self.found);
                    if let Some(ty) = types.field(of, &field.name.node) {
                        self.set(&field.selection_set.node, named(ty));
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let condition = fragment.node.type_condition.as_ref();
                    let of = condition.map_or(of, |condition| condition.node.on.node.as_str());
                    self.set(&fragment.node.selection_set.node, of);
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    if self.visited.insert(name)
                        && let Some(fragment) = self.fragments.get(name)
                    {
                        let of = fragment.node.type_condition.node.on.node.as_str();
                        self.set(&fragment.node.selection_set.node, of);
                    }
                }
            }
        }
    }
}
