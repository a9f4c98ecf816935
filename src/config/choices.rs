//! The values of settings that have a few.

use serde::{Deserialize, Serialize};

/// Payment providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaymentProvider {
    /// docgate's own accounts: an authorisation is a transfer.
    Ledger,
    /// An external service at `payments_url`.
    Http,
    /// No provider: only orders with a total of zero can be checked out.
    None,
}

/// What a checkout does about a price that has changed since its line was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedPrices {
    /// It charges the line's price.
    Charge,
    /// It is refused, and names the lines.
    Refuse,
}

/// Storage layout of a discussion's comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscussionLayout {
    /// One document per comment.
    PerDocument,
    /// Up to 100 comments per document.
    Paged,
    /// Inside the discussed document.
    Embedded,
}

/// How the views of pages are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesEngine {
    /// One document per page and minute.
    Buckets,
    /// A time-series collection of MongoDB.
    Native,
}

/// When MongoDB acknowledges a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Concern {
    /// When the primary has it in memory.
    Primary,
    /// When the primary has it in its journal on disk.
    Journal,
    /// When a majority of the members has it in their journals.
    Majority,
}

/// How MongoDB compresses the documents of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// It doesn't.
    None,
    /// Fast, with less effect.
    Snappy,
    /// Slower, with more effect.
    Zstd,
}

/// How current the answer of a read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, async_graphql::Enum)]
#[serde(rename_all = "lowercase")]
pub enum Consistency {
    /// The primary serves it: it shows every change that was acknowledged before.
    Strong,
    /// A secondary may serve it. It can be older, by a bound that the operator sets and that is 90 seconds or more.
    Eventual,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    /// First day of the week in ISO 8601.
    Monday,
    /// The day after Monday.
    Tuesday,
    /// The day after Tuesday.
    Wednesday,
    /// The day after Wednesday.
    Thursday,
    /// The day after Thursday.
    Friday,
    /// The day after Friday.
    Saturday,
    /// The day after Saturday.
    Sunday,
}

impl Weekday {
    /// Its name in lower case, as in the configuration and in MongoDB's expressions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monday => "monday",
            Self::Tuesday => "tuesday",
            Self::Wednesday => "wednesday",
            Self::Thursday => "thursday",
            Self::Friday => "friday",
            Self::Saturday => "saturday",
            Self::Sunday => "sunday",
        }
    }
}

/// How documents that aren't trusted are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentsMode {
    /// They are executed.
    Off,
    /// They are executed, and each is logged once.
    Log,
    /// They are refused.
    Only,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Readable text.
    Pretty,
}
