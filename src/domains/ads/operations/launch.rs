//! Launching, pausing and resuming campaigns.

use mongodb::bson::{DateTime, Document};

use super::{
    super::{
        documents::{
            AdUnit, Budget, CampaignDocument, CampaignEnding, CampaignState, Cap, Counts, Creative,
            Day, Pricing, THOUSANDTHS, ZoneDocument, ZoneName, zone_key,
        },
        store::{
            campaigns::{self, campaigns},
            zones::zones,
        },
        types::{
            AdUnitInput, AdZoneFull, AdZoneInput, CampaignEnded, FrequencyCapInput,
            LaunchCampaignInput, LaunchCampaignResult, PauseCampaignInput, PauseCampaignResult,
            ResumeCampaignInput, ResumeCampaignResult,
        },
    },
    placing::{Started, begin, reason_to_end, retract, start},
    rates::expected,
};
use crate::{
    domains::times::{DAY, floor},
    graphql::{prelude::*, refusals::CurrencyMismatch},
    join::try_join_all,
    mongo::{Version, batched},
};

/// Maximum length of a campaign, and maximum time until its start, in milliseconds.
const LONGEST: i64 = 366 * DAY;
/// Default length of a campaign, in milliseconds.
const LENGTH: i64 = 30 * DAY;

/// Launches a campaign. Once per idempotency key; a launch that was refused is tried again.
pub async fn launch_campaign(
    cx: Cx<'_>,
    input: LaunchCampaignInput,
) -> Answer<LaunchCampaignResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    let op = &cx.op(&[subject, "launchCampaign"], input);
    let read = || async move { Ok(campaigns(&cx).begin_with(cx.bounds(), &op.id).await?) };
    decide(read, |attempt: Attempt, found: Option<CampaignDocument>| async move {
        let Some(campaign) = found else {
            let zones = usable_zones(cx, input).await?;
            let campaign = new(input, op, subject, zones, attempt.now())?;
            // If it is refused, another call with the same key was faster.
            campaigns(&cx).insert(&campaign).await.decided()?;
            return Ok(Step::Again);
        };
        op.demand_same(&campaign.input)?;
        match (campaign.state, campaign.ending) {
            (CampaignState::Starting, _) => go(cx, &campaign, &attempt).await,
            (CampaignState::Ended, Some(CampaignEnding::ZoneFull))
                if reason_to_end(&campaign, attempt.now()).is_none() =>
            {
                let fields = campaigns::begun_again(&campaign);
                let again = campaigns::turn(&cx, &campaign, CampaignState::Starting, fields);
                again.within(&attempt).held().await?;
                Ok(Step::Again)
            }
            _ => Ok(Step::Done(campaign)),
        }
    })
    .await
}

/// One try to start a STARTING campaign.
async fn go<U>(
    cx: Cx<'_>,
    campaign: &CampaignDocument,
    attempt: &Attempt,
) -> Result<Step<CampaignDocument>, Stop<U>>
where
    U: From<AdZoneFull>,
{
    match start(&cx, campaign, attempt).await? {
        Started::Running(running) => Ok(Step::Done(*running)),
        Started::Full(ZoneName { site_id, zone_id, .. }) => {
            let message = format!("the zone {zone_id} of {site_id} has no room for the ads");
            Err(AdZoneFull::because(message, site_id, zone_id).into())
        }
        Started::Overtaken => Ok(Step::Again),
    }
}

/// The zones of a new campaign. Their room is only checked when they are entered.
async fn usable_zones(
    cx: Cx<'_>,
    input: &LaunchCampaignInput,
) -> Result<Vec<ZoneName>, Stop<LaunchCampaignResult>> {
    let read = input.zones.iter().map(|AdZoneInput { site, name }| async move {
        let found = zones(&cx).get_settled(&zone_key(site, name)).await?;
        let missing = || NotFound::new(NodeKind::AD_ZONE.name(), format!("{site}/{name}"));
        Ok::<ZoneDocument, Stop<LaunchCampaignResult>>(found.ok_or_else(missing)?)
    });
    let found = batched(try_join_all(read)).await?;
    if let Some(other) = found.iter().find(|zone| zone.currency != input.currency) {
        let zone = format!("the zone {} of {} has", other.zone_id, other.site_id);
        let (expected, found) = ((&*zone, other.currency), ("the campaign has", input.currency));
        return Err(CurrencyMismatch::new(expected, found).into());
    }
    let name =
        |zone: ZoneDocument| ZoneName { id: zone.id, site_id: zone.site_id, zone_id: zone.zone_id };
    Ok(found.into_iter().map(name).collect())
}

/// A campaign that begins to start.
fn new(
    input: &LaunchCampaignInput,
    op: &Op,
    advertiser: &str,
    zones: Vec<ZoneName>,
    now: DateTime,
) -> Result<CampaignDocument, InvalidInput> {
    let millis = DateTime::timestamp_millis;
    let starts_at = input.starts_at.map_or(now, |at| at.0);
    let default = DateTime::from_millis(millis(starts_at).max(millis(now)) + LENGTH);
    let ends_at = input.ends_at.map_or(default, |at| at.0);
    if millis(starts_at) > millis(now) + LONGEST {
        return Err(InvalidInput::new("startsAt", "must be within 366 days"));
    }
    if ends_at <= starts_at || ends_at <= now {
        return Err(InvalidInput::new("endsAt", "must be after the start and after now"));
    }
    if millis(ends_at) > millis(starts_at).max(millis(now)) + LONGEST {
        return Err(InvalidInput::new("endsAt", "must be at most 366 days after the start"));
    }
    let cost = match input.pricing {
        // A bid of minor units for a thousand impressions is as many thousandths for each.
        Pricing::Cpm => input.bid.0,
        Pricing::Cpc => input.bid.0 * THOUSANDTHS,
    };
    let budget = Budget {
        total: input.budget.0 * THOUSANDTHS,
        per_day: input.daily_budget.map(|amount| amount.0 * THOUSANDTHS),
    };
    let is_enough = |amount: i64| amount >= cost;
    if !is_enough(budget.total) {
        return Err(InvalidInput::new("budget", "doesn't pay for one impression or click"));
    }
    if !budget.per_day.is_none_or(is_enough) {
        return Err(InvalidInput::new("dailyBudget", "doesn't pay for one impression or click"));
    }
    let midnight = floor(millis(now), DAY);
    Ok(CampaignDocument {
        id: op.id.clone(),
        advertiser: advertiser.to_owned(),
        name: input.name.clone(),
        currency: input.currency,
        pricing: input.pricing,
        bid: input.bid.0,
        cost,
        budget,
        starts_at,
        ends_at,
        target: input.target_url.clone(),
        units: input.ad_units.iter().map(unit).collect(),
        zones,
        campaign_cap: input.frequency_cap.as_ref().map(cap),
        unit_cap: input.ad_unit_frequency_cap.as_ref().map(cap),
        state: CampaignState::Starting,
        ending: None,
        ended_at: None,
        ran_at: None,
        version: 1,
        ecpm: expected(input.pricing, input.bid.0, Counts::default()),
        total: Counts::default(),
        today: Day { until: DateTime::from_millis(midnight + DAY), counts: Counts::default() },
        past: Vec::new(),
        marks: Vec::new(),
        input: op.input.clone(),
        at: now,
        due: Some(now),
        live_until: Some(ends_at),
        rated_at: None,
        marks_at: None,
        v: Version,
    })
}

fn unit(input: &AdUnitInput) -> AdUnit {
    let creative = &input.creative;
    AdUnit {
        keywords: input.keywords.clone().unwrap_or_default(),
        creative: Creative {
            headline: creative.headline.clone(),
            text: creative.text.clone().unwrap_or_default(),
            image: creative.image_url.clone(),
        },
    }
}

fn cap(input: &FrequencyCapInput) -> Cap {
    Cap { count: input.count.into(), seconds: input.seconds.into() }
}

/// Takes a campaign out of its zones. A repeat returns it.
pub async fn pause_campaign(cx: Cx<'_>, input: PauseCampaignInput) -> Answer<PauseCampaignResult> {
    let input = &input.checked()?;
    let read = || begin(cx, &input.campaign_id);
    decide(read, |attempt: Attempt, campaign: CampaignDocument| async move {
        match campaign.state {
            CampaignState::Ended => Err(has_ended(campaign.ending).into()),
            CampaignState::Paused => {
                if campaign.due.is_some() {
                    retract(&cx, &campaign, &attempt).await?;
                }
                Ok(Step::Done(campaign))
            }
            CampaignState::Starting => {
                start(&cx, &campaign, &attempt).await?;
                Ok(Step::Again)
            }
            CampaignState::Running => {
                let fields = campaigns::unrated();
                let pause = campaigns::turn(&cx, &campaign, CampaignState::Paused, fields);
                let paused = pause.within(&attempt).after().await?;
                if let Some(paused) = &paused {
                    retract(&cx, paused, &attempt).await?;
                }
                Ok(Step::or_again(paused))
            }
        }
    })
    .await
}

/// Puts a paused campaign into its zones again. A repeat returns it.
pub async fn resume_campaign(
    cx: Cx<'_>,
    input: ResumeCampaignInput,
) -> Answer<ResumeCampaignResult> {
    let input = &input.checked()?;
    let read = || begin(cx, &input.campaign_id);
    decide(read, |attempt: Attempt, campaign: CampaignDocument| async move {
        match campaign.state {
            CampaignState::Ended => Err(has_ended(campaign.ending).into()),
            CampaignState::Running => Ok(Step::Done(campaign)),
            CampaignState::Starting => go(cx, &campaign, &attempt).await,
            CampaignState::Paused => {
                if let Some(ending) = reason_to_end(&campaign, attempt.now()) {
                    return Err(has_ended(Some(ending)).into());
                }
                let fields = Document::new();
                let resume = campaigns::turn(&cx, &campaign, CampaignState::Starting, fields);
                resume.within(&attempt).held().await?;
                Ok(Step::Again)
            }
        }
    })
    .await
}

fn has_ended(ending: Option<CampaignEnding>) -> CampaignEnded {
    let ending = ending.unwrap_or(CampaignEnding::EndReached);
    CampaignEnded::because("the campaign has ended; launch another one", ending)
}
