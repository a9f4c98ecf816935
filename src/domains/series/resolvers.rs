//! Resolvers: they translate between GraphQL and the operations of series.

use super::operations;
use crate::graphql::{prelude::*, scalars::DateTime};

queries! {
    /// Query fields.
    pub struct SeriesQuery;

    /// Views of a page as a time series in UTC: the points that overlap the time from `from` to `to`, without gaps. A
    /// series has at most 3,600 points, and takes at most 32 days from the start of its first to the end of its last point. It
    /// reads a document for each minute with views.
    view_series(
        context,
        #[graphql(desc = "Page, up to 8,192 bytes.")] page: String,
        #[graphql(
            desc = "Start, included. Default: so long before `to` that there are 60 points, of hours 24, of days 30."
        )]
        from: Option<DateTime>,
        #[graphql(desc = "End, not included. It is after `from`. Default: now.")]
        to: Option<DateTime>,
        #[graphql(desc = "Length of each point.")] resolution: Resolution,
    ) by analyst with consistency: ViewSeries =
        operations::view_series(cx(context), &page, [from, to], resolution).await?.into(),
}

mutations! {
    /// Mutation fields.
    pub struct SeriesMutation;

    /// Counts views of pages. The answer is sent when a majority of MongoDB's members has stored them, unless the operator
    /// has set another write concern. The mutation has no idempotency key. After the error `UNAVAILABLE` the views may have been counted or not.
    record_views(RecordViewsInput) -> RecordViewsResult by service;

    /// Creates the 60 buckets of a page and an hour with zeros, so that its first views don't have to. Buckets that exist
    /// keep their counts. It can be repeated.
    preallocate_views(PreallocateViewsInput) -> PreallocateViewsResult by service;
}
