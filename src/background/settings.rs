//! The comparison of the settings that must be the same in all gateways on a database.
//!
//! Gateways state digests instead of values: [`agreement`]. That of the secret is derived from the secret as ids are, so it
//! tells whoever reads the database no more than the ids there do. The other settings that are compared aren't secret.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    app::App,
    config::Config,
    domains::switched_on,
    error::Error,
    flow::{
        Op,
        agreement::{self, Digests},
    },
};

/// Pause between two comparisons, in pauses of the sweeps.
const PASSES: u32 = 10;
/// Number of comparisons for which a statement lasts, within [`LASTS`]: a gateway may be held up.
const COMPARISONS: u32 = 3;
/// Shortest and longest time for which a statement lasts.
const LASTS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(24 * 3_600)];

/// The comparison of a gateway's settings with those of the others.
#[derive(Debug)]
pub(super) struct Comparison {
    own: Digests,
    /// The keys that differed at the last comparison, by gateway.
    known: BTreeMap<String, String>,
}

impl Comparison {
    pub(super) fn new(app: &App) -> Self {
        Self { own: own(app), known: BTreeMap::new() }
    }

    /// Pause between two comparisons.
    pub(super) fn pause(app: &App) -> Duration {
        Duration::from_millis(app.config().sweep_millis).saturating_mul(PASSES)
    }

    /// States the gateway's settings, and compares them with those that others state. Logs each difference that is new.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; it can be repeated.
    pub(super) async fn compare(&mut self, app: &App) -> Result<(), Error> {
        let [shortest, longest] = LASTS;
        let lasts = Self::pause(app).saturating_mul(COMPARISONS).clamp(shortest, longest);
        let leases = app.collection();
        agreement::state(&leases, app.name(), &self.own, lasts).await?;
        let mut found = BTreeMap::new();
        for other in agreement::stated(&leases).await? {
            let keys = differing(&self.own, &other.settings).join(", ");
            if keys.is_empty() {
                continue;
            }
            if self.known.get(&other.gateway) != Some(&keys) {
                tracing::warn!(
                    event = "settings_differ",
                    gateway = other.gateway,
                    keys,
                    "settings that must be the same differ from those of another gateway on the database"
                );
            }
            found.insert(other.gateway, keys);
        }
        app.metrics().others.differ(found.len());
        self.known = found;
        Ok(())
    }

    /// Withdraws what the gateway has stated, because it stops. If that fails, the statement runs out.
    pub(super) async fn withdraw(app: &App) {
        let _runs_out = agreement::withdraw(&app.collection(), app.name()).await;
    }
}

/// The keys of settings that must be the same, and differ among the running gateways on the database. With `compares_own` the
/// configuration of `app` is compared too.
///
/// # Errors
/// `Unread` or `Internal`.
pub async fn disputed(app: &App, compares_own: bool) -> Result<Vec<String>, Error> {
    let stated = agreement::stated(&app.collection()).await?;
    let own = compares_own.then(|| own(app));
    let mut digests = BTreeMap::<String, BTreeSet<String>>::new();
    for (key, digest) in stated.into_iter().map(|one| one.settings).chain(own).flatten() {
        digests.entry(key).or_default().insert(digest);
    }
    Ok(digests.into_iter().filter(|(_, all)| all.len() > 1).map(|(key, _)| key).collect())
}

/// The keys whose digests differ. A key that only one of both has is of another version of docgate.
fn differing<'a>(own: &'a Digests, other: &Digests) -> Vec<&'a str> {
    let differs =
        |key: &String, digest: &String| other.get(key).is_some_and(|stated| stated != digest);
    own.iter().filter(|(key, digest)| differs(key, digest)).map(|(key, _)| key.as_str()).collect()
}

/// The digests of the settings of `app`.
fn own(app: &App) -> Digests {
    digests(app.config(), app.ids().derived(&["settings"]))
}

/// The digests of the settings that must be the same. A text that is derived from the secret stands for the secret.
fn digests(config: &Config, derived: String) -> Digests {
    macro_rules! each {
        ($($key:ident),+ $(,)?) => { [$((stringify!($key), Op::digest(&config.$key))),+] };
    }
    let rooms: BTreeSet<&str> = switched_on(config).map(|room| room.name).collect();
    let roles: BTreeMap<&String, BTreeSet<&String>> =
        config.roles.iter().map(|(name, granted)| (name, granted.iter().collect())).collect();
    let activity = config.activity_database.as_ref().unwrap_or(&config.database);
    let log = config.log_database.as_ref().unwrap_or(&config.database);
    let made = [
        ("secret", derived),
        ("rooms", Op::digest(&rooms)),
        ("roles", Op::digest(&roles)),
        ("activity_database", Op::digest(activity)),
        ("log_database", Op::digest(log)),
    ];
    let whole = each![
        site_locale,
        // The bounds of flows.
        flow_run_millis,
        flow_command_millis,
        flow_skew_millis,
        flow_ops_seconds,
        // The times and bounds by which the sweeps of one gateway end or remove documents of another one.
        cart_idle_seconds,
        cart_keep_expired,
        reservation_seconds,
        booking_idle_seconds,
        booking_keep_seconds,
        asset_transfer_seconds,
        asset_stall_seconds,
        queue_dead_jobs,
        queue_dead_jobs_per_producer,
        events_retention_days,
        session_retention_seconds,
        session_week_start,
        // Where views are stored, and for how long.
        series_engine,
        series_retention_seconds,
        ad_token_seconds,
        // What is charged, and who is paid.
        payments,
        payments_merchant,
        shipping_methods,
        shipping_required,
        taxes,
    ];
    made.into_iter().chain(whole).map(|(key, digest)| (key.to_owned(), digest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::ROOMS;

    fn of(config: &Config) -> Digests {
        digests(config, "derived".to_owned())
    }

    #[test]
    fn settings_that_mean_the_same_are_the_same() {
        let usual = of(&Config::default());
        let rooms = ROOMS.iter().rev().map(|room| room.name.to_owned()).collect();
        let database = Some(Config::default().database);
        let told = Config {
            rooms,
            activity_database: database.clone(),
            log_database: database,
            ..Config::default()
        };
        assert_eq!(differing(&usual, &of(&told)), Vec::<&str>::new());
        let roles = |granted: [&str; 2]| {
            let granted = granted.map(str::to_owned).to_vec();
            of(&Config { roles: [("clerk".to_owned(), granted)].into(), ..Config::default() })
        };
        let clerks = roles(["merchant", "editor"]);
        assert_eq!(differing(&clerks, &roles(["editor", "merchant"])), Vec::<&str>::new());
        assert_eq!(differing(&clerks, &usual), ["roles"]);
    }

    #[test]
    fn each_difference_is_named_by_its_key() {
        let usual = of(&Config::default());
        let other = Config {
            rooms: vec!["queue".to_owned()],
            log_database: Some("logs".to_owned()),
            flow_run_millis: 1,
            listen: ([127, 0, 0, 1], 1).into(),
            ..Config::default()
        };
        let mut other = digests(&other, "derived from another secret".to_owned());
        assert_eq!(
            differing(&usual, &other),
            ["flow_run_millis", "log_database", "rooms", "secret"]
        );
        // An earlier version may not state a setting.
        other.remove("rooms");
        other.insert("of_a_later_version".to_owned(), String::new());
        assert_eq!(differing(&usual, &other), ["flow_run_millis", "log_database", "secret"]);
    }

    #[test]
    fn the_documents_mark_the_settings_that_must_be_the_same() {
        let page = include_str!("../../docs/CONFIGURATION.md");
        let rows = page.lines().filter(|row| row.starts_with("| `") && row.contains('†'));
        let keys = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(','));
        let marked: BTreeSet<_> = keys.map(|key| key.trim().trim_matches('`').to_owned()).collect();
        assert_eq!(marked, of(&Config::default()).into_keys().collect::<BTreeSet<_>>());
    }
}
