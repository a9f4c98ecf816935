//! The personal data in the collections of this room. An erasure also releases the person's names.

use super::{operations::release, store::identities, types::ReleaseIdentityResult};
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

/// Releases the person's names.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    for id in persons::ids(app, "identities", "userId", &erasing.subject).await? {
        let Some(found) = identities(app).get_settled(&id).await? else { continue };
        match release::<ReleaseIdentityResult>(app, &found.name, &erasing.subject).await {
            Ok(_) => erasing.ends("names"),
            Err(Stop::Failed(error)) => return Err(error),
            // A change that reserved it isn't finished; the sweep ends it.
            Err(Stop::Refused(_)) => erasing.waits.push("a name is being changed".to_owned()),
        }
    }
    Ok(())
}
