//! The flows between a campaign and its zones: entering, leaving, and the end.

use mongodb::bson::DateTime;

use super::super::{
    documents::{CampaignDocument, CampaignEnding, CampaignState, ZoneName},
    store::{
        campaigns::{self, campaigns},
        zones::{NotEntered, Places, enter, leave, zones},
    },
};
use crate::graphql::prelude::*;

/// What became of a start.
pub(super) enum Started {
    /// The campaign runs.
    Running(Box<CampaignDocument>),
    /// This zone had no room. The campaign is what it was before, or has ended.
    Full(ZoneName),
    /// Another attempt changed the campaign: it has to be read again.
    Overtaken,
}

/// Puts the ads of a STARTING campaign into all of its zones, and commits. If a zone has no room, it leaves all of them.
pub(super) async fn start(
    app: &App,
    campaign: &CampaignDocument,
    attempt: &Attempt,
) -> Result<Started> {
    match reserve(app, campaign, attempt).await? {
        None => {
            let running = campaigns::run(app, campaign).within(attempt).after().await?;
            Ok(running.map_or(Started::Overtaken, |after| Started::Running(Box::new(after))))
        }
        Some(full) => {
            let abort = if campaign.ran_at.is_some() {
                campaigns::turn(app, campaign, CampaignState::Paused, campaigns::unrated())
            } else {
                let fields = campaigns::ended(CampaignEnding::ZoneFull);
                campaigns::turn(app, campaign, CampaignState::Ended, fields)
            };
            let Some(aborted) = abort.after().await? else { return Ok(Started::Overtaken) };
            retract(app, &aborted, attempt).await?;
            Ok(Started::Full(full))
        }
    }
}

/// Enters all zones. Returns the first one without room.
async fn reserve(
    app: &App,
    campaign: &CampaignDocument,
    attempt: &Attempt,
) -> Result<Option<ZoneName>> {
    let places = Some(Places {
        all: app.config().ads_per_zone.into(),
        each: app.config().ads_per_zone_and_advertiser.into(),
    });
    let entry = |zone: &ZoneName| enter(campaign, &zone.id, places, app.bounds());
    if zones(app).change_each(campaign.zones.iter().map(entry), attempt).await?.is_some() {
        return Ok(None);
    }
    for zone in &campaign.zones {
        match zones(app).write(&entry(zone), attempt).await? {
            Verdict::Applied(_) | Verdict::Refused(NotEntered::Already, _) => {}
            // Zones aren't removed. If an operator has removed one by hand, there is no room in it.
            Verdict::Refused(NotEntered::Full, _) | Verdict::Missing => {
                return Ok(Some(zone.clone()));
            }
        }
    }
    Ok(None)
}

/// Takes the ads of a paused or ended campaign out of all of its zones, and settles it.
pub(super) async fn retract(
    app: &App,
    campaign: &CampaignDocument,
    attempt: &Attempt,
) -> Result<()> {
    let changes = |zone: &ZoneName| leave(campaign, &zone.id, app.bounds());
    apply(app, campaign, changes, attempt).await
}

/// Shows a changed running campaign in its zones, and settles it.
pub(super) async fn show(app: &App, campaign: &CampaignDocument, attempt: &Attempt) -> Result<()> {
    let changes = |zone: &ZoneName| enter(campaign, &zone.id, None, app.bounds());
    apply(app, campaign, changes, attempt).await
}

/// Applies a change to each zone of the campaign, and settles it.
async fn apply(
    app: &App,
    campaign: &CampaignDocument,
    change: impl Fn(&ZoneName) -> Change<NotEntered>,
    attempt: &Attempt,
) -> Result<()> {
    if zones(app).change_each(campaign.zones.iter().map(&change), attempt).await?.is_none() {
        for zone in &campaign.zones {
            // Whatever the reason of a refusal: the zone shows this version or a later one, or it is gone.
            zones(app).write(&change(zone), attempt).await?;
        }
    }
    // It isn't held if a later change is due.
    campaigns::settle(app, campaign).held().await?;
    Ok(())
}

/// Finishes what a campaign has due. Returns whether anything was.
pub(in super::super) async fn finish(app: &App, id: &str) -> Result<bool> {
    let (attempt, found) = app.begin_with::<CampaignDocument>(id).await?;
    let Some(campaign) = found.filter(|campaign| campaign.due.is_some()) else { return Ok(false) };
    match campaign.state {
        CampaignState::Starting => {
            start(app, &campaign, &attempt).await?;
        }
        CampaignState::Running => show(app, &campaign, &attempt).await?,
        CampaignState::Paused | CampaignState::Ended => retract(app, &campaign, &attempt).await?,
    }
    Ok(true)
}

/// Why a campaign that hasn't ended has to end.
pub(super) fn reason_to_end(campaign: &CampaignDocument, now: DateTime) -> Option<CampaignEnding> {
    if campaign.is_spent() {
        Some(CampaignEnding::BudgetSpent)
    } else if campaign.ends_at <= now {
        Some(CampaignEnding::EndReached)
    } else {
        None
    }
}

/// Ends a campaign whose time is over, or whose budget is spent. Both are so for good. Returns whether it did.
pub(in super::super) async fn end(app: &App, id: &str) -> Result<bool> {
    let (attempt, found) = app.begin_with::<CampaignDocument>(id).await?;
    let Some(campaign) = found.filter(|found| found.state != CampaignState::Ended) else {
        return Ok(false);
    };
    let Some(ending) = reason_to_end(&campaign, attempt.now()) else { return Ok(false) };
    let fields = campaigns::ended(ending);
    let ended = campaigns::turn(app, &campaign, CampaignState::Ended, fields).after().await?;
    if let Some(ended) = &ended {
        retract(app, ended, &attempt).await?;
    }
    Ok(ended.is_some())
}

/// A campaign that the caller may change, as the first read of an attempt.
pub(super) async fn begin<U>(cx: Cx<'_>, id: &str) -> Result<(Attempt, CampaignDocument), Stop<U>>
where
    U: From<NotFound>,
{
    let (attempt, found) = campaigns(&cx).begin_with(cx.bounds(), id).await?;
    let own = found.filter(|campaign| super::is_own(cx, &campaign.advertiser, Role::Advertiser));
    Ok((attempt, own.ok_or_else(|| NotFound::of(NodeKind::CAMPAIGN, id))?))
}
