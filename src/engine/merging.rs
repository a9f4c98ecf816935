//! Checks that fields with the same response key can be merged. The library only compares fields within one
//! selection set, and conflicting fields of other sets would be silently lost. One rule of the specification
//! isn't checked: that fields of different object types have the same response shape. No field is lost there,
//! and the rule is for typed clients, which check it themselves.
//! <https://spec.graphql.org/October2021/#sec-Field-Selection-Merging>

use async_graphql::{
    Name, Pos, Positioned,
    indexmap::IndexMap,
    parser::types::{Field, Selection, SelectionSet},
};

use super::{
    document::Fragments,
    limits::too_complex,
    types::{Types, named},
};
use crate::error::Error;

/// Fields with one response key, each with the type on which it is selected.
type Group<'a> = Vec<(&'a str, &'a Positioned<Field>)>;
/// Selection sets, each with the type on which it is selected.
type Sets<'a> = Vec<(&'a str, &'a SelectionSet)>;

/// Finds fields with the same response key that can't be merged, in an operation that is otherwise valid. At
/// most `visits` selections are visited.
///
/// # Errors
/// `BadInput` if there are such fields; `TooComplex` if the check needs more visits.
pub(super) fn check(
    types: &Types,
    fragments: &Fragments,
    set: &SelectionSet,
    root: &str,
    visits: usize,
) -> Result<(), Error> {
    Merging { types, fragments, visits }.merge(vec![(root, set)])
}

struct Merging<'a> {
    types: &'a Types,
    fragments: &'a Fragments,
    visits: usize,
}

impl<'a> Merging<'a> {
    /// Checks that fields with one response key on one object are the same field with the same arguments.
    fn merge(&mut self, sets: Sets<'a>) -> Result<(), Error> {
        for (key, fields) in self.grouped(sets)? {
            for group in self.of_one_object(fields) {
                let [(_, first), others @ ..] = &group[..] else { continue };
                for (_, other) in others {
                    if first.node.name.node != other.node.name.node {
                        let (one, two) = (&first.node.name.node, &other.node.name.node);
                        let how = format!("the field {one} and also the field {two}");
                        return Err(conflict(key, &how, other.pos));
                    }
                    if !has_arguments_of(&first.node, &other.node) {
                        let how = "one field with different arguments";
                        return Err(conflict(key, how, other.pos));
                    }
                }
                self.merge(self.below(&group))?;
            }
        }
        Ok(())
    }

    fn grouped(&mut self, sets: Sets<'a>) -> Result<IndexMap<&'a Name, Group<'a>>, Error> {
        let mut groups = IndexMap::new();
        for (of, set) in sets {
            self.collect(of, set, &mut groups)?;
        }
        Ok(groups)
    }

    fn collect(
        &mut self,
        of: &'a str,
        set: &'a SelectionSet,
        groups: &mut IndexMap<&'a Name, Group<'a>>,
    ) -> Result<(), Error> {
        for selection in &set.items {
            self.visits = self.visits.checked_sub(1).ok_or_else(|| {
                too_complex("selections", "selects the same fields too often".to_owned())
            })?;
            match &selection.node {
                Selection::Field(field) => {
                    groups.entry(&field.node.response_key().node).or_default().push((of, field));
                }
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref();
                    let of = on.map_or(of, |on| &on.node.on.node);
                    self.collect(of, &fragment.node.selection_set.node, groups)?;
                }
                Selection::FragmentSpread(spread) => {
                    let Some(fragment) = self.fragments.get(&spread.node.fragment_name.node) else {
                        continue;
                    };
                    let of = &fragment.node.type_condition.node.on.node;
                    self.collect(of, &fragment.node.selection_set.node, groups)?;
                }
            }
        }
        Ok(())
    }

    /// Groups the fields that can be selected on the same object: those of each object type, together with
    /// those of interfaces and unions.
    fn of_one_object(&self, fields: Group<'a>) -> Vec<Group<'a>> {
        let (common, own): (Group<'_>, Group<'_>) =
            fields.into_iter().partition(|(of, _)| self.types.is_abstract(of));
        let mut groups = IndexMap::<_, Group<'_>>::new();
        for (of, field) in own {
            groups.entry(of).or_insert_with(|| common.clone()).push((of, field));
        }
        if groups.is_empty() { vec![common] } else { groups.into_values().collect() }
    }

    fn below(&self, group: &Group<'a>) -> Sets<'a> {
        let sets = group.iter().filter_map(|(of, field)| {
            let ty = self.types.field(of, &field.node.name.node)?;
            Some((named(ty), &field.node.selection_set.node))
        });
        sets.collect()
    }
}

fn has_arguments_of(one: &Field, other: &Field) -> bool {
    let is_shared = |(name, value): &(Positioned<Name>, Positioned<_>)| {
        other.get_argument(&name.node).is_some_and(|found| found.node == value.node)
    };
    one.arguments.len() == other.arguments.len() && one.arguments.iter().all(is_shared)
}

fn conflict(key: &Name, how: &str, at: Pos) -> Error {
    let (line, column) = (at.line, at.column);
    let reason = format!("\"{key}\" is {how} (line {line}, column {column}): choose other names");
    Error::bad_input("query", reason)
}
