//! What clients see of orders and of the checkout.

use async_graphql::{ID, InputObject, Object, SimpleObject, Union};

use super::documents::{OrderDocument, OrderLine as LineDocument, OrderState};
use crate::graphql::{
    node_id::NodeKind,
    refusals::{
        CartNotActive, Conflict, ErrorCode, InUse, InsufficientStock, InvalidInput, NotFound,
        Refusal,
    },
    scalars::{CurrencyCode, DateTime, Long, Money},
};

/// One order.
#[derive(Debug)]
pub struct Order(pub OrderDocument);

/// An order: what was bought, at the prices at which it was put into the cart.
#[Object]
impl Order {
    /// Its id. Whoever knows the id of an order that was placed without signing in can see and
    /// change it.
    pub async fn id(&self) -> ID {
        NodeKind::Order.id(&self.0.id)
    }

    /// The cart that was checked out.
    async fn cart_id(&self) -> ID {
        NodeKind::Cart.id(&self.0.cart_id)
    }

    /// Where it stands.
    async fn state(&self) -> OrderState {
        self.0.state
    }

    /// What was bought. Lines that were lowered to zero are left out.
    async fn lines(&self) -> Vec<OrderLine> {
        let lines = self.0.lines.iter().filter(|line| line.quantity > 0);
        lines.map(|line| OrderLine { line: line.clone(), currency: self.0.currency }).collect()
    }

    /// Sum of the lines.
    async fn total(&self) -> Money {
        self.money(self.0.total)
    }

    /// What was paid, for the checkout and for lines that were raised.
    async fn paid(&self) -> Money {
        self.money(self.0.payments.iter().map(|payment| payment.amount).sum())
    }

    /// What of that was given back.
    async fn refunded(&self) -> Money {
        let decided: i64 = self.0.payments.iter().map(|payment| payment.refunded).sum();
        self.money(decided - self.due())
    }

    /// What of that is still to be given back: the refund is decided and the money hasn't moved. It
    /// moves without a further request, as soon as the merchant's account or the payment provider
    /// can pay.
    async fn refund_due(&self) -> Money {
        self.money(self.due())
    }

    /// Where the goods go.
    async fn shipping(&self) -> ShippingAddress {
        let address = self.0.shipping.clone();
        ShippingAddress {
            name: address.name,
            street: address.street,
            city: address.city,
            country: address.country,
        }
    }

    /// When it was placed.
    async fn placed_at(&self) -> DateTime {
        DateTime(self.0.placed_at)
    }

    /// When it last changed.
    async fn changed_at(&self) -> DateTime {
        DateTime(self.0.changed_at)
    }
}

impl Order {
    fn due(&self) -> i64 {
        self.0.refunds_due().map(|(_, amount)| amount).sum()
    }

    fn money(&self, minor_units: i64) -> Money {
        Money::new(minor_units, self.0.currency)
    }
}

/// One product in an order.
#[derive(Debug)]
pub struct OrderLine {
    line: LineDocument,
    currency: CurrencyCode,
}

/// One product in an order.
#[Object]
impl OrderLine {
    /// The product.
    async fn sku(&self) -> ID {
        ID(self.line.sku.clone())
    }

    /// How many.
    async fn quantity(&self) -> Long {
        Long(self.line.quantity)
    }

    /// Its title when it was put into the cart.
    async fn title(&self) -> &str {
        &self.line.title
    }

    /// Its type then, such as `album`.
    #[graphql(name = "type")]
    async fn kind(&self) -> &str {
        &self.line.kind
    }

    /// Its price then.
    async fn unit_price(&self) -> Money {
        Money::new(self.line.unit_price, self.currency)
    }

    /// Price of the whole line.
    async fn total(&self) -> Money {
        Money::new(self.line.unit_price * self.line.quantity, self.currency)
    }
}

/// Where goods go.
#[derive(Debug, SimpleObject)]
pub struct ShippingAddress {
    /// Name of the recipient.
    pub name: String,
    /// Street, house, and what else stands above the city.
    pub street: String,
    /// City with its postal code.
    pub city: String,
    /// Country code of two letters, as in ISO 3166.
    pub country: String,
}

/// Where goods go.
#[derive(Debug, InputObject)]
pub struct ShippingAddressInput {
    /// Name of the recipient, 1 to 200 characters.
    pub name: String,
    /// Street, house, and what else stands above the city, 1 to 300 characters.
    pub street: String,
    /// City with its postal code, 1 to 200 characters.
    pub city: String,
    /// Country code of two capital letters that ISO 3166-1 has assigned, such as `DE`.
    pub country: String,
}

/// Who pays. Which field is needed depends on the payment provider that this shop uses; neither is
/// where nothing is to be paid.
#[derive(Debug, InputObject)]
pub struct PaymentInput {
    /// Where docgate's own accounts pay: one of yours, in the cart's currency.
    pub account: Option<ID>,
    /// Where an outside provider does: what its page gave the shopper, 1 to 1000 characters.
    pub token: Option<String>,
}

/// A checkout.
#[derive(Debug, InputObject)]
pub struct CheckoutCartInput {
    /// The cart.
    pub cart_id: ID,
    /// Where the goods go.
    pub shipping: ShippingAddressInput,
    /// Who pays.
    pub payment: PaymentInput,
    /// Your idempotency key: repeated with it, a checkout that succeeded answers with its order,
    /// and one that was refused is tried again.
    pub op_id: Option<ID>,
}

/// What became of a checkout.
#[derive(Union)]
#[expect(clippy::large_enum_variant, reason = "one is made per answer and moved on at once")]
pub enum CheckoutCartResult {
    Order(Order),
    NotFound(NotFound),
    CartNotActive(CartNotActive),
    CartEmpty(CartEmpty),
    CheckoutShort(CheckoutShort),
    PaymentDeclined(PaymentDeclined),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// A change of one line of an order.
#[derive(Debug, InputObject)]
pub struct AdjustOrderLineInput {
    /// The order.
    pub order_id: ID,
    /// The product; one that was in the order from the beginning, even if its line was taken off.
    pub sku: ID,
    /// How many it shall be from now on, 0 to 10000. The price per piece stays.
    pub quantity: Long,
    /// Who pays for a line that is raised; as at the checkout when left out.
    pub payment: Option<PaymentInput>,
    /// Your idempotency key: repeated with it, a change that was made isn't made again.
    pub op_id: Option<ID>,
}

/// What became of a change of a line.
#[derive(Union)]
#[expect(clippy::large_enum_variant, reason = "one is made per answer and moved on at once")]
pub enum AdjustOrderLineResult {
    Order(Order),
    NotFound(NotFound),
    OrderNotOpen(OrderNotOpen),
    InsufficientStock(InsufficientStock),
    PaymentDeclined(PaymentDeclined),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// Which order is to be cancelled.
#[derive(Debug, InputObject)]
pub struct CancelOrderInput {
    /// The order.
    pub order_id: ID,
    /// Your idempotency key: repeated with it, an order that was cancelled is answered as it stands.
    pub op_id: Option<ID>,
}

/// What became of a cancellation.
#[derive(Union)]
#[expect(clippy::large_enum_variant, reason = "one is made per answer and moved on at once")]
pub enum CancelOrderResult {
    Order(Order),
    NotFound(NotFound),
    OrderNotOpen(OrderNotOpen),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// Which order is to be removed.
#[derive(Debug, InputObject)]
pub struct DeleteOrderInput {
    /// The order.
    pub order_id: ID,
}

/// An order that was removed.
#[derive(Debug, SimpleObject)]
pub struct DeletedOrder {
    /// The id that it had; no other order ever gets it.
    pub id: ID,
}

/// What became of a removal.
#[derive(Union)]
pub enum DeleteOrderResult {
    DeletedOrder(DeletedOrder),
    NotFound(NotFound),
    InUse(InUse),
    InvalidInput(InvalidInput),
}

impl From<OrderDocument> for CheckoutCartResult {
    fn from(order: OrderDocument) -> Self {
        Self::Order(Order(order))
    }
}

impl From<OrderDocument> for AdjustOrderLineResult {
    fn from(order: OrderDocument) -> Self {
        Self::Order(Order(order))
    }
}

impl From<OrderDocument> for CancelOrderResult {
    fn from(order: OrderDocument) -> Self {
        Self::Order(Order(order))
    }
}

impl From<OrderDocument> for DeleteOrderResult {
    fn from(stone: OrderDocument) -> Self {
        Self::DeletedOrder(DeletedOrder { id: NodeKind::Order.id(&stone.id) })
    }
}

/// There is nothing in the cart.
#[derive(Debug, Clone, SimpleObject)]
pub struct CartEmpty {
    /// `CART_EMPTY`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
}

impl Default for CartEmpty {
    fn default() -> Self {
        Self { code: ErrorCode::CartEmpty, message: "there is nothing in the cart".into() }
    }
}

/// Of some products less is in stock than the cart needs. Nothing was taken or paid, and the cart
/// takes changes again.
#[derive(Debug, Clone, SimpleObject)]
pub struct CheckoutShort {
    /// `INSUFFICIENT_STOCK`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Every line that is short.
    pub lines: Vec<ShortLine>,
}

impl CheckoutShort {
    /// These lines are short.
    pub fn new(lines: Vec<ShortLine>) -> Self {
        let skus: Vec<String> = lines.iter().map(|line| format!("{:?}", line.sku.0)).collect();
        let message = format!("less is in stock than needed of {}", skus.join(", "));
        Self { code: ErrorCode::InsufficientStock, message, lines }
    }
}

/// A line of which less is in stock than the cart needs.
#[derive(Debug, Clone, SimpleObject)]
pub struct ShortLine {
    /// The product.
    pub sku: ID,
    /// How many the line has.
    pub requested: Long,
    /// How many of them can be had: those that the cart holds and those that are free.
    pub available: Long,
}

impl ShortLine {
    /// The line has `requested` of the SKU, of which only `available` can be had.
    pub fn new(sku: &str, requested: i64, available: i64) -> Self {
        Self { sku: ID(sku.into()), requested: Long(requested), available: Long(available) }
    }
}

/// The payment provider declined. Nothing was taken or paid.
#[derive(Debug, Clone, SimpleObject)]
pub struct PaymentDeclined {
    /// `PAYMENT_DECLINED`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Why, in the provider's words.
    pub reason: String,
}

impl PaymentDeclined {
    /// Why, in words that are safe to show.
    pub fn new(reason: String) -> Self {
        let message = format!("the payment was declined: {reason}");
        Self { code: ErrorCode::PaymentDeclined, message, reason }
    }
}

/// The order takes no changes in its present state.
#[derive(Debug, Clone, SimpleObject)]
pub struct OrderNotOpen {
    /// `ORDER_NOT_OPEN`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Where it stands.
    pub state: OrderState,
}

impl OrderNotOpen {
    /// The order as it stands takes no changes.
    pub fn of(order: &OrderDocument) -> Self {
        let message = match order.state {
            OrderState::Cancelling => "the order is being cancelled",
            _ => "the order is cancelled",
        };
        let message = message.to_owned();
        Self { code: ErrorCode::OrderNotOpen, message, state: order.state }
    }
}

impl Refusal for CartEmpty {}
impl Refusal for CheckoutShort {}
impl Refusal for PaymentDeclined {}
impl Refusal for OrderNotOpen {}
