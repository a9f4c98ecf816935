//! Translates between GraphQL and the operations of the carts.

use async_graphql::{Context, ID, Object, Result};

use super::{
    operations,
    types::{
        AddCartLineInput, AddCartLineResult, CancelCartInput, CancelCartResult, Cart,
        ClaimCartInput, ClaimCartResult, OpenCartInput, OpenCartResult, RemoveCartLineInput,
        RemoveCartLineResult, SetCartLineQuantityInput, SetCartLineQuantityResult,
    },
};
use crate::graphql::{app, refusals::answer, requester, requester::Who};

/// Reads.
#[derive(Default)]
pub struct CartsQuery;

#[Object]
impl CartsQuery {
    /// A cart; null where there is none, or none for you. A cart without an owner is for whoever knows
    /// its id, another one only for its owner and for the role `service`.
    ///
    /// Who: everyone.
    async fn cart(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The cart's id.")] id: ID,
    ) -> Result<Option<Cart>> {
        Ok(operations::cart(app(context), requester(context), &id).await?.map(Cart::from))
    }

    /// Your active cart, on whatever device you opened it; of several the one that changed last. Null
    /// where you have none: open one.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn my_cart(&self, context: &Context<'_>) -> Result<Option<Cart>> {
        Ok(operations::my_cart(app(context), requester(context)).await?.map(Cart::from))
    }
}

/// Writes.
#[derive(Default)]
pub struct CartsMutation;

#[Object]
impl CartsMutation {
    /// Opens an empty cart. With a token it is yours; without one it belongs to whoever knows its
    /// id, so keep the id to yourself.
    ///
    /// Who: everyone.
    async fn open_cart(
        &self,
        context: &Context<'_>,
        input: OpenCartInput,
    ) -> Result<OpenCartResult> {
        let OpenCartInput { policy, currency, op_id } = input;
        let (app, requester) = (app(context), requester(context));
        let said = operations::open(app, requester, policy, currency, op_id.as_ref()).await;
        Ok(answer(said)?)
    }

    /// Makes you the owner of a cart that was opened without a token and whose id you know, such as
    /// your own from before you signed in: from then on it is for you alone. Of several callers at
    /// once one gets it, and the cart doesn't exist for the others. A cart that is yours already is
    /// answered as it stands, so the call can be repeated.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn claim_cart(
        &self,
        context: &Context<'_>,
        input: ClaimCartInput,
    ) -> Result<ClaimCartResult> {
        let said = operations::claim(app(context), requester(context), &input.cart_id).await;
        Ok(answer(said)?)
    }

    /// Puts more of a product into a cart, at the price that it has now. A product that is in the
    /// cart already keeps its line and the line's price. In a cart that reserves, stock is taken at
    /// once; while too many carts hold this product the line is added without (see `held`).
    /// Own carts only, and carts without an owner; any for a service.
    ///
    /// Who: everyone.
    async fn add_cart_line(
        &self,
        context: &Context<'_>,
        input: AddCartLineInput,
    ) -> Result<AddCartLineResult> {
        let AddCartLineInput { cart_id, sku, quantity, op_id } = input;
        let (app, who) = (app(context), requester(context));
        let said = operations::add_line(app, who, &cart_id, &sku, quantity.0, op_id.as_ref()).await;
        Ok(answer(said)?)
    }

    /// Sets how many of a product a cart has, whatever it had; of two calls at once the last wins.
    /// The product must be in the cart. Own carts only, and carts without an owner; any for a service.
    ///
    /// Who: everyone.
    async fn set_cart_line_quantity(
        &self,
        context: &Context<'_>,
        input: SetCartLineQuantityInput,
    ) -> Result<SetCartLineQuantityResult> {
        let SetCartLineQuantityInput { cart_id, sku, quantity, op_id } = input;
        let (app, who) = (app(context), requester(context));
        let op_id = op_id.as_ref();
        let said = operations::set_line_quantity(app, who, &cart_id, &sku, quantity.0, op_id).await;
        Ok(answer(said)?)
    }

    /// Takes a product out of a cart. Own carts only, and carts without an owner; any for a service.
    ///
    /// Who: everyone.
    async fn remove_cart_line(
        &self,
        context: &Context<'_>,
        input: RemoveCartLineInput,
    ) -> Result<RemoveCartLineResult> {
        let RemoveCartLineInput { cart_id, sku, op_id } = input;
        let (app, who) = (app(context), requester(context));
        let said = operations::remove_line(app, who, &cart_id, &sku, op_id.as_ref()).await;
        Ok(answer(said)?)
    }

    /// Gives a cart up for good; what it holds is free again. Giving up a cart that was given up
    /// before answers with it. Own carts only, and carts without an owner; any for a service.
    ///
    /// Who: everyone.
    async fn cancel_cart(
        &self,
        context: &Context<'_>,
        input: CancelCartInput,
    ) -> Result<CancelCartResult> {
        let said = operations::cancel(app(context), requester(context), &input.cart_id).await;
        Ok(answer(said)?)
    }
}
