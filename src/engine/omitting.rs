//! Variables that aren't given. An argument, or a field of an input object, with such a variable counts as left out, so that its
//! default applies, and a field that a change may leave out stays as it is. The library takes null for the variable.
//! <https://spec.graphql.org/September2025/#sec-Coercing-Field-Arguments>

use std::sync::Arc;

use async_graphql::{
    Name, Variables,
    parser::types::{Field, Selection, SelectionSet},
};
use async_graphql_value::Value as Literal;

use super::document::PreparedDocument;

impl PreparedDocument {
    /// The document without what counts as left out in a valid operation, whose variables have their defaults.
    pub(super) fn omitting(self: Arc<Self>, index: usize, variables: &Variables) -> Arc<Self> {
        let is_missing = |name: &Name| !variables.contains_key(name);
        let declared = &self.operations[index].definition.node.variable_definitions;
        let mut missing = declared.iter().filter(|one| is_missing(&one.node.name.node));
        if !missing.any(|one| self.omissible.contains(&one.node.name.node)) {
            return self;
        }
        let mut rest = Self::clone(&self);
        let operation = &mut rest.operations[index].definition.node;
        omit(&mut operation.selection_set.node, &is_missing);
        for fragment in rest.fragments.values_mut() {
            omit(&mut fragment.node.selection_set.node, &is_missing);
        }
        Arc::new(rest)
    }
}

fn omit(set: &mut SelectionSet, is_missing: &impl Fn(&Name) -> bool) {
    for selection in &mut set.items {
        match &mut selection.node {
            Selection::Field(field) => {
                let Field { arguments, selection_set, .. } = &mut field.node;
                arguments.retain_mut(|(_, value)| is_given(&mut value.node, is_missing));
                omit(&mut selection_set.node, is_missing);
            }
            Selection::InlineFragment(fragment) => {
                omit(&mut fragment.node.selection_set.node, is_missing);
            }
            Selection::FragmentSpread(_) => {}
        }
    }
}

/// Whether a value is given. Fields that aren't are removed from the objects in it. An element of a list stays: it is null.
fn is_given(value: &mut Literal, is_missing: &impl Fn(&Name) -> bool) -> bool {
    match value {
        Literal::Variable(name) => return !is_missing(name),
        Literal::List(values) => {
            for value in values {
                is_given(value, is_missing);
            }
        }
        Literal::Object(fields) => fields.retain(|_, value| is_given(value, is_missing)),
        _ => {}
    }
    true
}
