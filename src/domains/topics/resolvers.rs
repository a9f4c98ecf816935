//! Resolvers: they translate between GraphQL and the operations of topics.

use super::operations;
use crate::graphql::{prelude::*, shared::Shared, subscription::Progress};

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
    create_topic(CreateTopicInput) -> CreateTopicResult by service_or_operator;

    /// Publishes messages on a topic. Its subscribers get them in this order. They are kept until newer ones overwrite them.
    publish(PublishInput) -> PublishResult by service;

    /// Deletes a topic with its messages. Its subscriptions end. A repeat is refused with `NotFound`.
    delete_topic(DeleteTopicInput) -> DeleteTopicResult by service_or_operator;
}

subscriptions! {
    /// Subscription fields.
    pub struct TopicsSubscription;

    /// The messages of a topic. The first response comes at once, with the messages since the given position, or with
    /// none. Then each message is sent once, and in order. A subscriber that is too slow is told how many it missed. A topic
    /// that doesn't exist, or isn't visible to the caller, is the error `NOT_FOUND`. When the topic is deleted, the stream ends.
    ///
    /// Who: everyone.
    topic(
        context,
        #[graphql(desc = "Name of the topic.")] name: String,
        #[graphql(
            desc = "Position after which to begin: `position` of a response, or the id of a message. Default: the present \
                    end of the topic."
        )]
        since: Option<String>,
    ): Shared<TopicMessages> =
        operations::topic(cx(context), name, since, Progress::of(context))?,
}
