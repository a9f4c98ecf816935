//! Invariants of the category tree, for `docgate check`.

use std::collections::HashMap;

use super::documents::{Ancestor, CategorizedProduct, CategoryCopy, CategoryDocument, TOP, paths};
use crate::{app::App, error::Error, invariants::Report};

/// Checks that every path, ancestor and copy in products follows from slugs, names and parents.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let mut tree = HashMap::new();
    let collect = |category: CategoryDocument| {
        tree.insert(category.id.clone(), category);
        Ok(())
    };
    app.collection().for_each(collect).await?;

    report.rule("categories: paths and ancestors are what slugs, names and parents imply");
    let mut shown = HashMap::new();
    for category in tree.values() {
        match implied(&tree, category) {
            Ok(copy) => {
                if let Some(fault) = fault_of(category, &tree, &copy) {
                    report.broken(fault);
                }
                shown.insert(category.id.as_str(), copy);
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
            Ok(())
        })
        .await
}

/// The categories from the root down to this one.
fn line(
    tree: &HashMap<String, CategoryDocument>,
    category: &CategoryDocument,
) -> Result<Vec<Ancestor>, String> {
    let mut line = Vec::new();
    let mut next = Some(category);
    while let Some(step) = next {
        if line.len() > tree.len() {
            return Err(format!("category {:?} is its own ancestor", category.id));
        }
        line.push(step.as_ancestor());
        next = match &step.parent_id {
            None => None,
            Some(parent) => Some(
                tree.get(parent)
                    .ok_or_else(|| format!("category {:?} lies below {parent:?}, gone", step.id))?,
            ),
        };
    }
    line.reverse();
    Ok(line)
}

/// The expected copy of the category in a product, whatever its version.
fn implied(
    tree: &HashMap<String, CategoryDocument>,
    category: &CategoryDocument,
) -> Result<CategoryCopy, String> {
    let within = paths(&line(tree, category)?);
    let above = within.len().checked_sub(2).and_then(|above| within.get(above));
    Ok(CategoryCopy {
        id: category.id.clone(),
        slug: category.slug.as_str().to_owned(),
        path: within.last().cloned().unwrap_or_default(),
        parent_path: above.cloned().unwrap_or_else(|| TOP.to_owned()),
        names: category.names.clone(),
        within,
        cv: category.cv,
    })
}

fn fault_of(
    category: &CategoryDocument,
    tree: &HashMap<String, CategoryDocument>,
    implied: &CategoryCopy,
) -> Option<String> {
    let mut above = line(tree, category).unwrap_or_default();
    above.pop();
    let sound = category.path == implied.path
        && category.parent_path == implied.parent_path
        && category.ancestors == above
        && !category.names.is_empty();
    (!sound).then(|| format!("{category:?}, implied is {implied:?} below {above:?}"))
}

/// Equal except for the version: a category's version may rise without a visible change.
fn is_same(implied: &CategoryCopy, copy: &CategoryCopy) -> bool {
    copy.cv <= implied.cv && CategoryCopy { cv: implied.cv, ..copy.clone() } == *implied
}
