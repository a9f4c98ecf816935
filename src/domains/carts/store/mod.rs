//! MongoDB access of the carts.

pub(super) mod checkout;

use mongodb::bson::{DateTime, Document, doc};

use super::{
    MOST_CHANGES, MOST_LINES, MOST_QUANTITY,
    documents::{CartDocument, CartLine, CartState},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Bounds, Change},
    mongo::{
        Outcome,
        collection::List,
        expression::{append, both, changed, choose, filter, literal, map, older_than, whole},
    },
};

/// Read for clients, with the primary's state.
pub(super) async fn find(app: &App, id: &str) -> Result<Option<CartDocument>, Error> {
    app.collection::<CartDocument>().get(id).await
}

/// Read for flows, with majority read concern.
pub(super) async fn find_settled(app: &App, id: &str) -> Result<Option<CartDocument>, Error> {
    app.collection::<CartDocument>().get_settled(id).await
}

/// Begins an attempt with the cart as its first read.
pub(super) async fn open(app: &App, id: &str) -> Result<(Attempt, Option<CartDocument>), Error> {
    app.collection::<CartDocument>().open(app.bounds(), id).await
}

pub(super) async fn insert(app: &App, cart: CartDocument) -> Outcome<()> {
    app.collection().insert(cart).await
}

/// Limits of the cart's flows and op records.
pub(super) fn bounds(app: &App) -> Bounds {
    app.bounds().remembering(MOST_CHANGES)
}

/// The owner's most recently changed active cart.
pub(super) async fn find_active_of(app: &App, owner: &str) -> Result<Option<CartDocument>, Error> {
    let filter = doc! { "owner": owner, "state": CartState::Active };
    let sort = doc! { "modifiedAt": -1, "_id": -1 };
    let (limit, hint) = (1, Some("owner_modified"));
    let read = List { filter, sort, limit, hint, ..List::default() };
    Ok(app.collection::<CartDocument>().list(read).await?.pop())
}

/// Sets `owner` on an active cart that has none.
pub(super) async fn mark_owned(
    app: &App,
    id: &str,
    owner: &str,
    attempt: &Attempt,
) -> Outcome<CartDocument> {
    let guard = doc! { "_id": id, "state": CartState::Active, "owner": null };
    let update = doc! { "$set": { "owner": literal(owner), "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>()
        .guarded(guard, vec![update])
        .within(attempt)
        .once()
        .apply()
        .await
}

/// Guard: the cart is active and its owner is as it was read.
fn active_as_read(cart: &CartDocument) -> Document {
    doc! { "_id": &cart.id, "state": CartState::Active, "owner": cart.owner.as_deref() }
}

/// An addition: the line grows by `more.quantity` and `more.held`, or is pushed as it is. An existing line
/// keeps its price.
pub(super) fn add_to_line(cart: &CartDocument, more: &CartLine) -> Change {
    let last = format!("lines.{}", MOST_LINES - 1);
    let has_room = doc! { "$elemMatch": {
        "sku": &more.sku, "quantity": { "$lte": MOST_QUANTITY - more.quantity },
    } };
    let has_room = doc! { "$or": [
        { "lines": has_room },
        { "lines.sku": { "$ne": &more.sku }, last: { "$exists": false } },
    ] };
    let grown = changed(doc! {
        "quantity": { "$add": ["$$this.quantity", more.quantity] },
        "held": { "$add": ["$$this.held", more.held] },
    });
    let fresh = whole(doc! {
        "sku": literal(&more.sku),
        "quantity": more.quantity,
        "held": more.held,
        "title": literal(&more.title),
        "type": literal(&more.kind),
        "unitPrice": more.unit_price,
    });
    let lines = choose(
        doc! { "$in": [literal(&more.sku), "$lines.sku"] },
        map("$lines", choose(is_of(&more.sku), grown, "$$this")),
        append("$lines", vec![fresh]),
    );
    changed_lines(cart, has_room, doc! { "lines": lines })
}

/// A new quantity, guarded by the line as it was read. What it held beyond `held` is written to the outbox. A
/// line of quantity zero is removed.
pub(super) fn set_line(
    cart: &CartDocument,
    read: &CartLine,
    quantity: i64,
    held: i64,
    tag: &str,
) -> Change {
    let as_read = doc! { "sku": &read.sku, "quantity": read.quantity, "held": read.held };
    let lines = if quantity == 0 {
        filter("$lines", doc! { "$ne": ["$$this.sku", literal(&read.sku)] })
    } else {
        let now = changed(doc! { "quantity": quantity, "held": held });
        map("$lines", choose(is_of(&read.sku), now, "$$this"))
    };
    let mut set = doc! { "lines": lines };
    if read.held > held {
        let entry = whole(doc! {
            "tag": literal(tag),
            "sku": literal(&read.sku),
            "quantity": read.held - held,
            "at": "$$NOW",
        });
        set.insert("outbox", append("$outbox", vec![entry]));
    }
    changed_lines(cart, doc! { "lines": { "$elemMatch": as_read } }, set)
}

/// A change of the lines of an active cart.
fn changed_lines(cart: &CartDocument, guard: Document, mut set: Document) -> Change {
    set.insert("modifiedAt", "$$NOW");
    Change { id: cart.id.clone(), guard: both(active_as_read(cart), guard), set }
}

/// Settles an outbox entry that was applied. The time of this write decides when the receiver's mark is
/// retired: an attempt that read the entry before may still repeat the apply.
pub(super) async fn note_return(app: &App, id: &str, tag: &str) -> Outcome<()> {
    let rest = filter("$outbox", doc! { "$ne": ["$$this.tag", literal(tag)] });
    let update = doc! { "$set": { "outbox": rest, "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>()
        .guarded(doc! { "_id": id, "outbox.tag": tag }, vec![update])
        .done()
        .await
}

/// Marks the cart as being cancelled by its shopper.
pub(super) async fn mark_cancelling(
    app: &App,
    cart: &CartDocument,
    attempt: &Attempt,
) -> Outcome<CartDocument> {
    let guard = active_as_read(cart);
    let update = doc! { "$set": { "state": CartState::Cancelling, "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>()
        .guarded(guard, vec![update])
        .within(attempt)
        .once()
        .apply()
        .await
}

/// Marks the cart as expiring if it is still unchanged for `idle_millis`.
pub(super) async fn mark_expiring(
    app: &App,
    id: &str,
    idle_millis: i64,
    attempt: &Attempt,
) -> Outcome<CartDocument> {
    let guard =
        both(doc! { "_id": id, "state": CartState::Active }, older_than("modifiedAt", idle_millis));
    let update = doc! { "$set": { "state": CartState::Expiring, "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>()
        .guarded(guard, vec![update])
        .within(attempt)
        .once()
        .apply()
        .await
}

/// Changes the state from `from` to `to` after everything was returned.
pub(super) async fn mark_closed(
    app: &App,
    id: &str,
    from: CartState,
    to: CartState,
) -> Outcome<CartDocument> {
    let guard = doc! { "_id": id, "state": from, "outbox": [] };
    let update = doc! { "$set": { "state": to, "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>().guarded(guard, vec![update]).once().apply().await
}

/// Removes an expired cart.
pub(super) async fn remove_expired(app: &App, id: &str) -> Outcome<()> {
    let guard = doc! { "_id": id, "state": CartState::Expired };
    app.collection::<CartDocument>().remove(guard).await
}

/// Carts in `state` that weren't changed since `before`, least recently changed first.
pub(super) async fn list_untouched(
    app: &App,
    state: CartState,
    before: DateTime,
    limit: i64,
) -> Result<Vec<CartDocument>, Error> {
    let filter = doc! { "state": state, "modifiedAt": { "$lt": before } };
    let sort = doc! { "modifiedAt": 1, "_id": 1 };
    app.collection::<CartDocument>().list(List { filter, sort, limit, ..List::default() }).await
}

/// Carts with an outbox entry older than `before`.
pub(super) async fn list_with_old_returns(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<CartDocument>, Error> {
    let filter = doc! { "outbox.at": { "$lt": before } };
    // Not sorted: the index returns the oldest first. A sort by the least element of an array couldn't use
    // it.
    let hint = Some("outbox_at");
    app.collection::<CartDocument>().list(List { filter, limit, hint, ..List::default() }).await
}

/// The carts with these ids, with majority read concern.
pub(super) async fn list_of_ids(app: &App, ids: &[&str]) -> Result<Vec<CartDocument>, Error> {
    let filter = doc! { "_id": { "$in": ids } };
    let limit = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    app.collection::<CartDocument>().list(List { filter, limit, ..List::default() }).await
}

/// Calls `each` for every cart.
pub(super) async fn for_each(
    app: &App,
    each: impl FnMut(CartDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    app.collection::<CartDocument>().for_each(each).await
}

/// Expression: the line `$$this` is of the SKU.
fn is_of(sku: &str) -> Document {
    doc! { "$eq": ["$$this.sku", literal(sku)] }
}
