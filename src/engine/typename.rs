//! Adds an aliased `__typename` wherever the concrete type isn't known statically. Completion of the response
//! needs it.

use async_graphql::{
    Name, Positioned,
    parser::types::{Field, OperationType, Selection, SelectionSet},
};

use super::types::{Types, named, root};

/// Response key of the aliased `__typename`. It also keeps an object without other selections from being empty.
/// The specification reserves names that begin with two underscores, so that no client uses it.
pub(super) const TYPENAME_KEY: &str = "__docgateTypename";

/// Like [`add_typename`], for the root of an operation.
pub(super) fn add_root_typename(types: &Types, ty: OperationType, set: &mut SelectionSet) {
    let root = root(ty);
    if ty != OperationType::Subscription {
        return add_typename(types, set, root);
    }
    // A subscription must have exactly one root field, so that none is added.
    for selection in &mut set.items {
        if let Selection::Field(field) = &mut selection.node
            && let Some(ty) = types.field(root, &field.node.name.node)
        {
            add_typename(types, &mut field.node.selection_set.node, named(ty));
        }
    }
}

/// Adds the aliased `__typename` to a selection set and those below it, wherever the concrete type isn't known
/// statically.
pub(super) fn add_typename(types: &Types, set: &mut SelectionSet, of: &str) {
    if !types.is_composite(of) {
        return; // introspection, which is always complete
    }
    let is_conditional = set.items.iter().any(|selection| match &selection.node {
        Selection::Field(field) => !field.node.directives.is_empty(),
        Selection::InlineFragment(_) | Selection::FragmentSpread(_) => true,
    });
    for selection in &mut set.items {
        match &mut selection.node {
            Selection::Field(field) => {
                let field = &mut field.node;
                if let Some(ty) = types.field(of, &field.name.node) {
                    add_typename(types, &mut field.selection_set.node, named(ty));
                }
            }
            Selection::InlineFragment(fragment) => {
                let fragment = &mut fragment.node;
                let on = fragment.type_condition.as_ref().map(|on| on.node.on.node.clone());
                add_typename(types, &mut fragment.selection_set.node, on.as_deref().unwrap_or(of));
            }
            Selection::FragmentSpread(_) => {}
        }
    }
    if is_conditional {
        set.items.push(typename());
    }
}

/// The aliased `__typename` field.
pub(super) fn typename() -> Positioned<Selection> {
    let position = async_graphql::Pos::default();
    let field = Field {
        alias: Some(Positioned::new(Name::new(TYPENAME_KEY), position)),
        name: Positioned::new(Name::new("__typename"), position),
        arguments: Vec::new(),
        directives: Vec::new(),
        selection_set: Positioned::default(),
    };
    Positioned::new(Selection::Field(Positioned::new(field, position)), position)
}
