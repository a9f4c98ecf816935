//! Invariants of advertising, for `docgate check`.

use std::collections::{BTreeSet, HashMap};

use super::{
    documents::{
        CampaignDocument, CampaignState, Counts, EventDocument, EventKind, Pricing, ZoneDocument,
        zone_key,
    },
    store::{campaigns::campaigns, events::events, zones::zones},
};
use crate::{app::App, error::Result, invariants::Report};

/// What the rules need of a campaign.
struct Facts {
    state: CampaignState,
    is_due: bool,
    zones: BTreeSet<String>,
    units: usize,
    ecpm: i64,
    total: Counts,
    /// Number of stored events that it has counted, by kind: clicks and conversions.
    counted: [i64; 2],
}

/// Checks budgets, counts, the ads of zones, and clicks.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut all: HashMap<String, Facts> = HashMap::new();
    let [mut over, mut unpaid, mut unsummed] = [Vec::new(), Vec::new(), Vec::new()];
    let each = |campaign: CampaignDocument| {
        let id = &campaign.id;
        if is_overspent(&campaign) {
            over.push(format!(
                "campaign {id:?}: {} of {:?}",
                campaign.total.spent, campaign.budget
            ));
        }
        if !is_paid(&campaign) {
            unpaid.push(format!("campaign {id:?}: {:?} at {}", campaign.total, campaign.cost));
        }
        let mut sum = campaign.today.counts;
        campaign.past.iter().for_each(|day| sum.add(&day.counts));
        if sum != campaign.total {
            unsummed.push(format!("campaign {id:?}: {:?}, of days {sum:?}", campaign.total));
        }
        let facts = Facts {
            state: campaign.state,
            is_due: campaign.due.is_some(),
            zones: campaign.zones.into_iter().map(|zone| zone.id).collect(),
            units: campaign.units.len(),
            ecpm: campaign.ecpm,
            total: campaign.total,
            counted: [0, 0],
        };
        all.insert(campaign.id, facts);
    };
    campaigns(app).for_each(each).await?;
    report.add("ads: no campaign has spent more than its budget", over);
    report.add("ads: what a campaign has spent is what its impressions or clicks cost", unpaid);
    report.add("ads: the days of a campaign add up to its counts", unsummed);

    let (misplaced, unsorted) = check_zones(app, &all).await?;
    report.add("ads: running campaigns are in the zones that they name, and no others", misplaced);
    report.add("ads: the ads of a zone are sorted, and its key is made of its name", unsorted);

    let mut strays = Vec::new();
    let each = |event: EventDocument| {
        let EventDocument { id, kind, impression, campaign, unit, .. } = &event;
        let units = all.get(campaign).map_or(0, |facts| facts.units);
        let is_unit = (1..=units).any(|of| i32::try_from(of) == Ok(*unit));
        match all.get_mut(campaign) {
            Some(facts) if is_unit && *id == kind.id(impression) => {
                let number = i64::from(event.settled_at.is_some());
                match kind {
                    EventKind::Click => facts.counted[0] += number,
                    EventKind::Conversion => facts.counted[1] += number,
                    EventKind::View => {}
                }
            }
            _ => strays.push(format!("click {id:?} of {campaign:?}")),
        }
    };
    events(app).for_each(each).await?;
    for (id, Facts { total, counted, .. }) in &all {
        let [clicks, conversions] = *counted;
        let of_impressions = [total.views, total.clicks, total.conversions];
        if clicks > total.clicks
            || conversions > total.conversions
            || of_impressions.into_iter().any(|number| number > total.impressions)
        {
            strays.push(format!("campaign {id:?}: {total:?}, of stored clicks {counted:?}"));
        }
    }
    report.add("ads: each click belongs to one impression of a campaign, which counts it", strays);
    Ok(())
}

fn is_overspent(campaign: &CampaignDocument) -> bool {
    let most = campaign.budget.per_day.unwrap_or(i64::MAX);
    let mut days = campaign.past.iter().chain([&campaign.today]);
    campaign.total.spent > campaign.budget.total || days.any(|day| day.counts.spent > most)
}

fn is_paid(campaign: &CampaignDocument) -> bool {
    let CampaignDocument { total, cost, .. } = campaign;
    let (paid, unpaid) = match campaign.pricing {
        Pricing::Cpm => (total.impressions, total.paid_clicks),
        Pricing::Cpc => (total.paid_clicks, 0),
    };
    unpaid == 0
        && total.paid_clicks <= total.clicks
        && i128::from(paid) * i128::from(*cost) == i128::from(total.spent)
}

/// The campaigns that aren't where they should be, and the zones that are wrong in themselves.
async fn check_zones(
    app: &App,
    all: &HashMap<String, Facts>,
) -> Result<(Vec<String>, Vec<String>)> {
    let [mut misplaced, mut unsorted] = [Vec::new(), Vec::new()];
    // The zones with all ads of a campaign, as they should be.
    let mut found: HashMap<String, BTreeSet<String>> = HashMap::new();
    let each = |zone: ZoneDocument| {
        let ads = &zone.ads;
        if !ads.is_sorted_by_key(|ad| std::cmp::Reverse(ad.ecpm))
            || zone.id != zone_key(&zone.site_id, &zone.zone_id)
        {
            unsorted.push(format!("zone {:?}", zone.id));
        }
        let mut by_campaign: HashMap<&str, (BTreeSet<i32>, usize, bool)> = HashMap::new();
        for ad in ads {
            let (units, count, is_current) =
                by_campaign.entry(&ad.campaign).or_insert_with(|| (BTreeSet::new(), 0, true));
            units.insert(ad.unit);
            *count += 1;
            *is_current &= all.get(&ad.campaign).is_some_and(|facts| facts.ecpm == ad.ecpm);
        }
        for (campaign, (units, count, is_current)) in by_campaign {
            let facts = all.get(campaign);
            if facts.is_some_and(|facts| facts.is_due) {
                continue;
            }
            let is_right = facts.is_some_and(|facts| {
                facts.state == CampaignState::Running
                    && facts.zones.contains(&zone.id)
                    && units.len() == facts.units
                    && count == facts.units
                    && is_current
            });
            if is_right {
                found.entry(campaign.to_owned()).or_default().insert(zone.id.clone());
            } else {
                misplaced.push(format!("campaign {campaign:?} in zone {:?}", zone.id));
            }
        }
    };
    zones(app).for_each(each).await?;
    for (id, facts) in all {
        let runs = facts.state == CampaignState::Running && !facts.is_due;
        if runs && found.get(id) != Some(&facts.zones) {
            misplaced.push(format!("campaign {id:?}: in {:?}", found.get(id)));
        }
    }
    Ok((misplaced, unsorted))
}
