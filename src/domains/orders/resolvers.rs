//! Resolvers: they translate between GraphQL and the operations of orders.

use async_graphql::{Context, Result, Subscription};
use futures_util::Stream;

use super::{operations, types::Order};
use crate::graphql::{prelude::*, subscription::follow};

queries! {
    /// Query fields.
    pub struct OrdersQuery;

    /// An order by its global id. Null if it doesn't exist or isn't visible to the caller. An order is
    /// visible to its owner and to merchants; an order that was placed without signing in is visible to
    /// everyone who knows its id.
    ///
    /// Who: everyone.
    order(
        context,
        #[graphql(desc = "Global id of the order.")] id: ID,
    ): Option<Order> = operations::order(cx(context), &id).await?.map(Order::from),

    /// Orders of the caller, newest first.
    my_orders(context) by signed_in: Connection<Order> =
        operations::my_orders(cx(context), paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct OrdersMutation;

    /// Checks a cart out: takes the stock that isn't reserved yet, collects the payment and places the order.
    /// Either all of this happens or nothing. Of several concurrent checkouts of a cart one places the order.
    /// Allowed for the owner of the cart, and for everyone if the cart has no owner. With a token, a cart
    /// without an owner and its order then belong to the caller, as with `claimCart`.
    ///
    /// Who: everyone.
    checkout_cart(CheckoutCartInput) -> CheckoutCartResult;

    /// Sets the quantity of a line of an order in the state `PLACED`. Lowering puts the pieces back into
    /// stock and refunds their price. Raising takes pieces from stock and collects their price first. A
    /// refund that can't be paid yet is shown in `refundDue`. Allowed for the owner and for merchants, and
    /// for everyone if the order was placed without signing in. If the order is paid from an account of
    /// docgate, only the owner of that account can raise a line.
    ///
    /// Who: everyone.
    adjust_order_line(AdjustOrderLineInput) -> AdjustOrderLineResult;

    /// Cancels an order: puts its goods back into stock and refunds what wasn't refunded yet. A refund that
    /// can't be paid yet is shown in `refundDue`. The order is `CANCELLING` until everything is refunded.
    /// Allowed for the owner and for merchants, and for everyone if the order was placed without signing in.
    ///
    /// Who: everyone.
    cancel_order(CancelOrderInput) -> CancelOrderResult;

    /// Deletes a cancelled order for good. It is refused with `InUse` unless the order is `CANCELLED`.
    delete_order(DeleteOrderInput) -> DeleteOrderResult by admin;
}

/// Subscription fields.
#[derive(Default)]
pub struct OrdersSubscription;

#[Subscription]
impl OrdersSubscription {
    /// An order: the current state first, then each new state after a change. The stream ends when the order
    /// is deleted, and at once if the order isn't visible to the caller (see `order`).
    ///
    /// Who: everyone.
    async fn order_changed(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the order.")] order_id: ID,
    ) -> Result<impl Stream<Item = Result<Order>> + use<>> {
        // No order has an empty `_id`: the first read ends the stream.
        let of = ("orders", input::id(NodeKind::ORDER, &order_id).unwrap_or_default());
        let visible = |order: &Order| (order.0.state, order.0.changed_at);
        Ok(follow(context, of, order_id, visible, |cx, id| Box::pin(operations::order(cx, id))))
    }
}
