//! MongoDB access of the inventory.

use std::ops::Range;

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    MAX_RECEIPTS,
    documents::{ReceiptDocument, Reservation, SWEEP_AT, StockDocument, SweptStock},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Bounds, Change, Op, kept},
    mongo::{
        Collection,
        collection::List,
        condition::{Condition, at_least, contains, has_element, has_room, is},
        expression::{
            append, array, both, changed, choose, count, element_is, filter, literal, map,
            replaced, whole, without,
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

pub(super) fn stocks(app: &App) -> Collection<StockDocument> {
    app.collection()
}

/// Reads the counters without the reservations and op records, which can be large.
pub(super) async fn find_counters(app: &App, sku: &str) -> Result<Option<StockDocument>, Error> {
    stocks(app).get_part(sku, COUNTERS).await
}

/// The counters, and the fields that decoding them needs.
const COUNTERS: &[&str] = &["_id", "available", "sold", "received", "deleting", "deleted", "v"];

/// Number of op records after which they are moved to documents of their own.
const HUNDRED: i64 = 100;

/// Limits of receipts and their op records.
pub(super) fn bounds(app: &App) -> Bounds {
    app.bounds().remembering(MAX_RECEIPTS)
}

/// The key under which a receipt is booked once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Once<'a> {
    /// The op of a call, whose record is kept as long as op records are.
    Op {
        /// The op.
        op: &'a Op,
        /// Whether the client sent an idempotency key, so that the call may be a repeat.
        may_be_repeat: bool,
    },
    /// The name of an imported receipt, which is remembered for good.
    Receipt(&'a str),
}

/// Maximum number of imported receipts of one SKU.
pub(super) const RECEIPTS: usize = 200;

/// Why a receipt isn't added to a stock document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unreceived {
    /// It was added before.
    Booked,
    /// The product was deleted.
    Closed,
    /// The stock has the maximum number of imported receipts.
    Full,
}

/// Adds `quantity` to the shelf, once.
pub(super) fn receive(app: &App, sku: &str, quantity: i64, once: Once<'_>) -> Change<Unreceived> {
    let mut rules = vec![is_open(Unreceived::Closed)];
    let mut set = doc! {
        "available": { "$add": ["$available", quantity] },
        "received": { "$add": ["$received", quantity] },
    };
    if let Once::Receipt(name) = once {
        let receipt = whole(doc! { "receipt": literal(name), "quantity": quantity, "at": "$$NOW" });
        set.insert("imported", append(array("imported"), vec![receipt]));
        rules.insert(0, (contains("imported.receipt", name).negated(), Unreceived::Booked));
        rules.push((has_room("imported", count(RECEIPTS)), Unreceived::Full));
    }
    let change = Change::ruled(sku, rules, set);
    match once {
        Once::Op { op, .. } => change.committing(op, &op.id, bounds(app)),
        Once::Receipt(_) => change,
    }
}

/// What [`receive`] returns: the counters, and the op records if their number is a multiple of a hundred. A SKU in
/// demand has hundreds of reservations, which aren't needed after the write.
pub(super) fn received() -> Document {
    let is_hundredth = doc! { "$eq": [{ "$mod": [{ "$size": "$ops" }, HUNDRED] }, 0_i64] };
    let counters = COUNTERS.iter().map(|field| ((*field).to_owned(), 1.into()));
    let ops = choose(is_hundredth, "$ops", Bson::Array(Vec::new()));
    counters.chain([("ops".to_owned(), ops)]).collect()
}

/// Notes on the stock that these ops are remembered outside it.
pub(super) fn note_kept(app: &App, sku: &str, ops: &[String]) -> Guarded<StockDocument> {
    stocks(app).set(doc! { "_id": sku }, doc! { "ops": kept(ops) })
}

/// Removes the records of receipts from before `before`.
pub(super) async fn forget(app: &App, before: DateTime) -> Result<(), Error> {
    let old = doc! { "at": { "$lt": before } };
    app.collection::<ReceiptDocument>().remove_many(old).await.map(|_how_many| ())
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

/// Rule: the product isn't deleted.
fn is_open<R>(otherwise: R) -> (Condition, R) {
    (is("deleting", true).negated(), otherwise)
}

/// Why nothing is reserved.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unreserved {
    /// It was reserved under the tag before.
    Already,
    /// The product was deleted.
    Closed,
    /// Less is available.
    Short,
    /// There are too many holders.
    Full,
}

/// A reserve: enough is available, the tag has no mark, and there are fewer than `cap` holders.
pub(super) fn reserving(
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    cap: u32,
) -> Change<Unreserved> {
    let marked = Condition::Any(vec![contains("takes.tag", tag), contains("gifts.tag", tag)]);
    let is_holder = contains("reservations.holder", holder);
    let has_entry = is_holder.expression();
    let rules = [
        (has_entry_with(holder, marked).negated(), Unreserved::Already),
        is_open(Unreserved::Closed),
        (at_least("available", quantity), Unreserved::Short),
        (Condition::Any(vec![is_holder, has_room("reservations", cap)]), Unreserved::Full),
    ];
    let mark = mark(tag, quantity);
    let grown = changed(doc! {
        "quantity": { "$add": ["$$this.quantity", quantity] },
        "takes": append("$$this.takes", vec![mark.clone()]),
        "at": "$$NOW",
    });
    let fresh = whole(doc! {
        "holder": literal(holder), "quantity": quantity, "takes": [mark], "gifts": [], "at": "$$NOW",
    });
    let fresh = append("$reservations", vec![fresh]);
    let set = doc! {
        "available": { "$subtract": ["$available", quantity] },
        "reservations": choose(has_entry, with_entry(holder, grown), fresh),
    };
    Change::ruled(sku, rules, set)
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
pub(super) enum Unapplied {
    /// It was moved before. An entry is removed only when everything was applied out of it, or when no apply to it can
    /// be repeated.
    Already,
    /// The quantity isn't there.
    Due,
}

/// An apply: exactly `quantity` is moved out of the holder's reservation, once per tag. The entry stays with
/// the mark, also when it is empty.
pub(super) fn applying(
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    to: Destination,
) -> Change<Unapplied> {
    let is_due =
        Condition::All(vec![at_least("quantity", quantity), contains("takes.tag", tag).negated()]);
    let rules = [
        (has_entry_with(holder, contains("gifts.tag", tag).negated()), Unapplied::Already),
        (has_entry_with(holder, is_due), Unapplied::Due),
    ];
    let applied = changed(doc! {
        "quantity": { "$subtract": ["$$this.quantity", quantity] },
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
    Change::ruled(sku, rules, set)
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
    let rest = without("$reservations", "holder", holder);
    let forgetting = |sku: &&str| {
        let is_empty = has_entry_with(holder, is("quantity", 0));
        Change::ruled(*sku, [(is_empty, ())], doc! { "reservations": &rest })
    };
    stocks(app).change_each(skus.iter().map(forgetting), attempt).await
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
pub(super) fn restocking(sku: &str, tag: &str, quantity: i64) -> Change<Unapplied> {
    let rules = [
        (contains("restocks.tag", tag).negated(), Unapplied::Already),
        (at_least("sold", quantity), Unapplied::Due),
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

/// Stock documents with something to sweep since a time of the range, those that have waited longest first.
pub(super) async fn list_to_sweep(
    app: &App,
    range: &Range<DateTime>,
    limit: i64,
) -> Result<Vec<SweptStock>, Error> {
    let filter = doc! { SWEEP_AT: { "$gte": range.start, "$lt": range.end } };
    let sort = doc! { SWEEP_AT: 1 };
    let projection = Some(doc! { "_id": 1, "reservations": 1, SWEEP_AT: 1 });
    let list = List { filter, sort, limit, projection, ..List::default() };
    app.collection::<SweptStock>().list(list).await
}

/// Of these SKUs, the stock documents with an entry of the holder.
pub(super) async fn list_of_holder(
    app: &App,
    holder: &str,
    skus: &[&str],
) -> Result<Vec<StockDocument>, Error> {
    let of_holder = doc! { "reservations.holder": holder };
    let List { filter, limit, .. } = List::of_ids(skus);
    stocks(app).list(List { filter: both(filter, of_holder), limit, ..List::default() }).await
}

/// Marks the SKU as deleted with this generation of its product, if nothing is reserved. From then on the deletion is
/// due in the catalog.
pub(super) fn deleting(sku: &str, generation: &str) -> Change<()> {
    let is_held = has_element("reservations", [at_least("quantity", 1)]);
    let set = doc! { "deleting": true, "deleted": literal(generation), "deletionDue": "$$NOW" };
    Change::ruled(sku, [(is_held.negated(), ())], set)
}

/// Settles the deletion of this generation: it was applied to the catalog.
pub(super) fn settle_deletion(app: &App, sku: &str, generation: &str) -> Guarded<StockDocument> {
    let settled = doc! { "deletionDue": "$$REMOVE" };
    stocks(app).set(doc! { "_id": sku, "deleted": generation }, settled)
}

/// Opens the stock of a deleted product for another product under the same SKU. A refusal means that another
/// call opened it, or that the product was deleted as well; the stock shows both.
pub(super) fn reopen(app: &App, stock: &StockDocument) -> Guarded<StockDocument> {
    let guard = doc! { "_id": &stock.sku, "deleting": true, "deleted": stock.deleted.as_ref() };
    let gone = "$$REMOVE";
    stocks(app).set(guard, doc! { "deleting": gone, "deleted": gone, "deletionDue": gone })
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

/// The counters of each SKU whose numbers don't add up.
pub(super) async fn list_unbalanced(app: &App) -> Result<Vec<Document>, Error> {
    let reserved = doc! { "$sum": "$reservations.quantity" };
    let counters = doc! {
        "available": 1, "sold": 1, "received": 1, "reserved": reserved,
        "least": { "$min": "$reservations.quantity" },
    };
    let is_unbalanced = doc! { "$expr": { "$or": [
        { "$ne": [{ "$add": ["$available", "$reserved", "$sold"] }, "$received"] },
        { "$lt": ["$available", 0] },
        { "$lt": ["$sold", 0] },
        { "$lt": [{ "$ifNull": ["$least", 0] }, 0] },
    ] } };
    let counters = doc! { "$project": counters };
    stocks(app)
        .aggregate(vec![counters, doc! { "$match": is_unbalanced }, doc! { "$limit": 100 }])
        .await
}

/// Calls `each` for the stock of every SKU.
pub async fn for_each(app: &App, each: impl FnMut(StockDocument)) -> Result<(), Error> {
    stocks(app).for_each(each).await
}
