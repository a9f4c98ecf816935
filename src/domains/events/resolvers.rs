//! Resolvers: they translate between GraphQL and the operations of events.

use super::{
    operations::{self, Counted},
    types::{Event, EventsBy, LogEventsInput, LogEventsResult, RequestsOfDay},
};
use crate::graphql::{prelude::*, scalars::DateTime};

queries! {
    /// Query fields.
    pub struct EventsQuery;

    /// Logged requests, newest first.
    ///
    /// Who: analyst or operator.
    #[graphql(guard = "Who::Either(Role::Analyst, Role::Operator)")]
    events(
        context,
        #[graphql(desc = "Which events.")] by: EventsBy,
        #[graphql(desc = "First time, included. Default: the beginning.")] from: Option<DateTime>,
        #[graphql(desc = "Last time, not included. It is after `from`. Default: the end.")]
        to: Option<DateTime>,
    ): Connection<Event> =
        operations::events(cx(context), by, [from, to], paging(context)?).await?,

    /// Number of requests by day and page, from one day to another, both included, in UTC. Days without requests aren't
    /// listed. It counts the logged events when it is called, and reads a key of an index for each event of these days, twice.
    /// So it is refused if there are too many, by default more than 5,000,000; `report` reads counts that were made before.
    ///
    /// Who: analyst or operator.
    #[graphql(guard = "Who::Either(Role::Analyst, Role::Operator)")]
    requests_by_day_and_page(
        context,
        #[graphql(desc = "First day.")] from: Date,
        #[graphql(desc = "Last day, included: at most 30 days after the first.")] to: Date,
        #[graphql(desc = "Site of the pages. Default: all sites.")] site: Option<String>,
        #[graphql(desc = "Maximum number of pages of each day, 1 to 100. Default: 20.")]
        pages_per_day: Option<i32>,
    ) with consistency: Vec<RequestsOfDay> = {
        let counted = Counted { days: [&from, &to], site: site.as_deref(), pages: pages_per_day };
        operations::requests_by_day_and_page(cx(context), counted).await?
    },
}

mutations! {
    /// Mutation fields.
    pub struct EventsMutation;

    /// Logs requests as events. An invalid event is refused by itself, and the others are logged. Calls of one moment share
    /// commands.
    log_events(LogEventsInput) -> LogEventsResult by service;
}
