//! What clients see of the inventory.

use async_graphql::{ID, InputObject, Object, SimpleObject, Union};

use super::documents::StockDocument;
use crate::graphql::{
    refusals::{Conflict, InUse, InvalidInput, NotFound},
    requester::{Role, Who},
    scalars::Long,
};

/// Stock of one SKU.
#[derive(Debug)]
pub struct Stock(pub StockDocument);

/// Stock of one SKU.
#[Object]
impl Stock {
    /// The SKU.
    async fn sku(&self) -> ID {
        ID(self.0.sku.clone())
    }

    /// Free to be ordered now.
    async fn available(&self) -> Long {
        Long(self.0.available)
    }

    /// Held by carts and checkouts that are under way; null, with an error, for others than
    /// merchants.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn reserved(&self) -> Option<Long> {
        Some(Long(self.0.received - self.0.available - self.0.sold))
    }

    /// Sold and not restocked; null, with an error, for others than merchants.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn sold(&self) -> Option<Long> {
        Some(Long(self.0.sold))
    }

    /// Everything that ever came in; null, with an error, for others than merchants.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn received(&self) -> Option<Long> {
        Some(Long(self.0.received))
    }
}

/// Goods that came in.
#[derive(Debug, InputObject)]
pub struct ReceiveStockInput {
    /// Which product.
    pub sku: ID,
    /// How many, 1 to 1,000,000,000.
    pub quantity: Long,
    /// Your idempotency key: the same receipt sent again under it is booked once.
    pub op_id: Option<ID>,
}

/// What became of a receipt.
#[derive(Union)]
pub enum ReceiveStockResult {
    Stock(Stock),
    NotFound(NotFound),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// A product to be deleted.
#[derive(Debug, InputObject)]
pub struct DeleteProductInput {
    /// Which product.
    pub sku: ID,
}

/// A product that is gone.
#[derive(Debug, SimpleObject)]
pub struct DeletedProduct {
    /// The SKU that it had. It is free again about a minute later.
    pub sku: ID,
}

/// What became of a deletion.
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
