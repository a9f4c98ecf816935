//! GraphQL types of the inventory.

use async_graphql::{Enum, SimpleObject};

use super::{documents::StockDocument, operations::MAX};
use crate::{
    domains::catalog::{self, Product, ProductVariant},
    graphql::{prelude::*, scalars::int},
};

object! {
    /// Stock counters of one SKU, in pieces. `available`, `reserved` and `sold` add up to `received`.
    pub type Stock = StockDocument as stock {
        /// SKU of the product or variant.
        sku: ID = ID(stock.sku.clone()),
        /// The product as it is now, also if the SKU is that of one of its variants. Null if it was deleted, or if the variant
        /// was deleted.
        product(
            context,
            #[graphql(
                desc = "Language of titles, descriptions and names of categories. Default: the product's own, and the site's for names."
            )]
            locale: Option<LocaleTag>,
        )?: Option<Product> = {
            let found = catalog::operations::product_selling(app(context), &stock.sku).await?;
            found.map(|found| Product::of(found, locale))
        },
        /// The variant as it is now. Null if it was deleted, or if the SKU is that of a product.
        variant(context)?: Option<ProductVariant> =
            catalog::operations::variant(app(context), &stock.sku).await?,
        /// Number of pieces that are free to be ordered.
        available: Long = Long(stock.available),
        /// Number of pieces that are held by carts and by checkouts in progress. Null, with an error, unless the
        /// caller is a merchant.
        reserved by merchant: Option<Long> =
            Some(Long(stock.received - stock.available - stock.sold)),
        /// Number of pieces that were sold and not put back into stock. Null, with an error, unless the caller is
        /// a merchant.
        sold by merchant: Option<Long> = Some(Long(stock.sold)),
        /// Number of pieces that were ever received, without those that were written off. Null, with an error, unless the
        /// caller is a merchant.
        received by merchant: Option<Long> = Some(Long(stock.received)),
    }
}

impl Stock {
    /// State that is compared to detect changes, for merchants.
    pub(super) fn counters(&self) -> (i64, i64, i64) {
        (self.0.available, self.0.sold, self.0.received)
    }

    /// The same for others, who see the free pieces alone.
    pub(super) fn free(&self) -> (i64, i64, i64) {
        (self.0.available, 0, 0)
    }
}

/// Whether a product can be ordered now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum Availability {
    /// More pieces are free than the setting `low_stock` says.
    InStock,
    /// Some pieces are free, but no more than the setting `low_stock` says.
    Low,
    /// No piece is free.
    Out,
}

impl Availability {
    /// The availability of so many free pieces, if `low` pieces are few.
    pub(super) fn of(available: i64, low: u32) -> Self {
        match available {
            ..=0 => Self::Out,
            some if some <= i64::from(low) => Self::Low,
            _ => Self::InStock,
        }
    }
}

input! {
    /// Input of `receiveStock`: the product or variant and the number of pieces that came in.
    pub struct ReceiveStockInput {
        /// SKU of the product or variant.
        pub sku: ID where sku(),
        /// Number of pieces received, 1 to 1,000,000,000.
        pub quantity: i32 where within(1..=MAX),
        /// Idempotency key, 1 to 128 characters. The receipt is booked once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `writeOffStock`: the product or variant and the number of pieces that can't be sold.
    pub struct WriteOffStockInput {
        /// SKU of the product or variant.
        pub sku: ID where sku(),
        /// Number of pieces to write off, 1 to 1,000,000,000.
        pub quantity: i32 where within(1..=MAX),
        /// Idempotency key, 1 to 128 characters. The pieces are written off once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `deleteProduct`: the product to delete.
    pub struct DeleteProductInput {
        /// SKU of the product.
        pub sku: ID where sku(),
    }

    /// Input of `deleteVariant`: the variant to delete.
    pub struct DeleteVariantInput {
        /// SKU of the variant.
        pub sku: ID where variant(),
    }
}

/// Result of a successful `deleteVariant`.
#[derive(Debug, SimpleObject)]
pub struct DeletedVariant {
    /// SKU of the deleted variant. It can be used for a new variant at once.
    pub sku: ID,
}

/// Result of a successful `deleteProduct`.
#[derive(Debug, SimpleObject)]
pub struct DeletedProduct {
    /// SKU of the deleted product. It can be used for a new product about a minute later.
    pub sku: ID,
}

result! {
    /// Result of `receiveStock`: the stock after the receipt, or a refusal. `NotFound`: there is no product
    /// or variant with this SKU. `Conflict`: this `idempotencyKey` was used with another input, or that receipt was aborted.
    pub enum ReceiveStockResult:
        StockDocument => Stock | NotFound | Conflict | InvalidInput;

    /// Result of `writeOffStock`: the stock without these pieces, or a refusal. `NotFound`: there is no product or variant
    /// with this SKU. `WriteOffShort`: fewer pieces are free. `Conflict`: this `idempotencyKey` was used with another
    /// input, or that call was aborted.
    pub enum WriteOffStockResult:
        StockDocument => Stock | NotFound | WriteOffShort | Conflict | InvalidInput;

    /// Result of `deleteProduct`: the SKU of the deleted product, or a refusal. `InUse`: carts or checkouts hold
    /// pieces of the product, or the product has variants.
    pub enum DeleteProductResult:
        DeletedProduct | NotFound | InUse | InvalidInput;

    /// Result of `deleteVariant`: the SKU of the deleted variant, or a refusal. `InUse`: carts or checkouts hold pieces of
    /// the variant.
    pub enum DeleteVariantResult:
        DeletedVariant | NotFound | InUse | InvalidInput;
}

refusal! {
    /// The stock doesn't cover the quantity. Nothing was changed.
    struct InsufficientStock as "INSUFFICIENT_STOCK" {
        /// SKU of the product.
        pub sku: ID,
        /// Number of pieces in terms of the call: the pieces to add for `addCartLine`, the new quantity of the
        /// line for other mutations.
        pub requested: i32,
        /// Number of these pieces that are available: the free ones, plus those that the line already holds if a
        /// quantity is set.
        pub available: i32,
    }

    /// Fewer pieces are free than are to be written off. Nothing was changed.
    struct WriteOffShort as "INSUFFICIENT_STOCK" {
        /// SKU of the product or variant.
        pub sku: ID,
        /// Number of pieces of the call.
        pub requested: i32,
        /// Number of pieces that are free.
        pub free: Long,
    }
}

impl WriteOffShort {
    /// `requested` pieces of the SKU were to be written off, and only `free` are free.
    pub(super) fn new(sku: &str, requested: i32, free: i64) -> Self {
        let message = format!("{sku:?}: {requested} to write off, {free} free");
        Self::because(message, ID(sku.into()), requested, Long(free))
    }
}

impl InsufficientStock {
    /// `requested` pieces of the SKU were requested, of which only `available` can be had.
    pub fn new(sku: &str, requested: i64, available: i64) -> Self {
        let message = format!("{sku:?}: {requested} requested, {available} available");
        Self::because(message, ID(sku.into()), int(requested), int(available))
    }
}
