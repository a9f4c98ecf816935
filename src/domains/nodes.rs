//! Objects with a global id: the declaration of each kind in its room, and the interface `Node`.

use std::{borrow::Cow, iter};

use async_graphql::{
    ContextSelectionSet, ID, OutputType, Positioned, ServerResult, Value,
    parser::types::Field,
    registry::{MetaType, Registry},
};

use super::{ROOMS, room::BoxedFuture, switched_on};
use crate::{
    config::Config,
    error::Error,
    graphql::{cx::Cx, interface, node_id, node_id::NodeKind},
};

/// A kind of documents with a global id, as the schema shows them.
#[derive(Debug)]
pub struct NodeType {
    pub kind: NodeKind,
    /// The object types of its documents.
    pub types: &'static [ObjectType],
    /// Reads a document by its global id with the room's own operation, which checks whether it is visible to the
    /// caller. A text that isn't an id of this kind is treated as the id of a document that doesn't exist.
    pub read: Read,
    /// Name of the interface of its types. Other subgraphs can refer to it as to the types themselves.
    pub interface: Option<&'static str>,
    /// A field by which other subgraphs can refer to a document as by its id, and the read by this field.
    pub natural_key: Option<(&'static str, Read)>,
}

/// See [`NodeType::read`].
pub type Read = for<'a> fn(Cx<'a>, &'a ID) -> BoxedFuture<'a, Result<Option<Node>, Error>>;

impl NodeType {
    /// A kind without an interface and a natural key.
    pub const fn new(kind: NodeKind, types: &'static [ObjectType], read: Read) -> Self {
        Self { kind, types, read, interface: None, natural_key: None }
    }

    /// Names of the types by which other subgraphs can refer to its documents.
    pub fn names(&self) -> impl Iterator<Item = Cow<'static, str>> {
        self.types.iter().map(|of| (of.name)()).chain(self.interface.map(Cow::Borrowed))
    }

    /// Fields by which other subgraphs can refer to its documents.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        iter::once("id").chain(self.natural_key.map(|(name, _)| name))
    }

    /// Whether an object that was found is of the type, or the interface, with this name.
    pub fn is(&self, name: &str, found: &Node) -> bool {
        let of = found.introspection_type_name();
        of == name || self.interface == Some(name) && self.names().any(|own| own == of)
    }
}

/// A kind of documents; the operation returns the document, or another value of which the object is made. Behind `as`
/// stand the types of the objects, if there are several.
macro_rules! node_type {
    ($kind:ident: $object:ty, |$cx:ident, $id:ident| $operation:expr) => {
        $crate::domains::nodes::node_type!($kind: $object as $object, |$cx, $id| $operation)
    };
    ($kind:ident: $object:ty as $($type:ty)|+, |$cx:ident, $id:ident| $operation:expr) => {
        $crate::domains::nodes::NodeType::new(
            $crate::graphql::node_id::NodeKind::$kind,
            &[$($crate::domains::nodes::ObjectType::of::<$type>()),+],
            |$cx, $id| {
                Box::pin(async move {
                    let found = $operation.await?.map(<$object>::from);
                    Ok(found.map($crate::domains::nodes::Node::of))
                })
            },
        )
    };
}
pub(super) use node_type;

/// An object type of the schema.
#[derive(Debug)]
pub struct ObjectType {
    name: fn() -> Cow<'static, str>,
    register: fn(&mut Registry) -> String,
}

impl ObjectType {
    /// The type as the library knows it.
    pub const fn of<T: OutputType>() -> Self {
        Self { name: T::type_name, register: T::create_type_info }
    }
}

/// Every kind of documents with a global id, of the rooms that are switched on.
fn kinds(config: &Config) -> impl Iterator<Item = &'static NodeType> {
    switched_on(config).flat_map(|room| room.nodes)
}

/// The kind whose documents other subgraphs can refer to by the type, or interface, with this name.
pub fn of_type(config: &Config, name: &str) -> Option<&'static NodeType> {
    kinds(config).find(|kind| kind.names().any(|own| own == name))
}

/// Reads an object by its global id, if it is visible to the caller. A text that isn't a global id is treated as
/// the id of an object that doesn't exist.
pub async fn find(cx: Cx<'_>, id: &ID) -> Result<Option<Node>, Error> {
    let Some((name, _)) = node_id::decode(id) else { return Ok(None) };
    match kinds(cx.config()).find(|of| of.kind.name() == name) {
        Some(of) => (of.read)(cx, id).await,
        None => Ok(None),
    }
}

/// An object with a global id, of any room.
pub struct Node(Box<dyn Object>);

impl Node {
    /// The object as a node.
    pub fn of(object: impl OutputType + 'static) -> Self {
        Self(Box::new(object))
    }

    /// Gives the registered interface its field. This is done after [`interface::complete`].
    pub fn complete(registry: &mut Registry) {
        if let Some(MetaType::Interface { fields, .. }) =
            registry.types.get_mut(&*Self::type_name())
        {
            fields.retain(|name, _| name == "id");
            for field in fields.values_mut() {
                field.description = Some("Global id of the object.".to_owned());
            }
        }
    }
}

/// The part of the library's [`OutputType`] that a value has whose type is known only at run time.
trait Object: Send + Sync {
    /// Name of the object type.
    fn object_type(&self) -> Cow<'static, str>;

    /// See [`OutputType::resolve`].
    fn show<'a>(
        &'a self,
        context: &'a ContextSelectionSet<'_>,
        field: &'a Positioned<Field>,
    ) -> BoxedFuture<'a, ServerResult<Value>>;
}

impl<T: OutputType> Object for T {
    fn object_type(&self) -> Cow<'static, str> {
        self.introspection_type_name()
    }

    fn show<'a>(
        &'a self,
        context: &'a ContextSelectionSet<'_>,
        field: &'a Positioned<Field>,
    ) -> BoxedFuture<'a, ServerResult<Value>> {
        Box::pin(self.resolve(context, field))
    }
}

impl OutputType for Node {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed("Node")
    }

    fn introspection_type_name(&self) -> Cow<'static, str> {
        Object::object_type(&*self.0)
    }

    fn create_type_info(registry: &mut Registry) -> String {
        let types = ROOMS.iter().flat_map(|room| room.nodes).flat_map(|kind| kind.types);
        let mut types: Vec<_> = types.collect();
        types.sort_by_key(|of| (of.name)());
        let members: Vec<_> = types.iter().map(|of| of.register).collect();
        interface::register::<Self>(registry, "An object with a global id.", &members)
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        Object::show(&*self.0, context, field).await
    }
}
