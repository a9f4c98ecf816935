//! Transfers on request: between accounts, deposits, withdrawals, reversals, and their cancelling.

use super::{
    super::{
        documents::{
            AccountDocument, AccountKind, TransferDocument, TransferKind, TransferReason,
            TransferState, world,
        },
        store,
        types::{
            AccountClosed, AccountFull, CancelTransferInput, CancelTransferResult, DepositInput,
            DepositResult, InsufficientFunds, ReverseTransferInput, ReverseTransferResult,
            TransferInput, TransferNotCancellable, TransferResult, WithdrawInput, WithdrawResult,
        },
    },
    drive::{Driver, answerable, refusal},
};
use crate::graphql::{prelude::*, refusals::CurrencyMismatch};

/// Scope of idempotency keys. All operations that move money share it, so `transferStatus` finds each of them
/// by its idempotency key.
pub(super) const SCOPE: &str = "transfer";

/// Maximum number of tries of one op that are refused. A reversal may have any number: it has no idempotency key that could
/// be another one.
const MAX_TRIES: usize = 100;

/// What a mutation of a transfer returns.
type Made<U> = Result<TransferDocument, Stop<U>>;

/// Moves money from an account of the caller to another account. Once per idempotency key.
pub async fn transfer(cx: Cx<'_>, input: TransferInput) -> Answer<TransferResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let (source, destination) = (&input.source_id, &input.destination_id);
    if source == destination {
        return Err(InvalidInput::new("destinationId", "is the source").into());
    }
    let kind = TransferKind::Transfer;
    let op = cx.op_of(&[subject, SCOPE], &input, &(kind, &*input));
    let (attempt, from, to) = store::begin_with_accounts(&cx, source, destination).await?;
    let from = from.filter(|account| account.is_of(subject));
    let from = from.ok_or_else(|| NotFound::of(NodeKind::ACCOUNT, source))?;
    let to = to.filter(|account| account.kind != AccountKind::World);
    let to = to.ok_or_else(|| NotFound::of(NodeKind::ACCOUNT, destination))?;
    if from.currency != to.currency {
        let source = ("source account", from.currency);
        let destination = ("destination account", to.currency);
        return Err(CurrencyMismatch::new(source, destination).into());
    }
    let amount = Money::new(input.amount.0, from.currency);
    let driver = Driver { app: &cx, attempt: &attempt };
    let transfer = TransferDocument {
        purpose: input.purpose.clone(),
        ..driver.pending(&op, kind, [source, destination], amount)
    };
    make(cx, driver, transfer, &[&from, &to]).await
}

/// Deposits money from the outside world on an account. Once per idempotency key.
pub async fn deposit(cx: Cx<'_>, input: DepositInput) -> Answer<DepositResult> {
    let (kind, input) = (TransferKind::Deposit, input.checked()?);
    let op = cx.op_of(&[cx.requester.subject()?, SCOPE], &input, &(kind, &*input));
    exchange(cx, kind, &op, &input.account_id, input.amount).await
}

/// Withdraws money from an account to the outside world. Once per idempotency key.
pub async fn withdraw(cx: Cx<'_>, input: WithdrawInput) -> Answer<WithdrawResult> {
    let (kind, input) = (TransferKind::Withdrawal, input.checked()?);
    let op = cx.op_of(&[cx.requester.subject()?, SCOPE], &input, &(kind, &*input));
    exchange(cx, kind, &op, &input.account_id, input.amount).await
}

/// Moves money between an account and the outside world.
async fn exchange<U: From<NotFound> + From<InvalidInput>>(
    cx: Cx<'_>,
    kind: TransferKind,
    op: &Op,
    account: &str,
    amount: Long,
) -> Made<U>
where
    Stop<U>: From<OtherInput> + From<InsufficientFunds> + From<AccountClosed> + From<AccountFull>,
{
    let (attempt, found) = cx.begin_with::<AccountDocument>(account).await?;
    let found = found.filter(|found| found.kind != AccountKind::World);
    let found = found.ok_or_else(|| NotFound::of(NodeKind::ACCOUNT, account))?;
    let (world, amount) = (&world(found.currency), Money::new(amount.0, found.currency));
    let accounts = if kind == TransferKind::Deposit { [world, account] } else { [account, world] };
    let driver = Driver { app: &cx, attempt: &attempt };
    make(cx, driver, driver.pending(op, kind, accounts, amount), &[&found]).await
}

/// Reverses a transfer that has arrived, by another transfer. Once per transfer.
pub async fn reverse_transfer(
    cx: Cx<'_>,
    input: ReverseTransferInput,
) -> Answer<ReverseTransferResult> {
    let (_, input) = (cx.requester.subject()?, input.checked()?);
    let id = &input.transfer_id;
    let original = store::transfers(&cx).get_settled(id).await?;
    let original = original.ok_or_else(|| NotFound::of(NodeKind::TRANSFER, id))?;
    let is_of_order = matches!(original.kind, TransferKind::Payment | TransferKind::Refund);
    if is_of_order || !original.state.has_arrived() {
        return Err(TransferNotCancellable::reversing(&original).into());
    }
    let accounts = [&*original.destination, &original.source];
    let (attempt, from, to) = store::begin_with_accounts(&cx, accounts[0], accounts[1]).await?;
    let read: Vec<_> = [&from, &to].into_iter().flatten().collect();
    let op = Op { id: cx.ids().derived(&["reversal", id]), input: String::new() };
    let amount = Money::new(original.amount, original.currency);
    let driver = Driver { app: &cx, attempt: &attempt };
    let transfer = TransferDocument {
        reverses: Some(original.id.clone()),
        ..driver.pending(&op, TransferKind::Reversal, accounts, amount)
    };
    make(cx, driver, transfer, &read).await
}

/// Cancels a transfer that the caller requested and that isn't committed. Debited money is returned in the
/// background: by the claim's holder, or by the sweep once the claim has ended.
pub async fn cancel_transfer(
    cx: Cx<'_>,
    input: CancelTransferInput,
) -> Answer<CancelTransferResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let (id, reason) = (&input.transfer_id, TransferReason::CancelledByOwner);
    let cancelling = store::mark_cancelling(&cx, id, Some(subject), reason);
    if let Some(cancelled) = cancelling.after().await? {
        return Ok(cancelled);
    }
    let found = store::transfers(&cx).get_settled(id).await?;
    let found = found.filter(|transfer| transfer.by.as_deref() == Some(subject));
    let found = found.ok_or_else(|| NotFound::of(NodeKind::TRANSFER, id))?;
    match found.state {
        TransferState::Cancelling | TransferState::Cancelled => Ok(found),
        _ => Err(TransferNotCancellable::cancelling(&found).into()),
    }
}

/// Makes the transfer, as requested by the caller. `read` are those of its accounts that were read. If their state
/// refuses it, it is inserted as CANCELLED: another call with the same idempotency key, whose insert is still on its
/// way, is then refused too.
async fn make<U: From<InvalidInput>>(
    cx: Cx<'_>,
    driver: Driver<'_>,
    transfer: TransferDocument,
    read: &[&AccountDocument],
) -> Made<U>
where
    Stop<U>: From<OtherInput> + From<InsufficientFunds> + From<AccountClosed> + From<AccountFull>,
{
    let reason = read.iter().find_map(|account| refusal(&transfer, account, driver.attempt));
    let mut transfer = TransferDocument { by: cx.requester.subject.clone(), ..transfer };
    if let Some(reason) = reason {
        transfer.refuse(reason);
    }
    let made = begin_try(driver, &transfer).await?;
    if made.input != transfer.input {
        return Err(OtherInput.into());
    }
    let reached = answerable(&cx, made, driver.attempt).await?;
    let Some(reason) = reached.failure() else { return Ok(reached) };
    let TransferDocument { source, destination, amount, currency, .. } = reached;
    let (payer, receiver) = (NodeKind::ACCOUNT.id(&source), NodeKind::ACCOUNT.id(&destination));
    Err(match reason {
        TransferReason::SourceClosed => {
            AccountClosed::because("the source account is closed", payer).into()
        }
        TransferReason::DestinationClosed => {
            AccountClosed::because("the destination account is closed", receiver).into()
        }
        TransferReason::DestinationFull => {
            let message = "the amount exceeds the limit of the destination account";
            AccountFull::because(message, receiver).into()
        }
        _ => {
            let source = store::accounts(&cx).get_settled(&source).await?;
            let available = source.map_or(0, |source| source.available());
            let [required, available] = [amount, available].map(|of| Money::new(of, currency));
            let message = format!("{required} are required, {available} are available");
            InsufficientFunds::because(message, payer, required, available).into()
        }
    })
}

/// Begins the transfer under the first of its op's ids that no refused try has used, and no cancelled one of a reversal, or
/// returns the try that wasn't. The next id is used only after the previous try has failed for good, so at most one of them
/// ever moves money.
async fn begin_try<U: From<InvalidInput>>(
    driver: Driver<'_>,
    transfer: &TransferDocument,
) -> Made<U> {
    let is_reversal = transfer.kind == TransferKind::Reversal;
    let mut number = 0;
    while is_reversal || number < MAX_TRIES {
        let id = try_id(driver.app, &transfer.id, number);
        let (found, is_new) = driver.begin(TransferDocument { id, ..transfer.clone() }).await?;
        if is_new || found.input != transfer.input || !found.gives_way() {
            return Ok(found);
        }
        number = newest_try(driver.app, &transfer.id, number).await?.max(number + 1);
    }
    let reason = format!("was used for {MAX_TRIES} refused calls: use a new one");
    Err(InvalidInput::new("idempotencyKey", reason).into())
}

/// The highest number of a try of an op that there is; `known` is the number of one that there is. Each try is inserted
/// after the one before it has failed for good, and none is ever removed. So the numbers have no gaps, which makes few reads
/// enough, and all tries below the highest have failed for good.
async fn newest_try(app: &App, op: &str, known: usize) -> Result<usize> {
    let (mut newest, mut step) = (known, 1);
    while is_tried(app, op, newest + step).await? {
        newest += step;
        step *= 2;
    }
    // The next power of two would be too far: the rest is found by halves.
    while step > 1 {
        step /= 2;
        if is_tried(app, op, newest + step).await? {
            newest += step;
        }
    }
    Ok(newest)
}

async fn is_tried(app: &App, op: &str, number: usize) -> Result<bool> {
    Ok(store::transfers(app).get_settled(&try_id(app, op, number)).await?.is_some())
}

/// The last try of an op.
pub(super) async fn latest_try(app: &App, op: &str) -> Result<Option<TransferDocument>> {
    let first = store::transfers(app).get_settled(&try_id(app, op, 0)).await?;
    if !first.as_ref().is_some_and(TransferDocument::was_refused) {
        return Ok(first);
    }
    match newest_try(app, op, 0).await? {
        0 => Ok(first),
        newest => store::transfers(app).get_settled(&try_id(app, op, newest)).await,
    }
}

fn try_id(app: &App, op: &str, number: usize) -> String {
    match number {
        0 => op.to_owned(),
        number => app.ids().derived(&["attempt", op, &number.to_string()]),
    }
}
