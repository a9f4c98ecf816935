//! Merges each room's Query, Mutation and Subscription: one line per room; in [`nodes`] and [`entities`]
//! one more for each kind of thing with a global id.

pub mod entities;
pub mod nodes;
pub mod subgraph;

use std::{any::Any, future::ready, mem, sync::Arc, time::Duration};

use async_graphql::{
    Interface, MergedObject, MergedSubscription, Name, Pos, Request, Response, SDLExportOptions,
    Schema, SchemaBuilder, ValidationMode, direct::Root, parser::parse_schema,
};
use futures_util::{FutureExt, Stream, StreamExt, stream};

use crate::{
    config::Config,
    domains::{
        assets::{
            self,
            types::{AssetConflict, FileTooLarge, MediaTypeNotAllowed},
        },
        carts, catalog,
        categories::{self, types::WouldMakeCircle},
        comments::{
            self,
            types::{
                CommentConflict, CommentRemoved, DiscussionFull, EditWindowOver, NotServedByLayout,
            },
        },
        content::{
            self,
            types::{ContentConflict, WouldContainItself},
        },
        hits,
        identities::{self, types::ProofNeeded},
        inventory,
        orders::{
            self,
            types::{CartEmpty, CheckoutShort, OrderNotOpen, PaymentDeclined},
        },
        people,
        transfers::{
            self,
            types::{
                AccountClosed, AccountFull, AccountNotEmpty, InsufficientFunds,
                TransferNotCancellable,
            },
        },
    },
    error::Error,
    graphql::{
        measure::Limits,
        plans::{Asked, Plans, Read},
        refusals::{
            AlreadyExists, CartNotActive, Conflict, CurrencyMismatch, ErrorCode, InUse,
            InsufficientStock, InvalidInput, NotFound,
        },
        types::Types,
    },
    metrics::operations::OperationType,
};

/// Everything that can be read.
// A field is looked for from the last room to the first: what is read most stands at the end.
#[derive(MergedObject, Default)]
pub struct Query(
    entities::EntitiesQuery,
    nodes::NodesQuery,
    hits::resolvers::HitsQuery,
    identities::resolvers::IdentitiesQuery,
    transfers::resolvers::TransfersQuery,
    people::resolvers::PeopleQuery,
    orders::resolvers::OrdersQuery,
    inventory::resolvers::InventoryQuery,
    carts::resolvers::CartsQuery,
    assets::resolvers::AssetsQuery,
    comments::resolvers::CommentsQuery,
    content::resolvers::ContentQuery,
    categories::resolvers::CategoriesQuery,
    catalog::resolvers::CatalogQuery,
);

/// Everything that can be changed.
#[derive(MergedObject, Default)]
pub struct Mutation(
    catalog::resolvers::CatalogMutation,
    categories::resolvers::CategoriesMutation,
    people::resolvers::PeopleMutation,
    comments::resolvers::CommentsMutation,
    inventory::resolvers::InventoryMutation,
    carts::resolvers::CartsMutation,
    orders::resolvers::OrdersMutation,
    transfers::resolvers::TransfersMutation,
    content::resolvers::ContentMutation,
    identities::resolvers::IdentitiesMutation,
    assets::resolvers::AssetsMutation,
    hits::resolvers::HitsMutation,
);

/// Everything that can be followed.
#[derive(MergedSubscription, Default)]
pub struct Subscription(
    comments::resolvers::CommentsSubscription,
    inventory::resolvers::InventorySubscription,
    orders::resolvers::OrdersSubscription,
    transfers::resolvers::TransfersSubscription,
);

/// A way in which a mutation was refused; nothing was changed.
#[derive(Debug, Interface)]
#[graphql(
    field(name = "code", ty = "&ErrorCode", desc = "The kind of refusal, for programs."),
    field(name = "message", ty = "&String", desc = "What happened, for people.")
)]
pub enum UserError {
    NotFound(NotFound),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
    AlreadyExists(AlreadyExists),
    InUse(InUse),
    WouldMakeCircle(WouldMakeCircle),
    DiscussionFull(DiscussionFull),
    NotServedByLayout(NotServedByLayout),
    CommentRemoved(CommentRemoved),
    CommentConflict(CommentConflict),
    EditWindowOver(EditWindowOver),
    InsufficientStock(InsufficientStock),
    CartNotActive(CartNotActive),
    CartEmpty(CartEmpty),
    CheckoutShort(CheckoutShort),
    PaymentDeclined(PaymentDeclined),
    OrderNotOpen(OrderNotOpen),
    CurrencyMismatch(CurrencyMismatch),
    InsufficientFunds(InsufficientFunds),
    AccountClosed(AccountClosed),
    AccountFull(AccountFull),
    AccountNotEmpty(AccountNotEmpty),
    TransferNotCancellable(TransferNotCancellable),
    ContentConflict(ContentConflict),
    WouldContainItself(WouldContainItself),
    ProofNeeded(ProofNeeded),
    AssetConflict(AssetConflict),
    FileTooLarge(FileTooLarge),
    MediaTypeNotAllowed(MediaTypeNotAllowed),
}

/// The whole schema, ready to execute requests.
#[derive(Clone)]
pub struct GatewaySchema {
    /// Checks everything before it executes.
    strict: Library,
    /// Executes what is known to be valid; only limits are looked at.
    quick: Library,
    /// The same without the library's preparation, for what is written out.
    queries: Root<Query>,
    mutations: Root<Mutation>,
    types: Arc<Types>,
    plans: Arc<Plans>,
}

/// Mutations that add to counts.
const COUNTING: [&str; 1] = ["recordHits"];

type Library = Schema<Root<Query>, Root<Mutation>, Subscription>;

/// A request with its text read.
pub struct Prepared {
    request: Request,
    read: Read,
    as_text: bool,
}

impl Prepared {
    /// The same with something for its resolvers.
    #[must_use]
    pub fn with(self, data: impl Any + Send + Sync) -> Self {
        Self { request: self.request.data(data), ..self }
    }

    /// The answer's data may be text, for [`text::write`](async_graphql::text::write) alone.
    pub fn answer_as_text(&mut self) {
        self.as_text = true;
    }

    /// Whether it is a subscription.
    pub fn is_subscription(&self) -> bool {
        self.read.asked.as_ref().is_some_and(Asked::is_subscription)
    }

    /// Whether it may change something.
    pub fn is_mutation(&self) -> bool {
        self.read.asked.as_ref().is_some_and(Asked::is_mutation)
    }

    /// Whether it adds to counts, which nobody may repeat who doesn't know what became of it.
    pub fn is_counting(&self) -> bool {
        self.read.asked.as_ref().is_some_and(|asked| asked.has_field_of(&COUNTING))
    }

    /// Estimated objects of the answer.
    pub fn cost(&self) -> usize {
        self.read.cost
    }

    /// What it does; none where its text can't be read.
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

    /// The operation's name, if it has one.
    pub fn name(&self) -> Option<Name> {
        self.read.asked.as_ref().and_then(Asked::name).cloned()
    }

    /// The first field of the operation's root.
    pub fn first_field(&self) -> Option<&str> {
        self.read.asked.as_ref().and_then(Asked::first_field).map(Name::as_str)
    }

    /// Whether its text was read and found valid before.
    pub fn is_known(&self) -> bool {
        self.read.is_known
    }

    /// How long anyone may keep the answer, whoever asked; `None` where nobody may. An answer with an
    /// error may never be kept.
    pub fn max_age(&self) -> Option<Duration> {
        self.read.asked.as_ref().and_then(Asked::max_age)
    }
}

impl GatewaySchema {
    /// Executes a query or mutation.
    pub async fn execute(&self, mut prepared: Box<Prepared>) -> Response {
        // What is known isn't moved.
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
            // Boxed: these futures are large, and this one is moved a few times.
            let answer = if asked.is_mutation() {
                let direct = self.mutations.direct();
                direct.map(|direct| direct.execute(operation, request, as_text).boxed())
            } else {
                let direct = self.queries.direct().filter(|_| !asked.is_subscription());
                direct.map(|direct| direct.execute(operation, request, as_text).boxed())
            };
            if let Some(answer) = answer {
                return self.complete(Some(asked), answer.await, true);
            }
        }
        let (library, request, asked) = self.for_library(*prepared);
        let response = Box::pin(library.execute(request)).await;
        self.complete(asked.as_ref(), response, false)
    }

    /// What executes it, with what was read of it.
    fn for_library(&self, prepared: Prepared) -> (&Library, Request, Option<Asked>) {
        let Prepared { mut request, read: Read { asked, is_checked, .. }, .. } = prepared;
        if let Some(asked) = &asked {
            asked.fill(&mut request, is_checked);
        }
        (if is_checked { &self.quick } else { &self.strict }, request, asked)
    }

    /// Executes any operation; a subscription answers until it ends.
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

    /// A text that is new, or whose variables may not be what it declares, is checked by all rules before any
    /// of it is executed, and then executed in the same form as later: how often something is done mustn't
    /// depend on who asked before.
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

    /// Reads the text of a request. What the schema's rules don't allow is told when it is executed.
    ///
    /// # Errors
    /// It asks for more than it may.
    pub fn prepare(&self, mut request: Request) -> Result<Prepared, Error> {
        let read = self.plans.read(&self.types, &mut request)?;
        Ok(Prepared { request, read, as_text: false })
    }

    /// The same schema for another gateway, with its own limits and known texts. It saves building the
    /// schema anew; `federation` and `introspection` have to be as they were.
    #[must_use]
    pub fn for_another(&self, config: &Config) -> Self {
        Self { plans: Arc::new(Plans::new(Limits::of(config))), ..self.clone() }
    }

    /// What operations may ask for.
    pub fn limits(&self) -> &Limits {
        self.plans.limits()
    }

    /// Every field that an operation can begin with.
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
        asked: Option<&Asked>,
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

/// What the library says to a subscription for which all rules hold where it is to answer once.
const SOUND_SUBSCRIPTION: &str = "Subscriptions are not supported on this transport.";

/// Whether the request was executed: faults of the request itself are at no field.
fn is_of_execution(response: &Response) -> bool {
    response.errors.iter().all(|error| !error.path.is_empty())
}

/// Builds the schema of a gateway; handles and the requester come with each request.
///
/// # Panics
/// When the library can't read what it prints, which a test would have seen.
pub fn build(config: &Config) -> GatewaySchema {
    let (queries, mutations) = (Root::default(), Root::default());
    let strict = library(ValidationMode::Strict, config, &queries, &mutations);
    #[expect(clippy::expect_used, reason = "what the library prints it also reads")]
    let types = Types::of(&parse_schema(strict.sdl()).expect("the schema as it is printed"));
    let quick = library(ValidationMode::Fast, config, &queries, &mutations);
    let plans = Arc::new(Plans::new(Limits::of(config)));
    GatewaySchema { strict, quick, queries, mutations, types: Arc::new(types), plans }
}

/// Levels that the parser reads.
const DEEPEST: usize = 64;

fn library(
    mode: ValidationMode,
    config: &Config,
    queries: &Root<Query>,
    mutations: &Root<Mutation>,
) -> Library {
    let mut builder = builder(mode, queries.clone(), mutations.clone());
    if !config.federation {
        builder = builder.register_output_type::<subgraph::Alone>();
    }
    if !config.introspection {
        builder = builder.disable_suggestions();
    }
    builder.finish()
}

fn builder(
    mode: ValidationMode,
    queries: Root<Query>,
    mutations: Root<Mutation>,
) -> SchemaBuilder<Root<Query>, Root<Mutation>, Subscription> {
    Schema::build(queries, mutations, Subscription::default())
        .register_output_type::<UserError>()
        .validation_mode(mode)
        // Ours is looked at before; this one ends fragments that name themselves.
        .limit_recursive_depth(DEEPEST)
}

/// The schema in the schema definition language, as `schema.graphql` holds it: without what only a
/// subgraph has.
pub fn sdl() -> String {
    library(ValidationMode::Strict, &Config::default(), &Root::default(), &Root::default())
        .sdl_with_options(printed())
}

/// How schemas are printed.
fn printed() -> SDLExportOptions {
    SDLExportOptions::new().sorted_fields().sorted_enum_items().include_specified_by()
}
