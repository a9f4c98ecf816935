//! Resolvers: they translate between GraphQL and the operations of the catalog.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::{documents::ProductDocument, operations, view::StoredProduct};
use crate::{
    engine::caching::cache_control,
    graphql::{
        app,
        declared::mutations,
        page::paging,
        refusals::Stop,
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
        #[graphql(desc = "Language of the category names. Default: the site's language.")]
        locale: Option<LocaleTag>,
    ) -> Result<Connection<String, Product>> {
        let (page, found) = operations::list(app(context), by, paging(context)?).await?;
        let position = |(position, _): &(Vec<_>, _)| position.clone();
        Ok(page.connection(found, position, |(_, product)| Product::of(product, locale.clone())))
    }
}

/// The written product as an object of its GraphQL type.
fn shown<U>(written: Result<ProductDocument, Stop<U>>) -> Result<U, Stop<U>>
where
    U: From<Album> + From<Film> + From<Book> + From<GenericProduct>,
{
    Ok(match Product::of(StoredProduct::of(&written?)?, None) {
        Product::Album(album) => album.into(),
        Product::Film(film) => film.into(),
        Product::Book(book) => book.into(),
        Product::GenericProduct(product) => product.into(),
    })
}

mutations! {
    /// Mutation fields.
    pub struct CatalogMutation;

    /// Creates a product. Repeatable: the same call sent again returns the product that it created.
    ///
    /// Who: merchant.
    create_product(CreateProductInput) -> CreateProductResult via shown
        for Who::Role(Role::Merchant);

    /// Replaces the content of a product. It is refused with `Conflict` if the content changed since the
    /// client read it. Repeatable: the same call with the same `version` returns the updated product.
    ///
    /// Who: merchant.
    update_product(UpdateProductInput) -> UpdateProductResult via shown
        for Who::Role(Role::Merchant);

    /// Sets the list price, the retail price or both. The savings are computed from them. Lines that are
    /// already in carts keep their price.
    ///
    /// Who: merchant.
    set_product_price(SetProductPriceInput) -> SetProductPriceResult via shown
        for Who::Role(Role::Merchant);

    /// Replaces the categories of a product.
    ///
    /// Who: merchant.
    categorize_product(CategorizeProductInput) -> CategorizeProductResult via shown
        for Who::Role(Role::Merchant);

    /// Credits a person with a role in a product. Repeatable: an existing credit is left unchanged.
    ///
    /// Who: merchant.
    credit_person(CreditPersonInput) -> CreditPersonResult via shown for Who::Role(Role::Merchant);

    /// Removes the credit of a person for a role in a product. Repeatable: a credit that doesn't exist counts
    /// as removed.
    ///
    /// Who: merchant.
    uncredit_person(UncreditPersonInput) -> UncreditPersonResult via shown
        for Who::Role(Role::Merchant);
}
