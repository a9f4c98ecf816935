//! Every MongoDB call of the carts.

pub(super) mod checkout;

use mongodb::bson::{DateTime, Document, doc};

use super::{
    MOST_CHANGES, MOST_LINES, MOST_QUANTITY,
    documents::{CartDocument, CartLine, CartState},
};
use crate::{
    app::App,
    error::Error,
    mongo::{
        Bounds, Outcome, Run,
        collection::List,
        expression::{append, both, changed, choose, filter, literal, map, older_than, whole},
        flow::{Op, void_guard, voided},
    },
};

/// For clients: as the primary has it.
pub(super) async fn find(app: &App, id: &str) -> Result<Option<CartDocument>, Error> {
    app.collection::<CartDocument>().get(id).await
}

/// For flows: as a majority has it.
pub(super) async fn find_settled(app: &App, id: &str) -> Result<Option<CartDocument>, Error> {
    app.collection::<CartDocument>().get_settled(id).await
}

/// Opens a run with the cart.
pub(super) async fn open(app: &App, id: &str) -> Result<(Run, Option<CartDocument>), Error> {
    app.collection::<CartDocument>().open(app.bounds(), id).await
}

pub(super) async fn insert(app: &App, cart: CartDocument) -> Outcome<()> {
    app.collection().insert(cart).await
}

/// The bounds of changes of a cart.
pub(super) fn bounds(app: &App) -> Bounds {
    app.bounds().remembering(MOST_CHANGES)
}

/// Of the owner's active carts the one that changed last.
pub(super) async fn find_active_of(app: &App, owner: &str) -> Result<Option<CartDocument>, Error> {
    let filter = doc! { "owner": owner, "state": CartState::Active };
    let sort = doc! { "modifiedAt": -1, "_id": -1 };
    let (limit, hint) = (1, Some("owner_modified"));
    let read = List { filter, sort, limit, hint, ..List::default() };
    Ok(app.collection::<CartDocument>().list(read).await?.pop())
}

/// Makes `owner` the owner of an active cart that has none.
pub(super) async fn mark_owned(
    app: &App,
    id: &str,
    owner: &str,
    run: &Run,
) -> Outcome<CartDocument> {
    let guard = doc! { "_id": id, "state": CartState::Active, "owner": null };
    let update = doc! { "$set": { "owner": literal(owner), "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>().guarded(guard, vec![update]).within(run).once().apply().await
}

/// The cart while it is active and its owner is as it was read.
fn active_as_read(cart: &CartDocument) -> Document {
    doc! { "_id": &cart.id, "state": CartState::Active, "owner": cart.owner.as_deref() }
}

/// Decides an addition: the line grows by `more.quantity` and `more.held`, or is pushed as it is.
/// A line that is there keeps its price.
pub(super) async fn add_to_line(
    app: &App,
    cart: &CartDocument,
    more: &CartLine,
    op: &Op,
    tag: &str,
    run: &Run,
) -> Outcome<CartDocument> {
    let last = format!("lines.{}", MOST_LINES - 1);
    let has_room = doc! { "$elemMatch": {
        "sku": &more.sku, "quantity": { "$lte": MOST_QUANTITY - more.quantity },
    } };
    let has_room = doc! { "$or": [
        { "lines": has_room },
        { "lines.sku": { "$ne": &more.sku }, last: { "$exists": false } },
    ] };
    let guard = both(active_as_read(cart), has_room);
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
    let update = doc! { "$set": {
        "lines": choose(
            doc! { "$in": [literal(&more.sku), "$lines.sku"] },
            map("$lines", choose(is_of(&more.sku), grown, "$$this")),
            append("$lines", vec![fresh]),
        ),
        "ops": op.applied(tag, bounds(app)),
        "modifiedAt": "$$NOW",
    } };
    app.collection::<CartDocument>()
        .guarded(both(guard, op.guard(tag, bounds(app))), vec![update])
        .within(run)
        .once()
        .apply()
        .await
}

/// Decides a new quantity, guarded by the line's being as it was read. What it held beyond `held`
/// is written to the outbox; a line of nothing goes.
#[expect(clippy::too_many_arguments, reason = "the line before, the line after, and the flow")]
pub(super) async fn set_line(
    app: &App,
    cart: &CartDocument,
    read: &CartLine,
    quantity: i64,
    held: i64,
    op: &Op,
    tag: &str,
    run: &Run,
) -> Outcome<CartDocument> {
    let as_read = doc! { "sku": &read.sku, "quantity": read.quantity, "held": read.held };
    let guard = both(active_as_read(cart), doc! { "lines": { "$elemMatch": as_read } });
    let lines = if quantity == 0 {
        filter("$lines", doc! { "$ne": ["$$this.sku", literal(&read.sku)] })
    } else {
        let now = changed(doc! { "quantity": quantity, "held": held });
        map("$lines", choose(is_of(&read.sku), now, "$$this"))
    };
    let mut set = doc! {
        "lines": lines, "ops": op.applied(tag, bounds(app)), "modifiedAt": "$$NOW",
    };
    if read.held > held {
        let entry = whole(doc! {
            "tag": literal(tag),
            "sku": literal(&read.sku),
            "quantity": read.held - held,
            "at": "$$NOW",
        });
        set.insert("outbox", append("$outbox", vec![entry]));
    }
    app.collection::<CartDocument>()
        .guarded(both(guard, op.guard(tag, bounds(app))), vec![doc! { "$set": set }])
        .within(run)
        .once()
        .apply()
        .await
}

/// Gives a tag up: it can't be decided any more. Refused where it was decided, or given up before.
pub(super) async fn void(app: &App, id: &str, tag: &str) -> Outcome<()> {
    let update = doc! { "$set": { "ops": voided(tag, bounds(app)) } };
    app.collection::<CartDocument>()
        .guarded(both(doc! { "_id": id }, void_guard(tag)), vec![update])
        .done()
        .await
}

/// Notes that an outbox entry was given. The time of the note is what the mark of the give is kept
/// by: whoever read the entry before may still repeat it.
pub(super) async fn note_return(app: &App, id: &str, tag: &str) -> Outcome<()> {
    let rest = filter("$outbox", doc! { "$ne": ["$$this.tag", literal(tag)] });
    let update = doc! { "$set": { "outbox": rest, "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>()
        .guarded(doc! { "_id": id, "outbox.tag": tag }, vec![update])
        .done()
        .await
}

/// The shopper gives the cart up.
pub(super) async fn mark_cancelling(
    app: &App,
    cart: &CartDocument,
    run: &Run,
) -> Outcome<CartDocument> {
    let guard = active_as_read(cart);
    let update = doc! { "$set": { "state": CartState::Cancelling, "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>().guarded(guard, vec![update]).within(run).once().apply().await
}

/// The cart expires, where it is still untouched for `idle_millis`.
pub(super) async fn mark_expiring(
    app: &App,
    id: &str,
    idle_millis: i64,
    run: &Run,
) -> Outcome<CartDocument> {
    let guard =
        both(doc! { "_id": id, "state": CartState::Active }, older_than("modifiedAt", idle_millis));
    let update = doc! { "$set": { "state": CartState::Expiring, "modifiedAt": "$$NOW" } };
    app.collection::<CartDocument>().guarded(guard, vec![update]).within(run).once().apply().await
}

/// Everything is returned: the cart goes from `from` to `to`.
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

/// Carts in `state` that nothing touched since `before`, longest untouched first.
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

/// Carts with an outbox entry that is older than `before`.
pub(super) async fn list_with_old_returns(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<CartDocument>, Error> {
    let filter = doc! { "outbox.at": { "$lt": before } };
    // Unsorted: the index gives the oldest first, and a sort by an array's least element couldn't
    // use it.
    let hint = Some("outbox_at");
    app.collection::<CartDocument>().list(List { filter, limit, hint, ..List::default() }).await
}

/// The carts with these ids, as a majority has them.
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

/// The line `$$this` of the SKU.
fn is_of(sku: &str) -> Document {
    doc! { "$eq": ["$$this.sku", literal(sku)] }
}
