//! Clicks, conversions and views: each counts once for its impression.

use std::time::Duration;

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{CampaignDocument, EventDocument, EventKind},
        store::{
            campaigns::{self, NotCounted, campaigns},
            events::{self, events},
        },
        types::{
            RecordClickInput, RecordClickResult, RecordConversionInput, RecordConversionResult,
            RecordedClick, RecordedConversion,
        },
    },
    TOKEN,
    tokens::{Fault, Token},
};
use crate::{
    flow::{earlier, later},
    graphql::prelude::*,
    mongo::{Version, collection::List, unhurried},
};

/// How long after its impression a view is counted.
const VIEW: Duration = Duration::from_secs(3_600);

/// Counts a click. A repeat counts nothing.
pub async fn record_click(cx: Cx<'_>, input: RecordClickInput) -> Answer<RecordClickResult> {
    let token = checked(&cx, &input.checked()?.token)?;
    let (campaign, is_repeat) = record(&cx, &token, EventKind::Click).await?;
    let (campaign_id, ad_unit) = named(&token);
    Ok(RecordedClick { campaign_id, ad_unit, is_repeat, target_url: campaign.target })
}

/// Counts a conversion. A repeat counts nothing.
pub async fn record_conversion(
    cx: Cx<'_>,
    input: RecordConversionInput,
) -> Answer<RecordConversionResult> {
    let token = checked(&cx, &input.checked()?.token)?;
    let (_, is_repeat) = record(&cx, &token, EventKind::Conversion).await?;
    let (campaign_id, ad_unit) = named(&token);
    Ok(RecordedConversion { campaign_id, ad_unit, is_repeat })
}

fn named(token: &Token) -> (ID, i32) {
    (NodeKind::CAMPAIGN.id(&token.campaign), token.unit)
}

fn checked(app: &App, token: &str) -> Result<Token, InvalidInput> {
    Token::read(app, token).map_err(|fault| {
        let reason = match fault {
            Fault::Forged => "isn't a token of an ad",
            Fault::Expired => "has expired",
        };
        InvalidInput::new("token", reason)
    })
}

/// The token in a path of a request; `None` if it isn't valid.
fn in_path(app: &App, token: &str) -> Option<Token> {
    if !TOKEN.contains(&token.len()) {
        return None;
    }
    Token::read(app, token).ok()
}

/// The address to which a click leads, and only that of the ad's campaign. The click is counted behind the answer, but
/// it is stored before, if it `counts`. `None` if the token is invalid or has expired.
///
/// # Errors
/// The campaign can't be read.
pub async fn follow_click(app: &App, token: &str, counts: bool) -> Result<Option<String>> {
    let Some(token) = in_path(app, token) else { return Ok(None) };
    let Some(campaign) = campaigns(app).get(&token.campaign).await? else { return Ok(None) };
    let target = campaign.target.clone();
    if counts {
        let attempt = app.begin().await?;
        let event = event(&token, EventKind::Click, attempt.now());
        match events(app).insert(&event).await.decided() {
            Ok(Some(())) => {
                let own = app.clone();
                app.in_background("counting a click", async move {
                    count(&own, &campaign, &event, &attempt).await.map(|_| ())
                });
            }
            // Another request of this click may count it at present. If that was cut, the sweep does.
            Ok(None) => {}
            // The visitor gets to the target in any case.
            Err(error) => {
                tracing::warn!(event = "click_unknown", ?error, "a click may not have been stored");
            }
        }
    }
    Ok(Some(target))
}

/// Counts that the pixel of an ad was requested, once for each impression, and only for an hour. Returns whether the
/// token is valid.
///
/// # Errors
/// It isn't known whether the view was stored.
pub async fn show_pixel(app: &App, token: &str, counts: bool) -> Result<bool> {
    let Some(token) = in_path(app, token) else { return Ok(false) };
    let served = earlier(token.expires_at, Duration::from_secs(app.config().ad_token_seconds));
    let until = later(served, VIEW);
    let now = app.clock();
    if !counts || until <= now {
        return Ok(true);
    }
    let view = EventDocument {
        // The document isn't needed once no view of the impression is counted any more.
        expires_at: until.min(token.expires_at),
        due: None,
        ..event(&token, EventKind::View, now)
    };
    if events(app).insert(&view).await.decided()?.is_some() {
        let own = app.clone();
        let add = async move {
            campaigns::count_view(&own, &token.campaign).held().await?;
            Ok(())
        };
        app.in_background("counting a view", unhurried(add));
    }
    Ok(true)
}

/// An event of an impression that isn't counted yet.
fn event(token: &Token, kind: EventKind, now: DateTime) -> EventDocument {
    EventDocument {
        id: kind.id(&token.impression),
        kind,
        impression: token.impression.clone(),
        campaign: token.campaign.clone(),
        unit: token.unit,
        zone: token.zone.clone(),
        at: now,
        expires_at: token.expires_at,
        due: Some(now),
        settled_at: None,
        cost: None,
        v: Version,
    }
}

/// Stores an event and counts it. Returns the campaign, and whether the event was stored before.
async fn record(app: &App, token: &Token, kind: EventKind) -> Result<(CampaignDocument, bool)> {
    let (attempt, campaign) = app.begin_with::<CampaignDocument>(&token.campaign).await?;
    let campaign = campaign.ok_or_else(|| Error::internal("a campaign vanished"))?;
    let new = event(token, kind, attempt.now());
    let is_new = events(app).insert(&new).await.decided()?.is_some();
    let stored = if is_new { Some(new) } else { events(app).get_settled(&new.id).await? };
    // An earlier call may have been cut.
    if let Some(due) = stored.filter(|stored| stored.due.is_some()) {
        count(app, &campaign, &due, &attempt).await?;
    }
    Ok((campaign, !is_new))
}

/// Counts a stored event, once, and notes that. Returns `false` if the campaign has too many marks: the sweep tries
/// again.
async fn count(
    app: &App,
    campaign: &CampaignDocument,
    event: &EventDocument,
    attempt: &Attempt,
) -> Result<bool> {
    let change = campaigns::count_event(campaign, event);
    let counted = match campaigns(app).write_and_read(&change, attempt).await? {
        Verdict::Applied(counted) | Verdict::Refused(NotCounted::Already, counted) => counted,
        Verdict::Refused(NotCounted::Busy, _) => return Ok(false),
        Verdict::Missing => return Err(Error::internal("a campaign vanished")),
    };
    let mark = counted.marks.iter().find(|mark| mark.id == event.id);
    events::settle(app, &event.id, mark.map_or(0, |mark| mark.cost)).held().await?;
    Ok(true)
}

/// Counts an event whose counting was cut. Returns whether it did.
pub(in super::super) async fn finish_event(app: &App, event: &EventDocument) -> Result<bool> {
    let (attempt, campaign) = app.begin_with::<CampaignDocument>(&event.campaign).await?;
    // As it is now: it may have been counted since it was listed.
    let event = events(app).get_settled(&event.id).await?.filter(|event| event.due.is_some());
    match (campaign, event) {
        (Some(campaign), Some(event)) => count(app, &campaign, &event, &attempt).await,
        _ => Ok(false),
    }
}

/// Removes the marks of events that were settled before `before`: no attempt is left that could count them again.
/// Returns whether there were any.
pub(in super::super) async fn retire_marks(
    app: &App,
    campaign: &CampaignDocument,
    before: DateTime,
) -> Result<bool> {
    let old = campaign.marks.iter().filter(|mark| mark.at < before);
    let old: Vec<String> = old.map(|mark| mark.id.clone()).collect();
    let kept = events(app).list(List::of_ids(&old)).await?;
    let is_needed = |id: &String| {
        let of = kept.iter().find(|event| event.id == *id);
        of.is_some_and(|event| event.settled_at.is_none_or(|settled| settled >= before))
    };
    let retired: Vec<String> = old.into_iter().filter(|id| !is_needed(id)).collect();
    if retired.is_empty() {
        return Ok(false);
    }
    campaigns::retire(app, &campaign.id, retired).held().await
}
