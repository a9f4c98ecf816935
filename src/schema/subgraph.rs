//! The schema with and without the fields and types of a federation subgraph. Both are made by changing the
//! library's type registry: a type that isn't registered fails validation, is left out of introspection and
//! isn't printed.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_graphql::{
    ContextSelectionSet, OutputType, Positioned, ServerResult, ValidationMode, Value,
    parser::types::Field,
    registry::{MetaType, Registry},
};

use super::{
    Root,
    switch::{self, RegistryChanges},
};
use crate::{
    config::Config,
    domains::{self, nodes::Node},
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
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(printed.entry(off.clone()).or_insert_with(|| {
        let schema = switch::without(off, || {
            // With keys in its registry the library would resolve `_entities` itself. This schema is therefore
            // only printed.
            let schema = super::builder(ValidationMode::Strict, Root::default(), Root::default());
            let schema =
                schema.register_output_type::<Keys>().register_output_type::<RegistryChanges>();
            schema.enable_subscription_in_federation().finish()
        });
        schema.sdl_with_options(super::sdl_options().federation()).into()
    }))
}

/// Registers the keys of entities with their types.
struct Keys;

impl OutputType for Keys {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed("_Entity")
    }

    fn create_type_info(registry: &mut Registry) -> String {
        for kind in domains::ROOMS.iter().flat_map(|room| room.nodes) {
            for name in kind.names() {
                for key in kind.keys() {
                    registry.add_keys(&name, key);
                }
            }
        }
        Self::type_name().into_owned()
    }

    async fn resolve(
        &self,
        _: &ContextSelectionSet<'_>,
        _: &Positioned<Field>,
    ) -> ServerResult<Value> {
        Ok(Value::Null)
    }
}

/// Removes the fields and types of a subgraph from the registry.
pub(super) struct WithoutSubgraph;

impl OutputType for WithoutSubgraph {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed("Query")
    }

    fn create_type_info(registry: &mut Registry) -> String {
        if let Some(MetaType::Object { fields, .. }) = registry.types.get_mut(&*Self::type_name()) {
            fields.retain(|name, _| !name.starts_with('_') || name.starts_with("__"));
        }
        registry.types.retain(|name, _| !name.starts_with('_') || name.starts_with("__"));
        Self::type_name().into_owned()
    }

    async fn resolve(
        &self,
        _: &ContextSelectionSet<'_>,
        _: &Positioned<Field>,
    ) -> ServerResult<Value> {
        Ok(Value::Null)
    }
}
