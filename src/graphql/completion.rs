//! Completes what the library answers to what the specification promises.
//! <https://spec.graphql.org/October2021/#sec-Executing-Selection-Sets>
//!
//! async-graphql 7 orders the keys of an object by when they were ready, leaves out the key of a field
//! that failed, and answers `null` for an object of which nothing was selected, such as `{}` behind
//! a fragment on another type. Here each object gets the keys that were asked for, in their order;
//! a field that failed is null, and where the schema has no null there, what is around it.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Name, PathSegment, Positioned, ServerError, Value, Variables,
    indexmap::IndexMap,
    parser::types::{
        BaseType, Directive, DocumentOperations, ExecutableDocument, Field, FragmentDefinition,
        OperationDefinition, OperationType, Selection, SelectionSet, ServiceDocument, Type,
        TypeKind, TypeSystemDefinition,
    },
};

/// Key under which an object tells its type where that isn't known from the request alone. It also
/// keeps an object from which nothing else was selected from being empty. Names that begin so are
/// not for clients, by the specification.
const MARK: &str = "__docgateTypename";

/// The output types of a schema, as far as an answer is shaped by them.
#[derive(Debug, Default)]
pub struct Types {
    fields: HashMap<String, HashMap<String, Type>>,
    /// By abstract type, the objects that it can be.
    possible: HashMap<String, HashSet<String>>,
}

impl Types {
    /// The types of a schema in the schema definition language.
    pub fn of(schema: &ServiceDocument) -> Self {
        let mut types = Self::default();
        for definition in &schema.definitions {
            let TypeSystemDefinition::Type(found) = definition else { continue };
            let name = found.node.name.node.to_string();
            let fields = match &found.node.kind {
                TypeKind::Object(object) => {
                    for interface in &object.implements {
                        let of = types.possible.entry(interface.node.to_string()).or_default();
                        of.insert(name.clone());
                    }
                    &object.fields
                }
                TypeKind::Interface(interface) => &interface.fields,
                TypeKind::Union(union) => {
                    let members = union.members.iter().map(|member| member.node.to_string());
                    types.possible.entry(name.clone()).or_default().extend(members);
                    types.fields.insert(name, HashMap::new());
                    continue;
                }
                _ => continue,
            };
            let field = |field: &Positioned<async_graphql::parser::types::FieldDefinition>| {
                (field.node.name.node.to_string(), field.node.ty.node.clone())
            };
            types.fields.insert(name, fields.iter().map(field).collect());
        }
        types
    }

    fn field(&self, of: &str, name: &str) -> Option<&Type> {
        self.fields.get(of)?.get(name)
    }

    /// Whether a fragment on `condition` holds for objects of `type_name`.
    fn applies(&self, condition: &str, type_name: &str) -> bool {
        condition == type_name
            || self.possible.get(condition).is_some_and(|objects| objects.contains(type_name))
    }

    fn mark(&self, set: &mut SelectionSet, of: &str) {
        if !self.fields.contains_key(of) {
            return; // introspection, which is always whole
        }
        let unsure = set.items.iter().any(|selection| match &selection.node {
            Selection::Field(field) => !field.node.directives.is_empty(),
            Selection::InlineFragment(_) | Selection::FragmentSpread(_) => true,
        });
        for selection in &mut set.items {
            match &mut selection.node {
                Selection::Field(field) => {
                    let field = &mut field.node;
                    if let Some(ty) = self.field(of, &field.name.node) {
                        self.mark(&mut field.selection_set.node, named(ty));
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let fragment = &mut fragment.node;
                    let on = fragment.type_condition.as_ref().map(|on| on.node.on.node.clone());
                    self.mark(&mut fragment.selection_set.node, on.as_deref().unwrap_or(of));
                }
                Selection::FragmentSpread(_) => {}
            }
        }
        if unsure {
            set.items.push(mark());
        }
    }
}

/// The name at the heart of a type.
fn named(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name,
        BaseType::List(inner) => named(inner),
    }
}

fn mark() -> Positioned<Selection> {
    let position = async_graphql::Pos::default();
    let field = Field {
        alias: Some(Positioned::new(Name::new(MARK), position)),
        name: Positioned::new(Name::new("__typename"), position),
        arguments: Vec::new(),
        directives: Vec::new(),
        selection_set: Positioned::default(),
    };
    Positioned::new(Selection::Field(Positioned::new(field, position)), position)
}

/// One operation that was asked for, to complete its answers.
#[derive(Debug)]
pub struct Asked {
    operation: Positioned<OperationDefinition>,
    fragments: HashMap<Name, Positioned<FragmentDefinition>>,
    /// Variables that are true: what `@skip` and `@include` go by.
    holds: HashSet<Name>,
}

impl Asked {
    /// Prepares a document for execution: objects whose type must be known tell it, and variables
    /// that weren't given have their defaults. `None` where there is no such operation.
    pub fn prepare(
        types: &Types,
        document: &mut ExecutableDocument,
        operation_name: Option<&str>,
        variables: &mut Variables,
    ) -> Option<Self> {
        for fragment in document.fragments.values_mut() {
            let FragmentDefinition { type_condition, selection_set, .. } = &mut fragment.node;
            types.mark(&mut selection_set.node, &type_condition.node.on.node);
        }
        let operation = match (&mut document.operations, operation_name) {
            (DocumentOperations::Single(operation), None) => operation,
            (DocumentOperations::Multiple(all), Some(name)) => all.get_mut(name)?,
            (DocumentOperations::Multiple(all), None) if all.len() == 1 => {
                all.values_mut().next()?
            }
            _ => return None,
        };
        for definition in &operation.node.variable_definitions {
            let definition = &definition.node;
            if let Some(default) = &definition.default_value {
                let given = variables.entry(definition.name.node.clone());
                given.or_insert_with(|| default.node.clone());
            }
        }
        let root = root(operation.node.ty);
        if operation.node.ty == OperationType::Subscription {
            // It has one field and no other may stand beside it.
            for selection in &mut operation.node.selection_set.node.items {
                if let Selection::Field(field) = &mut selection.node
                    && let Some(ty) = types.field(root, &field.node.name.node)
                {
                    types.mark(&mut field.node.selection_set.node, named(ty));
                }
            }
        } else {
            types.mark(&mut operation.node.selection_set.node, root);
        }
        let holds = variables.iter().filter(|(_, value)| **value == Value::Boolean(true));
        Some(Self {
            operation: operation.clone(),
            fragments: document.fragments.clone(),
            holds: holds.map(|(name, _)| name.clone()).collect(),
        })
    }

    /// Whether it is a subscription.
    pub fn is_subscription(&self) -> bool {
        self.operation.node.ty == OperationType::Subscription
    }

    /// `data` of one answer as the specification has it.
    pub fn complete(&self, types: &Types, data: Value, errors: &[ServerError]) -> Value {
        let mut completion = Completion { types, asked: self, errors, path: Vec::new() };
        let map = match data {
            Value::Object(map) => map,
            _ if completion.failed_below() => IndexMap::new(),
            nothing => return nothing,
        };
        let sets = [&self.operation.node.selection_set.node];
        completion.object(&sets, root(self.operation.node.ty), map).unwrap_or_default()
    }
}

fn root(ty: OperationType) -> &'static str {
    match ty {
        OperationType::Query => "Query",
        OperationType::Mutation => "Mutation",
        OperationType::Subscription => "Subscription",
    }
}

/// Fields that share a response key, with all their selection sets.
type Wanted<'a> = IndexMap<&'a Name, (&'a Field, Vec<&'a SelectionSet>)>;

struct Completion<'a> {
    types: &'a Types,
    asked: &'a Asked,
    errors: &'a [ServerError],
    /// Where it is.
    path: Vec<Step<'a>>,
}

/// A step of the path to a value.
enum Step<'a> {
    Key(&'a str),
    At(usize),
}

impl<'a> Completion<'a> {
    /// Whether a field below failed: an object of which all fields did is null as well.
    fn failed_below(&self) -> bool {
        let is_at = |(step, of_error): (&Step<'_>, &PathSegment)| match (step, of_error) {
            (Step::Key(key), PathSegment::Field(field)) => key == field,
            (Step::At(place), PathSegment::Index(index)) => place == index,
            _ => false,
        };
        let below = |error: &ServerError| {
            error.path.len() > self.path.len() && self.path.iter().zip(&error.path).all(is_at)
        };
        self.errors.iter().any(below)
    }

    /// `None` where a field is null that can't be.
    fn object(
        &mut self,
        sets: &[&'a SelectionSet],
        declared: &str,
        mut found: IndexMap<Name, Value>,
    ) -> Option<Value> {
        let told = found.swap_remove(MARK);
        let of = match &told {
            Some(Value::String(name)) => name.as_str(),
            _ => declared,
        };
        let mut wanted = Wanted::new();
        for set in sets {
            self.collect(set, of, &mut wanted);
        }
        let mut object = IndexMap::with_capacity(wanted.len());
        for (key, (field, below)) in wanted {
            let value = found.swap_remove(key).unwrap_or_default();
            let value = match self.types.field(of, &field.name.node) {
                Some(ty) => {
                    self.path.push(Step::Key(key));
                    let value = self.value(ty, &below, value);
                    self.path.pop();
                    value?
                }
                None => value, // `__typename` and introspection
            };
            object.insert(key.clone(), value);
        }
        Some(Value::Object(object))
    }

    fn value(&mut self, ty: &Type, below: &[&'a SelectionSet], value: Value) -> Option<Value> {
        let value = match (value, &ty.base) {
            (Value::List(values), BaseType::List(inner)) => {
                let values = values.into_iter().enumerate().map(|(place, value)| {
                    self.path.push(Step::At(place));
                    let value = self.value(inner, below, value);
                    self.path.pop();
                    value
                });
                values.collect::<Option<Vec<_>>>().map(Value::List).unwrap_or_default()
            }
            (Value::Object(map), BaseType::Named(name)) if !below.is_empty() => {
                self.object(below, name, map).unwrap_or_default()
            }
            (Value::Null, BaseType::Named(name)) if !below.is_empty() && self.failed_below() => {
                self.object(below, name, IndexMap::new()).unwrap_or_default()
            }
            (value, _) => value,
        };
        (ty.nullable || value != Value::Null).then_some(value)
    }

    fn collect(&self, set: &'a SelectionSet, of: &str, wanted: &mut Wanted<'a>) {
        for selection in &set.items {
            if self.is_skipped(selection.node.directives()) {
                continue;
            }
            match &selection.node {
                Selection::Field(field) => {
                    let key = &field.node.response_key().node;
                    if key == MARK {
                        continue;
                    }
                    let below = &field.node.selection_set.node;
                    let (_, sets) = wanted.entry(key).or_insert_with(|| (&field.node, Vec::new()));
                    if !below.items.is_empty() {
                        sets.push(below);
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref();
                    if on.is_none_or(|on| self.types.applies(&on.node.on.node, of)) {
                        self.collect(&fragment.node.selection_set.node, of, wanted);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    if let Some(fragment) = self.asked.fragments.get(name)
                        && self.types.applies(&fragment.node.type_condition.node.on.node, of)
                    {
                        self.collect(&fragment.node.selection_set.node, of, wanted);
                    }
                }
            }
        }
    }

    fn is_skipped(&self, directives: &[Positioned<Directive>]) -> bool {
        directives.iter().any(|directive| {
            let unless = match directive.node.name.node.as_str() {
                "skip" => true,
                "include" => false,
                _ => return false,
            };
            let Some(condition) = directive.node.get_argument("if") else { return false };
            let held = |name| Ok::<_, ()>(Value::Boolean(self.asked.holds.contains(&name)));
            let holds = condition.node.clone().into_const_with(held) == Ok(Value::Boolean(true));
            holds == unless
        })
    }
}
