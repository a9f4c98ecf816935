//! Checks of the settings for assets.

use std::time::Duration;

use crate::{config::Config, domains::room::unmet};

/// Maximum number of widths, and maximum width in pixels.
const WIDTHS: usize = 32;
const WIDEST: u32 = 16_384;

/// Faults of the settings, each as a sentence.
pub(super) fn faults(config: &Config) -> Vec<String> {
    let shortest = Duration::from_millis(config.receive_millis) * 2 + config.grace_period();
    let stall = config.asset_stall_seconds;
    unmet([
        (
            (1..=1 << 40).contains(&config.asset_bytes)
                && (1..=1_000).contains(&config.asset_files)
                && config.max_transfers > 0,
            "asset_bytes must be between 1 and 2^40, asset_files between 1 and 1000, and max_transfers above zero",
        ),
        (
            config.asset_types.iter().all(|of| is_range(of)),
            "asset_types must be media types such as image/png, image/* or */*",
        ),
        (
            config.asset_widths.len() <= WIDTHS
                && config.asset_widths.iter().all(|width| (1..=WIDEST).contains(width)),
            &format!("asset_widths must be at most {WIDTHS} widths between 1 and {WIDEST}"),
        ),
        (
            (1..=1 << 30).contains(&config.asset_pixels)
                && config.max_resizes > 0
                && (1..=64).contains(&config.resizes_at_once),
            "asset_pixels must be between 1 and 2^30, max_resizes above zero, and resizes_at_once between 1 and 64",
        ),
        (
            Duration::from_secs(stall) > shortest,
            &format!(
                "asset_stall_seconds is {stall}, which must be more than {} seconds: 2 × receive_millis + \
                 flow_run_millis + flow_command_millis + flow_skew_millis, divided by 1000",
                shortest.as_secs_f64()
            ),
        ),
        (
            (stall..=7 * 86_400).contains(&config.asset_transfer_seconds),
            "asset_transfer_seconds must be between asset_stall_seconds and a week",
        ),
    ])
}

/// Whether a text is a media type, or a range of media types: both parts are there, and only `*/*` has all kinds.
fn is_range(text: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "!#$&-^_.+*".contains(letter);
    let is_part = |part: &str| !part.is_empty() && part.chars().all(fits);
    text.split_once('/').is_some_and(|(kind, below)| {
        is_part(kind) && is_part(below) && (!kind.contains('*') || text == "*/*")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_ranges_have_both_parts() {
        for sound in ["*/*", "image/*", "image/svg+xml", "application/vnd.ms-excel", "x/y"] {
            assert!(is_range(sound), "{sound}");
        }
        for other in ["", "text", "image/", "/png", "*/png", "*", "a/b/c", "image/ png", "a/b;c=d"]
        {
            assert!(!is_range(other), "{other}");
        }
    }
}
