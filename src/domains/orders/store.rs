//! MongoDB access of the orders.

use super::documents::{Action, Due, OrderDocument, OrderState, Raise};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// A decision that was computed from an order as it was read.
pub(super) struct Decision {
    /// The order with its new state, lines, total, discount and payments.
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

/// Guard: the order is as it was read.
fn as_read(order: &OrderDocument) -> Document {
    doc! { "revision": order.revision }
}

/// Commits a decision, once per op.
pub(super) fn decide(
    app: &App,
    Decision { order, owed, raise }: &Decision,
    op: &Op,
) -> Guarded<OrderDocument> {
    let due = |(number, action)| {
        let tag = literal(Due::tag(op, number));
        whole(doc! { "tag": tag, "give": literal(stored(action)), "at": "$$NOW" })
    };
    let mut set = doc! {
        "state": stored(&order.state),
        "lines": literal(stored(&order.lines)),
        "total": order.total,
        "payments": literal(stored(&order.payments)),
        "outbox": append("$outbox", owed.iter().enumerate().map(due).collect()),
    };
    if let Some(discount) = &order.discount {
        set.insert("discount", literal(stored(discount)));
    }
    if let Some(raise) = raise {
        set.insert("raises", without("$raises", "tag", raise));
    }
    orders(app).change(revised(&order.id, as_read(order), set).committing(op, &op.id, app.bounds()))
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
            "state": choose(is_done, stored(&OrderState::Cancelled), "$state"),
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
        "revision": { "$add": ["$revision", 1] },
        "currency": "$currency",
        "lines": [],
        "total": 0_i64,
        "payments": "$payments",
        "outbox": "$outbox",
        "raises": [],
        "ops": [],
        "placedAt": "$placedAt",
        "changedAt": "$$NOW",
        "v": "$v",
    } };
    orders(app).guarded(guard, vec![tombstone])
}

/// Orders with outbox entries that were committed at or after `from` and before `before`, oldest first.
pub(super) async fn list_owing(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<Vec<OrderDocument>> {
    // Not sorted: the index returns the oldest first. A sort by the least element of an array couldn't use
    // it.
    let filter = doc! { "outbox.at": { "$gte": from, "$lt": before } };
    orders(app).list(List { filter, limit, hint: Some("outbox_at"), ..List::default() }).await
}

/// Guard: the order has this raise, with this value of `voiding`.
fn with_raise(raise: &str, voiding: bool) -> Document {
    doc! { "raises": { "$elemMatch": { "tag": raise, "voiding": voiding } } }
}
