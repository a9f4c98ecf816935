//! GraphQL types of quotes.

use async_graphql::Enum;

use super::{
    super::{
        documents::CartDocument,
        types::{Cart, CartNotActive},
    },
    documents::{self, Charges},
    operations::is_stale,
};
use crate::graphql::prelude::*;

/// What shipping and tax cost.
#[derive(Debug)]
pub struct ShippingCharges {
    charges: Charges,
    currency: CurrencyCode,
}

impl ShippingCharges {
    /// These amounts, in this currency.
    pub fn of(charges: Charges, currency: CurrencyCode) -> Self {
        Self { charges, currency }
    }
}

object! {
    /// A shipping method, and what is paid with it beside the goods.
    impl ShippingCharges as shown {
        /// Name of the shipping method, for `setShippingMethod`.
        shipping_method: &str = &shown.charges.method,
        /// Title of the shipping method.
        title: &str = &shown.charges.title,
        /// Price of the shipping method, with the tax on it if `taxIncluded`. Of an order: what is left after `refundShipping`.
        shipping: Money = Money::new(shown.charges.shipping, shown.currency),
        /// Tax on the lines and on shipping. `taxIncluded` says whether it is a part of the prices or is added to them.
        tax: Money = Money::new(shown.charges.tax(), shown.currency),
        /// The part of `tax` that is on `shipping`.
        shipping_tax: Money = Money::new(shown.charges.shipping_tax, shown.currency),
        /// Whether the prices of the lines and of shipping include the tax. Then `tax` tells what they include, and a total
        /// doesn't grow by it. Otherwise the tax is added.
        tax_included: bool = shown.charges.tax_included,
        /// Whether the outside service that quotes shipping and tax gave no usable answer, so that these are the amounts
        /// that the operator has set for that case.
        by_default: bool = shown.charges.by_default,
    }
}

/// The quote of a cart.
#[derive(Debug)]
pub struct CartQuote {
    quote: documents::CartQuote,
    currency: CurrencyCode,
    is_current: bool,
}

impl CartQuote {
    /// That of a cart.
    pub(in super::super) fn of(app: &App, cart: &CartDocument) -> Option<Self> {
        let quote = cart.quote.clone()?;
        let is_current = cart.current_quote().is_some() && !is_stale(app, cart, app.clock());
        Some(Self { quote, currency: cart.currency, is_current })
    }
}

object! {
    /// The quote of a cart: the shipping method that was chosen, and what it and the tax cost.
    impl CartQuote as shown {
        /// The amounts.
        charges: ShippingCharges =
            ShippingCharges::of(shown.quote.charges.clone(), shown.currency),
        /// ISO 3166-1 code of the country for which it was computed.
        country: &str = &shown.quote.country,
        /// Whether the lines and the voucher of the cart are still those for which it was computed, and it isn't older than
        /// a cart can be idle. Otherwise `setShippingMethod` has to be called again before the checkout.
        is_current: bool = shown.is_current,
    }
}

input! {
    /// Input of `setShippingMethod`: the cart, the method and the destination.
    pub struct SetShippingMethodInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// Name of a method that `shippingMethods` offers for the cart.
        pub shipping_method: String where verbatim(1..=64),
        /// Assigned ISO 3166-1 code of the country to which the goods are sent, such as `DE`.
        pub country: String where country(),
        /// City with its postal code, as in the address of the checkout, 1 to 200 characters. It is needed if an outside
        /// service quotes the amounts.
        pub city: Option<String> where optional(text(1..=200)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't replace a method that was set in
        /// between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `removeShippingMethod`: the cart whose shipping method is taken back.
    pub struct RemoveShippingMethodInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't remove a method that was set in
        /// between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `setShippingMethod`: the cart with the quote, or a refusal. `NotFound`: the cart doesn't exist for this
    /// caller, or the method isn't offered for its lines and the destination. `Conflict`: this `idempotencyKey` was used
    /// with another input. `InvalidInput`: among others, the cart has no lines, or the service that quotes doesn't know the
    /// destination.
    pub enum SetShippingMethodResult:
        CartDocument => Cart | NotFound | CartNotActive | QuoteUnavailable | Conflict | InvalidInput;

    /// Result of `removeShippingMethod`: the cart without a quote, or a refusal. `NotFound`: the cart doesn't exist for this
    /// caller. `Conflict`: this `idempotencyKey` was used with another input. `InvalidInput`: among others, each checkout of
    /// this shop needs a shipping method.
    pub enum RemoveShippingMethodResult:
        CartDocument => Cart | NotFound | CartNotActive | Conflict | InvalidInput;
}

/// Why the quote of a cart can't be charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum QuoteFault {
    /// No shipping method was chosen.
    Missing,
    /// The lines or the voucher have changed since, or the shipping method was chosen too long ago.
    Outdated,
    /// It was computed for another destination than that of the checkout.
    OtherDestination,
}

refusal! {
    /// The checkout needs a shipping method that was chosen for the cart as it is, and for its address. Nothing was taken
    /// and nothing was paid. `setShippingMethod` chooses one.
    struct QuoteNeeded as "QUOTE_NEEDED" {
        /// What is wrong with the quote of the cart.
        pub quote_fault: QuoteFault,
    }

    /// The outside service that quotes shipping and tax refuses the request or gave no usable answer. The cart is as it was.
    /// The call can be repeated later.
    struct QuoteUnavailable as "QUOTE_UNAVAILABLE" {
    }
}

impl QuoteNeeded {
    /// The quote of the cart has this fault.
    pub fn new(fault: QuoteFault) -> Self {
        let message = match fault {
            QuoteFault::Missing => "choose a shipping method first",
            QuoteFault::Outdated => {
                "the cart has changed since its shipping method was chosen, or that was long ago; choose it again"
            }
            QuoteFault::OtherDestination => {
                "the shipping method was chosen for another destination; choose it again"
            }
        };
        Self::because(message, fault)
    }
}
