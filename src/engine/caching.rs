//! Cache lifetimes: hints in the schema, and the lifetime of an operation's response that follows from them.
//!
//! Fields with prices have half a minute. Fields that change seldom have longer lifetimes. A field that depends
//! on the requester has 0. A response with a root field without a hint is never cached.

use std::collections::HashSet;

use async_graphql::{
    Name, TypeDirective,
    parser::types::{OperationDefinition, OperationType, Selection, SelectionSet},
};

use super::{
    document::Fragments,
    types::{QUERY, Types, named},
};

/// How long an answer with this field may be kept, by anyone and for everyone. The shortest time of all
/// fields counts; an operation with a field of the query root that has none may not be kept.
#[TypeDirective(name = "cacheControl", location = "FieldDefinition")]
pub fn cache_control(#[graphql(desc = "Seconds.")] max_age: i32) {}

/// Seconds for which shared caches may keep the operation's response; `None` if they must not. Fields that
/// the request skips count too.
pub(super) fn max_age(
    types: &Types,
    fragments: &Fragments,
    operation: &OperationDefinition,
) -> Option<u32> {
    if operation.ty != OperationType::Query {
        return None;
    }
    let mut hints = Hints { types, fragments, seen: HashSet::new(), shortest: None };
    hints.add(&operation.selection_set.node, QUERY)?;
    hints.shortest.filter(|seconds| *seconds > 0)
}

struct Hints<'a> {
    types: &'a Types,
    fragments: &'a Fragments,
    /// Fragments that were added: their hints are the same wherever they are spread.
    seen: HashSet<&'a Name>,
    shortest: Option<u32>,
}

impl<'a> Hints<'a> {
    /// Adds the hints of a selection set; `None` if a root field has none.
    fn add(&mut self, set: &'a SelectionSet, of: &str) -> Option<()> {
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) => {
                    let name = field.node.name.node.as_str();
                    match self.types.max_age(of, name) {
                        Some(age) => {
                            let shortest = self.shortest.get_or_insert(age);
                            *shortest = age.min(*shortest);
                        }
                        None if of == QUERY && name != "__typename" => return None,
                        None => {}
                    }
                    if let Some(ty) = self.types.field(of, name) {
                        self.add(&field.node.selection_set.node, named(ty))?;
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|on| &on.node.on.node);
                    self.add(&fragment.node.selection_set.node, on.map_or(of, Name::as_str))?;
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    if let Some(fragment) = self.fragments.get(name)
                        && self.seen.insert(name)
                    {
                        let fragment = &fragment.node;
                        let on = &fragment.type_condition.node.on.node;
                        self.add(&fragment.selection_set.node, on)?;
                    }
                }
            }
        }
        Some(())
    }
}
