//! Translates between GraphQL and the operations of the inventory.

use async_graphql::{Context, ID, Object, Result, Subscription};
use futures_util::Stream;

use super::{
    operations,
    types::{
        DeleteProductInput, DeleteProductResult, ReceiveStockInput, ReceiveStockResult, Stock,
    },
};
use crate::graphql::{
    app,
    refusals::answer,
    requester,
    requester::{Role, Who},
    subscription::follow,
};

/// Reads.
#[derive(Default)]
pub struct InventoryQuery;

#[Object]
impl InventoryQuery {
    /// Stock of a product; null where there is no such product. Goods belong to the SKU: what was
    /// left of a deleted product is there again when another one is created under its SKU.
    ///
    /// Who: everyone.
    async fn stock(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The product.")] sku: ID,
    ) -> Result<Option<Stock>> {
        Ok(operations::stock(app(context), &sku).await?.map(Stock))
    }
}

/// Writes.
#[derive(Default)]
pub struct InventoryMutation;

#[Object]
impl InventoryMutation {
    /// Books goods that came in. There is no bound to the receipts of an hour; a SKU that gets
    /// hundreds of them within a second, for many seconds, is answered with `RATE_LIMITED`.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn receive_stock(
        &self,
        context: &Context<'_>,
        input: ReceiveStockInput,
    ) -> Result<ReceiveStockResult> {
        let subject = requester(context).subject()?;
        let ReceiveStockInput { sku, quantity, op_id } = input;
        let said =
            operations::receive(app(context), subject, &sku, quantity.0, op_id.as_ref()).await;
        Ok(answer(said)?)
    }

    /// Deletes a product, unless some of it is reserved by carts or checkouts. Its orders stay, and
    /// so do the goods on the shelf: another product under the same SKU has them.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn delete_product(
        &self,
        context: &Context<'_>,
        input: DeleteProductInput,
    ) -> Result<DeleteProductResult> {
        Ok(answer(operations::delete_product(app(context), &input.sku).await)?)
    }
}

/// What happens.
#[derive(Default)]
pub struct InventorySubscription;

#[Subscription]
impl InventorySubscription {
    /// The stock of a product: as it is now, and then whenever it changed, until the product is
    /// deleted. Intermediate values may be passed over when changes come faster than they are taken.
    ///
    /// Who: everyone.
    async fn stock_changed(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The product.")] sku: ID,
    ) -> Result<impl Stream<Item = Result<Stock>> + use<>> {
        let (app, key) = (app(context).clone(), sku.0.clone());
        let read = move || {
            let (app, sku) = (app.clone(), sku.clone());
            async move { Ok(operations::stock(&app, &sku).await?.map(Stock)) }
        };
        let face = |Stock(stock): &Stock| (stock.available, stock.sold, stock.received);
        Ok(follow(context, "inventory", key, read, face))
    }
}
