//! A parsed GraphQL document: its fragments, and its operations with their variable-independent properties.
//!
//! A document is first stored as the client wrote it, so that the library can validate it. [`flattened`] returns
//! the form that is executed.
//!
//! [`flattened`]: PreparedDocument::flattened

use std::collections::HashMap;

use async_graphql::{
    Name, Positioned, Value,
    indexmap::IndexMap,
    parser::{
        parse_query,
        types::{
            BaseType, DocumentOperations, ExecutableDocument, FragmentDefinition,
            OperationDefinition, OperationType, Selection, SelectionSet, VariableDefinition,
        },
    },
};

use super::{
    caching,
    flatten::{Flattened, flatten},
    limits::too_complex,
    merging,
    typename::{TYPENAME_KEY, add_root_typename, add_typename},
    types::{Types, named, root},
    values::{Argument, add_arguments},
};
use crate::error::Error;

/// Maximum number of selections that the check of merged fields visits; no document has as many.
const MAX_VISITS: usize = 100_000;

/// The fragments of a document, by name.
pub(super) type Fragments = HashMap<Name, Positioned<FragmentDefinition>>;

/// A parsed document.
#[derive(Debug, Clone)]
pub(super) struct PreparedDocument {
    /// By name. The only operation, if it has no name, has the empty one.
    pub(super) operations: IndexMap<Name, Operation>,
    pub(super) fragments: Fragments,
    /// Variables that are fields of input objects that require exactly one field.
    pub(super) choices: Vec<Name>,
    /// Variables for which null isn't the same as no value; see [`super::omitting`].
    pub(super) omissible: Vec<Name>,
}

/// One operation of a document.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) definition: Positioned<OperationDefinition>,
    /// Its cost, if that doesn't depend on variables.
    pub(super) cost: Option<usize>,
    /// Seconds for which its response may be cached, if it may.
    pub(super) max_age: Option<u32>,
    /// Whether no fragment and no directive is left; see [`Flattened::is_static`]. A response without errors
    /// is then complete.
    pub(super) is_static: bool,
    /// Whether no directive is left; see [`Flattened::is_unconditional`]. The operation can then be executed
    /// directly.
    pub(super) is_unconditional: bool,
}

impl Operation {
    /// Checks the root of a flattened operation. Flattening leaves one field for each response key, so that
    /// each root field is executed once. With `@skip` and `@include` a key may still occur several times.
    fn check_root(&self) -> Result<(), Error> {
        let operation = &self.definition.node;
        let (mut keys, mut conditions) = (Vec::new(), 0);
        root_keys(&operation.selection_set.node, &mut keys, &mut conditions);
        let count = keys.len();
        match operation.ty {
            OperationType::Query => Ok(()),
            OperationType::Subscription if count == 1 && conditions == 0 => Ok(()),
            OperationType::Subscription => {
                let reason = "a subscription has exactly one root field, without conditions";
                Err(Error::bad_input("query", reason))
            }
            OperationType::Mutation => {
                keys.sort_unstable();
                keys.dedup();
                if keys.len() == count {
                    return Ok(());
                }
                let reason = "selects one root field several times, under conditions";
                Err(Error::bad_input("query", reason))
            }
        }
    }
}

impl PreparedDocument {
    /// Parses a document, and adds `__typename` where completion needs it. Returns `None` if the document can't
    /// be parsed.
    pub(super) fn parse(types: &Types, text: &str) -> Option<Self> {
        let ExecutableDocument { operations, mut fragments } = parse_query(text).ok()?;
        for fragment in fragments.values_mut() {
            let FragmentDefinition { type_condition, selection_set, .. } = &mut fragment.node;
            add_typename(types, &mut selection_set.node, &type_condition.node.on.node);
        }
        let mut operations = match operations {
            DocumentOperations::Single(operation) => vec![(Name::new(""), operation)],
            DocumentOperations::Multiple(operations) => operations.into_iter().collect::<Vec<_>>(),
        };
        // Operations that must be flattened come before those that may be.
        operations.sort_by_cached_key(|(name, operation)| {
            (operation.node.ty == OperationType::Query, name.to_string())
        });
        for (_, operation) in &mut operations {
            let OperationDefinition { ty, variable_definitions, selection_set, .. } =
                &mut operation.node;
            add_root_typename(types, *ty, &mut selection_set.node);
            for definition in variable_definitions {
                empty_unknown_list(types, &mut definition.node);
            }
        }
        let operations = operations.into_iter().map(|(name, definition)| {
            let max_age = caching::max_age(types, &fragments, &definition.node);
            let (cost, is_static, is_unconditional) = (None, false, false);
            (name, Operation { definition, cost, max_age, is_static, is_unconditional })
        });
        let operations = operations.collect();
        let (choices, omissible) = (Vec::new(), Vec::new());
        let mut document = Self { operations, fragments, choices, omissible };
        let arguments = document.arguments(types);
        let choices = arguments.iter().flat_map(|argument| argument.choices(types));
        let choices = choices.cloned().collect();
        let omissible = arguments.iter().flat_map(Argument::omissible).cloned().collect();
        (document.choices, document.omissible) = (choices, omissible);
        Some(document)
    }

    /// The document as the library takes it.
    pub(super) fn executable(&self) -> ExecutableDocument {
        let operations = if let Some(only) = self.operations.get("") {
            DocumentOperations::Single(only.definition.clone())
        } else {
            let all = self.operations.iter();
            let all = all.map(|(name, operation)| (name.clone(), operation.definition.clone()));
            DocumentOperations::Multiple(all.collect())
        };
        ExecutableDocument { operations, fragments: self.fragments.clone() }
    }

    /// The arguments of the fields of all operations and fragments.
    pub(super) fn arguments<'a>(&'a self, types: &'a Types) -> Vec<Argument<'a>> {
        let mut all = Vec::new();
        for Operation { definition, .. } in self.operations.values() {
            let OperationDefinition { ty, selection_set, .. } = &definition.node;
            add_arguments(types, &selection_set.node, root(*ty), &mut all);
        }
        for fragment in self.fragments.values() {
            let FragmentDefinition { type_condition, selection_set, .. } = &fragment.node;
            add_arguments(types, &selection_set.node, &type_condition.node.on.node, &mut all);
        }
        all
    }

    /// Returns the document with flattened operations, which have at most `budget` selections in total. Queries
    /// that exceed it, and introspection, stay as they are.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` if the fields of an operation can't be merged, or can't be executed once
    /// and in order.
    pub(super) fn flattened(&self, types: &Types, mut budget: usize) -> Result<Self, Error> {
        let mut fragments = HashMap::new();
        let flatten = |(key, operation): (&Name, &Operation)| {
            let Operation { definition, cost, max_age, .. } = operation;
            let (ty, set) = (definition.node.ty, &definition.node.selection_set.node);
            merging::check(types, &self.fragments, set, root(ty), MAX_VISITS)?;
            let (cost, max_age) = (*cost, *max_age);
            let mut left = budget;
            let flattened = flatten(types, &self.fragments, definition, root(ty), &mut left);
            let flattened = match flattened {
                Some(Flattened { operation: definition, is_static, is_unconditional }) => {
                    budget = left;
                    Operation { definition, cost, max_age, is_static, is_unconditional }
                }
                None if ty == OperationType::Query => {
                    fragments.clone_from(&self.fragments);
                    let (definition, is_static) = (definition.clone(), false);
                    Operation { definition, cost, max_age, is_static, is_unconditional: false }
                }
                None => {
                    let reason = "has more selections than can be flattened".to_owned();
                    return Err(too_complex("selections", reason));
                }
            };
            flattened.check_root()?;
            Ok((key.clone(), flattened))
        };
        let operations = self.operations.iter().map(flatten).collect::<Result<_, Error>>()?;
        let (choices, omissible) = (self.choices.clone(), self.omissible.clone());
        Ok(Self { operations, fragments, choices, omissible })
    }

    /// The index of the operation with the requested name. Without a name it is the only operation.
    pub(super) fn index_of(&self, name: Option<&str>) -> Option<usize> {
        match name {
            None => Some(0).filter(|_| self.operations.len() == 1),
            Some("") => None,
            Some(name) => self.operations.get_index_of(name),
        }
    }
}

/// Empties the default of a variable whose type is a list of an unknown type. The library refuses such a variable. But to check
/// the elements of the default, it looks the type up, and panics.
fn empty_unknown_list(types: &Types, definition: &mut VariableDefinition) {
    let VariableDefinition { var_type, default_value, .. } = definition;
    if let Some(default) = default_value
        && matches!(var_type.node.base, BaseType::List(_))
        && !types.is_known(named(&var_type.node))
    {
        default.node = Value::List(Vec::new());
    }
}

/// Collects the response keys of a root, and counts its conditional selections.
fn root_keys<'a>(set: &'a SelectionSet, keys: &mut Vec<&'a Name>, conditions: &mut usize) {
    for selection in &set.items {
        *conditions += usize::from(!selection.node.directives().is_empty());
        match &selection.node {
            Selection::Field(field) if field.node.response_key().node == TYPENAME_KEY => {}
            Selection::Field(field) => keys.push(&field.node.response_key().node),
            Selection::InlineFragment(fragment) => {
                root_keys(&fragment.node.selection_set.node, keys, conditions);
            }
            Selection::FragmentSpread(_) => *conditions += 1, // a flattened operation has none
        }
    }
}
