//! Transfers on request: between accounts, deposits, withdrawals, reversals, and their cancelling.

use super::{
    super::{
        documents::{
            AccountDocument, AccountKind, LARGEST, TransferDocument, TransferKind, TransferReason,
            TransferState, TransferStep, is_world, world,
        },
        store,
        types::{
            AccountClosed, AccountFull, CancelTransferResult, DepositResult, Hindrance,
            InsufficientFunds, ReverseTransferResult, Side, TransferNotCancellable, TransferResult,
            WithdrawResult,
        },
    },
    claim::{Begun, answerable, begin},
    drive::{hindered_destination, hindered_source},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op},
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{Conflict, CurrencyMismatch, InvalidInput, NotFound, Stop},
        scalars::CurrencyCode,
    },
    mongo::Version,
};

/// Maximum number of tries of one op that are refused.
const MOST_ATTEMPTS: usize = 100;

/// The input of a transfer.
pub struct Order<'a> {
    /// Account to be debited.
    pub source: &'a str,
    /// Account to be credited.
    pub destination: &'a str,
    /// Amount in minor units.
    pub amount: i64,
    /// The caller's idempotency key.
    pub idempotency_key: Option<&'a async_graphql::ID>,
}

/// Result of a requested transfer.
enum Standing {
    /// It went through, or was cancelled by its owner.
    Stands(TransferDocument),
    /// It failed.
    Hindered(Hindrance),
    /// The idempotency key was used with another input.
    OtherInput,
}

/// Moves money from an account of `subject` to another account. Once per idempotency key.
pub async fn transfer(
    app: &App,
    subject: &str,
    order: Order<'_>,
) -> Result<TransferDocument, Stop<TransferResult>> {
    let source = &input::id(NodeKind::Account, order.source)?;
    let destination = &input::id(NodeKind::Account, order.destination)?;
    let amount = amount(order.amount)?;
    if source == destination {
        return Err(InvalidInput::new("destinationId", "is the source").into());
    }
    let op = op(app, subject, order.idempotency_key, &(source, destination, amount))?;
    let ((attempt, from), to) =
        tokio::try_join!(store::open_account(app, source), store::find_account(app, destination),)?;
    let from = from.filter(|account| account.is_of(subject));
    let from = from.ok_or_else(|| NotFound::of(NodeKind::Account, source))?;
    let to = to.filter(|account| account.kind != AccountKind::World);
    let to = to.ok_or_else(|| NotFound::of(NodeKind::Account, destination))?;
    if from.currency != to.currency {
        return Err(CurrencyMismatch::new(from.currency, to.currency).into());
    }
    let asked = Asked { kind: TransferKind::Transfer, source, destination, amount };
    let transfer = asked.document(app, subject, from.currency, &op, &attempt);
    match make(app, transfer, &[&from, &to], &attempt).await? {
        Standing::Stands(transfer) => Ok(transfer),
        Standing::OtherInput => Err(Conflict::other_input().into()),
        Standing::Hindered(hindrance) => Err(hindrance.into()),
    }
}

/// Deposits money from the outside world on an account. Once per idempotency key.
pub async fn deposit(
    app: &App,
    subject: &str,
    account: &str,
    amount_asked: i64,
    idempotency_key: Option<&async_graphql::ID>,
) -> Result<TransferDocument, Stop<DepositResult>> {
    let account = &input::id(NodeKind::Account, account)?;
    let amount = amount(amount_asked)?;
    let op = op(app, subject, idempotency_key, &("deposit", account, amount))?;
    let (attempt, to) = insider(app, account).await?;
    let to = to.ok_or_else(|| NotFound::of(NodeKind::Account, account))?;
    let source = &world(to.currency);
    let asked = Asked { kind: TransferKind::Deposit, source, destination: account, amount };
    let transfer = asked.document(app, subject, to.currency, &op, &attempt);
    match make(app, transfer, &[&to], &attempt).await? {
        Standing::Stands(transfer) => Ok(transfer),
        Standing::OtherInput => Err(Conflict::other_input().into()),
        Standing::Hindered(hindrance) => Err(hindrance.into()),
    }
}

/// Withdraws money from an account to the outside world. Once per idempotency key.
pub async fn withdraw(
    app: &App,
    subject: &str,
    account: &str,
    amount_asked: i64,
    idempotency_key: Option<&async_graphql::ID>,
) -> Result<TransferDocument, Stop<WithdrawResult>> {
    let account = &input::id(NodeKind::Account, account)?;
    let amount = amount(amount_asked)?;
    let op = op(app, subject, idempotency_key, &("withdrawal", account, amount))?;
    let (attempt, from) = insider(app, account).await?;
    let from = from.ok_or_else(|| NotFound::of(NodeKind::Account, account))?;
    let destination = &world(from.currency);
    let asked = Asked { kind: TransferKind::Withdrawal, source: account, destination, amount };
    let transfer = asked.document(app, subject, from.currency, &op, &attempt);
    match make(app, transfer, &[&from], &attempt).await? {
        Standing::Stands(transfer) => Ok(transfer),
        Standing::OtherInput => Err(Conflict::other_input().into()),
        Standing::Hindered(hindrance) => Err(hindrance.into()),
    }
}

/// Reverses a transfer that has arrived, by another transfer. Once per transfer.
pub async fn reverse(
    app: &App,
    subject: &str,
    id: &str,
) -> Result<TransferDocument, Stop<ReverseTransferResult>> {
    let id = &input::id(NodeKind::Transfer, id)?;
    let original = store::find_transfer(app, id).await?;
    let original = original.ok_or_else(|| NotFound::of(NodeKind::Transfer, id))?;
    let is_order = matches!(original.kind, TransferKind::Payment | TransferKind::Refund);
    if is_order || !original.state.has_arrived() {
        return Err(TransferNotCancellable::new(&original).into());
    }
    let (source, destination) = (&original.destination, &original.source);
    let ((attempt, from), to) =
        tokio::try_join!(store::open_account(app, source), store::find_account(app, destination),)?;
    let accounts: Vec<_> = [&from, &to].into_iter().flatten().collect();
    let op = Op { id: app.ids().derived(&["reversal", id]), input: String::new() };
    let asked =
        Asked { kind: TransferKind::Reversal, source, destination, amount: original.amount };
    let mut transfer = asked.document(app, subject, original.currency, &op, &attempt);
    transfer.reverses = Some(original.id);
    match make(app, transfer, &accounts, &attempt).await? {
        Standing::Stands(transfer) => Ok(transfer),
        Standing::OtherInput => Err(Error::internal("a reversal of another input").into()),
        Standing::Hindered(hindrance) => Err(hindrance.into()),
    }
}

/// Cancels a transfer that `subject` requested and that isn't committed. Debited money is returned in the
/// background: by the claim's holder, or by the sweep once the claim has ended.
pub async fn cancel(
    app: &App,
    subject: &str,
    id: &str,
) -> Result<TransferDocument, Stop<CancelTransferResult>> {
    let id = &input::id(NodeKind::Transfer, id)?;
    let reason = TransferReason::CancelledByOwner;
    let cancelled = store::mark_cancelling(app, id, Some(subject), reason).await.decided()?;
    if let Some(cancelled) = cancelled {
        return Ok(cancelled);
    }
    let found = store::find_transfer(app, id).await?;
    let found = found.filter(|transfer| transfer.by.as_deref() == Some(subject));
    let found = found.ok_or_else(|| NotFound::of(NodeKind::Transfer, id))?;
    match found.state {
        TransferState::Cancelling | TransferState::Cancelled => Ok(found),
        _ => Err(TransferNotCancellable::new(&found).into()),
    }
}

/// The terms of a requested transfer.
pub(super) struct Asked<'a> {
    pub(super) kind: TransferKind,
    pub(super) source: &'a str,
    pub(super) destination: &'a str,
    pub(super) amount: i64,
}

impl Asked<'_> {
    /// The document with which the transfer begins, claimed by `attempt`.
    pub(super) fn document(
        &self,
        app: &App,
        by: &str,
        currency: CurrencyCode,
        op: &Op,
        attempt: &Attempt,
    ) -> TransferDocument {
        let state = TransferState::Pending;
        TransferDocument {
            id: op.id.clone(),
            kind: self.kind,
            by: Some(by.to_owned()),
            source: self.source.to_owned(),
            destination: self.destination.to_owned(),
            accounts: vec![self.source.to_owned(), self.destination.to_owned()],
            amount: self.amount,
            currency,
            state,
            reason: None,
            reverses: None,
            holder: None,
            input: op.input.clone(),
            worker: app.name().to_owned(),
            fence: 1,
            deadline: attempt.deadline(),
            at: attempt.now(),
            history: vec![TransferStep { state, at: attempt.now() }],
            v: Version,
        }
    }
}

/// Makes the transfer, or returns why it fails. `read` are those of its accounts that were read: their state
/// can refuse it before anything is written.
async fn make(
    app: &App,
    transfer: TransferDocument,
    read: &[&AccountDocument],
    attempt: &Attempt,
) -> Result<Standing, Error> {
    let begun = match hindered(&transfer, read) {
        None => begin_attempt(app, transfer.clone()).await?,
        // An earlier call of this op may have succeeded before the account changed.
        Some(reason) => match latest_attempt(app, &transfer.id).await? {
            Some(found) if found.input != transfer.input || !found.was_refused() => {
                Some(Begun::Found(found))
            }
            _ => return Ok(Standing::Hindered(explain(app, reason, &transfer).await?)),
        },
    };
    let begun = begun.ok_or(Error::RateLimited("this op was refused too often"))?;
    if matches!(&begun, Begun::Found(found) if found.input != transfer.input) {
        return Ok(Standing::OtherInput);
    }
    let reached = answerable(app, begun, attempt).await?;
    match reached.hindrance() {
        Some(reason) => Ok(Standing::Hindered(explain(app, reason, &reached).await?)),
        None => Ok(Standing::Stands(reached)),
    }
}

/// Begins the transfer under the first of its op's ids that no refused try has used. The next id is used only
/// after the previous try has failed for good, so at most one of them ever moves money.
async fn begin_attempt(app: &App, transfer: TransferDocument) -> Result<Option<Begun>, Error> {
    for number in 0..MOST_ATTEMPTS {
        let id = attempt_id(app, &transfer.id, number);
        match begin(app, TransferDocument { id, ..transfer.clone() }).await? {
            Begun::Found(found) if found.input == transfer.input && found.was_refused() => {}
            begun => return Ok(Some(begun)),
        }
    }
    Ok(None)
}

/// The last try of an op.
pub(super) async fn latest_attempt(app: &App, op: &str) -> Result<Option<TransferDocument>, Error> {
    let mut latest = None;
    for number in 0..MOST_ATTEMPTS {
        let found = store::find_transfer(app, &attempt_id(app, op, number)).await?;
        let Some(found) = found else { break };
        let goes_on = found.was_refused();
        latest = Some(found);
        if !goes_on {
            break;
        }
    }
    Ok(latest)
}

fn attempt_id(app: &App, op: &str, number: usize) -> String {
    match number {
        0 => op.to_owned(),
        number => app.ids().derived(&["attempt", op, &number.to_string()]),
    }
}

fn hindered(transfer: &TransferDocument, read: &[&AccountDocument]) -> Option<TransferReason> {
    read.iter().find_map(|account| {
        if account.id == transfer.source {
            hindered_source(account, transfer)
        } else {
            hindered_destination(account, transfer)
        }
    })
}

/// The refusal with details for the client, which need one more read.
async fn explain(
    app: &App,
    reason: TransferReason,
    transfer: &TransferDocument,
) -> Result<Hindrance, Error> {
    Ok(match reason {
        TransferReason::SourceClosed => {
            Hindrance::Closed(AccountClosed::new(transfer, Side::Source))
        }
        TransferReason::DestinationClosed => {
            Hindrance::Closed(AccountClosed::new(transfer, Side::Destination))
        }
        TransferReason::DestinationFull => Hindrance::Full(AccountFull::new(transfer)),
        _ => {
            let source = store::find_account(app, &transfer.source).await?;
            let available = source.map_or(0, |source| source.available());
            Hindrance::Short(InsufficientFunds::new(transfer, available))
        }
    })
}

/// Begins an attempt with the account as its first read. World accounts are excluded.
async fn insider(app: &App, account: &str) -> Result<(Attempt, Option<AccountDocument>), Error> {
    let (attempt, found) = store::open_account(app, account).await?;
    Ok((attempt, found.filter(|found| !is_world(&found.id))))
}

fn amount(asked: i64) -> Result<i64, InvalidInput> {
    input::within("amount", asked, 1..=LARGEST)
}

/// The op of a transfer. All operations that move money share one scope, so `transferStatus` finds each of
/// them by its idempotency key.
fn op(
    app: &App,
    subject: &str,
    idempotency_key: Option<&async_graphql::ID>,
    asked: &impl serde::Serialize,
) -> Result<Op, InvalidInput> {
    input::op(app, &[subject, "transfer"], idempotency_key, asked)
}
