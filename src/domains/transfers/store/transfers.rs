//! MongoDB access of the collection `transfers`.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::super::documents::{
    TransferDocument, TransferKind, TransferReason, TransferState, stored,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::page::Page,
    mongo::{
        Outcome,
        collection::List,
        expression::{append, both, literal, older_than, whole},
        guarded::Guarded,
        keyset,
    },
};

pub(in super::super) async fn find_transfer(
    app: &App,
    id: &str,
) -> Result<Option<TransferDocument>, Error> {
    app.collection::<TransferDocument>().get_settled(id).await
}

/// Begins an attempt with the transfer as its first read.
pub(in super::super) async fn open_transfer(
    app: &App,
    id: &str,
) -> Result<(Attempt, Option<TransferDocument>), Error> {
    app.collection::<TransferDocument>().open(app.bounds(), id).await
}

pub(in super::super) async fn insert_transfer(
    app: &App,
    transfer: TransferDocument,
) -> Outcome<()> {
    app.collection().insert(transfer).await
}

pub(in super::super) async fn list_statement(
    app: &App,
    account: &str,
    page: &Page,
) -> Result<Vec<TransferDocument>, Error> {
    app.collection::<TransferDocument>().list(page.list(doc! { "accounts": account })).await
}

pub(in super::super) async fn list_in_state(
    app: &App,
    state: TransferState,
    page: &Page,
) -> Result<Vec<TransferDocument>, Error> {
    app.collection::<TransferDocument>().list(page.list(doc! { "state": stored(state) })).await
}

/// Transfers that were begun before `before` and are still in `state`, oldest first, from behind `last` on.
/// Pending payments are left to their checkouts.
pub(in super::super) async fn list_unfinished(
    app: &App,
    state: TransferState,
    before: DateTime,
    last: Option<&TransferDocument>,
    limit: i64,
) -> Result<Vec<TransferDocument>, Error> {
    const ORDER: &[keyset::SortKey] = &[("at", 1), ("_id", 1)];
    let mut filter = doc! { "state": stored(state), "at": { "$lt": before } };
    if state == TransferState::Pending {
        filter.insert("kind", doc! { "$ne": stored(TransferKind::Payment) });
    }
    if let Some(last) = last {
        let values = [Bson::DateTime(last.at), Bson::String(last.id.clone())];
        filter = keyset::beyond(filter, ORDER, &values);
    }
    app.collection::<TransferDocument>()
        .list(List { filter, sort: keyset::sort(ORDER), limit, ..List::default() })
        .await
}

/// Payments that were begun before `before` and are neither captured nor voided, oldest first.
pub(in super::super) async fn list_undecided_payments(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<TransferDocument>, Error> {
    let open = [stored(TransferState::Pending), stored(TransferState::Authorised)];
    let filter = doc! {
        "state": { "$in": open.to_vec() },
        "at": { "$lt": before },
        "kind": stored(TransferKind::Payment),
    };
    app.collection::<TransferDocument>()
        .list(List { filter, sort: doc! { "at": 1, "_id": 1 }, limit, ..List::default() })
        .await
}

/// Claims the transfer as it was read for this attempt, and changes its state to `to` in the same write.
/// Refused while the previous claim may still move money. An authorised transfer has no such claim: it ended
/// with the write of that state.
pub(in super::super) async fn claim(
    app: &App,
    read: &TransferDocument,
    to: TransferState,
    reason: Option<TransferReason>,
    attempt: &Attempt,
) -> Outcome<TransferDocument> {
    let mut guard = as_read(read);
    if read.state != TransferState::Authorised {
        let bounds = app.bounds();
        let late = i64::try_from((bounds.command + bounds.skew).as_millis()).unwrap_or(i64::MAX);
        guard = both(guard, older_than("deadline", late));
    }
    let mut set = step_to(to, reason);
    set.insert("fence", read.fence + 1);
    set.insert("worker", literal(app.name()));
    set.insert("deadline", attempt.deadline());
    if to == read.state {
        set.remove("history");
    }
    write(app, guard, set).within(attempt).apply().await
}

/// The commit, and the end of an authorisation. Only before the claim's deadline.
pub(in super::super) async fn decide(
    app: &App,
    claimed: &TransferDocument,
    to: TransferState,
    attempt: &Attempt,
) -> Outcome<TransferDocument> {
    write(app, as_read(claimed), step_to(to, None)).within(attempt).apply().await
}

/// Any other step of the claim's holder. The fence is a sufficient guard, because the step moves no money.
pub(in super::super) async fn mark(
    app: &App,
    claimed: &TransferDocument,
    to: TransferState,
    reason: Option<TransferReason>,
) -> Outcome<TransferDocument> {
    write(app, as_read(claimed), step_to(to, reason)).apply().await
}

/// Cancels a transfer that isn't committed, whoever holds the claim. With `by`, only one that this subject
/// requested, and no payment or refund.
pub(in super::super) async fn mark_cancelling(
    app: &App,
    id: &str,
    by: Option<&str>,
    reason: TransferReason,
) -> Outcome<TransferDocument> {
    let mut guard = doc! { "_id": id, "state": stored(TransferState::Pending) };
    if let Some(by) = by {
        guard.insert("by", by);
        let owed = [stored(TransferKind::Payment), stored(TransferKind::Refund)];
        guard.insert("kind", doc! { "$nin": owed.to_vec() });
    }
    write(app, guard, step_to(TransferState::Cancelling, Some(reason))).apply().await
}

/// Calls `each` for every transfer.
pub(in super::super) async fn each_transfer(
    app: &App,
    each: impl FnMut(TransferDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    app.collection::<TransferDocument>().for_each(each).await
}

/// Guard: state and fence are as they were read.
fn as_read(read: &TransferDocument) -> Document {
    doc! { "_id": &read.id, "state": stored(read.state), "fence": read.fence }
}

fn step_to(state: TransferState, reason: Option<TransferReason>) -> Document {
    let step = whole(doc! { "state": literal(stored(state)), "at": "$$NOW" });
    let mut set = doc! {
        "state": literal(stored(state)),
        "history": append("$history", vec![step]),
    };
    if let Some(reason) = reason {
        set.insert("reason", literal(stored(reason)));
    }
    set
}

fn write(app: &App, guard: Document, set: Document) -> Guarded<TransferDocument> {
    app.collection::<TransferDocument>().guarded(guard, vec![doc! { "$set": set }]).once()
}
