//! What became of the catalog's mutations: the product as its type shows it, or a refusal.

use async_graphql::Union;

use super::{
    super::view::StoredProduct,
    product::{Album, Book, Film, GenericProduct, Product},
};
use crate::graphql::refusals::{AlreadyExists, Conflict, InUse, InvalidInput, NotFound};

/// A result: the four types of product, and the refusals that can happen.
macro_rules! product_result {
    ($(#[doc = $about:literal])+ $name:ident { $($refusal:ident),+ }) => {
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
    };
}

product_result! {
    /// What became of a new product.
    CreateProductResult { AlreadyExists, InUse, NotFound, InvalidInput }
}

product_result! {
    /// What became of another content.
    UpdateProductResult { NotFound, Conflict, InvalidInput }
}

product_result! {
    /// What became of another price.
    SetProductPriceResult { NotFound, InvalidInput }
}

product_result! {
    /// What became of other categories.
    CategorizeProductResult { NotFound, InvalidInput }
}

product_result! {
    /// What became of a credit.
    CreditPersonResult { NotFound, InvalidInput }
}

product_result! {
    /// What became of a credit that was taken back.
    UncreditPersonResult { NotFound, InvalidInput }
}
