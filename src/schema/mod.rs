//! Merges each room's Query, Mutation and Subscription: one line per room; in [`nodes`] one more for
//! each kind of thing with a global id.

pub mod nodes;

use async_graphql::{Interface, MergedObject, MergedSubscription, SDLExportOptions, Schema};

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
    graphql::refusals::{
        AlreadyExists, CartNotActive, Conflict, CurrencyMismatch, ErrorCode, InUse,
        InsufficientStock, InvalidInput, NotFound,
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

/// The whole schema.
pub type GatewaySchema = Schema<Query, Mutation, Subscription>;

/// Builds the schema; handles and the requester come with each request.
pub fn build() -> GatewaySchema {
    Schema::build(Query::default(), Mutation::default(), Subscription::default())
        .register_output_type::<UserError>()
        .limit_depth(32)
        .limit_complexity(20_000)
        .finish()
}

/// The schema in the schema definition language, as `schema.graphql` holds it.
pub fn sdl() -> String {
    build().sdl_with_options(
        SDLExportOptions::new().sorted_fields().sorted_enum_items().include_specified_by(),
    )
}
