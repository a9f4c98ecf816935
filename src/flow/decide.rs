//! The loop of every flow: read the decider, try, and read it again after a refusal.

use std::time::Duration;

use super::Attempt;
use crate::error::Error;

/// Pause before the decider is read again while another attempt works on the same flow.
const WAIT: Duration = Duration::from_millis(50);

/// The result of one try of a flow.
#[derive(Debug)]
pub enum Step<T> {
    /// The flow is decided, by this try or before it. Contains the result.
    Done(T),
    /// A write was refused, or an interrupted attempt was finished: read the decider again. Its new state
    /// either explains the refusal or permits another try.
    Again,
    /// Another attempt works on the same flow: read the decider again after a pause.
    Wait,
}

impl<T> Step<T> {
    /// *Done* if there is a result, and otherwise *again*.
    pub fn or_again(result: Option<T>) -> Self {
        result.map_or(Self::Again, Self::Done)
    }
}

/// Runs a flow until it is decided. `read` begins an attempt by reading the decider; `step` tries the flow on the
/// decider that was read. Each try has its own attempt, so that its deadline counts from its own read. After the
/// end of the first attempt, no further try begins.
///
/// # Errors
/// Those of `read` and `step`; `Unavailable` if the first attempt is over before the flow is decided.
pub async fn decide<D, T, E, R, S>(
    mut read: impl FnMut() -> R,
    mut step: impl FnMut(Attempt, D) -> S,
) -> Result<T, E>
where
    E: From<Error>,
    R: Future<Output = Result<(Attempt, D), E>>,
    S: Future<Output = Result<Step<T>, E>>,
{
    let (first, mut decider) = read().await?;
    let mut attempt = first;
    loop {
        match step(attempt, decider).await? {
            Step::Done(result) => return Ok(result),
            Step::Again => {}
            Step::Wait => tokio::time::sleep(WAIT).await,
        }
        if first.is_over() {
            return Err(first.overdue().into());
        }
        (attempt, decider) = read().await?;
    }
}
