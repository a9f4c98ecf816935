//! Creates many users with their circles at once. It may be repeated: what exists is left as it is.

use super::{
    documents::{EdgeDocument, Profile, UserDocument, edge_id},
    store::{edges, users},
};
use crate::{app::App, error::Error, mongo::Version};

/// Documents per command.
const BATCH: usize = 2_000;

/// A user to create.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Subject of the user's tokens.
    pub subject: String,
    /// Name for display.
    pub name: String,
    /// What the user says about themselves.
    pub about: String,
}

/// A user who is put into a circle of another one.
#[derive(Debug, Clone)]
pub struct NewMember {
    /// Subject of the user whose circle it is.
    pub by: String,
    /// Subject of the user who is put into it.
    pub of: String,
    /// Name of the circle.
    pub circle: String,
}

/// Creates these users, and then puts users into circles.
///
/// # Errors
/// `Unavailable` or `Internal`; some of them may have been created.
pub async fn import(app: &App, new: &[NewUser], members: &[NewMember]) -> Result<(), Error> {
    let at = app.clock();
    for some in new.chunks(BATCH) {
        let user = |NewUser { subject, name, about }: &NewUser| UserDocument {
            id: subject.clone(),
            profile: Profile { name: name.clone(), about: about.clone(), picture: None },
            version: 0,
            at,
            blocked: Vec::new(),
            celebrity_at: None,
            v: Version,
        };
        users(app).insert_many(some.iter().map(user).collect()).await?;
    }
    for some in members.chunks(BATCH) {
        let edge = |NewMember { by, of, circle }: &NewMember| EdgeDocument {
            id: edge_id(by, of),
            by: by.clone(),
            of: of.clone(),
            circles: vec![circle.clone()],
            at,
            v: Version,
        };
        edges(app).insert_many(some.iter().map(edge).collect()).await?;
    }
    Ok(())
}
