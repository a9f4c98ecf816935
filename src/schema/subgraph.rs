//! The schema with and without the fields and types of a federation subgraph. Both are made by changing the
//! library's type registry: a type that isn't registered fails validation, is left out of introspection and
//! isn't printed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_graphql::{
    OutputType as _, ValidationMode,
    registry::{MetaType, Registry},
};

use super::{
    Root,
    switch::{self, FinalChanges, Registered, RegistryChange},
};
use crate::{
    config::Config,
    domains::{self, nodes::Node},
    locks::lock,
};

/// Types of entities, which other subgraphs can refer to: all types with a global id.
pub(super) fn entities(registry: &Registry) -> Vec<String> {
    match registry.types.get(&*Node::type_name()) {
        Some(MetaType::Interface { possible_types, .. }) => {
            possible_types.iter().cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// The schema as a subgraph: each entity with its keys.
pub fn sdl(config: &Config) -> Arc<str> {
    /// Printed schemas, by the rooms that are switched off.
    static PRINTED: Mutex<BTreeMap<Vec<&str>, Arc<str>>> = Mutex::new(BTreeMap::new());
    let off = domains::switched_off(config);
    let mut printed = lock(&PRINTED);
    Arc::clone(printed.entry(off.clone()).or_insert_with(|| {
        let schema = switch::without(off, || {
            // With keys in its registry the library would resolve `_entities` itself. This schema is therefore
            // only printed.
            let schema = super::builder(ValidationMode::Strict, Root::default(), Root::default());
            let schema = schema
                .register_output_type::<Registered<Keys>>()
                .register_output_type::<Registered<FinalChanges>>();
            schema.enable_subscription_in_federation().finish()
        });
        schema.sdl_with_options(super::sdl_options().federation()).into()
    }))
}

/// Registers the keys of entities with their types.
struct Keys;

impl RegistryChange for Keys {
    const TYPE: &'static str = "_Entity";

    fn change(registry: &mut Registry) {
        for kind in domains::ROOMS.iter().flat_map(|room| room.nodes) {
            for name in kind.names() {
                for key in kind.keys() {
                    registry.add_keys(&name, key);
                }
            }
        }
    }
}

/// Removes the fields and types of a subgraph from the registry.
pub(super) struct WithoutSubgraph;

impl RegistryChange for WithoutSubgraph {
    const TYPE: &'static str = "Query";

    fn change(registry: &mut Registry) {
        if let Some(MetaType::Object { fields, .. }) = registry.types.get_mut(Self::TYPE) {
            fields.retain(|name, _| !name.starts_with('_') || name.starts_with("__"));
        }
        registry.types.retain(|name, _| !name.starts_with('_') || name.starts_with("__"));
    }
}
