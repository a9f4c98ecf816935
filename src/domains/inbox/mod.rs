//! Messages between users.
//!
//! - `messages`: a message with its text, its recipients, and those from whom it is withheld
//! - `inboxBuckets`: copies of 50 messages each, in the order of arrival; the `_id` follows from owner and number
//! - `inboxReads`: how far a user has read
//!
//! # Sending
//!
//! The insert of the message decides everything. It names the recipients who block the sender at that time, from whom it
//! is withheld. A later block or unblock doesn't change where a message arrives, so each repeat delivers to the same
//! users. The sender's conversation shows the message in either case. If a recipient doesn't exist, nothing is sent, and
//! the result names those users.
//!
//! `delivering` on the message is its outbox. A few recipients are served by the call; more by jobs, in batches whose ids
//! follow from message and batch.
//!
//! # Sequence numbers
//!
//! Bucket `n` is followed by bucket `n + 1` only when it has 50 messages, and no message leaves a bucket. So a message's
//! sequence number is `50 n` + its position, and the last one is the number of messages that have arrived. The number of
//! unread messages is the last sequence number minus `readTo`. There is no counter that could differ from the messages.
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | insert of a message | its id, derived from the op, is free | a repeat or the sweep delivers it |
//! | copy to the last bucket | it has fewer than 50 messages, and not this one | the batch is repeated |
//! | next bucket, with its first message | the `_id` is free; the bucket before it is full | the batch is repeated |
//! | end of `delivering` | it is set; every batch has ended | (done) |
//! | rise of `readTo` | it is lower | a repeat changes nothing |
//!
//! The guard keeps a message from being twice in one bucket. The unique index on `owner` and `messages.id` keeps it from
//! being in two buckets of an owner: the server refuses the second copy, which then counts as delivered. So a worker that
//! has lost its lease can't double a message, and none of these writes needs a deadline.
//!
//! A message that arrives while `markRead` runs has a higher sequence number than the one that is marked: it stays unread.
