//! Final changes of the library's type registry. The fields of declared interfaces, the arguments and descriptions of
//! connections, and the members of `UserError` are added. The fields of rooms that are switched off are removed, with
//! the types that only these fields use.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeSet, HashSet},
    marker::PhantomData,
};

use async_graphql::{
    ContextSelectionSet, OutputType, Positioned, ServerResult, Value,
    parser::types::Field,
    registry::{Deprecation, MetaInputValue, MetaType, Registry},
};

use crate::{
    domains::{self, nodes::Node},
    graphql::{codes::UserError, interface, page},
};

thread_local! {
    /// The rooms that are switched off in the schema that is being built. The library gives the functions that
    /// build a registry no access to values.
    static OFF: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Builds a schema without these rooms.
pub(super) fn without<T>(rooms: Vec<&'static str>, build: impl FnOnce() -> T) -> T {
    OFF.replace(rooms);
    let schema = build();
    OFF.take();
    schema
}

/// A change of the registry.
pub(super) trait RegistryChange {
    /// A type that the change concerns, whose name the library wants to know.
    const TYPE: &'static str;

    /// Makes it.
    fn change(registry: &mut Registry);
}

/// A change of the registry as a type, because the library opens the registry only for the registration of types. It is
/// never resolved.
pub(super) struct Registered<C>(PhantomData<fn() -> C>);

impl<C: RegistryChange> OutputType for Registered<C> {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed(C::TYPE)
    }

    fn create_type_info(registry: &mut Registry) -> String {
        C::change(registry);
        C::TYPE.to_owned()
    }

    async fn resolve(
        &self,
        _: &ContextSelectionSet<'_>,
        _: &Positioned<Field>,
    ) -> ServerResult<Value> {
        Ok(Value::Null)
    }
}

/// The final changes, which are registered after all other types.
pub(super) struct FinalChanges;

impl RegistryChange for FinalChanges {
    const TYPE: &'static str = "Query";

    fn change(registry: &mut Registry) {
        let descriptions = domains::ROOMS.iter().flat_map(|room| room.descriptions).copied();
        interface::complete(registry, &descriptions.collect::<Vec<_>>());
        Node::complete(registry);
        add_paging(registry);
        describe_pages(registry);
        UserError::register(registry);
        OFF.with_borrow(|off| {
            if !off.is_empty() {
                remove(registry, off);
            }
        });
    }
}

/// Adds the arguments of pages to every field that returns a connection.
fn add_paging(registry: &mut Registry) {
    for kind in registry.types.values_mut() {
        let (MetaType::Object { fields, .. } | MetaType::Interface { fields, .. }) = kind else {
            continue;
        };
        for field in fields.values_mut().filter(|field| named(&field.ty).ends_with("Connection")) {
            let arguments = page::ARGUMENTS.map(|(name, ty, description)| MetaInputValue {
                name: name.to_owned(),
                description: Some(description.to_owned()),
                ty: ty.to_owned(),
                deprecation: Deprecation::default(),
                default_value: None,
                visible: None,
                inaccessible: false,
                tags: Vec::new(),
                is_secret: false,
                directive_invocations: Vec::new(),
            });
            field.args.extend(arguments.map(|argument| (argument.name.clone(), argument)));
        }
    }
}

/// Replaces the library's descriptions of connections.
fn describe_pages(registry: &mut Registry) {
    for (name, kind) in &mut registry.types {
        let MetaType::Object { fields, description, .. } = kind else { continue };
        let of = page::DESCRIPTIONS.iter().find(|((end, _), _)| name.ends_with(end));
        let Some(((_, own), texts)) = of else { continue };
        *description = Some((*own).to_owned());
        for (field, text) in *texts {
            if let Some(field) = fields.get_mut(*field) {
                field.description = Some((*text).to_owned());
            }
        }
    }
}

fn remove(registry: &mut Registry, off: &[&str]) {
    for room in domains::fields().into_iter().filter(|fields| off.contains(&fields.room)) {
        let names: Vec<_> =
            fields((room.read)(registry)).into_iter().map(|(name, _)| name).collect();
        if let Some(MetaType::Object { fields, .. }) = registry.types.get_mut(room.root) {
            fields.retain(|name, _| !names.contains(name));
        }
    }
    for room in domains::ROOMS.iter().filter(|room| off.contains(&room.name)) {
        for (of, field) in room.extends {
            remove_field(registry, of, field);
        }
    }
    // The specification doesn't permit a type without fields.
    for root in [&mut registry.mutation_type, &mut registry.subscription_type] {
        let kind = root.as_ref().and_then(|name| registry.types.get(name));
        if matches!(kind, Some(MetaType::Object { fields, .. }) if fields.is_empty()) {
            *root = None;
        }
    }
    let used = used(registry);
    registry.types.retain(|name, _| used.contains(name) || name.starts_with('_'));
    for kind in registry.types.values_mut() {
        if let MetaType::Interface { possible_types, .. } | MetaType::Union { possible_types, .. } =
            kind
        {
            possible_types.retain(|name| used.contains(name));
        }
    }
    registry.implements.retain(|name, _| used.contains(name));
}

/// Removes a field of a type; if that is an interface, also from its members.
fn remove_field(registry: &mut Registry, of: &str, field: &str) {
    let mut members = Vec::new();
    match registry.types.get_mut(of) {
        Some(MetaType::Object { fields, .. }) => drop(fields.shift_remove(field)),
        Some(MetaType::Interface { fields, possible_types, .. }) => {
            fields.shift_remove(field);
            members.extend(possible_types.iter().cloned());
        }
        _ => {}
    }
    for member in members {
        remove_field(registry, &member, field);
    }
}

/// Interfaces with members in all rooms. Being a member of one of them doesn't count as use of a type.
const COMMON_INTERFACES: [&str; 2] = ["Node", "UserError"];

/// Names of the types that can be reached from the root types.
fn used(registry: &Registry) -> HashSet<String> {
    let roots = [
        Some(&registry.query_type),
        registry.mutation_type.as_ref(),
        registry.subscription_type.as_ref(),
    ];
    let mut left: Vec<String> = roots.into_iter().flatten().cloned().collect();
    left.extend(COMMON_INTERFACES.map(String::from));
    left.extend(registry.directives.values().flat_map(|directive| {
        directive.args.values().map(|argument| named(&argument.ty)).collect::<Vec<_>>()
    }));
    // The library's own scalars.
    left.extend(["Boolean", "Float", "ID", "Int", "String"].map(String::from));
    let mut used = HashSet::new();
    while let Some(name) = left.pop() {
        let Some(kind) = registry.types.get(&name) else { continue };
        if !used.insert(name.clone()) {
            continue;
        }
        match kind {
            MetaType::Interface { possible_types, .. } if !COMMON_INTERFACES.contains(&&*name) => {
                left.extend(possible_types.iter().cloned());
            }
            MetaType::Union { possible_types, .. } => left.extend(possible_types.iter().cloned()),
            MetaType::InputObject { input_fields, .. } => {
                left.extend(input_fields.values().map(|field| named(&field.ty)));
            }
            _ => {}
        }
        for (_, types) in fields(kind.clone()) {
            left.extend(types);
        }
        left.extend(registry.implements.get(&name).into_iter().flatten().cloned());
    }
    used
}

/// The fields of a type, each with the types that it names.
fn fields(kind: MetaType) -> Vec<(String, BTreeSet<String>)> {
    let (MetaType::Object { fields, .. } | MetaType::Interface { fields, .. }) = kind else {
        return Vec::new();
    };
    let types = |field: &async_graphql::registry::MetaField| {
        let arguments = field.args.values().map(|argument| named(&argument.ty));
        arguments.chain([named(&field.ty)]).collect()
    };
    fields.into_iter().map(|(name, field)| (name, types(&field))).collect()
}

/// The type's name without the brackets of lists and the exclamation marks of non-null types.
fn named(kind: &str) -> String {
    kind.trim_matches(['[', ']', '!']).to_owned()
}
