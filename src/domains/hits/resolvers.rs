//! Resolvers: they translate between GraphQL and the operations of hits.

use async_graphql::{Context, Object, Result};

use super::operations;
use crate::graphql::{
    cx::cx,
    declared::mutations,
    requester::{Role, Who},
    scalars::Date,
};

/// Query fields.
#[derive(Default)]
pub struct HitsQuery;

#[Object]
impl HitsQuery {
    /// Page views of a page from one day to another, both included, in UTC. A report has at most 1,500
    /// buckets. A report of one month by day reads a single document.
    ///
    /// Who: analyst.
    #[graphql(guard = "Who::Role(Role::Analyst)")]
    async fn report(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Site that was viewed, 1 to 200 characters.")] site: String,
        #[graphql(desc = "Page of the site, 1 to 1,000 characters.")] page: String,
        #[graphql(desc = "First day, between the years 1970 and 2999.")] from: Date,
        #[graphql(desc = "Last day, included. It can't be before `from`.")] to: Date,
        #[graphql(desc = "Length of each bucket.")] resolution: Resolution,
    ) -> Result<HitReport> {
        let days = [&from, &to];
        Ok(operations::report(cx(context), &site, &page, days, resolution).await?.into())
    }
}

mutations! {
    /// Mutation fields.
    pub struct HitsMutation;

    /// Counts page views. The answer is sent when a majority of MongoDB's members has stored them. The
    /// mutation has no idempotency key. After the error `UNAVAILABLE` the hits may have been counted, or not,
    /// or only for reports of some resolutions.
    ///
    /// Who: service.
    record_hits(RecordHitsInput) -> RecordHitsResult
        for Who::Role(Role::Service);
}
