//! Resolvers: they translate between GraphQL and the operations of sessions.

use super::operations;
use crate::graphql::{prelude::*, scalars::DateTime};

queries! {
    /// Query fields.
    pub struct SessionsQuery;

    /// Lengths of a user's sessions by hour, day, week, month or year, in UTC: the periods with sessions that begin between
    /// `from` and `to`, and the period that contains `from`. A report covers at most 1,500 periods. It contains the sessions
    /// that are rolled up, which is at intervals that the operator sets. Analysts see the sessions of all users, others
    /// their own.
    session_report(
        context,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")]
        user_id: Option<ID>,
        #[graphql(desc = "Length of the periods.")] level: Level,
        #[graphql(desc = "Start, in the first period. Default: about 30 periods before `to`.")]
        from: Option<DateTime>,
        #[graphql(desc = "End, not included. It is after `from`. Default: now.")]
        to: Option<DateTime>,
    ) by signed_in with consistency: SessionReport = {
        let cx = cx(context);
        let user = match &user_id {
            Some(id) => id.as_str(),
            None => cx.requester.subject()?,
        };
        operations::session_report(cx, user, level, [from, to]).await?.into()
    },
}

mutations! {
    /// Mutation fields.
    pub struct SessionsMutation;

    /// Records sessions of users. They are in the reports after the next roll-up. A session that began longer ago than the
    /// operator permits is refused, and with it the call.
    record_sessions(RecordSessionsInput) -> RecordSessionsResult by service;

    /// Rolls up the sessions that have arrived, without waiting for the next scheduled run. It can be repeated.
    run_rollup(RunRollupInput) -> RunRollupResult by admin;
}
