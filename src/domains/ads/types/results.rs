//! Results and refusals of advertising.

use std::sync::Arc;

use super::{AdCreative, AdZone, Campaign, CampaignEnding};
use crate::{
    domains::ads::{
        documents::{CampaignDocument, ZoneDocument},
        operations::Zone,
    },
    graphql::{prelude::*, refusals::CurrencyMismatch, scalars::DateTime},
};

/// An ad that was served.
pub struct ServedAd {
    /// The zone as it was read.
    pub(in super::super) zone: Arc<Zone>,
    /// Position of the ad in it.
    pub(in super::super) position: usize,
    /// Token of the impression.
    pub(in super::super) token: String,
    /// Time until which the token is valid.
    pub(in super::super) expires_at: mongodb::bson::DateTime,
}

object! {
    /// An ad that was served: an impression was counted, and charged if the campaign pays for impressions.
    impl ServedAd as served {
        /// Global id of the campaign.
        campaign_id: ID = NodeKind::CAMPAIGN.id(&served.zone.ad(served.position).campaign),
        /// Number of the ad unit within the campaign.
        ad_unit: i32 = served.zone.ad(served.position).unit,
        /// What visitors see.
        creative: AdCreative = (&served.zone.ad(served.position).creative).into(),
        /// Token of the impression, for `recordClick` and `recordConversion`.
        token: &str = &served.token,
        /// Path of this gateway that counts a click and redirects to the campaign's target.
        click_path: String = format!("/ads/click/{}", served.token),
        /// Path of this gateway with a transparent picture of one pixel, which counts that the ad was shown.
        pixel_path: String = format!("/ads/pixel/{}", served.token),
        /// Time until which the token is valid.
        expires_at: DateTime = served.expires_at.into(),
    }
}

/// Result of a successful `serveAds`.
#[derive(async_graphql::SimpleObject)]
pub struct ServedAds {
    /// The ads, the best first. Empty if none can be served.
    pub ads: Vec<ServedAd>,
}

/// Result of a successful `recordClick`.
#[derive(Debug, async_graphql::SimpleObject)]
pub struct RecordedClick {
    /// Global id of the campaign.
    pub campaign_id: ID,
    /// Number of the ad unit within the campaign.
    pub ad_unit: i32,
    /// Whether a click of the same impression was recorded before. It counts once.
    pub is_repeat: bool,
    /// Address to which the click leads.
    pub target_url: String,
}

/// Result of a successful `recordConversion`.
#[derive(Debug, async_graphql::SimpleObject)]
pub struct RecordedConversion {
    /// Global id of the campaign.
    pub campaign_id: ID,
    /// Number of the ad unit within the campaign.
    pub ad_unit: i32,
    /// Whether a conversion of the same impression was recorded before. It counts once.
    pub is_repeat: bool,
}

result! {
    /// Result of `createAdZone`: the zone, or a refusal. `AlreadyExists`: the site has such a zone of another publisher or
    /// with another currency.
    pub enum CreateAdZoneResult:
        ZoneDocument => AdZone | AlreadyExists | InvalidInput;

    /// Result of `launchCampaign`: the campaign, or a refusal. `NotFound`: there is no such zone. `Conflict`: this
    /// `idempotencyKey` was used with another input.
    pub enum LaunchCampaignResult:
        CampaignDocument => Campaign | NotFound | AdZoneFull | CurrencyMismatch | Conflict | InvalidInput;

    /// Result of `pauseCampaign`: the paused campaign, or a refusal.
    pub enum PauseCampaignResult:
        CampaignDocument => Campaign | NotFound | CampaignEnded | InvalidInput;

    /// Result of `resumeCampaign`: the running campaign, or a refusal.
    pub enum ResumeCampaignResult:
        CampaignDocument => Campaign | NotFound | CampaignEnded | AdZoneFull | InvalidInput;

    /// Result of `serveAds`: the ads, or a refusal.
    pub enum ServeAdsResult:
        ServedAds | NotFound | InvalidInput;

    /// Result of `recordClick`: the click, or a refusal. `InvalidInput`: the token is invalid or has expired.
    pub enum RecordClickResult:
        RecordedClick | InvalidInput;

    /// Result of `recordConversion`: the conversion, or a refusal. `InvalidInput`: the token is invalid or has expired.
    pub enum RecordConversionResult:
        RecordedConversion | InvalidInput;
}

refusal! {
    /// A zone has no room for the ads of the campaign.
    struct AdZoneFull as "AD_ZONE_FULL" {
        /// Site of the zone.
        pub site: String,
        /// Name of the zone within its site.
        pub name: String,
    }

    /// The campaign has ended for good.
    struct CampaignEnded as "CAMPAIGN_ENDED" {
        /// Why it has ended.
        pub campaign_ending: CampaignEnding,
    }
}

impl std::fmt::Debug for ServedAds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ServedAds").field("ads", &self.ads.len()).finish()
    }
}
