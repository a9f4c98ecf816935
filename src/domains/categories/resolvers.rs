//! Resolvers: they translate between GraphQL and the operations of the category tree.

use async_graphql::{Context, Object, Result, connection::Connection};

use super::operations;
use crate::{
    engine::caching::cache_control,
    graphql::{
        app,
        declared::mutations,
        page::paging,
        requester::{Role, Who},
    },
};

/// Query fields.
#[derive(Default)]
pub struct CategoriesQuery;

#[Object]
impl CategoriesQuery {
    /// A category with its breadcrumbs. Null if there is none.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    async fn category(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id or path of the category.")] by: CategoryBy,
    ) -> Result<Option<Category>> {
        Ok(operations::category(app(context), by).await?.map(Category))
    }

    /// Direct children of a category, sorted by slug, as for a menu.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    async fn categories(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Path of the parent category; `/` for the roots.", default = "/")]
        parent_path: String,
    ) -> Result<Connection<String, CategoryLink>> {
        Ok(operations::menu(app(context), &parent_path, paging(context)?).await?)
    }

    /// All descendants of a category, sorted by path.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    async fn category_subtree(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Path of the category whose descendants are listed; `/` for the whole tree."
        )]
        path: String,
        #[graphql(
            desc = "Whether the category at `path` is listed too; it then comes first.",
            default = false
        )]
        include_self: bool,
    ) -> Result<Connection<String, Category>> {
        Ok(operations::subtree(app(context), &path, include_self, paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct CategoriesMutation;

    /// Creates a category, as a root or below a parent.
    ///
    /// Who: merchant.
    create_category(CreateCategoryInput) -> CreateCategoryResult for Who::Role(Role::Merchant);

    /// Changes the name of a category in one of its languages. The new name is copied to all descendants and
    /// products. The answer is sent when that is complete, or after a few seconds if there are very many; the
    /// remaining copies then follow.
    ///
    /// Who: merchant.
    rename_category(RenameCategoryInput) -> RenameCategoryResult for Who::Role(Role::Merchant);

    /// Changes the slug of a category, and with it the paths of all descendants. The new paths are copied to
    /// all descendants and products. The answer is sent when that is complete, or after a few seconds if
    /// there are very many; the remaining copies then follow.
    ///
    /// Who: merchant.
    change_category_slug(ChangeCategorySlugInput) -> ChangeCategorySlugResult
        for Who::Role(Role::Merchant);

    /// Moves a category with all its descendants below another parent. The new paths are copied to all
    /// descendants and products. The answer is sent when that is complete, or after a few seconds if there
    /// are very many; the remaining copies then follow.
    ///
    /// Who: merchant.
    move_category(MoveCategoryInput) -> MoveCategoryResult for Who::Role(Role::Merchant);

    /// Deletes a category. It is refused with `InUse` while there are categories below it or products in it.
    ///
    /// Who: merchant.
    delete_category(DeleteCategoryInput) -> DeleteCategoryResult for Who::Role(Role::Merchant);

    /// Adds a name in another language to a category. It is copied to all descendants and products as with
    /// `renameCategory`.
    ///
    /// Who: merchant.
    add_translation(AddTranslationInput) -> AddTranslationResult for Who::Role(Role::Merchant);

    /// Removes the name of a category in one language. The last name can't be removed. Repeatable: a name
    /// that doesn't exist counts as removed. The change is copied to all descendants and products as with
    /// `renameCategory`.
    ///
    /// Who: merchant.
    remove_translation(RemoveTranslationInput) -> RemoveTranslationResult
        for Who::Role(Role::Merchant);
}
