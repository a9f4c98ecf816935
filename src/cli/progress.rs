//! Progress where stderr isn't a terminal: a line now and then, instead of a bar.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;

use super::terminal;

/// Time between two lines, and before the first one.
const EVERY: Duration = Duration::from_secs(10);

/// The lines of a command.
pub(super) struct Lines {
    last: Instant,
}

impl Lines {
    /// Begins the time before the first line.
    pub(super) fn new() -> Self {
        Self { last: Instant::now() }
    }

    /// Prints the line if the bar is hidden and it is time for one.
    pub(super) fn print<L: Display>(&mut self, bar: &ProgressBar, line: impl FnOnce() -> L) {
        if bar.is_hidden() && self.is_due(Instant::now()) {
            terminal::remark(line());
        }
    }

    /// Whether it is time for a line. If so, the time before the next one begins.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.duration_since(self.last) >= EVERY;
        if is_due {
            self.last = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_line_every_ten_seconds() {
        let begun = Instant::now();
        let mut lines = Lines { last: begun };
        let due = [0, 9, 10, 11, 19, 20, 45, 54, 55]
            .map(|seconds| lines.is_due(begun + Duration::from_secs(seconds)));
        assert_eq!(due, [false, false, true, false, false, true, true, false, true]);
    }
}
