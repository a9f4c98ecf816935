//! Resolvers: they translate between GraphQL and the operations of the category tree.

use super::operations;
use crate::{
    domains::metadata::MetadataFilter, engine::caching::cache_control, graphql::prelude::*,
};

queries! {
    /// Query fields.
    pub struct CategoriesQuery;

    /// A category with its breadcrumbs. Null if there is none.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    category(
        context,
        #[graphql(desc = "Global id or path of the category.")] by: CategoryBy,
    ) with consistency: Option<Category> = operations::category(app(context), by).await?.map(Category::from),

    /// Direct children of a category, sorted by slug, as for a menu.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    categories(
        context,
        #[graphql(desc = "Path of the parent category; `/` for the roots.", default = "/")]
        parent_path: String,
    ) with consistency: Connection<CategoryLink> =
        operations::menu(app(context), &parent_path, paging(context)?).await?,

    /// All descendants of a category, sorted by path.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    category_subtree(
        context,
        #[graphql(desc = "Path of the category whose descendants are listed; `/` for the whole tree.")]
        path: String,
        #[graphql(desc = "Whether the category at `path` is listed too; it then comes first.", default = false)]
        include_self: bool,
    ) with consistency: Connection<Category> =
        operations::subtree(app(context), &path, include_self, paging(context)?).await?,

    /// Categories with a pair of metadata, wherever they are in the tree, in an order that doesn't change.
    ///
    /// Who: everyone.
    categories_with(
        context,
        #[graphql(desc = "Pair of metadata that the categories have and the caller may read.")]
        metadata: MetadataFilter,
    ) with consistency: Connection<Category> =
        operations::with_metadata(cx(context), metadata, paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct CategoriesMutation;

    /// Creates a category, as a root or below a parent.
    create_category(CreateCategoryInput) -> CreateCategoryResult by merchant;

    /// Changes the name of a category in one of its languages. The new name is copied to all descendants and
    /// products. The answer is sent when that is complete, or after a few seconds if there are very many; the
    /// remaining copies then follow.
    rename_category(RenameCategoryInput) -> RenameCategoryResult by merchant;

    /// Changes the slug of a category, and with it the paths of all descendants. The new paths are copied to
    /// all descendants and products. The answer is sent when that is complete, or after a few seconds if
    /// there are very many; the remaining copies then follow.
    change_category_slug(ChangeCategorySlugInput) -> ChangeCategorySlugResult by merchant;

    /// Moves a category with all its descendants below another parent. The new paths are copied to all
    /// descendants and products. The answer is sent when that is complete, or after a few seconds if there
    /// are very many; the remaining copies then follow.
    move_category(MoveCategoryInput) -> MoveCategoryResult by merchant;

    /// Deletes a category. It is refused with `InUse` while there are categories below it or products in it.
    delete_category(DeleteCategoryInput) -> DeleteCategoryResult by merchant;

    /// Adds a name in another language to a category. It is copied to all descendants and products as with
    /// `renameCategory`.
    add_translation(AddTranslationInput) -> AddTranslationResult by merchant;

    /// Removes the name of a category in one language. The last name can't be removed. Repeatable: a name
    /// that doesn't exist counts as removed. The change is copied to all descendants and products as with
    /// `renameCategory`.
    remove_translation(RemoveTranslationInput) -> RemoveTranslationResult by merchant;
}
