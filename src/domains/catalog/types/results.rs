//! Results of the catalog's mutations: the product as an object of its type, or a refusal.

use async_graphql::Union;

use super::{
    super::view::StoredProduct,
    product::{Album, Book, Film, GenericProduct, Product},
};
use crate::graphql::refusals::{AlreadyExists, Conflict, InUse, InvalidInput, NotFound};

/// A result: the four types of product, and the refusals of the mutation.
macro_rules! product_result {
    ($($(#[doc = $about:literal])+ $name:ident { $($refusal:ident),+ })+) => {$(
        $(#[doc = $about])+
        #[derive(Union)]
        pub enum $name {
            Album(Album),
            Film(Film),
            Book(Book),
            GenericProduct(GenericProduct),
            $($refusal($refusal),)+
        }

        impl From<StoredProduct> for $name {
            fn from(product: StoredProduct) -> Self {
                match Product::of(product, None) {
                    Product::Album(album) => Self::Album(album),
                    Product::Film(film) => Self::Film(film),
                    Product::Book(book) => Self::Book(book),
                    Product::GenericProduct(product) => Self::GenericProduct(product),
                }
            }
        }

        $crate::graphql::declared::mutation_result!($name: $($refusal)+);
    )+};
}

product_result! {
    /// Result of `createProduct`: the product, or a refusal. `AlreadyExists`: another product has this SKU.
    /// `InUse`: a product with this SKU is being deleted; try again in a minute. `NotFound`: there is no such
    /// category.
    CreateProductResult { AlreadyExists, InUse, NotFound, InvalidInput }

    /// Result of `updateProduct`: the product after the update, or a refusal. `Conflict`: the content changed
    /// since `version` was read.
    UpdateProductResult { NotFound, Conflict, InvalidInput }

    /// Result of `setProductPrice`: the product with its new prices, or a refusal. `InvalidInput`: among
    /// others, the retail price would exceed the list price.
    SetProductPriceResult { NotFound, InvalidInput }

    /// Result of `categorizeProduct`: the product in its new categories, or a refusal. `NotFound`: there is
    /// no such product or category.
    CategorizeProductResult { NotFound, InvalidInput }

    /// Result of `creditPerson`: the product with the credit, or a refusal. `NotFound`: there is no such
    /// product or person. `InvalidInput`: among others, the person has 2,000 works already or the product 100
    /// contributors.
    CreditPersonResult { NotFound, InvalidInput }

    /// Result of `uncreditPerson`: the product without the credit, or a refusal.
    UncreditPersonResult { NotFound, InvalidInput }
}
