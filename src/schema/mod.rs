//! Merges each room's Query, Mutation and Subscription: one line per room; in [`nodes`] one more for
//! each kind of thing with a global id.

pub mod nodes;

use std::sync::Arc;

use async_graphql::{
    Data, Interface, MergedObject, MergedSubscription, Request, Response, SDLExportOptions, Schema,
    parser::{parse_query, parse_schema},
};
use futures_util::{Stream, StreamExt};

use crate::{
    domains::{
        carts, catalog,
        categories::{self, types::WouldMakeCircle},
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
    graphql::{
        completion::{Asked, Types},
        refusals::{
            AlreadyExists, CartNotActive, Conflict, CurrencyMismatch, ErrorCode, InUse,
            InsufficientStock, InvalidInput, NotFound,
        },
    },
};

/// Everything that can be read.
#[derive(MergedObject, Default)]
pub struct Query(
    catalog::resolvers::CatalogQuery,
    categories::resolvers::CategoriesQuery,
    people::resolvers::PeopleQuery,
    inventory::resolvers::InventoryQuery,
    carts::resolvers::CartsQuery,
    orders::resolvers::OrdersQuery,
    transfers::resolvers::TransfersQuery,
    nodes::NodesQuery,
);

/// Everything that can be changed.
#[derive(MergedObject, Default)]
pub struct Mutation(
    catalog::resolvers::CatalogMutation,
    categories::resolvers::CategoriesMutation,
    people::resolvers::PeopleMutation,
    inventory::resolvers::InventoryMutation,
    carts::resolvers::CartsMutation,
    orders::resolvers::OrdersMutation,
    transfers::resolvers::TransfersMutation,
);

/// Everything that can be followed.
#[derive(MergedSubscription, Default)]
pub struct Subscription(
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
}

/// The whole schema, ready to execute requests.
#[derive(Clone)]
pub struct GatewaySchema {
    library: Schema<Query, Mutation, Subscription>,
    types: Arc<Types>,
}

/// A request with its text read.
pub struct Prepared {
    request: Request,
    asked: Option<Asked>,
}

impl Prepared {
    /// Whether it is a subscription.
    pub fn is_subscription(&self) -> bool {
        self.asked.as_ref().is_some_and(Asked::is_subscription)
    }
}

impl GatewaySchema {
    /// Executes a query or mutation.
    pub async fn execute(&self, request: Request) -> Response {
        let Prepared { request, asked } = self.prepare(request);
        let response = self.library.execute(request).await;
        self.complete(asked.as_ref(), response)
    }

    /// Executes any operation; a subscription answers until it ends.
    pub fn execute_stream(
        &self,
        prepared: Prepared,
        session: Arc<Data>,
    ) -> impl Stream<Item = Response> + Send + use<> {
        let Prepared { request, asked } = prepared;
        let schema = self.clone();
        let responses = self.library.execute_stream_with_session_data(request, session);
        responses.map(move |response| schema.complete(asked.as_ref(), response))
    }

    /// Reads the text of a request. A fault in it is told when it is executed.
    pub fn prepare(&self, mut request: Request) -> Prepared {
        let asked = parse_query(&request.query).ok().and_then(|mut document| {
            let name = request.operation_name.as_deref();
            let asked = Asked::prepare(&self.types, &mut document, name, &mut request.variables);
            request.set_parsed_query(document);
            asked
        });
        Prepared { request, asked }
    }

    fn complete(&self, asked: Option<&Asked>, mut response: Response) -> Response {
        if let Some(asked) = asked {
            response.data = asked.complete(&self.types, response.data, &response.errors);
        }
        response
    }
}

/// Builds the schema; handles and the requester come with each request.
///
/// # Panics
/// When the library can't read what it prints, which a test would have seen.
pub fn build() -> GatewaySchema {
    let library = library();
    #[expect(clippy::expect_used, reason = "what the library prints it also reads")]
    let types = Types::of(&parse_schema(library.sdl()).expect("the schema as it is printed"));
    GatewaySchema { library, types: Arc::new(types) }
}

fn library() -> Schema<Query, Mutation, Subscription> {
    Schema::build(Query::default(), Mutation::default(), Subscription::default())
        .register_output_type::<UserError>()
        .limit_depth(32)
        .limit_complexity(20_000)
        .finish()
}

/// The schema in the schema definition language, as `schema.graphql` holds it.
pub fn sdl() -> String {
    library().sdl_with_options(
        SDLExportOptions::new().sorted_fields().sorted_enum_items().include_specified_by(),
    )
}
