//! Invariants of series, for `docgate check`.

use super::documents::BucketDocument;
use crate::{
    app::App,
    domains::times::{MINUTE, floor},
    error::Result,
    invariants::Report,
};

/// Checks that each bucket is consistent in itself.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    report.rule("series: the views of a minute are the sum of its seconds");
    let each = |BucketDocument { id, total, seconds, .. }| {
        let is_second = |second: &String| second.parse().is_ok_and(|second: u8| second < 60);
        let is_counted = seconds.iter().all(|(second, views)| is_second(second) && *views >= 0);
        let at = id.at.timestamp_millis();
        if !is_counted || total != seconds.values().sum::<i64>() || floor(at, MINUTE) != at {
            report.broken(format!("{id:?}: {total}, of seconds {seconds:?}"));
        }
    };
    app.collection().for_each(each).await
}
