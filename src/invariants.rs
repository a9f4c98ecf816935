//! The report of `docgate check`: each room adds its invariants and their violations.

use std::{collections::HashSet, fmt::Display, time::Duration};

/// Where a check or a repair tells people why it takes so long. By default nobody is told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress(Option<fn(&str)>);

impl Progress {
    /// Each sentence is passed to `tell`.
    pub fn to(tell: fn(&str)) -> Self {
        Self(Some(tell))
    }

    /// Tells that a rule seems to be broken, and is looked at again after a pause.
    pub fn looks_again(self, rule: &str, violations: usize, pause: Duration) {
        let Some(tell) = self.0 else { return };
        let noun = if violations == 1 { "violation" } else { "violations" };
        let seconds = pause.as_secs_f64();
        tell(&format!(
            "{rule}: this seems to be broken ({violations} {noun}); looking again in {seconds} s"
        ));
    }
}

/// Rules and their violations.
#[derive(Debug, Default)]
pub struct Report {
    /// Name of each rule, with its violations.
    pub rules: Vec<(String, Vec<String>)>,
    /// Where the check tells why it takes so long.
    pub progress: Progress,
}

impl Report {
    /// A report without rules.
    pub fn telling(progress: Progress) -> Self {
        Self { rules: Vec::new(), progress }
    }

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
        for (rule, broken) in &mut self.rules {
            let rule: &str = rule;
            // One of the reports can lack rules that couldn't be checked.
            let same = later.rules.iter().filter(|(name, _)| name == rule);
            let again: HashSet<&String> = same.flat_map(|(_, all)| all).collect();
            broken.retain(|violation| again.contains(violation));
        }
        self
    }

    /// Tells of each violated rule that it is looked at again after a pause.
    pub fn looks_again(&self, pause: Duration) {
        for (rule, broken) in self.rules.iter().filter(|(_, broken)| !broken.is_empty()) {
            self.progress.looks_again(rule, broken.len(), pause);
        }
    }

    /// Whether no rule is violated.
    pub fn is_clean(&self) -> bool {
        self.rules.iter().all(|(_, broken)| broken.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_are_compared_by_rule_even_if_a_report_lacks_rules() {
        let report = |rules: &[(&str, &[&str])]| {
            let mut report = Report::default();
            for (rule, broken) in rules {
                report.add(rule, *broken);
            }
            report
        };
        let first = report(&[("cut", &["a room"]), ("own", &["one", "two"]), ("other", &["one"])]);
        let later = report(&[("more", &["one"]), ("own", &["two"]), ("other", &[])]);
        let confirmed = first.confirmed_by(&later);
        let left: Vec<usize> = confirmed.rules.iter().map(|(_, broken)| broken.len()).collect();
        assert_eq!(left, [0, 1, 0]);
        assert_eq!(confirmed.rules[1].1, ["two"]);
    }

    /// One rule can be broken by each product of a shop. Compared one by one, these would take hours.
    #[test]
    fn reports_of_many_violations_are_compared_at_once() {
        let report = |numbers: std::ops::Range<u32>| {
            let mut report = Report::default();
            report.add("own", numbers.rev().map(|number| format!("product {number:07}")));
            report
        };
        let confirmed = report(0..500_000).confirmed_by(&report(1..500_001));
        assert_eq!(confirmed.rules[0].1.len(), 499_999);
    }
}
