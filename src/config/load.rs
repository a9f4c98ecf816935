//! Loading of the configuration from its sources, with all faults reported together.

use std::{
    fmt::{self, Write as _},
    path::Path,
    time::Duration,
};

use serde::Serialize;

use super::{Config, read};

/// The settings that commands on the database use beside those of the database: what they store and how long they try depends on
/// these. The secret is one of them, if it is there.
const USED: [&str; 10] = [
    "cart_idle_seconds",
    "events_retention_days",
    "flow_command_millis",
    "flow_ops_seconds",
    "flow_run_millis",
    "flow_skew_millis",
    "request_millis",
    "reservation_seconds",
    "series_retention_seconds",
    "site_locale",
];

/// All faults of a configuration, displayed as one message.
#[derive(Debug)]
pub struct Faults(pub(super) Vec<String>);

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from("the configuration can't be used:");
        for fault in &self.0 {
            write!(text, "\n  - {fault}")?;
        }
        formatter.write_str(&text)
    }
}

impl std::error::Error for Faults {}

impl Config {
    /// Loads the configuration of a gateway from file, environment and flags, in rising precedence. `flags`
    /// serialize to key and value pairs. `further` returns additional faults, such as those of a file that a key names.
    ///
    /// # Errors
    /// Lists every key that is unknown, can't be parsed, or conflicts with other keys, and the faults of `further`.
    pub fn load(
        file: Option<&Path>,
        flags: impl Serialize,
        further: impl FnOnce(&Self) -> Vec<String>,
    ) -> Result<Self, Faults> {
        Self::load_over(file, flags, &[], further)
    }

    /// Like [`Self::load`], for a command that sets keys itself, as flags would. Neither file nor environment may set those
    /// of `refused`.
    ///
    /// # Errors
    /// As [`Self::load`], and names keys that are refused.
    pub fn load_over(
        file: Option<&Path>,
        own: impl Serialize,
        refused: &[&str],
        further: impl FnOnce(&Self) -> Vec<String>,
    ) -> Result<Self, Faults> {
        let (config, mut faults, sources) = read::read(file, own)?;
        let found = [config.database_faults(), config.faults(true), further(&config)].concat();
        faults.extend(found.iter().map(|fault| sources.told(fault)));
        if !refused.is_empty() {
            let (_, _, given) = read::read(file, ())?;
            faults.extend(refused.iter().filter_map(|key| {
                let place = given.place(key)?;
                Some(format!("{key}: this command has its own; leave it out (in {place})"))
            }));
        }
        config.without(faults)
    }

    /// Like [`Self::load`], for a command that only uses the database: other settings of a gateway may be
    /// missing. `of_rooms` returns the faults of the settings of rooms. Only those of settings that such commands use count.
    pub fn load_for_database(
        file: Option<&Path>,
        flags: impl Serialize,
        of_rooms: impl FnOnce(&Self) -> Vec<String>,
        further: impl FnOnce(&Self) -> Vec<String>,
    ) -> Result<Self, Faults> {
        let (config, mut faults, sources) = read::read(file, flags)?;
        let mut used = [config.faults(false), of_rooms(&config)].concat();
        // A fault begins with its key.
        used.retain(|fault| match fault.split(' ').next() {
            Some("secret") => !config.secret.is_empty(),
            key => key.is_some_and(|key| USED.contains(&key)),
        });
        let found = [config.database_faults(), used, further(&config)].concat();
        faults.extend(found.iter().map(|fault| sources.told(fault)));
        config.without(faults)
    }

    /// Like [`Self::load`], for a command that runs flows and checks no tokens: keys for tokens may be missing.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_for_flows(
        file: Option<&Path>,
        flags: impl Serialize,
        further: impl FnOnce(&Self) -> Vec<String>,
    ) -> Result<Self, Faults> {
        let (config, mut faults, sources) = read::read(file, flags)?;
        let found = [config.database_faults(), config.faults(false), further(&config)].concat();
        faults.extend(found.iter().map(|fault| sources.told(fault)));
        config.without(faults)
    }

    /// Like [`Self::load`], for a command that only reads some keys: any key may be missing, but present keys
    /// must parse.
    pub fn load_keys(file: Option<&Path>, flags: impl Serialize) -> Result<Self, Faults> {
        let (config, faults, _) = read::read(file, flags)?;
        config.without(faults)
    }

    fn without(self, faults: Vec<String>) -> Result<Self, Faults> {
        if faults.is_empty() { Ok(self) } else { Err(Faults(faults)) }
    }

    /// The grace period: the time after the start of an attempt from which none of its writes can be applied
    /// any more.
    pub fn grace_period(&self) -> Duration {
        // It is computed before the settings are checked.
        let rest = self.flow_command_millis.saturating_add(self.flow_skew_millis);
        Duration::from_millis(self.flow_run_millis.saturating_add(rest))
    }
}
