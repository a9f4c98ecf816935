//! Explains to a publisher which ads a visitor would get (`previewAds`), and why the other ads aren't served
//! (`explainAds`). These queries count and charge nothing.

use std::{collections::HashMap, sync::Arc};

use mongodb::bson::{DateTime, Document};

use super::{
    super::{
        documents::{ZoneAd, zone_key},
        store::{
            campaigns::{NotCharged, find_charged, not_charged},
            profiles::Capped,
        },
        types::{AdExplanation, AdOutcome, AdPlacement, ServeAdsInput},
    },
    is_own,
    rank::ranked,
    serve::{Visitor, seed},
    zones::{Zone, current},
};
use crate::{
    graphql::{declared::valid, prelude::*},
    join::try_join_all,
    mongo::batched,
};

/// What a publisher asks of an own zone.
struct Question {
    zone: Arc<Zone>,
    visitor: Option<Visitor>,
    keywords: Vec<String>,
    count: usize,
    /// The server's time.
    now: DateTime,
}

/// The campaigns of ads, as fields, by `_id`.
type Campaigns = HashMap<String, Document>;

impl Question {
    /// Reads what the field with this name asks for. `None` if there is no such zone, or it belongs to another publisher.
    async fn read(cx: Cx<'_>, field: &str, mut input: ServeAdsInput) -> Result<Option<Self>> {
        check(field, &mut input)?;
        let key = zone_key(&input.site, &input.zone);
        let read = async {
            tokio::try_join!(current(&cx, &key), Visitor::read(&cx, input.visitor.as_deref()))
        };
        let (zone, visitor) = batched(read).await?;
        let own = zone.filter(|zone| is_own(cx, &zone.document.publisher, Role::Publisher));
        let Some(zone) = own else { return Ok(None) };
        let count = usize::try_from(input.count.unwrap_or(1)).unwrap_or(1);
        let keywords = input.keywords.unwrap_or_default();
        let now = cx.begin().await?.now();
        Ok(Some(Self { zone, visitor, keywords, count, now }))
    }

    /// Why the visitor doesn't get an ad with a frequency cap.
    fn capped(&self, ad: &ZoneAd) -> Option<Capped> {
        self.visitor.as_ref().and_then(|visitor| visitor.capped(ad, self.now))
    }

    /// Why an impression would not be charged.
    fn refused(&self, ad: &ZoneAd, campaigns: &Campaigns) -> Option<NotCharged> {
        let campaign = campaigns.get(&ad.campaign);
        campaign.map_or(Some(NotCharged::NotRunning), |campaign| {
            not_charged(campaign, ad.needed, self.now)
        })
    }
}

/// Reads the campaigns of these ads, by one command.
async fn campaigns_of(app: &App, ads: impl Iterator<Item = &ZoneAd>) -> Result<Campaigns> {
    let mut ids: Vec<&str> = ads.map(|ad| ad.campaign.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let read = ids.into_iter().map(|id| async move {
        let found = find_charged(app, id).await?;
        Ok::<_, Error>(found.map(|campaign| (id.to_owned(), campaign)))
    });
    Ok(batched(try_join_all(read)).await?.into_iter().flatten().collect())
}

/// The ads that `serveAds` would serve, for the zone's publisher, the best first.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn preview_ads(cx: Cx<'_>, input: ServeAdsInput) -> Result<Option<Vec<AdPlacement>>> {
    let Some(question) = Question::read(cx, "previewAds", input).await? else { return Ok(None) };
    let Question { zone, keywords, count, .. } = &question;
    let ranking = ranked(zone, keywords, seed(&cx)).map(|ranked| zone.ad(ranked.position));
    let mut candidates = ranking.filter(|ad| question.capped(ad).is_none());
    let (mut chosen, mut part) = (Vec::new(), *count);
    while chosen.len() < *count {
        let some: Vec<&ZoneAd> = candidates.by_ref().take(part).collect();
        if some.is_empty() {
            break;
        }
        let campaigns = campaigns_of(&cx, some.iter().copied()).await?;
        chosen.extend(some.into_iter().filter(|ad| question.refused(ad, &campaigns).is_none()));
        // If one of the best can't be charged, all others are looked at together, and not one after the other.
        part = usize::MAX;
    }
    chosen.truncate(*count);
    let placed = |ad: &ZoneAd| AdPlacement::of(ad, zone.document.currency);
    Ok(Some(chosen.into_iter().map(placed).collect()))
}

/// What `serveAds` would do with each ad of a zone, for the zone's publisher.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn explain_ads(cx: Cx<'_>, input: ServeAdsInput) -> Result<Option<Vec<AdExplanation>>> {
    let Some(question) = Question::read(cx, "explainAds", input).await? else { return Ok(None) };
    let Question { zone, keywords, count, .. } = &question;
    let campaigns = campaigns_of(&cx, zone.document.ads.iter()).await?;
    let mut left = *count;
    let explained = ranked(zone, keywords, seed(&cx)).map(|ranked| {
        let ad = zone.ad(ranked.position);
        let outcome = match (question.capped(ad), question.refused(ad, &campaigns)) {
            (Some(Capped::Campaign), _) => AdOutcome::CampaignCapReached,
            (Some(Capped::Unit), _) => AdOutcome::AdUnitCapReached,
            (Some(Capped::Full), _) => AdOutcome::ProfileFull,
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
fn check(of: &str, input: &mut ServeAdsInput) -> Result<()> {
    valid(of, input).map_err(|fault| {
        // The path of a field begins with the argument.
        let beginning = format!("input.{of}.");
        let field = fault.field.trim_start_matches(&beginning).to_owned();
        Error::bad_input(field, fault.reason)
    })
}
