//! Each text is read and validated once.
//!
//! What is known of a text doesn't depend on the variables: whether the schema's rules hold is told by
//! the library the first time. Later only the variables are looked at; where they may not be what the
//! operation declares, the library has the word again.

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
    mark::{MARK, mark, mark_root},
    measure::{Limits, MAX_COST, Measured, Seen, measure, measure_unused},
    merging,
    types::{Types, root},
    written_out::{WrittenOut, write_out},
};
use crate::error::Error;

/// Bytes of text that are known at the most; what is read of a text takes many times as much.
const MOST_BYTES: u64 = 512 << 10;
/// Selections that any text may have when it is written out; longer ones may have more.
const SELECTIONS: usize = 100;
/// How many selections are looked at to tell whether fields of one key are one; more than any text has.
const VISITS: usize = 100_000;
/// Longer texts are read each time.
const LONGEST: usize = 32 << 10;
/// Texts that are expected; only the first allocation goes by it.
const EXPECTED: usize = 256;

/// How many fragments are looked into for the first field of an operation.
const DEEPEST: u8 = 8;

/// A text, read.
#[derive(Debug)]
struct Plan {
    /// By name; the empty one is that of the only operation, if it has none.
    operations: IndexMap<Name, Operation>,
    fragments: HashMap<Name, Positioned<FragmentDefinition>>,
}

/// One operation of a text.
#[derive(Debug)]
struct Operation {
    definition: Positioned<OperationDefinition>,
    /// What it costs, where that doesn't depend on variables.
    cost: Option<usize>,
    /// For how many seconds its answer may be kept, where it may.
    max_age: Option<u32>,
    /// Whether what the library answers to it, without an error, is complete as it is.
    is_plain: bool,
    /// Whether it can be executed as it is: nothing of it depends on the request but its variables.
    is_unconditional: bool,
}

impl Operation {
    /// What is written out asks the root for each key in one place, so that nothing is done twice; but
    /// under conditions the same key may still stand in several.
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
    /// Reads a text; `None` where it can't be.
    fn read(types: &Types, text: &str) -> Option<Self> {
        let ExecutableDocument { operations, mut fragments } = parse_query(text).ok()?;
        for fragment in fragments.values_mut() {
            let FragmentDefinition { type_condition, selection_set, .. } = &mut fragment.node;
            mark(types, &mut selection_set.node, &type_condition.node.on.node);
        }
        let mut operations = match operations {
            DocumentOperations::Single(operation) => vec![(Name::new(""), operation)],
            DocumentOperations::Multiple(operations) => operations.into_iter().collect::<Vec<_>>(),
        };
        // What has to be written out is before what may be.
        operations.sort_by_cached_key(|(name, operation)| {
            (operation.node.ty == OperationType::Query, name.to_string())
        });
        for (_, operation) in &mut operations {
            let OperationDefinition { ty, selection_set, .. } = &mut operation.node;
            mark_root(types, *ty, &mut selection_set.node);
        }
        let operations = operations.into_iter().map(|(name, definition)| {
            let max_age = caching::max_age(types, &fragments, &definition.node);
            let (cost, is_plain, is_unconditional) = (None, false, false);
            (name, Operation { definition, cost, max_age, is_plain, is_unconditional })
        });
        let operations = operations.collect();
        Some(Self { operations, fragments })
    }

    /// The same, written out: with at most `most` selections together. Queries for which there is no room, or
    /// that ask about the schema itself, stay as they are.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput`: what one of its operations asks for can't be done once and in order.
    fn written_out(&self, types: &Types, mut most: usize) -> Result<Self, Error> {
        let mut fragments = HashMap::new();
        let write_out = |(key, operation): (&Name, &Operation)| {
            let Operation { definition, cost, max_age, .. } = operation;
            let (ty, set) = (definition.node.ty, &definition.node.selection_set.node);
            merging::check(types, &self.fragments, set, root(ty), VISITS)?;
            let (cost, max_age) = (*cost, *max_age);
            let mut left = most;
            let written = write_out(types, &self.fragments, definition, root(ty), &mut left);
            let written = match written {
                Some(WrittenOut { operation: definition, is_plain, is_unconditional }) => {
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
        let operations = self.operations.iter().map(write_out).collect::<Result<_, Error>>()?;
        Ok(Self { operations, fragments })
    }

    /// The place of the operation that was asked for.
    fn chosen(&self, name: Option<&str>) -> Option<usize> {
        match name {
            None => Some(0).filter(|_| self.operations.len() == 1),
            Some("") => None,
            Some(name) => self.operations.get_index_of(name),
        }
    }
}

/// One operation that was asked for, to complete its answers.
#[derive(Debug)]
pub struct Asked {
    plan: Arc<Plan>,
    /// The place of one of the plan's operations.
    operation: usize,
    /// Variables that are true: what `@skip` and `@include` go by.
    holds: HashSet<Name>,
}

impl Asked {
    fn of(plan: Arc<Plan>, operation: usize, variables: &Variables) -> Self {
        let holds = variables.iter().filter(|(_, value)| **value == Value::Boolean(true));
        let holds = holds.map(|(name, _)| name.clone()).collect();
        Self { plan, operation, holds }
    }

    /// The operation, where nothing of it depends on the request but its variables: then it can be executed
    /// as it is.
    pub fn unconditional(&self) -> Option<&OperationDefinition> {
        let operation = &self.plan.operations[self.operation];
        operation.is_unconditional.then_some(&operation.definition.node)
    }

    /// Whether what is answered without an error is complete, its keys being in order.
    pub fn is_plain(&self) -> bool {
        self.plan.operations[self.operation].is_plain
    }

    /// What was read isn't read again by the library; that looks at all operations where it is to check them.
    pub fn fill(&self, request: &mut Request, is_checked: bool) {
        let operation = &self.plan.operations[self.operation].definition;
        let operations = if is_checked {
            // One operation is enough, and by itself it has no name.
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

    /// How long anyone may keep its answer; `None` where nobody may.
    pub fn max_age(&self) -> Option<Duration> {
        let seconds = self.plan.operations[self.operation].max_age?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&Name> {
        let (name, _) = self.plan.operations.get_index(self.operation)?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// The first field of its root.
    pub fn first_field(&self) -> Option<&Name> {
        self.first_field_of(&self.operation().selection_set.node, DEEPEST)
    }

    fn first_field_of<'a>(&'a self, set: &'a SelectionSet, deepest: u8) -> Option<&'a Name> {
        // A text that wasn't validated yet may go round in circles.
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

    /// Whether one of these is a field of its root.
    pub fn has_field_of(&self, names: &[&str]) -> bool {
        self.has_any(&self.operation().selection_set.node, names, DEEPEST)
    }

    fn has_any(&self, set: &SelectionSet, names: &[&str], deepest: u8) -> bool {
        // A text that wasn't validated yet may go round in circles.
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

    /// `data` of one answer as the specification has it. Whether the fields of the root are in order isn't
    /// sure after the library: there they come as they were ready.
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

/// The keys of a root, and how many of its selections depend on something.
fn root_keys<'a>(set: &'a SelectionSet, keys: &mut Vec<&'a Name>, conditions: &mut usize) {
    for selection in &set.items {
        *conditions += usize::from(!selection.node.directives().is_empty());
        match &selection.node {
            Selection::Field(field) if field.node.response_key().node == MARK => {}
            Selection::Field(field) => keys.push(&field.node.response_key().node),
            Selection::InlineFragment(fragment) => {
                root_keys(&fragment.node.selection_set.node, keys, conditions);
            }
            Selection::FragmentSpread(_) => *conditions += 1, // none is left when written out
        }
    }
}

/// The texts that are known.
#[derive(Debug)]
pub struct Plans {
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
    /// `None` where the text can't be read or has no such operation.
    pub asked: Option<Asked>,
    /// Whether the text was read before.
    pub is_known: bool,
    /// Whether the schema's rules hold for it, with these variables too. Where that isn't sure the library
    /// has to tell, and `asked` is what the client wrote.
    pub is_checked: bool,
    /// Estimated objects of the answer.
    pub cost: usize,
}

impl Plans {
    /// None yet; operations may ask for as much as `limits` say.
    pub fn new(limits: Limits) -> Self {
        Self { known: Cache::with_weighter(EXPECTED, MOST_BYTES, ByLength), limits }
    }

    /// What operations may ask for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Reads the text of a request and prepares it for execution: objects whose type must be known tell
    /// it, and variables that weren't given have their defaults.
    ///
    /// # Errors
    /// `TooComplex` where it asks for more than it may, `BadInput` where it asks for the schema and
    /// may not, or where a variable is missing.
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
                // How long lists are is measured by what is declared.
                let reason = format!("is a list: it is of type {}", var_type.node);
                return Err(Error::bad_input(format!("variables.{}", name.node), reason));
            }
            if !var_type.node.nullable && given.is_none_or(|given| *given == Value::Null) {
                let reason = format!("must be given: it is of type {}", var_type.node);
                return Err(Error::bad_input(format!("variables.{}", name.node), reason));
            }
        }
        // What nothing asks for would be kept for as long as a subscription is open.
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
        // Written out it may not use all that the client's text uses.
        let as_asked = Some(&request.query).filter(|_| is_known && !is_checked);
        let as_asked = as_asked.and_then(|text| Plan::read(types, text)).and_then(|plan| {
            let place = plan.chosen(name)?;
            Some((Arc::new(plan), place))
        });
        let (plan, place) = as_asked.unwrap_or((plan, place));
        let asked = Some(Asked::of(plan, place, &request.variables));
        Ok(Read { asked, is_known, is_checked, cost })
    }

    /// Knows a text for which the schema's rules hold from now on: the request is executed as every later
    /// one.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput`: what one of its operations asks for can't be done once and in order.
    pub fn learn(&self, types: &Types, request: &Request, asked: &Asked) -> Result<Asked, Error> {
        let text = &request.query;
        let plan = Arc::new(asked.plan.written_out(types, SELECTIONS + text.len() / 4)?);
        if text.len() <= LONGEST {
            self.known.insert(text.clone(), Arc::clone(&plan));
        }
        Ok(Asked::of(plan, asked.operation, &request.variables))
    }

    /// Reads a text that isn't known; `None` where it can't be.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput`: one of its operations, whichever is chosen. The rules are checked for
    /// all of them.
    fn plan(&self, types: &Types, text: &str) -> Result<Option<Arc<Plan>>, Error> {
        let Some(mut plan) = Plan::read(types, text) else { return Ok(None) };
        let (none, mut seen) = (Variables::default(), Seen::default());
        for operation in plan.operations.values_mut() {
            let definition = &operation.definition;
            operation.cost =
                match self.measure(types, &plan.fragments, definition, &none, &mut seen) {
                    Ok(measured) => Some(measured.cost).filter(|_| measured.is_fixed),
                    // It may be less with the variables that come.
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
