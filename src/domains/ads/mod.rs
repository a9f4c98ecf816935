//! Advertising: zones of sites, campaigns with budgets, impressions, clicks and conversions.
//!
//! # States of a campaign
//!
//! | from | to | when |
//! |---|---|---|
//! | | STARTING | `launchCampaign` |
//! | STARTING | RUNNING | it is in all of its zones |
//! | STARTING | ENDED | a zone has no room, and it never ran |
//! | STARTING | PAUSED | a zone has no room, and it ran before |
//! | RUNNING | PAUSED | `pauseCampaign` |
//! | PAUSED | STARTING | `resumeCampaign` |
//! | STARTING, RUNNING, PAUSED | ENDED | its end is reached, or its budget is spent (the sweep) |
//! | ENDED | STARTING | its launch found no room, and is repeated with the same idempotency key |
//!
//! # Zones
//!
//! A zone has copies of the ads of its running campaigns, sorted by falling eCPM, so that `serveAds` reads one document.
//! The campaign is the decider. Each change of its state raises its version, and sets `due` until the zones show it:
//!
//! - *Reserve*: a STARTING campaign enters its zones, one guarded update each: the zone has room, and shows neither
//!   this version nor a later one. A STARTING campaign isn't charged, so its ads aren't served.
//! - *Commit*: RUNNING, if all zones had room. Otherwise the campaign returns to its former state, or to ENDED, and
//!   leaves its zones.
//! - *Apply*: a paused or ended campaign leaves its zones; they keep a mark with its version for two grace periods,
//!   which refuses an entry that comes late. A running campaign with another eCPM enters again.
//! - *Settle*: `due` is removed.
//!
//! The abort and the leaving need no deadline, unlike other commits. They are guarded by the version, which only rises.
//! If the insert of a campaign arrives late, the sweep starts the campaign.
//!
//! # Budgets
//!
//! An impression is charged by one guarded update of its campaign. The guard is that the campaign is running, that the
//! server's time is between its start and its end, and that its budgets have enough left. The same update counts the
//! impression. An impression is served only after it was charged. A gateway that ends between the charge and the answer
//! leaves a charged impression that nobody saw. So does a charge whose answers are lost. It is a numbered write: if a
//! connection breaks and the update is sent again, one of the two is applied. A budget is never exceeded.
//!
//! A frequency cap is a guard of the visitor's profile. The impression is noted there before it is charged, so that no
//! cap is exceeded; the first one is inserted with the profile. If the charge is refused, it is removed again; if the
//! gateway ends before that, the cap counts an impression too many. So it does if a copy of the note arrives after the
//! removal. Apart from that, a copy finds the impression by its id, and adds nothing.
//!
//! # Clicks
//!
//! A click is an insert of `adClicks` with the impression's id, so it counts once. It is the commit of a flow: the
//! campaign counts and charges it and keeps a mark (apply), then the click notes that (settle). The sweep applies clicks
//! that were cut, and removes marks two grace periods after the settling. Conversions are counted in the same way. A
//! view, the request of the pixel, is inserted first and then added to the campaign's counts, by a numbered write; a view
//! that is cut in between isn't counted, because nothing depends on it.
//!
//! # Invariants
//!
//! - A campaign has spent at most its budgets, and exactly the cost of its impressions or of its charged clicks.
//! - Its days add up to its counts.
//! - A campaign whose zones aren't due is in exactly the zones that it names if it is running, and else in none.
//! - Each click, conversion and view belongs to one impression of a campaign, and is counted at most once.
//! - The ads of a zone are sorted.

mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    broadcasts::broadcasts,
    nodes::node_type,
    room::{documented, unmet},
};
use crate::graphql::node_id::NodeKind;
pub use documents::{CampaignDocument, EventDocument, ProfileDocument, ZoneDocument};
use types::{AdZone, Campaign};

impl NodeKind {
    /// A zone of a site that shows ads.
    pub const AD_ZONE: Self = Self::new("adZone");
    /// A campaign of an advertiser.
    pub const CAMPAIGN: Self = Self::new("campaign");
}

/// The room.
pub const ROOM: Room = Room {
    faults: Some(|config| {
        unmet([
            (config.ads_per_zone >= 5, "ads_per_zone must be at least 5"),
            (
                (5..=config.ads_per_zone).contains(&config.ads_per_zone_and_advertiser),
                "ads_per_zone_and_advertiser must be between 5 and ads_per_zone",
            ),
            (
                (60..=2_592_000).contains(&config.ad_token_seconds),
                "ad_token_seconds must be between 60 and 2592000",
            ),
        ])
    }),
    counters: &["serveAds"],
    nodes: &[
        node_type!(AD_ZONE: AdZone, |cx, id| operations::ad_zone(cx, id)),
        node_type!(CAMPAIGN: Campaign, |cx, id| operations::campaign(cx, id)),
    ],
    documents: &[
        documented::<ZoneDocument>(),
        documented::<CampaignDocument>(),
        documented::<ProfileDocument>(),
        documented::<EventDocument>(),
    ],
    broadcasts: broadcasts! {
        "adZones" {
            find "publisher" = "list: the zones of a publisher",
        }
        "campaigns" {
            find "advertiser" = "list: the campaigns of an advertiser",
            find "due" = "sweep: campaigns whose zones are behind",
            find "liveUntil" = "sweep: campaigns that end",
            find "ratedAt" = "sweep: expected incomes",
            find "marksAt" = "sweep: marks of clicks",
        }
        "adClicks" {
            find "due" = "sweep: clicks that aren't counted",
            delete "expiresAt" = "sweep: clicks whose tokens have expired",
        }
        "adProfiles" {
            delete "keptUntil" = "sweep: profiles that no cap needs",
        }
    },
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("ads")
};
