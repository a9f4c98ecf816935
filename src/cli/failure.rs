//! The failure of a command: a sentence and an exit code.

mod selection;

use std::{error::Error as StdError, fmt, io, path::Path, process::ExitCode};

use crate::{config::Faults, edge::SetupError, error::Error, managed::ManagedError};

/// The exit code that shells show of a process which SIGPIPE ends.
const READER_GONE: u8 = 141;

/// The failure of a command, with a sentence for the user of the terminal.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    /// Empty if there is nothing to tell.
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

    /// The output of this name can't be written: exit code 3. If the reader of a pipe is gone, as `head` is after its lines,
    /// it wants no more: exit code 141 without a sentence.
    pub(super) fn unwritten(name: &str, fault: &io::Error) -> Self {
        if fault.kind() == io::ErrorKind::BrokenPipe {
            return Self { code: READER_GONE, sentence: String::new() };
        }
        Self::trouble(format!("can't write {name}: {fault}"))
    }

    /// The queried gateway isn't ready: exit code 1.
    pub(super) fn unready(sentence: impl Into<String>) -> Self {
        Self { code: 1, sentence: sentence.into() }
    }

    /// Adds a hint on how to solve the problem.
    pub(super) fn with_hint(self, hint: &str) -> Self {
        Self { sentence: format!("{} ({hint})", self.sentence), ..self }
    }

    /// Whether there is nothing to tell.
    pub(super) fn is_silent(&self) -> bool {
        self.sentence.is_empty()
    }

    /// The exit code.
    pub(super) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

/// The failure to read, write or remove a file or a folder.
pub(super) fn failed(action: &str, path: &Path, fault: &io::Error) -> Failure {
    Failure::trouble(format!("can't {action} {}: {fault}", path.display()))
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
pub(super) const NO_MEMBER: &str = "MongoDB answers, but not as a member of a replica set (initiate the set once with \
                                    `rs.initiate()` in mongosh; if that was done, the member is starting or \
                                    recovering, or was removed)";

/// An error with its causes, as a sentence.
pub(super) fn sentence(error: &Error) -> String {
    match error {
        Error::Unavailable(source) | Error::Unread(source) | Error::Uncounted(source) => {
            let source = source.as_ref();
            let unselected =
                causes(source).find_map(|cause| selection::sentence(&cause.to_string()));
            if let Some(unselected) = unselected {
                return unselected;
            }
            if causes(source).any(|cause| is_outside(&cause.to_string())) {
                return NO_MEMBER.to_owned();
            }
            format!("MongoDB didn't answer: {}", chain(source))
        }
        Error::Timeout(source) => format!("MongoDB took too long: {}", chain(source.as_ref())),
        Error::NewerVersion(source) => format!("{error}: {}", chain(source.as_ref())),
        Error::Internal(source) => format!("it failed: {}", chain(source.as_ref())),
        other => other.to_string(),
    }
}

/// The error and its causes.
fn causes(error: &dyn StdError) -> impl Iterator<Item = &dyn StdError> {
    // References are errors too, whose source lives as long as the reference.
    std::iter::successors(Some(error), |error| (**error).source())
}

fn chain(error: &dyn StdError) -> String {
    let mut text = String::new();
    for cause in causes(error) {
        let more = brief(&cause.to_string());
        if text.is_empty() {
            text = more;
        } else if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
    }
    text
}

/// Whether MongoDB refused a command because the mongod isn't a member of a replica set.
fn is_outside(text: &str) -> bool {
    ["(NotPrimaryOrSecondary)", "(NotYetInitialized)"].iter().any(|code| text.contains(code))
}

/// The message without the driver's frame: `Kind: …, labels: {}`.
fn brief(text: &str) -> String {
    if let Some(sentence) = selection::sentence(text) {
        return sentence;
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
    fn what_the_driver_says_beside_the_cause_is_left_out() {
        let ghost = "Kind: Server selection timeout: None of the available servers suitable for criteria \
                     ReadPreference(Primary). Topology: { Type: Unknown, Servers: [ { Address: 127.0.0.1:1, \
                     Type: RsGhost, Average RTT: 16.8ms } ] }, labels: {}";
        assert_eq!(of(ghost), NO_MEMBER);
        let direct = "Kind: Command failed: Error code 13436 (NotPrimaryOrSecondary): node is not in primary or \
                      recovering state, labels: {}";
        assert_eq!(of(direct), NO_MEMBER);
        let nobody = "Kind: Server selection timeout: No available servers. Topology: { Type: Unknown, Servers: [ \
                      { Address: 127.0.0.1:1, Type: Unknown, Error: Kind: I/O error: Connection refused (os error \
                      111), labels: {}, source: None } ] }, labels: {}";
        let refused = "127.0.0.1:1 (I/O error: Connection refused (os error 111))";
        assert_eq!(of(nobody), format!("MongoDB didn't answer: {refused}"));
        assert_eq!(
            of("Kind: I/O error: gone, labels: {}"),
            "MongoDB didn't answer: I/O error: gone"
        );
    }
}
