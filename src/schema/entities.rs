//! Apollo Federation 2: the fields by which a federation gateway resolves entities by their representations.
//! <https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec>
//!
//! `_entities` shows exactly the same as `node` to the same caller. An invalid representation doesn't affect the
//! others.

use std::{borrow::Cow, sync::Arc};

use async_graphql::{
    Any, Context, ContextSelectionSet, Error as FieldError, ID, Object, OutputType, Positioned,
    Result, ScalarType, ServerResult, SimpleObject, Value,
    parser::types::Field,
    registry::{MetaType, MetaTypeId, Registry},
};

use super::subgraph;
use crate::{
    domains::nodes::{self, Node},
    error::Error,
    graphql::{
        app,
        cx::{Cx, cx},
        input,
    },
    join::join_all,
};

/// Maximum number of representations of one `_entities` field.
const MAX: usize = 100;

/// An entity, which other subgraphs can refer to: the union of all types of [`Node`].
pub struct Entity(Node);

impl OutputType for Entity {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed("_Entity")
    }

    fn create_type_info(registry: &mut Registry) -> String {
        Node::create_type_info(registry);
        let entities = subgraph::entities(registry);
        registry.create_output_type::<Self, _>(MetaTypeId::Union, |_| MetaType::Union {
            name: Self::type_name().into_owned(),
            description: Some("An entity, which other subgraphs can refer to.".to_owned()),
            possible_types: entities.iter().cloned().collect(),
            visible: None,
            inaccessible: false,
            tags: Vec::new(),
            rust_typename: Some(std::any::type_name::<Self>()),
            directive_invocations: Vec::new(),
        })
    }

    fn introspection_type_name(&self) -> Cow<'static, str> {
        self.0.introspection_type_name()
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        self.0.resolve(context, field).await
    }
}

/// This gateway as a subgraph of a composed graph.
#[derive(SimpleObject)]
#[graphql(name = "_Service")]
pub struct Service {
    /// Schema of this gateway with the keys of its entities, in the schema definition language.
    sdl: Arc<str>,
}

/// Query fields.
#[derive(Default)]
pub struct EntitiesQuery;

#[Object]
impl EntitiesQuery {
    /// This gateway as a subgraph of a composed graph.
    ///
    /// Who: everyone.
    #[graphql(name = "_service")]
    async fn service(&self, context: &Context<'_>) -> Service {
        Service { sdl: subgraph::sdl(app(context).config()) }
    }

    /// Entities for up to 100 representations, in the order of `representations`. An element is null if the
    /// entity doesn't exist or isn't visible to the caller.
    ///
    /// Who: everyone.
    #[graphql(name = "_entities")]
    async fn entities(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Each representation has a `__typename` and a key of that type. If it has several keys, `id` is used."
        )]
        representations: Vec<Any>,
    ) -> Result<Vec<Option<Result<Entity>>>> {
        input::at_most("representations", &representations, MAX).map_err(Error::from)?;
        let cx = cx(context);
        let all = representations.iter().map(|Any(representation)| representation).enumerate();
        let one = |(index, representation)| async move {
            let found = find_entity(cx, index, representation).await;
            found.map_err(FieldError::from).transpose()
        };
        Ok(join_all(all.map(one)).await)
    }
}

/// Resolves the representation at this index.
async fn find_entity(
    cx: Cx<'_>,
    index: usize,
    representation: &Value,
) -> Result<Option<Entity>, Error> {
    let field = |name: &str| format!("representations.{index}.{name}");
    let given = |name: &str| match representation {
        Value::Object(fields) => fields.get(name),
        _ => None,
    };
    let typename = match given("__typename") {
        Some(Value::String(typename)) => typename.as_str(),
        _ => "",
    };
    let Some(kind) = nodes::of_type(cx.config(), typename) else {
        return Err(Error::bad_input(field("__typename"), "isn't the name of an entity"));
    };
    let Some((key, value)) = kind.keys().find_map(|key| Some((key, given(key)?))) else {
        let keys: Vec<_> = kind.keys().collect();
        let reason = format!("has no key of {typename}: {}", keys.join(" or "));
        return Err(Error::bad_input(format!("representations.{index}"), reason));
    };
    let field = field(key);
    let Ok(value) = ID::parse(value.clone()) else {
        return Err(Error::bad_input(field, "isn't a text"));
    };
    let read = match kind.natural_key {
        Some((natural_key, read)) if natural_key == key => read,
        _ => kind.read,
    };
    let found = read(cx, &value).await.map_err(|error| with_field(field, error))?;
    // The id may belong to another type, such as a film that is requested as a book.
    Ok(found.filter(|found| kind.is(typename, found)).map(Entity))
}

/// The same error with the field as the caller wrote it.
fn with_field(field: String, error: Error) -> Error {
    match error {
        Error::BadInput { reason, .. } => Error::bad_input(field, reason),
        error => error,
    }
}
