//! MongoDB access of accounts and transfers. The guarded writes are values: the caller sends them.

use super::documents::{
    AccountDocument, AccountKind, AccountState, LARGEST, MAX_PENDING, SweptTransfer,
    TransferDocument, TransferKind, TransferReason, TransferState, TransferStep, least_balance,
};
use crate::{
    graphql::prelude::*,
    mongo::{batched, prelude::*},
};

/// The payment of a checkout without a claim.
#[derive(Debug, Clone, Copy)]
pub struct Payment<'a> {
    /// Id of the payment, derived from the cart and the tag.
    pub id: &'a str,
    /// The cart that is checked out.
    pub cart: &'a str,
    /// Tag of the checkout.
    pub tag: &'a str,
    /// Account that pays.
    pub payer: &'a str,
    pub amount: Money,
}

pub(super) fn accounts(app: &App) -> Collection<AccountDocument> {
    app.collection()
}

pub(super) fn transfers(app: &App) -> Collection<TransferDocument> {
    app.collection()
}

/// Begins an attempt with the source as its first read, and reads the destination beside it.
pub(super) async fn begin_with_accounts(
    app: &App,
    source: &str,
    destination: &str,
) -> Result<(Attempt, Option<AccountDocument>, Option<AccountDocument>)> {
    let accounts = accounts(app);
    // The same kind of read as the first one, so that both are one command.
    let destination = accounts.get_timed_settled(destination);
    let read = async { tokio::try_join!(app.begin_with(source), destination) };
    let ((attempt, source), destination) = batched(read).await?;
    Ok((attempt, source, destination.map(|timed| timed.document)))
}

/// Why an account isn't closed.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotClosed {
    /// It belongs to somebody else.
    NotOwn,
    /// It is closed already.
    Already,
    /// Payments arrive on it.
    Receiving,
    /// It has a balance or unfinished transfers.
    NotEmpty,
}

/// Closes the owner's account.
pub(super) fn close_account(id: &str, owner: &str) -> Change<NotClosed> {
    let rules = [
        (is("owner", owner), NotClosed::NotOwn),
        (is("state", stored(&AccountState::Open)), NotClosed::Already),
        (is("kind", stored(&AccountKind::Personal)), NotClosed::Receiving),
        (is("balance", 0), NotClosed::NotEmpty),
        (has_room("pending", 1), NotClosed::NotEmpty),
    ];
    Change::ruled(id, rules, doc! { "state": stored(&AccountState::Closed) })
}

/// Why an account keeps its name.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotRenamed {
    /// It belongs to somebody else.
    NotOwn,
    /// It is closed.
    Closed,
}

/// Gives the owner's account another name, or none.
pub(super) fn rename_account(id: &str, owner: &str, name: Option<&str>) -> Change<NotRenamed> {
    let rules = [
        (is("owner", owner), NotRenamed::NotOwn),
        (is("state", stored(&AccountState::Open)), NotRenamed::Closed),
    ];
    Change::ruled(id, rules, doc! { "name": name.map_or("$$REMOVE".into(), literal) }).numbered()
}

/// Why a transfer doesn't change the balance of an account.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotMoved {
    /// It has changed it before.
    Already,
    /// The state of the account doesn't permit it.
    Because(TransferReason),
    /// The account has too many unfinished transfers.
    Busy,
}

/// The reserve: subtracts the amount from the source, once per transfer. A withdrawal is also possible from a
/// closed account, which a refund may have reached later.
fn debit(transfer: &TransferDocument) -> Change<NotMoved> {
    let TransferDocument { id, source, amount, .. } = transfer;
    let mut rules = vec![
        (is_marked(id).negated(), NotMoved::Already),
        (
            at_least("balance", least_balance(source, *amount)),
            NotMoved::Because(TransferReason::InsufficientFunds),
        ),
        (has_room("pending", count(MAX_PENDING)), NotMoved::Busy),
    ];
    if transfer.kind != TransferKind::Withdrawal {
        rules.insert(1, is_open(TransferReason::SourceClosed));
    }
    Change::ruled(source, rules, moved(id, -amount))
}

/// The apply: adds the amount to the destination, once per transfer. A refund always arrives.
fn credit(transfer: &TransferDocument) -> Change<NotMoved> {
    let TransferDocument { id, destination, amount, .. } = transfer;
    let mut rules = vec![(is_marked(id).negated(), NotMoved::Already)];
    if transfer.kind != TransferKind::Refund {
        let cap = Number::FieldOr("cap".into(), LARGEST);
        let fits = at_least(cap, Number::Sum("balance".into(), *amount));
        rules.push(is_open(TransferReason::DestinationClosed));
        rules.push((fits, NotMoved::Because(TransferReason::DestinationFull)));
    }
    Change::ruled(destination, rules, moved(id, *amount))
}

/// The debit or the credit of one of the transfer's accounts.
pub(super) fn movement(transfer: &TransferDocument, account: &str) -> Change<NotMoved> {
    if account == transfer.source { debit(transfer) } else { credit(transfer) }
}

/// Undoes the debit: mark and money change in the same update. It needs no deadline, because it is sent only
/// after the transfer was CANCELLING or RETURNING. Nothing else may be done with the debit then.
pub(super) fn undo(app: &App, transfer: &TransferDocument) -> Guarded<AccountDocument> {
    let TransferDocument { id, source, amount, .. } = transfer;
    let balance = doc! { "$add": ["$balance", *amount] };
    let set = doc! { "balance": balance, "pending": without("$pending", "id", id) };
    accounts(app).change(Change::ruled(source, [(is_marked(id), ())], set))
}

/// Why the money of a payment isn't held.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotHeld {
    /// It is held already.
    Already,
    /// The account isn't one that pays in this currency.
    Other,
    /// It is closed.
    Closed,
    /// It holds less.
    Short,
    /// It has too many unfinished transfers.
    Busy,
}

/// Holds the amount of a payment for a checkout without a claim: it is subtracted from the payer's account, once per
/// payment. The payment itself is inserted later, when the cart has decided under the tag.
pub(super) fn hold(payment: &Payment<'_>) -> Change<NotHeld> {
    let Payment { id, cart, tag, payer, amount } = *payment;
    let needed = amount.minor_units;
    let rules = [
        (is_marked(id).negated(), NotHeld::Already),
        (is("kind", stored(&AccountKind::Personal)), NotHeld::Other),
        (is("currency", stored(&amount.currency)), NotHeld::Other),
        (is("state", stored(&AccountState::Open)), NotHeld::Closed),
        (at_least("balance", needed), NotHeld::Short),
        (has_room("pending", count(MAX_PENDING)), NotHeld::Busy),
    ];
    let mark = whole(doc! {
        "id": literal(id), "amount": -needed, "cart": literal(cart), "tag": literal(tag), "at": "$$NOW",
    });
    let set = doc! {
        "balance": { "$subtract": ["$balance", needed] }, "pending": append("$pending", vec![mark]),
    };
    Change::ruled(payer, rules, set)
}

/// Returns what was held under the id of a payment, whose tag can't decide any more. Mark and money change in the same
/// update, so it needs no deadline.
pub(super) fn release(app: &App, account: &str, payment: &str) -> Guarded<AccountDocument> {
    let held = filter("$pending", element_is("id", payment));
    let held = doc! { "$sum": map(held, "$$this.amount") };
    let set = doc! {
        "balance": { "$subtract": ["$balance", held] },
        "pending": without("$pending", "id", payment),
    };
    accounts(app).change(Change::ruled(account, [(is_marked(payment), ())], set))
}

/// Computes `holdsAt` of an account again. A gateway of a version that doesn't know the field leaves it as it is.
pub(super) fn derive_holds_at(app: &App, id: &str) -> Guarded<AccountDocument> {
    accounts(app).guarded(doc! { "_id": id }, Vec::<Document>::new())
}

/// Removes the mark of a credited transfer.
pub(super) fn retire(app: &App, account: &str, transfer: &str) -> Guarded<AccountDocument> {
    let set = doc! { "pending": without("$pending", "id", transfer) };
    accounts(app).change(Change::ruled(account, [(is_marked(transfer), ())], set))
}

/// The transfer has a mark on the account.
fn is_marked(transfer: &str) -> Condition {
    contains("pending.id", transfer)
}

/// Rule: the account is open.
fn is_open(otherwise: TransferReason) -> (Condition, NotMoved) {
    (is("state", stored(&AccountState::Open)), NotMoved::Because(otherwise))
}

/// The fields that change with the balance: the mark is added.
fn moved(transfer: &str, amount: i64) -> Document {
    let mark = whole(doc! { "id": literal(transfer), "amount": amount });
    doc! { "balance": { "$add": ["$balance", amount] }, "pending": append("$pending", vec![mark]) }
}

/// A page of the transfers from `from` or later and before `before` that are still in `state`, oldest first. Pending payments
/// are left to their checkouts.
pub(super) async fn list_unfinished(
    app: &App,
    state: TransferState,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<SweptTransfer>> {
    let mut filter = doc! { "state": stored(&state), "at": { "$gte": from, "$lt": before } };
    if state == TransferState::Pending {
        filter.insert("kind", doc! { "$ne": stored(&TransferKind::Payment) });
    }
    let sort = doc! { "at": 1, "_id": 1 };
    let list = List { filter, sort, limit, ..List::default() };
    app.collection().list_swept(("at", from), list).await
}

/// A page of the payments from `from` or later and before `before` that are neither captured nor voided, oldest first.
pub(super) async fn list_undecided_payments(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<TransferDocument>> {
    let open = [stored(&TransferState::Pending), stored(&TransferState::Authorised)];
    let filter = doc! {
        "state": { "$in": open.to_vec() },
        "at": { "$gte": from, "$lt": before },
        "kind": stored(&TransferKind::Payment),
    };
    let sort = doc! { "at": 1, "_id": 1 };
    let list = List { filter, sort, limit, ..List::default() };
    transfers(app).list_swept(("at", from), list).await
}

/// Claims the transfer as it was read for this attempt, and changes its state to `to` in the same write.
/// Refused while the previous claim may still move money. An authorised transfer has no such claim: it ended
/// with the write of that state.
pub(super) async fn claim(
    app: &App,
    read: &TransferDocument,
    to: TransferState,
    reason: Option<TransferReason>,
    attempt: &Attempt,
) -> Result<Option<TransferDocument>> {
    let mut guard = as_read(read);
    if read.state != TransferState::Authorised {
        guard = both(guard, older_than("deadline", app.bounds().slack()));
    }
    let mut set = step_to(to, reason, "$$NOW".into());
    set.insert("fence", read.fence + 1);
    set.insert("worker", literal(app.name()));
    set.insert("deadline", attempt.deadline());
    if to == read.state {
        set.remove("history");
    }
    transfers(app).set(guard, set).within(attempt).after().await
}

/// A step of the claim's holder. Returns the transfer after the step, which follows from what was read; `None` if it was
/// refused. The commit, and the end of an authorisation, are only possible before the claim's deadline. For any other
/// step the fence is a sufficient guard, because it moves no money.
pub(super) async fn step(
    app: &App,
    claimed: &TransferDocument,
    to: TransferState,
    reason: Option<TransferReason>,
    attempt: &Attempt,
) -> Result<Option<TransferDocument>> {
    let at = attempt.clock();
    let mut after = claimed.clone();
    let mut set = step_to(to, reason, at.into());
    // Nobody was paid.
    if matches!(to, TransferState::Cancelled | TransferState::Returned) {
        after.accounts = claimed.unpaid_accounts();
        set.insert("accounts", literal(after.accounts.clone()));
    }
    let step = transfers(app).set(as_read(claimed), set);
    let is_held = match to {
        TransferState::Authorised | TransferState::Committed => step.within(attempt).held().await?,
        _ => step.held().await?,
    };
    if !is_held {
        return Ok(None);
    }
    (after.state, after.reason) = (to, reason.or(after.reason));
    after.history.push(TransferStep { state: to, at: at.into() });
    Ok(Some(after))
}

/// Cancels a transfer that isn't committed, whoever holds the claim. With `by`, only one that this subject
/// requested, and no payment or refund.
pub(super) fn mark_cancelling(
    app: &App,
    id: &str,
    by: Option<&str>,
    reason: TransferReason,
) -> Guarded<TransferDocument> {
    let mut guard = doc! { "_id": id, "state": stored(&TransferState::Pending) };
    if let Some(by) = by {
        guard.insert("by", by);
        let owed = [stored(&TransferKind::Payment), stored(&TransferKind::Refund)];
        guard.insert("kind", doc! { "$nin": owed.to_vec() });
    }
    transfers(app).set(guard, step_to(TransferState::Cancelling, Some(reason), "$$NOW".into()))
}

/// Calls `each` for every account, or for every transfer.
pub(super) async fn for_each<T: Stored>(app: &App, each: impl FnMut(T)) -> Result<()> {
    app.collection().for_each(each).await
}

/// Guard: state and fence are as they were read.
fn as_read(read: &TransferDocument) -> Document {
    doc! { "_id": &read.id, "state": stored(&read.state), "fence": read.fence }
}

/// The fields of a transfer that reaches this state at the time `at`, an expression.
fn step_to(state: TransferState, reason: Option<TransferReason>, at: Bson) -> Document {
    let step = whole(doc! { "state": literal(stored(&state)), "at": at });
    let mut set = doc! {
        "state": literal(stored(&state)),
        "history": append("$history", vec![step]),
    };
    if let Some(reason) = reason {
        set.insert("reason", literal(stored(&reason)));
    }
    set
}
