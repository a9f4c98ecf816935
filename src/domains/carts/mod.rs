//! Carts hold the products that a shopper intends to buy, and reserve stock for them.
//!
//! ```text
//!                 openCart                checkoutCart
//!                     │            ┌───────────────────▶ PENDING ──▶ PAID ──▶ COMPLETE
//!                     ▼            │                        │
//!   add, set, remove  ACTIVE ──────┘◀─────── VOIDING ◀──────┘
//!                     │    │
//!           cancelCart│    │idle for too long (sweep)
//!                     ▼    ▼
//!             CANCELLING   EXPIRING        outbox applied, then everything returned
//!                     ▼    ▼
//!              CANCELLED   EXPIRED         kept, or removed
//! ```
//!
//! The cart is the decider of its flows; stock is only a receiver. Changes of a cart with the policy
//! `Reserve`:
//!
//! - **Adding, raising**: reserve stock under a tag, then commit on the cart. If the commit is refused, the
//!   flow is aborted: the tag is marked void on the cart before the stock is released.
//! - **Lowering, removing**: commit on the cart. The same update writes the stock that is to be returned to
//!   the outbox. The entry is then applied and settled.
//! - **Closing**: the state is the lock. Nothing is committed after it, so the outbox is complete. The outbox
//!   is applied first; then each reservation of the cart is returned as it was read.
//!
//! **Ownership.** A cart without an owner may be used by anyone who knows its id. A caller with a token takes
//! it over with `claimCart` or by checking it out, and owns it alone from then on. Every commit of a caller
//! is guarded by the owner as it was read, so a caller who read the cart before the change of owner commits
//! nothing after it.
//!
//! A cart that reserves at checkout only commits. The same holds for a line whose SKU already has many
//! reservations (half of `reservations_per_sku`): it is added without reserved stock.
//!
//! **Tags.** A tag consists of the op and the number of its tries that were aborted; where a quantity is set,
//! also of the quantity that was read. An op is applied at most once whatever its tags are, because the
//! commit guards on the op. An aborted tag is never committed, because the commit guards on the tag. So the
//! repeat of an interrupted try finds its own reservation, and the repeat of an aborted try (by its caller or
//! by a sweep) starts a new try instead of being refused.
//!
//! **What the sweep relies on.** The quantity of an entry is what was committed and not yet applied, plus
//! what was reserved and not committed. If cart and entry are both unchanged for two grace periods and the
//! outbox doesn't contain the SKU, `entry.quantity − line.held` is therefore exactly what was reserved and
//! never committed. The sweep uses this difference instead of looking up tags among the cart's ops: these are
//! dropped after an hour, and a reservation whose op was dropped must not be released.
//! - There is a difference: each tag of the entry that the cart doesn't know is voided on the cart, so that a
//!   slow repeat can't commit it. Then the difference is returned and all tags are removed, guarded by the
//!   entry as it was read. If one of the tags was committed meanwhile, the pass over this entry ends.
//! - There is no difference: every reservation was committed, and its mark is retired.
//!
//! Marks of applied returns are retired when the outbox no longer contains them and the cart is unchanged for
//! two grace periods. Settling changes `modifiedAt`, so an attempt that read the entry before is past its
//! deadline by then. Voiding a tag doesn't change `modifiedAt`, because nothing depends on it. A cart that
//! was checked out removes its empty entries at once, with their marks. A repeated apply then finds no entry
//! to apply to. A late reserve is never committed, and the sweep returns it.
//!
//! **Removed carts.** If so configured, an expired cart is removed when its reservations and their marks are
//! gone. A repeated `openCart` with the old idempotency key may open it again, empty. No command that could
//! still be in flight for the old cart changes the new one: returns are guarded by the entry as it was read,
//! releases by their tag, removal by the state, and everything else by a deadline. If a cart has vanished in
//! another way (removed by hand), its reservations are returned after `reservation_seconds`.
//!
//! Invariants: one line per SKU, `0 ≤ held ≤ quantity`; an active cart's reservations equal what its lines
//! hold and its outbox still owes; closed carts hold nothing.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{Room, room::declared};
use crate::graphql::node_id::NodeKind;
pub use documents::{
    Address, CartDocument, CartLine, CartPolicy, CartState, Checkout, Payment, Return, total,
};
pub(crate) use types::line;
pub use types::{Cart, CartNotActive};

/// Maximum quantity of one product in a cart.
pub const MOST_QUANTITY: i64 = 10_000;
/// Maximum number of lines of a cart.
pub const MOST_LINES: usize = 100;
/// Maximum number of op records of a cart, and so of its changes within the time for which they are kept.
pub const MOST_CHANGES: usize = 1_000;
/// Maximum unit price. With it the total of a full cart just doesn't overflow.
pub const MOST_UNIT_PRICE: i64 = i64::MAX / MOST_QUANTITY / 100;
/// Prefix of the holder name of an order.
const ORDERS: &str = "order:";

/// Name under which an order holds stock.
pub fn order_as_holder(order: &str) -> String {
    format!("{ORDERS}{order}")
}

/// Id of the order behind a holder name; `None` for a cart.
pub fn order_of_holder(holder: &str) -> Option<&str> {
    holder.strip_prefix(ORDERS)
}

/// The room.
pub const ROOM: Room = Room {
    needs: &["inventory", "catalog"],
    nodes: &[NodeKind::Cart],
    collections: &[declared::<CartDocument>()],
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("carts")
};
