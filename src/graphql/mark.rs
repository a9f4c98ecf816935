//! Objects whose type the request doesn't tell are asked for it, to complete their answers.

use async_graphql::{
    Name, Positioned,
    parser::types::{Field, OperationType, Selection, SelectionSet},
};

use super::types::{Types, named, root};

/// Key under which an object tells its type where that isn't known from the request alone. It also
/// keeps an object from which nothing else was selected from being empty. Names that begin so are
/// not for clients, by the specification.
pub(super) const MARK: &str = "__docgateTypename";

/// As [`mark`], in an operation.
pub(super) fn mark_root(types: &Types, ty: OperationType, set: &mut SelectionSet) {
    let root = root(ty);
    if ty != OperationType::Subscription {
        return mark(types, set, root);
    }
    // It has one field and no other may stand beside it.
    for selection in &mut set.items {
        if let Selection::Field(field) = &mut selection.node
            && let Some(ty) = types.field(root, &field.node.name.node)
        {
            mark(types, &mut field.node.selection_set.node, named(ty));
        }
    }
}

/// Lets objects whose type the request doesn't tell tell it themselves.
pub(super) fn mark(types: &Types, set: &mut SelectionSet, of: &str) {
    if !types.is_composite(of) {
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
                if let Some(ty) = types.field(of, &field.name.node) {
                    mark(types, &mut field.selection_set.node, named(ty));
                }
            }
            Selection::InlineFragment(fragment) => {
                let fragment = &mut fragment.node;
                let on = fragment.type_condition.as_ref().map(|on| on.node.on.node.clone());
                mark(types, &mut fragment.selection_set.node, on.as_deref().unwrap_or(of));
            }
            Selection::FragmentSpread(_) => {}
        }
    }
    if unsure {
        set.items.push(typename());
    }
}

/// What is asked for then.
pub(super) fn typename() -> Positioned<Selection> {
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
