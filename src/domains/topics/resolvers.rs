//! Resolvers: they translate between GraphQL and the operations of topics.

use async_graphql::{Context, Result, Subscription};
use futures_util::Stream;

use super::{
    operations,
    types::{
        CreateTopicInput, CreateTopicResult, DeleteTopicInput, DeleteTopicResult, PublishInput,
        PublishResult, Topic, TopicMessages,
    },
};
use crate::graphql::{
    cx::cx,
    declared::mutations,
    fields::queries,
    requester::{Role, Who},
    shared::Shared,
    subscription::Progress,
};

queries! {
    /// Query fields.
    pub struct TopicsQuery;

    /// All topics that the caller may follow, in the order of their creation: without a token only the public ones.
    ///
    /// Who: everyone.
    topics(context) with consistency: Vec<Topic> =
        operations::topics(cx(context)).await?.into_iter().map(Topic::from).collect(),
}

mutations! {
    /// Mutation fields.
    pub struct TopicsMutation;

    /// Creates a topic.
    ///
    /// Who: service or operator.
    create_topic(CreateTopicInput) -> CreateTopicResult
        for Who::Either(Role::Service, Role::Operator);

    /// Publishes messages on a topic. Its subscribers get them in this order. They are kept until newer ones overwrite them.
    ///
    /// Who: service.
    publish(PublishInput) -> PublishResult
        for Who::Role(Role::Service);

    /// Deletes a topic with its messages. Its subscriptions end. A repeat is refused with `NotFound`.
    ///
    /// Who: service or operator.
    delete_topic(DeleteTopicInput) -> DeleteTopicResult
        for Who::Either(Role::Service, Role::Operator);
}

/// Subscription fields.
#[derive(Default)]
pub struct TopicsSubscription;

#[Subscription]
impl TopicsSubscription {
    /// The messages of a topic. The first response comes at once, with the messages since the given position, or with
    /// none. Then each message is sent once, and in order. A subscriber that is too slow is told how many it missed.
    ///
    /// Who: everyone.
    async fn topic(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Name of the topic.")] name: String,
        #[graphql(
            desc = "Position after which to begin: `position` of a response, or the id of a message. Default: the present \
                    end of the topic."
        )]
        since: Option<String>,
    ) -> Result<impl Stream<Item = Result<Shared<TopicMessages>>> + use<>> {
        Ok(operations::topic(cx(context), name, since, Progress::of(context))?)
    }
}
