//! What commands check before their work, so that they refuse it in a sentence.

use super::{failure::Failure, migrate};
use crate::{
    app::App,
    config::Config,
    domains::{self, ROOMS},
    mongo::indexes::{self, Declared, Step},
};

/// Checks that a room is switched on.
///
/// # Errors
/// It is switched off: exit code 2.
pub(super) fn room_is_on(config: &Config, room: &str) -> Result<(), Failure> {
    if domains::is_on(config, room) {
        return Ok(());
    }
    Err(Failure::usage(format!("the room {room} is switched off (rooms)")))
}

/// Checks that the database has any of docgate's collections, so that a mistyped name isn't taken for an empty shop.
///
/// # Errors
/// It has none: exit code 3. Or MongoDB doesn't answer.
pub(super) async fn database_is_in_use(app: &App) -> Result<(), Failure> {
    if !migrate::is_new(app).await? {
        return Ok(());
    }
    let database = &app.config().database;
    Err(Failure::trouble(format!("the database {database} has none of docgate's collections"))
        .with_hint("is its name right? `docgate indexes apply` prepares a new database"))
}

/// Checks that no index is missing of the collections of these rooms and of the rooms that they need. Reads that name an
/// index fail without it.
///
/// # Errors
/// One is missing: exit code 3. Or MongoDB doesn't answer.
pub(super) async fn indexes_exist(app: &App, rooms: &[&str]) -> Result<(), Failure> {
    let is_used = |name: &str| {
        let named = ROOMS.iter().filter(|room| rooms.contains(&room.name));
        rooms.contains(&name) || named.flat_map(|room| room.needs).any(|needed| *needed == name)
    };
    let used = ROOMS.iter().filter(|room| is_used(room.name));
    let declared: Vec<Declared> = used.flat_map(|room| room.collections()).collect();
    let plan = indexes::plan(app.placement(), &declared).await?;
    if plan.iter().all(|planned| planned.step != Step::Create) {
        return Ok(());
    }
    Err(Failure::trouble("indexes are missing: run `docgate indexes apply`"))
}
