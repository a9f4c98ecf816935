//! MongoDB access of the carts. The guarded writes are values: the caller adds its attempt and sends them.

use std::time::Duration;

use mongodb::bson::{Bson, DateTime, Document, bson, doc};

use super::{
    MAX_CHANGES, MAX_LINES, MAX_QUANTITY,
    documents::{CartDocument, CartLine, CartState, Checkout, total},
    vouchers::AppliedVoucher,
};
use crate::{
    app::App,
    error::Error,
    flow::{Bounds, Change},
    mongo::{
        Collection,
        collection::List,
        expression::{
            append, both, changed, choose, literal, map, older_than, replaced, stored, whole,
            without,
        },
        guarded::Guarded,
    },
};

pub(super) fn carts(app: &App) -> Collection<CartDocument> {
    app.collection()
}

/// Limits of the cart's flows and op records.
pub(super) fn bounds(app: &App) -> Bounds {
    app.bounds().remembering(MAX_CHANGES)
}

/// Calls `each` for every cart, for the invariants.
pub async fn for_each(app: &App, each: impl FnMut(CartDocument)) -> Result<(), Error> {
    carts(app).for_each(each).await
}

/// The owner's most recently changed active cart.
pub(super) async fn find_active_of(app: &App, owner: &str) -> Result<Option<CartDocument>, Error> {
    let filter = doc! { "owner": owner, "state": CartState::Active };
    let sort = doc! { "modifiedAt": -1, "_id": -1 };
    carts(app).first(List { filter, sort, hint: Some("owner_modified"), ..List::default() }).await
}

/// Maximum number of carts of each kind per pass of the sweep.
pub(super) const CARTS: i64 = 500;

/// Carts in `state` that weren't changed since `before`, least recently changed first.
pub(super) async fn list_untouched(
    app: &App,
    state: CartState,
    before: DateTime,
) -> Result<Vec<CartDocument>, Error> {
    let filter = doc! { "state": state, "modifiedAt": { "$lt": before } };
    let sort = doc! { "modifiedAt": 1, "_id": 1 };
    carts(app).list(List { filter, sort, limit: CARTS, ..List::default() }).await
}

/// Ids of the carts with an unfinished checkout with a claim whose deadline is earlier than `before`.
pub async fn list_overdue(app: &App, before: DateTime) -> Result<Vec<String>, Error> {
    let mut overdue = Vec::new();
    for state in [CartState::Pending, CartState::Voiding, CartState::Paid] {
        let filter = doc! { "state": state, "checkout.deadline": { "$lt": before } };
        let order = [("modifiedAt", 1), ("_id", 1)];
        overdue.extend(carts(app).ids(filter, &order, Some("state_modified")).await?);
    }
    Ok(overdue)
}

/// Ids of the carts that were decided before `before` by a checkout without a claim, and aren't complete.
pub async fn list_decided(app: &App, before: DateTime) -> Result<Vec<String>, Error> {
    let filter = doc! { "state": DECIDED, "modifiedAt": { "$lt": before } };
    carts(app).ids(filter, &[("modifiedAt", 1), ("_id", 1)], Some("state_modified")).await
}

/// A change of a cart. `modifiedAt` changes as well, because the time at which marks are retired depends on it.
fn modified(app: &App, guard: Document, mut set: Document) -> Guarded<CartDocument> {
    set.insert("modifiedAt", "$$NOW");
    carts(app).set(guard, set)
}

/// Guard: the cart is active and its owner is as it was read.
fn active_as_read(cart: &CartDocument) -> Document {
    doc! { "_id": &cart.id, "state": CartState::Active, "owner": cart.owner.as_deref() }
}

/// Sets `owner` on an active cart that has none.
pub(super) fn own(app: &App, id: &str, owner: &str) -> Guarded<CartDocument> {
    let guard = doc! { "_id": id, "state": CartState::Active, "owner": null };
    modified(app, guard, doc! { "owner": literal(owner) })
}

/// ACTIVE → CANCELLING.
pub(super) fn cancel(app: &App, cart: &CartDocument) -> Guarded<CartDocument> {
    modified(app, active_as_read(cart), doc! { "state": CartState::Cancelling })
}

/// ACTIVE → EXPIRING, if the cart is still idle.
pub(super) fn expire(app: &App, id: &str) -> Guarded<CartDocument> {
    let idle = Duration::from_secs(app.config().cart_idle_seconds);
    let is_idle = older_than("modifiedAt", idle);
    let guard = both(doc! { "_id": id, "state": CartState::Active }, is_idle);
    modified(app, guard, doc! { "state": CartState::Expiring })
}

/// The end of a closing, after everything was returned.
pub(super) fn end(app: &App, cart: &CartDocument, state: CartState) -> Guarded<CartDocument> {
    let guard = doc! { "_id": &cart.id, "state": cart.state, "outbox": [] };
    modified(app, guard, doc! { "state": state })
}

/// Settles an outbox entry that was applied. The time of this write decides when the receiver's mark is
/// retired: an attempt that read the entry before may still repeat the apply.
pub(super) fn settle(app: &App, id: &str, tag: &str) -> Guarded<CartDocument> {
    let rest = without("$outbox", "tag", tag);
    modified(app, doc! { "_id": id, "outbox.tag": tag }, doc! { "outbox": rest })
}

/// Removes an expired cart. Returns whether it was still there.
pub(super) async fn remove_expired(app: &App, id: &str) -> Result<bool, Error> {
    let expired = doc! { "_id": id, "state": CartState::Expired };
    Ok(carts(app).remove(expired).await.decided()?.is_some())
}

/// ACTIVE → PENDING: the lines are frozen for a checkout. The guard: there are lines, nothing is still to be
/// returned, no other checkout was begun since `checkouts` was read, the owner is as it was read, and the
/// lines and the voucher still have the total for which the payer was checked.
pub fn freeze(app: &App, cart: &CartDocument, checkout: &Checkout) -> Guarded<CartDocument> {
    let line = doc! { "$multiply": ["$$this.quantity", "$$this.unitPrice"] };
    let guard = doc! {
        "_id": &cart.id,
        "owner": cart.owner.as_deref(),
        // A sum of Longs, so an exact Long.
        "$expr": { "$eq": [{ "$sum": map("$lines", line) }, total(&cart.lines)] },
        "voucher.code": voucher_of(cart),
        "state": CartState::Active,
        "lines.0": { "$exists": true },
        "outbox": { "$size": 0 },
        "attempts": cart.checkouts,
    };
    let set = doc! {
        "state": CartState::Pending,
        "checkout": literal(stored(checkout)),
        "attempts": { "$add": ["$attempts", 1] },
    };
    modified(app, guard, set)
}

/// Guard: the cart is in this state of this checkout. A late write of an earlier checkout changes nothing.
fn of_checkout(id: &str, checkout: &Checkout, state: CartState) -> Document {
    doc! { "_id": id, "state": state, "checkout.id": &checkout.id }
}

/// PENDING → PAID: the commit of the checkout. From here it only goes forward. The cart now belongs to the
/// caller who checked it out.
pub fn pay(app: &App, id: &str, checkout: &Checkout) -> Guarded<CartDocument> {
    let mut set = doc! { "state": CartState::Paid };
    if let Some(owner) = &checkout.owner {
        set.insert("owner", literal(owner));
    }
    modified(app, of_checkout(id, checkout, CartState::Pending), set)
}

/// Stored state of a cart that is PAID by a checkout without a claim. Gateways of versions before it would finish a
/// checkout of a cart that is stored as PAID otherwise, under another tag; they don't look for this state.
const DECIDED: &str = "DECIDED";

/// ACTIVE → PAID at once: the commit of a checkout without a claim, for which everything is reserved. From here it only
/// goes forward. The guard: nothing is still to be returned, and the owner, the voucher and the lines are as they were
/// read, with what is reserved and their prices. The cart now belongs to the caller who checked it out.
pub(super) fn decide(cart: &CartDocument, checkout: &Checkout) -> Change {
    let mut guard = lines_as_read(cart);
    guard.insert("outbox", doc! { "$size": 0 });
    guard.insert("voucher.code", voucher_of(cart));
    let mut set = doc! {
        "state": DECIDED, "checkout": literal(stored(checkout)), "modifiedAt": "$$NOW",
    };
    if let Some(owner) = &checkout.owner {
        set.insert("owner", literal(owner));
    }
    Change::new(&cart.id, both(active_as_read(cart), guard), set)
}

/// Guard: the lines are as they were read, with what is reserved and their prices.
fn lines_as_read(cart: &CartDocument) -> Document {
    let fields = ["$$this.sku", "$$this.quantity", "$$this.held", "$$this.unitPrice"];
    let as_read = |line: &CartLine| -> Bson {
        let CartLine { sku, quantity, reserved, unit_price, .. } = line;
        vec![Bson::from(sku), (*quantity).into(), (*reserved).into(), (*unit_price).into()].into()
    };
    let lines: Vec<Bson> = cart.lines.iter().map(as_read).collect();
    let now = map("$lines", fields.map(Bson::from).to_vec());
    doc! { "$expr": { "$eq": [now, literal(lines)] } }
}

/// Code of the cart's voucher, for a guard. The terms of a code never change.
fn voucher_of(cart: &CartDocument) -> Option<&str> {
    cart.voucher.as_ref().map(|voucher| voucher.code.as_str())
}

/// New prices of lines, guarded by the lines as they were read.
pub(super) fn set_prices(cart: &CartDocument, lines: &[CartLine]) -> Change {
    let lines: Vec<Bson> = lines.iter().map(stored).collect();
    changed_lines(cart, lines_as_read(cart), doc! { "lines": literal(lines) })
}

/// Another voucher, or none, guarded by the voucher and the lines as they were read.
pub(super) fn set_voucher(cart: &CartDocument, voucher: Option<&AppliedVoucher>) -> Change {
    let mut guard = lines_as_read(cart);
    guard.insert("voucher.code", voucher_of(cart));
    let voucher = voucher.map_or_else(|| "$$REMOVE".into(), |voucher| literal(stored(voucher)));
    changed_lines(cart, guard, doc! { "voucher": voucher })
}

/// PAID → COMPLETE, after everything that the checkout owed was applied.
pub fn complete(app: &App, id: &str, checkout: &Checkout) -> Guarded<CartDocument> {
    let guard = match &checkout.tag {
        Some(tag) => doc! { "_id": id, "state": DECIDED, "checkout.tag": tag },
        None => of_checkout(id, checkout, CartState::Paid),
    };
    modified(app, guard, doc! { "state": CartState::Complete })
}

/// PENDING → VOIDING: the abort. The checkout can't be paid any more.
pub(super) fn abort(app: &App, id: &str, checkout: &Checkout) -> Guarded<CartDocument> {
    let guard = of_checkout(id, checkout, CartState::Pending);
    modified(app, guard, doc! { "state": CartState::Voiding })
}

/// VOIDING → ACTIVE, after everything that the checkout had reserved was released.
pub fn reactivate(app: &App, id: &str, checkout: &Checkout) -> Guarded<CartDocument> {
    let set = doc! { "$set": { "state": CartState::Active, "modifiedAt": "$$NOW" } };
    let update = vec![set, doc! { "$unset": "checkout" }];
    carts(app).guarded(of_checkout(id, checkout, CartState::Voiding), update)
}

/// An addition: the line grows by `more.quantity` and `more.reserved`, or is pushed as it is. An existing line
/// keeps its price.
pub(super) fn add_to_line(cart: &CartDocument, more: &CartLine) -> Change {
    let last = format!("lines.{}", MAX_LINES - 1);
    let can_grow = doc! { "$elemMatch": {
        "sku": &more.sku, "quantity": { "$lte": MAX_QUANTITY - more.quantity },
    } };
    let has_room = doc! { "$or": [
        { "lines": can_grow },
        { "lines.sku": { "$ne": &more.sku }, last: { "$exists": false } },
    ] };
    let grown = changed(doc! {
        "quantity": { "$add": ["$$this.quantity", more.quantity] },
        "held": { "$add": ["$$this.held", more.reserved] },
    });
    let lines = choose(
        doc! { "$in": [literal(&more.sku), "$lines.sku"] },
        replaced("$lines", "sku", &more.sku, grown),
        append("$lines", vec![literal(stored(more))]),
    );
    changed_lines(cart, has_room, doc! { "lines": lines })
}

/// A new quantity, guarded by the line as it was read. What it had reserved beyond `reserved` is written to the
/// outbox. A line of quantity zero is removed.
pub(super) fn set_line(
    cart: &CartDocument,
    read: &CartLine,
    quantity: i64,
    reserved: i64,
    tag: &str,
) -> Change {
    let as_read = doc! { "sku": &read.sku, "quantity": read.quantity, "held": read.reserved };
    let lines = if quantity == 0 {
        without("$lines", "sku", &read.sku)
    } else {
        let now = changed(doc! { "quantity": quantity, "held": reserved });
        replaced("$lines", "sku", &read.sku, now)
    };
    let mut set = doc! { "lines": lines };
    if read.reserved > reserved {
        let (sku, quantity) = (literal(&read.sku), read.reserved - reserved);
        let entry =
            whole(doc! { "tag": literal(tag), "sku": sku, "quantity": quantity, "at": "$$NOW" });
        set.insert("outbox", append("$outbox", vec![entry]));
    }
    changed_lines(cart, doc! { "lines": { "$elemMatch": as_read } }, set)
}

/// Guard: the lines are those of the cart as it was read, with their quantities.
pub(super) fn has_lines_of(cart: &CartDocument) -> Document {
    let read: Vec<_> =
        cart.lines.iter().map(|line| bson!([&line.sku, line.quantity, line.reserved])).collect();
    let stored = map("$lines", vec!["$$this.sku", "$$this.quantity", "$$this.held"]);
    doc! { "$expr": { "$eq": [stored, literal(read)] } }
}

/// A change of the lines of an active cart.
fn changed_lines(cart: &CartDocument, guard: Document, mut set: Document) -> Change {
    set.insert("modifiedAt", "$$NOW");
    Change::new(&cart.id, both(active_as_read(cart), guard), set)
}
