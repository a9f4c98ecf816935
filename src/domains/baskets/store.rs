//! Writes and lists of baskets of any kind. The guarded writes are values: the caller adds its attempt and sends them.

use std::{marker::PhantomData, time::Duration};

use super::{Basket, State, Terms};
use crate::{
    flow::Bounds,
    graphql::prelude::*,
    mongo::{migrations::Upgrade, prelude::*},
};

/// Number of baskets that one command of the sweep reads.
pub(super) const BATCH: i64 = 100;

/// The baskets of a kind.
pub fn baskets<B: Basket>(app: &App) -> Collection<B> {
    app.collection()
}

/// Limits of the flows and op records of a basket.
pub fn bounds<B: Basket>(app: &App) -> Bounds {
    app.bounds().remembering(B::MOST_OPS)
}

/// The owner's most recently changed active basket. The collection of each kind has the index `owner_modified`.
///
/// # Errors
/// The read failed.
pub async fn find_active_of<B: Basket>(app: &App, owner: &str) -> Result<Option<B>> {
    let filter = doc! { "owner": owner, "state": State::Active };
    let sort = doc! { "modifiedAt": -1, "_id": -1 };
    baskets(app).first(List { filter, sort, hint: Some("owner_modified"), ..List::default() }).await
}

/// A page of the baskets in `state` that were last changed at `from` or later and before `before`, least recently changed
/// first.
pub(super) async fn list_untouched<B: Basket>(
    app: &App,
    state: State,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<B>> {
    let filter = doc! { "state": state, "modifiedAt": { "$gte": from, "$lt": before } };
    let sort = doc! { "modifiedAt": 1, "_id": 1 };
    let list = List { filter, sort, limit, ..List::default() };
    baskets(app).list_swept(("modifiedAt", from), list).await
}

/// The part of a basket by which the sweep finds its checkout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct CheckedOut<B> {
    /// `_id` of the basket.
    #[serde(rename = "_id")]
    pub id: String,
    #[serde(skip)]
    of: PhantomData<fn() -> B>,
}

impl<B: Basket> Stored for CheckedOut<B> {
    const COLLECTION: &'static str = B::COLLECTION;
    const GROUP: Group = B::GROUP;
    const UPGRADES: &'static [Upgrade] = B::UPGRADES;
}

/// A page of the baskets that match, least recently changed first.
async fn list_checked_out<B: Basket>(
    app: &App,
    filter: Document,
    from: DateTime,
    limit: i64,
) -> Result<SweptPage<CheckedOut<B>>> {
    let list = List {
        filter,
        sort: doc! { "modifiedAt": 1, "_id": 1 },
        limit,
        projection: Some(doc! { "modifiedAt": 1 }),
        hint: Some("state_modified"),
        ..List::default()
    };
    app.collection().list_swept(("modifiedAt", from), list).await
}

/// A page of the baskets in `state` that were last changed at `from` or later, and whose checkout's deadline is earlier than
/// `before`, least recently changed first.
pub async fn list_overdue<B: Basket>(
    app: &App,
    state: State,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<CheckedOut<B>>> {
    let is_overdue = doc! { "checkout.deadline": { "$lt": before } };
    let filter = doc! { "state": state, "modifiedAt": { "$gte": from } };
    list_checked_out(app, both(filter, is_overdue), from, limit).await
}

/// A page of the baskets that were decided at `from` or later and before `before` by a checkout without a claim, and aren't
/// complete, least recently changed first.
pub async fn list_decided<B: Basket>(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<CheckedOut<B>>> {
    let since = doc! { "$gte": from, "$lt": before };
    let filter = doc! { "state": B::DECIDED, "modifiedAt": since };
    list_checked_out(app, filter, from, limit).await
}

/// Fields of a change of a basket. `modifiedAt` changes as well: when it expires and when marks are retired depends on it.
pub fn now(mut set: Document) -> Document {
    set.insert("modifiedAt", "$$NOW");
    set
}

/// A change of a basket.
pub fn modified<B: Basket>(app: &App, guard: Document, set: Document) -> Guarded<B> {
    baskets(app).set(guard, now(set))
}

/// Guard: the basket is active and its owner is as it was read.
pub fn active_as_read(basket: &impl Basket) -> Document {
    doc! { "_id": basket.id(), "state": State::Active, "owner": basket.owner() }
}

/// ACTIVE → CANCELLING.
pub(super) fn cancel<B: Basket>(app: &App, basket: &B) -> Guarded<B> {
    modified(app, active_as_read(basket), doc! { "state": State::Cancelling })
}

/// ACTIVE → EXPIRING, if the basket is still idle.
pub(super) fn expire<B: Basket>(app: &App, id: &str) -> Guarded<B> {
    let is_idle = older_than("modifiedAt", Duration::from_secs(B::idle_seconds(app.config())));
    let guard = both(doc! { "_id": id, "state": State::Active }, is_idle);
    modified(app, guard, doc! { "state": State::Expiring })
}

/// The end of a closing, after everything was given back.
pub(super) fn end<B: Basket>(app: &App, basket: &B, state: State) -> Guarded<B> {
    let guard = doc! { "_id": basket.id(), "state": basket.state(), "outbox": [] };
    let mut set = B::ended(app.config());
    set.insert("state", state);
    modified(app, guard, set)
}

/// Settles an outbox entry that was applied. The time of this write decides when the receiver's mark is retired: an attempt
/// that read the entry before may still repeat the apply.
pub fn settle<B: Basket>(app: &App, id: &str, tag: &str) -> Guarded<B> {
    let rest = without("$outbox", "tag", tag);
    modified(app, doc! { "_id": id, "outbox.tag": tag }, doc! { "outbox": rest })
}

/// ACTIVE → PENDING: the content as it was read is frozen for a checkout with a claim. The guard includes that no other checkout
/// was started since then.
pub fn freeze<B: Basket>(app: &App, basket: &B, checkout: &B::Checkout) -> Guarded<B> {
    let unbegun = doc! { B::CHECKOUTS: basket.checkouts() };
    let set = doc! {
        "state": State::Pending,
        "checkout": literal(stored(checkout)),
        B::CHECKOUTS: { "$add": [format!("${}", B::CHECKOUTS), 1] },
    };
    modified(app, both(active_as_read(basket), both(basket.as_read(), unbegun)), set)
}

/// Guard: the basket is in this state of this checkout. A late write of an earlier checkout changes nothing.
fn of_checkout(id: &str, checkout: Terms<'_>, state: State) -> Document {
    doc! { "_id": id, "state": state, "checkout.id": checkout.id }
}

/// The fields of a basket whose checkout has decided: from here it only goes forward. It belongs to the caller who checked
/// it out.
fn decided(state: &str, checkout: Terms<'_>) -> Document {
    let mut set = doc! { "state": state };
    if let Some(owner) = checkout.owner {
        set.insert("owner", literal(owner));
    }
    set
}

/// PENDING → PAID: the commit of a checkout with a claim.
pub fn pay<B: Basket>(app: &App, id: &str, checkout: Terms<'_>) -> Guarded<B> {
    let guard = of_checkout(id, checkout, State::Pending);
    modified(app, guard, decided(State::Paid.stored(), checkout))
}

/// ACTIVE → PAID at once: the commit of a checkout without a claim, for which everything is reserved.
pub fn decide<B: Basket>(basket: &B, checkout: &B::Checkout) -> Change {
    let mut set = now(decided(B::DECIDED, B::terms(checkout)));
    set.insert("checkout", literal(stored(checkout)));
    Change::new(basket.id(), both(active_as_read(basket), basket.as_read()), set)
}

/// Whether the basket was decided by this decision. Another attempt of the same call has the same tag, but its own deadline, or
/// another owner.
pub fn is_decided_by<B: Basket>(basket: &B, checkout: &B::Checkout) -> Document {
    let Terms { tag, owner, deadline, .. } = B::terms(checkout);
    let owner = owner.or_else(|| basket.owner());
    doc! { "_id": basket.id(), "checkout.tag": tag, "checkout.deadline": deadline, "owner": owner }
}

/// PAID → COMPLETE, after everything that the checkout owed was applied. The payment token goes, because nothing is authorised with
/// it any more. An order has its own copy, for pieces that are added.
pub fn complete<B: Basket>(app: &App, id: &str, checkout: Terms<'_>) -> Guarded<B> {
    let guard = match checkout.tag {
        Some(tag) => doc! { "_id": id, "state": B::DECIDED, "checkout.tag": tag },
        None => of_checkout(id, checkout, State::Paid),
    };
    modified(app, guard, doc! { "state": State::Complete, "checkout.payment.token": "$$REMOVE" })
}

/// PENDING → VOIDING: the abort. The checkout can't be paid any more.
pub fn abort<B: Basket>(app: &App, id: &str, checkout: Terms<'_>) -> Guarded<B> {
    let guard = of_checkout(id, checkout, State::Pending);
    modified(app, guard, doc! { "state": State::Voiding })
}

/// VOIDING → ACTIVE, after everything that the checkout had reserved was released.
pub fn reactivate<B: Basket>(app: &App, id: &str, checkout: Terms<'_>) -> Guarded<B> {
    let set = doc! { "$set": now(doc! { "state": State::Active }) };
    let update = vec![set, doc! { "$unset": "checkout" }];
    baskets(app).guarded(of_checkout(id, checkout, State::Voiding), update)
}
