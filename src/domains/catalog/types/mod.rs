//! GraphQL types of the catalog.

mod ahead;
mod combined;
mod inputs;
mod lists;
mod product;
mod search;
mod variants;

pub use self::{
    ahead::listed, combined::*, inputs::*, lists::*, product::*, search::*, variants::*,
};
use crate::graphql::prelude::*;

// The product is an object of its type.
result! {
    /// Result of `createProduct`: the product, or a refusal. `AlreadyExists`: another product has this SKU.
    /// `InUse`: a product with this SKU is being deleted; try again in a minute. `NotFound`: there is no such
    /// category.
    pub enum CreateProductResult:
        Album | Film | Book | GenericProduct | AlreadyExists | InUse | NotFound | InvalidInput;

    /// Result of `updateProduct`: the product after the update, or a refusal. `Conflict`: the content changed
    /// since `version` was read.
    pub enum UpdateProductResult:
        Album | Film | Book | GenericProduct | NotFound | Conflict | InvalidInput;

    /// Result of `setProductPrice`: the product with its new prices, or a refusal. `InvalidInput`: among
    /// others, the retail price would exceed the list price.
    pub enum SetProductPriceResult:
        Album | Film | Book | GenericProduct | NotFound | InvalidInput;

    /// Result of `categorizeProduct`: the product in its new categories, or a refusal. `NotFound`: there is
    /// no such product or category.
    pub enum CategorizeProductResult:
        Album | Film | Book | GenericProduct | NotFound | InvalidInput;

    /// Result of `creditPerson`: the product with the credit, or a refusal. `NotFound`: there is no such
    /// product or person. `InvalidInput`: among others, the person has 2,000 works already or the product 100
    /// contributors.
    pub enum CreditPersonResult:
        Album | Film | Book | GenericProduct | NotFound | InvalidInput;

    /// Result of `uncreditPerson`: the product without the credit, or a refusal.
    pub enum UncreditPersonResult:
        Album | Film | Book | GenericProduct | NotFound | InvalidInput;
}
