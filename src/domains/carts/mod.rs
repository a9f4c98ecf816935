//! Carts: what someone is about to buy, with the stock that is taken for it.
//!
//! ```text
//!                 openCart                checkoutCart
//!                     │            ┌───────────────────▶ PENDING ──▶ PAID ──▶ COMPLETE
//!                     ▼            │                        │
//!   add, set, remove  ACTIVE ──────┘◀─────── VOIDING ◀──────┘
//!                     │    │
//!           cancelCart│    │idle for too long (sweep)
//!                     ▼    ▼
//!             CANCELLING   EXPIRING        outbox carried out, then everything returned
//!                     ▼    ▼
//!              CANCELLED   EXPIRED         kept, or removed
//! ```
//!
//! The cart *decides*; stock is only a receiver. In a cart that reserves:
//!
//! - **Adding, raising**: take stock under a tag, then decide on the cart. A refused decision gives
//!   the tag up on the cart (`void`) before the take is released.
//! - **Lowering, removing**: decide on the cart; the same update writes what is to be returned to
//!   its outbox. Then give it and note it.
//! - **Closing**: the state is the lock. Nothing is decided behind it, so the outbox is complete; it
//!   is carried out first, then each reservation of the cart is returned as it was read.
//!
//! **Whose a cart is.** A cart without an owner is for whoever knows its id. Someone who is signed in
//! takes it over by `claimCart`, or by checking it out; from then on it is theirs alone. Whoever read
//! the cart before that decides nothing after it: each decision of a caller is guarded by the owner
//! as it was read.
//!
//! A cart that takes at checkout only decides. So does a line whose SKU too many carts hold already
//! (half of `reservations_per_sku`): it is added without being held.
//!
//! **Tags.** A tag is an op and the number of its tries that were given up; where a quantity is set
//! also the quantity that was read. One op is applied at most once whatever its tags, since the
//! decision guards on the op; a tag that was given up is never decided, since the decision guards on
//! the tag. So a repeat of a cut try finds its own take, and a repeat of one that was given up (by
//! its caller or by a sweep) tries anew instead of being turned away.
//!
//! **What the sweep goes by.** The quantity of an entry is what was decided and not yet given plus
//! what was taken and not decided. Where cart and entry are both untouched for two bounds and the
//! outbox doesn't have the SKU, `entry.quantity − line.held` is therefore exactly what was taken and
//! never decided. The sweep goes by this difference and not by looking the tags up among the cart's
//! ops: those are forgotten after an hour, and a take whose op was forgotten must not be released.
//! - a difference: every take of the entry that the cart doesn't know is given up there, so that a
//!   slow repeat can't decide it; then the difference is returned with all takes, guarded by the
//!   entry's being as read. One that was decided meanwhile ends this pass;
//! - none: every take was decided, its mark is retired.
//!
//! Marks of gives are retired when the outbox no longer has them and the cart is untouched for two
//! bounds: noting touches the cart, so whoever read the entry before the note is past its deadline.
//! Giving a tag up doesn't touch it: it changes nothing that anybody goes by. A cart that was checked out forgets
//! its entries at once, with their marks, where they hold nothing: whoever repeats a give then finds no entry
//! to give from; a take that still comes is never decided, and the sweep returns it.
//!
//! **Removed carts.** An expired cart is removed (where so configured) when its reservations are
//! gone with their marks. A repeated `openCart` under the old op id may open it anew, empty: no
//! command that could still be under way for the old cart touches it, since returns are guarded by
//! the entry's being as read, releases by their tag, removal by the state, and everything else by a
//! deadline. A reservation whose cart has vanished otherwise (removed by hand) is returned after
//! `reservation_seconds`.
//!
//! Invariants: one line per SKU, `0 ≤ held ≤ quantity`; an active cart's reservations equal what its
//! lines hold (and its outbox still owes); closed carts hold nothing.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{
    Address, CartDocument, CartLine, CartPolicy, CartState, Checkout, Payment, Return,
};

/// How many of one product a cart takes.
pub const MOST_QUANTITY: i64 = 10_000;
/// How many lines a cart takes.
pub const MOST_LINES: usize = 100;
/// How many changes of one cart are remembered, and with it how many it takes while they are.
pub const MOST_CHANGES: usize = 1_000;
/// Highest price of a line: at it, the sum of a full cart just doesn't overflow.
pub const MOST_UNIT_PRICE: i64 = i64::MAX / MOST_QUANTITY / 100;
/// How the name of a holder of stock begins that belongs to the orders.
const ORDERS: &str = "order:";

/// As whom an order holds stock.
pub fn order_as_holder(order: &str) -> String {
    format!("{ORDERS}{order}")
}

/// The order that a holder of stock is, unless it is a cart.
pub fn order_of_holder(holder: &str) -> Option<&str> {
    holder.strip_prefix(ORDERS)
}

/// Whether a holder of stock is an order and no cart.
pub fn is_of_order(holder: &str) -> bool {
    holder.starts_with(ORDERS)
}
