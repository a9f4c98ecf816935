//! Flattens selections: fragments that certainly apply are replaced by their selections, and fields with the
//! same response key are merged. A flattened selection is cheaper to resolve. If no condition is left in it,
//! its response needs no completion.
//! <https://spec.graphql.org/October2021/#sec-Field-Collection>

use std::collections::HashMap;

use async_graphql::{
    Name, Positioned,
    parser::types::{Field, InlineFragment, OperationDefinition, Selection, SelectionSet},
};

use super::{
    document::Fragments,
    typename::{TYPENAME_KEY, typename},
    types::{Types, named},
};

/// A flattened operation.
pub(super) struct Flattened {
    pub(super) operation: Positioned<OperationDefinition>,
    /// Whether no fragment and no directive is left: the selected fields depend neither on the request nor on
    /// the type of an object.
    pub(super) is_static: bool,
    /// Whether no directive is left: only the variables depend on the request.
    pub(super) is_unconditional: bool,
}

/// Flattens a valid operation. Returns `None` for introspection, or if the operation has more than `budget`
/// selections: a short document with nested fragments can expand to very many selections.
pub(super) fn flatten<'a>(
    types: &'a Types,
    fragments: &'a Fragments,
    operation: &'a Positioned<OperationDefinition>,
    root: &str,
    budget: &'a mut usize,
) -> Option<Flattened> {
    let mut flattener =
        Flattener { types, fragments, budget, is_static: true, is_unconditional: true };
    let set = &operation.node.selection_set;
    let items = flattener.set(&[&set.node], root)?;
    let mut operation = operation.clone();
    operation.node.selection_set.node.items = items;
    let Flattener { is_static, is_unconditional, .. } = flattener;
    Some(Flattened { operation, is_static, is_unconditional })
}

struct Flattener<'a> {
    types: &'a Types,
    fragments: &'a Fragments,
    /// Number of selections that may still be visited.
    budget: &'a mut usize,
    is_static: bool,
    is_unconditional: bool,
}

/// A collected selection on an object.
enum Collected<'a> {
    /// A field, with all selection sets below its response key.
    Field(&'a Positioned<Field>, Vec<&'a SelectionSet>),
    /// A selection that depends on the request or on the type of the object.
    Conditional(&'a Positioned<Selection>),
}

impl<'a> Flattener<'a> {
    /// The merged selections of the sets on an object of type `of`.
    fn set(&mut self, sets: &[&'a SelectionSet], of: &str) -> Option<Vec<Positioned<Selection>>> {
        let (mut collected, mut positions) = (Vec::new(), HashMap::new());
        for set in sets {
            self.collect(set, of, &mut collected, &mut positions)?;
        }
        let mut items = Vec::with_capacity(collected.len() + 1);
        let mut has_conditions = false;
        for selection in collected {
            match selection {
                Collected::Field(field, below) => {
                    let flattened = Selection::Field(self.field(field, &below, of)?);
                    items.push(Positioned::new(flattened, field.pos));
                }
                Collected::Conditional(selection) => {
                    has_conditions = true;
                    let flattened = self.conditional(&selection.node, of)?.into_iter();
                    items.extend(flattened.map(|one| Positioned::new(one, selection.pos)));
                }
            }
        }
        // An object without selections would be null.
        if has_conditions || items.is_empty() {
            self.is_static = false;
            items.push(typename());
        }
        Some(items)
    }

    fn collect(
        &mut self,
        set: &'a SelectionSet,
        of: &str,
        collected: &mut Vec<Collected<'a>>,
        positions: &mut HashMap<&'a Name, usize>,
    ) -> Option<()> {
        for selection in &set.items {
            *self.budget = self.budget.checked_sub(1)?;
            let (condition, below) = match &selection.node {
                Selection::Field(field) if !field.node.directives.is_empty() => {
                    self.is_unconditional = false;
                    collected.push(Collected::Conditional(selection));
                    continue;
                }
                Selection::Field(field) => {
                    let key = &field.node.response_key().node;
                    if key == TYPENAME_KEY {
                        continue;
                    }
                    let below = &field.node.selection_set.node;
                    let position = *positions.entry(key).or_insert(collected.len());
                    match collected.get_mut(position) {
                        Some(Collected::Field(_, sets)) => sets.push(below),
                        _ => collected.push(Collected::Field(field, vec![below])),
                    }
                    continue;
                }
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref();
                    (on.map(|on| &on.node.on.node), &fragment.node.selection_set.node)
                }
                Selection::FragmentSpread(spread) => {
                    let (on, set) = self.fragment(&spread.node.fragment_name.node)?;
                    (Some(on), set)
                }
            };
            let applies = match condition {
                _ if !selection.node.directives().is_empty() => {
                    self.is_unconditional = false;
                    None
                }
                None => Some(true),
                Some(condition) => self.types.surely_applies(condition, of),
            };
            match applies {
                Some(true) => self.collect(below, of, collected, positions)?,
                Some(false) => {}
                None => collected.push(Collected::Conditional(selection)),
            }
        }
        Some(())
    }

    fn fragment(&self, name: &Name) -> Option<(&'a Name, &'a SelectionSet)> {
        let fragment = &self.fragments.get(name)?.node;
        Some((&fragment.type_condition.node.on.node, &fragment.selection_set.node))
    }

    fn field(
        &mut self,
        field: &Positioned<Field>,
        below: &[&'a SelectionSet],
        of: &str,
    ) -> Option<Positioned<Field>> {
        let mut flattened = field.clone();
        if !field.node.selection_set.node.items.is_empty() {
            let ty = self.types.field(of, &field.node.name.node)?;
            flattened.node.selection_set.node.items = self.set(below, named(ty))?;
        }
        Some(flattened)
    }

    /// Keeps the selection, and flattens the selections below it. Named fragments become inline fragments. A
    /// fragment on another union becomes one fragment for each possible object type, because the library
    /// doesn't know the members of unions.
    fn conditional(&mut self, selection: &'a Selection, of: &str) -> Option<Vec<Selection>> {
        let (condition, directives, set, position) = match selection {
            Selection::Field(field) => {
                let below = &field.node.selection_set.node;
                return Some(vec![Selection::Field(self.field(field, &[below], of)?)]);
            }
            Selection::InlineFragment(Positioned { node, pos }) => {
                (node.type_condition.as_ref(), &node.directives, &node.selection_set, *pos)
            }
            Selection::FragmentSpread(Positioned { node, pos }) => {
                let found = &self.fragments.get(&node.fragment_name.node)?.node;
                (Some(&found.type_condition), &node.directives, &found.selection_set, *pos)
            }
        };
        let on = condition.map_or(of, |condition| &condition.node.on.node);
        let members = if on == of { None } else { self.types.members(on, of) };
        let fragment = |on: &str| {
            let mut type_condition = condition.cloned();
            if let Some(condition) = &mut type_condition {
                condition.node.on.node = Name::new(on);
            }
            let items = self.set(&[&set.node], on)?;
            let selection_set = Positioned::new(SelectionSet { items }, set.pos);
            let directives = directives.clone();
            let flattened = InlineFragment { type_condition, directives, selection_set };
            Some(Selection::InlineFragment(Positioned::new(flattened, position)))
        };
        members.unwrap_or_else(|| vec![on]).into_iter().map(fragment).collect()
    }
}
