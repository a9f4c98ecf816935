//! Resolvers: they translate between GraphQL and the operations of the carts.

use super::operations;
use crate::graphql::prelude::*;

queries! {
    /// Query fields.
    pub struct CartsQuery;

    /// A cart by its global id. Null if it doesn't exist or isn't visible to the caller. A cart with an owner
    /// is visible to the owner and to the role `service`, a cart without one to everyone who knows its id.
    ///
    /// Who: everyone.
    cart(
        context,
        #[graphql(desc = "Global id of the cart.")] id: ID,
    ): Option<Cart> = operations::cart(cx(context), &id).await?.map(Cart::from),

    /// The caller's active cart, on whatever device it was opened. If there are several, the one that was
    /// changed last. Null if there is none; `openCart` opens one.
    my_cart(context) by signed_in: Option<Cart> =
        operations::my_cart(cx(context)).await?.map(Cart::from),
}

mutations! {
    /// Mutation fields.
    pub struct CartsMutation;

    /// Opens an empty cart. With a token the cart belongs to the caller. Without a token it has no owner: its
    /// id is then a capability, and everyone who knows the id may use the cart.
    ///
    /// Who: everyone.
    open_cart(OpenCartInput) -> OpenCartResult;

    /// Makes the caller the owner of an active cart without an owner, such as one that the caller opened
    /// before signing in. From then on only the owner and the role `service` may use the cart. If several
    /// callers claim a cart at the same time, one becomes the owner and the others get `NotFound`.
    /// Repeatable: claiming a cart that the caller owns returns it unchanged.
    claim_cart(ClaimCartInput) -> ClaimCartResult by signed_in;

    /// Adds pieces of a product to a cart. A new line gets the product's current price; an existing line
    /// keeps its price. A cart with the policy `RESERVE` reserves the stock at once. If too many carts hold
    /// the product, the pieces are added without a reservation (see `held`). Allowed for the owner and the
    /// role `service`, and for everyone if the cart has no owner.
    ///
    /// Who: everyone.
    add_cart_line(AddCartLineInput) -> AddCartLineResult;

    /// Sets the quantity of a product that is in a cart. Of two concurrent calls the last one wins. Allowed
    /// for the owner and the role `service`, and for everyone if the cart has no owner.
    ///
    /// Who: everyone.
    set_cart_line_quantity(SetCartLineQuantityInput) -> SetCartLineQuantityResult;

    /// Removes the line of a product from a cart and releases its reserved stock. Allowed for the owner and
    /// the role `service`, and for everyone if the cart has no owner.
    ///
    /// Who: everyone.
    remove_cart_line(RemoveCartLineInput) -> RemoveCartLineResult;

    /// Cancels an active cart for good and releases its reserved stock. Repeatable: cancelling a cancelled
    /// cart returns it. Allowed for the owner and the role `service`, and for everyone if the cart has no
    /// owner.
    ///
    /// Who: everyone.
    cancel_cart(CancelCartInput) -> CancelCartResult;
}
