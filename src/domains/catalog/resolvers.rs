//! Translates between GraphQL and the operations of the catalog.

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
use crate::graphql::{
    app,
    caching::cache_control,
    refusals::{Stop, answer},
    requester::{Role, Who},
    scalars::LocaleTag,
};

/// Reads.
#[derive(Default)]
pub struct CatalogQuery;

#[Object]
impl CatalogQuery {
    /// The product; null where there is none.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(30))]
    async fn product(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Its SKU.")] sku: ID,
        #[graphql(desc = "Language of the names in it; the site's when left out.")] locale: Option<
            LocaleTag,
        >,
    ) -> Result<Option<Product>> {
        let found = operations::product(app(context), &sku).await?;
        Ok(found.map(|product| Product::of(product, locale)))
    }

    /// Products, in one of the ways that have an index.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(30))]
    async fn products(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which, and in which order.")] by: ProductsBy,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
        #[graphql(desc = "Language of the names in them; the site's when left out.")]
        locale: Option<LocaleTag>,
    ) -> Result<Connection<String, Product>> {
        let (page, found) =
            operations::products(app(context), &by, first, after.as_deref()).await?;
        let position = |(position, _): &(Vec<_>, _)| position.clone();
        Ok(page.connection(found, position, |(_, product)| Product::of(product, locale.clone())))
    }
}

/// What was written, as it is shown.
fn shown<U>(written: Result<ProductDocument, Stop<U>>) -> Result<StoredProduct, Stop<U>> {
    Ok(StoredProduct::of(&written?)?)
}

/// Writes.
#[derive(Default)]
pub struct CatalogMutation;

#[Object]
impl CatalogMutation {
    /// Adds a product. Its SKU is its key: the same call sent again is answered with the product.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn create_product(
        &self,
        context: &Context<'_>,
        input: CreateProductInput,
    ) -> Result<CreateProductResult> {
        Ok(answer(shown(operations::create(app(context), &input).await))?)
    }

    /// Replaces the content of a product, unless someone else did since you read it.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn update_product(
        &self,
        context: &Context<'_>,
        input: UpdateProductInput,
    ) -> Result<UpdateProductResult> {
        Ok(answer(shown(operations::update(app(context), &input).await))?)
    }

    /// Sets list price, retail price or both; savings follow from them. What lies in carts keeps the
    /// price at which it was added.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn set_product_price(
        &self,
        context: &Context<'_>,
        input: SetProductPriceInput,
    ) -> Result<SetProductPriceResult> {
        Ok(answer(shown(operations::set_price(app(context), &input).await))?)
    }

    /// Puts a product into these categories and no others.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn categorize_product(
        &self,
        context: &Context<'_>,
        input: CategorizeProductInput,
    ) -> Result<CategorizeProductResult> {
        Ok(answer(shown(operations::categorize(app(context), &input).await))?)
    }

    /// Credits someone with a part in making a product. Repeating it changes nothing.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn credit_person(
        &self,
        context: &Context<'_>,
        input: CreditPersonInput,
    ) -> Result<CreditPersonResult> {
        Ok(answer(shown(operations::credit(app(context), &input).await))?)
    }

    /// Takes the credit for a part in making a product back. Repeating it changes nothing.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn uncredit_person(
        &self,
        context: &Context<'_>,
        input: UncreditPersonInput,
    ) -> Result<UncreditPersonResult> {
        Ok(answer(shown(operations::uncredit(app(context), &input).await))?)
    }
}
