//! Stored documents of visits: the profiles of visitors with the impressions that frequency caps count, and clicks,
//! conversions and views.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;

use crate::{
    error::Result,
    mongo::{
        lazy_document::{Viewed, view},
        migrations::Upgrade,
        prelude::*,
    },
};

document! {
    /// What is remembered of a visitor: the impressions that frequency caps need.
    pub struct ProfileDocument {
        /// Derived from the visitor's id, which isn't stored.
        pub id as "_id": String,
        /// Impressions, newest first.
        pub impressions: Vec<Seen>,
        /// Time from which on no cap needs it.
        pub kept_until: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "adProfiles" of Activity {
        plain("kept", "keptUntil", "the removal of profiles that no cap needs"),
    }

    /// An impression of an ad with a frequency cap.
    pub struct Seen {
        /// Id of the impression.
        pub id: String,
        /// `_id` of the campaign.
        pub campaign: String,
        /// Number of the ad unit.
        pub unit: i32,
        /// Until when the campaign's cap counts it.
        pub campaign_until: DateTime,
        /// Until when the ad unit's cap counts it.
        pub unit_until: DateTime,
    }

    /// A click, a conversion or a view: the decider of its own counting.
    pub struct EventDocument {
        /// That of the impression, for a click. See [`EventKind::id`].
        pub id as "_id": String,
        /// What happened.
        pub kind: EventKind,
        /// Id of the impression.
        pub impression: String,
        /// `_id` of the campaign.
        pub campaign: String,
        /// Number of the ad unit.
        pub unit: i32,
        /// `_id` of the zone.
        pub zone: String,
        /// Server time.
        pub at: DateTime,
        /// Time from which on no token of the impression is valid.
        pub expires_at: DateTime,
        /// Set as long as the campaign may not have counted it: server time.
        pub due?: DateTime,
        /// Server time at which it was recorded that the campaign has counted it.
        pub settled_at?: DateTime,
        /// What was charged for it.
        pub cost?: i64,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "adClicks" {
        of_field("due", "due", "the sweep of clicks that aren't counted"),
        plain("expired", "expiresAt", "the removal of clicks whose tokens have expired"),
    }
}

/// Kind of an event after an impression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventKind {
    /// A click.
    Click,
    /// A conversion.
    Conversion,
    /// The pixel was requested.
    View,
}

impl EventKind {
    /// `_id` of the event of this kind that an impression can have.
    pub(in super::super) fn id(self, impression: &str) -> String {
        match self {
            Self::Click => impression.to_owned(),
            Self::Conversion => format!("{impression}:conversion"),
            Self::View => format!("{impression}:view"),
        }
    }
}

/// A stored profile as a lazy document, for the choice of ads.
pub(in super::super) type StoredProfile = Viewed<ProfileView<'static>>;

/// The documents are those of [`ProfileDocument`], which declares their indexes.
impl Stored for StoredProfile {
    const COLLECTION: &'static str = ProfileDocument::COLLECTION;
    const GROUP: Group = ProfileDocument::GROUP;
    const UPGRADES: &'static [Upgrade] = ProfileDocument::UPGRADES;

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self> {
        Self::over(stored)
    }
}

view! {
    /// What frequency caps need of a [`ProfileDocument`], which describes the fields.
    #[derive(Debug, yoke::Yokeable)]
    pub struct ProfileView<'a> {
        "impressions" => pub impressions: Vec<SeenView<'a>>,
        "v" => pub v: Version<1>,
    }

    /// What frequency caps need of an impression.
    #[derive(Debug)]
    pub struct SeenView<'a> {
        "campaign" => pub campaign: &'a str,
        "unit" => pub unit: i32,
        "campaignUntil" => pub campaign_until: DateTime,
        "unitUntil" => pub unit_until: DateTime,
    }
}
