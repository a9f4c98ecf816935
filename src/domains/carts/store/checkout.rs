//! The guarded writes of a cart that is being checked out. All but the claim name the checkout that
//! they belong to, so that whoever comes late from an earlier one changes nothing.

use mongodb::bson::{DateTime, Document, doc};

use super::super::documents::{CartDocument, CartState, Checkout};
use crate::{
    app::App,
    error::Error,
    mongo::{
        Outcome, Run,
        collection::List,
        expression::{literal, map, stored},
        guarded::Guarded,
        keyset,
    },
};

/// ACTIVE → PENDING: there are lines, nothing is still to be returned, no other checkout was begun
/// since `attempts` was read, nobody took the cart over since, and the lines still cost the total that
/// the payer was checked for.
/// Freezes the lines by leaving ACTIVE.
pub(in super::super) async fn claim(
    app: &App,
    cart: &CartDocument,
    checkout: &Checkout,
    run: &Run,
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
    app.collection::<CartDocument>().guarded(guard, update).within(run).once().apply().await
}

/// Sum of the lines: of Longs, an exact Long.
fn total() -> Document {
    let line = doc! { "$multiply": ["$$this.quantity", "$$this.unitPrice"] };
    doc! { "$sum": map("$lines", line) }
}

/// PENDING → PAID: the decision of the checkout. The cart is now whoever's checked it out.
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

/// PENDING → VOIDING: the checkout can't be paid any more.
pub(in super::super) async fn mark_voiding(
    app: &App,
    id: &str,
    checkout: &str,
) -> Outcome<CartDocument> {
    turn(app, id, checkout, CartState::Pending, CartState::Voiding).once().apply().await
}

/// PAID → COMPLETE: everything was given.
pub(in super::super) async fn mark_complete(app: &App, id: &str, checkout: &str) -> Outcome<()> {
    turn(app, id, checkout, CartState::Paid, CartState::Complete).done().await
}

/// VOIDING → ACTIVE: nothing of the checkout is left.
pub(in super::super) async fn mark_active(app: &App, id: &str, checkout: &str) -> Outcome<()> {
    let guard = of_checkout(id, checkout, CartState::Voiding);
    let update = vec![
        doc! { "$set": { "state": CartState::Active, "modifiedAt": "$$NOW" } },
        doc! { "$unset": "checkout" },
    ];
    app.collection::<CartDocument>().guarded(guard, update).done().await
}

/// From one state to the next. `modifiedAt` moves as well: marks are retired a while after it.
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

/// Carts in `of` whose checkout's deadline lies before `before`, behind `last`.
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
