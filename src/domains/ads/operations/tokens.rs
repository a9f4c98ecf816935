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

/// First of the signed parts. No other signature begins with it.
const KIND: &str = "adToken";

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
        let Self { impression, campaign, unit, zone, expires_at } = self;
        let (unit, millis) = (unit.to_string(), expires_at.timestamp_millis().to_string());
        // None of the parts contains a full stop.
        let parts = [KIND, impression, campaign, &unit, zone, &millis];
        let signature = app.ids().derived(&parts);
        format!("{}.{signature}", parts[1..].join("."))
    }

    /// Reads a token that a client sent.
    pub(super) fn read(app: &App, text: &str) -> Result<Self, Fault> {
        let parts: Vec<&str> = text.split('.').collect();
        let [impression, campaign, unit, zone, millis, signature] = parts[..] else {
            return Err(Fault::Forged);
        };
        let signed = [KIND, impression, campaign, unit, zone, millis];
        let (Ok(unit), Ok(millis)) = (unit.parse(), millis.parse()) else {
            return Err(Fault::Forged);
        };
        if !app.ids().verifies(&signed, signature) {
            return Err(Fault::Forged);
        }
        let token = Self {
            impression: impression.to_owned(),
            campaign: campaign.to_owned(),
            unit,
            zone: zone.to_owned(),
            expires_at: DateTime::from_millis(millis),
        };
        if token.expires_at <= app.clock() { Err(Fault::Expired) } else { Ok(token) }
    }
}
