//! The schema: the fields of all rooms, and those that belong to no room.

pub mod entities;
pub mod nodes;
mod prepared;
pub mod subgraph;
mod switch;

use std::{future::ready, mem, sync::Arc};

use async_graphql::{
    Request, Response, SDLExportOptions, Schema, SchemaBuilder, ValidationMode,
    direct::Root,
    merged::{Merged, Part, Parts},
    parser::parse_schema,
    rows::Rows,
    size::Budget,
    text,
};
use futures_util::{FutureExt, Stream, StreamExt, stream};

pub use prepared::Prepared;
use switch::{FinalChanges, Registered};

use crate::{
    config::Config,
    domains::{self, Subscription},
    engine::{
        limits::Limits,
        prepared::PreparedOperation,
        preparing::{Preparation, PreparedOperations},
        types::Types,
        wording,
    },
    error::Error,
    graphql::{errors::refused, shared::Shape},
    metrics::operations::OperationType,
    mongo::batched,
};

/// The root type of queries.
type Query = Merged<QueryParts>;
/// The root type of mutations.
type Mutation = Merged<domains::Mutations>;

/// What [`Query`] is made of.
struct QueryParts;

impl Parts for QueryParts {
    const NAME: &'static str = "Query";
    const DESCRIPTION: &'static str =
        "Query fields of all rooms, and those that belong to no room.";

    fn parts() -> Vec<Part> {
        let of_no_room = [Part::of::<entities::EntitiesQuery>(), Part::of::<nodes::NodesQuery>()];
        of_no_room.into_iter().chain(domains::Queries::of_rooms()).collect()
    }
}

impl Parts for domains::Mutations {
    const NAME: &'static str = "Mutation";
    const DESCRIPTION: &'static str = "Mutation fields of all rooms.";

    fn parts() -> Vec<Part> {
        Self::of_rooms()
    }
}

/// The whole schema, ready to execute requests.
#[derive(Clone)]
pub struct GatewaySchema {
    /// The library's schema that validates a document by all rules before it executes it.
    strict: Library,
    /// The library's schema for documents that are known to be valid; it checks only the limits.
    fast: Library,
    /// The same roots without the library's preparation of a request, for flattened operations.
    queries: Root<Query>,
    mutations: Root<Mutation>,
    types: Arc<Types>,
    operations: Arc<PreparedOperations>,
    /// Whether errors suggest names of the schema.
    suggests: bool,
}

type Library = Schema<Root<Query>, Root<Mutation>, Subscription>;

impl GatewaySchema {
    /// The schema in the schema definition language.
    pub fn sdl(&self) -> String {
        self.strict.sdl_with_options(sdl_options())
    }

    /// Executes a query or mutation.
    pub async fn execute(&self, mut prepared: Box<Prepared>) -> Response {
        // The common case, a validated request, isn't moved.
        if !prepared.preparation.is_validated {
            *prepared = match self.validated(*prepared).await {
                Ok(prepared) => prepared,
                Err(response) => return response,
            };
        }
        let budget = Budget::of(self.limits().response);
        let Prepared { request, preparation, as_text } = &mut *prepared;
        request.data.insert(Arc::clone(&budget));
        let operation = preparation.operation.as_ref().filter(|_| preparation.is_validated);
        if let Some((operation, definition)) =
            operation.and_then(|operation| Some((operation, operation.unconditional()?)))
        {
            let as_text = *as_text && operation.is_static();
            // The futures are boxed, because they are large and would be moved several times.
            let response = if operation.is_mutation() {
                let direct = self.mutations.direct();
                direct.map(|direct| direct.execute(definition, request, as_text).boxed())
            } else {
                let direct = self.queries.direct().filter(|_| !operation.is_subscription());
                direct.map(|direct| direct.execute(definition, request, as_text).boxed())
            };
            if let Some(response) = response {
                return self.complete_within(
                    &budget,
                    Some(operation),
                    batched(response).await,
                    true,
                );
            }
        }
        let (library, request, operation) = self.for_library(*prepared);
        let response = batched(Box::pin(library.execute(request))).await;
        self.complete_within(&budget, operation.as_ref(), response, false)
    }

    /// The library schema that executes the request, with the request and its prepared operation.
    fn for_library(&self, prepared: Prepared) -> (&Library, Request, Option<PreparedOperation>) {
        let Prepared { mut request, preparation, .. } = prepared;
        let Preparation { operation, is_validated, .. } = preparation;
        if let Some(operation) = &operation {
            operation.set_parsed_document(&mut request, is_validated);
        }
        (if is_validated { &self.fast } else { &self.strict }, request, operation)
    }

    /// Executes an operation of any type. A subscription yields responses until it ends, at the latest with a response that has
    /// become too large. Parts of the responses can be [text](async_graphql::text::write).
    pub fn execute_stream(
        &self,
        prepared: Prepared,
    ) -> impl Stream<Item = Response> + Send + use<> {
        let schema = self.clone();
        let responses = async move {
            let prepared = match schema.validated(prepared).await {
                Ok(prepared) => prepared,
                Err(response) => return stream::once(ready(response)).boxed(),
            };
            let is_static = prepared.operation().is_some_and(PreparedOperation::is_static);
            let shape = prepared.operation().map(|operation| operation.shape(&prepared.request));
            let (library, request, operation) = schema.for_library(prepared);
            let budget = Budget::of(schema.limits().response);
            let mut request = request.data(Arc::clone(&budget));
            if let Some(shape) = shape {
                request = request.data(Shape(shape));
            }
            if is_static {
                request = text::requested(request);
            }
            let mut responses = library.execute_stream(request);
            async_stream::stream! {
                while let Some(response) = responses.next().await {
                    let is_too_large = budget.is_exceeded();
                    yield schema.complete_within(&budget, operation.as_ref(), response, false);
                    if is_too_large {
                        return;
                    }
                    budget.renew();
                }
            }
            .boxed()
        };
        stream::once(responses).flatten()
    }

    /// Validates a document that is new, or whose variables may not match their declarations, by all rules
    /// before any field is executed. The operation is then executed in the same form as those of known
    /// documents, so that the effect of a request doesn't depend on earlier requests.
    async fn validated(&self, prepared: Prepared) -> Result<Prepared, Response> {
        let Prepared { request, mut preparation, as_text } = prepared;
        let Some(operation) = preparation.operation.take_if(|_| !preparation.is_validated) else {
            return Ok(Prepared { request, preparation, as_text });
        };
        let check = Request::new(request.query.clone()).variables(request.variables.clone());
        let mut check = check.only_introspection();
        check.operation_name.clone_from(&request.operation_name);
        operation.set_parsed_document(&mut check, false);
        let mut checked = Box::pin(self.strict.execute(check)).await;
        let is_valid = match &checked.errors[..] {
            [error] if operation.is_subscription() => error.message == VALID_SUBSCRIPTION,
            _ => was_executed(&checked),
        };
        let (types, suggests) = (&self.types, self.suggests);
        if is_valid {
            checked = Response::default();
        }
        let (errors, variables) = (&mut checked.errors, &request.variables);
        wording::add_misfits(errors, types, &operation);
        wording::improve(errors, types, &operation, variables, suggests);
        wording::add_invalid_literals(errors, types, &operation, variables, suggests);
        if !checked.errors.is_empty() {
            return Err(self.complete(Some(&operation), checked, false));
        }
        // The library doesn't look at a variable in an object whose other variables aren't all given.
        let variables = operation.check_variables(types, &request.variables, suggests);
        let added = variables.and_then(|()| self.operations.add(&self.types, &request, &operation));
        let operation = Some(added.map_err(refused)?);
        let preparation = Preparation { operation, is_validated: true, ..preparation };
        Ok(Prepared { request, preparation, as_text })
    }

    /// Parses the document of a request. Validation errors are reported by its execution.
    ///
    /// # Errors
    /// The operation exceeds a limit.
    pub fn prepare(&self, mut request: Request) -> Result<Prepared, Error> {
        let preparation = self.operations.prepare(&self.types, &mut request)?;
        Ok(Prepared { request, preparation, as_text: false })
    }

    /// The same schema for another gateway, with separate limits and prepared operations. This saves building
    /// the schema again. `federation` and `introspection` must have the same values in `config`.
    #[must_use]
    pub fn for_another(&self, config: &Config) -> Self {
        let operations = Arc::new(PreparedOperations::new(Limits::of(config)));
        Self { operations, ..self.clone() }
    }

    /// Limits of operations.
    pub fn limits(&self) -> &Limits {
        self.operations.limits()
    }

    /// All root fields.
    pub fn root_fields(&self) -> Vec<(OperationType, String)> {
        use OperationType::{Mutation, Query, Subscription};
        let roots = [(Query, "Query"), (Mutation, "Mutation"), (Subscription, "Subscription")];
        let declared = roots.into_iter().flat_map(|(of, root)| {
            self.types.fields_of(root).map(move |field| (of, field.to_owned()))
        });
        let introspection = ["__schema", "__type", "__typename"];
        let introspection = introspection.map(|field| (Query, field.to_owned()));
        declared.chain(introspection).collect()
    }

    /// Completes a response. If it has become too large, it is an error instead.
    fn complete_within(
        &self,
        budget: &Budget,
        operation: Option<&PreparedOperation>,
        response: Response,
        is_ordered: bool,
    ) -> Response {
        if !budget.is_exceeded() {
            return self.complete(operation, response, is_ordered);
        }
        let is_mutation = operation.is_some_and(PreparedOperation::is_mutation);
        let done =
            if is_mutation { "was executed, but its response" } else { "has a response that" };
        let reason = format!("{done} is larger than {} bytes", self.limits().response);
        refused(Error::TooComplex { limit: "max_response_bytes", reason })
    }

    fn complete(
        &self,
        operation: Option<&PreparedOperation>,
        mut response: Response,
        is_ordered: bool,
    ) -> Response {
        if let Some(operation) = operation {
            let Response { data, errors, .. } = &mut response;
            *data = operation.complete(&self.types, mem::take(data), errors, is_ordered);
        }
        response
    }
}

/// The library's error for a valid subscription that is executed like a query.
const VALID_SUBSCRIPTION: &str = "Subscriptions are not supported on this transport.";

/// Whether the request was executed. Errors of the request itself have no path.
fn was_executed(response: &Response) -> bool {
    response.errors.iter().all(|error| !error.path.is_empty())
}

/// Builds the schema of a gateway. The handles and the requester are data of each request.
///
/// # Panics
/// If the library can't parse the schema that it prints, which a test would have detected.
pub fn build(config: &Config) -> GatewaySchema {
    let (queries, mutations) = (Root::default(), Root::default());
    let strict = library(ValidationMode::Strict, config, &queries, &mutations);
    #[expect(clippy::expect_used, reason = "what the library prints it also reads")]
    let types = Types::of(&parse_schema(strict.sdl()).expect("the schema as it is printed"));
    let fast = library(ValidationMode::Fast, config, &queries, &mutations);
    let operations = Arc::new(PreparedOperations::new(Limits::of(config)));
    let (types, suggests) = (Arc::new(types), config.introspection);
    GatewaySchema { strict, fast, queries, mutations, types, operations, suggests }
}

/// Maximum nesting that the library accepts.
const MAX_DEPTH: usize = 64;

fn library(
    mode: ValidationMode,
    config: &Config,
    queries: &Root<Query>,
    mutations: &Root<Mutation>,
) -> Library {
    switch::without(domains::switched_off(config), || {
        let mut builder = builder(mode, queries.clone(), mutations.clone());
        if !config.federation {
            builder = builder.register_output_type::<Registered<subgraph::WithoutSubgraph>>();
        }
        if !config.introspection {
            builder = builder.disable_suggestions();
        }
        builder.register_output_type::<Registered<FinalChanges>>().finish()
    })
}

fn builder(
    mode: ValidationMode,
    queries: Root<Query>,
    mutations: Root<Mutation>,
) -> SchemaBuilder<Root<Query>, Root<Mutation>, Subscription> {
    let rows = domains::ROOMS.iter().flat_map(|room| room.rows).copied();
    Schema::build(queries, mutations, Subscription::default())
        .data(Rows(rows.collect()))
        .validation_mode(mode)
        // docgate's own limit is checked earlier. This one stops fragments that contain themselves.
        .limit_recursive_depth(MAX_DEPTH)
}

/// The schema of the default configuration in the schema definition language, as in `schema.graphql`: all rooms,
/// without the fields and types of a subgraph.
pub fn sdl() -> String {
    build(&Config::default()).sdl()
}

/// Options for printing a schema.
fn sdl_options() -> SDLExportOptions {
    SDLExportOptions::new().sorted_fields().sorted_enum_items().include_specified_by()
}
