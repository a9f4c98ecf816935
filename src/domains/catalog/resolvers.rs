//! Resolvers: they translate between GraphQL and the operations of the catalog.

use super::{documents::ProductDocument, operations, view::StoredProduct};
use crate::{
    engine::caching::cache_control,
    graphql::{page::ConnectionWith, prelude::*},
};

queries! {
    /// Query fields.
    pub struct CatalogQuery;

    /// A product by its SKU, the SKU of one of its variants, or its slug. Exactly one of `sku` and `by` must be set. Null if the
    /// product doesn't exist.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(30))]
    product(
        context,
        #[graphql(desc = "SKU of the product, or of one of its variants.")] sku: Option<ID>,
        #[graphql(desc = "Another key of the product.")] by: Option<ProductBy>,
        #[graphql(desc = "Language of titles, descriptions and names of categories. Default: the product's own, and the site's for names.")]
        locale: Option<LocaleTag>,
    ) with consistency: Option<Product> =
        operations::product_by(app(context), one_key(sku, by)?).await?
            .map(|found| Product::of(found, locale)),

    /// Suggestions while somebody types, for the words of the text in lower or upper case, with or without accents. The
    /// last word may be the beginning of one, unless a character follows it. If nothing has all the words, those are
    /// suggested whose title or name has them with one typing error each: a letter too many, a letter missing, another
    /// letter, or two letters that changed places, in a complete word of 4 to 32 letters. Words after the eighth are
    /// ignored. Frequent words that few have together can take too long: after 5 seconds the field is the error `TIMEOUT`.
    /// A gateway hands out an answer again for 5 seconds, or as long as its operator sets, so a new or changed title or
    /// name may be missing for that time. The fields `product` and `person` are read anew.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(30))]
    suggest(
        _context,
        #[graphql(desc = "What was typed so far, up to 100 characters.")] text: String,
        #[graphql(desc = "Maximum number of suggestions of each kind, 1 to 20.", default = 10)]
        first: i32,
    ): Suggestions = Suggestions::of(&text, first).map_err(Error::from)?,

    /// Products by one of the filters that are served by an index. The filter also determines the order; `where` combines
    /// several conditions and takes an order.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(30))]
    products(
        context,
        #[graphql(desc = "Filter and sort order.")] by: ProductsBy,
        #[graphql(desc = "Language of titles, descriptions and names of categories. Default: the product's own, and the site's for names.")]
        locale: Option<LocaleTag>,
    ) with consistency: ConnectionWith<Product, TotalCount> = {
        let total = TotalCount::of(&by);
        let found = operations::list(cx(context), by, paging(context)?).await?;
        listed(context, found, locale.as_ref(), total).await
    },
}

/// The one key that was given.
fn one_key(sku: Option<ID>, by: Option<ProductBy>) -> Result<ProductBy> {
    match (sku, by) {
        (Some(sku), None) => Ok(ProductBy::Sku(sku)),
        (None, Some(by)) => Ok(by),
        _ => Err(Error::bad_input("by", "exactly one of `sku` and `by` is required")),
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
    create_product(CreateProductInput) -> CreateProductResult via shown by merchant;

    /// Replaces the whole content of a product: what is left out is removed, such as the description, the translations and the
    /// properties. Contributors, slug, images, variants and prices stay. It is refused with `Conflict` if the content changed since the
    /// client read it. Repeatable: the same call with the same `version` returns the updated product.
    update_product(UpdateProductInput) -> UpdateProductResult via shown by merchant;

    /// Sets the list price, the retail price or both. The savings are computed from them. Lines that are
    /// already in carts keep their price.
    set_product_price(SetProductPriceInput) -> SetProductPriceResult via shown by merchant;

    /// Replaces the categories of a product.
    categorize_product(CategorizeProductInput) -> CategorizeProductResult via shown by merchant;

    /// Sets the slug of a product, or derives it from the title. The product is still found by its former slugs.
    /// Repeatable: the slug that the product has is left unchanged.
    set_product_slug(SetProductSlugInput) -> SetProductSlugResult via shown by merchant;

    /// Adds a variant to a product, with a SKU and a stock of its own and a price difference. Repeatable: the same call sent
    /// again returns the product. `deleteVariant` deletes a variant.
    add_variant(AddVariantInput) -> AddVariantResult via shown by merchant;

    /// Replaces options and price difference of a variant. It is refused with `Conflict` if they changed since the client
    /// read them. Lines that are already in carts keep their price. Repeatable: the same call with the same `version`
    /// returns the product.
    update_variant(UpdateVariantInput) -> UpdateVariantResult via shown by merchant;

    /// Credits a person with a role in a product. Repeatable: an existing credit is left unchanged.
    credit_person(CreditPersonInput) -> CreditPersonResult via shown by merchant;

    /// Removes the credit of a person for a role in a product. Repeatable: a credit that doesn't exist counts
    /// as removed.
    uncredit_person(UncreditPersonInput) -> UncreditPersonResult via shown by merchant;
}
