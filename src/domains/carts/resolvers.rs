//! Resolvers: they translate between GraphQL and the operations of the carts.

use super::operations;
use crate::graphql::{prelude::*, subscription::follow_node};

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

    /// The shipping methods that are offered for a cart to a destination, the cheapest first, and what is paid with each
    /// beside the goods. Null if the cart isn't visible to the caller (see `cart`).
    ///
    /// Who: everyone.
    shipping_methods(
        context,
        #[graphql(desc = "Global id of the cart.")] cart_id: ID,
        #[graphql(desc = "ISO 3166-1 code of the country to which the goods are sent, such as `DE`.")]
        country: String,
        #[graphql(
            desc = "City with its postal code, 1 to 200 characters. It is needed if an outside service quotes the amounts."
        )]
        city: Option<String>,
    ): Option<Vec<ShippingCharges>> =
        operations::shipping_methods(cx(context), &cart_id, &country, city.as_deref()).await?,

    /// A voucher by its code, with what was used of it. Null if there is none.
    voucher(
        context,
        #[graphql(desc = "Code of the voucher, in any case.")] code: String,
    ) by merchant: Option<Voucher> =
        operations::voucher(cx(context), &code).await?.map(Voucher::from),

    /// All vouchers, newest first, each with what was used of it. Those that have expired or were ended are among them.
    vouchers(context) by merchant: Connection<Voucher> =
        operations::list_vouchers(cx(context), paging(context)?).await?,

    /// The caller's saved addresses, at most 20. Nobody else sees them.
    my_addresses(context) by signed_in: Vec<SavedAddress> = {
        let book = operations::my_addresses(cx(context)).await?;
        book.addresses.into_iter().map(SavedAddress::from).collect()
    },

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

    /// Adds pieces of a product or a variant to a cart. A new line gets the product's current price; an existing line
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

    /// Sets the lines of an active cart to the present prices of their products. The line of a product that was deleted, or
    /// whose price is in another currency now, keeps its price. Allowed for the owner and the role `service`, and for
    /// everyone if the cart has no owner.
    ///
    /// Who: everyone.
    accept_prices(AcceptPricesInput) -> AcceptPricesResult;

    /// Applies a voucher to an active cart. Nothing is reserved: the checkout decides whether the voucher can be used.
    /// Allowed for the owner and the role `service`, and for everyone if the cart has no owner.
    ///
    /// Who: everyone.
    apply_voucher(ApplyVoucherInput) -> ApplyVoucherResult;

    /// Removes the voucher of an active cart. A cart without one is returned as it is. Allowed for the owner and the role
    /// `service`, and for everyone if the cart has no owner.
    ///
    /// Who: everyone.
    remove_voucher(RemoveVoucherInput) -> RemoveVoucherResult;

    /// Chooses a shipping method for an active cart and a destination. Its price and the tax are those for the cart as it is
    /// now; after a change of the lines or the voucher it has to be chosen again. Allowed for the owner and the role
    /// `service`, and for everyone if the cart has no owner.
    ///
    /// Who: everyone.
    set_shipping_method(SetShippingMethodInput) -> SetShippingMethodResult;

    /// Takes the shipping method of an active cart back, so that the checkout charges no shipping. It is refused with
    /// `InvalidInput` if each checkout of the shop needs a shipping method. A cart without one is returned as it is. Allowed for
    /// the owner and the role `service`, and for everyone if the cart has no owner.
    ///
    /// Who: everyone.
    remove_shipping_method(RemoveShippingMethodInput) -> RemoveShippingMethodResult;

    /// Saves an address of the caller under a label, or replaces the one with this label. Orders keep the address that
    /// they were placed with.
    save_address(SaveAddressInput) -> SaveAddressResult by signed_in;

    /// Removes a saved address of the caller.
    remove_address(RemoveAddressInput) -> RemoveAddressResult by signed_in;

    /// Creates a voucher. Its terms never change.
    create_voucher(CreateVoucherInput) -> CreateVoucherResult by merchant;

    /// Ends a voucher: no checkout can use it from now on. Orders that used it keep their discount. Repeatable: a voucher
    /// whose time is over is returned as it is.
    end_voucher(EndVoucherInput) -> EndVoucherResult by merchant;

    /// Cancels an active cart for good and releases its reserved stock. Repeatable: cancelling a cancelled
    /// cart returns it. Allowed for the owner and the role `service`, and for everyone if the cart has no
    /// owner.
    ///
    /// Who: everyone.
    cancel_cart(CancelCartInput) -> CancelCartResult;
}

subscriptions! {
    /// Subscription fields.
    pub struct CartsSubscription;

    /// A cart: the current state first, then each new state after a change. A change of a product's price is no change of
    /// the cart. The stream ends when the cart is removed or isn't visible to the caller any more. If there is none that is
    /// visible to the caller (see `cart`), the only response is the error `NOT_FOUND`.
    ///
    /// Who: everyone.
    cart_changed(
        context,
        #[graphql(desc = "Global id of the cart.")] cart_id: ID,
    ): Cart = {
        let visible = |cart: &Cart| {
            let shown = &cart.0;
            let parts = (shown.lines.clone(), shown.voucher.clone(), shown.quote.clone());
            (shown.state, shown.modified_at, parts)
        };
        follow_node(context, NodeKind::CART, cart_id, visible, |cx, id| {
            Box::pin(operations::cart(cx, id))
        })
    },
}
