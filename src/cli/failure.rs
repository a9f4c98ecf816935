//! The failure of a command: a sentence and an exit code.

use std::{fmt, process::ExitCode};

use crate::{config::Faults, edge::SetupError, error::Error, managed::ManagedError};

/// The failure of a command, with a sentence for the user of the terminal.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    sentence: String,
}

impl Failure {
    /// The command line or the configuration is invalid: exit code 2.
    pub(super) fn usage(sentence: impl Into<String>) -> Self {
        Self { code: 2, sentence: sentence.into() }
    }

    /// The command couldn't be carried out: exit code 3.
    pub(super) fn trouble(sentence: impl Into<String>) -> Self {
        Self { code: 3, sentence: sentence.into() }
    }

    /// The queried gateway isn't ready: exit code 1.
    pub(super) fn unready(sentence: impl Into<String>) -> Self {
        Self { code: 1, sentence: sentence.into() }
    }

    /// Adds a hint on how to solve the problem.
    pub(super) fn with_hint(self, hint: &str) -> Self {
        Self { sentence: format!("{} ({hint})", self.sentence), ..self }
    }

    /// The exit code.
    pub(super) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence)
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        Self::usage(faults.to_string())
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Self::usage(format!("the configuration can't be used:\n  - {error}"))
    }
}

impl From<ManagedError> for Failure {
    fn from(error: ManagedError) -> Self {
        Self::trouble(error.to_string())
    }
}

impl From<Error> for Failure {
    /// The user of a command may see the inner message, which clients may not.
    fn from(error: Error) -> Self {
        Self::trouble(sentence(&error))
    }
}

/// The sentence about a mongod that isn't in a replica set, with what to do.
const NO_MEMBER: &str = "MongoDB answers, but not as a member of a replica set (initiate the set once with \
                         `rs.initiate()` in mongosh; if that was done, the member is starting or recovering)";

/// An error with its causes, as a sentence.
pub(super) fn sentence(error: &Error) -> String {
    match error {
        Error::Unavailable(source) | Error::Unread(source) | Error::Uncounted(source) => {
            let causes = chain(source.as_ref());
            if causes.contains(NO_MEMBER) {
                return NO_MEMBER.to_owned();
            }
            format!("MongoDB didn't answer: {causes}")
        }
        Error::Timeout(source) => format!("MongoDB took too long: {}", chain(source.as_ref())),
        Error::NewerVersion(source) => format!("{error}: {}", chain(source.as_ref())),
        Error::Internal(source) => format!("it failed: {}", chain(source.as_ref())),
        other => other.to_string(),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = brief(&error.to_string());
    let mut inner = error.source();
    while let Some(source) = inner {
        let more = brief(&source.to_string());
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        inner = source.source();
    }
    text
}

/// What the driver or MongoDB says of a mongod that isn't in a replica set.
const SIGNS_OF_NO_MEMBER: [&str; 3] =
    ["Type: RsGhost", "(NotPrimaryOrSecondary)", "(NotYetInitialized)"];

/// Why no server was selected, without the driver's description of all servers: what it says of those that don't answer.
fn unselected(text: &str) -> Option<String> {
    let (_, servers) = text.split_once("Topology: {")?;
    let mut reasons = Vec::new();
    for fault in servers.split("Error: Kind: ").skip(1) {
        let reason = fault.split([',', '}']).next().unwrap_or(fault).trim();
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    Some(if reasons.is_empty() { "no server is a primary".to_owned() } else { reasons.join("; ") })
}

/// The message without the driver's frame: `Kind: …, labels: {}`.
fn brief(text: &str) -> String {
    if SIGNS_OF_NO_MEMBER.iter().any(|sign| text.contains(sign)) {
        return NO_MEMBER.to_owned();
    }
    if let Some(reason) = unselected(text) {
        return reason;
    }
    let text = text.strip_prefix("Kind: ").unwrap_or(text);
    text.split(", labels: {").next().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentence about this message of the driver.
    fn of(message: &str) -> String {
        sentence(&Error::unavailable(message))
    }

    #[test]
    fn what_the_driver_says_of_all_servers_is_left_out() {
        let ghost = "Kind: Server selection timeout: None of the available servers suitable for criteria \
                     ReadPreference(Primary). Topology: { Type: Unknown, Servers: [ { Address: 127.0.0.1:1, \
                     Type: RsGhost, Average RTT: 16.8ms } ] }, labels: {}";
        assert_eq!(of(ghost), NO_MEMBER);
        let direct = "Kind: Command failed: Error code 13436 (NotPrimaryOrSecondary): node is not in primary or \
                      recovering state, labels: {}";
        assert_eq!(of(direct), NO_MEMBER);
        let server = |port: u16| {
            format!(
                "{{ Address: 127.0.0.1:{port}, Type: Unknown, Error: Kind: I/O error: Connection refused (os error \
                 111), labels: {{}}, source: None }}"
            )
        };
        let nobody = format!(
            "Kind: Server selection timeout: No available servers. Topology: {{ Type: Unknown, Servers: [ {}, {} ] \
             }}, labels: {{}}",
            server(1),
            server(2)
        );
        let told = "MongoDB didn't answer: I/O error: Connection refused (os error 111)";
        assert_eq!(of(&nobody), told);
        let secondary = "Kind: Server selection timeout: None of the available servers suitable for criteria \
                         ReadPreference(Primary). Topology: { Type: ReplicaSetNoPrimary, Servers: [ { Address: \
                         127.0.0.1:1, Type: RsSecondary } ] }, labels: {}";
        assert_eq!(of(secondary), "MongoDB didn't answer: no server is a primary");
        assert_eq!(
            of("Kind: I/O error: gone, labels: {}"),
            "MongoDB didn't answer: I/O error: gone"
        );
    }
}
