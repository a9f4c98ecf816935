//! Translates between GraphQL and the operations of orders.

use async_graphql::{Context, ID, Object, Result, Subscription, connection::Connection};
use futures_util::Stream;

use super::{
    operations,
    types::{
        AdjustOrderLineInput, AdjustOrderLineResult, CancelOrderInput, CancelOrderResult,
        CheckoutCartInput, CheckoutCartResult, DeleteOrderInput, DeleteOrderResult, Order,
    },
};
use crate::graphql::{
    app, input,
    node_id::NodeKind,
    refusals::answer,
    requester,
    requester::{Role, Who},
    subscription::follow,
};

/// Reads.
#[derive(Default)]
pub struct OrdersQuery;

#[Object]
impl OrdersQuery {
    /// One order: your own, one that was placed without signing in and whose id you know, or any
    /// for a merchant. Null for every other.
    ///
    /// Who: everyone.
    async fn order(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Its id.")] id: ID,
    ) -> Result<Option<Order>> {
        Ok(operations::order(app(context), requester(context), &id).await?.map(Order))
    }

    /// Your own orders, newest first.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn my_orders(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Only those behind this cursor.")] after: Option<String>,
    ) -> Result<Connection<String, Order>> {
        let (app, requester) = (app(context), requester(context));
        Ok(operations::my_orders(app, requester, first, after.as_deref()).await?)
    }
}

/// Writes.
#[derive(Default)]
pub struct OrdersMutation;

#[Object]
impl OrdersMutation {
    /// Checks a cart out: takes the stock that it doesn't hold yet and the money, and makes the
    /// order. Either all of that happens or nothing. Of any number of checkouts of one cart at the
    /// same time one makes the order. Own carts only, or one without an owner whose id you know: with
    /// a token that cart and its order become yours alone, as with `claimCart`.
    ///
    /// Who: everyone.
    async fn checkout_cart(
        &self,
        context: &Context<'_>,
        input: CheckoutCartInput,
    ) -> Result<CheckoutCartResult> {
        let said = operations::checkout(app(context), requester(context), input).await;
        Ok(answer(said)?)
    }

    /// Sets the quantity of one line of an order that isn't cancelled. What is taken off goes back
    /// into stock and its price is refunded; what is added must be in stock and is paid first. Money
    /// that can't be refunded yet is in `refundDue` of the answer. Own orders only, or one that was
    /// placed without signing in and whose id you know, or any for a merchant; with docgate's own
    /// accounts only the owner of the account that pays can raise.
    ///
    /// Who: everyone.
    async fn adjust_order_line(
        &self,
        context: &Context<'_>,
        input: AdjustOrderLineInput,
    ) -> Result<AdjustOrderLineResult> {
        let said = operations::adjust_line(app(context), requester(context), input).await;
        Ok(answer(said)?)
    }

    /// Cancels an order: its goods go back into stock, and what is left of the money is refunded.
    /// Money that can't be refunded yet is in `refundDue` of the answer; until all is refunded the
    /// order is `CANCELLING`. Own orders only, or one that was placed without signing in and whose id
    /// you know, or any for a merchant.
    ///
    /// Who: everyone.
    async fn cancel_order(
        &self,
        context: &Context<'_>,
        input: CancelOrderInput,
    ) -> Result<CancelOrderResult> {
        let (app, requester) = (app(context), requester(context));
        let said = operations::cancel(app, requester, &input.order_id, input.op_id.as_ref()).await;
        Ok(answer(said)?)
    }

    /// Removes a cancelled order for good.
    ///
    /// Who: admin.
    #[graphql(guard = "Who::Role(Role::Admin)")]
    async fn delete_order(
        &self,
        context: &Context<'_>,
        input: DeleteOrderInput,
    ) -> Result<DeleteOrderResult> {
        Ok(answer(operations::delete(app(context), &input.order_id).await)?)
    }
}

/// What happens.
#[derive(Default)]
pub struct OrdersSubscription;

#[Subscription]
impl OrdersSubscription {
    /// An order: as it is now, and then whenever it changed, until it is removed. Whose orders: as
    /// with `order`.
    ///
    /// Who: everyone.
    async fn order_changed(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Its id.")] id: ID,
    ) -> Result<impl Stream<Item = Result<Order>> + use<>> {
        let (app, requester) = (app(context).clone(), requester(context).clone());
        // No order has an empty `_id`: the first read ends the stream.
        let key = input::id(NodeKind::Order, &id).unwrap_or_default();
        let read = move || {
            let (app, requester, id) = (app.clone(), requester.clone(), id.clone());
            async move { Ok(operations::order(&app, &requester, &id).await?.map(Order)) }
        };
        Ok(follow(context, "orders", key, read, |Order(order)| (order.state, order.changed_at)))
    }
}
