//! Ends what was cut: creations, deletions, fan-outs.

use mongodb::bson::DateTime;

use super::{
    operations::{Pass, settle},
    store,
};
use crate::{app::App, error::Error, mongo::Tally};

/// How many of a kind one sweep takes on.
const MOST: i64 = 100;

/// Ends what nothing touched for long; answers how much that was.
///
/// # Errors
/// `Unavailable` or `Internal`; what is left is tried again.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now().timestamp_millis();
    let before = DateTime::from_millis(now - app.bounds().quiet_millis());
    let done =
        [creations(app, before).await, deletions(app, before).await, fan_outs(app, before).await];
    done.into_iter().sum()
}

async fn creations(app: &App, before: DateTime) -> Result<u64, Error> {
    let cut = store::list_left_behind(app, "copying", before, MOST).await?;
    let mut tally = Tally::default();
    for category in cut {
        let id = category.id.clone();
        tally.add(&id, settle(app, category).await.map(|_| true));
    }
    tally.finished()
}

/// A cut deletion is taken back: its own removal can't come any more, and nobody was told that the
/// category is gone.
async fn deletions(app: &App, before: DateTime) -> Result<u64, Error> {
    let cut = store::list_left_behind(app, "deleting.at", before, MOST).await?;
    let mut tally = Tally::default();
    for category in cut {
        if let Some(mark) = category.deleting {
            let unmarked = store::unmark_deleting(app, &category.id, &mark.by).await.decided();
            tally.add(&category.id, unmarked.map(|_| true));
        }
    }
    tally.finished()
}

async fn fan_outs(app: &App, before: DateTime) -> Result<u64, Error> {
    let cut = store::list_left_behind(app, "outbox.at", before, MOST).await?;
    let mut tally = Tally::default();
    for category in cut {
        let gone_on = async {
            if let Some((mut pass, _)) = Pass::begin(app, &category.id).await? {
                pass.go_on(app, None).await?;
            }
            Ok(true)
        };
        tally.add(&category.id, gone_on.await);
    }
    tally.finished()
}
