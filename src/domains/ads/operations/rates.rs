//! The expected income of campaigns (eCPM). The eCPM of a campaign that pays for clicks follows from its click rate.

use super::{
    super::{
        documents::{CampaignDocument, CampaignState, Counts, Pricing},
        store::campaigns,
    },
    placing::show,
};
use crate::graphql::prelude::*;

/// What is assumed of a campaign before anything is known of it: one click in a hundred impressions. It weighs as much
/// as this many impressions.
const ASSUMED_CLICKS: i64 = 2;
/// See [`ASSUMED_CLICKS`].
const ASSUMED_IMPRESSIONS: i64 = 200;
/// The zones are changed if the expected income differs by more than one part in this many.
const PARTS: i64 = 20;

/// Expected income for a thousand impressions, in minor units, at least one.
pub(super) fn expected(pricing: Pricing, bid: i64, counts: Counts) -> i64 {
    match pricing {
        Pricing::Cpm => bid,
        Pricing::Cpc => {
            let clicks = i128::from(counts.clicks + ASSUMED_CLICKS);
            let impressions = i128::from(counts.impressions + ASSUMED_IMPRESSIONS);
            let expected = i128::from(bid) * 1_000 * clicks / impressions;
            i64::try_from(expected).unwrap_or(i64::MAX).max(1)
        }
    }
}

/// Computes the expected income of a running campaign that pays for clicks, and shows it in the zones. Returns whether
/// it differed.
pub(in super::super) async fn refresh(app: &App, id: &str) -> Result<bool> {
    let (attempt, found) = app.begin_with::<CampaignDocument>(id).await?;
    let is_settled =
        |found: &CampaignDocument| found.state == CampaignState::Running && found.due.is_none();
    let Some(campaign) = found.filter(is_settled) else { return Ok(false) };
    let ecpm = expected(campaign.pricing, campaign.bid, campaign.total);
    if (ecpm - campaign.ecpm).abs() <= campaign.ecpm / PARTS {
        campaigns::note_rated(app, &campaign).held().await?;
        return Ok(false);
    }
    let fields = campaigns::rated(ecpm);
    let rated = campaigns::turn(app, &campaign, CampaignState::Running, fields);
    let Some(rated) = rated.within(&attempt).after().await? else { return Ok(false) };
    show(app, &rated, &attempt).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_change_what_is_expected() {
        let counts = |impressions, clicks| Counts { impressions, clicks, ..Counts::default() };
        assert_eq!(expected(Pricing::Cpm, 250, counts(1_000, 500)), 250);
        // One click in a hundred at 20 each.
        assert_eq!(expected(Pricing::Cpc, 20, Counts::default()), 200);
        assert_eq!(expected(Pricing::Cpc, 20, counts(1_800, 98)), 1_000);
        assert!(expected(Pricing::Cpc, 20, counts(800, 0)) < 200);
        assert_eq!(expected(Pricing::Cpc, 1, counts(1_000_000, 0)), 1);
    }
}
