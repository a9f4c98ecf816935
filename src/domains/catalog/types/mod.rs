//! GraphQL types of the catalog.

mod inputs;
mod lists;
mod product;
mod results;

pub use inputs::{
    AlbumInput, BookInput, CategorizeProductInput, CreateProductInput, CreditPersonInput,
    DimensionsInput, FilmInput, GenericProductInput, PricingInput, ProductContentInput,
    ProductDetailsInput, PropertyInput, SetProductPriceInput, ShippingInput, TrackInput,
    UncreditPersonInput, UpdateProductInput,
};
pub(super) use inputs::{CATEGORIES, pricing};
pub use lists::{
    AmountRange, CategoryFilter, CreditFilter, CreditedPerson, PriceAndWeightBox, PriceRange,
    ProductsBy, TextFilter, TitleFilter,
};
pub use product::{
    Album, Book, Contributor, Film, GenericProduct, Pricing, Product, ProductCategory,
    ProductShipping, Shown,
};
pub use results::{
    CategorizeProductResult, CreateProductResult, CreditPersonResult, SetProductPriceResult,
    UncreditPersonResult, UpdateProductResult,
};
