//! Prepared operations: each document is parsed and validated once.
//!
//! The stored results don't depend on the variables. The library validates a document when it is new. For a
//! known document only the variables are checked. If they may not have the types that the operation declares,
//! the library validates the request again.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_graphql::{
    Name, Positioned, Request, ServerError, Value, Variables,
    parser::types::{
        BaseType, DocumentOperations, ExecutableDocument, Field, FragmentDefinition,
        OperationDefinition, OperationType, Selection, SelectionSet, VariableDefinition,
    },
    text,
};
use quick_cache::{Weighter, sync::Cache};

use super::{
    completion::Completion,
    cost::{Limits, MAX_COST, Measured, Seen, measure, measure_unused},
    document::{Operation, PreparedDocument},
    shape,
    types::{Types, root},
};
use crate::error::Error;

/// Maximum total size of the cached documents in bytes. A parsed document takes many times as much memory.
const MAX_BYTES: u64 = 512 << 10;
/// Size in bytes above which a document isn't cached.
const MAX_DOCUMENT: usize = 32 << 10;
/// Expected number of documents; only the first allocation depends on it.
const EXPECTED: usize = 256;
/// Number of selections that any flattened document may have; longer documents may have more.
const SELECTIONS: usize = 100;
/// Maximum depth of nested fragments that is searched for root fields.
const MAX_FRAGMENT_DEPTH: u8 = 8;

/// A requested operation of a parsed document. It also completes the responses.
#[derive(Debug)]
pub struct PreparedOperation {
    document: Arc<PreparedDocument>,
    /// Index of the operation in the document.
    index: usize,
    /// Variables whose value is true, for `@skip` and `@include`.
    true_variables: HashSet<Name>,
}

impl PreparedOperation {
    fn new(document: Arc<PreparedDocument>, index: usize, variables: &Variables) -> Self {
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

    /// The fragments of the document.
    pub(super) fn fragments(&self) -> impl Iterator<Item = &FragmentDefinition> {
        self.document.fragments.values().map(|fragment| &fragment.node)
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
        let operation = &self.operation().definition;
        let operations = if is_validated {
            // One operation is enough. A single operation has no name.
            request.operation_name = None;
            DocumentOperations::Single(operation.clone())
        } else if self.name().is_none() {
            DocumentOperations::Single(operation.clone())
        } else {
            let all = self.document.operations.iter();
            let all = all.map(|(name, operation)| (name.clone(), operation.definition.clone()));
            DocumentOperations::Multiple(all.collect())
        };
        let fragments = self.document.fragments.clone();
        request.set_parsed_query(ExecutableDocument { operations, fragments });
    }

    /// Checks the values of the variables by their declared types.
    ///
    /// # Errors
    /// `BadInput`, which names a variable whose value isn't of its type.
    pub fn check_variables(&self, types: &Types, variables: &Variables) -> Result<(), Error> {
        let Some(invalid) = types.invalid_variable(self.definition(), variables) else {
            return Ok(());
        };
        let VariableDefinition { name, var_type, .. } = invalid;
        let reason = format!("isn't a value of type {}", var_type.node);
        Err(Error::bad_input(format!("variables.{}", name.node), reason))
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

/// The cache of prepared operations, by document.
#[derive(Debug)]
pub struct PreparedOperations {
    cache: Cache<String, Arc<PreparedDocument>, ByLength>,
    limits: Limits,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<String, Arc<PreparedDocument>> for ByLength {
    fn weight(&self, text: &String, _: &Arc<PreparedDocument>) -> u64 {
        text.len() as u64
    }
}

/// The preparation of one request, before its operation is executed.
#[derive(Debug)]
pub struct Preparation {
    /// The requested operation; `None` if the document can't be parsed or has no such operation.
    pub operation: Option<PreparedOperation>,
    /// Whether the document was cached.
    pub is_known: bool,
    /// Whether the operation and these variables are known to be valid. Otherwise the library has to validate
    /// them, and `operation` is in the form in which the client wrote it.
    pub is_validated: bool,
    /// Estimated number of objects of the response.
    pub cost: usize,
}

impl PreparedOperations {
    /// An empty cache, for operations within `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { cache: Cache::with_weighter(EXPECTED, MAX_BYTES, ByLength), limits }
    }

    /// The limits of operations.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Parses the document of a request, or takes it from the cache, and prepares the request for execution.
    /// Variables that aren't given get their defaults.
    ///
    /// # Errors
    /// `TooComplex` if a limit is exceeded; `BadInput` if the operation uses introspection and may not, or if
    /// a variable is missing or is a list and must not be.
    pub fn prepare(&self, types: &Types, request: &mut Request) -> Result<Preparation, Error> {
        let name = request.operation_name.as_deref();
        let known = self.cache.get(request.query.as_str());
        let is_known = known.is_some();
        if !is_known {
            self.limits.check_text(&request.query)?;
        }
        let document = match known {
            Some(document) => Some(document),
            None => self.parse(types, &request.query)?,
        };
        let found = document.and_then(|document| Some((document.index_of(name)?, document)));
        let Some((index, document)) = found else {
            return Ok(Preparation { operation: None, is_known, is_validated: false, cost: 0 });
        };
        let Operation { definition: operation, cost, .. } = &document.operations[index];
        for definition in &operation.node.variable_definitions {
            let VariableDefinition { name, var_type, default_value, .. } = &definition.node;
            if let Some(default) = default_value {
                let given = request.variables.entry(name.node.clone());
                given.or_insert_with(|| default.node.clone());
            }
            let given = request.variables.get(&name.node);
            if let (Some(Value::List(_)), BaseType::Named(_)) = (given, &var_type.node.base) {
                // The measured cost relies on the declared types to tell which variables are lists.
                let reason = format!("is a list: it is of type {}", var_type.node);
                return Err(Error::bad_input(format!("variables.{}", name.node), reason));
            }
            if !var_type.node.nullable && given.is_none_or(|given| *given == Value::Null) {
                let reason = format!("must be given: it is of type {}", var_type.node);
                return Err(Error::bad_input(format!("variables.{}", name.node), reason));
            }
        }
        // Undeclared variables would be kept for as long as a subscription is open.
        let declared = &operation.node.variable_definitions;
        let is_declared = |name: &Name| declared.iter().any(|one| one.node.name.node == *name);
        request.variables.retain(|name, _| is_declared(name));
        let cost = if let Some(cost) = cost {
            *cost
        } else {
            let (variables, mut seen) = (&request.variables, Seen::default());
            self.measure(types, &document.fragments, operation, variables, &mut seen)?.cost
        };
        let is_validated =
            is_known && types.invalid_variable(&operation.node, &request.variables).is_none();
        // The flattened operation may not contain all variables and fragments of the client's document.
        let original = Some(&request.query).filter(|_| is_known && !is_validated);
        let original = original.and_then(|text| PreparedDocument::parse(types, text));
        let original = original.and_then(|document| {
            let index = document.index_of(name)?;
            Some((index, Arc::new(document)))
        });
        let (index, document) = original.unwrap_or((index, document));
        let operation = Some(PreparedOperation::new(document, index, &request.variables));
        Ok(Preparation { operation, is_known, is_validated, cost })
    }

    /// Flattens a valid document and adds it to the cache. The current request is then executed in the same form
    /// as later ones.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` if the fields of an operation can't be merged, or can't be executed once
    /// and in order.
    pub fn add(
        &self,
        types: &Types,
        request: &Request,
        operation: &PreparedOperation,
    ) -> Result<PreparedOperation, Error> {
        let text = &request.query;
        let budget = SELECTIONS + text.len() / 4;
        let document = Arc::new(operation.document.flattened(types, budget)?);
        if text.len() <= MAX_DOCUMENT {
            self.cache.insert(text.clone(), Arc::clone(&document));
        }
        Ok(PreparedOperation::new(document, operation.index, &request.variables))
    }

    /// Parses and measures a document that isn't cached; `None` if it can't be parsed.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` for any of its operations, not only the requested one: the limits are
    /// checked for all of them.
    fn parse(&self, types: &Types, text: &str) -> Result<Option<Arc<PreparedDocument>>, Error> {
        let Some(mut document) = PreparedDocument::parse(types, text) else { return Ok(None) };
        let (none, mut seen) = (Variables::default(), Seen::default());
        for operation in document.operations.values_mut() {
            let definition = &operation.definition;
            operation.cost =
                match self.measure(types, &document.fragments, definition, &none, &mut seen) {
                    Ok(measured) => Some(measured.cost).filter(|_| measured.is_fixed),
                    // The cost may be lower with the request's variables.
                    Err(Error::TooComplex { limit: MAX_COST, .. }) => None,
                    Err(error) => return Err(error),
                };
        }
        measure_unused(types, &self.limits, &document.fragments, &mut seen)?;
        Ok(Some(Arc::new(document)))
    }

    fn measure(
        &self,
        types: &Types,
        fragments: &HashMap<Name, Positioned<FragmentDefinition>>,
        operation: &Positioned<OperationDefinition>,
        variables: &Variables,
        seen: &mut Seen,
    ) -> Result<Measured, Error> {
        let operation = &operation.node;
        measure(types, &self.limits, fragments, operation, root(operation.ty), variables, seen)
    }
}
