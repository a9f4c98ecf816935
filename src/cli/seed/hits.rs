//! Page views of the demo's four sites: three months of them, and some more as long as the demo runs.

use docgate_demo::random::Random;
use mongodb::bson::DateTime;
use serde_json::json;

use super::{Steps, client::someone, keep_acting};
use crate::{
    app::App,
    cli::failure::Failure,
    domains::{
        hits::operations::{PageHits, count},
        times::{HOUR, MINUTE},
    },
    graphql::requester::Role,
};

/// The sites with their pages, the most viewed ones first.
const SITES: [(&str, &[&str]); 4] = [
    (
        "shop.example",
        &[
            "/",
            "/music/jazz",
            "/search",
            "/music",
            "/films",
            "/cart",
            "/books",
            "/music/rock",
            "/films/drama",
            "/books/science",
            "/orders",
            "/checkout",
            "/help/shipping",
            "/about",
        ],
    ),
    (
        "blog.example",
        &[
            "/",
            "/new-arrivals",
            "/interviews/blue-lantern",
            "/lists/ten-debuts",
            "/reviews",
            "/behind-the-counter",
            "/lists/films-for-rain",
            "/archive",
            "/authors",
            "/feed",
            "/about",
        ],
    ),
    (
        "docs.example",
        &[
            "/",
            "/start",
            "/guide/queries",
            "/guide/mutations",
            "/guide/subscriptions",
            "/reference/errors",
            "/reference/limits",
            "/guide/paging",
            "/reference/roles",
            "/guide/uploads",
            "/reference/scalars",
            "/changelog",
            "/search",
        ],
    ),
    (
        "play.example",
        &[
            "/",
            "/lobby",
            "/world/forest",
            "/world/harbour",
            "/characters",
            "/market",
            "/rankings",
            "/guilds",
            "/world/mines",
            "/help",
            "/rules",
        ],
    ),
];

/// Number of days before today.
const DAYS: i64 = 92;
/// Hours before now whose page views are spread over all minutes.
const RECENT: i64 = 2;
/// Share of the page views of each hour in UTC, in percent of those of the busiest one.
const CURVE: [i64; 24] =
    [14, 9, 6, 5, 6, 10, 20, 36, 52, 60, 64, 66, 70, 66, 62, 62, 66, 74, 88, 100, 96, 78, 50, 28];
/// Pause between two page views while the demo runs, in milliseconds.
const PAUSE: (i64, i64) = (300, 1_500);

const RECORD: &str = "mutation($hits: [HitInput!]!) { recordHits(input: { hits: $hits }) {
    __typename ... on UserError { code message } } }";

/// Counts the page views up to now.
pub(super) async fn create(app: &App, steps: &Steps) -> Result<(), Failure> {
    let bar = steps.begin("pages in reports", SITES.iter().map(|(_, pages)| pages.len()).sum());
    let now = app.clock().timestamp_millis();
    let mut random = Random::new(14);
    for (site, pages) in SITES {
        for (rank, page) in (1..).zip(pages) {
            let counted = views_until(&mut random, now, rank).into_iter().map(|(moment, views)| {
                PageHits::new(site, page, DateTime::from_millis(moment), views)
            });
            let hits = counted.collect::<Result<Vec<_>, _>>()?;
            count(app, hits).await?;
            bar.inc(1);
        }
    }
    bar.finish();
    Ok(())
}

/// Times of the page with this rank up to now, with the number of its views.
fn views_until(random: &mut Random, now: i64, rank: i64) -> Vec<(i64, i64)> {
    let mut all = Vec::new();
    let mut hour = now - now % (24 * HOUR) - DAYS * 24 * HOUR;
    while hour < now {
        let views = views(random, hour, rank);
        let is_recent = hour > now - (RECENT + 1) * HOUR;
        let moments = if is_recent { 60 } else { 2 };
        for _ in 0..moments {
            let some = random.between(views / moments, (views + moments) / moments);
            let moment = hour + random.between(0, 59) * MINUTE;
            if some > 0 && moment < now {
                all.push((moment, some));
            }
        }
        hour += HOUR;
    }
    all
}

/// Page views within an hour of the page with this rank. There are fewer on weekends, and more from month to month.
fn views(random: &mut Random, hour: i64, rank: i64) -> i64 {
    let (day, of_day) = (hour / (24 * HOUR), hour / HOUR % 24);
    let curve = usize::try_from(of_day).ok().and_then(|hour| CURVE.get(hour)).copied().unwrap_or(0);
    // The first day of 1970 was a Thursday.
    let weekday = if matches!((day + 3) % 7, 5 | 6) { 70 } else { 100 };
    let growth = 80 + day % 400 / 10;
    let expected = 120 * curve * weekday * growth / rank / 1_000_000;
    random.between(expected * 3 / 4, expected * 5 / 4 + 1)
}

/// Counts a few page views now and then. It never ends; dropping it ends it.
pub(super) async fn view(app: &App) {
    let service = someone("sites", &[Role::Service]);
    keep_acting(app, PAUSE, async |client, random| {
        let (site, pages) = random.choose(&SITES);
        let hits: Vec<_> = (0..random.between(1, 4))
            .map(|_| json!({ "site": site, "page": random.favour(pages) }))
            .collect();
        client.execute(&service, RECORD, json!({ "hits": hits })).await.map(drop)
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn four_sites_are_viewed_on_each_day_of_three_months() {
        let sites: HashSet<_> = SITES.iter().map(|(site, _)| site).collect();
        assert_eq!(sites.len(), 4);
        let now = 20_000 * 24 * HOUR + 13 * HOUR + 7 * MINUTE;
        for rank in [1, 14] {
            let viewed = views_until(&mut Random::new(14), now, rank);
            assert!(viewed.iter().all(|(moment, views)| *moment < now && *views > 0));
            let days: HashSet<_> = viewed.iter().map(|(moment, _)| moment / (24 * HOUR)).collect();
            // Three months are 89 to 92 days.
            assert_eq!(days, (20_000 - DAYS..=20_000).collect());
            assert!(days.len() > 92);
        }
    }
}
