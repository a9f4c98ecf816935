//! Transfers on request: between accounts, deposits, withdrawals, reversals, and their cancelling.

use super::{
    super::{
        documents::{
            AccountDocument, AccountKind, TransferDocument, TransferKind, TransferReason,
            TransferState, is_world, world,
        },
        store,
        types::{
            AccountClosed, AccountFull, CancelTransferInput, CancelTransferResult, DepositInput,
            DepositResult, InsufficientFunds, ReverseTransferInput, ReverseTransferResult,
            TransferInput, TransferNotCancellable, TransferResult, WithdrawInput, WithdrawResult,
        },
    },
    claim::{answerable, begin, pending},
    drive::refusal,
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op, OtherInput},
    graphql::{
        cx::Cx,
        declared::Input,
        node_id::NodeKind,
        refusals::{CurrencyMismatch, InvalidInput, NotFound, Stop},
        scalars::Money,
    },
};

/// Scope of idempotency keys. All operations that move money share it, so `transferStatus` finds each of them
/// by its idempotency key.
pub(super) const SCOPE: &str = "transfer";

/// Maximum number of tries of one op that are refused.
const MOST_TRIES: usize = 100;

/// Moves money from an account of the caller to another account. Once per idempotency key.
pub async fn transfer(
    cx: Cx<'_>,
    input: TransferInput,
) -> Result<TransferDocument, Stop<TransferResult>> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let (source, destination) = (&input.source_id, &input.destination_id);
    if source == destination {
        return Err(InvalidInput::new("destinationId", "is the source").into());
    }
    let kind = TransferKind::Transfer;
    let op = cx.op(&[subject, SCOPE], input.idempotency_key.as_ref(), &(kind, &*input));
    let (attempt, from, to) = store::open_accounts(&cx, source, destination).await?;
    let from = from.filter(|account| account.is_of(subject));
    let from = from.ok_or_else(|| NotFound::of(NodeKind::Account, source))?;
    let to = to.filter(|account| account.kind != AccountKind::World);
    let to = to.ok_or_else(|| NotFound::of(NodeKind::Account, destination))?;
    if from.currency != to.currency {
        return Err(CurrencyMismatch::new(from.currency, to.currency).into());
    }
    let amount = Money::new(input.amount.0, from.currency);
    let transfer = pending(&cx, &op, kind, [source, destination], amount, &attempt);
    make(cx, transfer, &[&from, &to], &attempt).await
}

/// Deposits money from the outside world on an account. Once per idempotency key.
pub async fn deposit(
    cx: Cx<'_>,
    input: DepositInput,
) -> Result<TransferDocument, Stop<DepositResult>> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let kind = TransferKind::Deposit;
    let op = cx.op(&[subject, SCOPE], input.idempotency_key.as_ref(), &(kind, &*input));
    let (attempt, to) = open_insider(cx, &input.account_id).await?;
    let (source, amount) = (world(to.currency), Money::new(input.amount.0, to.currency));
    let transfer = pending(&cx, &op, kind, [&source, &to.id], amount, &attempt);
    make(cx, transfer, &[&to], &attempt).await
}

/// Withdraws money from an account to the outside world. Once per idempotency key.
pub async fn withdraw(
    cx: Cx<'_>,
    input: WithdrawInput,
) -> Result<TransferDocument, Stop<WithdrawResult>> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let kind = TransferKind::Withdrawal;
    let op = cx.op(&[subject, SCOPE], input.idempotency_key.as_ref(), &(kind, &*input));
    let (attempt, from) = open_insider(cx, &input.account_id).await?;
    let (destination, amount) = (world(from.currency), Money::new(input.amount.0, from.currency));
    let transfer = pending(&cx, &op, kind, [&from.id, &destination], amount, &attempt);
    make(cx, transfer, &[&from], &attempt).await
}

/// Reverses a transfer that has arrived, by another transfer. Once per transfer.
pub async fn reverse_transfer(
    cx: Cx<'_>,
    input: ReverseTransferInput,
) -> Result<TransferDocument, Stop<ReverseTransferResult>> {
    let (_, input) = (cx.requester.subject()?, input.checked()?);
    let id = &input.transfer_id;
    let original = store::find_transfer(&cx, id).await?;
    let original = original.ok_or_else(|| NotFound::of(NodeKind::Transfer, id))?;
    let is_of_order = matches!(original.kind, TransferKind::Payment | TransferKind::Refund);
    if is_of_order || !original.state.has_arrived() {
        return Err(TransferNotCancellable::new(&original).into());
    }
    let accounts = [&*original.destination, &original.source];
    let (attempt, from, to) = store::open_accounts(&cx, accounts[0], accounts[1]).await?;
    let read: Vec<_> = [&from, &to].into_iter().flatten().collect();
    let op = Op { id: cx.ids().derived(&["reversal", id]), input: String::new() };
    let amount = Money::new(original.amount, original.currency);
    let transfer = TransferDocument {
        reverses: Some(original.id.clone()),
        ..pending(&cx, &op, TransferKind::Reversal, accounts, amount, &attempt)
    };
    make(cx, transfer, &read, &attempt).await
}

/// Cancels a transfer that the caller requested and that isn't committed. Debited money is returned in the
/// background: by the claim's holder, or by the sweep once the claim has ended.
pub async fn cancel_transfer(
    cx: Cx<'_>,
    input: CancelTransferInput,
) -> Result<TransferDocument, Stop<CancelTransferResult>> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let (id, reason) = (&input.transfer_id, TransferReason::CancelledByOwner);
    let cancelled = store::mark_cancelling(&cx, id, Some(subject), reason).await.decided()?;
    if let Some(cancelled) = cancelled {
        return Ok(cancelled);
    }
    let found = store::find_transfer(&cx, id).await?;
    let found = found.filter(|transfer| transfer.by.as_deref() == Some(subject));
    let found = found.ok_or_else(|| NotFound::of(NodeKind::Transfer, id))?;
    match found.state {
        TransferState::Cancelling | TransferState::Cancelled => Ok(found),
        _ => Err(TransferNotCancellable::new(&found).into()),
    }
}

/// Begins an attempt with the account as its first read. World accounts are excluded.
async fn open_insider<U: From<NotFound>>(
    cx: Cx<'_>,
    id: &str,
) -> Result<(Attempt, AccountDocument), Stop<U>> {
    let (attempt, account) = store::open_account(&cx, id).await?;
    let account = account.filter(|account| !is_world(&account.id));
    Ok((attempt, account.ok_or_else(|| NotFound::of(NodeKind::Account, id))?))
}

/// Makes the transfer, as requested by the caller. `read` are those of its accounts that were read: their
/// state can refuse it before anything is written.
async fn make<U>(
    cx: Cx<'_>,
    transfer: TransferDocument,
    read: &[&AccountDocument],
    attempt: &Attempt,
) -> Result<TransferDocument, Stop<U>>
where
    Stop<U>: From<OtherInput> + From<InsufficientFunds> + From<AccountClosed> + From<AccountFull>,
{
    let transfer = TransferDocument { by: cx.requester.subject.clone(), ..transfer };
    let made = match read.iter().find_map(|account| refusal(&transfer, account)) {
        None => begin_try(&cx, &transfer, attempt).await?,
        // An earlier call of this op may have succeeded before the account changed.
        Some(reason) => match latest_try(&cx, &transfer.id).await? {
            Some(found) if found.input != transfer.input || !found.was_refused() => found,
            _ => return Err(refused(&cx, reason, &transfer).await?),
        },
    };
    if made.input != transfer.input {
        return Err(OtherInput.into());
    }
    let reached = answerable(&cx, made, attempt).await?;
    match reached.failure() {
        Some(reason) => Err(refused(&cx, reason, &reached).await?),
        None => Ok(reached),
    }
}

/// Begins the transfer under the first of its op's ids that no refused try has used, or returns the try that
/// wasn't refused. The next id is used only after the previous try has failed for good, so at most one of them
/// ever moves money.
async fn begin_try(
    app: &App,
    transfer: &TransferDocument,
    attempt: &Attempt,
) -> Result<TransferDocument, Error> {
    for number in 0..MOST_TRIES {
        let id = try_id(app, &transfer.id, number);
        let transfer = TransferDocument { id, ..transfer.clone() };
        let input = transfer.input.clone();
        let (found, is_new) = begin(app, transfer, attempt).await?;
        if is_new || found.input != input || !found.was_refused() {
            return Ok(found);
        }
    }
    Err(Error::RateLimited("this op was refused too often"))
}

/// The last try of an op.
pub(super) async fn latest_try(app: &App, op: &str) -> Result<Option<TransferDocument>, Error> {
    let mut latest = None;
    for number in 0..MOST_TRIES {
        match store::find_transfer(app, &try_id(app, op, number)).await? {
            Some(found) if found.was_refused() => latest = Some(found),
            None => break,
            last => return Ok(last),
        }
    }
    Ok(latest)
}

fn try_id(app: &App, op: &str, number: usize) -> String {
    match number {
        0 => op.to_owned(),
        number => app.ids().derived(&["attempt", op, &number.to_string()]),
    }
}

/// The refusal with details for the client, which need one more read.
async fn refused<U>(
    app: &App,
    reason: TransferReason,
    transfer: &TransferDocument,
) -> Result<Stop<U>, Error>
where
    Stop<U>: From<InsufficientFunds> + From<AccountClosed> + From<AccountFull>,
{
    let TransferDocument { source, destination, .. } = transfer;
    Ok(match reason {
        TransferReason::SourceClosed => AccountClosed::new(source, "gives").into(),
        TransferReason::DestinationClosed => {
            AccountClosed::new(destination, "gets the money").into()
        }
        TransferReason::DestinationFull => AccountFull::new(destination).into(),
        _ => {
            let source = store::find_account(app, source).await?;
            let available = source.map_or(0, |source| source.available());
            InsufficientFunds::new(transfer, available).into()
        }
    })
}
