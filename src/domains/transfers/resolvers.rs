//! Translates between GraphQL and the operations of accounts and transfers.

use async_graphql::{Context, ID, Object, Result, Subscription, connection::Connection};
use futures_util::Stream;

use super::{
    operations,
    types::{
        Account, CancelTransferInput, CancelTransferResult, CloseAccountInput, CloseAccountResult,
        DepositInput, DepositResult, OpenAccountInput, OpenAccountResult, ReverseTransferInput,
        ReverseTransferResult, StatementEntry, Transfer, TransferBy, TransferInput, TransferResult,
        TransferState, WithdrawInput, WithdrawResult,
    },
};
use crate::graphql::{
    app, input,
    node_id::NodeKind,
    refusals::answer,
    requester,
    requester::{Role, Who},
    subscription::follow,
};

/// Reads.
#[derive(Default)]
pub struct TransfersQuery;

#[Object]
impl TransfersQuery {
    /// An account. Own accounts only, but for services; null for any other.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn account(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The account.")] id: ID,
    ) -> Result<Option<Account>> {
        let found = operations::account(app(context), requester(context), &id).await?;
        Ok(found.map(Account))
    }

    /// Your accounts, oldest first.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn my_accounts(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor of the account before the first one.")] after: Option<String>,
    ) -> Result<Connection<String, Account>> {
        let subject = requester(context).subject()?;
        Ok(operations::my_accounts(app(context), subject, first, after.as_deref()).await?)
    }

    /// How a transfer stands. Transfers that you asked for only, but for services; null for any
    /// other, and for an op id under which nothing was begun.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn transfer_status(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which transfer.")] by: TransferBy,
    ) -> Result<Option<Transfer>> {
        let found = operations::transfer_status(app(context), requester(context), &by).await?;
        Ok(found.map(Transfer))
    }

    /// The transfers that stand in one state, newest first.
    ///
    /// Who: service.
    #[graphql(guard = "Who::Role(Role::Service)")]
    async fn transfers(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The state.")] state: TransferState,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor of the transfer before the first one.")] after: Option<String>,
    ) -> Result<Connection<String, Transfer>> {
        Ok(operations::transfers(app(context), state, first, after.as_deref()).await?)
    }

    /// The transfers from and to an account, newest first. Own accounts only, but for services;
    /// null for any other.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn statement(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The account.")] account: ID,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor of the entry before the first one.")] after: Option<String>,
    ) -> Result<Option<Connection<String, StatementEntry>>> {
        let (app, requester) = (app(context), requester(context));
        Ok(operations::statement(app, requester, &account, first, after.as_deref()).await?)
    }
}

/// Writes.
#[derive(Default)]
pub struct TransfersMutation;

#[Object]
impl TransfersMutation {
    /// Opens an account of yours.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn open_account(
        &self,
        context: &Context<'_>,
        input: OpenAccountInput,
    ) -> Result<OpenAccountResult> {
        let subject = requester(context).subject()?;
        let OpenAccountInput { currency, largest_balance, op_id } = input;
        let largest = largest_balance.map(|largest| largest.0);
        let said = operations::open(app(context), subject, currency, largest, op_id.as_ref()).await;
        Ok(answer(said)?)
    }

    /// Closes an account for good. It must be empty, with nothing under way; refunds of payments
    /// still reach it. Own accounts only.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn close_account(
        &self,
        context: &Context<'_>,
        input: CloseAccountInput,
    ) -> Result<CloseAccountResult> {
        let subject = requester(context).subject()?;
        Ok(answer(operations::close(app(context), subject, &input.account_id).await)?)
    }

    /// Moves money from an account of yours to another account. An op that was refused can be sent
    /// again under its op id and is then tried anew.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn transfer(
        &self,
        context: &Context<'_>,
        input: TransferInput,
    ) -> Result<TransferResult> {
        let subject = requester(context).subject()?;
        let order = operations::Order {
            source: &input.source_id,
            destination: &input.destination_id,
            amount: input.amount.0,
            op_id: input.op_id.as_ref(),
        };
        Ok(answer(operations::transfer(app(context), subject, order).await)?)
    }

    /// Brings money into any account from the outside world.
    ///
    /// Who: service.
    #[graphql(guard = "Who::Role(Role::Service)")]
    async fn deposit(&self, context: &Context<'_>, input: DepositInput) -> Result<DepositResult> {
        let subject = requester(context).subject()?;
        let DepositInput { account_id, amount, op_id } = input;
        let said =
            operations::deposit(app(context), subject, &account_id, amount.0, op_id.as_ref()).await;
        Ok(answer(said)?)
    }

    /// Takes money from any account to the outside world, also from a closed one that a refund has
    /// reached.
    ///
    /// Who: service.
    #[graphql(guard = "Who::Role(Role::Service)")]
    async fn withdraw(
        &self,
        context: &Context<'_>,
        input: WithdrawInput,
    ) -> Result<WithdrawResult> {
        let subject = requester(context).subject()?;
        let WithdrawInput { account_id, amount, op_id } = input;
        let said =
            operations::withdraw(app(context), subject, &account_id, amount.0, op_id.as_ref())
                .await;
        Ok(answer(said)?)
    }

    /// Gives up a transfer that isn't decided yet; what was taken goes back to its source. Transfers
    /// that you asked for only; a payment is given up with its checkout.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn cancel_transfer(
        &self,
        context: &Context<'_>,
        input: CancelTransferInput,
    ) -> Result<CancelTransferResult> {
        let subject = requester(context).subject()?;
        Ok(answer(operations::cancel(app(context), subject, &input.transfer_id).await)?)
    }

    /// Gives a transfer back that has arrived, by a transfer of its own; sent again, the same
    /// reversal is made once. A payment is refunded with its order.
    ///
    /// Who: service.
    #[graphql(guard = "Who::Role(Role::Service)")]
    async fn reverse_transfer(
        &self,
        context: &Context<'_>,
        input: ReverseTransferInput,
    ) -> Result<ReverseTransferResult> {
        let subject = requester(context).subject()?;
        Ok(answer(operations::reverse(app(context), subject, &input.transfer_id).await)?)
    }
}

/// What happens.
#[derive(Default)]
pub struct TransfersSubscription;

#[Subscription]
impl TransfersSubscription {
    /// An account: as it is now, and then whenever its balance or state changed. Intermediate
    /// values may be passed over when changes come faster than they are taken. Own accounts only,
    /// but for services; for any other the stream ends at once.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn balance_changed(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The account.")] account: ID,
    ) -> Result<impl Stream<Item = Result<Account>> + use<>> {
        let (app, requester) = (app(context).clone(), requester(context).clone());
        // No account has an empty `_id`: the first read ends the stream.
        let key = input::id(NodeKind::Account, &account).unwrap_or_default();
        let read = move || {
            let (app, requester, account) = (app.clone(), requester.clone(), account.clone());
            async move { Ok(operations::account(&app, &requester, &account).await?.map(Account)) }
        };
        Ok(follow(context, "accounts", key, read, Account::face))
    }
}
