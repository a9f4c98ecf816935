//! The personal data in the collections of this room. An erasure also releases the person's names.

use super::{
    operations::{end, release},
    store::identities,
    types::ReleaseIdentityResult,
};
use crate::{
    domains::persons::{self, Erasing},
    graphql::prelude::*,
    mongo::personal::{Field, Find, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] =
    &[Personal::of("identities", Find::Index("userId", "user"), &[Field::replaces("userId")])
        // It is released first. The sweep removes a name that was let go.
        .unless(&["releasedAt", "movedTo"], |name, _| {
            !name.contains_key("releasedAt") || name.contains_key("movedTo")
        })];

/// Why the release of a name has to wait.
const BEING_CHANGED: &str = "a name is being changed";

/// Releases the person's names.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    for id in persons::ids(app, "identities", "userId", &erasing.subject).await? {
        let Some(found) = identities(app).get_settled(&id).await? else { continue };
        // As long as the change that has reserved it may be decided, it can't be released. The sweep ends the change.
        if !end(app, &found).await? {
            erasing.waits.push(BEING_CHANGED.to_owned());
            continue;
        }
        match release::<ReleaseIdentityResult>(app, &found.name, &erasing.subject).await {
            Ok(_) => erasing.ends("names"),
            Err(Stop::Failed(error)) => return Err(error),
            // A change has reserved it meanwhile.
            Err(Stop::Refused(_)) => erasing.waits.push(BEING_CHANGED.to_owned()),
        }
    }
    Ok(())
}
