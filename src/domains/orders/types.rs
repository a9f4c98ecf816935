//! GraphQL types of orders and of the checkout.

mod address;
mod fulfilment;
mod shipping;
mod shown;

use async_graphql::SimpleObject;

pub use self::{address::*, fulfilment::*, shipping::*, shown::*};
use super::documents::{self, OrderDocument, OrderState, Pieces};
use crate::{
    domains::{
        carts::{
            self, Address, Cart, CartNotActive, MAX_QUANTITY, line,
            operations::ChangedPrice,
            quotes::{Charges, QuoteNeeded, ShippingCharges},
            vouchers::VoucherRefused,
        },
        inventory::InsufficientStock,
        metadata::Metadata,
        paying::{PaymentDeclined, PaymentInput},
    },
    graphql::{
        prelude::*,
        scalars::{DateTime, int},
    },
};

object! {
    /// An order: products bought at the prices that they had when they were put into the cart.
    pub type Order = OrderDocument as order {
        /// Global id of the order. The id of an order that was placed without signing in is a capability: whoever
        /// knows it can see and change the order.
        pub id: ID = NodeKind::ORDER.id(&order.id),
        /// The number by which people name the order, such as `7K3M-Q9TX-2`. The last symbol is a check symbol. Null for orders
        /// of earlier releases of docgate.
        number: Option<&str> = order.number.as_deref(),
        /// User id of the customer, the subject of the customer's token, as `orders(by: {customerId})` takes it. Null for an
        /// order that was placed without signing in.
        customer_id: Option<ID> = order.owner.clone().map(ID),
        /// Global id of the cart that was checked out.
        cart_id: ID = NodeKind::CART.id(&order.cart_id),
        /// The cart that was checked out. Null unless it is visible to the caller; merchants don't see the carts of
        /// others.
        cart(context)?: Option<Cart> = {
            let id = NodeKind::CART.id(&order.cart_id);
            carts::operations::cart(cx(context), &id).await?.map(Cart::from)
        },
        /// Whether the order is cancelled. Only a `PLACED` order can be changed or cancelled. `stage` also tells how much of it is
        /// packed, shipped and delivered.
        state: OrderState = order.state,
        /// How far the order has come: its state together with its fulfilment.
        stage: OrderStage = OrderStage::of(order),
        /// Parcels of the order, oldest first.
        shipments: Vec<Shipment> = order.shipments.iter().map(|one| Shipment::of(one, order)).collect(),
        /// Returns of the order, oldest first.
        returns: Vec<OrderReturn> = order.returns.iter().map(|one| OrderReturn::of(one, order)).collect(),
        /// Notes of merchants on the order, oldest first. Null, with an error, unless the caller is a merchant.
        notes by merchant: Option<Vec<OrderNote>> =
            Some(order.notes.iter().map(OrderNote::from).collect()),
        /// Lines of the order. Lines whose quantity was lowered to zero are left out.
        lines: Vec<OrderLine> = {
            let lines = order.lines.iter().filter(|line| line.quantity > 0);
            lines.map(|line| OrderLine::of(line, order.currency)).collect()
        },
        /// What the voucher of the cart takes off the lines. If a line is lowered, its part of the discount is lowered too;
        /// a line that is raised costs its full price.
        discount: Money = order.money(order.taken_off()),
        /// Code of the voucher. Null if the cart had none, or it took nothing off.
        discount_code: Option<&str> =
            order.discount.as_ref().map(|discount| discount.hold.code.as_str()),
        /// Shipping method, and what was paid with it: shipping, and the tax, which `taxIncluded` says how to read. If a line is
        /// lowered or raised, its tax is too. Null if no shipping method was chosen.
        charges: Option<ShippingCharges> = {
            let charges = order.charges.clone().filter(Charges::has_method);
            charges.map(|charges| ShippingCharges::of(charges, order.currency))
        },
        /// Tax on the lines and on shipping. `taxIncluded` says whether it is a part of the prices or is added to them. If a line is
        /// lowered or raised, its tax is too. Null if it isn't known: for an order without a shipping method, in a shop without
        /// taxes or with a service that quotes them, and for such orders of earlier releases.
        tax: Option<Money> =
            order.charges.as_ref().map(|charges| order.money(charges.tax())),
        /// Whether the prices of the lines and of shipping include the tax. Then `total` doesn't grow by it.
        tax_included: bool =
            order.charges.as_ref().is_some_and(|charges| charges.tax_included),
        /// What a merchant has given back of shipping, with its tax. See `refundShipping`.
        shipping_refunded: Money = {
            let charges = order.charges.as_ref();
            order.money(charges.and_then(|charges| charges.shipping_refunded).unwrap_or(0))
        },
        /// Sum of the totals of all lines, less the discount, with shipping, and with tax unless the prices include it.
        total: Money = order.money(order.total),
        /// Sum of all payments: the one of the checkout and those of raised lines. Refunds aren't subtracted.
        paid: Money = order.money(order.payments.iter().map(|payment| payment.amount).sum()),
        /// Part of `paid` that was paid back.
        refunded: Money = {
            let decided: i64 = order.payments.iter().map(|payment| payment.refunded).sum();
            order.money(decided - order.due())
        },
        /// Part of `paid` that is still to be paid back: the refund is decided, but the money hasn't moved yet.
        /// It moves without a further request, as soon as the merchant's account or the payment provider can pay.
        refund_due: Money = order.money(order.due()),
        /// Address to which the goods are sent.
        shipping: &Address = &order.shipping,
        /// Metadata of the order: pairs that the site adds to it.
        metadata(context): Metadata = Metadata::of(cx(context), order.meta.as_deref()),
        /// Time at which the order was placed.
        placed_at: DateTime = DateTime(order.placed_at),
        /// Server time of the last change: of the lines, of the state or of a refund.
        changed_at: DateTime = DateTime(order.changed_at),
    }
}

impl Order {
    /// What is still to be paid back, in minor units.
    pub(super) fn due(&self) -> i64 {
        self.0.refunds_due().map(|(_, amount)| amount).sum()
    }

    fn money(&self, minor_units: i64) -> Money {
        Money::new(minor_units, self.0.currency)
    }
}

line! {
    /// Line of an order: one product with its quantity.
    OrderLine of documents::OrderLine as shown {}
}

line! {
    /// A number of pieces of one product of an order, at the price that they had in the cart.
    PieceLine of documents::OrderLine as shown {}
}

impl PieceLine {
    /// These pieces of the order, with titles and prices of its lines. A line that was lowered to zero has them too.
    fn all(pieces: &[Pieces], order: &OrderDocument) -> Vec<Self> {
        let lines = &order.lines;
        let line = |Pieces { sku, quantity }: &Pieces| {
            let line = lines.iter().find(|line| line.sku == *sku)?.clone();
            let quantity = *quantity;
            Some(Self::of(&documents::OrderLine { quantity, ..line }, order.currency))
        };
        // Each SKU is in the lines: `docgate check` reports a shipment or a return with another one.
        pieces.iter().filter_map(line).collect()
    }
}

input! {
    /// Input of `checkoutCart`: the cart, how it is paid and where its products are sent.
    pub struct CheckoutCartInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// Address to which the goods are sent.
        pub shipping: Address where nested(),
        /// How the total of the cart is paid.
        pub payment: PaymentInput where nested(),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the order if the checkout
        /// succeeded, and tries again if it was refused.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `adjustOrderLine`: the order, the product and the new quantity of its line.
    pub struct AdjustOrderLineInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// SKU of a product that the order had when it was placed, even if its line was lowered to zero since.
        pub sku: ID where sku(),
        /// New number of pieces, 0 to 10,000. The price of one piece stays.
        pub quantity: i32 where within(0..=MAX_QUANTITY),
        /// Payment method for a line that is raised. Default: the one of the checkout. It isn't used if the line
        /// is lowered.
        pub payment: Option<PaymentInput> where optional(nested()),
        /// Idempotency key, 1 to 128 characters. The quantity is set once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `cancelOrder`: the placed order to cancel.
    pub struct CancelOrderInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the cancelled order as it is
        /// now; with another key, or without one, it is refused with `OrderNotOpen`.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `deleteOrder`: the cancelled order to delete.
    pub struct DeleteOrderInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
    }
}

/// Result of a successful `deleteOrder`.
#[derive(Debug, SimpleObject)]
pub struct DeletedOrder {
    /// Global id of the deleted order. It is never used for another order.
    pub id: ID,
}

result! {
    /// Result of `checkoutCart`: the order, or a refusal that left the cart as it was. `NotFound`: the cart or
    /// the paying account doesn't exist for this caller. `CartNotActive`: the cart is closed or in another
    /// checkout. `Conflict`: this `idempotencyKey` was used with another input. `InvalidInput`: among others, the account
    /// can't pay this order.
    pub enum CheckoutCartResult:
        OrderDocument => Order | NotFound | CartNotActive | CartEmpty | PricesChanged |
        VoucherRefused | QuoteNeeded | CheckoutShort | PaymentDeclined | Conflict | InvalidInput;

    /// Result of `adjustOrderLine`: the order after the change, or a refusal. `NotFound`: the order or the paying
    /// account doesn't exist for this caller, or the product isn't in the order. `Conflict`: this `idempotencyKey` was used
    /// with another input. `OrderShipped`: the line would have fewer pieces than are packed or shipped.
    /// `InvalidInput`: among others, the tax on pieces that would be added isn't known.
    pub enum AdjustOrderLineResult:
        OrderDocument => Order | NotFound | OrderNotOpen | OrderShipped | InsufficientStock | PaymentDeclined |
        Conflict | InvalidInput;

    /// Result of `cancelOrder`: the order, `CANCELLING` or `CANCELLED`, or a refusal. `OrderShipped`: a part of the order is
    /// shipped.
    pub enum CancelOrderResult:
        OrderDocument => Order | NotFound | OrderNotOpen | OrderShipped | Conflict | InvalidInput;

    /// Result of `deleteOrder`: the id of the deleted order, or a refusal. `InUse`: the order isn't `CANCELLED`.
    pub enum DeleteOrderResult:
        DeletedOrder | NotFound | InUse | InvalidInput;
}

refusal! {
    /// The cart has no lines.
    struct CartEmpty as "CART_EMPTY" {
    }

    /// The prices of some products have changed since they were put into the cart, and the operator doesn't let a checkout
    /// charge the former ones. `acceptPrices` takes over the present ones.
    struct PricesChanged as "PRICES_CHANGED" {
        /// Every line whose product has another price now.
        pub changed_lines: Vec<ChangedLine>,
    }

    /// The available stock doesn't cover some lines of the cart. No stock was taken, nothing was paid, and the
    /// cart can be changed again.
    struct CheckoutShort as "INSUFFICIENT_STOCK" {
        /// Every line that the available stock doesn't cover.
        pub short_lines: Vec<ShortLine>,
    }

    /// The order can't be changed in its present state.
    struct OrderNotOpen as "ORDER_NOT_OPEN" {
        /// State in which the order can't be changed.
        pub state: OrderState,
    }
}

impl CheckoutShort {
    /// A refusal because of these lines.
    pub fn new(lines: Vec<ShortLine>) -> Self {
        let skus: Vec<String> = lines.iter().map(|line| format!("{:?}", line.sku.0)).collect();
        let message = format!("not enough stock of: {}", skus.join(", "));
        Self::because(message, lines)
    }
}

/// A cart line whose product has another price now.
#[derive(Debug, Clone, SimpleObject)]
pub struct ChangedLine {
    /// SKU of the product.
    pub sku: ID,
    /// Price of one piece in the cart.
    pub unit_price: Money,
    /// Price of one piece now.
    pub price_now: Money,
}

impl PricesChanged {
    /// A refusal because of these lines.
    pub fn new(lines: Vec<ChangedPrice>, currency: CurrencyCode) -> Self {
        let skus: Vec<String> = lines.iter().map(|line| format!("{:?}", line.sku)).collect();
        let message = format!("other prices than in the cart: {}", skus.join(", "));
        let line = |ChangedPrice { sku, unit_price, price_now }| ChangedLine {
            sku: ID(sku),
            unit_price: Money::new(unit_price, currency),
            price_now: Money::new(price_now, currency),
        };
        Self::because(message, lines.into_iter().map(line).collect())
    }
}

/// A cart line that the available stock doesn't cover.
#[derive(Debug, Clone, SimpleObject)]
pub struct ShortLine {
    /// SKU of the product.
    pub sku: ID,
    /// Number of pieces in the line.
    pub requested: i32,
    /// Number of pieces that are available: those that are reserved for the cart plus those that are free.
    pub available: i32,
}

impl ShortLine {
    /// The line has `requested` pieces of the SKU, of which only `available` can be had.
    pub fn new(sku: &str, requested: i64, available: i64) -> Self {
        Self { sku: ID(sku.into()), requested: int(requested), available: int(available) }
    }
}

impl OrderNotOpen {
    /// The refusal for the order's present state.
    pub fn of(order: &OrderDocument) -> Self {
        let message = match order.state {
            OrderState::Cancelling => "the order is being cancelled",
            _ => "the order is cancelled",
        };
        Self::because(message, order.state)
    }
}
