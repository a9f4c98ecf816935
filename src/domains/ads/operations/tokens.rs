//! Tokens of impressions. A token is signed with a key that all gateways derive from `secret`, so any of them accepts it.
//! It contains nothing about the visitor.

use mongodb::bson::DateTime;

use crate::{app::App, flow::later};

/// What a token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Id of the impression.
    pub(super) impression: String,
    /// `_id` of the campaign.
    pub(super) campaign: String,
    /// Number of the ad unit.
    pub(super) unit: i32,
    /// `_id` of the zone.
    pub(super) zone: String,
    /// Time from which on it isn't valid.
    pub(super) expires_at: DateTime,
}

/// Why a token isn't valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It wasn't issued by a gateway with this secret.
    Forged,
    /// It was valid.
    Expired,
}

impl Token {
    /// The time from which on a token that is issued now isn't valid.
    pub(super) fn expiry(app: &App) -> DateTime {
        later(app.clock(), std::time::Duration::from_secs(app.config().ad_token_seconds))
    }

    /// The token as clients get it.
    pub(super) fn issued(&self, app: &App) -> String {
        let parts = self.parts();
        let signature = app.ids().derived(&Self::signed(&parts));
        format!("{}.{signature}", parts.join("."))
    }

    /// Reads a token that a client sent.
    pub(super) fn read(app: &App, text: &str) -> Result<Self, Fault> {
        let parts: Vec<&str> = text.split('.').collect();
        let [impression, campaign, unit, zone, expires_at, signature] = parts[..] else {
            return Err(Fault::Forged);
        };
        let (Ok(unit), Ok(millis)) = (unit.parse(), expires_at.parse()) else {
            return Err(Fault::Forged);
        };
        let token = Self {
            impression: impression.to_owned(),
            campaign: campaign.to_owned(),
            unit,
            zone: zone.to_owned(),
            expires_at: DateTime::from_millis(millis),
        };
        if !app.ids().verifies(&Self::signed(&token.parts()), signature) {
            return Err(Fault::Forged);
        }
        if token.expires_at <= app.clock() { Err(Fault::Expired) } else { Ok(token) }
    }

    /// The parts that are signed. None of them contains a full stop.
    fn parts(&self) -> [String; 5] {
        let millis = self.expires_at.timestamp_millis();
        [
            self.impression.clone(),
            self.campaign.clone(),
            self.unit.to_string(),
            self.zone.clone(),
            millis.to_string(),
        ]
    }

    fn signed(parts: &[String; 5]) -> [&str; 6] {
        let [impression, campaign, unit, zone, expires_at] = parts;
        ["adToken", impression, campaign, unit, zone, expires_at]
    }
}
