//! Decides for each read whether a secondary may serve it (*eventual*) or only the primary (*strong*).
//!
//! A client chooses by the argument `consistency` of a query field. Such a field is resolved within [`asked`], and its
//! own reads call [`now`] for the choice. All other reads are strong: those of mutations, flows, sweeps and
//! subscriptions, and those of the fields below the query field, because these are resolved after it. The reads of a
//! task that a field starts are strong too.

use std::future::Future;

use crate::config::Consistency;

tokio::task_local! {
    /// What the call asks for, if it says anything.
    static ASKED: Option<Consistency>;
}

/// Resolves a field with the consistency that its call asks for. `None` is the setting of each collection's group.
pub fn asked<F: Future>(
    consistency: Option<Consistency>,
    field: F,
) -> impl Future<Output = F::Output> {
    // There is no `async` block here, because its state would contain the field's future twice.
    ASKED.scope(consistency, field)
}

/// The consistency of a read that is sent now, of a collection whose group has this setting.
pub(super) fn now(setting: Consistency) -> Consistency {
    let asked = ASKED.try_with(|asked| asked.unwrap_or(setting));
    asked.unwrap_or(Consistency::Strong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Consistency::{Eventual, Strong};

    #[tokio::test]
    async fn only_a_field_with_the_argument_can_be_eventual() {
        assert_eq!(now(Eventual), Strong);
        assert_eq!(asked(None, async { now(Eventual) }).await, Eventual);
        assert_eq!(asked(None, async { now(Strong) }).await, Strong);
        assert_eq!(asked(Some(Strong), async { now(Eventual) }).await, Strong);
        assert_eq!(asked(Some(Eventual), async { now(Strong) }).await, Eventual);
        let task = asked(Some(Eventual), async { tokio::spawn(async { now(Eventual) }).await });
        assert_eq!(task.await.expect("no panic"), Strong);
    }
}
