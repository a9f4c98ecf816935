//! Relay's object identification: any document by its global id.
//! <https://relay.dev/graphql/objectidentification.htm>

use async_graphql::{Context, ID, Object, Result};

use crate::{
    domains::nodes::{Node, find},
    error::Error,
    graphql::{cx::cx, input},
    join::try_join_all,
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
    /// exist or isn't visible to the caller.
    ///
    /// Who: everyone.
    async fn nodes(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global ids of the objects, at most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Node>>> {
        input::at_most("ids", &ids, MAX).map_err(Error::from)?;
        let cx = cx(context);
        Ok(try_join_all(ids.iter().map(|id| find(cx, id))).await?)
    }
}
