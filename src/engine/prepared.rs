//! Prepared operations: each document is parsed and validated once.
//!
//! The stored results don't depend on the variables. The library validates a document when it is new. Later
//! only the variables are checked. If they may not have the types that the operation declares, the library
//! validates the request again.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_graphql::{
    Name, Positioned, Request, ServerError, Value, Variables,
    indexmap::IndexMap,
    parser::{
        parse_query,
        types::{
            BaseType, DocumentOperations, ExecutableDocument, FragmentDefinition,
            OperationDefinition, OperationType, Selection, SelectionSet, VariableDefinition,
        },
    },
    text,
};
use quick_cache::{Weighter, sync::Cache};

use super::{
    caching,
    completion::Completion,
    cost::{Limits, MAX_COST, Measured, Seen, measure, measure_unused},
    flatten::{Flattened, flatten},
    merging,
    typename::{TYPENAME_KEY, add_root_typename, add_typename},
    types::{Types, root},
};
use crate::error::Error;

/// Maximum total size of the cached documents in bytes. A parsed document takes many times as much memory.
const MOST_BYTES: u64 = 512 << 10;
/// Number of selections that any flattened document may have; longer documents may have more.
const SELECTIONS: usize = 100;
/// Maximum number of selections that the check of merged fields visits; no document has as many.
const VISITS: usize = 100_000;
/// Size in bytes above which a document isn't cached.
const LONGEST: usize = 32 << 10;
/// Expected number of documents; only the first allocation depends on it.
const EXPECTED: usize = 256;

/// Maximum depth of fragments that is searched for root fields.
const DEEPEST: u8 = 8;

/// A parsed document.
#[derive(Debug)]
struct Plan {
    /// By name. The only operation, if it has no name, has the empty one.
    operations: IndexMap<Name, Operation>,
    fragments: HashMap<Name, Positioned<FragmentDefinition>>,
}

/// One operation of a document.
#[derive(Debug)]
struct Operation {
    definition: Positioned<OperationDefinition>,
    /// Its cost, if that doesn't depend on variables.
    cost: Option<usize>,
    /// Seconds for which its response may be cached, if it may.
    max_age: Option<u32>,
    /// Whether the library's response is complete if it has no errors.
    is_plain: bool,
    /// Whether it can be executed directly: nothing in it depends on the request but its variables.
    is_unconditional: bool,
}

impl Operation {
    /// Checks the root of a flattened operation. Flattening leaves one field for each response key, so that
    /// nothing is done twice; but with `@skip` and `@include` a key may still occur several times.
    fn check_root(&self) -> Result<(), Error> {
        let operation = &self.definition.node;
        let (mut keys, mut conditions) = (Vec::new(), 0);
        root_keys(&operation.selection_set.node, &mut keys, &mut conditions);
        let count = keys.len();
        match operation.ty {
            OperationType::Query => Ok(()),
            OperationType::Subscription if count == 1 && conditions == 0 => Ok(()),
            OperationType::Subscription => {
                let reason = "a subscription has one field of the root, without conditions";
                Err(Error::bad_input("query", reason))
            }
            OperationType::Mutation => {
                keys.sort_unstable();
                keys.dedup();
                if keys.len() == count {
                    return Ok(());
                }
                let reason = "asks in several places for one field of the root, under conditions";
                Err(Error::bad_input("query", reason))
            }
        }
    }
}

impl Plan {
    /// Parses a document; `None` if that isn't possible.
    fn read(types: &Types, text: &str) -> Option<Self> {
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
            let OperationDefinition { ty, selection_set, .. } = &mut operation.node;
            add_root_typename(types, *ty, &mut selection_set.node);
        }
        let operations = operations.into_iter().map(|(name, definition)| {
            let max_age = caching::max_age(types, &fragments, &definition.node);
            let (cost, is_plain, is_unconditional) = (None, false, false);
            (name, Operation { definition, cost, max_age, is_plain, is_unconditional })
        });
        let operations = operations.collect();
        Some(Self { operations, fragments })
    }

    /// Flattens the operations, with at most `most` selections in total. Queries that don't fit, and
    /// introspection, stay as they are.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` if the fields of an operation can't be merged, or can't be executed once
    /// and in order.
    fn written_out(&self, types: &Types, mut most: usize) -> Result<Self, Error> {
        let mut fragments = HashMap::new();
        let flatten = |(key, operation): (&Name, &Operation)| {
            let Operation { definition, cost, max_age, .. } = operation;
            let (ty, set) = (definition.node.ty, &definition.node.selection_set.node);
            merging::check(types, &self.fragments, set, root(ty), VISITS)?;
            let (cost, max_age) = (*cost, *max_age);
            let mut left = most;
            let written = flatten(types, &self.fragments, definition, root(ty), &mut left);
            let written = match written {
                Some(Flattened { operation: definition, is_plain, is_unconditional }) => {
                    most = left;
                    Operation { definition, cost, max_age, is_plain, is_unconditional }
                }
                None if ty == OperationType::Query => {
                    fragments.clone_from(&self.fragments);
                    let (definition, is_plain) = (definition.clone(), false);
                    Operation { definition, cost, max_age, is_plain, is_unconditional: false }
                }
                None => {
                    let reason = "has more selections than can be written out".to_owned();
                    return Err(Error::TooComplex { limit: "selections", reason });
                }
            };
            written.check_root()?;
            Ok((key.clone(), written))
        };
        let operations = self.operations.iter().map(flatten).collect::<Result<_, Error>>()?;
        Ok(Self { operations, fragments })
    }

    /// The index of the requested operation.
    fn chosen(&self, name: Option<&str>) -> Option<usize> {
        match name {
            None => Some(0).filter(|_| self.operations.len() == 1),
            Some("") => None,
            Some(name) => self.operations.get_index_of(name),
        }
    }
}

/// A requested operation of a parsed document. It also completes the responses.
#[derive(Debug)]
pub struct PreparedOperation {
    plan: Arc<Plan>,
    /// Index of one of the plan's operations.
    operation: usize,
    /// Variables whose value is true, for `@skip` and `@include`.
    holds: HashSet<Name>,
}

impl PreparedOperation {
    fn of(plan: Arc<Plan>, operation: usize, variables: &Variables) -> Self {
        let holds = variables.iter().filter(|(_, value)| **value == Value::Boolean(true));
        let holds = holds.map(|(name, _)| name.clone()).collect();
        Self { plan, operation, holds }
    }

    /// The operation, if it can be executed directly: nothing in it depends on the request but its variables.
    pub fn unconditional(&self) -> Option<&OperationDefinition> {
        let operation = &self.plan.operations[self.operation];
        operation.is_unconditional.then_some(&operation.definition.node)
    }

    /// Whether a response without errors is complete if its keys are in order.
    pub fn is_plain(&self) -> bool {
        self.plan.operations[self.operation].is_plain
    }

    /// Sets the parsed document in `request`, so that the library doesn't parse it again. Unless
    /// `is_checked`, all operations are included, because the library then validates them.
    pub fn fill(&self, request: &mut Request, is_checked: bool) {
        let operation = &self.plan.operations[self.operation].definition;
        let operations = if is_checked {
            // One operation is enough. A single operation has no name.
            request.operation_name = None;
            DocumentOperations::Single(operation.clone())
        } else if self.name().is_none() {
            DocumentOperations::Single(operation.clone())
        } else {
            let all = self.plan.operations.iter();
            let all = all.map(|(name, operation)| (name.clone(), operation.definition.clone()));
            DocumentOperations::Multiple(all.collect())
        };
        let fragments = self.plan.fragments.clone();
        request.set_parsed_query(ExecutableDocument { operations, fragments });
    }

    fn operation(&self) -> &OperationDefinition {
        &self.plan.operations[self.operation].definition.node
    }

    /// Whether it is a subscription.
    pub fn is_subscription(&self) -> bool {
        self.operation().ty == OperationType::Subscription
    }

    /// Whether it is a mutation.
    pub fn is_mutation(&self) -> bool {
        self.operation().ty == OperationType::Mutation
    }

    /// How long shared caches may keep its response; `None` if they must not.
    pub fn max_age(&self) -> Option<Duration> {
        let seconds = self.plan.operations[self.operation].max_age?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&Name> {
        let (name, _) = self.plan.operations.get_index(self.operation)?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Its first root field.
    pub fn first_field(&self) -> Option<&Name> {
        self.first_field_of(&self.operation().selection_set.node, DEEPEST)
    }

    fn first_field_of<'a>(&'a self, set: &'a SelectionSet, deepest: u8) -> Option<&'a Name> {
        // A document that isn't validated yet may have cycles of fragments.
        let deepest = deepest.checked_sub(1)?;
        match &set.items.first()?.node {
            Selection::Field(field) => Some(&field.node.name.node),
            Selection::InlineFragment(fragment) => {
                self.first_field_of(&fragment.node.selection_set.node, deepest)
            }
            Selection::FragmentSpread(spread) => {
                let fragment = self.plan.fragments.get(&spread.node.fragment_name.node)?;
                self.first_field_of(&fragment.node.selection_set.node, deepest)
            }
        }
    }

    /// Whether one of these is a root field of it.
    pub fn has_field_of(&self, names: &[&str]) -> bool {
        self.has_any(&self.operation().selection_set.node, names, DEEPEST)
    }

    fn has_any(&self, set: &SelectionSet, names: &[&str], deepest: u8) -> bool {
        // A document that isn't validated yet may have cycles of fragments.
        let Some(deepest) = deepest.checked_sub(1) else { return false };
        let below = |set: &Positioned<SelectionSet>| self.has_any(&set.node, names, deepest);
        set.items.iter().any(|selection| match &selection.node {
            Selection::Field(field) => names.contains(&field.node.name.node.as_str()),
            Selection::InlineFragment(fragment) => below(&fragment.node.selection_set),
            Selection::FragmentSpread(spread) => {
                let fragment = self.plan.fragments.get(&spread.node.fragment_name.node);
                fragment.is_some_and(|fragment| below(&fragment.node.selection_set))
            }
        })
    }

    /// Completes the `data` of a response as the specification demands. `is_ordered` tells whether the root
    /// fields are certainly in order; the library returns them in the order in which they were resolved.
    pub fn complete(
        &self,
        types: &Types,
        data: Value,
        errors: &[ServerError],
        is_ordered: bool,
    ) -> Value {
        let operation = self.operation();
        let root = root(operation.ty);
        let is_ordered = is_ordered || operation.selection_set.node.items.len() == 1;
        let is_complete = self.is_plain() && is_ordered;
        if is_complete && errors.is_empty() {
            return data;
        }
        let data = text::read(data);
        Completion::new(types, &self.plan.fragments, &self.holds, errors).root(
            &operation.selection_set.node,
            root,
            data,
        )
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

/// The cache of prepared operations, by document.
#[derive(Debug)]
pub struct PreparedOperations {
    known: Cache<String, Arc<Plan>, ByLength>,
    limits: Limits,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<String, Arc<Plan>> for ByLength {
    fn weight(&self, text: &String, _: &Arc<Plan>) -> u64 {
        text.len() as u64
    }
}

/// What is known of a request before it is executed.
#[derive(Debug)]
pub struct Read {
    /// `None` if the document can't be parsed or has no such operation.
    pub asked: Option<PreparedOperation>,
    /// Whether the document was cached.
    pub is_known: bool,
    /// Whether the operation is certainly valid, with these variables too. Otherwise the library has to
    /// validate it, and `asked` is what the client wrote.
    pub is_checked: bool,
    /// Estimated number of objects of the response.
    pub cost: usize,
}

impl PreparedOperations {
    /// An empty cache, for operations within `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { known: Cache::with_weighter(EXPECTED, MOST_BYTES, ByLength), limits }
    }

    /// The limits of operations.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Parses the document of a request, or takes it from the cache, and prepares the request for execution:
    /// adds `__typename` where a type must be known, and the defaults of variables that aren't given.
    ///
    /// # Errors
    /// `TooComplex` if a limit is exceeded; `BadInput` if the operation uses introspection and may not, or if
    /// a variable is missing or is a list and must not be.
    pub fn read(&self, types: &Types, request: &mut Request) -> Result<Read, Error> {
        let name = request.operation_name.as_deref();
        let known = self.known.get(request.query.as_str());
        let is_known = known.is_some();
        if !is_known {
            self.limits.check_text(&request.query)?;
        }
        let plan = match known {
            Some(plan) => Some(plan),
            None => self.plan(types, &request.query)?,
        };
        let chosen = plan.and_then(|plan| plan.chosen(name).map(|place| (plan, place)));
        let Some((plan, place)) = chosen else {
            return Ok(Read { asked: None, is_known, is_checked: false, cost: 0 });
        };
        let Operation { definition: operation, cost, .. } = &plan.operations[place];
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
            self.measure(types, &plan.fragments, operation, variables, &mut seen)?.cost
        };
        let is_checked = is_known && types.admits(&operation.node, &request.variables);
        // The flattened operation may not use everything that the client's document uses.
        let as_asked = Some(&request.query).filter(|_| is_known && !is_checked);
        let as_asked = as_asked.and_then(|text| Plan::read(types, text)).and_then(|plan| {
            let place = plan.chosen(name)?;
            Some((Arc::new(plan), place))
        });
        let (plan, place) = as_asked.unwrap_or((plan, place));
        let asked = Some(PreparedOperation::of(plan, place, &request.variables));
        Ok(Read { asked, is_known, is_checked, cost })
    }

    /// Adds a valid document to the cache. The current request is then executed like every later one.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` if the fields of an operation can't be merged, or can't be executed once
    /// and in order.
    pub fn learn(
        &self,
        types: &Types,
        request: &Request,
        asked: &PreparedOperation,
    ) -> Result<PreparedOperation, Error> {
        let text = &request.query;
        let plan = Arc::new(asked.plan.written_out(types, SELECTIONS + text.len() / 4)?);
        if text.len() <= LONGEST {
            self.known.insert(text.clone(), Arc::clone(&plan));
        }
        Ok(PreparedOperation::of(plan, asked.operation, &request.variables))
    }

    /// Parses and measures a document that isn't cached; `None` if it can't be parsed.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` for any of its operations, not only the requested one: the limits are
    /// checked for all of them.
    fn plan(&self, types: &Types, text: &str) -> Result<Option<Arc<Plan>>, Error> {
        let Some(mut plan) = Plan::read(types, text) else { return Ok(None) };
        let (none, mut seen) = (Variables::default(), Seen::default());
        for operation in plan.operations.values_mut() {
            let definition = &operation.definition;
            operation.cost =
                match self.measure(types, &plan.fragments, definition, &none, &mut seen) {
                    Ok(measured) => Some(measured.cost).filter(|_| measured.is_fixed),
                    // The cost may be lower with the request's variables.
                    Err(Error::TooComplex { limit: MAX_COST, .. }) => None,
                    Err(error) => return Err(error),
                };
        }
        measure_unused(types, &self.limits, &plan.fragments, &mut seen)?;
        Ok(Some(Arc::new(plan)))
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
