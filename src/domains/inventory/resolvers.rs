//! Resolvers: they translate between GraphQL and the operations of the inventory.

use super::operations;
use crate::graphql::{prelude::*, subscription::follow};

queries! {
    /// Query fields.
    pub struct InventoryQuery;

    /// Stock of a product or variant. Null if there is none with this SKU; all counters are zero if nothing was
    /// ever received. Stock belongs to the SKU: the remaining pieces of a deleted product are available again
    /// when a product with the same SKU is created.
    ///
    /// Who: everyone.
    stock(
        context,
        #[graphql(desc = "SKU of the product or variant.")] sku: ID,
    ): Option<Stock> = operations::stock(app(context), &sku).await?.map(Stock::from),

    /// Stock of several products and variants, in the order of `skus`. Each element is what `stock` returns for the SKU: null
    /// if there is no such product or variant, and null with an error if it can't be read.
    ///
    /// Who: everyone.
    stocks(
        context,
        #[graphql(desc = "SKUs of the products and variants, at most 100.")] skus: Vec<ID>,
    ): Vec<Option<async_graphql::Result<Stock>>> = {
        let found = operations::stocks_of(app(context), &skus).await?;
        let shown = found.into_iter().map(|stock| {
            let stock = stock.map_err(async_graphql::Error::from).transpose();
            stock.map(|stock| stock.map(Stock::from))
        });
        shown.collect()
    },

    /// Stock that is low: SKUs with fewer free pieces than `below`, the fewest first. A SKU that never had a receipt isn't
    /// listed.
    low_stock(
        context,
        #[graphql(desc = "Number of pieces, 1 to 1,000.")] below: i32,
    ) by merchant: Connection<Stock> =
        operations::low_stock(cx(context), below, paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct InventoryMutation;

    /// Books goods that came in. The number of receipts per hour isn't limited. A SKU that receives hundreds
    /// of receipts per second over many seconds is answered with the error `RATE_LIMITED`.
    receive_stock(ReceiveStockInput) -> ReceiveStockResult by merchant;

    /// Takes free pieces out of stock that can't be sold, such as damaged or lost ones. Pieces that carts, checkouts or orders
    /// hold aren't touched. What applies to the number of receipts applies to these calls too.
    write_off_stock(WriteOffStockInput) -> WriteOffStockResult by merchant;

    /// Deletes a product. It is refused with `InUse` while carts or checkouts hold pieces of the product, and while it has
    /// variants.
    /// Existing orders of the product stay. The remaining stock stays with the SKU and belongs to the next
    /// product that is created with it.
    delete_product(DeleteProductInput) -> DeleteProductResult by merchant;

    /// Deletes a variant of a product. It is refused with `InUse` while carts or checkouts hold pieces of the variant.
    /// Existing orders of the variant stay. A line of a cart without a reservation stays as well: it has no present price,
    /// and its checkout is refused with `CheckoutShort`. The remaining stock stays with the SKU and belongs to the next
    /// variant that is added with it. Repeatable: a variant that was deleted counts as deleted.
    delete_variant(DeleteVariantInput) -> DeleteVariantResult by merchant;
}

subscriptions! {
    /// Subscription fields.
    pub struct InventorySubscription;

    /// Stock of a product or variant: the current state first, then each new state after a change. The stream ends when it
    /// is deleted. For a SKU of nothing the only response is the error `NOT_FOUND`. If changes come faster than the client
    /// reads, intermediate states are skipped.
    ///
    /// Who: everyone.
    stock_changed(
        context,
        #[graphql(desc = "SKU of the product or variant.")] sku: ID,
    ): Stock = {
        // A change of counters that the caller doesn't see would tell of each sale.
        let sees_all = cx(context).requester.has(Role::Merchant);
        let visible: fn(&Stock) -> (i64, i64, i64) =
            if sees_all { Stock::counters } else { Stock::free };
        let of = ("inventory", sku.0.clone());
        follow(context, "stock", of, sku, visible, |cx, sku| {
            Box::pin(operations::stock(cx.app, sku))
        })
    },
}
