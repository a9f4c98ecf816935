//! The rules of advertising, and its reads for clients.

mod clicks;
mod explain;
mod launch;
mod placing;
mod rank;
mod rates;
mod serve;
mod tokens;
mod zones;

pub(super) use clicks::{finish_event, retire_marks};
pub use clicks::{follow_click, record_click, record_conversion, show_pixel};
pub use explain::{explain_ads, preview_ads};
pub use launch::{launch_campaign, pause_campaign, resume_campaign};
pub(super) use placing::{end, finish};
pub(super) use rates::refresh;
pub use serve::serve_ads;
pub(super) use zones::Zone;
pub use zones::{ad_zone, create_ad_zone, my_ad_zones};

use std::ops::RangeInclusive;

use super::{
    documents::{CampaignDocument, Counts, Day},
    store::campaigns::campaigns,
    types::{AdCounts, Campaign, CampaignDay, CampaignReport, date_of},
};
use crate::graphql::{page::page_of, prelude::*};

/// Bids in minor units.
pub(super) const BIDS: RangeInclusive<i64> = 1..=1_000_000_000;
/// Budgets in minor units.
pub(super) const BUDGETS: RangeInclusive<i64> = 1..=1_000_000_000_000;
/// Impressions that a frequency cap can permit.
pub(super) const CAP_COUNTS: RangeInclusive<i64> = 1..=100;
/// Lengths of the window of a frequency cap.
pub(super) const CAP_SECONDS: RangeInclusive<i64> = 1..=2_592_000;
/// Maximum number of keywords of an ad unit and of a page.
pub(super) const KEYWORDS: usize = 20;
/// Numbers of ads of a call.
pub(super) const SERVED: RangeInclusive<i64> = 1..=10;
/// Length of a token in characters.
pub(super) const TOKEN: RangeInclusive<usize> = 1..=400;
/// Maximum number of ad units of a campaign.
pub(super) const UNITS: usize = 5;
/// Length of a visitor's id in characters.
pub(super) const VISITOR: RangeInclusive<usize> = 1..=128;
/// Maximum number of zones of a campaign.
pub(super) const ZONES: usize = 20;

/// Whether the caller is this owner in this role, or an admin.
fn is_own(cx: Cx<'_>, owner: &str, role: Role) -> bool {
    cx.requester.has(Role::Admin) || cx.requester.has(role) && cx.requester.is(owner)
}

/// A campaign, for its advertiser.
pub async fn campaign(cx: Cx<'_>, id: &str) -> Result<Option<CampaignDocument>> {
    let Ok(id) = input::id(NodeKind::CAMPAIGN, id) else { return Ok(None) };
    let found = campaigns(&cx).get(&id).await?;
    Ok(found.filter(|campaign| is_own(cx, &campaign.advertiser, Role::Advertiser)))
}

/// The campaigns of the caller, oldest first.
pub async fn my_campaigns(cx: Cx<'_>, paging: Paging) -> Result<Connection<Campaign>> {
    let subject = cx.requester.subject()?;
    let order = Order { list: format!("myCampaigns:{subject}"), keys: vec![("at", 1), ("_id", 1)] };
    let values = |campaign: &CampaignDocument| vec![campaign.at.into(), (&campaign.id).into()];
    page_of(&cx, order, paging, ("advertiser", subject.into()), values, Campaign::from).await
}

/// What a campaign counted from one day to another, both inclusive.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn campaign_report(
    cx: Cx<'_>,
    id: &str,
    from: &Date,
    to: &Date,
) -> Result<Option<CampaignReport>> {
    let found = campaign(cx, id).await?;
    found.map(|campaign| report(&campaign, from, to)).transpose()
}

/// What a campaign counted from one day to another, both inclusive. It is a part of the document.
///
/// # Errors
/// `BadInput` that names the argument.
pub fn report(campaign: &CampaignDocument, from: &Date, to: &Date) -> Result<CampaignReport> {
    if to < from {
        return Err(Error::bad_input("to", "must not be before from"));
    }
    let CampaignDocument { currency, past, today, .. } = campaign;
    let mut total = Counts::default();
    let mut days = Vec::new();
    for Day { until, counts } in past.iter().chain([today]) {
        let date = date_of(*until).filter(|date| (from..=to).contains(&date));
        let Some(date) = date.filter(|_| *counts != Counts::default()) else { continue };
        total.add(counts);
        days.push(CampaignDay { date, counts: AdCounts::new(*counts, *currency) });
    }
    Ok(CampaignReport { total: AdCounts::new(total, *currency), days })
}
