//! The schema: the fields of all rooms, and those that belong to no room. [`nodes`] has a line for each kind of
//! document with a global id.

pub mod entities;
pub mod nodes;
pub mod subgraph;
mod switch;

use std::{any::Any, future::ready, mem, sync::Arc, time::Duration};

use async_graphql::{
    MergedObject, Name, Pos, Request, Response, SDLExportOptions, Schema, SchemaBuilder,
    ValidationMode, direct::Root, parser::parse_schema,
};
use futures_util::{FutureExt, Stream, StreamExt, stream};

use switch::Switched;

use crate::{
    config::Config,
    domains::{self, Mutation, Subscription},
    engine::{
        cost::Limits,
        prepared::{PreparedOperation, PreparedOperations, Read},
        types::Types,
    },
    error::Error,
    metrics::operations::OperationType,
    mongo::together,
};

/// Query fields of all rooms, and those that belong to no room.
#[derive(MergedObject, Default)]
pub struct Query(entities::EntitiesQuery, nodes::NodesQuery, domains::Queries);

/// The whole schema, ready to execute requests.
#[derive(Clone)]
pub struct GatewaySchema {
    /// Validates a document by all rules before it executes it.
    strict: Library,
    /// Executes documents that are known to be valid; only the limits are checked.
    quick: Library,
    /// The same roots without the library's preparation of a request, for flattened operations.
    queries: Root<Query>,
    mutations: Root<Mutation>,
    types: Arc<Types>,
    plans: Arc<PreparedOperations>,
}

/// Mutations that increment counters.
const COUNTING: [&str; 1] = ["recordHits"];

type Library = Schema<Root<Query>, Root<Mutation>, Subscription>;

/// A request whose document was parsed.
pub struct Prepared {
    request: Request,
    read: Read,
    as_text: bool,
}

impl Prepared {
    /// Adds data for the resolvers.
    #[must_use]
    pub fn with(self, data: impl Any + Send + Sync) -> Self {
        Self { request: self.request.data(data), ..self }
    }

    /// Permits that the answer's data is text, which only [`text::write`](async_graphql::text::write) can
    /// handle.
    pub fn answer_as_text(&mut self) {
        self.as_text = true;
    }

    /// Whether the operation is a subscription.
    pub fn is_subscription(&self) -> bool {
        self.read.asked.as_ref().is_some_and(PreparedOperation::is_subscription)
    }

    /// Whether the operation is a mutation.
    pub fn is_mutation(&self) -> bool {
        self.read.asked.as_ref().is_some_and(PreparedOperation::is_mutation)
    }

    /// Whether the operation increments counters. It must not be repeated if its outcome is unknown.
    pub fn is_counting(&self) -> bool {
        self.read.asked.as_ref().is_some_and(|asked| asked.has_field_of(&COUNTING))
    }

    /// Cost: the estimated number of objects in the answer.
    pub fn cost(&self) -> usize {
        self.read.cost
    }

    /// Type of the operation; `None` if the document can't be parsed.
    pub fn operation_type(&self) -> Option<OperationType> {
        let asked = self.read.asked.as_ref()?;
        Some(if asked.is_subscription() {
            OperationType::Subscription
        } else if asked.is_mutation() {
            OperationType::Mutation
        } else {
            OperationType::Query
        })
    }

    /// Name of the operation, if it has one.
    pub fn name(&self) -> Option<Name> {
        self.read.asked.as_ref().and_then(PreparedOperation::name).cloned()
    }

    /// First root field of the operation.
    pub fn first_field(&self) -> Option<&str> {
        self.read.asked.as_ref().and_then(PreparedOperation::first_field).map(Name::as_str)
    }

    /// Whether the document was parsed and found valid before.
    pub fn is_known(&self) -> bool {
        self.read.is_known
    }

    /// How long the answer can be cached for all callers; `None` if it can't. An answer with an error must
    /// never be cached.
    pub fn max_age(&self) -> Option<Duration> {
        self.read.asked.as_ref().and_then(PreparedOperation::max_age)
    }
}

impl GatewaySchema {
    /// The schema in the schema definition language.
    pub fn sdl(&self) -> String {
        self.strict.sdl_with_options(printed())
    }

    /// Executes a query or mutation.
    pub async fn execute(&self, mut prepared: Box<Prepared>) -> Response {
        // A request that was checked before isn't moved.
        if !prepared.read.is_checked {
            *prepared = match self.learned(*prepared).await {
                Ok(prepared) => prepared,
                Err(answer) => return answer,
            };
        }
        let Prepared { request, read, as_text } = &mut *prepared;
        let asked = read.asked.as_ref().filter(|_| read.is_checked);
        if let Some((asked, operation)) =
            asked.and_then(|asked| Some((asked, asked.unconditional()?)))
        {
            let as_text = *as_text && asked.is_plain();
            // The futures are boxed, because they are large and would be moved several times.
            let answer = if asked.is_mutation() {
                let direct = self.mutations.direct();
                direct.map(|direct| direct.execute(operation, request, as_text).boxed())
            } else {
                let direct = self.queries.direct().filter(|_| !asked.is_subscription());
                direct.map(|direct| direct.execute(operation, request, as_text).boxed())
            };
            if let Some(answer) = answer {
                return self.complete(Some(asked), together(answer).await, true);
            }
        }
        let (library, request, asked) = self.for_library(*prepared);
        let response = together(Box::pin(library.execute(request))).await;
        self.complete(asked.as_ref(), response, false)
    }

    /// The library schema that executes the request, with the request and its prepared operation.
    fn for_library(&self, prepared: Prepared) -> (&Library, Request, Option<PreparedOperation>) {
        let Prepared { mut request, read: Read { asked, is_checked, .. }, .. } = prepared;
        if let Some(asked) = &asked {
            asked.fill(&mut request, is_checked);
        }
        (if is_checked { &self.quick } else { &self.strict }, request, asked)
    }

    /// Executes an operation of any type. A subscription answers until it ends.
    pub fn execute_stream(
        &self,
        prepared: Prepared,
    ) -> impl Stream<Item = Response> + Send + use<> {
        let schema = self.clone();
        let answers = async move {
            let prepared = match schema.learned(prepared).await {
                Ok(prepared) => prepared,
                Err(answer) => return stream::once(ready(answer)).boxed(),
            };
            let (library, request, asked) = schema.for_library(prepared);
            let responses = library.execute_stream(request);
            let complete = move |response| schema.complete(asked.as_ref(), response, false);
            responses.map(complete).boxed()
        };
        stream::once(answers).flatten()
    }

    /// Validates a document that is new, or whose variables may not match their declarations, by all rules
    /// before anything is executed. It is then executed in the same form as later ones: what a request does
    /// must not depend on earlier requests.
    async fn learned(&self, prepared: Prepared) -> Result<Prepared, Response> {
        let Prepared { request, mut read, as_text } = prepared;
        let Some(asked) = read.asked.take_if(|_| !read.is_checked) else {
            return Ok(Prepared { request, read, as_text });
        };
        let check = Request::new(request.query.clone()).variables(request.variables.clone());
        let mut check = check.only_introspection();
        check.operation_name.clone_from(&request.operation_name);
        asked.fill(&mut check, false);
        let checked = Box::pin(self.strict.execute(check)).await;
        let is_sound = match &checked.errors[..] {
            [error] if asked.is_subscription() => error.message == SOUND_SUBSCRIPTION,
            _ => is_of_execution(&checked),
        };
        if !is_sound {
            return Err(self.complete(Some(&asked), checked, false));
        }
        let learned = self.plans.learn(&self.types, &request, &asked);
        let asked = learned.map_err(|error| {
            let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
            error.locations.clear();
            Response::from_errors(vec![error])
        })?;
        Ok(Prepared {
            request,
            read: Read { asked: Some(asked), is_checked: true, ..read },
            as_text,
        })
    }

    /// Parses the document of a request. Validation errors are reported when it is executed.
    ///
    /// # Errors
    /// The operation exceeds a limit.
    pub fn prepare(&self, mut request: Request) -> Result<Prepared, Error> {
        let read = self.plans.read(&self.types, &mut request)?;
        Ok(Prepared { request, read, as_text: false })
    }

    /// The same schema for another gateway, with limits and prepared operations of its own. This saves
    /// building the schema again; `federation` and `introspection` must have the same values.
    #[must_use]
    pub fn for_another(&self, config: &Config) -> Self {
        Self { plans: Arc::new(PreparedOperations::new(Limits::of(config))), ..self.clone() }
    }

    /// Limits of operations.
    pub fn limits(&self) -> &Limits {
        self.plans.limits()
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

    fn complete(
        &self,
        asked: Option<&PreparedOperation>,
        mut response: Response,
        is_ordered: bool,
    ) -> Response {
        if let Some(asked) = asked {
            let Response { data, errors, .. } = &mut response;
            *data = asked.complete(&self.types, mem::take(data), errors, is_ordered);
        }
        response
    }
}

/// The library's answer to a valid subscription that is executed like a query.
const SOUND_SUBSCRIPTION: &str = "Subscriptions are not supported on this transport.";

/// Whether the request was executed. Errors of the request itself have no path.
fn is_of_execution(response: &Response) -> bool {
    response.errors.iter().all(|error| !error.path.is_empty())
}

/// Builds the schema of a gateway. The handles and the requester are part of each request.
///
/// # Panics
/// If the library can't parse the schema that it prints, which a test would have detected.
pub fn build(config: &Config) -> GatewaySchema {
    let (queries, mutations) = (Root::default(), Root::default());
    let strict = library(ValidationMode::Strict, config, &queries, &mutations);
    #[expect(clippy::expect_used, reason = "what the library prints it also reads")]
    let types = Types::of(&parse_schema(strict.sdl()).expect("the schema as it is printed"));
    let quick = library(ValidationMode::Fast, config, &queries, &mutations);
    let plans = Arc::new(PreparedOperations::new(Limits::of(config)));
    GatewaySchema { strict, quick, queries, mutations, types: Arc::new(types), plans }
}

/// Maximum nesting that the parser accepts.
const DEEPEST: usize = 64;

fn library(
    mode: ValidationMode,
    config: &Config,
    queries: &Root<Query>,
    mutations: &Root<Mutation>,
) -> Library {
    switch::without(domains::switched_off(config), || {
        let mut builder = builder(mode, queries.clone(), mutations.clone());
        if !config.federation {
            builder = builder.register_output_type::<subgraph::Alone>();
        }
        if !config.introspection {
            builder = builder.disable_suggestions();
        }
        builder.register_output_type::<Switched>().finish()
    })
}

fn builder(
    mode: ValidationMode,
    queries: Root<Query>,
    mutations: Root<Mutation>,
) -> SchemaBuilder<Root<Query>, Root<Mutation>, Subscription> {
    Schema::build(queries, mutations, Subscription::default())
        .validation_mode(mode)
        // docgate's own limit is checked before. This one stops fragments that contain themselves.
        .limit_recursive_depth(DEEPEST)
}

/// The schema of the default configuration in the schema definition language, as in `schema.graphql`: all rooms,
/// without the fields and types of a subgraph.
pub fn sdl() -> String {
    build(&Config::default()).sdl()
}

/// Options for printing a schema.
fn printed() -> SDLExportOptions {
    SDLExportOptions::new().sorted_fields().sorted_enum_items().include_specified_by()
}
