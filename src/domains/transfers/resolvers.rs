//! Resolvers: they translate between GraphQL and the operations of accounts and transfers.

use super::operations;
use crate::graphql::{prelude::*, subscription::follow_node};

queries! {
    /// Query fields.
    pub struct TransfersQuery;

    /// An account by its global id. Null if it doesn't exist or isn't visible to the caller. An account is
    /// visible to its owner and to the role `service`.
    account(
        context,
        #[graphql(desc = "Global id of the account.")] id: ID,
    ) by signed_in: Option<Account> =
        operations::account(cx(context), &id).await?.map(Account::from),

    /// Accounts of the caller, oldest first.
    my_accounts(context) by signed_in: Connection<Account> =
        operations::my_accounts(cx(context), paging(context)?).await?,

    /// A transfer, by its id or by the `idempotencyKey` with which the caller requested it. Null if there is no
    /// such transfer or it isn't visible to the caller. A transfer is visible to the caller who requested it
    /// and to the role `service`.
    transfer_status(
        context,
        #[graphql(desc = "Key of the transfer.")] by: TransferBy,
    ) by signed_in: Option<Transfer> =
        operations::transfer_status(cx(context), by).await?.map(Transfer::from),

    /// Transfers in one state, newest first.
    transfers(
        context,
        #[graphql(desc = "How far the transfers have come; only those are listed.")] state: TransferState,
    ) by service: Connection<Transfer> =
        operations::transfers(cx(context), state, paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct TransfersMutation;

    /// Opens an account for the caller. Its balance is zero.
    open_account(OpenAccountInput) -> OpenAccountResult by signed_in;

    /// Gives an account of the caller another name, or none. Repeatable: the same name once more changes nothing.
    rename_account(RenameAccountInput) -> RenameAccountResult by signed_in;

    /// Closes an account of the caller for good. It is refused with `AccountNotEmpty` unless the balance is
    /// zero and no transfer is unfinished. Refunds of payments still reach a closed account. Repeatable:
    /// closing a closed account returns it.
    close_account(CloseAccountInput) -> CloseAccountResult by signed_in;

    /// Moves money from an account of the caller to another account. A refused transfer can be tried again
    /// with the same `idempotencyKey`.
    transfer(TransferInput) -> TransferResult by signed_in;

    /// Moves money from the outside world into an account. Any account can be named.
    deposit(DepositInput) -> DepositResult by service;

    /// Moves money from an account to the outside world. Any account can be named, also a closed one that a
    /// refund has reached.
    withdraw(WithdrawInput) -> WithdrawResult by service;

    /// Cancels a transfer that isn't decided yet. Money that was already debited is returned to the source.
    /// Allowed for the caller who requested the transfer. A payment can't be cancelled here; it is cancelled
    /// with its checkout. Repeatable: cancelling a cancelled transfer returns it.
    cancel_transfer(CancelTransferInput) -> CancelTransferResult by signed_in;

    /// Returns the money of an arrived transfer by a new transfer in the other direction. Repeatable: a transfer is
    /// reversed once. A payment can't be reversed here; it is refunded with its order.
    reverse_transfer(ReverseTransferInput) -> ReverseTransferResult by service;
}

subscriptions! {
    /// Subscription fields.
    pub struct TransfersSubscription;

    /// An account: the current state first, then each new state after a change of the balance or the state.
    /// If changes come faster than the client reads, intermediate states are skipped. Visible to the owner
    /// and to the role `service`; for others, and if there is no such account, the only response is the error `NOT_FOUND`.
    balance_changed(
        context,
        #[graphql(desc = "Global id of the account.")] account_id: ID,
    ) by signed_in: Account =
        follow_node(context, NodeKind::ACCOUNT, account_id, Account::face, |cx, id| {
            Box::pin(operations::account(cx, id))
        }),
}
