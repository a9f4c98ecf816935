//! Writes of reservations: reserve, release, apply and restock, and the removal of what they leave.

use mongodb::bson::{Bson, DateTime, doc};

use super::{
    super::documents::{Reservation, StockDocument},
    is_open, stocks,
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Change},
    mongo::{
        condition::{Condition, Number, at_least, contains, has_element, has_room, is},
        expression::{
            append, array, changed, choose, element_is, filter, literal, map, not, replaced, whole,
            without,
        },
        guarded::Guarded,
    },
};

/// Destination of an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The shelf.
    Available,
    /// Sold stock.
    Sold,
}

/// A mark with this tag, written now.
fn mark(tag: &str, quantity: i64) -> Bson {
    whole(doc! { "tag": literal(tag), "quantity": quantity, "at": "$$NOW" })
}

/// The reservations with the entry of the holder changed.
fn with_entry(holder: &str, entry: Bson) -> Bson {
    replaced("$reservations", "holder", holder, entry)
}

/// The stock has an entry of the holder that meets the condition.
fn has_entry_with(holder: &str, condition: Condition) -> Condition {
    has_element("reservations", [is("holder", holder), condition])
}

/// Fewer than `cap` holders have something. Usually the array tells by its length, and no entry has to be looked at.
fn has_room_for_holders(cap: u32) -> Condition {
    let in_use = Number::Count("reservations".into(), Box::new(is("quantity", 0).negated()));
    let has_room_for_those = at_least(i64::from(cap) - 1, in_use);
    Condition::Any(vec![has_room("reservations", cap), has_room_for_those])
}

/// Why nothing is reserved.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum NotReserved {
    /// It was reserved under the tag before.
    Already,
    /// The product was deleted.
    Closed,
    /// Less is available.
    Short,
    /// There are too many holders.
    Full,
}

/// A reserve: enough is available, the tag has no mark, and fewer than `cap` holders have something. Empty entries
/// don't count: those of checked-out carts stay until they are forgotten or their marks are retired.
pub(in super::super) fn reserving(
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    cap: u32,
) -> Change<NotReserved> {
    let marked = Condition::Any(vec![contains("takes.tag", tag), contains("gifts.tag", tag)]);
    let is_holder = contains("reservations.holder", holder);
    let has_entry = is_holder.expression();
    let is_new = has_entry_with(holder, marked).negated();
    let (open, closed) = is_open(NotReserved::Closed);
    let is_there = at_least("available", quantity);
    let has_room = Condition::Any(vec![has_room_for_holders(cap), is_holder.clone()]);
    // Most holders have no entry. Then no entry is looked at for marks.
    let unmarked = Condition::Any(vec![is_holder.negated(), is_new.clone()]);
    let guard = [unmarked, open.clone(), is_there.clone(), has_room.clone()];
    let rules = [
        (is_new, NotReserved::Already),
        (open, closed),
        (is_there, NotReserved::Short),
        (has_room, NotReserved::Full),
    ];
    let grown = changed(doc! {
        "quantity": { "$add": ["$$this.quantity", quantity] },
        "takes": append("$$this.takes", vec![mark(tag, quantity)]),
        "at": "$$NOW",
    });
    let fresh = append("$reservations", vec![new_entry(holder, tag, quantity)]);
    let set = doc! {
        "available": { "$subtract": ["$available", quantity] },
        "reservations": choose(has_entry, with_entry(holder, grown), fresh),
    };
    Change::ruled_and_guarded(sku, guard, rules, set)
}

/// A reserve for a holder that has no entry yet. It is refused where [`reserving`] is, and if the holder has an entry. MongoDB
/// has less work with it.
pub(in super::super) fn reserving_first(
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    cap: u32,
) -> Change<NotReserved> {
    let rules = [
        (contains("reservations.holder", holder).negated(), NotReserved::Already),
        is_open(NotReserved::Closed),
        (at_least("available", quantity), NotReserved::Short),
        (has_room_for_holders(cap), NotReserved::Full),
    ];
    let set = doc! {
        "available": { "$subtract": ["$available", quantity] },
        "reservations": append("$reservations", vec![new_entry(holder, tag, quantity)]),
    };
    Change::ruled(sku, rules, set)
}

/// The entry of a holder that had none, with what is reserved under the tag.
fn new_entry(holder: &str, tag: &str, quantity: i64) -> Bson {
    whole(doc! {
        "holder": literal(holder), "quantity": quantity, "takes": [mark(tag, quantity)], "gifts": [],
        "at": "$$NOW",
    })
}

/// Releases what was reserved under `tag`, which is aborted. If there is nothing, nothing changes. Mark and
/// goods change in the same update. It needs no deadline, because it is sent only after the decider marked the
/// tag as void. Nothing else may be done with the reservation then.
pub async fn release(app: &App, sku: &str, holder: &str, tag: &str) -> Result<(), Error> {
    let rule = has_entry_with(holder, contains("takes.tag", tag));
    let reserved = |marks: Bson| {
        let of_tag = filter(marks, element_is("tag", tag));
        doc! { "$sum": map(of_tag, "$$this.quantity") }
    };
    let marks_of_holder = doc! { "$reduce": {
        "input": filter("$reservations", element_is("holder", holder)),
        "initialValue": [],
        "in": { "$concatArrays": ["$$value", "$$this.takes"] },
    } };
    let shrunk = changed(doc! {
        "quantity": { "$subtract": ["$$this.quantity", reserved("$$this.takes".into())] },
        "takes": without("$$this.takes", "tag", tag),
        "at": "$$NOW",
    });
    let set = doc! {
        "available": { "$add": ["$available", reserved(marks_of_holder.into())] },
        "reservations": without_empty(with_entry(holder, shrunk)),
    };
    stocks(app).change(Change::ruled(sku, [(rule, ())], set)).held().await.map(|_was_reserved| ())
}

/// Why nothing is moved out of a reservation or back to the shelf.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum NotApplied {
    /// It was moved before. An entry is removed only when everything was applied out of it and nobody sells out of it any
    /// more, or when no apply to it can be repeated.
    Already,
    /// The quantity isn't there.
    Due,
}

/// An apply: exactly `quantity` is moved out of the holder's reservation, once per tag. The entry stays with
/// the mark, also when it is empty. If something was reserved under the same tag, the mark of the reserve becomes that
/// of the apply: what is applied can't be released any more, and a late repeat of the reserve finds the mark.
pub(in super::super) fn applying(
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    to: Destination,
) -> Change<NotApplied> {
    let (is_new, is_there) = (contains("gifts.tag", tag).negated(), at_least("quantity", quantity));
    // A holder has one entry, so it is the same one that meets both.
    let both = Condition::All(vec![is_new.clone(), is_there.clone()]);
    let guard = [has_entry_with(holder, both)];
    let rules = [
        (has_entry_with(holder, is_new), NotApplied::Already),
        (has_entry_with(holder, is_there), NotApplied::Due),
    ];
    let applied = changed(doc! {
        "quantity": { "$subtract": ["$$this.quantity", quantity] },
        "takes": without("$$this.takes", "tag", tag),
        "gifts": append("$$this.gifts", vec![mark(tag, quantity)]),
        "at": "$$NOW",
    });
    let counter = match to {
        Destination::Available => "available",
        Destination::Sold => "sold",
    };
    let set = doc! {
        counter: { "$add": [format!("${counter}"), quantity] },
        "reservations": with_entry(holder, applied),
    };
    Change::ruled_and_guarded(sku, guard, rules, set)
}

/// Returns `surplus` of an entry that is still as it was read (quantity and time), and removes the marks of
/// its reserves. The caller has voided each uncommitted one before. Returns whether the entry was as read.
pub async fn return_surplus(
    app: &App,
    sku: &str,
    read: &Reservation,
    surplus: i64,
) -> Result<bool, Error> {
    let holder = &read.holder;
    let guard = doc! { "_id": sku, "reservations": { "$elemMatch": {
        "holder": holder, "quantity": read.quantity, "at": read.at,
    } } };
    let kept = changed(doc! {
        "quantity": { "$subtract": ["$$this.quantity", surplus] }, "takes": [], "at": "$$NOW",
    });
    let set = doc! {
        "available": { "$add": ["$available", surplus] },
        "reservations": without_empty(with_entry(holder, kept)),
    };
    stocks(app).set(guard, set).held().await
}

/// Removes the empty entries of a holder that reserves nothing any more, in one command. Returns whether each
/// entry was empty. A mark prevents a second apply, and nothing can be applied out of an empty entry, so its
/// marks aren't needed.
pub async fn forget_each(
    app: &App,
    skus: &[&str],
    holder: &str,
    attempt: &Attempt,
) -> Result<bool, Error> {
    let forgetting = skus.split_first().map(|(sku, others)| {
        let is_empty = has_entry_with(holder, is("quantity", 0));
        let rest = without("$reservations", "holder", holder);
        let forgetting = Change::ruled(*sku, [(is_empty, ())], doc! { "reservations": rest });
        forgetting.also_of(others.iter().copied())
    });
    Ok(stocks(app).change_of_each(forgetting.into_iter(), attempt).await?.is_some())
}

/// Removes the entries of these holders that are empty when the write is made. The others stay: another flow of their
/// holder may have reserved something that it will release (`forget-empty` in `tests/models`).
pub(in super::super) fn forget_empty(
    app: &App,
    sku: &str,
    holders: Vec<String>,
) -> Guarded<StockDocument> {
    let is_forgotten = doc! { "$and": [
        element_is("quantity", 0), { "$in": ["$$this.holder", literal(holders)] },
    ] };
    let rest = filter("$reservations", not(is_forgotten));
    stocks(app).set(doc! { "_id": sku }, doc! { "reservations": rest })
}

/// Removes the entries of these holders that are empty and unchanged since before `before`. The holders commit nothing any more,
/// so the marks of these entries are too old to be repeated.
pub async fn forget_ended(
    app: &App,
    sku: &str,
    holders: Vec<String>,
    before: DateTime,
) -> Result<(), Error> {
    let is_over = doc! { "$and": [
        element_is("quantity", 0), { "$lt": ["$$this.at", before] },
        { "$in": ["$$this.holder", literal(holders)] },
    ] };
    let rest = filter("$reservations", not(is_over));
    let forgotten = stocks(app).set(doc! { "_id": sku }, doc! { "reservations": rest });
    forgotten.held().await.map(|_is_stocked| ())
}

/// Removes marks of the holder's entry that are older than `before` and belong to flows that can't be repeated
/// any more, and the entry if it is empty then. The quantity stays.
pub async fn retire(
    app: &App,
    sku: &str,
    holder: &str,
    tags: &[String],
    before: DateTime,
) -> Result<(), Error> {
    let rule = contains("reservations.holder", holder);
    let stays = doc! { "$or": [
        { "$not": [{ "$in": ["$$this.tag", literal(tags.to_vec())] }] },
        { "$gte": ["$$this.at", before] },
    ] };
    let younger = changed(doc! {
        "takes": filter("$$this.takes", stays.clone()), "gifts": filter("$$this.gifts", stays),
    });
    let set = doc! { "reservations": without_empty(with_entry(holder, younger)) };
    stocks(app).change(Change::ruled(sku, [(rule, ())], set)).held().await.map(|_had_marks| ())
}

/// A restock: sold goods are returned to the shelf, once per tag.
pub(in super::super) fn restocking(sku: &str, tag: &str, quantity: i64) -> Change<NotApplied> {
    let rules = [
        (contains("restocks.tag", tag).negated(), NotApplied::Already),
        (at_least("sold", quantity), NotApplied::Due),
    ];
    let set = doc! {
        "available": { "$add": ["$available", quantity] },
        "sold": { "$subtract": ["$sold", quantity] },
        "restocks": append(array("restocks"), vec![mark(tag, quantity)]),
    };
    Change::ruled(sku, rules, set)
}

/// Removes the mark of a restock that its order has settled long enough ago.
pub async fn retire_restock(app: &App, sku: &str, tag: &str) -> Result<(), Error> {
    let left = without(array("restocks"), "tag", tag);
    stocks(app)
        .set(doc! { "_id": sku }, doc! { "restocks": left })
        .held()
        .await
        .map(|_is_stocked| ())
}

/// Expression: the entries without those that have neither quantity nor marks.
fn without_empty(reservations: Bson) -> Bson {
    let is_needed = doc! { "$or": [
        { "$ne": ["$$this.quantity", 0] },
        { "$ne": ["$$this.takes", []] },
        { "$ne": ["$$this.gifts", []] },
    ] };
    filter(reservations, is_needed)
}
