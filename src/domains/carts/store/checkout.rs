//! The guarded writes of a cart's checkout. All but the claim name their checkout, so a late write of an
//! earlier checkout changes nothing.

use mongodb::bson::{DateTime, Document, doc};

use super::super::documents::{CartDocument, CartState, Checkout};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    mongo::{
        Outcome,
        collection::List,
        expression::{literal, map, stored},
        guarded::Guarded,
        keyset,
    },
};

/// ACTIVE → PENDING. The guard: there are lines, nothing is still to be returned, no other checkout was begun
/// since `attempts` was read, the owner hasn't changed since, and the lines still have the total for which
/// the payer was checked. Leaving ACTIVE freezes the lines.
pub(in super::super) async fn claim(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    attempt: &Attempt,
) -> Outcome<CartDocument> {
    let guard = doc! {
        "_id": &cart.id,
        "owner": cart.owner.as_deref(),
        "$expr": { "$eq": [total(), checkout.total] },
        "state": CartState::Active,
        "lines.0": { "$exists": true },
        "outbox": { "$size": 0 },
        "attempts": cart.attempts,
    };
    let update = vec![doc! { "$set": {
        "state": CartState::Pending,
        "checkout": literal(stored(checkout)),
        "attempts": { "$add": ["$attempts", 1] },
        "modifiedAt": "$$NOW",
    } }];
    app.collection::<CartDocument>().guarded(guard, update).within(attempt).once().apply().await
}

/// Expression of the sum of the lines; of Longs, so an exact Long.
fn total() -> Document {
    let line = doc! { "$multiply": ["$$this.quantity", "$$this.unitPrice"] };
    doc! { "$sum": map("$lines", line) }
}

/// PENDING → PAID: the commit of the checkout. The cart now belongs to the caller who checked it out.
pub(in super::super) async fn mark_paid(
    app: &App,
    id: &str,
    checkout: &Checkout,
) -> Outcome<CartDocument> {
    let mut set = doc! { "state": CartState::Paid, "modifiedAt": "$$NOW" };
    if let Some(owner) = &checkout.owner {
        set.insert("owner", literal(owner));
    }
    let guard = of_checkout(id, &checkout.id, CartState::Pending);
    let update = vec![doc! { "$set": set }];
    app.collection::<CartDocument>().guarded(guard, update).once().apply().await
}

/// PENDING → VOIDING: the abort. The checkout can't be paid any more.
pub(in super::super) async fn mark_voiding(
    app: &App,
    id: &str,
    checkout: &str,
) -> Outcome<CartDocument> {
    turn(app, id, checkout, CartState::Pending, CartState::Voiding).once().apply().await
}

/// PAID → COMPLETE: everything was applied.
pub(in super::super) async fn mark_complete(app: &App, id: &str, checkout: &str) -> Outcome<()> {
    turn(app, id, checkout, CartState::Paid, CartState::Complete).done().await
}

/// VOIDING → ACTIVE: everything that the checkout had reserved was released.
pub(in super::super) async fn mark_active(app: &App, id: &str, checkout: &str) -> Outcome<()> {
    let guard = of_checkout(id, checkout, CartState::Voiding);
    let update = vec![
        doc! { "$set": { "state": CartState::Active, "modifiedAt": "$$NOW" } },
        doc! { "$unset": "checkout" },
    ];
    app.collection::<CartDocument>().guarded(guard, update).done().await
}

/// Changes the state. `modifiedAt` changes as well, because the time at which marks are retired depends on
/// it.
fn turn(
    app: &App,
    id: &str,
    checkout: &str,
    from: CartState,
    to: CartState,
) -> Guarded<CartDocument> {
    let update = vec![doc! { "$set": { "state": to, "modifiedAt": "$$NOW" } }];
    app.collection::<CartDocument>().guarded(of_checkout(id, checkout, from), update)
}

fn of_checkout(id: &str, checkout: &str, from: CartState) -> Document {
    doc! { "_id": id, "state": from, "checkout.id": checkout }
}

/// Carts in the state `of` whose checkout has a deadline earlier than `before`, from behind `last` on.
pub(in super::super) async fn list_overdue(
    app: &App,
    of: CartState,
    before: DateTime,
    last: Option<&CartDocument>,
    limit: i64,
) -> Result<Vec<CartDocument>, Error> {
    let filter = doc! { "state": of, "checkout.deadline": { "$lt": before } };
    let keys = [("modifiedAt", 1), ("_id", 1)];
    let filter = match last {
        Some(last) => {
            keyset::beyond(filter, &keys, &[last.modified_at.into(), last.id.as_str().into()])
        }
        None => filter,
    };
    let sort = keyset::sort(&keys);
    app.collection::<CartDocument>()
        .list(List { filter, sort, limit, hint: Some("state_modified"), ..List::default() })
        .await
}
