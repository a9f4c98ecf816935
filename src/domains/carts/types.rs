//! GraphQL types of carts.

use super::{
    MAX_QUANTITY,
    documents::{self, CartDocument, CartPolicy, CartState},
    operations, quotes,
};
pub use super::{addresses::types::*, quotes::types::*, vouchers::types::*};
use crate::{
    domains::{
        inventory::InsufficientStock,
        orders::{self, Order},
    },
    graphql::{
        prelude::*,
        refusals::CurrencyMismatch,
        scalars::{DateTime, int},
    },
};

/// Declares the line of a cart or an order: the fields that both have, and its own.
macro_rules! line {
    ($(#[doc = $about:literal])+ $name:ident of $document:ty as $shown:ident { $($own:tt)* }) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name {
            line: $document,
            currency: CurrencyCode,
        }

        impl $name {
            fn of(line: &$document, currency: CurrencyCode) -> Self {
                Self { line: line.clone(), currency }
            }
        }

        object! {
            $(#[doc = $about])+
            impl $name as $shown {
                /// SKU of the product or variant.
                sku: ID = $shown.line.sku.as_str().into(),
                /// The product as it is now. Null if it was deleted, or if the variant was deleted.
                product(
                    context,
                    #[graphql(
                        desc = "Language of titles, descriptions and names of categories. Default: the product's own, and the site's for names."
                    )]
                    locale: Option<LocaleTag>,
                )?: Option<$crate::domains::catalog::Product> = {
                    use $crate::domains::catalog;
                    let found = catalog::operations::product_selling(app(context), &$shown.line.sku).await?;
                    found.map(|found| catalog::Product::of(found, locale))
                },
                /// Number of pieces in the line, 1 to 10,000.
                quantity: i32 = int($shown.line.quantity),
                /// Title of the product at the time it was put into the cart.
                title: &str = &$shown.line.title,
                /// Type of the product at the time it was put into the cart, such as `album`.
                #[graphql(name = "type")]
                kind: &str = &$shown.line.kind,
                /// Values of the variant's options at the time it was put into the cart, such as `red / M`. Null if the line
                /// isn't of a variant.
                variant_title: Option<&str> = $shown.line.variant_title.as_deref(),
                /// The variant as it is now. Null if it was deleted, or if the line isn't of a variant.
                variant(context)?: Option<$crate::domains::catalog::ProductVariant> =
                    $crate::domains::catalog::operations::variant(app(context), &$shown.line.sku)
                        .await?,
                /// Price of one piece at the time the product was put into the cart. Later price changes don't
                /// affect the line.
                unit_price: Money = Money::new($shown.line.unit_price, $shown.currency),
                /// `unitPrice` times `quantity`.
                total: Money = {
                    // Can't overflow: see the limits in the module of the carts.
                    let total = $shown.line.unit_price.saturating_mul($shown.line.quantity);
                    Money::new(total, $shown.currency)
                },
                $($own)*
            }
        }
    };
}
pub(crate) use line;

object! {
    /// A shopping cart: products with quantities, and the stock that is reserved for them.
    pub type Cart = CartDocument as cart {
        /// Global id of the cart. The id of a cart without an owner is a capability: whoever knows it may use the
        /// cart. This ends when a signed-in caller claims the cart or checks it out.
        pub id: ID = NodeKind::CART.id(&cart.id),
        /// State of the cart. Only an `ACTIVE` cart can be changed.
        state: CartState = cart.state,
        /// Whether stock is reserved when a line is added or only at the checkout.
        policy: CartPolicy = cart.policy,
        /// Currency of all lines.
        currency: CurrencyCode = cart.currency,
        /// Lines of the cart, one per SKU and at most 100, in the order in which they were added.
        lines: Vec<CartLine> =
            cart.lines.iter().map(|line| CartLine::of(line, cart.currency)).collect(),
        /// Sum of the totals of all lines.
        goods: Money = Money::new(documents::total(&cart.lines), cart.currency),
        /// The voucher of the cart. Null if it has none. `applyVoucher` applies one.
        voucher: Option<CartVoucher> = CartVoucher::of(cart),
        /// What the voucher takes off `goods`. The checkout reserves it, and is refused if the voucher can't be used any
        /// more.
        discount: Money = Money::new(cart.0.discount(), cart.currency),
        /// The shipping method that was chosen, and what it costs with the tax. Null if none was. `setShippingMethod` chooses
        /// one.
        quote(context): Option<CartQuote> = CartQuote::of(app(context), cart),
        /// What is to be paid: `goods` less `discount`. If the `quote` is current, with shipping, and with tax unless the
        /// prices include it.
        total(context): Money = {
            let charges = quotes::operations::shown_charges(app(context), cart);
            Money::new(documents::total(&cart.lines) - cart.0.discount() + charges, cart.currency)
        },
        /// Time at which the cart was opened.
        opened_at: DateTime = cart.opened_at.into(),
        /// Time of the last change. An active cart that isn't changed for `cart_idle_seconds` (by default 1800)
        /// expires.
        modified_at: DateTime = cart.modified_at.into(),
        /// Global id of the order that the checkout made. Null unless the cart is `PAID` or `COMPLETE`.
        order_id: Option<ID> = cart.placed(),
        /// The order that the checkout made. Null unless the cart is `PAID` or `COMPLETE` and the order is visible to the
        /// caller. For a moment after the payment it is null as well.
        order(context)?: Option<Order> = {
            let Some(id) = cart.placed() else { return Ok(None) };
            orders::operations::order(cx(context), &id).await?.map(Order::from)
        },
    }
}

impl Cart {
    fn placed(&self) -> Option<ID> {
        let checkout = self.0.checkout.as_ref()?;
        let is_paid = matches!(self.0.state, CartState::Paid | CartState::Complete);
        is_paid.then(|| NodeKind::ORDER.id(&checkout.id))
    }
}

line! {
    /// Line of a cart: one product or variant with its quantity.
    CartLine of documents::CartLine as shown {
        /// Number of these pieces that are reserved for the cart. The checkout takes the other ones from stock,
        /// if they are still available then.
        held: i32 = int(shown.line.reserved),
        /// Price of one piece of the product or variant now. Null if it was deleted, or its price is in another currency.
        price_now(context)?: Option<Money> =
            shown.present_price(app(context)).await?.map(|price| Money::new(price, shown.currency)),
        /// Whether `priceNow` differs from `unitPrice`. `acceptPrices` takes over the present prices.
        price_changed(context)?: bool = {
            let now = shown.present_price(app(context)).await?;
            now.is_some_and(|now| now != shown.line.unit_price)
        },
    }
}

impl CartLine {
    async fn present_price(&self, app: &App) -> Result<Option<i64>> {
        operations::price_now(app, &self.line.sku, self.currency).await
    }
}

input! {
    /// Input of `openCart`: the currency of the new cart, and when it reserves stock.
    pub struct OpenCartInput {
        /// Whether stock is reserved when a line is added or only at the checkout.
        pub policy: CartPolicy,
        /// Currency of all lines. Only products with a price in this currency can be added.
        pub currency: CurrencyCode,
        /// Idempotency key, 1 to 128 characters; signed-in callers only. A repeat with the same key returns the
        /// cart that the first call opened, or `CartNotActive` if that cart is closed. Use a new key for each
        /// cart. Without a token a key is refused with `InvalidInput`, because it would be shared by all
        /// anonymous callers.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `claimCart`: the cart without an owner that the caller takes over.
    pub struct ClaimCartInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
    }

    /// Input of `addCartLine`: the cart, the product and the number of pieces to add.
    pub struct AddCartLineInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// SKU of the product, or of one of its variants.
        pub sku: ID where sku(),
        /// Number of pieces to add, 1 to 10,000. The line can't exceed 10,000 pieces in total.
        pub quantity: i32 where within(1..=MAX_QUANTITY),
        /// Idempotency key, 1 to 128 characters. The pieces are added once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `setCartLineQuantity`: the cart, the product and the new quantity of its line.
    pub struct SetCartLineQuantityInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// SKU of a product that is in the cart.
        pub sku: ID where sku(),
        /// New number of pieces, 1 to 10,000. To remove the product, use `removeCartLine`.
        pub quantity: i32 where within(1..=MAX_QUANTITY),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't overwrite a quantity that was
        /// set in between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `removeCartLine`: the cart and the product whose line is removed.
    pub struct RemoveCartLineInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// SKU of a product that is in the cart.
        pub sku: ID where sku(),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't remove a line that was added
        /// in between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `acceptPrices`: the cart whose lines get the present prices of their products.
    pub struct AcceptPricesInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't accept prices that changed in between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `cancelCart`: the active cart to cancel.
    pub struct CancelCartInput {
        /// Global id of the cart.
        pub cart_id: ID where id(NodeKind::CART),
    }
}

result! {
    /// Result of `openCart`: the cart, or a refusal. `CartNotActive`: the cart of this `idempotencyKey` is closed.
    /// `Conflict`: this `idempotencyKey` was used with another input.
    pub enum OpenCartResult:
        CartDocument => Cart | CartNotActive | Conflict | InvalidInput;

    /// Result of `claimCart`: the cart, or a refusal. `NotFound`: there is no such cart, or it has another owner.
    /// `CartNotActive`: the cart is closed or being checked out.
    pub enum ClaimCartResult:
        CartDocument => Cart | NotFound | CartNotActive | InvalidInput;

    /// Result of `addCartLine`: the cart after the change, or a refusal. `NotFound`: the cart, or the
    /// product or variant, doesn't exist for this caller. `CurrencyMismatch`: the product's price is in another currency than the
    /// cart. `Conflict`: this `idempotencyKey` was used with another input. `InvalidInput`: among others, the cart has 100
    /// lines already.
    pub enum AddCartLineResult:
        CartDocument => Cart | NotFound | CartNotActive | InsufficientStock | CurrencyMismatch | Conflict |
        InvalidInput;

    /// Result of `setCartLineQuantity`: the cart after the change, or a refusal. `NotFound`: the cart doesn't
    /// exist for this caller, or the product isn't in it. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum SetCartLineQuantityResult:
        CartDocument => Cart | NotFound | CartNotActive | InsufficientStock | Conflict | InvalidInput;

    /// Result of `removeCartLine`: the cart after the change, or a refusal. `NotFound`: the cart doesn't exist
    /// for this caller, or the product isn't in it. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum RemoveCartLineResult:
        CartDocument => Cart | NotFound | CartNotActive | Conflict | InvalidInput;

    /// Result of `acceptPrices`: the cart with the present prices, or a refusal. `NotFound`: the cart doesn't exist for this
    /// caller. `Conflict`: this `idempotencyKey` was used with another input. `InvalidInput`: among others, a product costs
    /// more than a cart can add up.
    pub enum AcceptPricesResult:
        CartDocument => Cart | NotFound | CartNotActive | Conflict | InvalidInput;

    /// Result of `cancelCart`: the cancelled cart, or a refusal. `CartNotActive`: the cart is being checked out,
    /// or was checked out, or has expired.
    pub enum CancelCartResult:
        CartDocument => Cart | NotFound | CartNotActive | InvalidInput;
}

refusal! {
    /// The cart can't be changed in its present state.
    struct CartNotActive as "CART_NOT_ACTIVE" {
        /// State in which the cart takes no changes.
        pub cart_state: CartState,
    }
}

impl CartNotActive {
    /// The cart is in this state.
    pub fn new(state: CartState) -> Self {
        Self::because(format!("a cart in the state {state} can't be changed"), state)
    }
}
