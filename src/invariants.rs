//! The report of `docgate check`: each room adds its invariants and their violations.

use std::fmt::Display;

/// Rules and their violations.
#[derive(Debug, Default)]
pub struct Report {
    /// Name of each rule, with its violations.
    pub rules: Vec<(String, Vec<String>)>,
}

impl Report {
    /// Starts a rule; the following calls of [`Self::broken`] belong to it.
    pub fn rule(&mut self, rule: &str) {
        self.rules.push((rule.to_owned(), Vec::new()));
    }

    /// Records a violation of the rule that was started last.
    pub fn broken(&mut self, what: String) {
        if let Some((_, broken)) = self.rules.last_mut() {
            broken.push(what);
        }
    }

    /// Adds a rule with its violations.
    pub fn add<V: Display>(&mut self, rule: &str, violations: impl IntoIterator<Item = V>) {
        let violations = violations.into_iter().map(|violation| violation.to_string()).collect();
        self.rules.push((rule.to_owned(), violations));
    }

    /// The same rules with the violations that a later report of them has too.
    #[must_use]
    pub fn confirmed_by(mut self, later: &Self) -> Self {
        for ((_, broken), (_, again)) in self.rules.iter_mut().zip(&later.rules) {
            broken.retain(|violation| again.contains(violation));
        }
        self
    }

    /// Whether no rule is violated.
    pub fn is_clean(&self) -> bool {
        self.rules.iter().all(|(_, broken)| broken.is_empty())
    }
}
