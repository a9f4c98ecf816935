//! Why each ad of a zone would be served, or wouldn't.

use std::collections::HashMap;

use futures_util::future::try_join_all;

use super::{
    super::{
        documents::{CampaignDocument, zone_key},
        store::{
            campaigns::{NotCharged, campaigns, charge},
            profiles::Capped,
        },
        types::{AdExplanation, AdOutcome, ServeAdsInput},
    },
    is_own,
    rank::ranked,
    serve::{Visitor, seed},
    zones::current,
};
use crate::{
    graphql::{declared::valid, prelude::*},
    mongo::batched,
};

/// What `serveAds` would do with each ad of a zone, for the zone's publisher. It counts and charges nothing.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn explain_ads(
    cx: Cx<'_>,
    mut input: ServeAdsInput,
) -> Result<Option<Vec<AdExplanation>>> {
    // The path of a field begins with the argument.
    check(&mut input)?;
    let key = zone_key(&input.site, &input.zone);
    let read = async {
        tokio::try_join!(current(&cx, &key), Visitor::read(&cx, input.visitor.as_deref()))
    };
    let (zone, visitor) = batched(read).await?;
    let own = zone.filter(|zone| is_own(cx, &zone.document.publisher, Role::Publisher));
    let Some(zone) = own else { return Ok(None) };
    let keywords = input.keywords.unwrap_or_default();
    let mut left = input.count.unwrap_or(1);
    let now = cx.begin().await?.now();

    let mut ids: Vec<&str> = zone.document.ads.iter().map(|ad| ad.campaign.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let (app, collection) = (cx.app, campaigns(&cx));
    let read = ids.into_iter().map(|id| collection.get(id));
    let found = batched(try_join_all(read)).await?.into_iter().flatten();
    let found: HashMap<String, CampaignDocument> =
        found.map(|campaign| (campaign.id.clone(), campaign)).collect();

    let explained = ranked(&zone, &keywords, seed(app)).into_iter().map(|ranked| {
        let ad = zone.ad(ranked.position);
        let capped = visitor.as_ref().and_then(|visitor| visitor.capped(ad, now));
        let refused = found.get(&ad.campaign).map_or(Some(NotCharged::NotRunning), |campaign| {
            charge(&ad.campaign, ad.cost, ad.needed).broken(campaign, now).copied()
        });
        let outcome = match (capped, refused) {
            (Some(Capped::Campaign), _) => AdOutcome::CampaignCapReached,
            (Some(Capped::Unit), _) => AdOutcome::AdUnitCapReached,
            (None, Some(NotCharged::NotRunning)) => AdOutcome::NotRunning,
            (None, Some(NotCharged::NotBegun)) => AdOutcome::NotBegun,
            (None, Some(NotCharged::Over)) => AdOutcome::Over,
            (None, Some(NotCharged::Spent)) => AdOutcome::BudgetSpent,
            (None, Some(NotCharged::DaySpent)) => AdOutcome::DailyBudgetSpent,
            (None, None) if left > 0 => AdOutcome::Served,
            (None, None) => AdOutcome::Outranked,
        };
        if outcome == AdOutcome::Served {
            left -= 1;
        }
        let is_asked = |keyword: &&String| keywords.contains(keyword);
        AdExplanation {
            campaign_id: NodeKind::CAMPAIGN.id(&ad.campaign),
            ad_unit: ad.unit,
            ecpm: Money::new(ad.ecpm, zone.document.currency),
            matching_keywords: ad.keywords.iter().filter(is_asked).cloned().collect(),
            score: ranked.score,
            outcome,
        }
    });
    Ok(Some(explained.collect()))
}

/// Checks the arguments as those of `serveAds` are checked.
fn check(input: &mut ServeAdsInput) -> Result<()> {
    valid("explainAds", input).map_err(|fault| {
        let field = fault.field.trim_start_matches("input.explainAds.").to_owned();
        Error::bad_input(field, fault.reason)
    })
}
