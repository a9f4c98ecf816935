//! Invariants of the category tree, for `docgate check`.

use std::collections::{BTreeMap, HashMap};

use super::documents::{CategorizedProduct, CategoryCopy, CategoryDocument, paths};
use crate::{domains::trees::line_to, graphql::prelude::*, invariants::Report};

/// Checks that every path, ancestor and copy in products follows from slugs, names and parents.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut tree = BTreeMap::new();
    let collect = |category: CategoryDocument| {
        tree.insert(category.id.clone(), category);
    };
    app.collection().for_each(collect).await?;

    report.rule("categories: paths and ancestors are what slugs, names and parents imply");
    let mut shown = HashMap::new();
    for category in tree.values() {
        match implied(&tree, category) {
            Ok(implied) => {
                let sound = category.path == implied.path
                    && category.parent_path == implied.parent_path
                    && category.ancestors == implied.ancestors
                    && !category.names.is_empty();
                if !sound {
                    report.broken(format!("{category:?}, implied is {implied:?}"));
                }
                shown.insert(category.id.as_str(), implied.copy());
            }
            Err(fault) => report.broken(fault),
        }
    }

    report.rule("categories: no two have the same path");
    let mut paths = HashMap::new();
    for (id, copy) in &shown {
        if let Some(other) = paths.insert(&copy.path, id) {
            report.broken(format!("{:?} is the path of {id:?} and of {other:?}", copy.path));
        }
    }

    report.rule("categories: the copies in products are what the tree implies");
    app.collection()
        .for_each(|product: CategorizedProduct| {
            for copy in &product.categories {
                let implied = shown.get(copy.id.as_str());
                if implied.is_none_or(|implied| !is_same(implied, copy)) {
                    let sku = &product.sku;
                    report.broken(format!("product {sku:?} has {copy:?}, implied is {implied:?}"));
                }
            }
        })
        .await
}

/// The category with the path and the ancestors that slugs, names and parents imply.
fn implied(
    tree: &BTreeMap<String, CategoryDocument>,
    category: &CategoryDocument,
) -> Result<CategoryDocument, String> {
    let line = line_to(tree, &category.id, |category| category.parent_id.as_deref())?;
    let mut ancestors: Vec<_> = line.into_iter().map(CategoryDocument::as_ancestor).collect();
    let path = paths(&ancestors).pop().unwrap_or_default();
    ancestors.pop();
    let parent_path = paths(&ancestors).pop().unwrap_or_else(|| TOP.to_owned());
    Ok(CategoryDocument { path, parent_path, ancestors, ..category.clone() })
}

/// Equal except for the version: a category's version may rise without a visible change.
fn is_same(implied: &CategoryCopy, copy: &CategoryCopy) -> bool {
    copy.cv <= implied.cv && CategoryCopy { cv: implied.cv, ..copy.clone() } == *implied
}
