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

/// An error with its causes, as a sentence.
pub(super) fn sentence(error: &Error) -> String {
    match error {
        Error::Unavailable(source) | Error::Unread(source) | Error::Uncounted(source) => {
            format!("MongoDB didn't answer: {}", chain(source.as_ref()))
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

/// The message without the driver's frame: `Kind: …, labels: {}`.
fn brief(text: &str) -> String {
    let text = text.strip_prefix("Kind: ").unwrap_or(text);
    text.split(", labels: {").next().unwrap_or(text).to_owned()
}
