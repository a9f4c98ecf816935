//! Zones, with copies of ads.

use super::{Cap, Creative};
use crate::{graphql::scalars::CurrencyCode, mongo::prelude::*};

document! {
    /// A zone: a place of a site that shows ads. It has copies of the ads of the campaigns that run in it.
    pub struct ZoneDocument {
        /// See [`zone_key`].
        pub id as "_id": String,
        /// Site of the zone.
        pub site_id: String,
        /// Name of the zone within its site.
        pub zone_id: String,
        /// Subject of the publisher.
        pub publisher: String,
        /// Currency of the campaigns in the zone.
        pub currency: CurrencyCode,
        /// Ads, by falling eCPM.
        pub ads: Vec<ZoneAd>,
        /// Marks of the campaigns that left the zone.
        pub marks: Vec<LeaveMark>,
        /// Number of changes.
        pub revision: i64,
        /// Server time of its creation.
        pub at: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "adZones" {
        plain("publisher", "publisher _id", "the zones of a publisher"),
    }

    /// A copy of an ad unit of a campaign.
    pub struct ZoneAd {
        /// `_id` of the campaign.
        pub campaign: String,
        /// Subject of the advertiser.
        pub advertiser: String,
        /// Number of the ad unit within the campaign, from 1.
        pub unit: i32,
        /// Version of the campaign.
        pub version: i64,
        /// Expected income for a thousand impressions, in minor units.
        pub ecpm: i64,
        /// What an impression costs.
        pub cost: i64,
        /// What the budget must have left for an impression: the cost of the impression, or of a click.
        pub needed: i64,
        /// Keywords in lower case.
        pub keywords: Vec<String>,
        /// What visitors see.
        pub creative: Creative,
        /// Frequency cap of the campaign.
        pub campaign_cap?: Cap,
        /// Frequency cap of each of its ad units.
        pub unit_cap?: Cap,
        /// Time before which it isn't served.
        pub starts_at: DateTime,
        /// Time from which on it isn't served.
        pub ends_at: DateTime,
    }

    /// The mark of a campaign that left a zone: a late copy of a lower version is refused.
    pub struct LeaveMark {
        /// `_id` of the campaign.
        pub campaign: String,
        /// Version of the campaign.
        pub version: i64,
        /// Server time.
        pub at: DateTime,
    }

    /// A zone without its ads, to find out whether it has changed.
    pub(in super::super) struct ZoneHead {
        pub(in super::super) id as "_id": String,
        pub(in super::super) revision: i64,
    } in ZoneDocument: ["_id", "revision"];
}

/// The `_id` of a zone. Neither name contains `~` or `:`.
pub(in super::super) fn zone_key(site: &str, zone: &str) -> String {
    format!("{}:{}", site.replace('.', "~"), zone.replace('.', "~"))
}

impl ZoneAd {
    /// Whether it has a frequency cap, so that its impressions are noted in profiles.
    pub(in super::super) fn has_cap(&self) -> bool {
        self.campaign_cap.is_some() || self.unit_cap.is_some()
    }
}
