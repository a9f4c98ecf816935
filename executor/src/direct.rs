//! Executes a prepared operation directly. This avoids two steps of the library: copying the operation, and visiting
//! every selection for limits and skipped fields.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt, mem,
    sync::{Arc, Mutex, OnceLock},
};

use upstream::{
    Context, ContextSelectionSet, Data, IntrospectionMode, ObjectType, OutputType, Positioned,
    QueryEnv, QueryEnvInner, Request, Response, SchemaEnv, ServerResult, Value,
    extensions::Extensions,
    parser::types::{Field, OperationDefinition, OperationType},
    registry::Registry,
    resolver_utils::ContainerType,
};

use crate::{
    resolver_utils::{resolve_container, resolve_container_serial},
    text::AsText,
};

/// The root of a schema's queries or mutations, which can also be executed directly.
#[derive(Debug, Default)]
pub struct Root<T> {
    fields: Arc<T>,
    environment: Arc<OnceLock<Environment>>,
}

/// The environment that the library passes to every resolver. It is only available in a resolver.
struct Environment {
    schema: SchemaEnv,
    /// Without any extension.
    extensions: Extensions,
    /// Without data.
    session: Arc<Data>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Environment").finish_non_exhaustive()
    }
}

impl<T> Clone for Root<T> {
    fn clone(&self) -> Self {
        let (fields, environment) = (&self.fields, &self.environment);
        Self { fields: Arc::clone(fields), environment: Arc::clone(environment) }
    }
}

impl<T: ObjectType> Root<T> {
    /// The root for direct execution; `None` until the library has resolved one of its fields.
    pub fn direct(&self) -> Option<Direct<'_, T>> {
        Some(Direct { fields: &self.fields, environment: self.environment.get()? })
    }
}

/// A root that can be executed directly.
#[derive(Debug, Clone, Copy)]
pub struct Direct<'a, T> {
    fields: &'a T,
    environment: &'a Environment,
}

impl<T: ObjectType> Direct<'_, T> {
    /// Executes a valid query or mutation that has no named fragments, no directives and no introspection.
    /// The root fields are in order in the response. With `as_text`, the response is [`text`](crate::text);
    /// this requires an operation without any fragments. The variables and the data are taken out of
    /// `request`.
    pub async fn execute(
        self,
        operation: &OperationDefinition,
        request: &mut Request,
        as_text: bool,
    ) -> Response {
        let Environment { schema, extensions, session } = self.environment;
        // Each object looks for it, and this is where it is found first.
        if as_text {
            request.data.insert(AsText);
        }
        // Resolvers read only its variables.
        let head = OperationDefinition {
            ty: operation.ty,
            variable_definitions: operation.variable_definitions.clone(),
            directives: Vec::new(),
            selection_set: Positioned::default(),
        };
        let set = &operation.selection_set;
        let env = QueryEnv::new(QueryEnvInner {
            extensions: extensions.clone(),
            variables: mem::take(&mut request.variables),
            operation_name: None,
            operation: Positioned::new(head, set.pos),
            fragments: HashMap::new(),
            uploads: Vec::new(),
            session_data: Arc::clone(session),
            query_data: Arc::new(mem::take(&mut request.data)),
            http_headers: Mutex::default(),
            introspection_mode: IntrospectionMode::Enabled,
            errors: Mutex::default(),
        });
        let context = env.create_context(schema, None, set, None);
        let resolved = if operation.ty == OperationType::Mutation {
            resolve_container_serial(&context, self.fields).await
        } else {
            resolve_container(&context, self.fields).await
        };
        let mut response = match resolved {
            Ok(data) => Response::new(data),
            Err(error) => Response::from_errors(vec![error]),
        };
        if let Ok(mut errors) = env.errors.lock() {
            response.errors.append(&mut errors);
        }
        response
    }
}

impl<T: ObjectType> ContainerType for Root<T> {
    async fn resolve_field(&self, context: &Context<'_>) -> ServerResult<Option<Value>> {
        self.environment.get_or_init(|| Environment {
            schema: context.schema_env.clone(),
            extensions: context.query_env.extensions.clone(),
            session: Arc::default(),
        });
        self.fields.resolve_field(context).await
    }
}

impl<T: ObjectType> OutputType for Root<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        _: &Positioned<Field>,
    ) -> ServerResult<Value> {
        resolve_container(context, self).await
    }
}

impl<T: ObjectType> ObjectType for Root<T> {}
