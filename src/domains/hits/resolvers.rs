//! Resolvers: they translate between GraphQL and the operations of hits.

use super::operations;
use crate::graphql::{prelude::*, shared::Shared, subscription::Progress};

queries! {
    /// Query fields.
    pub struct HitsQuery;

    /// Page views of a page by minute, hour, day, week or month. A report has at most 1,500 buckets. If all of them consist
    /// of whole days in UTC, it reads one document for each month, otherwise one for each day, and takes at most 400 days.
    report(
        context,
        #[graphql(desc = "Site that was viewed, 1 to 200 characters.")] site: String,
        #[graphql(desc = "Page of the site, up to 8,192 bytes.")] page: String,
        #[graphql(desc = "Days, points in time, or a number of buckets up to now.")] range: ReportRange,
        #[graphql(desc = "Length of each bucket.")] resolution: Resolution,
        #[graphql(
            desc = "Time zone of days, weeks, months and hours by its name in the IANA database, such as `Europe/Lisbon`. \
                    Default: UTC."
        )]
        time_zone: Option<String>,
    ) by analyst with consistency: HitReport = {
        let (page, zone) = ((site.as_str(), page.as_str()), time_zone.as_deref());
        operations::report(cx(context), page, range, resolution, zone).await?.into()
    },

    /// Pages of a site with the most page views on one day, or in one month. The most viewed page comes first; the order
    /// of pages with equal numbers isn't defined.
    top_pages(
        context,
        #[graphql(desc = "Site that was viewed, 1 to 200 characters.")] site: String,
        #[graphql(desc = "Day or month in UTC. Default: the present month.")]
        period: Option<TopPagesPeriod>,
        #[graphql(desc = "Maximum number of pages, 1 to 100.", default = 10)] first: i32,
    ) by analyst with consistency: Vec<TopPage> = {
        let pages = operations::top_pages(cx(context), &site, period, first).await?;
        pages.into_iter().map(TopPage::from).collect()
    },
}

mutations! {
    /// Mutation fields.
    pub struct HitsMutation;

    /// Counts page views. The answer is sent when a majority of MongoDB's members has stored them, unless the operator has
    /// set another write concern. After the error
    /// `UNAVAILABLE` the hits may have been counted, or not, or only for reports of some resolutions. With an idempotency
    /// key the call can be repeated, and counts each of them once.
    record_hits(RecordHitsInput) -> RecordHitsResult by service;
}

subscriptions! {
    /// Subscription fields.
    pub struct HitsSubscription;

    /// Page views of a page today and within the last hour: at once, and again after more of them have been counted, at
    /// most once a second.
    hits_changed(
        context,
        #[graphql(desc = "Site that is viewed, 1 to 200 characters.")] site: String,
        #[graphql(desc = "Page of the site, up to 8,192 bytes.")] page: String,
    ) by analyst: Shared<HitsChanged> =
        operations::hits_changed(cx(context), (&site, &page), Progress::of(context))?,
}
