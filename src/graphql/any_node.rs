//! Objects of the interface `Node` as fields of rooms. Such a field can return an object of any room, and only the
//! schema knows all of them. It provides the read as [`ReadNode`].

use std::{borrow::Cow, fmt};

use async_graphql::{
    Context, ContextSelectionSet, ID, OutputType, Positioned, ServerResult, Value,
    parser::types::Field, registry::Registry,
};
use futures_util::{FutureExt, future::BoxFuture};

use super::cx::{Cx, cx};
use crate::error::Error;

/// The name of the interface, which the schema declares.
const NODE: &str = "Node";

/// An object of any type that implements the interface `Node`.
pub struct AnyNode(Box<dyn Resolve>);

impl AnyNode {
    /// An object whose type is the interface or one of its members.
    pub fn of(object: impl OutputType + 'static) -> Self {
        Self(Box::new(object))
    }
}

impl fmt::Debug for AnyNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AnyNode({})", self.0.name_of_type())
    }
}

/// An [`OutputType`] behind a pointer.
trait Resolve: Send + Sync {
    fn name_of_type(&self) -> Cow<'static, str>;

    fn resolve_boxed<'a>(
        &'a self,
        context: &'a ContextSelectionSet<'_>,
        field: &'a Positioned<Field>,
    ) -> BoxFuture<'a, ServerResult<Value>>;
}

impl<T: OutputType> Resolve for T {
    fn name_of_type(&self) -> Cow<'static, str> {
        self.introspection_type_name()
    }

    fn resolve_boxed<'a>(
        &'a self,
        context: &'a ContextSelectionSet<'_>,
        field: &'a Positioned<Field>,
    ) -> BoxFuture<'a, ServerResult<Value>> {
        self.resolve(context, field).boxed()
    }
}

impl OutputType for AnyNode {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed(NODE)
    }

    fn create_type_info(_: &mut Registry) -> String {
        // The query `node` registers the interface.
        Self::qualified_type_name()
    }

    fn introspection_type_name(&self) -> Cow<'static, str> {
        self.0.name_of_type()
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        self.0.resolve_boxed(context, field).await
    }
}

/// Result of the read of a node: nothing if it doesn't exist or isn't visible to the caller.
pub type FoundNode = Result<Option<AnyNode>, Error>;

/// Reads an object by its global id, as the query `node` does. It is data of the schema.
#[derive(Debug, Clone, Copy)]
pub struct ReadNode(pub for<'a> fn(Cx<'a>, &'a ID) -> BoxFuture<'a, FoundNode>);

/// The object with this global id, as the query `node` returns it to the caller.
///
/// # Errors
/// The read failed.
pub async fn any_node(context: &Context<'_>, id: &ID) -> FoundNode {
    let ReadNode(read) = context.data_unchecked::<ReadNode>();
    read(cx(context), id).await
}
