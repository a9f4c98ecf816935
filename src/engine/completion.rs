//! Completes the library's responses as the specification demands.
//! <https://spec.graphql.org/October2021/#sec-Executing-Selection-Sets>
//!
//! async-graphql 7 differs from it in three points. It orders the keys of an object by the time at which they
//! were resolved. It omits the key of a failed field. It returns `null` for an object without selected fields,
//! such as an object with only a fragment on another type. Here each object gets the selected keys, in their
//! order. A failed field is null. If the schema doesn't allow null there, its parent is null instead.

use std::collections::HashSet;

use async_graphql::{
    Name, PathSegment, Positioned, ServerError, Value,
    indexmap::IndexMap,
    parser::types::{BaseType, Directive, Field, Selection, SelectionSet, Type},
};

use super::{document::Fragments, typename::TYPENAME_KEY, types::Types};

/// The collected fields by response key, with all their selection sets.
type Collected<'a> = IndexMap<&'a Name, (&'a Field, Vec<&'a SelectionSet>)>;

/// The completion of one response.
pub(super) struct Completion<'a> {
    types: &'a Types,
    fragments: &'a Fragments,
    /// Variables whose value is true.
    true_variables: &'a HashSet<Name>,
    /// Paths of the failed fields, sorted. An error isn't compared with each value, because both can be many.
    failed: Vec<Vec<Step<'a>>>,
    /// Path of the current value.
    path: Vec<Step<'a>>,
}

/// A step of the path to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Completion<'a> {
    pub(super) fn new(
        types: &'a Types,
        fragments: &'a Fragments,
        true_variables: &'a HashSet<Name>,
        errors: &'a [ServerError],
    ) -> Self {
        let step = |step: &'a PathSegment| match step {
            PathSegment::Field(key) => Step::Key(key),
            PathSegment::Index(index) => Step::Index(*index),
        };
        let paths = errors.iter().map(|error| error.path.iter().map(step).collect());
        let mut failed: Vec<Vec<_>> = paths.collect();
        failed.sort_unstable();
        Self { types, fragments, true_variables, failed, path: Vec::new() }
    }

    /// Returns `data` as the specification demands.
    pub(super) fn root(mut self, set: &'a SelectionSet, of: &str, data: Value) -> Value {
        let map = match data {
            Value::Object(map) => map,
            _ if self.failed_below() => IndexMap::new(),
            nothing => return nothing,
        };
        self.object(&[set], of, map).unwrap_or_default()
    }

    /// Whether a field below the current path failed. The library also returns null for an object whose
    /// fields all failed.
    fn failed_below(&self) -> bool {
        // The paths that begin with the current one come directly after it.
        let next = self.failed.partition_point(|path| *path <= self.path);
        self.failed.get(next).is_some_and(|path| path.starts_with(&self.path))
    }

    /// Completes an object; `None` if a field is null that mustn't be.
    fn object(
        &mut self,
        sets: &[&'a SelectionSet],
        declared: &str,
        mut found: IndexMap<Name, Value>,
    ) -> Option<Value> {
        let typename = found.swap_remove(TYPENAME_KEY);
        let of = match &typename {
            Some(Value::String(name)) => name.as_str(),
            _ => declared,
        };
        let mut collected = Collected::new();
        for set in sets {
            self.collect(set, of, &mut collected);
        }
        let mut object = IndexMap::with_capacity(collected.len());
        for (key, (field, below)) in collected {
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
                let values = values.into_iter().enumerate().map(|(index, value)| {
                    self.path.push(Step::Index(index));
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

    fn collect(&self, set: &'a SelectionSet, of: &str, collected: &mut Collected<'a>) {
        for selection in &set.items {
            if is_skipped(selection.node.directives(), |name| self.true_variables.contains(name)) {
                continue;
            }
            match &selection.node {
                Selection::Field(field) => {
                    let key = &field.node.response_key().node;
                    if key == TYPENAME_KEY {
                        continue;
                    }
                    let below = &field.node.selection_set.node;
                    let (_, sets) =
                        collected.entry(key).or_insert_with(|| (&field.node, Vec::new()));
                    if !below.items.is_empty() {
                        sets.push(below);
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref();
                    if on.is_none_or(|on| self.types.applies(&on.node.on.node, of)) {
                        self.collect(&fragment.node.selection_set.node, of, collected);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    if let Some(fragment) = self.fragments.get(name).map(|fragment| &fragment.node)
                        && self.types.applies(&fragment.type_condition.node.on.node, of)
                    {
                        self.collect(&fragment.selection_set.node, of, collected);
                    }
                }
            }
        }
    }
}

/// Whether `@skip` or `@include` leaves a selection out. `is_true` states which variables are true.
pub(super) fn is_skipped(
    directives: &[Positioned<Directive>],
    is_true: impl Fn(&Name) -> bool,
) -> bool {
    directives.iter().any(|directive| {
        let unless = match directive.node.name.node.as_str() {
            "skip" => true,
            "include" => false,
            _ => return false,
        };
        let Some(condition) = directive.node.get_argument("if") else { return false };
        let value = |name| Ok::<_, ()>(Value::Boolean(is_true(&name)));
        let holds = condition.node.clone().into_const_with(value) == Ok(Value::Boolean(true));
        holds == unless
    })
}
