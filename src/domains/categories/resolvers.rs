//! Translates between GraphQL and the operations of the category tree.

use async_graphql::{Context, Object, Result, connection::Connection};

use super::{
    operations,
    operations::NewCategory,
    types::{
        AddTranslationInput, AddTranslationResult, Category, CategoryBy, CategoryLink,
        ChangeCategorySlugInput, ChangeCategorySlugResult, CreateCategoryInput,
        CreateCategoryResult, DeleteCategoryInput, DeleteCategoryResult, MoveCategoryInput,
        MoveCategoryResult, RemoveTranslationInput, RemoveTranslationResult, RenameCategoryInput,
        RenameCategoryResult,
    },
};
use crate::graphql::{
    app,
    caching::cache_control,
    refusals::answer,
    requester,
    requester::{Role, Who},
};

/// Reads.
#[derive(Default)]
pub struct CategoriesQuery;

#[Object]
impl CategoriesQuery {
    /// One category with its breadcrumbs; null where there is none.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    async fn category(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which.")] by: CategoryBy,
    ) -> Result<Option<Category>> {
        Ok(operations::category(app(context), by).await?.map(Category))
    }

    /// A menu: the categories right below a path, by slug.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    async fn categories(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Path of the category above them; `/` for the roots.", default = "/")]
        parent_path: String,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor of the last one that you have.")] after: Option<String>,
    ) -> Result<Connection<String, CategoryLink>> {
        Ok(operations::menu(app(context), &parent_path, first, after.as_deref()).await?)
    }

    /// All categories below a path, however deep, by path.
    ///
    /// Who: everyone.
    #[graphql(directive = cache_control::apply(120))]
    async fn category_subtree(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Path of the category above them; `/` for the whole tree.")] path: String,
        #[graphql(desc = "Whether the category at the path comes first.", default = false)]
        include_self: bool,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor of the last one that you have.")] after: Option<String>,
    ) -> Result<Connection<String, Category>> {
        let after = after.as_deref();
        Ok(operations::subtree(app(context), &path, include_self, first, after).await?)
    }
}

/// Writes.
#[derive(Default)]
pub struct CategoriesMutation;

#[Object]
impl CategoriesMutation {
    /// Creates a category as a root or below another.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn create_category(
        &self,
        context: &Context<'_>,
        input: CreateCategoryInput,
    ) -> Result<CreateCategoryResult> {
        let CreateCategoryInput { slug, names, parent, op_id } = input;
        let names = names.into_iter().map(|one| (one.locale, one.name)).collect();
        let new = NewCategory { slug, names, parent, op_id };
        let subject = requester(context).subject()?;
        Ok(answer(operations::create(app(context), subject, new).await)?)
    }

    /// Changes a category's name in one of its languages. The answer comes when the name has
    /// reached everything below the category and all products, or, where these are very many, after
    /// a few seconds; the rest then follows.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn rename_category(
        &self,
        context: &Context<'_>,
        input: RenameCategoryInput,
    ) -> Result<RenameCategoryResult> {
        let RenameCategoryInput { category, locale, name } = input;
        Ok(answer(operations::rename(app(context), &category, &locale, &name).await)?)
    }

    /// Changes a category's slug, and with it the paths of everything below. The answer comes when
    /// the paths have reached all categories and products, or, where these are very many, after a
    /// few seconds; the rest then follows.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn change_category_slug(
        &self,
        context: &Context<'_>,
        input: ChangeCategorySlugInput,
    ) -> Result<ChangeCategorySlugResult> {
        let ChangeCategorySlugInput { category, slug } = input;
        Ok(answer(operations::change_slug(app(context), &category, &slug).await)?)
    }

    /// Moves a category with everything below it, unless another one has its slug there. The answer
    /// comes when the new paths have reached all categories and products, or, where these are very
    /// many, after a few seconds; the rest then follows.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn move_category(
        &self,
        context: &Context<'_>,
        input: MoveCategoryInput,
    ) -> Result<MoveCategoryResult> {
        let MoveCategoryInput { category, parent } = input;
        Ok(answer(operations::move_below(app(context), &category, parent.as_ref()).await)?)
    }

    /// Deletes a category that has neither categories below it nor products.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn delete_category(
        &self,
        context: &Context<'_>,
        input: DeleteCategoryInput,
    ) -> Result<DeleteCategoryResult> {
        Ok(answer(operations::delete(app(context), &input.category).await)?)
    }

    /// Gives a category a name in another language. It reaches everything below the category and
    /// all products as a new name does.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn add_translation(
        &self,
        context: &Context<'_>,
        input: AddTranslationInput,
    ) -> Result<AddTranslationResult> {
        let AddTranslationInput { category, locale, name } = input;
        Ok(answer(operations::add_translation(app(context), &category, &locale, &name).await)?)
    }

    /// Removes a category's name in one language; the last name stays. A language that the category
    /// has no name in is as good as removed. It reaches everything below the category and all
    /// products as a new name does.
    ///
    /// Who: merchant.
    #[graphql(guard = "Who::Role(Role::Merchant)")]
    async fn remove_translation(
        &self,
        context: &Context<'_>,
        input: RemoveTranslationInput,
    ) -> Result<RemoveTranslationResult> {
        let RemoveTranslationInput { category, locale } = input;
        Ok(answer(operations::remove_translation(app(context), &category, &locale).await)?)
    }
}
