//! Resolvers: they translate between GraphQL and the operations of the catalog.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::{
    documents::ProductDocument,
    operations,
    types::{
        CategorizeProductInput, CategorizeProductResult, CreateProductInput, CreateProductResult,
        CreditPersonInput, CreditPersonResult, Product, ProductsBy, SetProductPriceInput,
        SetProductPriceResult, UncreditPersonInput, UncreditPersonResult, UpdateProductInput,
        UpdateProductResult,
    },
    view::StoredProduct,
};
use crate::{
    engine::caching::cache_control,
    graphql::{
        app,
        cx::cx,
        refusals::{Stop, answer},
        requester::{Role, Who},
        scalars::LocaleTag,
    },
};

/// Query fields.
#[derive(Default)]
pub struct CatalogQuery;

#[Object]
impl CatalogQuery {
    /// A product by its SKU. Null if it doesn't exist.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(30))]
    async fn product(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "SKU of the product.")] sku: ID,
        #[graphql(desc = "Language of the category names. Default: the site's language.")]
        locale: Option<LocaleTag>,
    ) -> Result<Option<Product>> {
        let found = operations::product(app(context), &sku).await?;
        Ok(found.map(|product| Product::of(product, locale)))
    }

    /// Products by one of the filters that are served by an index. The filter also determines the order.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(30))]
    async fn products(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Filter and sort order.")] by: ProductsBy,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the previous page. Default: the first page.")]
        after: Option<String>,
        #[graphql(desc = "Language of the category names. Default: the site's language.")]
        locale: Option<LocaleTag>,
    ) -> Result<Connection<String, Product>> {
        let (page, found) = operations::products(cx(context), by, first, after.as_deref()).await?;
        let position = |(position, _): &(Vec<_>, _)| position.clone();
        Ok(page.connection(found, position, |(_, product)| Product::of(product, locale.clone())))
    }
}

/// The written product as clients see it.
fn shown<U>(written: Result<ProductDocument, Stop<U>>) -> Result<StoredProduct, Stop<U>> {
    Ok(StoredProduct::of(&written?)?)
}

/// Mutation fields.
#[derive(Default)]
pub struct CatalogMutation;

#[Object]
impl CatalogMutation {
    /// Creates a product. Repeatable: the same call sent again returns the product that it created.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn create_product(
        &self,
        context: &Context<'_>,
        input: CreateProductInput,
    ) -> Result<CreateProductResult> {
        answer(shown(operations::create_product(cx(context), input).await))
    }

    /// Replaces the content of a product. It is refused with `Conflict` if the content changed since the
    /// client read it. Repeatable: the same call with the same `version` returns the updated product.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn update_product(
        &self,
        context: &Context<'_>,
        input: UpdateProductInput,
    ) -> Result<UpdateProductResult> {
        answer(shown(operations::update_product(cx(context), input).await))
    }

    /// Sets the list price, the retail price or both. The savings are computed from them. Lines that are
    /// already in carts keep their price.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn set_product_price(
        &self,
        context: &Context<'_>,
        input: SetProductPriceInput,
    ) -> Result<SetProductPriceResult> {
        answer(shown(operations::set_product_price(cx(context), input).await))
    }

    /// Replaces the categories of a product.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn categorize_product(
        &self,
        context: &Context<'_>,
        input: CategorizeProductInput,
    ) -> Result<CategorizeProductResult> {
        answer(shown(operations::categorize_product(cx(context), input).await))
    }

    /// Credits a person with a role in a product. Repeatable: an existing credit is left unchanged.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn credit_person(
        &self,
        context: &Context<'_>,
        input: CreditPersonInput,
    ) -> Result<CreditPersonResult> {
        answer(shown(operations::credit_person(cx(context), input).await))
    }

    /// Removes the credit of a person for a role in a product. Repeatable: a credit that doesn't exist counts
    /// as removed.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn uncredit_person(
        &self,
        context: &Context<'_>,
        input: UncreditPersonInput,
    ) -> Result<UncreditPersonResult> {
        answer(shown(operations::uncredit_person(cx(context), input).await))
    }
}
