//! `docgate token`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;
use jsonwebtoken::{EncodingKey, Header, encode, get_current_timestamp};

use super::{failure::Failure, terminal};
use crate::{config::Config, edge::auth::RolesClaim};

/// Sign a token for development
///
/// Prints a bearer token (JWT, HS256). It is signed with the configured `auth_hs256_secret` and has the
/// configured `auth_issuer` and `auth_audience`, if set; the roles are in the `auth_roles_claim`. The
/// command needs no database. In production, tokens come from the service that signs in your users.
///
/// Example:
///     curl -H "Authorization: Bearer $(docgate token --sub anna --roles merchant)" \
///          -H 'Content-Type: application/json' -d '{"query": "{ __typename }"}' \
///          http://127.0.0.1:8080/graphql
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Token {
    /// Subject of the token.
    #[arg(long, value_name = "NAME", value_parser = subject)]
    sub: String,
    /// Roles of the token, separated by commas. Without roles it permits what every signed-in caller may do.
    #[arg(long, value_name = "ROLES", value_delimiter = ',')]
    roles: Vec<String>,
    /// Validity of the token: a number and s, m, h or d.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    ttl: Duration,
    /// File with settings in TOML, such as docgate.toml.
    #[arg(long, env = "DOCGATE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Token {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let config = Config::load_keys(self.config.as_deref(), serde_json::json!({}))?;
        let roles: Vec<&str> = self.roles.iter().map(String::as_str).collect();
        let claim = RolesClaim::of(&config);
        if let Some(unknown) = roles.iter().find(|role| claim.granted(role).is_empty()) {
            let names = claim.names().join(", ");
            return Err(Failure::usage(format!(
                "there is no role {unknown:?}; the roles are {names}"
            )));
        }
        terminal::say(mint(&config, &self.sub, &roles, self.ttl)?);
        Ok(ExitCode::SUCCESS)
    }
}

/// A token that a gateway with this configuration accepts for `ttl`.
pub(super) fn mint(
    config: &Config,
    subject: &str,
    roles: &[&str],
    ttl: Duration,
) -> Result<String, Failure> {
    let Some(secret) = &config.auth_hs256_secret else {
        return Err(Failure::usage(
            "auth_hs256_secret is missing: set DOCGATE_AUTH_HS256_SECRET to the secret that the \
             gateway has; with a public key alone tokens can be checked but not signed",
        ));
    };
    if secret.len() < 32 {
        return Err(Failure::usage("auth_hs256_secret needs 32 bytes or more"));
    }
    let now = get_current_timestamp();
    let mut claims = RolesClaim::of(config).claims(roles);
    claims.insert("sub".to_owned(), subject.into());
    claims.insert("iat".to_owned(), now.into());
    claims.insert("exp".to_owned(), now.saturating_add(ttl.as_secs()).into());
    for (claim, demanded) in [("iss", &config.auth_issuer), ("aud", &config.auth_audience)] {
        if let Some(value) = demanded {
            claims.insert(claim.to_owned(), value.as_str().into());
        }
    }
    encode(&Header::default(), &claims, &EncodingKey::from_secret(secret.as_bytes()))
        .map_err(|fault| Failure::trouble(format!("the token can't be signed: {fault}")))
}

fn subject(text: &str) -> Result<String, &'static str> {
    match text.len() {
        1..=128 => Ok(text.to_owned()),
        _ => Err("1 to 128 bytes are expected"),
    }
}

/// A number and its unit, such as `90s`, `15m`, `1h` or `30d`.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    const EXPECTED: &str = "a number and s, m, h or d is expected, such as 15m";
    let unit = text.chars().last().ok_or(EXPECTED)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(EXPECTED),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| EXPECTED)?;
    let max = 3_650 * 86_400;
    match number.checked_mul(seconds) {
        Some(seconds) if (1..=max).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err("one second to 3650 days are expected"),
    }
}
