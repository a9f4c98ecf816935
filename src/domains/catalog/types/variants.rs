//! Variants as clients see them, and the inputs of their mutations.

use async_graphql::{MaybeUndefined, SimpleObject};

use super::{
    super::{
        documents::{Pricing, Variant, VariantOption, is_variant},
        view::{ProductView, VariantKeyView},
    },
    Album, Book, Film, GenericProduct,
    inputs::PRICE,
};
use crate::{
    domains::{
        images::{self, Image, ImageRef, ImageView},
        inventory::{self, Availability, Stock, operations::Levels},
    },
    engine::caching::cache_control,
    graphql::{
        declared::{each, unique, valid},
        prelude::*,
    },
    mongo::lazy_document::Owned,
};

/// Maximum number of options of a variant.
const OPTIONS: usize = 5;

/// A variant, and the prices of its product.
#[derive(Debug)]
pub struct ProductVariant {
    variant: Variant,
    base: Pricing,
    /// The image of the product that it shows.
    image: Option<ImageRef>,
}

impl ProductVariant {
    /// A variant of a product.
    pub fn of(variant: Variant, product: &ProductView<'_>) -> Result<Self> {
        Ok(Self::with(variant, product.pricing, &product.images.get()?))
    }

    /// The variants of a product.
    pub(super) fn all(product: &ProductView<'_>) -> Result<Vec<Self>> {
        let (variants, images) = (product.variants.get()?.into_iter(), product.images.get()?);
        Ok(variants.map(|Owned(variant)| Self::with(variant, product.pricing, &images)).collect())
    }

    fn with(variant: Variant, base: Pricing, images: &[ImageView<'_>]) -> Self {
        let shown = images.iter().find(|one| variant.image.as_deref() == Some(one.asset_id));
        let image = shown.map(|one| ImageRef {
            asset_id: one.asset_id.to_owned(),
            alternative_text: one.alternative_text.to_owned(),
        });
        Self { variant, base, image }
    }
}

object! {
    /// A variant of a product, such as a shirt in one size and colour. It has a SKU, a stock and a price of its own; all
    /// else is that of the product.
    impl ProductVariant as shown {
        /// SKU of the variant, the key in stock, in carts and in orders: the SKU of the product, a dot, and a code.
        sku: ID = shown.variant.sku.as_str().into(),
        /// Values of the options, such as `red / M`.
        title: &str = &shown.variant.title,
        /// Options of the variant, in the order in which the merchant gave them.
        options: Vec<VariantOption> = shown.variant.options.clone(),
        /// Prices of the variant: those of the product plus `priceDifference`. No price is below zero.
        pricing: Pricing = shown.variant.pricing(shown.base),
        /// What a piece costs more than the product; less if it is negative.
        price_difference: Money = Money::new(shown.variant.difference, shown.base.currency),
        /// Picture of the variant: one of the product's images, with its alternative text. Null if none was chosen, if the
        /// product doesn't have the image any more, or if the caller can't see the asset.
        #[graphql(directive = cache_control::apply(0))]
        image(context)?: Option<Image<'_>> = {
            let image = shown.image.iter();
            let image = image.map(|one| (one.asset_id.as_str(), one.alternative_text.as_str()));
            images::shown(cx(context), None, image).await?.pop()
        },
        /// Stock of the variant: all counters are zero if nothing was ever received. Null if the variant was just deleted.
        #[graphql(directive = cache_control::apply(0))]
        stock(context)?: Option<Stock> = {
            let Variant { sku, generation, .. } = &shown.variant;
            let found = inventory::operations::stock_of(app(context), sku, generation);
            found.await?.map(Stock::from)
        },
        /// Whether the variant can be ordered now. In a list one command reads it for all variants and products. Null if the
        /// variant was just deleted.
        #[graphql(directive = cache_control::apply(0))]
        availability(context)?: Option<Availability> = {
            let Variant { sku, generation, .. } = &shown.variant;
            let own = (sku.as_str(), generation.as_str());
            inventory::operations::availability(app(context), &[own]).await?
        },
        /// Version of options, price difference and image; it changes with every update. `updateVariant` takes it.
        version: ID = shown.variant.version.as_str().into(),
    }
}

/// An option in which the variants of a product differ, with its values.
#[derive(Debug, SimpleObject)]
pub struct ProductOption {
    /// Name, such as `colour`.
    pub name: String,
    /// Values that variants have, each once, in the order of the variants.
    pub values: Vec<String>,
}

impl ProductOption {
    /// The options of the variants of a product.
    pub(super) fn all(product: &ProductView<'_>) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        let options =
            product.variants.get()?.into_iter().flat_map(|Owned(variant)| variant.options);
        for VariantOption { name, value } in options {
            match all.iter_mut().find(|option| option.name == name) {
                Some(option) if option.values.contains(&value) => {}
                Some(option) => option.values.push(value),
                None => all.push(Self { name, values: vec![value] }),
            }
        }
        Ok(all)
    }
}

/// A product and its variants, each by its SKU and generation.
pub(super) fn goods<'a>(product: &ProductView<'a>) -> Result<Vec<(&'a str, &'a str)>> {
    let variants: Vec<VariantKeyView<'a>> = product.variants.part()?;
    let skus = variants.iter().map(|one| (one.sku, one.generation));
    Ok([(product.sku, product.generation)].into_iter().chain(skus).collect())
}

/// Whether a product or any of its variants can be ordered now, by the levels that were read ahead. `None` if the product was
/// deleted since it was read.
pub(super) async fn availability(
    app: &App,
    ahead: Option<&Levels>,
    product: &ProductView<'_>,
) -> Result<Option<Availability>> {
    let goods = goods(product)?;
    match ahead {
        Some(levels) => levels.availability(app, &goods),
        None => inventory::operations::availability(app, &goods).await,
    }
}

input! {
    /// What distinguishes a variant from the others of its product: a name with a value.
    pub struct VariantOptionInput: Deserialize {
        /// Name, such as `colour`, 1 to 64 characters.
        pub name: String where composed(1..=64),
        /// Value, such as `red`, 1 to 100 characters.
        pub value: String where composed(1..=100),
    }

    /// Input of `addVariant`: the SKU, the options and the price of the new variant.
    pub struct AddVariantInput: Deserialize {
        /// SKU of the variant: the SKU of the product, a dot, and a code of letters, digits, `-`, `_`, `~` or `:`, such as
        /// `shirt.red-m`; at most 128 characters. It can't be changed later.
        pub sku: ID where variant_sku,
        /// Options of the variant, 1 to 5, each name once. No two variants of a product have the same values. Their names may
        /// differ.
        pub options: Vec<VariantOptionInput> where options,
        /// What a piece costs more than the product, in minor units of the product's currency; less if it is negative.
        /// Default: 0.
        pub price_difference: Option<Long> where optional(within(-PRICE..=PRICE)),
        /// Global id of the asset of one of the product's images, which the variant shows. Default: it shows none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub image_id: Option<ID> where optional(id(NodeKind::ASSET)),
    }

    /// Input of `updateVariant`: the variant as the client read it, and its new options, price and image.
    pub struct UpdateVariantInput {
        /// SKU of the variant.
        pub sku: ID where variant(),
        /// `version` of the variant as the client read it. If the variant changed since, the update is refused with
        /// `Conflict`.
        pub version: ID where verbatim(1..=128),
        /// All options of the variant, 1 to 5, each name once. No two variants of a product have the same values.
        pub options: Vec<VariantOptionInput> where options,
        /// What a piece costs more than the product, in minor units of the product's currency; less if it is negative.
        /// Default: 0.
        pub price_difference: Option<Long> where optional(within(-PRICE..=PRICE)),
        /// Global id of the asset of one of the product's images, which the variant shows. With null it shows none. If it
        /// is left out, the image stays.
        pub image_id: MaybeUndefined<ID> where given(id(NodeKind::ASSET)),
    }
}

/// The SKU of a variant.
fn variant_sku(field: &str, sku: &mut ID) -> Result<(), InvalidInput> {
    if input::is_sku(sku) && is_variant(sku) {
        return Ok(());
    }
    let reason =
        "needs the SKU of the product, a dot, and a code of letters, digits, '-', '_', '~' or ':'";
    Err(InvalidInput::new(field, reason))
}

/// Options, at most one of each name.
fn options(field: &str, options: &mut Vec<VariantOptionInput>) -> Result<(), InvalidInput> {
    each(OPTIONS, valid)(field, options)?;
    if options.is_empty() {
        return Err(InvalidInput::new(field, "needs 1 to 5 options"));
    }
    unique(field, options, "name", |option| &option.name)
}

// The product is an object of its type.
result! {
    /// Result of `addVariant`: the product with the variant, or a refusal. `AlreadyExists`: the product has another variant
    /// with this SKU. `NotFound`: there is no product with the SKU before the dot. `InvalidInput`: among others, another
    /// variant has these options, the product has 100 variants already, the variant would cost less than nothing, or the
    /// product doesn't have the image.
    pub enum AddVariantResult:
        Album | Film | Book | GenericProduct | AlreadyExists | NotFound | InvalidInput;

    /// Result of `updateVariant`: the product with the changed variant, or a refusal. `NotFound`: there is no such variant.
    /// `Conflict`: the variant changed since `version` was read. `InvalidInput`: among others, another variant has these
    /// options, the variant would cost less than nothing, or the product doesn't have the image.
    pub enum UpdateVariantResult:
        Album | Film | Book | GenericProduct | NotFound | Conflict | InvalidInput;
}
