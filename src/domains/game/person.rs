//! The personal data in the collections of this room. An erasure also deletes the person's characters.

use super::{operations::delete_character, types::DeleteCharacterInput};
use crate::{
    domains::persons::{self, Erasing},
    graphql::prelude::*,
    mongo::personal::{Field, Find, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "characters",
        Find::Walk,
        &[
            Field::ends("owner", "`deleteCharacter`: things and gold stay at the place"),
            Field::replaces("room.players[].by"),
        ],
    )
    // Players see the characters of others, and not whose they are.
    .without(&["room.players[].by"]),
    Personal::of("places", Find::Walk, &[Field::replaces("players[].by")]),
    Personal::nothing("items", "the catalogue of things"),
    Personal::nothing("moves", "ids of characters and places"),
];

/// Deletes the person's characters. Their things and their gold stay where they are.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    let requester = erasing.requester.clone();
    for id in persons::ids(app, "characters", "owner", &erasing.subject).await? {
        let cx = Cx { app, requester: &requester };
        let input = DeleteCharacterInput { character_id: NodeKind::CHARACTER.id(&id) };
        match delete_character(cx, input).await {
            Ok(_) => erasing.ends("characters"),
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Refused(_)) => {
                erasing.waits.push("a character can't leave its place now".to_owned());
            }
        }
    }
    Ok(())
}
