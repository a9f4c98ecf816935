//! What clients see of carts.

use async_graphql::{ID, InputObject, Object, Union};

use super::documents::{CartDocument, CartLine, CartPolicy, CartState};
use crate::graphql::{
    node_id::NodeKind,
    refusals::{
        CartNotActive, Conflict, CurrencyMismatch, InsufficientStock, InvalidInput, NotFound,
    },
    scalars::{CurrencyCode, DateTime, Long, Money},
};

/// What someone is about to buy.
#[derive(Debug)]
pub struct Cart(Box<CartDocument>);

impl From<CartDocument> for Cart {
    fn from(cart: CartDocument) -> Self {
        Self(Box::new(cart))
    }
}

/// What someone is about to buy.
#[Object]
impl Cart {
    /// Names the cart. Of a cart without an owner it is a secret: whoever knows it may use the cart,
    /// until someone signed in takes it over.
    pub async fn id(&self) -> ID {
        NodeKind::Cart.id(&self.0.id)
    }

    /// Where it stands. Only an `ACTIVE` cart takes changes.
    async fn state(&self) -> CartState {
        self.0.state
    }

    /// When stock is taken for it.
    async fn policy(&self) -> CartPolicy {
        self.0.policy
    }

    /// Currency of every line.
    async fn currency(&self) -> CurrencyCode {
        self.0.currency
    }

    /// One line per product, in the order in which they were added.
    async fn lines(&self) -> Vec<Line> {
        let line = |line: &CartLine| Line { line: line.clone(), currency: self.0.currency };
        self.0.lines.iter().map(line).collect()
    }

    /// Sum of the lines.
    async fn total(&self) -> Money {
        Money::new(self.0.lines.iter().map(total).sum(), self.0.currency)
    }

    /// When it was opened.
    async fn opened_at(&self) -> DateTime {
        self.0.opened_at.into()
    }

    /// When it last changed; a cart that doesn't for long expires.
    async fn modified_at(&self) -> DateTime {
        self.0.modified_at.into()
    }

    /// The order that the cart has become, once it is `COMPLETE`.
    async fn order_id(&self) -> Option<ID> {
        let complete = self.0.state == CartState::Complete;
        self.0
            .checkout
            .as_ref()
            .filter(|_| complete)
            .map(|checkout| NodeKind::Order.id(&checkout.id))
    }
}

/// One product in a cart.
#[derive(Debug)]
pub(super) struct Line {
    line: CartLine,
    currency: CurrencyCode,
}

/// One product in a cart.
#[Object(name = "CartLine")]
impl Line {
    /// The product.
    async fn sku(&self) -> ID {
        ID(self.line.sku.clone())
    }

    /// How many.
    async fn quantity(&self) -> Long {
        Long(self.line.quantity)
    }

    /// How many of them are reserved for this cart. The others are taken from stock when the cart
    /// is checked out, if they are still there then.
    async fn held(&self) -> Long {
        Long(self.line.held)
    }

    /// Title of the product when it was added.
    async fn title(&self) -> &str {
        &self.line.title
    }

    /// Type of the product when it was added, such as `album`.
    #[graphql(name = "type")]
    async fn kind(&self) -> &str {
        &self.line.kind
    }

    /// Price of one when it was added. A change of price since doesn't change the line.
    async fn unit_price(&self) -> Money {
        Money::new(self.line.unit_price, self.currency)
    }

    /// Unit price times quantity.
    async fn total(&self) -> Money {
        Money::new(total(&self.line), self.currency)
    }
}

/// Can't overflow, nor can the sum over a cart: see the bounds in the room's `mod.rs`.
fn total(line: &CartLine) -> i64 {
    line.unit_price.saturating_mul(line.quantity)
}

/// A cart to be opened.
#[derive(Debug, InputObject)]
pub(super) struct OpenCartInput {
    /// When stock is taken for it.
    pub policy: CartPolicy,
    /// Currency of every line.
    pub currency: CurrencyCode,
    /// Your idempotency key: the same call sent again under it answers with the same cart, and with
    /// `CartNotActive` once that cart is closed. Use a new key for each cart. Only for signed-in
    /// callers, since an anonymous one's key would be everyone's.
    pub op_id: Option<ID>,
}

/// What became of opening a cart.
#[derive(Union)]
pub enum OpenCartResult {
    Cart(Cart),
    CartNotActive(CartNotActive),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// A cart to be taken over.
#[derive(Debug, InputObject)]
pub(super) struct ClaimCartInput {
    /// Which cart.
    pub cart_id: ID,
}

/// What became of taking a cart over.
#[derive(Union)]
pub enum ClaimCartResult {
    Cart(Cart),
    NotFound(NotFound),
    CartNotActive(CartNotActive),
    InvalidInput(InvalidInput),
}

/// A product to be put into a cart.
#[derive(Debug, InputObject)]
pub(super) struct AddCartLineInput {
    /// Which cart.
    pub cart_id: ID,
    /// Which product.
    pub sku: ID,
    /// How many more, 1 to 10,000.
    pub quantity: Long,
    /// Your idempotency key: the same addition sent again under it is made once.
    pub op_id: Option<ID>,
}

/// What became of an addition.
#[derive(Union)]
pub enum AddCartLineResult {
    Cart(Cart),
    NotFound(NotFound),
    CartNotActive(CartNotActive),
    InsufficientStock(InsufficientStock),
    CurrencyMismatch(CurrencyMismatch),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// A new quantity of a product that is in the cart.
#[derive(Debug, InputObject)]
pub(super) struct SetCartLineQuantityInput {
    /// Which cart.
    pub cart_id: ID,
    /// Which product.
    pub sku: ID,
    /// How many in all, 1 to 10,000.
    pub quantity: Long,
    /// Your idempotency key: a repeat under it doesn't overwrite what was set since.
    pub op_id: Option<ID>,
}

/// What became of setting a quantity.
#[derive(Union)]
pub enum SetCartLineQuantityResult {
    Cart(Cart),
    NotFound(NotFound),
    CartNotActive(CartNotActive),
    InsufficientStock(InsufficientStock),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// A product to be taken out of a cart.
#[derive(Debug, InputObject)]
pub(super) struct RemoveCartLineInput {
    /// Which cart.
    pub cart_id: ID,
    /// Which product.
    pub sku: ID,
    /// Your idempotency key: a repeat under it doesn't remove what was added since.
    pub op_id: Option<ID>,
}

/// What became of a removal.
#[derive(Union)]
pub enum RemoveCartLineResult {
    Cart(Cart),
    NotFound(NotFound),
    CartNotActive(CartNotActive),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// A cart to be given up.
#[derive(Debug, InputObject)]
pub(super) struct CancelCartInput {
    /// Which cart.
    pub cart_id: ID,
}

/// What became of giving a cart up.
#[derive(Union)]
pub enum CancelCartResult {
    Cart(Cart),
    NotFound(NotFound),
    CartNotActive(CartNotActive),
    InvalidInput(InvalidInput),
}

/// The thing itself is the same for all of them.
macro_rules! answers_with_the_cart {
    ($($result:ty),+) => {
        $(impl From<CartDocument> for $result {
            fn from(cart: CartDocument) -> Self {
                Self::Cart(cart.into())
            }
        })+
    };
}

answers_with_the_cart!(
    OpenCartResult,
    ClaimCartResult,
    AddCartLineResult,
    SetCartLineQuantityResult,
    RemoveCartLineResult,
    CancelCartResult
);
