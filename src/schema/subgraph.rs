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
    nodes::Node,
    switch::{self, RegistryChanges},
};
use crate::{config::Config, domains};

/// The interface of all products. It is an entity too, for subgraphs that don't know the type of a product.
pub(super) const PRODUCT: &str = "Product";

/// Types of entities, which other subgraphs can refer to: all types with a global id.
pub(super) fn entities(registry: &Registry) -> Vec<String> {
    match registry.types.get(&*Node::type_name()) {
        Some(MetaType::Interface { possible_types, .. }) => {
            possible_types.iter().cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// Keys by which other subgraphs refer to an entity of this type; empty if the type isn't an entity.
pub(super) fn keys(registry: &Registry, name: &str) -> &'static [&'static str] {
    let implements = |interface: &str| {
        registry.implements.get(name).is_some_and(|interfaces| interfaces.contains(interface))
    };
    match name {
        PRODUCT => &["id", "sku"],
        "Category" => &["id", "path"],
        _ if implements(PRODUCT) => &["id", "sku"],
        _ if implements(&Node::type_name()) => &["id"],
        _ => &[],
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
        for name in entities(registry).into_iter().chain([PRODUCT.to_owned()]) {
            for key in keys(registry, &name) {
                registry.add_keys(&name, *key);
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
