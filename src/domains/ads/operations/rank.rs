//! The order in which the ads of a zone are tried.

use super::zones::Zone;

/// An ad of a zone with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    /// Position of the ad in its zone.
    pub(super) position: usize,
    /// `ecpm · ln(1.1 + matching keywords)`.
    pub(super) score: f64,
}

/// The ads of a zone by falling score. The order of ads with the same score follows from `seed`.
pub(super) fn ranked(zone: &Zone, keywords: &[String], seed: u64) -> Vec<Ranked> {
    let ads = &zone.document.ads;
    let mut matching = vec![0_u8; ads.len()];
    for position in keywords.iter().filter_map(|keyword| zone.by_keyword.get(keyword)).flatten() {
        if let Some(count) = matching.get_mut(*position) {
            *count = count.saturating_add(1);
        }
    }
    let scored = ads.iter().zip(matching).enumerate().map(|(position, (ad, matching))| {
        let score = score(ad.ecpm, matching);
        (Ranked { position, score }, mixed(seed.wrapping_add(position as u64)))
    });
    let mut scored: Vec<_> = scored.collect();
    scored.sort_unstable_by(|(one, its), (other, others)| {
        other.score.total_cmp(&one.score).then(its.cmp(others))
    });
    scored.into_iter().map(|(ranked, _)| ranked).collect()
}

/// The score of an ad with this many matching keywords.
fn score(ecpm: i64, matching: u8) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rank needs no more than a double has")]
    let ecpm = ecpm as f64;
    ecpm * (1.1 + f64::from(matching)).ln()
}

/// A number that looks random, from another one (`SplitMix64`, Steele, Lea and Flood, 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
