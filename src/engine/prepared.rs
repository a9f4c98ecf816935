//! Prepared operations: what a request executes, and how its response is completed.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_graphql::{
    Name, Positioned, Request, ServerError, Value, Variables,
    parser::types::{
        DocumentOperations, ExecutableDocument, Field, OperationDefinition, OperationType,
        Selection, SelectionSet, VariableDefinition,
    },
    text,
};

use super::{
    completion::Completion,
    document::{Operation, PreparedDocument},
    shape,
    types::{Types, root},
    values::Values,
};
use crate::error::Error;

/// Maximum depth of nested fragments that is searched for root fields.
const MAX_FRAGMENT_DEPTH: u8 = 8;

/// A requested operation of a parsed document. It also completes the responses.
#[derive(Debug)]
pub struct PreparedOperation {
    pub(super) document: Arc<PreparedDocument>,
    /// Index of the operation in the document.
    pub(super) index: usize,
    /// Variables whose value is true, for `@skip` and `@include`.
    true_variables: HashSet<Name>,
}

impl PreparedOperation {
    pub(super) fn new(
        document: Arc<PreparedDocument>,
        index: usize,
        variables: &Variables,
    ) -> Self {
        let are_true = variables.iter().filter(|(_, value)| **value == Value::Boolean(true));
        let true_variables = are_true.map(|(name, _)| name.clone()).collect();
        Self { document, index, true_variables }
    }

    fn operation(&self) -> &Operation {
        &self.document.operations[self.index]
    }

    fn definition(&self) -> &OperationDefinition {
        &self.operation().definition.node
    }

    /// All operations of the document.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &OperationDefinition> {
        self.document.operations.iter().map(|(_, operation)| &operation.definition.node)
    }

    /// The operation, if it can be executed directly: only its variables depend on the request.
    pub fn unconditional(&self) -> Option<&OperationDefinition> {
        self.operation().is_unconditional.then(|| self.definition())
    }

    /// Whether a response without errors is complete if its keys are in order.
    pub fn is_static(&self) -> bool {
        self.operation().is_static
    }

    /// Sets the parsed document of `request`, so that the library doesn't parse it again. Unless
    /// `is_validated`, all operations are included, because the library then validates them.
    pub fn set_parsed_document(&self, request: &mut Request, is_validated: bool) {
        let document = if is_validated {
            // One operation is enough. A single operation has no name.
            request.operation_name = None;
            let operations = DocumentOperations::Single(self.operation().definition.clone());
            ExecutableDocument { operations, fragments: self.document.fragments.clone() }
        } else {
            self.document.executable()
        };
        request.set_parsed_query(document);
    }

    /// Checks the values of the variables by their declared types. With `suggests` the message lists names of the
    /// schema.
    ///
    /// # Errors
    /// `BadInput`, which names the part of a variable that isn't of its type.
    pub fn check_variables(
        &self,
        types: &Types,
        variables: &Variables,
        suggests: bool,
    ) -> Result<(), Error> {
        let Some(invalid) = types.invalid_variable(self.definition(), variables) else {
            return Ok(());
        };
        let VariableDefinition { name, var_type, .. } = invalid;
        let path = format!("variables.{}", name.node);
        let values = Values { types, variables: None, suggests };
        let given = variables.get(&name.node).cloned().map(Value::into_value);
        let fault = given.and_then(|value| values.fault(&path, &var_type.node, &value));
        Err(fault.unwrap_or_else(|| {
            Error::bad_input(path, format!("isn't a value of type {}", var_type.node))
        }))
    }

    /// Whether it is a subscription.
    pub fn is_subscription(&self) -> bool {
        self.definition().ty == OperationType::Subscription
    }

    /// Whether it is a mutation.
    pub fn is_mutation(&self) -> bool {
        self.definition().ty == OperationType::Mutation
    }

    /// How long shared caches may keep its response; `None` if they must not.
    pub fn max_age(&self) -> Option<Duration> {
        let seconds = self.operation().max_age?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&Name> {
        let (name, _) = self.document.operations.get_index(self.index)?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Its first root field.
    pub fn first_field(&self) -> Option<&Name> {
        self.first_field_of(&self.definition().selection_set.node, MAX_FRAGMENT_DEPTH)
    }

    fn first_field_of<'a>(&'a self, set: &'a SelectionSet, depth: u8) -> Option<&'a Name> {
        // A document that isn't validated yet may have cycles of fragments.
        let depth = depth.checked_sub(1)?;
        match &set.items.first()?.node {
            Selection::Field(field) => Some(&field.node.name.node),
            Selection::InlineFragment(fragment) => {
                self.first_field_of(&fragment.node.selection_set.node, depth)
            }
            Selection::FragmentSpread(spread) => {
                let fragment = self.document.fragments.get(&spread.node.fragment_name.node)?;
                self.first_field_of(&fragment.node.selection_set.node, depth)
            }
        }
    }

    /// Whether it has a root field for which this holds.
    pub fn has_field(&self, holds: &impl Fn(&Field) -> bool) -> bool {
        self.has_any(&self.definition().selection_set.node, holds, MAX_FRAGMENT_DEPTH)
    }

    fn has_any(&self, set: &SelectionSet, holds: &impl Fn(&Field) -> bool, depth: u8) -> bool {
        // A document that isn't validated yet may have cycles of fragments.
        let Some(depth) = depth.checked_sub(1) else { return false };
        let below = |set: &Positioned<SelectionSet>| self.has_any(&set.node, holds, depth);
        set.items.iter().any(|selection| match &selection.node {
            Selection::Field(field) => holds(&field.node),
            Selection::InlineFragment(fragment) => below(&fragment.node.selection_set),
            Selection::FragmentSpread(spread) => {
                let fragment = self.document.fragments.get(&spread.node.fragment_name.node);
                fragment.is_some_and(|fragment| below(&fragment.node.selection_set))
            }
        })
    }

    /// Identifies the selections below the root fields, with the values of the variables in them: two requests of
    /// one caller with the same digest show the same of the same object.
    pub fn shape(&self, request: &Request) -> [u8; 32] {
        let mut used = HashSet::new();
        let operation = self.definition();
        shape::add_variables(
            &operation.selection_set.node,
            &self.document.fragments,
            true,
            &mut used,
        );
        shape::digest(&request.query, self.index, &request.variables, &used)
    }

    /// Completes the `data` of a response as the specification demands. `is_ordered` states that the root fields
    /// are in order; the library returns them in the order in which they were resolved.
    pub fn complete(
        &self,
        types: &Types,
        data: Value,
        errors: &[ServerError],
        is_ordered: bool,
    ) -> Value {
        let operation = self.definition();
        let root = root(operation.ty);
        let is_ordered = is_ordered || operation.selection_set.node.items.len() == 1;
        let is_complete = self.is_static() && is_ordered;
        if is_complete && errors.is_empty() {
            return data;
        }
        let data = text::read(data);
        Completion::new(types, &self.document.fragments, &self.true_variables, errors).root(
            &operation.selection_set.node,
            root,
            data,
        )
    }
}
