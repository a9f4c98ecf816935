//! MongoDB access of the inventory.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    MOST_RECEIPTS,
    documents::{ReceiptDocument, Reservation, StockDocument},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Bounds, Op, kept},
    mongo::{
        Outcome,
        collection::List,
        expression::{append, array, both, changed, choose, filter, literal, map, whole},
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

pub(super) async fn find(app: &App, sku: &str) -> Result<Option<StockDocument>, Error> {
    app.collection::<StockDocument>().get_settled(sku).await
}

/// Reads the counters without the reservations and op records, which can be large.
pub(super) async fn find_counters(app: &App, sku: &str) -> Result<Option<StockDocument>, Error> {
    app.collection::<StockDocument>().get_part(sku, COUNTERS).await
}

/// The counters, and the fields that decoding them needs.
const COUNTERS: &[&str] = &["_id", "available", "sold", "received", "deleting", "deleted", "v"];

fn counters() -> Document {
    COUNTERS.iter().map(|field| ((*field).to_owned(), 1.into())).collect()
}

/// A guarded write that returns only the counters. A SKU in demand has hundreds of reservations, which aren't
/// needed after a write.
fn change(app: &App, guard: Document, update: Document) -> Guarded<StockDocument> {
    app.collection::<StockDocument>().guarded(guard, vec![update]).answering(counters())
}

/// Guarded writes of several SKUs in one command. Returns whether each guard held.
async fn change_each(
    app: &App,
    changes: impl Iterator<Item = (Document, Document)>,
    attempt: &Attempt,
) -> Result<bool, Error> {
    let updates = changes.map(|(guard, update)| (guard, vec![update])).collect();
    app.collection::<StockDocument>().update_each(updates, attempt).await
}

pub(super) async fn insert(app: &App, stock: StockDocument) -> Outcome<()> {
    app.collection().insert(stock).await
}

/// Number of op records after which they are moved to documents of their own.
const HUNDRED: i64 = 100;

/// Limits of receipts and their op records.
pub(super) fn bounds(app: &App) -> Bounds {
    app.bounds().remembering(MOST_RECEIPTS)
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

/// Adds `quantity` to the shelf, once. If the number of op records is a multiple of a hundred, the result has
/// `ops`; otherwise they are empty.
pub(super) async fn receive(
    app: &App,
    sku: &str,
    quantity: i64,
    once: Once<'_>,
    attempt: &Attempt,
) -> Outcome<StockDocument> {
    let guard = doc! { "_id": sku, "deleting": { "$ne": true } };
    let mut set = doc! {
        "available": { "$add": ["$available", quantity] },
        "received": { "$add": ["$received", quantity] },
    };
    let unbooked = match once {
        Once::Op { op, .. } => {
            set.insert("ops", op.applied(&op.id, bounds(app)));
            op.guard(&op.id, bounds(app))
        }
        Once::Receipt(name) => {
            let mark =
                whole(doc! { "receipt": literal(name), "quantity": quantity, "at": "$$NOW" });
            set.insert("imported", append(array("imported"), vec![mark]));
            let last = format!("imported.{}", RECEIPTS - 1);
            doc! { "imported.receipt": { "$ne": name }, last: { "$exists": false } }
        }
    };
    let is_hundredth = doc! { "$eq": [{ "$mod": [{ "$size": "$ops" }, HUNDRED] }, 0_i64] };
    let mut answer = counters();
    answer.insert("ops", choose(is_hundredth, "$ops", Bson::Array(Vec::new())));
    let update = doc! { "$set": set };
    change(app, both(guard, unbooked), update)
        .answering(answer)
        .within(attempt)
        .once()
        .apply()
        .await
}

/// The record of a receipt outside the stock document, with majority read concern.
pub(super) async fn find_receipt(app: &App, id: &str) -> Result<Option<ReceiptDocument>, Error> {
    app.collection::<ReceiptDocument>().get_settled(id).await
}

/// Inserts records of receipts outside the stock document. Existing ones stay.
pub(super) async fn insert_receipts(
    app: &App,
    receipts: Vec<ReceiptDocument>,
) -> Result<(), Error> {
    app.collection().insert_many(receipts).await.map(|_there_already| ())
}

/// Notes on the stock that these ops are remembered outside it.
pub(super) async fn note_kept(app: &App, sku: &str, ops: &[String]) -> Outcome<()> {
    let update = doc! { "$set": { "ops": kept(ops) } };
    change(app, doc! { "_id": sku }, update).done().await
}

/// Removes records of receipts from before `before`.
pub(super) async fn forget_receipts(app: &App, before: DateTime) -> Result<(), Error> {
    let old = doc! { "at": { "$lt": before } };
    app.collection::<ReceiptDocument>().remove_many(old).await.map(|_how_many| ())
}

/// Reserves `quantity` for `holder` under `tag`.
pub(super) async fn take(
    app: &App,
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    cap: u32,
    attempt: &Attempt,
) -> Outcome<()> {
    let (guard, update) = taking(sku, holder, tag, quantity, cap);
    change(app, guard, update).within(attempt).done().await
}

/// Reserves several SKUs (none of them twice) with their quantities, in one command. Returns whether everything
/// was reserved. If not, [`take`](super::operations::take) returns the result for each SKU.
pub async fn take_each(
    app: &App,
    lines: &[(&str, i64)],
    holder: &str,
    tag: &str,
    cap: u32,
    attempt: &Attempt,
) -> Result<bool, Error> {
    let taking = |(sku, quantity): &(&str, i64)| taking(sku, holder, tag, *quantity, cap);
    change_each(app, lines.iter().map(taking), attempt).await
}

/// Guard and update of a reserve: enough is available, the tag has no mark, and there are fewer than `cap`
/// holders. A holder with an entry may always add to it.
fn taking(sku: &str, holder: &str, tag: &str, quantity: i64, cap: u32) -> (Document, Document) {
    let has_entry = doc! { "$in": [literal(holder), "$reservations.holder"] };
    let last = format!("reservations.{}", cap.saturating_sub(1));
    let guard = doc! {
        "_id": sku,
        "available": { "$gte": quantity },
        "deleting": { "$ne": true },
        "reservations": { "$not": { "$elemMatch": {
            "holder": holder, "$or": [{ "takes.tag": tag }, { "gifts.tag": tag }],
        } } },
        "$or": [{ "reservations.holder": holder }, { last: { "$exists": false } }],
    };
    let mark = whole(doc! { "tag": literal(tag), "quantity": quantity, "at": "$$NOW" });
    let grown = changed(doc! {
        "quantity": { "$add": ["$$this.quantity", quantity] },
        "takes": append("$$this.takes", vec![mark.clone()]),
        "at": "$$NOW",
    });
    let fresh = whole(doc! {
        "holder": literal(holder), "quantity": quantity, "takes": [mark], "gifts": [], "at": "$$NOW",
    });
    let update = doc! { "$set": {
        "available": { "$subtract": ["$available", quantity] },
        "reservations": choose(
            has_entry,
            map("$reservations", choose(is_of(holder), grown, "$$this")),
            append("$reservations", vec![fresh]),
        ),
    } };
    (guard, update)
}

/// Releases what was reserved under `tag`, which is aborted. If there is nothing, nothing changes. Mark and
/// goods change in the same update. It needs no deadline, because it is sent only after the decider marked the
/// tag as void. Nothing else may be done with the reservation then.
pub async fn release(app: &App, sku: &str, holder: &str, tag: &str) -> Result<(), Error> {
    let guard = doc! {
        "_id": sku, "reservations": { "$elemMatch": { "holder": holder, "takes.tag": tag } },
    };
    let taken = |takes: &str| {
        let of_tag = filter(takes, doc! { "$eq": ["$$this.tag", literal(tag)] });
        doc! { "$sum": map(of_tag, "$$this.quantity") }
    };
    let entry_takes = doc! { "$reduce": {
        "input": filter("$reservations", is_of(holder)),
        "initialValue": [],
        "in": { "$concatArrays": ["$$value", "$$this.takes"] },
    } };
    let of_tag = filter(entry_takes, doc! { "$eq": ["$$this.tag", literal(tag)] });
    let shrunk = changed(doc! {
        "quantity": { "$subtract": ["$$this.quantity", taken("$$this.takes")] },
        "takes": filter("$$this.takes", doc! { "$ne": ["$$this.tag", literal(tag)] }),
        "at": "$$NOW",
    });
    let update = doc! { "$set": {
        "available": { "$add": ["$available", { "$sum": map(of_tag, "$$this.quantity") }] },
        "reservations": without_empty(map("$reservations", choose(is_of(holder), shrunk, "$$this"))),
    } };
    change(app, guard, update).done().await.decided().map(|_| ())
}

/// Moves exactly `quantity` out of the holder's reservation, once per tag. The entry stays with the mark,
/// also when it is empty.
pub(super) async fn give(
    app: &App,
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    to: Destination,
    attempt: &Attempt,
) -> Outcome<()> {
    let (guard, update) = giving(sku, holder, tag, quantity, to);
    change(app, guard, update).within(attempt).done().await
}

/// Like [`give`], for several SKUs in one command. Returns whether each guard held.
pub(super) async fn give_each(
    app: &App,
    lines: &[(&str, i64)],
    holder: &str,
    tag: &str,
    to: Destination,
    attempt: &Attempt,
) -> Result<bool, Error> {
    let giving = |(sku, quantity): &(&str, i64)| giving(sku, holder, tag, *quantity, to);
    change_each(app, lines.iter().map(giving), attempt).await
}

/// Guard and update of an apply.
fn giving(
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    to: Destination,
) -> (Document, Document) {
    let guard = doc! { "_id": sku, "reservations": { "$elemMatch": {
        "holder": holder,
        "quantity": { "$gte": quantity },
        "takes.tag": { "$ne": tag },
        "gifts.tag": { "$ne": tag },
    } } };
    let mark = whole(doc! { "tag": literal(tag), "quantity": quantity, "at": "$$NOW" });
    let given = changed(doc! {
        "quantity": { "$subtract": ["$$this.quantity", quantity] },
        "gifts": append("$$this.gifts", vec![mark]),
        "at": "$$NOW",
    });
    let counter = match to {
        Destination::Available => "available",
        Destination::Sold => "sold",
    };
    let update = doc! { "$set": {
        counter: { "$add": [format!("${counter}"), quantity] },
        "reservations": map("$reservations", choose(is_of(holder), given, "$$this")),
    } };
    (guard, update)
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
    let update = doc! { "$set": {
        "available": { "$add": ["$available", surplus] },
        "reservations": without_empty(map("$reservations", choose(is_of(holder), kept, "$$this"))),
    } };
    Ok(change(app, guard, update).done().await.decided()?.is_some())
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
    let rest = filter("$reservations", doc! { "$ne": ["$$this.holder", literal(holder)] });
    let forgetting = |sku: &&str| {
        let empty = doc! { "holder": holder, "quantity": 0_i64 };
        let guard = doc! { "_id": *sku, "reservations": { "$elemMatch": empty } };
        (guard, doc! { "$set": { "reservations": &rest } })
    };
    change_each(app, skus.iter().map(forgetting), attempt).await
}

/// Removes marks of the holder's entry that are older than `before` and belong to flows that can't be repeated
/// any more, and the entry if it is empty then. The quantity stays.
pub async fn retire(
    app: &App,
    sku: &str,
    holder: &str,
    tags: &[String],
    before: DateTime,
) -> Outcome<()> {
    let guard = doc! { "_id": sku, "reservations.holder": holder };
    let stays = doc! { "$or": [
        { "$not": [{ "$in": ["$$this.tag", literal(tags.to_vec())] }] },
        { "$gte": ["$$this.at", before] },
    ] };
    let younger = changed(doc! {
        "takes": filter("$$this.takes", stays.clone()), "gifts": filter("$$this.gifts", stays),
    });
    let update = doc! { "$set": {
        "reservations": without_empty(map("$reservations", choose(is_of(holder), younger, "$$this"))),
    } };
    change(app, guard, update).done().await
}

/// Returns sold goods to the shelf, once per tag.
pub(super) async fn restock(
    app: &App,
    sku: &str,
    tag: &str,
    quantity: i64,
    attempt: &Attempt,
) -> Outcome<()> {
    let guard = doc! { "_id": sku, "sold": { "$gte": quantity }, "restocks.tag": { "$ne": tag } };
    let mark = whole(doc! { "tag": literal(tag), "quantity": quantity, "at": "$$NOW" });
    let update = doc! { "$set": {
        "available": { "$add": ["$available", quantity] },
        "sold": { "$subtract": ["$sold", quantity] },
        "restocks": append(array("restocks"), vec![mark]),
    } };
    change(app, guard, update).within(attempt).done().await
}

/// Removes marks of restocks that their orders have settled long enough ago.
pub async fn retire_restocks(app: &App, sku: &str, tags: &[String]) -> Outcome<()> {
    let update = doc! { "$pull": { "restocks": { "tag": { "$in": tags } } } };
    app.collection::<StockDocument>().guarded(doc! { "_id": sku }, update).done().await
}

/// Which time of a reservation a query goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// The last change of the entry.
    Entry,
    /// The mark of a reserve.
    Take,
    /// The mark of an apply.
    Gift,
}

/// Stock documents with a reservation whose time is at or after `from` and before `before`, oldest first.
pub(super) async fn list_by_age(
    app: &App,
    age: Age,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<Vec<StockDocument>, Error> {
    let at = doc! { "at": { "$gte": from, "$lt": before } };
    let (entry, hint) = match age {
        Age::Entry => (at, "reservations_at"),
        Age::Take => (doc! { "takes": { "$elemMatch": at } }, "reservations_takes_at"),
        Age::Gift => (doc! { "gifts": { "$elemMatch": at } }, "reservations_gifts_at"),
    };
    let filter = doc! { "reservations": { "$elemMatch": entry } };
    // Not sorted: the index returns the oldest first. A sort by the least element of an array couldn't use
    // it.
    app.collection().list(List { filter, limit, hint: Some(hint), ..List::default() }).await
}

/// Stock documents with an entry of the holder.
pub(super) async fn list_of_holder(app: &App, holder: &str) -> Result<Vec<StockDocument>, Error> {
    let filter = doc! { "reservations.holder": holder };
    app.collection().list(List { filter, limit: 1_000, ..List::default() }).await
}

/// Marks the SKU as deleted with this generation of its product, guarded by nothing being reserved. From then
/// on the deletion is due in the catalog.
pub(super) async fn mark_deleted(
    app: &App,
    sku: &str,
    incarnation: &str,
    attempt: &Attempt,
) -> Outcome<()> {
    let unreserved = doc! { "_id": sku, "reservations.quantity": { "$not": { "$gt": 0 } } };
    let update = doc! { "$set": {
        "deleting": true, "deleted": literal(incarnation), "deletionDue": "$$NOW",
    } };
    change(app, unreserved, update).within(attempt).done().await
}

/// Settles the deletion of this generation: it was applied to the catalog.
pub(super) async fn note_deletion(app: &App, sku: &str, incarnation: &str) -> Outcome<()> {
    let (guard, update) =
        (doc! { "_id": sku, "deleted": incarnation }, doc! { "$unset": { "deletionDue": 1 } });
    app.collection::<StockDocument>().guarded(guard, update).done().await
}

/// Opens the stock of a deleted product for another product under the same SKU.
pub(super) async fn revive(
    app: &App,
    sku: &str,
    deleted: Option<&String>,
    attempt: &Attempt,
) -> Outcome<StockDocument> {
    let update = doc! { "$unset": { "deleting": 1, "deleted": 1, "deletionDue": 1 } };
    app.collection::<StockDocument>()
        .guarded(doc! { "_id": sku, "deleting": true, "deleted": deleted }, update)
        .within(attempt)
        .apply()
        .await
}

/// Deletions from before `before` that aren't applied to the catalog, oldest first.
pub(super) async fn list_due_deletions(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<StockDocument>, Error> {
    let (filter, sort) = (doc! { "deletionDue": { "$lt": before } }, doc! { "deletionDue": 1 });
    let hint = Some("deletion_due");
    app.collection().list(List { filter, sort, limit, hint, ..List::default() }).await
}

/// Expression: the element `$$this` belongs to `holder`.
fn is_of(holder: &str) -> Document {
    doc! { "$eq": ["$$this.holder", literal(holder)] }
}

/// Expression: the entries without those that have neither quantity nor marks.
fn without_empty(reservations: Bson) -> Bson {
    filter(
        reservations,
        doc! { "$or": [
            { "$ne": ["$$this.quantity", 0] },
            { "$ne": ["$$this.takes", []] },
            { "$ne": ["$$this.gifts", []] },
        ] },
    )
}

/// The counters of each SKU whose numbers don't add up.
pub(super) async fn list_unbalanced(app: &App) -> Result<Vec<Document>, Error> {
    let reserved = doc! { "$sum": "$reservations.quantity" };
    app.collection::<StockDocument>()
        .aggregate(vec![
            doc! { "$project": {
                "available": 1, "sold": 1, "received": 1, "reserved": reserved,
                "least": { "$min": "$reservations.quantity" },
            } },
            doc! { "$match": { "$expr": { "$or": [
                { "$ne": [{ "$add": ["$available", "$reserved", "$sold"] }, "$received"] },
                { "$lt": ["$available", 0] },
                { "$lt": ["$sold", 0] },
                { "$lt": [{ "$ifNull": ["$least", 0] }, 0] },
            ] } } },
            doc! { "$limit": 100 },
        ])
        .await
}

/// Calls `each` for the stock of every SKU.
pub async fn for_each(
    app: &App,
    each: impl FnMut(StockDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    app.collection::<StockDocument>().for_each(each).await
}
