//! Root types that are made of the fields of several objects.
//!
//! The library's merged objects contain each other, so that the future of a root field contains the futures of all
//! fields of the schema. Here an object is found by the name of the field, and its future is boxed.

use std::{
    any::type_name, borrow::Cow, collections::HashMap, fmt, marker::PhantomData, sync::RwLock,
};

use futures_util::{FutureExt, future::BoxFuture};
use upstream::{
    CacheControl, Context, ContextSelectionSet, ObjectType, OutputType, Positioned, ServerResult,
    Value,
    indexmap::IndexMap,
    parser::types::Field,
    registry::{MetaType, MetaTypeId, Registry},
    resolver_utils::ContainerType,
};

use crate::resolver_utils::resolve_container;

/// What a [`Merged`] object is made of.
pub trait Parts: Send + Sync + 'static {
    /// Name of the GraphQL type.
    const NAME: &'static str;
    /// Its description.
    const DESCRIPTION: &'static str;

    /// The objects whose fields it has, in the order of the fields.
    fn parts() -> Vec<Part>;
}

/// An object whose fields a [`Merged`] object has.
pub struct Part {
    object: Box<dyn AnyContainer>,
    read: fn(&mut Registry) -> MetaType,
}

impl Part {
    /// The part with the fields of this object.
    pub fn of<T: ContainerType + Default + 'static>() -> Self {
        Self { object: Box::new(T::default()), read: Registry::create_fake_output_type::<T> }
    }
}

/// A container of any type.
trait AnyContainer: Send + Sync {
    /// See [`ContainerType::resolve_field`].
    fn resolve_field<'a>(
        &'a self,
        context: &'a Context<'_>,
    ) -> BoxFuture<'a, ServerResult<Option<Value>>>;
}

impl<T: ContainerType> AnyContainer for T {
    fn resolve_field<'a>(
        &'a self,
        context: &'a Context<'_>,
    ) -> BoxFuture<'a, ServerResult<Option<Value>>> {
        ContainerType::resolve_field(self, context).boxed()
    }
}

/// A root object with the fields of several objects.
pub struct Merged<P> {
    parts: Vec<Part>,
    /// Positions of the parts by name of a field, for fields that were resolved before. Only fields of the schema are here.
    by_field: RwLock<HashMap<String, usize>>,
    of: PhantomData<fn() -> P>,
}

impl<P: Parts> Default for Merged<P> {
    fn default() -> Self {
        Self { parts: P::parts(), by_field: RwLock::default(), of: PhantomData }
    }
}

impl<P: Parts> fmt::Debug for Merged<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct(P::NAME).finish_non_exhaustive()
    }
}

impl<P: Parts> Merged<P> {
    fn known(&self, field: &str) -> Option<&Part> {
        let by_field = self.by_field.read().ok()?;
        self.parts.get(*by_field.get(field)?)
    }
}

impl<P: Parts> ContainerType for Merged<P> {
    async fn resolve_field(&self, context: &Context<'_>) -> ServerResult<Option<Value>> {
        let field = context.item.node.name.node.as_str();
        if let Some(part) = self.known(field) {
            return part.object.resolve_field(context).await;
        }
        for (position, part) in self.parts.iter().enumerate() {
            // A part without this field returns `None` at once. The part with it returns a value or an error.
            let found = part.object.resolve_field(context).await;
            if !matches!(found, Ok(None)) {
                if let Ok(mut by_field) = self.by_field.write() {
                    by_field.insert(field.to_owned(), position);
                }
                return found;
            }
        }
        Ok(None)
    }
}

impl<P: Parts> OutputType for Merged<P> {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed(P::NAME)
    }

    fn create_type_info(registry: &mut Registry) -> String {
        registry.create_output_type::<Self, _>(MetaTypeId::Object, |registry| {
            let of_part = |part: Part| match (part.read)(registry) {
                MetaType::Object { fields, .. } => fields,
                _ => IndexMap::new(),
            };
            MetaType::Object {
                name: P::NAME.to_owned(),
                description: Some(P::DESCRIPTION.to_owned()),
                fields: P::parts().into_iter().flat_map(of_part).collect(),
                cache_control: CacheControl::default(),
                extends: false,
                shareable: false,
                resolvable: true,
                keys: None,
                visible: None,
                inaccessible: false,
                interface_object: false,
                tags: Vec::new(),
                is_subscription: false,
                rust_typename: Some(type_name::<Self>()),
                directive_invocations: Vec::new(),
                requires_scopes: Vec::new(),
            }
        })
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        _: &Positioned<Field>,
    ) -> ServerResult<Value> {
        resolve_container(context, self).await
    }
}

impl<P: Parts> ObjectType for Merged<P> {}
