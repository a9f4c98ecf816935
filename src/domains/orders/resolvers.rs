//! Resolvers: they translate between GraphQL and the operations of orders.

use super::{operations, types::Order};
use crate::graphql::{
    prelude::*,
    scalars::DateTime,
    subscription::{Progress, follow_node},
};

queries! {
    /// Query fields.
    pub struct OrdersQuery;

    /// An order by its global id or its number. Exactly one of `id` and `by` must be set. Null if the order doesn't exist or
    /// isn't visible to the caller. An order is visible to its owner and to merchants; an order that was placed without signing in is visible to
    /// everyone who knows its id.
    ///
    /// Who: everyone.
    order(
        context,
        #[graphql(desc = "Global id of the order.")] id: Option<ID>,
        #[graphql(desc = "Global id or number of the order.")] by: Option<OrderBy>,
    ): Option<Order> =
        operations::order_by(cx(context), id.as_ref(), by.as_ref()).await?.map(Order::from),

    /// Orders of all customers, newest first, by one of the filters that are served by an index. `stage: PLACED` lists what is
    /// to be packed, `PACKED` what is to be shipped.
    orders(
        context,
        #[graphql(desc = "Filter. Default: all orders.")] by: Option<OrdersBy>,
    ) by merchant: Connection<Order> =
        operations::orders_by(cx(context), &by.unwrap_or_default(), paging(context)?).await?,

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
    /// docgate, only the owner of that account can raise a line. Pieces that are packed or shipped stay: see
    /// `requestReturn`.
    ///
    /// Who: everyone.
    adjust_order_line(AdjustOrderLineInput) -> AdjustOrderLineResult;

    /// Cancels an order: puts its goods back into stock and refunds what wasn't refunded yet. A refund that
    /// can't be paid yet is shown in `refundDue`. The order is `CANCELLING` until everything is refunded.
    /// Packed shipments are undone. It is refused with `OrderShipped` if a part of the order is shipped. Allowed for the owner
    /// and for merchants, and for everyone if the order was placed without signing in.
    ///
    /// Who: everyone.
    cancel_order(CancelOrderInput) -> CancelOrderResult;

    /// Replaces the address of a `PLACED` order, until a piece of it is packed or shipped. If shipping or tax were paid, the country
    /// stays. What was paid stays too. Allowed for the owner and for merchants, and for everyone if the order was placed without
    /// signing in.
    ///
    /// Who: everyone.
    change_order_address(ChangeOrderAddressInput) -> ChangeOrderAddressResult;

    /// Deletes a cancelled order for good. It is refused with `InUse` unless the order is `CANCELLED`.
    delete_order(DeleteOrderInput) -> DeleteOrderResult by admin;

    /// Packs pieces of a `PLACED` order as a new shipment. An order can have several.
    pack_order(PackOrderInput) -> PackOrderResult by merchant;

    /// Undoes a packed shipment that isn't shipped. Its pieces are to be packed again.
    unpack_order(UnpackOrderInput) -> UnpackOrderResult by merchant;

    /// Records that a packed shipment was handed to its carrier. From then on its pieces can't be cancelled.
    ship_order(ShipOrderInput) -> ShipOrderResult by merchant;

    /// Records that a shipment has arrived.
    deliver_order(DeliverOrderInput) -> DeliverOrderResult by merchant;

    /// Asks a merchant to take pieces of a shipment back. It is possible from the time at which the shipment is shipped, and
    /// for as long after its arrival as the operator has set. Allowed for the owner and for merchants, and for everyone if the
    /// order was placed without signing in.
    ///
    /// Who: everyone.
    request_return(RequestReturnInput) -> RequestReturnResult;

    /// Accepts a return whose pieces have come back: puts them into stock and refunds their price. A refund that can't be paid
    /// yet is shown in `refundDue`.
    accept_return(AcceptReturnInput) -> AcceptReturnResult by merchant;

    /// Refuses a return. The customer keeps the pieces, and can request their return again.
    refuse_return(RefuseReturnInput) -> RefuseReturnResult by merchant;

    /// Gives back what a `PLACED` order paid for shipping with the tax on it, or a part of that: never more than it paid. The
    /// goods stay sold. A refund that can't be paid yet is shown in `refundDue`.
    refund_shipping(RefundShippingInput) -> RefundShippingResult by merchant;

    /// Adds a note that only merchants see. An order has at most 50.
    note_order(NoteOrderInput) -> NoteOrderResult by merchant;
}

subscriptions! {
    /// Subscription fields.
    pub struct OrdersSubscription;

    /// An order: the current state first, then each new state after a change. The stream ends when the order
    /// is deleted. If there is none that is visible to the caller (see `order`), the only response is the error `NOT_FOUND`.
    ///
    /// Who: everyone.
    order_changed(
        context,
        #[graphql(desc = "Global id of the order.")] order_id: ID,
    ): Order = {
        // Two changes may have one millisecond; the last may be the end of a refund.
        let visible = |order: &Order| (order.0.state, order.0.changed_at, order.due());
        follow_node(context, NodeKind::ORDER, order_id, visible, |cx, id| {
            Box::pin(operations::order(cx, id))
        })
    },

    /// Each order when it is placed. With `from`, the orders placed since then come first, oldest first, and some from shortly
    /// before, because an order may arrive later than one that was placed after it. A client that resumes gives the `placedAt`
    /// of the last order that it got, and skips orders that it knows.
    order_placed(
        context,
        #[graphql(
            desc = "Time from which orders are sent. Default: only orders that are placed from now on."
        )]
        from: Option<DateTime>,
    ) by merchant: Order = {
        let from = from.map(|DateTime(from)| from);
        operations::order_placed(cx(context), from, Progress::of(context))
    },
}
