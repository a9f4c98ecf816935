//! Checks of the configuration. All faults are reported together, each as a sentence.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use mongodb::{error::ErrorKind, options::ConnectionString};

use super::{BUFFER, CENTURY, Concern, Config, DocumentsMode, SUBSCRIPTION};

/// Maximum of some times in milliseconds, more than eleven days. MongoDB refuses a `maxTimeMS` above 2^31 - 1, and Linux refuses
/// a connection's time limit above it, which is twice `live_ping_millis`.
const LONGEST: u64 = 1_000_000_000;

impl Config {
    /// Faults of the settings that a command on the database needs.
    pub(super) fn database_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.mongodb_uri.is_empty() {
            faults.push("mongodb_uri is missing: set DOCGATE_MONGODB_URI, such as mongodb://localhost:27017/?replicaSet=rs0".to_owned());
        } else if let Some(reason) = uri_fault(&self.mongodb_uri) {
            faults.push(format!("mongodb_uri can't be used: {reason}"));
        }
        let databases = [
            ("database", Some(&self.database)),
            ("activity_database", self.activity_database.as_ref()),
            ("log_database", self.log_database.as_ref()),
        ];
        for (key, name) in databases {
            if name.is_some_and(|name| !is_database_name(name)) {
                faults.push(format!("{key} must be 1 to 48 letters, digits or underscores"));
            }
        }
        for (at, (key, name)) in databases.iter().enumerate() {
            let is_alike = |other: Option<&String>| {
                name.zip(other)
                    .is_some_and(|(name, other)| name != other && name.eq_ignore_ascii_case(other))
            };
            // MongoDB doesn't create the second one.
            if let Some((other, _)) = databases.iter().take(at).find(|(_, other)| is_alike(*other))
            {
                faults
                    .push(format!("{key} and {other} can't differ by upper and lower case alone"));
            }
        }
        if self.core_write_concern != Concern::Majority {
            faults.push(
                "core_write_concern must be majority: flows decide by writes of this group, and a decision that only the primary has can be lost"
                    .to_owned(),
            );
        }
        if !(90..=86_400).contains(&self.eventual_staleness_seconds) {
            faults.push(
                "eventual_staleness_seconds must be between 90, MongoDB's minimum, and 86400"
                    .to_owned(),
            );
        }
        faults
    }

    /// Faults of the other settings that a gateway needs, without those of rooms, each as a sentence.
    /// Those of the keys for tokens are left out if no tokens are checked.
    pub(super) fn faults(&self, checks_tokens: bool) -> Vec<String> {
        let mut faults = Vec::new();
        let mut demand = |holds: bool, fault: &str| {
            if !holds {
                faults.push(fault.to_owned());
            }
        };
        let is_missing = self.secret.is_empty();
        demand(
            !is_missing,
            "secret is missing: set DOCGATE_SECRET to the secret of the gateways, or for a new database to a long random text, of 32 bytes or more, and keep it",
        );
        demand(
            is_missing || self.secret.len() >= 32,
            "secret needs 32 bytes or more: set DOCGATE_SECRET to a long random text and keep it",
        );
        if checks_tokens {
            self.demand_of_tokens(&mut demand);
        }
        demand(
            oxilangtag::LanguageTag::parse(self.site_locale.as_str()).is_ok(),
            "site_locale isn't a BCP 47 language tag",
        );
        demand(
            self.site_url.as_deref().is_none_or(|url| is_web_address(url) && !url.ends_with('/')),
            "site_url must begin with https:// or http:// and not end with /",
        );
        demand(
            (1..=1_000).contains(&self.metadata_pairs),
            "metadata_pairs must be between 1 and 1000",
        );
        demand(
            self.suggestion_cache_seconds <= 86_400,
            "suggestion_cache_seconds can't be above 86400",
        );
        self.demand_above_zero(&mut demand);
        self.demand_of_times(&mut demand);
        demand(
            self.flow_command_millis <= self.flow_run_millis,
            "flow_command_millis can't be above flow_run_millis",
        );
        demand(
            Duration::from_secs(self.flow_ops_seconds) > self.grace_period() * 4,
            "flow_ops_seconds must be longer than four times the grace period (flow_run_millis + flow_command_millis + flow_skew_millis)",
        );
        demand(
            (1..=1_000_000).contains(&self.live_connections),
            "live_connections must be between 1 and 1000000",
        );
        demand(
            (1..=10_000).contains(&self.live_operations),
            "live_operations must be between 1 and 10000",
        );
        demand(self.live_reservations <= 1_000_000, "live_reservations can't be above 1000000");
        self.demand_of_bytes(&mut demand);
        demand(
            self.requests_per_second == 0 || self.requests_burst > 0,
            "requests_burst must be above zero where requests_per_second is",
        );
        demand((1..=60).contains(&self.max_depth), "max_depth must be between 1 and 60");
        demand(
            self.cors_origins.iter().all(|origin| origin == "*" || is_origin(origin)),
            "cors_origins must be origins as browsers send them, such as https://shop.example: in lower case, without a path, a \
             usual port or a wildcard; or *",
        );
        demand(
            self.documents_mode == DocumentsMode::Off || self.documents.is_some(),
            "documents_mode needs documents: a folder of .graphql files or a manifest",
        );
        faults.extend(self.observability_faults());
        faults
    }

    /// Checks the settings that only have a lower bound.
    fn demand_above_zero(&self, demand: &mut impl FnMut(bool, &str)) {
        for (key, is_above) in [
            ("flow_run_millis", self.flow_run_millis > 0),
            ("flow_command_millis", self.flow_command_millis > 0),
            ("sweep_millis", self.sweep_millis > 0),
            ("live_init_millis", self.live_init_millis > 0),
            ("live_ping_millis", self.live_ping_millis > 0),
            ("live_reservation_millis", self.live_reservation_millis > 0),
            ("receive_millis", self.receive_millis > 0),
            ("idle_millis", self.idle_millis > 0),
            ("request_millis", self.request_millis > 0),
            ("max_connections", self.max_connections > 0),
            ("max_requests", self.max_requests > 0),
            ("max_batch", self.max_batch > 0),
            ("max_tokens", self.max_tokens > 0),
            ("max_root_fields", self.max_root_fields > 0),
            ("max_cost", self.max_cost > 0),
            ("max_response_bytes", self.max_response_bytes > 0),
            ("max_read_bytes", self.max_read_bytes > 0),
            ("max_unsent_bytes", self.max_unsent_bytes > 0),
            ("auth_jwks_refresh_seconds", self.auth_jwks_refresh_seconds > 0),
            ("auth_jwks_cooldown_seconds", self.auth_jwks_cooldown_seconds > 0),
        ] {
            demand(is_above, &format!("{key} must be above zero"));
        }
    }

    /// Checks the times that MongoDB or the operating system limits.
    fn demand_of_times(&self, demand: &mut impl FnMut(bool, &str)) {
        for (key, millis) in [
            ("flow_run_millis", self.flow_run_millis),
            ("flow_command_millis", self.flow_command_millis),
            ("flow_skew_millis", self.flow_skew_millis),
            ("request_millis", self.request_millis),
            ("live_ping_millis", self.live_ping_millis),
        ] {
            demand(millis <= LONGEST, &format!("{key} can't be above {LONGEST}"));
        }
        let fault = format!("flow_ops_seconds can't be above {CENTURY}");
        demand(self.flow_ops_seconds <= CENTURY, &fault);
    }

    fn observability_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.otlp_endpoint.as_deref().is_none_or(is_web_address) {
            faults.push("otlp_endpoint must be a URL, such as http://localhost:4318".to_owned());
        }
        if !(0.0..=1.0).contains(&self.otlp_sample_ratio) {
            faults.push("otlp_sample_ratio must be between 0 and 1".to_owned());
        }
        if self.admin_listen.is_some_and(|admin| clash(admin, self.listen)) {
            faults.push(
                "admin_listen must be another address or port than listen; 0.0.0.0 and [::] have every address"
                    .to_owned(),
            );
        }
        faults
    }

    /// Checks the settings for tokens.
    fn demand_of_tokens(&self, demand: &mut impl FnMut(bool, &str)) {
        demand(
            self.auth_hs256_secret.is_some()
                || self.auth_rs256_public_key.is_some()
                || self.auth_es256_public_key.is_some()
                || self.auth_eddsa_public_key.is_some()
                || self.auth_jwks_file.is_some()
                || self.auth_jwks_url.is_some(),
            "no key for tokens: set auth_hs256_secret, auth_rs256_public_key, auth_es256_public_key, auth_eddsa_public_key, auth_jwks_file or auth_jwks_url",
        );
        demand(
            self.auth_hs256_secret.as_ref().is_none_or(|secret| secret.len() >= 32),
            "auth_hs256_secret needs 32 bytes or more",
        );
        demand(
            self.auth_jwks_url.as_deref().is_none_or(is_web_address),
            "auth_jwks_url isn't a URL that begins with https:// or http://",
        );
        demand(self.auth_leeway_seconds <= 3_600, "auth_leeway_seconds can't be above 3600");
        demand(!self.auth_roles_claim.is_empty(), "auth_roles_claim can't be empty");
        demand(
            self.auth_cookie.as_deref().is_none_or(is_cookie_name),
            "auth_cookie isn't the name of a cookie: letters, digits and !#$%&'*+-.^_`|~ are expected",
        );
    }

    /// Checks the settings for bytes of requests.
    fn demand_of_bytes(&self, demand: &mut impl FnMut(bool, &str)) {
        demand(self.body_bytes >= 1024, "body_bytes must be 1024 or more");
        demand(
            (8 << 10..=1 << 20).contains(&self.head_bytes),
            "head_bytes must be between 8192 and 1048576",
        );
        let is_share = (1..=100).contains(&self.client_share_percent);
        demand(is_share, "client_share_percent must be between 1 and 100");
        let share_of = |bytes: usize| bytes.saturating_mul(self.client_share_percent) / 100;
        let needed = self.body_bytes.saturating_add(2 * self.head_bytes.max(BUFFER));
        for (key, all, needed, what) in [
            (
                "max_received_bytes",
                self.max_received_bytes,
                needed,
                "one request, which can take {needed} bytes with these body_bytes and head_bytes",
            ),
            (
                "max_unsent_bytes",
                self.max_unsent_bytes,
                self.max_response_bytes,
                "one response, which can take {needed} bytes (max_response_bytes)",
            ),
            (
                "live_subscription_bytes",
                self.live_subscription_bytes,
                SUBSCRIPTION,
                "one subscription, which can take {needed} bytes",
            ),
        ] {
            let (share, percent) = (share_of(all), self.client_share_percent);
            let what = what.replace("{needed}", &needed.to_string());
            let fault = format!(
                "a client's share of {key} ({percent} % of {all} bytes: {share}) must hold {what}"
            );
            demand(!is_share || share >= needed, &fault);
        }
    }
}

/// Whether it can be the name of a database. `admin`, `config` and `local` are MongoDB's own.
fn is_database_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=48).contains(&name.len())
        && name.bytes().all(fits)
        && !["admin", "config", "local"].contains(&name)
}

/// Whether the text is a URL of HTTP.
pub fn is_web_address(text: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}

/// Whether the text is an origin of a page as browsers send it. They send hosts in lower case and ASCII, and no port that is
/// the scheme's own.
fn is_origin(text: &str) -> bool {
    let url = reqwest::Url::parse(text);
    is_web_address(text)
        && !text.contains('*')
        && url.is_ok_and(|url| url.origin().ascii_serialization() == text)
}

/// Whether two addresses can't be served at the same time. An unspecified address of IPv6 has those of IPv4 too.
fn clash(one: SocketAddr, other: SocketAddr) -> bool {
    let has = |all: IpAddr, ip: IpAddr| all.is_unspecified() && (all.is_ipv6() || ip.is_ipv4());
    let (first, second) = (one.ip(), other.ip());
    one.port() == other.port()
        && one.port() != 0
        && (first == second || has(first, second) || has(second, first))
}

/// Whether a name is a `token` as defined by
/// [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2), which RFC 6265 requires for cookies.
fn is_cookie_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

/// The fault of a connection string, if any. The driver's message may end with a part of the string,
/// and so of the password; that part is left out.
fn uri_fault(uri: &str) -> Option<String> {
    let fault = ConnectionString::parse(uri).err()?;
    let ErrorKind::InvalidArgument { message, .. } = fault.kind.as_ref() else {
        return Some("it isn't a connection string of MongoDB".to_owned());
    };
    match message.rsplit_once(": ") {
        Some((what, repeated)) if uri.contains(repeated) => Some(what.to_owned()),
        _ => Some(message.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_those_that_browsers_send() {
        for origin in [
            "https://shop.example",
            "http://localhost:5173",
            "http://[::1]:8080",
            "https://xn--mnchen-3ya.example",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
        for other in [
            "https://Shop.example",
            "https://shop.example/",
            "https://shop.example:443",
            "http://shop.example:80",
            "https://shop.example?a=b",
            "https://me@shop.example",
            "https://*.shop.example",
            "https://m\u{fc}nchen.example",
            "https://shop.example ",
            "shop.example",
            "ftp://shop.example",
            "null",
            "*",
        ] {
            assert!(!is_origin(other), "{other}");
        }
    }

    #[test]
    fn an_unspecified_address_has_the_others_of_its_port() {
        for (one, other, is_taken) in [
            ("127.0.0.1:1", "127.0.0.1:1", true),
            ("0.0.0.0:1", "127.0.0.1:1", true),
            ("[::]:1", "127.0.0.1:1", true),
            ("[::]:1", "0.0.0.0:1", true),
            ("[::]:1", "[::1]:1", true),
            ("0.0.0.0:1", "[::1]:1", false),
            ("127.0.0.1:1", "127.0.0.2:1", false),
            ("0.0.0.0:1", "0.0.0.0:2", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
        ] {
            let [one, other] = [one, other].map(|text| text.parse().expect("an address"));
            assert_eq!(
                (clash(one, other), clash(other, one)),
                (is_taken, is_taken),
                "{one} {other}"
            );
        }
    }
}
