//! Finishes or undoes what was cut: checkouts, raised lines, what orders owe; and retires the marks
//! of what they gave.

use mongodb::bson::DateTime;

use super::operations;
use crate::{
    app::App,
    domains::{carts, transfers},
    error::Error,
};

/// Things of one kind per pass.
const BATCH: i64 = 100;

/// One pass; how many flows it finished.
///
/// # Errors
/// The first trouble that there was; everything else was still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now();
    let quiet = DateTime::from_millis(now.timestamp_millis() - app.bounds().quiet_millis());
    let mut pass = Pass::default();
    for cart in carts::operations::checkout::overdue(app, now, BATCH).await? {
        pass.note(finish_checkout(app, &cart.id).await);
    }
    for (order, raises) in operations::list_overdue_raises(app, now, BATCH).await? {
        for raise in raises {
            pass.note(operations::undo_raise(app, &order, &raise).await.map(|()| true));
        }
    }
    for order in operations::list_owing(app, quiet, BATCH).await? {
        pass.note(operations::settle(app, &order.id, quiet).await);
    }
    for id in transfers::operations::open_authorisations(app, quiet, BATCH).await? {
        pass.note(void_if_nobodys(app, &id).await);
    }
    pass.end()
}

/// What became of a pass so far: trouble with one thing doesn't keep the others waiting.
#[derive(Default)]
struct Pass {
    finished: u64,
    failed: Option<Error>,
}

impl Pass {
    fn note(&mut self, outcome: Result<bool, Error>) {
        match outcome {
            Ok(finished) => self.finished += u64::from(finished),
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }

    fn end(self) -> Result<u64, Error> {
        self.failed.map_or(Ok(self.finished), Err)
    }
}

/// Finishes the checkout of a cart, in a run of its own.
async fn finish_checkout(app: &App, cart: &str) -> Result<bool, Error> {
    let (run, cart) = carts::operations::checkout::open(app, cart).await?;
    let overdue = cart.filter(|cart| {
        cart.checkout.as_ref().is_some_and(|checkout| {
            carts::operations::checkout::is_overdue(checkout, run.now(), app.bounds())
        })
    });
    let Some(cart) = overdue else { return Ok(false) };
    operations::recover(app, &cart, &run).await?;
    Ok(true)
}

/// Voids an authorisation on the ledger that belongs to no checkout and no raised line.
async fn void_if_nobodys(app: &App, id: &str) -> Result<bool, Error> {
    let of_a_checkout = carts::operations::checkout::of_checkout(app, id).await?.is_some();
    if of_a_checkout || operations::has_payment(app, id).await? {
        return Ok(false);
    }
    transfers::operations::void(app, id).await?;
    Ok(true)
}
