//! Resolvers: they translate between GraphQL and the operations of accounts and transfers.

use async_graphql::{Context, ID, Object, Result, Subscription, connection::Connection};
use futures_util::Stream;

use super::operations;
use crate::graphql::{
    cx::cx,
    declared::mutations,
    input,
    node_id::NodeKind,
    page::paging,
    requester::{Role, Who},
    subscription::follow,
};

/// Query fields.
#[derive(Default)]
pub struct TransfersQuery;

#[Object]
impl TransfersQuery {
    /// An account by its global id. Null if it doesn't exist or isn't visible to the caller. An account is
    /// visible to its owner and to the role `service`.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn account(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the account.")] id: ID,
    ) -> Result<Option<Account>> {
        Ok(operations::account(cx(context), &id).await?.map(Account::from))
    }

    /// Accounts of the caller, oldest first.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn my_accounts(&self, context: &Context<'_>) -> Result<Connection<String, Account>> {
        Ok(operations::my_accounts(cx(context), paging(context)?).await?)
    }

    /// A transfer, by its id or by the `idempotencyKey` with which the caller requested it. Null if there is no
    /// such transfer or it isn't visible to the caller. A transfer is visible to the caller who requested it
    /// and to the role `service`.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn transfer_status(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Key of the transfer.")] by: TransferBy,
    ) -> Result<Option<Transfer>> {
        Ok(operations::transfer_status(cx(context), by).await?.map(Transfer::from))
    }

    /// Transfers in one state, newest first.
    ///
    /// Who: service.
    #[graphql(guard = "Who::Role(Role::Service)")]
    async fn transfers(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "State of the transfers.")] state: TransferState,
    ) -> Result<Connection<String, Transfer>> {
        Ok(operations::transfers(cx(context), state, paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct TransfersMutation;

    /// Opens an account for the caller. Its balance is zero.
    ///
    /// Who: signed in.
    open_account(OpenAccountInput) -> OpenAccountResult
        for Who::SignedIn;

    /// Closes an account of the caller for good. It is refused with `AccountNotEmpty` unless the balance is
    /// zero and no transfer is unfinished. Refunds of payments still reach a closed account. Repeatable:
    /// closing a closed account returns it.
    ///
    /// Who: signed in.
    close_account(CloseAccountInput) -> CloseAccountResult
        for Who::SignedIn;

    /// Moves money from an account of the caller to another account. A refused transfer can be tried again
    /// with the same `idempotencyKey`.
    ///
    /// Who: signed in.
    transfer(TransferInput) -> TransferResult
        for Who::SignedIn;

    /// Moves money from the outside world into an account. Any account can be named.
    ///
    /// Who: service.
    deposit(DepositInput) -> DepositResult
        for Who::Role(Role::Service);

    /// Moves money from an account to the outside world. Any account can be named, also a closed one that a
    /// refund has reached.
    ///
    /// Who: service.
    withdraw(WithdrawInput) -> WithdrawResult
        for Who::Role(Role::Service);

    /// Cancels a transfer that isn't decided yet. Money that was already debited is returned to the source.
    /// Allowed for the caller who requested the transfer. A payment can't be cancelled here; it is cancelled
    /// with its checkout. Repeatable: cancelling a cancelled transfer returns it.
    ///
    /// Who: signed in.
    cancel_transfer(CancelTransferInput) -> CancelTransferResult
        for Who::SignedIn;

    /// Returns the money of an arrived transfer by a new transfer in the other direction. Repeatable: a transfer is
    /// reversed once. A payment can't be reversed here; it is refunded with its order.
    ///
    /// Who: service.
    reverse_transfer(ReverseTransferInput) -> ReverseTransferResult
        for Who::Role(Role::Service);
}

/// Subscription fields.
#[derive(Default)]
pub struct TransfersSubscription;

#[Subscription]
impl TransfersSubscription {
    /// An account: the current state first, then each new state after a change of the balance or the state.
    /// If changes come faster than the client reads, intermediate states are skipped. Visible to the owner
    /// and to the role `service`; for others the stream ends at once.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn balance_changed(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the account.")] account_id: ID,
    ) -> Result<impl Stream<Item = Result<Account>> + use<>> {
        // No account has an empty `_id`: the first read ends the stream.
        let of = ("accounts", input::id(NodeKind::ACCOUNT, &account_id).unwrap_or_default());
        Ok(follow(context, of, account_id, Account::face, |cx, id| {
            Box::pin(operations::account(cx, id))
        }))
    }
}
