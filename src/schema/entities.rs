//! Apollo Federation 2: the fields by which a federation gateway resolves entities by their representations.
//! <https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec>
//!
//! `_entities` shows exactly what `node` shows to the same caller. An invalid representation fails alone: the
//! other ones are answered.

use std::sync::Arc;

use async_graphql::{
    Any, Context, Error as FieldError, ID, Object, OutputType, Result, ScalarType, SimpleObject,
    Union, Value,
};
use futures_util::future::join_all;

use super::{
    nodes::{Node, find},
    subgraph::{self, ENTITIES, PRODUCT},
};
use crate::{
    app::App,
    domains::{
        self,
        assets::types::Asset,
        carts::types::Cart,
        catalog::types::{Album, Book, Film, GenericProduct},
        categories::{
            self,
            types::{Category, CategoryBy},
        },
        content::types::{Blog, BlogEntry, Folder, Gallery, Page},
        orders::types::Order,
        people::types::Person,
        transfers::types::{Account, Transfer},
    },
    error::Error,
    graphql::{app, input, node_id::NodeKind, requester, requester::Requester},
};

/// Maximum number of representations of one `_entities` field.
const MOST: usize = 100;

/// An entity, which other subgraphs can refer to.
#[derive(Union)]
#[graphql(name = "_Entity")]
pub enum Entity {
    Account(Account),
    Album(Album),
    Asset(Asset),
    Blog(Blog),
    BlogEntry(BlogEntry),
    Book(Book),
    Cart(Cart),
    Category(Category),
    Film(Film),
    Folder(Folder),
    Gallery(Gallery),
    GenericProduct(GenericProduct),
    Order(Order),
    Page(Page),
    Person(Person),
    Transfer(Transfer),
}

impl From<Node> for Entity {
    fn from(node: Node) -> Self {
        match node {
            Node::Account(account) => Self::Account(account),
            Node::Album(album) => Self::Album(album),
            Node::Asset(asset) => Self::Asset(asset),
            Node::Blog(blog) => Self::Blog(blog),
            Node::BlogEntry(entry) => Self::BlogEntry(entry),
            Node::Book(book) => Self::Book(book),
            Node::Cart(cart) => Self::Cart(cart),
            Node::Category(category) => Self::Category(category),
            Node::Film(film) => Self::Film(film),
            Node::Folder(folder) => Self::Folder(folder),
            Node::Gallery(gallery) => Self::Gallery(gallery),
            Node::GenericProduct(generic) => Self::GenericProduct(generic),
            Node::Order(order) => Self::Order(order),
            Node::Page(page) => Self::Page(page),
            Node::Person(person) => Self::Person(person),
            Node::Transfer(transfer) => Self::Transfer(transfer),
        }
    }
}

/// This gateway as a subgraph of a composed graph.
#[derive(SimpleObject)]
#[graphql(name = "_Service")]
pub struct Service {
    /// Schema of this gateway with the keys of its entities, in the schema definition language.
    sdl: Arc<str>,
}

/// Query fields.
#[derive(Default)]
pub struct EntitiesQuery;

#[Object]
impl EntitiesQuery {
    /// This gateway as a subgraph of a composed graph.
    ///
    /// Who: everyone.
    #[graphql(name = "_service")]
    async fn service(&self, context: &Context<'_>) -> Service {
        Service { sdl: subgraph::sdl(app(context).config()) }
    }

    /// Entities for up to 100 representations, in the order of `representations`. An element is null if the
    /// entity doesn't exist or isn't visible to the caller.
    ///
    /// Who: everyone.
    #[graphql(name = "_entities")]
    async fn entities(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Each representation has a `__typename` and a key of that type. If it has several keys, `id` is used."
        )]
        representations: Vec<Any>,
    ) -> Result<Vec<Option<Result<Entity>>>> {
        input::at_most("representations", &representations, MOST).map_err(Error::from)?;
        let (app, requester) = (app(context), requester(context));
        let all = representations.iter().map(|Any(representation)| representation).enumerate();
        let one = |(place, representation)| async move {
            let found = find_entity(app, requester, place, representation).await;
            found.map_err(FieldError::from).transpose()
        };
        Ok(join_all(all.map(one)).await)
    }
}

/// Resolves the representation at this position.
async fn find_entity(
    app: &App,
    requester: &Requester,
    place: usize,
    representation: &Value,
) -> Result<Option<Entity>, Error> {
    let field = |name: &str| format!("representations.{place}.{name}");
    let given = |name: &str| match representation {
        Value::Object(fields) => fields.get(name),
        _ => None,
    };
    let typename = match given("__typename") {
        Some(Value::String(typename)) => typename.as_str(),
        _ => "",
    };
    let Some((name, kind, keys)) = ENTITIES.iter().find(|(name, ..)| *name == typename) else {
        return Err(Error::bad_input(field("__typename"), "isn't the name of an entity"));
    };
    let Some((key, value)) = keys.iter().find_map(|key| Some((*key, given(key)?))) else {
        let reason = format!("has no key of {name}: {}", keys.join(" or "));
        return Err(Error::bad_input(format!("representations.{place}"), reason));
    };
    let field = field(key);
    let Ok(value) = ID::parse(value.clone()) else {
        return Err(Error::bad_input(field, "isn't a text"));
    };
    let found = match key {
        "sku" => find(app, requester, &NodeKind::Product.id(&value)).await?,
        "path" if domains::has_nodes(app.config(), *kind) => {
            let found = categories::operations::category(app, CategoryBy::Path(value.0)).await;
            found.map_err(|error| at(field, error))?.map(|category| Category(category).into())
        }
        _ if input::id(*kind, &value).is_ok() => find(app, requester, &value).await?,
        // No entity of this type can have this id.
        _ => None,
    };
    let found = found.map(Entity::from);
    // The id may belong to another type, such as a film that is requested as a book.
    Ok(found.filter(|found| [PRODUCT, &found.introspection_type_name()].contains(name)))
}

/// The same error with the field as the caller wrote it.
fn at(field: String, error: Error) -> Error {
    match error {
        Error::BadInput { reason, .. } => Error::bad_input(field, reason),
        error => error,
    }
}
