//! Variants as they are stored in their product.

use async_graphql::SimpleObject;

use super::Pricing;
use crate::mongo::prelude::*;

/// Stands between the SKU of a product and the code of a variant. No key contains it, so no product has the SKU of a
/// variant.
const SEPARATOR: char = '.';

document! {
    /// A variant of a product, such as a size in a colour.
    #[derive(PartialEq, Eq)]
    pub struct Variant {
        /// SKU of the product, a dot, and the code of the variant.
        pub sku: String,
        /// Generation: distinguishes this variant from an earlier one under the same SKU.
        pub generation: String,
        /// Its options, each name once. Within a product each variant has other values.
        pub options: Vec<VariantOption>,
        /// The values of the options.
        pub title: String,
        /// What a piece costs more than the product, in minor units of the product's currency.
        pub difference: i64,
        /// `_id` of the asset that it shows, which was one of the product's images when it was set. It shows none while the
        /// product doesn't have the image.
        pub image?: String,
        /// Version. It changes with each `updateVariant`, which guards on it.
        pub version: String,
        /// Digest of the input that added it, which identifies a repeat.
        pub origin: String,
    }

    /// Option of a variant: a name with a value.
    #[derive(PartialEq, Eq, SimpleObject)]
    pub struct VariantOption {
        /// Name, such as `colour`.
        pub name: String,
        /// Value, such as `red`.
        pub value: String,
    }
}

impl Variant {
    /// The title of a variant with these options.
    pub fn title_of(options: &[VariantOption]) -> String {
        Self::values_of(options).join(" / ")
    }

    /// The values of these options. They tell variants of a product apart, and titles don't: a value can contain ` / `.
    pub fn values_of(options: &[VariantOption]) -> Vec<String> {
        options.iter().map(|option| option.value.clone()).collect()
    }

    /// The prices of the variant of a product with these prices. No price is below zero, and the list price isn't below the
    /// retail price.
    pub fn pricing(&self, base: Pricing) -> Pricing {
        let retail = base.retail.saturating_add(self.difference).max(0);
        let list = base.list.saturating_add(self.difference).max(retail);
        Pricing::of(list, retail, base.currency)
    }
}

/// Whether a SKU has the form of a variant's.
pub fn is_variant(sku: &str) -> bool {
    sku.contains(SEPARATOR)
}

/// SKU of the product: of a variant's SKU its beginning, else the SKU itself.
pub fn product_sku(sku: &str) -> &str {
    sku.split_once(SEPARATOR).map_or(sku, |(product, _)| product)
}

/// Expression: the SKU of the product, as [`product_sku`] gives it. `sku` is an expression.
pub fn product_sku_of(sku: &str) -> Document {
    doc! { "$first": { "$split": [sku, String::from(SEPARATOR)] } }
}
