//! Translates between GraphQL and the operations of hits.

use async_graphql::{Context, Object, Result};
use mongodb::bson;

use super::{
    operations,
    types::{HitBucket, HitReport, RecordHitsInput, RecordHitsResult, Resolution},
};
use crate::graphql::{
    app,
    refusals::answer,
    requester::{Role, Who},
    scalars::{Date, DateTime, Long},
};

/// Reads.
#[derive(Default)]
pub struct HitsQuery;

#[Object]
impl HitsQuery {
    /// How often a page was looked at, from one day of UTC to another, in at most 1,500 buckets. A month by day is
    /// read from one document.
    ///
    /// Who: analyst.
    #[graphql(guard = "Who::Role(Role::Analyst)")]
    async fn report(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The site.")] site: String,
        #[graphql(desc = "The page of it.")] page: String,
        #[graphql(desc = "The first day, between 1970 and 2999.")] from: Date,
        #[graphql(desc = "The last day; its hits belong to the report.")] to: Date,
        #[graphql(desc = "How long each bucket is.")] resolution: Resolution,
    ) -> Result<HitReport> {
        let counted =
            operations::report(app(context), &site, &page, [&from, &to], resolution).await?;
        let total = Long(counted.values().sum());
        let bucket = |(start, hits)| {
            let starts_at = DateTime(bson::DateTime::from_millis(start));
            HitBucket { starts_at, hits: Long(hits) }
        };
        Ok(HitReport { total, buckets: counted.into_iter().map(bucket).collect() })
    }
}

/// Writes.
#[derive(Default)]
pub struct HitsMutation;

#[Object]
impl HitsMutation {
    /// Counts that pages were looked at. The answer comes when a majority of MongoDB's members holds it. A hit
    /// has no key by which a repeat is known: after `UNAVAILABLE` it may have been counted, or not, or
    /// only in reports of some resolutions.
    ///
    /// Who: service.
    #[graphql(guard = "Who::Role(Role::Service)")]
    async fn record_hits(
        &self,
        context: &Context<'_>,
        input: RecordHitsInput,
    ) -> Result<RecordHitsResult> {
        Ok(answer(operations::record(app(context), &input.hits).await)?)
    }
}
