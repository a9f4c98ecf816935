//! MongoDB access of the orders.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::documents::{Give, OrderDocument, OrderLine, OrderPayment, OrderState, Raise};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op},
    graphql::page::Page,
    mongo::{
        Outcome,
        collection::List,
        expression::{append, both, changed, choose, filter, literal, map, stored, whole},
    },
};

/// The result of a commit for an order.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// New state.
    pub(super) state: OrderState,
    /// New lines.
    pub(super) lines: Vec<OrderLine>,
    /// Sum of the new lines.
    pub(super) total: i64,
    /// New payments.
    pub(super) payments: Vec<OrderPayment>,
    /// New outbox entries, each with its tag.
    pub(super) owed: Vec<(String, Give)>,
    /// Tag of the raise that it commits, if it is a raise.
    pub(super) raise: Option<String>,
}

/// Begins an attempt with the order as its first read.
pub(super) async fn open(app: &App, id: &str) -> Result<(Attempt, Option<OrderDocument>), Error> {
    app.collection::<OrderDocument>().open(app.bounds(), id).await
}

pub(super) async fn find(app: &App, id: &str) -> Result<Option<OrderDocument>, Error> {
    app.collection::<OrderDocument>().get_settled(id).await
}

pub(super) async fn page_of_owner(
    app: &App,
    owner: &str,
    page: &Page,
) -> Result<Vec<OrderDocument>, Error> {
    list(app, page.list(doc! { "owner": owner })).await
}

async fn list(app: &App, list: List) -> Result<Vec<OrderDocument>, Error> {
    app.collection::<OrderDocument>().list(list).await
}

/// Inserts the order of a checkout. Refused if the order or its tombstone exists.
pub(super) async fn insert(app: &App, order: OrderDocument) -> Outcome<()> {
    app.collection().insert(order).await
}

/// Commits a decision that was computed from the order at `revision`, once per op.
pub(super) async fn decide(
    app: &App,
    id: &str,
    revision: i64,
    decision: &Decision,
    op: &Op,
) -> Outcome<OrderDocument> {
    let guard = both(at(id, revision), op.guard(&op.id, app.bounds()));
    let owed = decision.owed.iter().map(|(tag, give)| {
        whole(doc! { "tag": literal(tag), "give": literal(stored(give)), "at": "$$NOW" })
    });
    let mut set = doc! {
        "state": stored(&decision.state),
        "lines": literal(stored(&decision.lines)),
        "total": decision.total,
        "payments": literal(stored(&decision.payments)),
        "outbox": append("$outbox", owed.collect()),
        "ops": op.applied(&op.id, app.bounds()),
    };
    if let Some(raise) = &decision.raise {
        set.insert("raises", without(raise));
    }
    app.collection::<OrderDocument>().guarded(guard, turned(set)).once().apply().await
}

/// Records a raise before anything is reserved for it.
pub(super) async fn push_raise(
    app: &App,
    id: &str,
    revision: i64,
    raise: &Raise,
    attempt: &Attempt,
) -> Outcome<OrderDocument> {
    let set = doc! { "raises": append("$raises", vec![literal(stored(raise))]) };
    app.collection::<OrderDocument>()
        .guarded(at(id, revision), turned(set))
        .within(attempt)
        .once()
        .apply()
        .await
}

/// Aborts a raise: no commit finds it any more.
pub(super) async fn mark_voiding(app: &App, id: &str, raise: &str) -> Outcome<()> {
    let voided = changed(doc! { "voiding": true });
    let set = doc! { "raises": map("$raises", choose(is_tagged(raise), voided, "$$this")) };
    let guard = with_raise(id, raise, false);
    app.collection::<OrderDocument>().guarded(guard, turned(set)).done().await
}

/// Removes an aborted raise, after its reservations were released.
pub(super) async fn remove_raise(app: &App, id: &str, raise: &str) -> Outcome<()> {
    let set = doc! { "raises": without(raise) };
    let guard = with_raise(id, raise, true);
    app.collection::<OrderDocument>().guarded(guard, turned(set)).done().await
}

/// Settles applied entries and marks deferred ones. If an order that is being cancelled owes nothing more, it
/// becomes cancelled. The time of the first write stays: an attempt that reads the order after it applies
/// nothing.
pub(super) async fn mark_given(
    app: &App,
    id: &str,
    given: &[String],
    deferred: &[String],
) -> Outcome<OrderDocument> {
    let noted = choose(is_one_of(deferred), first_noted("deferred"), "$$this");
    let noted = choose(is_one_of(given), first_noted("given"), noted);
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
    let tags = [given, deferred].concat();
    let guard = doc! { "_id": id, "outbox.tag": { "$in": tags } };
    app.collection::<OrderDocument>().guarded(guard, update).apply().await
}

/// Expression: the element `$$this` with the server's time in `field`, unless `field` is set.
fn first_noted(field: &str) -> Bson {
    changed(doc! { field: { "$ifNull": [format!("$$this.{field}"), "$$NOW"] } })
}

/// Expression: the element `$$this` has one of these tags.
fn is_one_of(tags: &[String]) -> Document {
    doc! { "$in": ["$$this.tag", literal(tags.to_vec())] }
}

/// Removes outbox entries whose marks are retired.
pub(super) async fn pull_given(app: &App, id: &str, tags: &[String]) -> Outcome<()> {
    let given = doc! { "tag": { "$in": tags }, "given": { "$exists": true } };
    let update = doc! { "$pull": { "outbox": given } };
    app.collection::<OrderDocument>().guarded(doc! { "_id": id }, update).done().await
}

/// Replaces a cancelled order by its tombstone in one update.
pub(super) async fn replace_by_stone(app: &App, id: &str) -> Outcome<OrderDocument> {
    let guard = doc! {
        "_id": id,
        "state": stored(&OrderState::Cancelled),
        "deleted": { "$ne": true },
        "raises": { "$size": 0 },
    };
    // Amounts and payments stay. So do recently settled entries, because their marks are still to be retired.
    let stone = doc! { "$replaceWith": {
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
    app.collection::<OrderDocument>().guarded(guard, vec![stone]).once().apply().await
}

/// Orders with outbox entries that were committed at or after `from` and before `before`, oldest first.
pub(super) async fn list_owing(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<Vec<OrderDocument>, Error> {
    // Not sorted: the index returns the oldest first. A sort by the least element of an array couldn't use
    // it.
    let due = doc! { "outbox.at": { "$gte": from, "$lt": before } };
    let (filter, hint) = (due, Some("outbox_at"));
    list(app, List { filter, limit, hint, ..List::default() }).await
}

/// Orders with a raise whose deadline is earlier than `before`, oldest first.
pub(super) async fn list_overdue_raises(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<OrderDocument>, Error> {
    let (filter, hint) = (doc! { "raises.deadline": { "$lt": before } }, Some("raises_deadline"));
    list(app, List { filter, limit, hint, ..List::default() }).await
}

/// Calls `each` for every order, for the invariants.
pub(super) async fn for_each(
    app: &App,
    each: impl FnMut(OrderDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    app.collection::<OrderDocument>().for_each(each).await
}

/// Guard: the order is as it was read.
fn at(id: &str, revision: i64) -> Document {
    doc! { "_id": id, "revision": revision }
}

/// Guard: the order has this raise, with this value of `voiding`.
fn with_raise(id: &str, raise: &str, voiding: bool) -> Document {
    doc! { "_id": id, "raises": { "$elemMatch": { "tag": raise, "voiding": voiding } } }
}

/// The update that sets `set` and raises the revision.
fn turned(mut set: Document) -> Vec<Document> {
    set.insert("revision", doc! { "$add": ["$revision", 1] });
    set.insert("changedAt", "$$NOW");
    vec![doc! { "$set": set }]
}

/// Expression: the raises without this one.
fn without(raise: &str) -> Bson {
    filter("$raises", doc! { "$not": [is_tagged(raise)] })
}

/// Expression: the element `$$this` has this tag.
fn is_tagged(tag: &str) -> Document {
    doc! { "$eq": ["$$this.tag", literal(tag)] }
}
