//! GraphQL types of the inventory.

use async_graphql::{ID, InputObject, Object, SimpleObject, Union};

use super::documents::StockDocument;
use crate::graphql::{
    refusals::{Conflict, InUse, InvalidInput, NotFound},
    requester::{Role, Who},
    scalars::Long,
};

/// Stock counters of one SKU.
#[derive(Debug)]
pub struct Stock(pub StockDocument);

/// Stock counters of one SKU, in pieces. `available`, `reserved` and `sold` add up to `received`.
#[Object]
impl Stock {
    /// SKU of the product.
    async fn sku(&self) -> ID {
        ID(self.0.sku.clone())
    }

    /// Number of pieces that are free to be ordered.
    async fn available(&self) -> Long {
        Long(self.0.available)
    }

    /// Number of pieces that are held by carts and by checkouts under way. Null, with an error, unless the
    /// caller is a merchant.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn reserved(&self) -> Option<Long> {
        Some(Long(self.0.received - self.0.available - self.0.sold))
    }

    /// Number of pieces that were sold and not put back into stock. Null, with an error, unless the caller is
    /// a merchant.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn sold(&self) -> Option<Long> {
        Some(Long(self.0.sold))
    }

    /// Number of pieces that were ever received. Null, with an error, unless the caller is a merchant.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn received(&self) -> Option<Long> {
        Some(Long(self.0.received))
    }
}

/// Input of `receiveStock`.
#[derive(Debug, InputObject)]
pub struct ReceiveStockInput {
    /// SKU of the product.
    pub sku: ID,
    /// Number of pieces received, 1 to 1,000,000,000.
    pub quantity: Long,
    /// Idempotency key, 1 to 128 characters. The receipt is booked once, however often the call is repeated
    /// with the same key.
    pub idempotency_key: Option<ID>,
}

/// Result of `receiveStock`: the stock after the receipt, or a refusal. `NotFound`: there is no product with
/// this SKU. `Conflict`: this `idempotencyKey` was used with another input, or that receipt was given up.
#[derive(Union)]
pub enum ReceiveStockResult {
    Stock(Stock),
    NotFound(NotFound),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// Input of `deleteProduct`.
#[derive(Debug, InputObject)]
pub struct DeleteProductInput {
    /// SKU of the product.
    pub sku: ID,
}

/// Result of a successful `deleteProduct`.
#[derive(Debug, SimpleObject)]
pub struct DeletedProduct {
    /// SKU of the deleted product. It can be used for a new product about a minute later.
    pub sku: ID,
}

/// Result of `deleteProduct`: the SKU of the deleted product, or a refusal. `InUse`: carts or checkouts hold
/// pieces of the product.
#[derive(Union)]
pub enum DeleteProductResult {
    DeletedProduct(DeletedProduct),
    NotFound(NotFound),
    InUse(InUse),
    InvalidInput(InvalidInput),
}

impl From<String> for DeleteProductResult {
    fn from(sku: String) -> Self {
        Self::DeletedProduct(DeletedProduct { sku: ID(sku) })
    }
}

impl From<StockDocument> for ReceiveStockResult {
    fn from(stock: StockDocument) -> Self {
        Self::Stock(Stock(stock))
    }
}
