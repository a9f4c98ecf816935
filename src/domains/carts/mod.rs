//! A cart holds the products that a shopper intends to buy, and reserves stock for them.
//!
//! A cart is a [basket](super::baskets), which has the diagram of its states. A cart that has expired or was cancelled is
//! removed, if so configured.
//!
//! The cart is the decider of its flows; stock is only a receiver. Each cart has one entry per SKU in the stock:
//! a *reservation*, with its quantity and the marks of the reserves and applies that changed it. The field
//! `reserved` of a line (stored and shown as `held`) is how much of the line's quantity is reserved.
//!
//! # Changes of lines
//!
//! - **Adding, raising**: read the product's price, reserve stock under a tag, then commit on the cart. A line that
//!   exists keeps its price. If the commit is refused, the flow is aborted: the tag is marked void on the cart, then
//!   the stock is released.
//! - **Lowering, removing**: commit on the cart. The same update adds an entry to the cart's outbox: the stock
//!   that is to be returned. The outbox is then applied to the stock and settled.
//!
//! A tag is `{op}/{digest of the input}/{number}`. The first number is 0; each next one is one more than that of the
//! op's last void tag. Where a quantity is set, `/{quantity as read}` follows. The repeat of an interrupted try has the
//! same tag and finds its mark. The commit is guarded by the op and by the tag. So an op is committed once, whatever
//! its tags are, and a void tag is never committed.
//!
//! With the policy `AT_CHECKOUT`, a change of lines reserves nothing: it consists of the commit. With the policy
//! `RESERVE`, a cart without a reservation of a SKU gets none if `reservations_per_sku / 2` other holders have
//! one. The pieces are then added without a reservation, and the checkout reserves them.
//!
//! Additions and new quantities that follow each other in a request are made at once if they concern different lines of
//! one cart: one read of the cart and of the products, all reserves side by side, and one commit. `operations/row.rs` has
//! the details.
//!
//! # Closing
//!
//! Every change of lines is guarded by the state ACTIVE, so the change to CANCELLING or EXPIRING ends all of them, and
//! the outbox is complete. The outbox is applied first. Then each reservation of the cart is returned, guarded by its
//! quantity and time as read. A reserve that arrives later is never committed: its own attempt releases it, or the
//! sweep returns it.
//!
//! A checkout goes from ACTIVE to PAID at once, or through PENDING if an outside provider authorises the payment. The
//! first commit is a change of an active cart like the others: guarded by ACTIVE, by the lines as read, by the op and its
//! tag, and by the deadline. The second is guarded by PENDING and the checkout's id. It needs no deadline, because an abort
//! changes the state to VOIDING first. The flows are those of all [baskets](super::checkout).
//!
//! # Ownership
//!
//! A cart without an owner may be used by anyone who knows its id. A caller with a token takes it over with
//! `claimCart`, or when their checkout is paid. From then on only the owner and services may read and change it, and
//! only the owner may check it out. Every change of lines is guarded by the owner as read.
//!
//! # Prices and vouchers
//!
//! A line keeps the price at which it was added. `CartLine.priceNow` shows the product's present one, and `acceptPrices`
//! takes over those of all lines by one update, guarded by the lines as read. What the checkout does about a changed price
//! is a setting (`checkout_changed_prices`). A voucher is applied by a change like those of lines; `vouchers` describes
//! how a checkout reserves it.
//!
//! Shipping and tax are amounts beside the lines, for which the cart has a quote; see `quotes`.
//!
//! # Removal
//!
//! If so configured, a cart that has expired or was cancelled is removed when its reservations and their marks are gone. A
//! repeated `openCart` with the old idempotency key may open it again, empty. A command that is still in flight for the old
//! cart changes nothing of the new one. Each has a guard against that:
//!
//! | command | guard |
//! |---|---|
//! | reserve, change of lines, apply | the deadline of its attempt |
//! | settle | the entry is in the outbox |
//! | abort | the tag isn't recorded |
//! | change of state | the state, and the checkout's id |
//! | return of a reservation | its quantity and time as read |
//! | removal of the cart | the state EXPIRED or CANCELLED, and the time of the last change as read |
//!
//! The op records are removed with the old cart, so a repeat of an old change may get the tag of that change again. A
//! release of the old change must then not meet the mark of the new one. A late release can't arrive: the attempt
//! that sends it has ended two grace periods after the last change, and the cart is removed after that.
//!
//! Invariants: one line per SKU; `0 ≤ reserved ≤ quantity`; the reservations of an active cart equal what its lines
//! have reserved plus what its outbox returns; a cart that is COMPLETE, CANCELLED or EXPIRED has nothing reserved.

pub mod addresses;
mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod quotes;
pub mod resolvers;
mod row;
mod store;
mod sweep;
pub mod types;
pub mod vouchers;

use super::{
    Room, baskets,
    broadcasts::broadcasts,
    nodes::node_type,
    room::{documented, unmet},
};
use crate::{config::CENTURY, graphql::node_id::NodeKind};
use addresses::AddressBookDocument;
pub use documents::{
    Address, CartDocument, CartLine, CartPolicy, CartState, Checkout, Return, total,
};
pub(crate) use types::line;
pub use types::{Cart, CartNotActive};
use vouchers::{VoucherCustomerDocument, VoucherDocument};

/// Maximum quantity of one product in a cart.
pub const MAX_QUANTITY: i64 = 10_000;
/// Maximum number of lines of a cart.
pub const MAX_LINES: usize = 100;
/// Maximum number of op records of a cart, and so of its changes within the time for which they are kept.
pub const MAX_CHANGES: usize = 1_000;
/// Maximum unit price. With it the total of a full cart just doesn't overflow.
pub const MAX_UNIT_PRICE: i64 = i64::MAX / MAX_QUANTITY / 100;
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

impl NodeKind {
    /// A shopping cart.
    pub const CART: Self = Self::new("cart");
}

pub const ROOM: Room = Room {
    needs: &["inventory", "catalog"],
    faults: Some(|config| {
        let mut faults = unmet([
            (config.cart_idle_seconds > 0, "cart_idle_seconds must be at least 1"),
            (
                config.reservation_seconds > config.cart_idle_seconds,
                "reservation_seconds must be longer than cart_idle_seconds",
            ),
            (
                config.reservation_seconds <= CENTURY,
                &format!("reservation_seconds can't be above {CENTURY}"),
            ),
        ]);
        faults.extend(quotes::faults(config));
        faults
    }),
    nodes: &[node_type!(CART: Cart, |cx, id| operations::cart(cx, id))],
    rows: &[row::LINES],
    documents: &[
        documented::<CartDocument>(),
        documented::<AddressBookDocument>(),
        documented::<VoucherDocument>(),
        documented::<VoucherCustomerDocument>(),
    ],
    broadcasts: broadcasts! {
        "carts" {
            find "owner" = "list: the cart of its owner",
            find "state" = "sweep: idle carts, and flows that were cut",
            find "outbox.at" = "sweep: stock that is still to be returned",
        }
        "vouchers" {
            find "createdAt" = "list: all vouchers, newest first",
            find "marks.at" = "sweep: reservations whose checkout was cut, and marks that aren't needed any more",
        }
        "voucherCustomers" {
            find "marks.at" = "sweep: reservations whose checkout was cut, and marks that aren't needed any more",
        }
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| {
        Box::pin(baskets::erase::<CartDocument, types::CancelCartResult>(app, erasing))
    }),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app, _| Box::pin(vouchers::invariants::repair(app))),
    ..Room::new("carts")
};
