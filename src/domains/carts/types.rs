//! GraphQL types of carts.

use crate::graphql::declared::{input, result};
use async_graphql::{ID, Object};

use super::{
    MOST_QUANTITY,
    documents::{CartDocument, CartLine, CartPolicy, CartState},
};
use crate::graphql::{
    codes::refusal,
    node_id::NodeKind,
    refusals::{Conflict, CurrencyMismatch, InsufficientStock, InvalidInput, NotFound},
    scalars::{CurrencyCode, DateTime, Long, Money},
};

/// A shopping cart.
#[derive(Debug)]
pub struct Cart(Box<CartDocument>);

impl From<CartDocument> for Cart {
    fn from(cart: CartDocument) -> Self {
        Self(Box::new(cart))
    }
}

/// A shopping cart: products with quantities, and the stock that is reserved for them.
#[Object]
impl Cart {
    /// Global id of the cart. The id of a cart without an owner is a capability: whoever knows it may use the
    /// cart. This ends when a signed-in caller claims the cart or checks it out.
    pub async fn id(&self) -> ID {
        NodeKind::Cart.id(&self.0.id)
    }

    /// State of the cart. Only an `ACTIVE` cart can be changed.
    async fn state(&self) -> CartState {
        self.0.state
    }

    /// Whether stock is reserved when a line is added or only taken at the checkout.
    async fn policy(&self) -> CartPolicy {
        self.0.policy
    }

    /// Currency of all lines.
    async fn currency(&self) -> CurrencyCode {
        self.0.currency
    }

    /// Lines of the cart, one per product and at most 100, in the order in which the products were added.
    async fn lines(&self) -> Vec<Line> {
        let line = |line: &CartLine| Line { line: line.clone(), currency: self.0.currency };
        self.0.lines.iter().map(line).collect()
    }

    /// Sum of the totals of all lines.
    async fn total(&self) -> Money {
        Money::new(self.0.lines.iter().map(total).sum(), self.0.currency)
    }

    /// Time at which the cart was opened.
    async fn opened_at(&self) -> DateTime {
        self.0.opened_at.into()
    }

    /// Time of the last change. An active cart that isn't changed for `cart_idle_seconds` (by default 1800)
    /// expires.
    async fn modified_at(&self) -> DateTime {
        self.0.modified_at.into()
    }

    /// Global id of the order that the checkout made. Null unless the cart is `COMPLETE`.
    async fn order_id(&self) -> Option<ID> {
        let complete = self.0.state == CartState::Complete;
        self.0
            .checkout
            .as_ref()
            .filter(|_| complete)
            .map(|checkout| NodeKind::Order.id(&checkout.id))
    }
}

/// Line of a cart.
#[derive(Debug)]
pub(super) struct Line {
    line: CartLine,
    currency: CurrencyCode,
}

/// Line of a cart: one product with its quantity.
#[Object(name = "CartLine")]
impl Line {
    /// SKU of the product.
    async fn sku(&self) -> ID {
        ID(self.line.sku.clone())
    }

    /// Number of pieces in the cart.
    async fn quantity(&self) -> Long {
        Long(self.line.quantity)
    }

    /// Number of these pieces that are reserved for this cart. The remaining ones are taken from stock at the
    /// checkout, if they are still available then.
    async fn held(&self) -> Long {
        Long(self.line.held)
    }

    /// Title of the product at the time it was added.
    async fn title(&self) -> &str {
        &self.line.title
    }

    /// Type of the product at the time it was added, such as `album`.
    #[graphql(name = "type")]
    async fn kind(&self) -> &str {
        &self.line.kind
    }

    /// Price of one piece at the time the product was added. Later price changes don't affect the line.
    async fn unit_price(&self) -> Money {
        Money::new(self.line.unit_price, self.currency)
    }

    /// `unitPrice` times `quantity`.
    async fn total(&self) -> Money {
        Money::new(total(&self.line), self.currency)
    }
}

/// Price of the whole line in minor units. Neither this nor the sum over a cart can overflow: see the limits
/// in the room's `mod.rs`.
fn total(line: &CartLine) -> i64 {
    line.unit_price.saturating_mul(line.quantity)
}

input! {
    /// Input of `openCart`.
    pub struct OpenCartInput {
        /// Whether stock is reserved when a line is added or only taken at the checkout.
        pub policy: CartPolicy,
        /// Currency of all lines. Only products with a price in this currency can be added.
        pub currency: CurrencyCode,
        /// Idempotency key, 1 to 128 characters; signed-in callers only. A repeat with the same key returns the
        /// cart that the first call opened, or `CartNotActive` if that cart is closed. Use a new key for each
        /// cart. Without a token a key is refused with `InvalidInput`, because it would be shared by all
        /// anonymous callers.
        pub idempotency_key: Option<ID> where optional(key()),
    }
}

result! {
    /// Result of `openCart`: the cart, or a refusal. `CartNotActive`: the cart of this `idempotencyKey` is closed.
    /// `Conflict`: this `idempotencyKey` was used with another input.
    pub enum OpenCartResult:
        CartDocument => Cart | CartNotActive | Conflict | InvalidInput;
}

input! {
    /// Input of `claimCart`.
    pub struct ClaimCartInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::Cart),
    }
}

result! {
    /// Result of `claimCart`: the cart, or a refusal. `NotFound`: there is no such cart, or it has another owner.
    /// `CartNotActive`: the cart is closed or being checked out.
    pub enum ClaimCartResult:
        CartDocument => Cart | NotFound | CartNotActive | InvalidInput;
}

input! {
    /// Input of `addCartLine`.
    pub struct AddCartLineInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::Cart),
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Number of pieces to add, 1 to 10,000. The line can't exceed 10,000 pieces in total.
        pub quantity: Long where within(1..=MOST_QUANTITY),
        /// Idempotency key, 1 to 128 characters. The pieces are added once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(key()),
    }
}

result! {
    /// Result of `addCartLine`: the cart after the change, or a refusal. `NotFound`: the cart or the product
    /// doesn't exist for this caller. `CurrencyMismatch`: the product's price is in another currency than the
    /// cart. `Conflict`: this `idempotencyKey` was used with another input. `InvalidInput`: among others, the cart has 100
    /// lines already.
    pub enum AddCartLineResult:
        CartDocument => Cart | NotFound | CartNotActive | InsufficientStock | CurrencyMismatch | Conflict |
        InvalidInput;
}

input! {
    /// Input of `setCartLineQuantity`.
    pub struct SetCartLineQuantityInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::Cart),
        /// SKU of a product that is in the cart.
        pub sku: ID where sku(),
        /// New number of pieces, 1 to 10,000. To remove the product, use `removeCartLine`.
        pub quantity: Long where within(1..=MOST_QUANTITY),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't overwrite a quantity that was
        /// set in between.
        pub idempotency_key: Option<ID> where optional(key()),
    }
}

result! {
    /// Result of `setCartLineQuantity`: the cart after the change, or a refusal. `NotFound`: the cart doesn't
    /// exist for this caller, or the product isn't in it. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum SetCartLineQuantityResult:
        CartDocument => Cart | NotFound | CartNotActive | InsufficientStock | Conflict | InvalidInput;
}

input! {
    /// Input of `removeCartLine`.
    pub struct RemoveCartLineInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::Cart),
        /// SKU of a product that is in the cart.
        pub sku: ID where sku(),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't remove a line that was added
        /// in between.
        pub idempotency_key: Option<ID> where optional(key()),
    }
}

result! {
    /// Result of `removeCartLine`: the cart after the change, or a refusal. `NotFound`: the cart doesn't exist
    /// for this caller, or the product isn't in it. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum RemoveCartLineResult:
        CartDocument => Cart | NotFound | CartNotActive | Conflict | InvalidInput;
}

input! {
    /// Input of `cancelCart`.
    pub struct CancelCartInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::Cart),
    }
}

result! {
    /// Result of `cancelCart`: the cancelled cart, or a refusal. `CartNotActive`: the cart is being checked out,
    /// or was checked out, or has expired.
    pub enum CancelCartResult:
        CartDocument => Cart | NotFound | CartNotActive | InvalidInput;
}

refusal! {
    /// The cart can't be changed in its present state.
    struct CartNotActive as "CART_NOT_ACTIVE" {
        /// State of the cart.
        pub cart_state: CartState,
    }
}

impl CartNotActive {
    /// The cart is in this state.
    pub fn new(state: CartState) -> Self {
        let message = format!("the cart takes no changes while it is {}", state.name());
        Self::because(message, state)
    }

    /// The cart that this idempotency key opened is closed, in this state.
    pub fn opened_before(state: CartState) -> Self {
        let message = format!(
            "the cart that this idempotency key opened is {}; open another one with a new key",
            state.name()
        );
        Self::because(message, state)
    }
}
