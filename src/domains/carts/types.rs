//! GraphQL types of carts.

use async_graphql::{Context, ID, Object, Result};

use super::{
    MAX_QUANTITY,
    documents::{self, CartDocument, CartPolicy, CartState},
};
use crate::{
    domains::{
        inventory::InsufficientStock,
        orders::{self, Order},
    },
    graphql::{
        codes::refusal,
        cx::cx,
        declared::{input, result},
        node_id::NodeKind,
        object_of::ObjectOf,
        refusals::{Conflict, CurrencyMismatch, InvalidInput, NotFound},
        scalars::{CurrencyCode, DateTime, Money, int},
    },
};

/// Declares the line of a cart or an order: the fields that both have, and its own.
macro_rules! line {
    ($(#[doc = $about:literal])+ $name:ident of $document:ty { $($own:tt)* }) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name {
            line: $document,
            currency: $crate::graphql::scalars::CurrencyCode,
        }

        impl $name {
            fn of(line: &$document, currency: $crate::graphql::scalars::CurrencyCode) -> Self {
                Self { line: line.clone(), currency }
            }
        }

        $(#[doc = $about])+
        #[async_graphql::Object]
        impl $name {
            /// SKU of the product.
            async fn sku(&self) -> async_graphql::ID {
                self.line.sku.as_str().into()
            }

            /// The product as it is now. Null if it was deleted.
            async fn product(
                &self,
                context: &async_graphql::Context<'_>,
                #[graphql(desc = "Language of the category names. Default: the site's language.")]
                locale: Option<$crate::graphql::scalars::LocaleTag>,
            ) -> async_graphql::Result<Option<$crate::domains::catalog::Product>> {
                let app = $crate::graphql::app(context);
                let found = $crate::domains::catalog::operations::product(app, &self.line.sku);
                let product = |found| $crate::domains::catalog::Product::of(found, locale);
                Ok(found.await?.map(product))
            }

            /// Number of pieces in the line, 1 to 10,000.
            async fn quantity(&self) -> i32 {
                $crate::graphql::scalars::int(self.line.quantity)
            }

            /// Title of the product at the time it was put into the cart.
            async fn title(&self) -> &str {
                &self.line.title
            }

            /// Type of the product at the time it was put into the cart, such as `album`.
            #[graphql(name = "type")]
            async fn kind(&self) -> &str {
                &self.line.kind
            }

            /// Price of one piece at the time the product was put into the cart. Later price changes don't
            /// affect the line.
            async fn unit_price(&self) -> $crate::graphql::scalars::Money {
                $crate::graphql::scalars::Money::new(self.line.unit_price, self.currency)
            }

            /// `unitPrice` times `quantity`.
            async fn total(&self) -> $crate::graphql::scalars::Money {
                // Can't overflow: see the limits in the module of the carts.
                let total = self.line.unit_price.saturating_mul(self.line.quantity);
                $crate::graphql::scalars::Money::new(total, self.currency)
            }

            $($own)*
        }
    };
}
pub(crate) use line;

/// A shopping cart.
pub type Cart = ObjectOf<CartDocument>;

/// A shopping cart: products with quantities, and the stock that is reserved for them.
#[Object]
impl Cart {
    /// Global id of the cart. The id of a cart without an owner is a capability: whoever knows it may use the
    /// cart. This ends when a signed-in caller claims the cart or checks it out.
    pub async fn id(&self) -> ID {
        NodeKind::CART.id(&self.0.id)
    }

    /// State of the cart. Only an `ACTIVE` cart can be changed.
    async fn state(&self) -> CartState {
        self.0.state
    }

    /// Whether stock is reserved when a line is added or only at the checkout.
    async fn policy(&self) -> CartPolicy {
        self.0.policy
    }

    /// Currency of all lines.
    async fn currency(&self) -> CurrencyCode {
        self.0.currency
    }

    /// Lines of the cart, one per product and at most 100, in the order in which the products were added.
    async fn lines(&self) -> Vec<CartLine> {
        self.0.lines.iter().map(|line| CartLine::of(line, self.0.currency)).collect()
    }

    /// Sum of the totals of all lines.
    async fn total(&self) -> Money {
        Money::new(documents::total(&self.0.lines), self.0.currency)
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

    /// Global id of the order that the checkout made. Null unless the cart is `PAID` or `COMPLETE`.
    async fn order_id(&self) -> Option<ID> {
        self.placed()
    }

    /// The order that the checkout made. Null unless the cart is `PAID` or `COMPLETE` and the order is visible to the
    /// caller. For a moment after the payment it is null as well.
    async fn order(&self, context: &Context<'_>) -> Result<Option<Order>> {
        let Some(id) = self.placed() else { return Ok(None) };
        Ok(orders::operations::order(cx(context), &id).await?.map(Order::from))
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
    /// Line of a cart: one product with its quantity.
    CartLine of documents::CartLine {
        /// Number of these pieces that are reserved for the cart. The checkout takes the other ones from stock,
        /// if they are still available then.
        async fn held(&self) -> i32 {
            int(self.line.reserved)
        }
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
        /// SKU of the product.
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

    /// Result of `addCartLine`: the cart after the change, or a refusal. `NotFound`: the cart or the product
    /// doesn't exist for this caller. `CurrencyMismatch`: the product's price is in another currency than the
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
