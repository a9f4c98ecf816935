//! Resolvers: they translate between GraphQL and the operations of advertising.

use super::operations;
use crate::graphql::prelude::*;

queries! {
    /// Query fields.
    pub struct AdsQuery;

    /// A zone by its global id. Null if it doesn't exist or belongs to another publisher.
    ad_zone(
        context,
        #[graphql(desc = "Global id of the zone.")] id: ID,
    ) by publisher: Option<AdZone> =
        operations::ad_zone(cx(context), &id).await?.map(AdZone::from),

    /// Zones of the caller, by site and name.
    my_ad_zones(context) by publisher: Connection<AdZone> =
        operations::my_ad_zones(cx(context), paging(context)?).await?,

    /// The ads that `serveAds` would serve to a visitor of a zone at this moment, the best first; ads with the same score
    /// come in random order. Frequency caps and budgets are checked for each ad by itself. Nothing is counted or charged.
    /// Null if the zone doesn't exist or belongs to another publisher.
    preview_ads(
        context,
        #[graphql(desc = "Site of the zone.")] site: String,
        #[graphql(desc = "Name of the zone within its site.")] zone: String,
        #[graphql(desc = "Id of the visitor, 1 to 128 characters. Default: no frequency cap is checked.")]
        visitor: Option<String>,
        #[graphql(
            desc = "Keywords of the page, at most 20, each of 1 to 64 characters. Upper and lower case are the same. \
                    Default: none."
        )]
        keywords: Option<Vec<String>>,
        #[graphql(desc = "Maximum number of ads, 1 to 10. Default: 1.")] count: Option<i32>,
    ) by publisher: Option<Vec<AdPlacement>> = {
        let input = ServeAdsInput { site, zone, visitor, keywords, count };
        operations::preview_ads(cx(context), input).await?
    },

    /// What `serveAds` would do with each ad of a zone at this moment. Nothing is counted or charged. Null if the zone
    /// doesn't exist or belongs to another publisher. `previewAds` lists only the ads that would be served.
    explain_ads(
        context,
        #[graphql(desc = "Site of the zone.")] site: String,
        #[graphql(desc = "Name of the zone within its site.")] zone: String,
        #[graphql(desc = "Id of the visitor, 1 to 128 characters. Default: no frequency cap is checked.")]
        visitor: Option<String>,
        #[graphql(
            desc = "Keywords of the page, at most 20, each of 1 to 64 characters. Upper and lower case are the same. \
                    Default: none."
        )]
        keywords: Option<Vec<String>>,
        #[graphql(desc = "Maximum number of ads that would be served, 1 to 10. Default: 1.")]
        count: Option<i32>,
    ) by publisher: Option<Vec<AdExplanation>> = {
        let input = ServeAdsInput { site, zone, visitor, keywords, count };
        operations::explain_ads(cx(context), input).await?
    },

    /// A campaign by its global id. Null if it doesn't exist or belongs to another advertiser.
    campaign(
        context,
        #[graphql(desc = "Global id of the campaign.")] id: ID,
    ) by advertiser: Option<Campaign> =
        operations::campaign(cx(context), &id).await?.map(Campaign::from),

    /// Campaigns of the caller, oldest first.
    my_campaigns(context) by advertiser: Connection<Campaign> =
        operations::my_campaigns(cx(context), paging(context)?).await?,

    /// What a campaign counted and spent from one day to another, both included, in UTC. It agrees with the counts of the
    /// campaign. Null if the campaign doesn't exist or belongs to another advertiser.
    campaign_report(
        context,
        #[graphql(desc = "Global id of the campaign.")] campaign_id: ID,
        #[graphql(desc = "First day.")] from: Date,
        #[graphql(desc = "Last day, included. It can't be before `from`.")] to: Date,
    ) by advertiser: Option<CampaignReport> =
        operations::campaign_report(cx(context), &campaign_id, &from, &to).await?,
}

mutations! {
    /// Mutation fields.
    pub struct AdsMutation;

    /// Creates a zone, which belongs to the caller. Repeatable: a repeat returns the zone.
    create_ad_zone(CreateAdZoneInput) -> CreateAdZoneResult by publisher;

    /// Launches a campaign: puts its ads into all of its zones. A campaign belongs to the caller.
    launch_campaign(LaunchCampaignInput) -> LaunchCampaignResult by advertiser;

    /// Takes the ads of a campaign out of all of its zones. Repeatable: a repeat returns the campaign. Clicks on ads that
    /// were served before are still charged.
    pause_campaign(PauseCampaignInput) -> PauseCampaignResult by advertiser;

    /// Puts the ads of a paused campaign into its zones again. Repeatable: a repeat returns the campaign. If a zone has no
    /// room, the campaign stays paused.
    resume_campaign(ResumeCampaignInput) -> ResumeCampaignResult by advertiser;

    /// Chooses ads for a visitor of a zone. Each of them counts as an impression, and is charged if its campaign pays for
    /// impressions. The mutation has no idempotency key. After the error `UNAVAILABLE` ads may have been charged that
    /// weren't served.
    serve_ads(ServeAdsInput) -> ServeAdsResult by service;

    /// Counts a click on a served ad, at most one for each impression. It is charged if the campaign pays for clicks, has
    /// not ended, and has the budget for it. Repeatable.
    record_click(RecordClickInput) -> RecordClickResult by service;

    /// Counts that a visitor did what the advertiser wanted after an impression, such as a purchase, at most once for each
    /// impression. Repeatable.
    record_conversion(RecordConversionInput) -> RecordConversionResult by service;
}
