//! MongoDB access of the inventory.

mod reservations;

pub use reservations::{Destination, forget_each, release, retire, retire_restock, return_surplus};
pub(super) use reservations::{
    NotApplied, NotReserved, applying, forget_empty, reserving, restocking,
};

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    MAX_RECEIPTS,
    documents::{ReceiptDocument, StockDocument, StoredLevel},
};
use crate::{
    app::App,
    error::Error,
    flow::{Bounds, Change, Op, kept},
    graphql::page::Page,
    mongo::{
        Collection, Parts,
        collection::List,
        condition::{Condition, at_least, contains, has_element, has_room, is},
        expression::{append, array, both, choose, count, literal, whole},
        guarded::Guarded,
    },
};

pub(super) fn stocks(app: &App) -> Collection<StockDocument> {
    app.collection()
}

/// Reads the counters without the reservations and op records, which can be large.
pub(super) async fn find_counters(app: &App, sku: &str) -> Result<Option<StockDocument>, Error> {
    stocks(app).get_part(sku, COUNTERS).await
}

/// Reads the same of these SKUs, and decodes only what tells the free pieces. Such reads share their commands with those of
/// [`find_counters`].
pub(super) async fn find_levels(app: &App, skus: Vec<&str>) -> Result<Parts<StoredLevel>, Error> {
    app.collection::<StoredLevel>().get_parts(skus, COUNTERS).await
}

/// The counters, and the fields that decoding them needs.
const COUNTERS: &[&str] = &["_id", "available", "sold", "received", "deleting", "deleted", "v"];

/// A page of the SKUs with fewer free pieces than `below`, without those of deleted products.
pub(super) async fn list_low(
    app: &App,
    below: i64,
    page: &Page,
) -> Result<Vec<StockDocument>, Error> {
    let filter = doc! { "available": { "$lt": below }, "deleting": { "$ne": true } };
    let projection = Some(COUNTERS.iter().map(|field| ((*field).to_owned(), 1.into())).collect());
    stocks(app).list(List { projection, hint: Some("low"), ..page.list(filter) }).await
}

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
pub(super) enum NotReceived {
    /// It was added before.
    Booked,
    /// The product was deleted.
    Closed,
    /// The stock has the maximum number of imported receipts.
    Full,
    /// Fewer pieces are free than are to be written off.
    Short,
}

/// Adds `quantity` to the shelf, once. A negative one is written off: these pieces count as never received.
pub(super) fn receive(app: &App, sku: &str, quantity: i64, once: Once<'_>) -> Change<NotReceived> {
    let mut rules = vec![is_open(NotReceived::Closed)];
    let mut set = doc! {
        "available": { "$add": ["$available", quantity] },
        "received": { "$add": ["$received", quantity] },
    };
    if quantity < 0 {
        rules.push((at_least("available", -quantity), NotReceived::Short));
    }
    if let Once::Receipt(name) = once {
        let receipt = whole(doc! { "receipt": literal(name), "quantity": quantity, "at": "$$NOW" });
        set.insert("imported", append(array("imported"), vec![receipt]));
        rules.insert(0, (contains("imported.receipt", name).negated(), NotReceived::Booked));
        rules.push((has_room("imported", count(RECEIPTS)), NotReceived::Full));
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

/// Rule: the product isn't deleted.
fn is_open<R>(otherwise: R) -> (Condition, R) {
    (is("deleting", true).negated(), otherwise)
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
