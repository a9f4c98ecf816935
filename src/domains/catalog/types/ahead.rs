//! What the fields of a list of products read beside the products. It is read before the first field is resolved.
//!
//! The reads of the fields share commands in any case. But if each product waits for answers of its own, the fields of all products
//! are suspended, and the whole list is polled again for the answers of each command. Here one future waits for the stock of all
//! products, and one for their pictures. A list with a field that reads something else isn't read ahead: that read would have to
//! wait for these.

use std::sync::Arc;

use async_graphql::{
    Context,
    parser::types::{Field, Selection, SelectionSet},
};
use async_graphql_value::Value as Literal;
use mongodb::bson::Bson;

use super::{
    super::view::{ProductView, StoredProduct},
    Product, TotalCount,
    variants::goods,
};
use crate::{
    config::Consistency,
    domains::{
        images::{self, IMAGES, Pictures},
        inventory::operations::Levels,
    },
    graphql::{page::ConnectionWith, prelude::*},
    mongo::consistency::asked,
};

/// A page of products as a connection. Each product is found with its values of the sort keys.
pub async fn listed(
    context: &Context<'_>,
    (page, found): (Page, Vec<(Vec<Bson>, StoredProduct)>),
    locale: Option<&LocaleTag>,
    total: TotalCount,
) -> ConnectionWith<Product, TotalCount> {
    // One more was read, which only tells that the list goes on.
    let shown = found.iter().take(page.wanted() - 1);
    let shown: Vec<_> = shown.map(|(_, product)| product.get()).collect();
    let ahead = Ahead::of(context, &shown).await.map(Arc::new);
    let position = |(position, _): &(Vec<_>, _)| position.clone();
    let node = |(_, product)| Product::with(product, locale.cloned(), ahead.clone());
    page.connection_with(found, position, node, total)
}

/// What was read for all products of a list.
#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) levels: Option<Levels>,
    pub(super) pictures: Option<Pictures>,
}

impl Ahead {
    /// Reads what the fields of the page that is being resolved show of these products. `None` if its fields read it themselves.
    /// They also do so if it can't be read here, and then have the error.
    async fn of(context: &Context<'_>, products: &[&ProductView<'_>]) -> Option<Self> {
        let sets: Vec<_> = of_elements(&context.item.node.selection_set.node).collect();
        if !sets.iter().all(|set| reads_nothing_else(set)) {
            return None;
        }
        let selected = |name| sets.iter().flat_map(move |&set| named(set, name));
        let has_levels = selected("availability").next().is_some();
        let images: Option<Vec<usize>> = selected("images").map(images_of).collect();
        let images = images?.into_iter().max();
        if !has_levels && images.is_none() {
            return None;
        }
        let cx = cx(context);
        let levels = async {
            if !has_levels {
                return None;
            }
            let all = products.iter().filter_map(|product| goods(product).ok()).flatten();
            let skus = all.map(|(sku, _generation)| sku).collect();
            Levels::of(cx.app, skus).await.ok()
        };
        let pictures = async {
            let most = images?;
            let images = products.iter().filter_map(|product| product.images.get().ok());
            let images = images.flat_map(|images| images.into_iter().take(most));
            let ids = images.map(|image| image.asset_id).collect();
            images::pictures(cx, ids).await.ok().flatten()
        };
        // As the reads of the fields, which the argument `consistency` of the list doesn't apply to.
        let strong = Some(Consistency::Strong);
        let (levels, pictures) = asked(strong, async { tokio::join!(levels, pictures) }).await;
        Some(Self { levels, pictures })
    }
}

/// The selections on the elements of a page.
fn of_elements(page: &SelectionSet) -> impl Iterator<Item = &SelectionSet> {
    let of_edges = named(page, "edges").flat_map(|edges| named(&edges.selection_set.node, "node"));
    named(page, "nodes").chain(of_edges).map(|elements| &elements.selection_set.node)
}

/// The fields of this name, without those that only some objects have or that are selected under a condition.
fn named<'a>(set: &'a SelectionSet, name: &'static str) -> impl Iterator<Item = &'a Field> {
    set.items.iter().filter_map(move |selection| match &selection.node {
        Selection::Field(field) if is_named(&field.node, name) => Some(&field.node),
        _ => None,
    })
}

fn is_named(field: &Field, name: &str) -> bool {
    field.name.node == name && field.directives.is_empty()
}

/// Whether fields of a product read nothing but stock and pictures.
fn reads_nothing_else(set: &SelectionSet) -> bool {
    /// Objects that are parts of a product.
    const PARTS: [&str; 15] = [
        "categories",
        "contributors",
        "dimensions",
        "images",
        "list",
        "numbers",
        "options",
        "pricing",
        "properties",
        "rating",
        "retail",
        "savings",
        "shipping",
        "tracks",
        "translations",
    ];
    set.items.iter().all(|selection| match &selection.node {
        Selection::Field(field) => {
            let (name, below) = (field.node.name.node.as_str(), &field.node.selection_set.node);
            below.items.is_empty() || (PARTS.contains(&name) && reads_nothing_else(below))
        }
        Selection::InlineFragment(fragment) => {
            reads_nothing_else(&fragment.node.selection_set.node)
        }
        Selection::FragmentSpread(_) => false,
    })
}

/// How many images of each product the field `images` shows. `None` if a variable says it, or if the field is refused.
fn images_of(field: &Field) -> Option<usize> {
    match field.get_argument("first").map(|first| &first.node) {
        None => Some(IMAGES),
        Some(Literal::Number(first)) => {
            let first = usize::try_from(first.as_u64()?).ok()?;
            (1..=IMAGES).contains(&first).then_some(first)
        }
        Some(_) => None,
    }
}
