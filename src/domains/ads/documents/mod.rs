//! Stored documents of advertising. Amounts are in thousandths of the currency's minor unit: a bid of one minor unit for
//! a thousand impressions is one thousandth for each.

mod campaigns;
mod visits;
mod zones;

pub use campaigns::*;
pub use visits::*;
pub use zones::*;

use crate::mongo::prelude::*;

/// Number of thousandths in a minor unit.
pub(super) const THOUSANDTHS: i64 = 1_000;
/// Maximum number of impressions that a profile remembers. If caps need all of them, no further ad with a cap is served.
pub(super) const SEEN: i64 = 500;
/// Maximum number of marks of a campaign. Clicks and conversions beyond it are counted by the sweep.
pub(super) const MARKS: i64 = 500;

document! {
    /// What visitors see of an ad unit.
    pub struct Creative {
        /// Headline.
        pub headline: String,
        /// Text below it; may be empty.
        pub text: String,
        /// Address of a picture.
        pub image?: String,
    }

    /// A frequency cap: a visitor sees it at most so often within so many seconds.
    pub struct Cap {
        /// Number of impressions.
        pub count: i64,
        /// Length of the window in seconds.
        pub seconds: i64,
    }
}
