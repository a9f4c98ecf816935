//! Progress of a command: a bar on a terminal, elsewhere a line now and then.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::terminal;

/// Time between two lines, and before the first one.
const EVERY: Duration = Duration::from_secs(10);

/// A bar that shows what the template says.
pub(super) fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar of bytes, or a spinner if their total isn't known. `rate` is the part of the template that shows the speed.
pub(super) fn bytes(total: Option<u64>, rate: &str) -> ProgressBar {
    match total {
        Some(total) => {
            let template = format!("{{bar:30}} {{bytes}} of {{total_bytes}}, {rate}, {{eta}} left");
            styled(ProgressBar::new(total), &template)
        }
        None => styled(ProgressBar::new_spinner(), &format!("{{spinner}} {{bytes}}, {rate}")),
    }
}

/// Template of the speed in bytes.
pub(super) const BYTES_PER_SECOND: &str = "{bytes_per_sec}";

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
