//! MongoDB access of the orders.

mod lists;

pub(super) use lists::{NEWEST, list_placed, listed};

use super::{
    documents::{Action, Due, Note, OrderDocument, OrderState, Raise, Stage},
    together,
    types::NOTES,
};
use crate::{domains::carts::Address, graphql::prelude::*, mongo::prelude::*};

/// A decision that was computed from an order as it was read.
pub(super) struct Decision {
    /// The order with its new state, lines, total, discount, taxes and payments.
    pub(super) order: OrderDocument,
    /// What it owes for that.
    pub(super) owed: Vec<Action>,
    /// Tag of the raise that it commits, if it is a raise.
    pub(super) raise: Option<String>,
}

pub(super) fn orders(app: &App) -> Collection<OrderDocument> {
    app.collection()
}

/// A change of an order that raises its revision.
fn revised(id: &str, guard: Document, mut set: Document) -> Change {
    set.insert("revision", doc! { "$add": ["$revision", 1] });
    set.insert("changedAt", "$$NOW");
    Change::new(id, guard, set)
}

/// Guard: the order is as it was read. An erasure changes the owner, not the revision, in the update that removes texts from
/// shipments and returns. Without the owner in the guard, a decision that was computed before it would write them again.
fn as_read(order: &OrderDocument) -> Document {
    doc! { "revision": order.revision, "owner": order.owner.as_deref() }
}

/// Commits a decision, once per op.
pub(super) fn decide(
    app: &App,
    Decision { order, owed, raise }: &Decision,
    op: &Op,
) -> Guarded<OrderDocument> {
    let due = |(number, action): (usize, &Action)| {
        let tag = literal(Due::tag(op, number));
        // The voucher is taken from the order as it is: an erasure may have changed the customer since it was read.
        let give = match action {
            Action::GiveBack { .. } => {
                whole(doc! { "kind": "GIVE_BACK", "voucher": "$discount.hold" })
            }
            action => literal(stored(action)),
        };
        whole(doc! { "tag": tag, "give": give, "at": "$$NOW" })
    };
    let mut set = doc! {
        "state": stored(&order.state),
        "lines": literal(stored(&order.lines)),
        "total": order.total,
        "payments": literal(stored(&order.payments)),
        "outbox": append("$outbox", owed.iter().enumerate().map(due).collect()),
    };
    set.extend(fulfilment(order));
    set.insert("recount", together::marked(order));
    if let Some(discount) = &order.discount {
        set.insert("discount.amount", discount.amount);
        set.insert("discount.goods", discount.goods);
    }
    if let Some(charges) = &order.charges {
        set.insert("charges.lines", literal(stored(&charges.lines)));
        set.insert("charges.shipping", charges.shipping);
        set.insert("charges.shippingTax", charges.shipping_tax);
        set.insert("charges.shippingRefunded", given(charges.shipping_refunded.as_ref()));
        set.insert("charges.shippingTaxPaid", given(charges.shipping_tax_paid.as_ref()));
    }
    if let Some(raise) = raise {
        set.insert("raises", without("$raises", "tag", raise));
    }
    if order.state != OrderState::Placed {
        // No piece can be added any more, so nothing is authorised with it.
        set.insert("payer.token", "$$REMOVE");
    }
    orders(app).change(revised(&order.id, as_read(order), set).committing(op, &op.id, app.bounds()))
}

/// The fields of an order's fulfilment, for a pipeline update. A field without a value is removed.
fn fulfilment(order: &OrderDocument) -> Document {
    let list = |list: Bson| match list {
        Bson::Array(list) if list.is_empty() => Bson::from("$$REMOVE"),
        list => literal(list),
    };
    let mut set = derived(order);
    set.insert("shipments", list(stored(&order.shipments)));
    set.insert("lastShipment", given(order.last_shipment.as_ref()));
    set.insert("returns", list(stored(&order.returns)));
    set
}

/// The fields that follow from the others of an order, for a pipeline update.
fn derived(order: &OrderDocument) -> Document {
    doc! {
        "skus": literal(OrderDocument::skus_of(&order.lines)),
        "stage": stored(&order.reached()),
        "returnRequestedAt": given(order.oldest_request().as_ref()),
    }
}

/// The value; it removes the field if there is none.
fn given(value: Option<&impl Serialize>) -> Bson {
    value.map_or_else(|| Bson::from("$$REMOVE"), |value| literal(stored(value)))
}

/// Gives an order another number than the one with which it was inserted. No other change writes the number.
pub(super) fn renumber(app: &App, order: &OrderDocument) -> Guarded<OrderDocument> {
    let number = given(order.number.as_ref());
    orders(app)
        .set(doc! { "_id": &order.id, "deleted": { "$ne": true } }, doc! { "number": number })
}

/// Another address of the order as it was read, once per op.
pub(super) fn set_address(
    app: &App,
    order: &OrderDocument,
    shipping: &Address,
    op: &Op,
) -> Guarded<OrderDocument> {
    let set = doc! { "shipping": literal(stored(shipping)) };
    orders(app).change(revised(&order.id, as_read(order), set).committing(op, &op.id, app.bounds()))
}

/// Makes the guest the owner of an order without one.
pub(super) fn name_guest(app: &App, id: &str, guest: &str) -> Guarded<OrderDocument> {
    let guard = doc! { "_id": id, "deleted": { "$ne": true }, "owner": { "$in": [null, guest] } };
    orders(app).set(guard, doc! { "owner": literal(guest) })
}

/// Corrects the derived fields of an order, unless it has changed since it was read.
pub(super) fn derive(app: &App, order: &OrderDocument) -> Guarded<OrderDocument> {
    // The end of a cancellation doesn't raise the revision.
    let guard = both(as_read(order), doc! { "state": stored(&order.state) });
    orders(app).change(revised(&order.id, guard, derived(order)))
}

/// Adds a note, once per op, if there is room for it. Customers don't see notes, so neither revision nor time of the last
/// change change.
pub(super) fn add_note(app: &App, id: &str, note: &Note, op: &Op) -> Guarded<OrderDocument> {
    let has_room = doc! { "$lt": [{ "$size": array("notes") }, count(NOTES)] };
    let guard = all(vec![has_room, doc! { "$ne": ["$deleted", true] }]);
    let note = whole(doc! {
        "author": literal(note.author.as_str()), "text": literal(note.text.as_str()), "at": "$$NOW",
    });
    let set = doc! { "notes": append(array("notes"), vec![note]) };
    orders(app).change(Change::new(id, guard, set).committing(op, &op.id, app.bounds()))
}

/// Records a raise before anything is reserved for it.
pub(super) fn push_raise(
    app: &App,
    order: &OrderDocument,
    raise: &Raise,
) -> Guarded<OrderDocument> {
    let raises = append("$raises", vec![literal(stored(raise))]);
    orders(app).change(revised(&order.id, as_read(order), doc! { "raises": raises }))
}

/// Aborts a raise: no commit finds it any more.
pub(super) fn abort_raise(app: &App, id: &str, raise: &str) -> Guarded<OrderDocument> {
    let aborted = changed(doc! { "voiding": true });
    let raises = replaced("$raises", "tag", raise, aborted);
    orders(app).change(revised(id, with_raise(raise, false), doc! { "raises": raises }))
}

/// Removes an aborted raise, after its reservations were released.
pub(super) fn remove_raise(app: &App, id: &str, raise: &str) -> Guarded<OrderDocument> {
    let raises = without("$raises", "tag", raise);
    orders(app).change(revised(id, with_raise(raise, true), doc! { "raises": raises }))
}

/// Settles applied entries and marks deferred ones. If an order that is being cancelled owes nothing more, it
/// becomes cancelled. The time of the first write stays: an attempt that reads the order after it applies
/// nothing.
pub(super) fn settle(
    app: &App,
    id: &str,
    applied: &[String],
    deferred: &[String],
) -> Guarded<OrderDocument> {
    let is_one_of = |tags: &[String]| doc! { "$in": ["$$this.tag", literal(tags.to_vec())] };
    let first_noted =
        |field| changed(doc! { field: { "$ifNull": [format!("$$this.{field}"), "$$NOW"] } });
    let noted = choose(is_one_of(deferred), first_noted("deferred"), "$$this");
    let noted = choose(is_one_of(applied), first_noted("given"), noted);
    // In the sort order of BSON a missing field is less than null, and null is less than any time.
    let is_owed = doc! { "$lte": ["$$this.given", null] };
    let is_done = doc! { "$and": [
        { "$eq": ["$state", stored(&OrderState::Cancelling)] },
        { "$eq": [filter("$outbox", is_owed), []] },
    ] };
    let update = vec![
        doc! { "$set": { "outbox": map("$outbox", noted) } },
        doc! { "$set": {
            "state": choose(is_done.clone(), stored(&OrderState::Cancelled), "$state"),
            "stage": choose(is_done, stored(&Stage::Cancelled), "$stage"),
            "changedAt": "$$NOW",
        } },
    ];
    let tags = [applied, deferred].concat();
    let guard = doc! { "_id": id, "outbox.tag": { "$in": tags } };
    orders(app).guarded(guard, update)
}

/// Removes outbox entries whose marks are retired.
pub(super) fn pull_settled(app: &App, id: &str, tags: &[String]) -> Guarded<OrderDocument> {
    let is_one = doc! { "$in": ["$$this.tag", literal(tags.to_vec())] };
    let is_settled = doc! { "$and": [is_one, { "$not": [is_missing("$this.given")] }] };
    let left = filter("$outbox", doc! { "$not": [is_settled] });
    orders(app).set(doc! { "_id": id }, doc! { "outbox": left })
}

/// Replaces a cancelled order by its tombstone in one update.
pub(super) fn leave_tombstone(app: &App, id: &str) -> Guarded<OrderDocument> {
    let guard = doc! {
        "_id": id,
        "state": stored(&OrderState::Cancelled),
        "deleted": { "$ne": true },
        "raises": { "$size": 0 },
    };
    // Amounts and payments stay. So do recently settled entries, because their marks are still to be retired.
    let tombstone = doc! { "$replaceWith": {
        "_id": "$_id",
        "cartId": "$cartId",
        "state": "$state",
        "deleted": true,
        "stage": stored(&Stage::Deleted),
        "revision": { "$add": ["$revision", 1] },
        "currency": "$currency",
        "lines": [],
        "total": 0_i64,
        "payments": "$payments",
        "outbox": "$outbox",
        "raises": [],
        "recount": together::removed(),
        "ops": [],
        "placedAt": "$placedAt",
        "changedAt": "$$NOW",
        "v": "$v",
    } };
    orders(app).guarded(guard, vec![tombstone])
}

/// Guard: the order has this raise, with this value of `voiding`.
fn with_raise(raise: &str, voiding: bool) -> Document {
    doc! { "raises": { "$elemMatch": { "tag": raise, "voiding": voiding } } }
}
