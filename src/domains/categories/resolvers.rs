//! Resolvers: they translate between GraphQL and the operations of the category tree.

use async_graphql::{Context, Object, Result, connection::Connection};

use super::{
    operations,
    types::{
        AddTranslationInput, AddTranslationResult, Category, CategoryBy, CategoryLink,
        ChangeCategorySlugInput, ChangeCategorySlugResult, CreateCategoryInput,
        CreateCategoryResult, DeleteCategoryInput, DeleteCategoryResult, MoveCategoryInput,
        MoveCategoryResult, RemoveTranslationInput, RemoveTranslationResult, RenameCategoryInput,
        RenameCategoryResult,
    },
};
use crate::{
    engine::caching::cache_control,
    graphql::{
        app,
        cx::cx,
        refusals::answer,
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
        #[graphql(desc = "Key of the category.")] by: CategoryBy,
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
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the previous page. Default: the first page.")]
        after: Option<String>,
    ) -> Result<Connection<String, CategoryLink>> {
        Ok(operations::menu(app(context), &parent_path, first, after.as_deref()).await?)
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
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the previous page. Default: the first page.")]
        after: Option<String>,
    ) -> Result<Connection<String, Category>> {
        let after = after.as_deref();
        Ok(operations::subtree(app(context), &path, include_self, first, after).await?)
    }
}

/// Mutation fields.
#[derive(Default)]
pub struct CategoriesMutation;

#[Object]
impl CategoriesMutation {
    /// Creates a category, as a root or below a parent.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn create_category(
        &self,
        context: &Context<'_>,
        input: CreateCategoryInput,
    ) -> Result<CreateCategoryResult> {
        answer(operations::create_category(cx(context), input).await)
    }

    /// Changes the name of a category in one of its languages. The new name is copied to all descendants and
    /// products. The answer is sent when that is complete, or after a few seconds if there are very many; the
    /// remaining copies then follow.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn rename_category(
        &self,
        context: &Context<'_>,
        input: RenameCategoryInput,
    ) -> Result<RenameCategoryResult> {
        answer(operations::rename_category(cx(context), input).await)
    }

    /// Changes the slug of a category, and with it the paths of all descendants. The new paths are copied to
    /// all descendants and products. The answer is sent when that is complete, or after a few seconds if
    /// there are very many; the remaining copies then follow.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn change_category_slug(
        &self,
        context: &Context<'_>,
        input: ChangeCategorySlugInput,
    ) -> Result<ChangeCategorySlugResult> {
        answer(operations::change_category_slug(cx(context), input).await)
    }

    /// Moves a category with all its descendants below another parent. The new paths are copied to all
    /// descendants and products. The answer is sent when that is complete, or after a few seconds if there
    /// are very many; the remaining copies then follow.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn move_category(
        &self,
        context: &Context<'_>,
        input: MoveCategoryInput,
    ) -> Result<MoveCategoryResult> {
        answer(operations::move_category(cx(context), input).await)
    }

    /// Deletes a category. It is refused with `InUse` while there are categories below it or products in it.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn delete_category(
        &self,
        context: &Context<'_>,
        input: DeleteCategoryInput,
    ) -> Result<DeleteCategoryResult> {
        answer(operations::delete_category(cx(context), input).await)
    }

    /// Adds a name in another language to a category. It is copied to all descendants and products as with
    /// `renameCategory`.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn add_translation(
        &self,
        context: &Context<'_>,
        input: AddTranslationInput,
    ) -> Result<AddTranslationResult> {
        answer(operations::add_translation(cx(context), input).await)
    }

    /// Removes the name of a category in one language. The last name can't be removed. Repeatable: a name
    /// that doesn't exist counts as removed. The change is copied to all descendants and products as with
    /// `renameCategory`.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn remove_translation(
        &self,
        context: &Context<'_>,
        input: RemoveTranslationInput,
    ) -> Result<RemoveTranslationResult> {
        answer(operations::remove_translation(cx(context), input).await)
    }
}
