//! The order in which the ads of a zone are tried.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::zones::Zone;

/// An ad of a zone with its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranked {
    /// Position of the ad in its zone.
    pub(super) position: usize,
    /// `ecpm · ln(1.1 + matching keywords)`.
    pub(super) score: f64,
    /// Decides between ads with the same score: the lower one comes first.
    tie: u64,
}

/// The greater one comes first.
impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.tie.cmp(&self.tie))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// The ads of a zone by falling score. Most callers take the first few of them, so the others aren't sorted.
pub(super) struct Ranking(BinaryHeap<Ranked>);

impl Iterator for Ranking {
    type Item = Ranked;

    fn next(&mut self) -> Option<Ranked> {
        self.0.pop()
    }
}

/// The ads of a zone by falling score. The order of ads with the same score follows from `seed`.
pub(super) fn ranked(zone: &Zone, keywords: &[String], seed: u64) -> Ranking {
    let ads = &zone.document.ads;
    let mut matching = vec![0_u8; ads.len()];
    for position in keywords.iter().filter_map(|keyword| zone.by_keyword.get(keyword)).flatten() {
        if let Some(count) = matching.get_mut(*position) {
            *count = count.saturating_add(1);
        }
    }
    let unmatched = weight(0);
    let scored = ads.iter().zip(matching).enumerate().map(|(position, (ad, matching))| {
        let weight = if matching == 0 { unmatched } else { weight(matching) };
        #[expect(clippy::cast_precision_loss, reason = "a rank needs no more than a double has")]
        let score = ad.ecpm as f64 * weight;
        Ranked { position, score, tie: mixed(seed.wrapping_add(position as u64)) }
    });
    Ranking(scored.collect())
}

/// What the eCPM of an ad with this many matching keywords is multiplied by.
fn weight(matching: u8) -> f64 {
    (1.1 + f64::from(matching)).ln()
}

/// A number that looks random, from another one (`SplitMix64`, Steele, Lea and Flood, 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
