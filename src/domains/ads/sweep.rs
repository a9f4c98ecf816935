//! The sweep of advertising ends campaigns, finishes interrupted flows and clicks, computes expected incomes, and
//! removes what is no longer needed.

use std::time::Duration;

use super::{
    documents::{CampaignDocument, EventDocument},
    operations::{end, finish, finish_event, refresh, retire_marks},
    store::{
        campaigns::campaigns,
        events::{self, events},
        profiles,
    },
};
use crate::{app::App, flow::Sweep};

/// Number of documents of one kind that one command reads.
const LIMIT: i64 = 200;
/// How long clicks are kept after their tokens have expired. The clocks of gateways differ by less.
const MARGIN: Duration = Duration::from_secs(3_600);

/// Ends campaigns, finishes flows and clicks that were cut, computes expected incomes, and removes what is no longer
/// needed.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let (now, before) = (sweep.now(), sweep.unchanged_before());

    let cut = |from, limit| campaigns(app).list_between(("due", "due"), from, before, limit);
    let finish = |of: CampaignDocument| async move { finish(app, &of.id).await };
    sweep.each_page("campaigns that were cut", LIMIT, cut, finish).await;
    let over = |from, limit| campaigns(app).list_between(("liveUntil", "live"), from, now, limit);
    let end = |of: CampaignDocument| async move { end(app, &of.id).await };
    sweep.each_page("campaigns that end", LIMIT, over, end).await;

    // Clicks on a campaign with too many marks stay at the front, and so do campaigns whose marks are still needed.
    let uncounted = |from, limit| events(app).list_between(("due", "due"), from, before, limit);
    let count = |of: EventDocument| async move { finish_event(app, &of).await };
    sweep.each_page("clicks", LIMIT, uncounted, count).await;
    let marked =
        |from, limit| campaigns(app).list_between(("marksAt", "marks"), from, before, limit);
    let retire = |of: CampaignDocument| async move { retire_marks(app, &of, before).await };
    sweep.each_page("marks of clicks", LIMIT, marked, retire).await;

    let age = Duration::from_secs(app.config().ads_refresh_seconds);
    let old = sweep.earlier(age);
    let rated = |from, limit| campaigns(app).list_between(("ratedAt", "rated"), from, old, limit);
    let refresh = |of: CampaignDocument| async move { refresh(app, &of.id).await };
    sweep.each_page("expected incomes", LIMIT, rated, refresh).await;

    let expired = events::remove_expired(app, sweep.earlier(MARGIN)).await;
    sweep.count("expired clicks", expired);
    sweep.count("profiles", profiles::remove_old(app, now).await);
}
