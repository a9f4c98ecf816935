//! Connection metrics, from the events of the driver's pool.
//! <https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/connection-monitoring-and-pooling.md>

use mongodb::event::{
    EventHandler,
    cmap::{CmapEvent, ConnectionClosedReason},
};

use crate::metrics::database::Pool;

/// Returns a handler that counts the connection events of one client.
pub(super) fn handler(pool: Pool) -> EventHandler<CmapEvent> {
    EventHandler::callback(move |event| record(&pool, &event))
}

fn record(pool: &Pool, event: &CmapEvent) {
    match event {
        CmapEvent::ConnectionCreated(_) => {
            pool.created.inc();
            pool.open.inc();
        }
        CmapEvent::ConnectionClosed(closed) => {
            pool.open.dec();
            pool.closed(reason(&closed.reason)).inc();
        }
        CmapEvent::ConnectionCheckedOut(checked_out) => {
            pool.in_use.inc();
            pool.wait.time(checked_out.duration);
        }
        CmapEvent::ConnectionCheckedIn(_) => {
            pool.in_use.dec();
        }
        CmapEvent::ConnectionCheckoutFailed(_) => {
            pool.failures.inc();
        }
        CmapEvent::PoolCleared(_) => {
            pool.cleared.inc();
        }
        _ => {}
    }
}

fn reason(reason: &ConnectionClosedReason) -> &'static str {
    match reason {
        ConnectionClosedReason::Stale => "stale",
        ConnectionClosedReason::Idle => "idle",
        ConnectionClosedReason::Error => "error",
        ConnectionClosedReason::Dropped => "dropped",
        ConnectionClosedReason::PoolClosed => "pool_closed",
        _ => "other",
    }
}
