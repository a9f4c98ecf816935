//! GraphQL types of advertising.

mod inputs;
mod results;

pub use super::documents::{CampaignEnding, CampaignState, Pricing};
pub use inputs::*;
pub use results::*;

use async_graphql::{Enum, SimpleObject};
use mongodb::bson;

use super::{
    documents::{
        AdUnit, CampaignDocument, Cap, Counts, Creative, THOUSANDTHS, ZoneAd, ZoneDocument,
        ZoneName,
    },
    operations,
};
use crate::{
    domains::times::{DAY, day_of},
    graphql::{prelude::*, scalars::DateTime},
};

object! {
    /// A zone: a place of a site that shows ads.
    pub type AdZone = ZoneDocument as zone {
        /// Global id of the zone.
        pub id: ID = NodeKind::AD_ZONE.id(&zone.id),
        /// Site of the zone.
        site: &str = &zone.site_id,
        /// Name of the zone within its site.
        name: &str = &zone.zone_id,
        /// Currency of the campaigns that can run in the zone.
        currency: CurrencyCode = zone.currency,
        /// Ads of the campaigns that run in the zone, by falling expected income.
        ads: Vec<AdPlacement> = zone.ads.iter().map(|ad| AdPlacement::of(ad, zone.currency)).collect(),
        /// Time at which the zone was created.
        created_at: DateTime = zone.at.into(),
    }
}

/// An ad unit of a campaign in a zone.
#[derive(Debug)]
pub struct AdPlacement(ZoneAd, CurrencyCode);

impl AdPlacement {
    /// An ad of a zone with this currency.
    pub(super) fn of(ad: &ZoneAd, currency: CurrencyCode) -> Self {
        Self(ad.clone(), currency)
    }
}

object! {
    /// An ad unit of a campaign in a zone.
    impl AdPlacement as placed {
        /// Global id of the campaign.
        campaign_id: ID = NodeKind::CAMPAIGN.id(&placed.0.campaign),
        /// Number of the ad unit within the campaign, from 1.
        ad_unit: i32 = placed.0.unit,
        /// Expected income for a thousand impressions.
        ecpm: Money = Money::new(placed.0.ecpm, placed.1),
        /// Keywords in lower case.
        keywords: &[String] = &placed.0.keywords,
        /// What visitors see.
        creative: AdCreative = (&placed.0.creative).into(),
    }
}

/// What visitors see of an ad.
#[derive(Debug, SimpleObject)]
pub struct AdCreative {
    /// First line of the ad, 1 to 100 characters of plain text.
    pub headline: String,
    /// Text below the headline; may be empty.
    pub text: String,
    /// Address of a picture; null if the ad has none.
    pub image_url: Option<String>,
}

impl From<&Creative> for AdCreative {
    fn from(Creative { headline, text, image }: &Creative) -> Self {
        Self { headline: headline.clone(), text: text.clone(), image_url: image.clone() }
    }
}

object! {
    /// A campaign of an advertiser.
    pub type Campaign = CampaignDocument as campaign {
        /// Global id of the campaign.
        pub id: ID = NodeKind::CAMPAIGN.id(&campaign.id),
        /// Name of the campaign.
        name: &str = &campaign.name,
        /// Whether the campaign is served, and if not, whether it will be.
        state: CampaignState = campaign.state,
        /// Why the campaign has ended; null unless it is `ENDED`.
        ending: Option<CampaignEnding> = campaign.ending,
        /// Time at which the campaign ended; null unless it is `ENDED`.
        ended_at: Option<DateTime> = campaign.ended_at.map(DateTime::from),
        /// What the advertiser pays for.
        pricing: Pricing = campaign.pricing,
        /// Bid for a thousand impressions (`CPM`) or for a click (`CPC`).
        bid: Money = Money::new(campaign.bid, campaign.currency),
        /// What the campaign may spend in all.
        budget: Money = minor(campaign.budget.total, campaign.currency),
        /// What the campaign may spend on one day in UTC; null if only the whole is bounded.
        daily_budget: Option<Money> =
            campaign.budget.per_day.map(|amount| minor(amount, campaign.currency)),
        /// What was counted and spent since the launch.
        counts: AdCounts = AdCounts::new(campaign.total, campaign.currency),
        /// What was counted and spent from one day to another, by day in UTC. It takes no read.
        report(
            _context,
            #[graphql(desc = "First day.")] from: Date,
            #[graphql(desc = "Last day, included. It can't be before `from`.")] to: Date,
        )?: CampaignReport = operations::report(&campaign.0, &from, &to)?,
        /// Expected income of the zones for a thousand impressions. It determines the rank of the ads. For `CPC` it
        /// follows from the clicks so far.
        ecpm: Money = Money::new(campaign.ecpm, campaign.currency),
        /// Time from which on the ads are served.
        starts_at: DateTime = campaign.starts_at.into(),
        /// Time at which the campaign ends.
        ends_at: DateTime = campaign.ends_at.into(),
        /// Address to which a click on any of its ads leads.
        target_url: &str = &campaign.target,
        /// Zones in which the campaign runs.
        zones: Vec<AdZoneName> = campaign.zones.iter().map(AdZoneName::from).collect(),
        /// Ad units in the order of their numbers.
        ad_units: Vec<AdUnitDetails> = (1..).zip(&campaign.units).map(AdUnitDetails::from).collect(),
        /// How often a visitor may see ads of the campaign; null if it isn't bounded.
        frequency_cap: Option<FrequencyCap> = campaign.campaign_cap.as_ref().map(FrequencyCap::from),
        /// How often a visitor may see each ad unit; null if it isn't bounded.
        ad_unit_frequency_cap: Option<FrequencyCap> =
            campaign.unit_cap.as_ref().map(FrequencyCap::from),
        /// Time at which the campaign was launched.
        launched_at: DateTime = campaign.at.into(),
    }
}

/// An amount in thousandths, rounded down to minor units.
fn minor(thousandths: i64, currency: CurrencyCode) -> Money {
    Money::new(thousandths.div_euclid(THOUSANDTHS), currency)
}

/// A zone of a site, by the two names with which it was created.
#[derive(Debug, SimpleObject)]
pub struct AdZoneName {
    /// Site of the zone.
    pub site: String,
    /// Name of the zone within its site.
    pub name: String,
}

impl From<&ZoneName> for AdZoneName {
    fn from(zone: &ZoneName) -> Self {
        Self { site: zone.site_id.clone(), name: zone.zone_id.clone() }
    }
}

/// An ad unit of a campaign.
#[derive(Debug, SimpleObject)]
pub struct AdUnitDetails {
    /// Number of the ad unit within the campaign, from 1.
    pub number: i32,
    /// Keywords in lower case.
    pub keywords: Vec<String>,
    /// What visitors see.
    pub creative: AdCreative,
}

impl From<(i32, &AdUnit)> for AdUnitDetails {
    fn from((number, unit): (i32, &AdUnit)) -> Self {
        Self { number, keywords: unit.keywords.clone(), creative: (&unit.creative).into() }
    }
}

/// How often a visitor may see an ad.
#[derive(Debug, SimpleObject)]
pub struct FrequencyCap {
    /// Maximum number of impressions within the window.
    pub count: i32,
    /// Length of the window in seconds.
    pub seconds: i32,
}

impl From<&Cap> for FrequencyCap {
    fn from(cap: &Cap) -> Self {
        let int = crate::graphql::scalars::int;
        Self { count: int(cap.count), seconds: int(cap.seconds) }
    }
}

/// What was counted, and what was spent for it.
#[derive(Debug, SimpleObject)]
pub struct AdCounts {
    /// Ads that were served.
    pub impressions: Long,
    /// Impressions whose pixel was requested. Pages that don't show the pixel have none.
    pub views: Long,
    /// Clicks: at most one for each impression.
    pub clicks: Long,
    /// Clicks that were charged. Campaigns that pay for impressions have none.
    pub charged_clicks: Long,
    /// Conversions: at most one for each impression.
    pub conversions: Long,
    /// What was spent, rounded down to minor units.
    pub spent: Money,
    /// What was spent, in thousandths of the minor unit.
    pub spent_thousandths: Long,
}

impl AdCounts {
    /// What was counted, with what was spent in this currency.
    pub(super) fn new(counts: Counts, currency: CurrencyCode) -> Self {
        Self {
            impressions: Long(counts.impressions),
            views: Long(counts.views),
            clicks: Long(counts.clicks),
            charged_clicks: Long(counts.paid_clicks),
            conversions: Long(counts.conversions),
            spent: minor(counts.spent, currency),
            spent_thousandths: Long(counts.spent),
        }
    }
}

/// What a campaign counted and spent in a range of days.
#[derive(Debug, SimpleObject)]
pub struct CampaignReport {
    /// Sum of the days.
    pub total: AdCounts,
    /// Days on which something was counted, in chronological order.
    pub days: Vec<CampaignDay>,
}

/// What a campaign counted and spent on one day in UTC.
#[derive(Debug, SimpleObject)]
pub struct CampaignDay {
    /// The day.
    pub date: Date,
    /// What was counted and spent.
    pub counts: AdCounts,
}

/// The date of the day that ends at this time.
pub(super) fn date_of(until: bson::DateTime) -> Option<Date> {
    Date::parse_date(&day_of(until.timestamp_millis() - DAY))
}

/// Why a candidate was served, or wasn't.
#[derive(Debug, SimpleObject)]
pub struct AdExplanation {
    /// Global id of the campaign.
    pub campaign_id: ID,
    /// Number of the ad unit within the campaign.
    pub ad_unit: i32,
    /// Expected income for a thousand impressions.
    pub ecpm: Money,
    /// Keywords of the ad unit that were asked for.
    pub matching_keywords: Vec<String>,
    /// `ecpm` in minor units, times the natural logarithm of 1.1 plus the number of matching keywords.
    pub score: f64,
    /// What would become of it.
    pub outcome: AdOutcome,
}

/// What becomes of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum AdOutcome {
    /// The visitor gets it.
    Served,
    /// Enough candidates before it are served.
    Outranked,
    /// The visitor has seen the campaign as often as its frequency cap permits.
    CampaignCapReached,
    /// The visitor has seen the ad unit as often as its frequency cap permits.
    AdUnitCapReached,
    /// The ad has a frequency cap, and the profile of the visitor has no room: it remembers 500 impressions, and caps need all of
    /// them.
    ProfileFull,
    /// The campaign isn't `RUNNING`.
    NotRunning,
    /// The start of the campaign is in the future.
    NotBegun,
    /// The end of the campaign is in the past.
    Over,
    /// The rest of the budget doesn't pay for it.
    BudgetSpent,
    /// The rest of the day's budget doesn't pay for it.
    DailyBudgetSpent,
}
