//! Campaigns, with their budgets and counts.

use async_graphql::Enum;

use super::{Cap, Creative, ZoneAd};
use crate::{graphql::scalars::CurrencyCode, mongo::prelude::*};

document! {
    /// A campaign: the decider of its own flows, and the account of its budget.
    pub struct CampaignDocument {
        /// Derived from the idempotency key, or random.
        pub id as "_id": String,
        /// Subject of the advertiser.
        pub advertiser: String,
        /// Name for the advertiser.
        pub name: String,
        /// Currency of bid and budget.
        pub currency: CurrencyCode,
        /// What is paid for.
        pub pricing: Pricing,
        /// Bid in minor units: for a thousand impressions, or for a click.
        pub bid: i64,
        /// What one impression or click costs.
        pub cost: i64,
        /// What may be spent.
        pub budget: Budget,
        /// Time before which it isn't served.
        pub starts_at: DateTime,
        /// Time from which on it isn't served.
        pub ends_at: DateTime,
        /// The only address to which its ads lead.
        pub target: String,
        /// Ad units; the first one has the number 1.
        pub units: Vec<AdUnit>,
        /// Zones in which it runs.
        pub zones: Vec<ZoneName>,
        /// Frequency cap of the campaign.
        pub campaign_cap?: Cap,
        /// Frequency cap of each of its ad units.
        pub unit_cap?: Cap,
        /// State; the diagram is in the room's `mod.rs`.
        pub state: CampaignState,
        /// Why it has ended.
        pub ending?: CampaignEnding,
        /// Server time at which it ended.
        pub ended_at?: DateTime,
        /// Server time at which it first ran.
        pub ran_at?: DateTime,
        /// Number of changes that its zones show.
        pub version: i64,
        /// Expected income for a thousand impressions, in minor units.
        pub ecpm: i64,
        /// Counts since its launch.
        pub total: Counts,
        /// Counts of the last day on which something was counted.
        pub today: Day,
        /// Earlier days, oldest first.
        pub past: Vec<Day>,
        /// Marks of the clicks and conversions that were counted of late.
        pub marks: Vec<EventMark>,
        /// Digest of the input that launched it.
        pub input: String,
        /// Server time of its launch.
        pub at: DateTime,
        /// Set as long as its zones may not show its state: server time of the last change.
        pub due?: DateTime,
        /// Server time from which on the sweep ends it: its end, or the time at which the budget was spent.
        pub live_until?: DateTime,
        /// Server time of the last computation of the eCPM from clicks. Only a running campaign has it that pays for clicks.
        pub rated_at?: DateTime,
        /// Time of the oldest mark.
        pub marks_at?: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "campaigns" {
        plain("advertiser", "advertiser at _id", "the campaigns of an advertiser"),
        of_field("due", "due", "the sweep of campaigns whose zones are behind"),
        of_field("live", "liveUntil", "the sweep of campaigns that end"),
        of_field("rated", "ratedAt", "the sweep of expected incomes"),
        of_field("marks", "marksAt", "the removal of marks of clicks"),
    }

    /// What decides whether a campaign can be charged. The rest of it can be large.
    pub(in super::super) struct ChargedCampaign {
        /// See [`CampaignDocument::id`].
        pub(in super::super) id as "_id": String,
        /// See [`CampaignDocument::state`].
        pub(in super::super) state: CampaignState,
        /// See [`CampaignDocument::starts_at`].
        pub(in super::super) starts_at: DateTime,
        /// See [`CampaignDocument::ends_at`].
        pub(in super::super) ends_at: DateTime,
        /// See [`CampaignDocument::budget`].
        pub(in super::super) budget: Budget,
        /// See [`CampaignDocument::total`].
        pub(in super::super) total: Counts,
        /// See [`CampaignDocument::today`].
        pub(in super::super) today: Day,
        /// Version of the document's shape.
        pub(in super::super) v: Version<1>,
    } in CampaignDocument: ["_id", "state", "startsAt", "endsAt", "budget", "total", "today", "v"];

    /// The budget of a campaign.
    pub struct Budget {
        /// In all.
        pub total: i64,
        /// On one day in UTC.
        pub per_day?: i64,
    }

    /// An ad unit.
    pub struct AdUnit {
        /// Keywords in lower case.
        pub keywords: Vec<String>,
        /// What visitors see.
        pub creative: Creative,
    }

    /// The name of a zone.
    pub struct ZoneName {
        /// `_id` of the zone.
        pub id: String,
        /// Site of the zone.
        pub site_id: String,
        /// Name of the zone within its site.
        pub zone_id: String,
    }

    /// The counts of one day in UTC.
    pub struct Day {
        /// End of the day.
        pub until: DateTime,
        /// What was counted.
        pub counts: Counts,
    }

    /// The mark of a click or a conversion that a campaign has counted.
    pub struct EventMark {
        /// `_id` of the event.
        pub id: String,
        /// What was charged for it.
        pub cost: i64,
        /// Server time.
        pub at: DateTime,
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Ads that were served and charged, or that a campaign could have been charged for.
    pub impressions: i64,
    /// Impressions whose pixel was requested.
    pub views: i64,
    /// Clicks.
    pub clicks: i64,
    /// Clicks that were charged.
    pub paid_clicks: i64,
    /// Conversions.
    pub conversions: i64,
    /// What was charged.
    pub spent: i64,
}

/// What an advertiser pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[graphql(name = "AdPricing")]
pub enum Pricing {
    /// Impressions: the bid is for a thousand of them.
    Cpm,
    /// Clicks: the bid is for one.
    Cpc,
}

/// Whether a campaign is served, and if not, whether it will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CampaignState {
    /// It is being added to its zones, and isn't served yet.
    Starting,
    /// It is served between its start and its end, as long as there is a budget.
    Running,
    /// It isn't served until it is resumed.
    Paused,
    /// It isn't served any more.
    Ended,
}

/// Why a campaign has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CampaignEnding {
    /// Its end was reached.
    EndReached,
    /// What is left of the budget pays for no further impression or click.
    BudgetSpent,
    /// It was never served, because one of its zones had no room.
    ZoneFull,
}

impl Counts {
    /// Adds other counts.
    pub(in super::super) fn add(&mut self, other: &Self) {
        self.impressions += other.impressions;
        self.views += other.views;
        self.clicks += other.clicks;
        self.paid_clicks += other.paid_clicks;
        self.conversions += other.conversions;
        self.spent += other.spent;
    }
}

impl CampaignDocument {
    /// What an impression costs.
    pub(in super::super) fn impression_cost(&self) -> i64 {
        if self.pricing == Pricing::Cpm { self.cost } else { 0 }
    }

    /// Whether the rest of the budget pays for nothing.
    pub(in super::super) fn is_spent(&self) -> bool {
        self.total.spent.saturating_add(self.cost) > self.budget.total
    }

    /// The copies of its ads for a zone.
    pub(in super::super) fn ads(&self) -> Vec<ZoneAd> {
        let ad = |(unit, of): (i32, &AdUnit)| ZoneAd {
            campaign: self.id.clone(),
            advertiser: self.advertiser.clone(),
            unit,
            version: self.version,
            ecpm: self.ecpm,
            cost: self.impression_cost(),
            needed: self.cost,
            keywords: of.keywords.clone(),
            creative: of.creative.clone(),
            campaign_cap: self.campaign_cap.clone(),
            unit_cap: self.unit_cap.clone(),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
        };
        (1..).zip(&self.units).map(ad).collect()
    }
}
