//! Relay's object identification: any document by its global id.
//! <https://relay.dev/graphql/objectidentification.htm>

use async_graphql::{Context, ID, Interface, Object, Result};
use futures_util::{FutureExt, TryFutureExt, future::try_join_all};

use crate::{
    app::App,
    domains::{
        self,
        assets::{
            self, AssetDocument,
            types::{Asset, AssetBy},
        },
        carts::{self, types::Cart},
        catalog::{
            self,
            types::{Album, Book, Film, GenericProduct, Product},
        },
        categories::{
            self,
            types::{Category, CategoryBy},
        },
        comments::{
            self,
            types::{Comment, CommentBy},
        },
        content::{
            self,
            types::{Blog, BlogEntry, Content, Folder, Gallery, Page},
        },
        orders::{self, types::Order},
        people::{self, types::Person},
        transfers::{
            self,
            types::{Account, Transfer, TransferBy},
        },
    },
    error::Error,
    graphql::{
        any_node::{AnyNode, ReadNode},
        app,
        cx::Cx,
        input,
        node_id::{self, NodeKind},
        requester,
        requester::Requester,
    },
};

/// Maximum number of ids of one `nodes` field.
const MAX: usize = 100;

/// An object with a global id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Global id of the object."))]
pub enum Node {
    Account(Account),
    Album(Album),
    Asset(Asset),
    Blog(Blog),
    BlogEntry(BlogEntry),
    Book(Book),
    Cart(Cart),
    Category(Category),
    Comment(Comment),
    Film(Film),
    Folder(Folder),
    Gallery(Gallery),
    GenericProduct(GenericProduct),
    Order(Order),
    Page(Page),
    Person(Person),
    Transfer(Transfer),
}

impl From<Product> for Node {
    fn from(product: Product) -> Self {
        match product {
            Product::Album(album) => Self::Album(album),
            Product::Film(film) => Self::Film(film),
            Product::Book(book) => Self::Book(book),
            Product::GenericProduct(generic) => Self::GenericProduct(generic),
        }
    }
}

impl From<Content> for Node {
    fn from(content: Content) -> Self {
        match content {
            Content::Page(page) => Self::Page(page),
            // By its global id, a picture is an asset.
            Content::Photo(photo) => Self::Asset(AssetDocument::from(photo).into()),
            Content::BlogEntry(entry) => Self::BlogEntry(entry),
            Content::Folder(folder) => Self::Folder(folder),
            Content::Blog(blog) => Self::Blog(blog),
            Content::Gallery(gallery) => Self::Gallery(gallery),
        }
    }
}

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
        Ok(find(app(context), requester(context), &id).await?)
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
        let (app, requester) = (app(context), requester(context));
        Ok(try_join_all(ids.iter().map(|id| find(app, requester, id))).await?)
    }
}

/// The read of [`find`] for fields of rooms.
pub(super) const READ: ReadNode = ReadNode(|cx, id| {
    find(cx.app, cx.requester, id).map_ok(|found| found.map(AnyNode::of)).boxed()
});

/// Reads an object with the room's own operation, which checks whether it is visible to the caller. A text
/// that isn't a global id is treated as the id of an object that doesn't exist.
pub(super) async fn find(app: &App, requester: &Requester, id: &ID) -> Result<Option<Node>, Error> {
    let Some((kind, _)) = node_id::decode(id) else { return Ok(None) };
    if !domains::has_nodes(app.config(), kind) {
        return Ok(None);
    }
    Ok(match kind {
        NodeKind::Account => {
            let found = transfers::operations::account(Cx { app, requester }, id).await?;
            found.map(|account| Account::from(account).into())
        }
        NodeKind::Asset => {
            let by = AssetBy::Id(id.clone());
            let found = assets::operations::asset(Cx { app, requester }, &by).await?;
            found.map(|asset| Asset::from(asset).into())
        }
        NodeKind::Cart => {
            let found = carts::operations::cart(Cx { app, requester }, id).await?;
            found.map(|cart| Cart::from(cart).into())
        }
        NodeKind::Category => {
            let found = categories::operations::category(app, CategoryBy::Id(id.clone())).await?;
            found.map(|category| Category(category).into())
        }
        NodeKind::Comment => {
            let by = CommentBy::Id(id.clone());
            let found = comments::operations::comment(Cx { app, requester }, &by).await?;
            found.map(|comment| Comment::from(comment).into())
        }
        NodeKind::Content => {
            let Ok(key) = input::id(kind, id) else { return Ok(None) };
            let found = content::operations::by_id(app, requester, &key).await?;
            found.map(|shown| Content::from(shown).into())
        }
        NodeKind::Order => {
            let found = orders::operations::order(Cx { app, requester }, id).await?;
            found.map(|order| Order::from(order).into())
        }
        NodeKind::Person => {
            let found = people::operations::person(app, id).await?;
            found.map(|person| Person(person).into())
        }
        NodeKind::Product => {
            let Ok(key) = input::id(kind, id) else { return Ok(None) };
            let found = catalog::operations::product(app, &key).await?;
            found.map(|product| Product::of(product, None).into())
        }
        NodeKind::Transfer => {
            let by = TransferBy::Id(id.clone());
            let found = transfers::operations::transfer_status(Cx { app, requester }, by).await?;
            found.map(|transfer| Transfer::from(transfer).into())
        }
    })
}
