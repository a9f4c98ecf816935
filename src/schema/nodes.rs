//! Relay's object identification: any document by its global id.
//! <https://relay.dev/graphql/objectidentification.htm>

use async_graphql::{Context, Error as FieldError, ID, Object, Result};

use crate::{
    domains::nodes::{Node, find},
    error::Error,
    graphql::{cx::cx, input},
    join::join_all,
};

/// Maximum number of ids of one `nodes` field.
const MAX: usize = 100;

/// Query fields.
#[derive(Default)]
pub struct NodesQuery;

#[Object]
impl NodesQuery {
    /// An object by its global id. Null if it doesn't exist or isn't visible to the caller.
    ///
    /// Who: everyone.
    async fn node(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the object.")] id: ID,
    ) -> Result<Option<Node>> {
        Ok(find(cx(context), &id).await?)
    }

    /// Up to 100 objects by their global ids, in the order of `ids`. An element is null if the object doesn't
    /// exist or isn't visible to the caller, and null with an error if it can't be read.
    ///
    /// Who: everyone.
    async fn nodes(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global ids of the objects, at most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Result<Node>>>> {
        input::at_most("ids", &ids, MAX).map_err(Error::from)?;
        let cx = cx(context);
        let one = |id| async move { find(cx, id).await.map_err(FieldError::from).transpose() };
        Ok(join_all(ids.iter().map(one)).await)
    }
}
