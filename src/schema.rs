//! Merges each room's Query, Mutation and Subscription: one line per room.

use async_graphql::{Interface, MergedObject, MergedSubscription, SDLExportOptions, Schema};

use crate::{
    domains::{
        catalog,
        categories::{self, WouldMakeCircle},
        inventory::{self, InsufficientStock},
        people,
    },
    graphql::refusals::{AlreadyExists, Conflict, ErrorCode, InUse, InvalidInput, NotFound},
};

/// Everything that can be read.
#[derive(MergedObject, Default)]
pub struct Query(
    catalog::resolvers::CatalogQuery,
    categories::resolvers::CategoriesQuery,
    inventory::resolvers::InventoryQuery,
    people::resolvers::PeopleQuery,
);

/// Everything that can be changed.
#[derive(MergedObject, Default)]
pub struct Mutation(
    catalog::resolvers::CatalogMutation,
    categories::resolvers::CategoriesMutation,
    inventory::resolvers::InventoryMutation,
    people::resolvers::PeopleMutation,
);

/// Everything that can be followed.
#[derive(MergedSubscription, Default)]
pub struct Subscription(inventory::resolvers::InventorySubscription);

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
    InsufficientStock(InsufficientStock),
    WouldMakeCircle(WouldMakeCircle),
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
