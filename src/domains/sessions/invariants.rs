//! Invariants of sessions, for `docgate check`.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    documents::{ABOVE, Level, RollupDocument, StatDocument},
    operations::{Period, calendar, settled},
    store,
};
use crate::{app::App, error::Result, invariants::Report};

/// Count, total, shortest and longest length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sum {
    count: i64,
    total: i64,
    shortest: i64,
    longest: i64,
}

impl Sum {
    fn of(stat: &StatDocument) -> Self {
        let StatDocument { count, total, shortest, longest, .. } = *stat;
        Self { count, total, shortest, longest }
    }

    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            total: self.total + other.total,
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
        }
    }
}

fn add(sums: &mut BTreeMap<Period, Sum>, period: Period, sum: Sum) {
    sums.entry(period).and_modify(|before| *before = before.and(sum)).or_insert(sum);
}

fn period(stat: &StatDocument) -> Period {
    (stat.id.user.clone(), stat.id.at.timestamp_millis())
}

/// Recounts each level from the one below, as far as it is rolled up.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let Some(rollup) = store::rollup(app).await? else { return Ok(()) };
    report.rule("sessions: an hour is the sum of its sessions");
    check_hours(app, &rollup, report).await?;
    for level in ABOVE {
        let name = level.name();
        report.rule(&format!("sessions: a {name} is the sum of the level below"));
        check_level(app, level, &rollup, report).await?;
    }
    Ok(())
}

/// An hour contains all sessions that are certainly rolled up, and no others than those that are stored.
async fn check_hours(app: &App, rollup: &RollupDocument, report: &mut Report) -> Result<()> {
    let (mut certain, mut all) = (BTreeMap::new(), BTreeMap::new());
    let until = settled(app, Some(rollup.upto));
    let kept_from = rollup.kept_from.timestamp_millis();
    store::for_each_session(app, |session| {
        let seconds = session.seconds;
        let sum = Sum { count: 1, total: seconds, shortest: seconds, longest: seconds };
        let hour = session.slot.hour.timestamp_millis();
        if hour < kept_from {
            return;
        }
        let period = (session.slot.user, hour);
        if session.arrived_at.is_some_and(|arrived| arrived < until) {
            add(&mut certain, period.clone(), sum);
        }
        add(&mut all, period, sum);
    })
    .await?;
    store::for_each(app, Level::Hour, |stat| {
        let (period, found) = (period(&stat), Sum::of(&stat));
        if period.1 < kept_from {
            return;
        }
        let least = certain.remove(&period);
        let fits = all.get(&period).is_some_and(|most| {
            let in_part =
                least.is_none_or(|least| least.count <= found.count && least.total <= found.total);
            let is_whole = least == Some(*most) && found != *most;
            in_part && !is_whole && found.count <= most.count && found.total <= most.total
        });
        if !fits {
            report.broken(format!("{:?}: {found:?}, of sessions {:?}", stat.id, all.get(&period)));
        }
    })
    .await?;
    for (period, sum) in certain {
        report.broken(format!("{period:?}: nothing, of sessions {sum:?}"));
    }
    Ok(())
}

/// A period is the sum of its parts, unless a run that isn't done has computed one of them.
async fn check_level(
    app: &App,
    level: Level,
    rollup: &RollupDocument,
    report: &mut Report,
) -> Result<()> {
    let calendar = calendar(app);
    let (mut sums, mut busy) = (BTreeMap::new(), BTreeSet::new());
    let below = level.below().unwrap_or(Level::Hour);
    store::for_each(app, below, |stat| {
        let (user, at) = period(&stat);
        let above = (user, calendar.start(level, at));
        if stat.fence > rollup.done {
            busy.insert(above.clone());
        }
        add(&mut sums, above, Sum::of(&stat));
    })
    .await?;
    store::for_each(app, level, |stat| {
        let (period, found) = (period(&stat), Sum::of(&stat));
        // Weeks of another first day were computed before the setting was changed.
        let is_own = calendar.start(level, period.1) == period.1;
        let sum = sums.remove(&period);
        if is_own && sum != Some(found) && !busy.contains(&period) {
            report.broken(format!("{:?}: {found:?}, of its parts {sum:?}", stat.id));
        }
    })
    .await?;
    for (period, sum) in sums.into_iter().filter(|(period, _)| !busy.contains(period)) {
        report.broken(format!("{period:?}: nothing, of its parts {sum:?}"));
    }
    Ok(())
}
