import Fulfillment
import Kafka

/// A worker's settings for topics, Kafka's clients, retries, parking and the shutdown.
public struct PipelineSettings: Sendable {
    public var submissionsTopic = "receipt-submissions"
    public var outcomesTopic = "receipt-outcomes"
    public var deadLettersTopic = "receipt-dead-letters"
    /// All properties of the librdkafka consumer.
    public var consumerProperties: KafkaProperties
    public var producerProperties: KafkaProperties
    /// The most submissions in memory.
    public var maximumInFlight = 2000
    public var retry = RetryDelay()
    /// The seconds that a retrying submission waits in memory before it is parked.
    public var parkAfterSeconds = 30.0
    public var apple = AppleUse()
    /// The secrets with which game servers may sign submissions. Without a secret, the worker checks no such signature.
    public var signingKeys: [String] = []
    /// The seconds for finishing the work in flight when the process stops.
    public var shutdownGraceSeconds = 25.0
    /// The log of broker trouble for all Kafka clients of the pipeline.
    var kafkaVoice = KafkaVoice()

    public init(consumerProperties: KafkaProperties, producerProperties: KafkaProperties) {
        self.consumerProperties = consumerProperties
        self.producerProperties = producerProperties
    }
}

/// The settings of the pipeline's requests to Apple.
public struct AppleUse: Sendable {
    /// The most requests to Apple in flight. At most a fifth as many rows are leased at a time, or half as many while
    /// no first try is in memory.
    public var concurrency = 256
    /// The number of rejected receipts a minute for which the worker later sends a request to Apple; 0 for none.
    public var refusalChecksPerMinute = 0
    /// The seconds that a refund request waits for the game server's report before the worker answers Apple.
    public var consumptionWaitSeconds = 3600.0
}

/// The pipeline's fixed limits, which no setting changes.
enum PipelineLimits {
    /// The seconds between two rounds of checkpoints and commits. The worker commits a new checkpoint before the next
    /// round.
    static let commitSeconds = 1.0
    /// The seconds for finishing work when partitions are revoked. librdkafka and the whole group wait meanwhile.
    static let revocationDrainSeconds = 10.0
    /// The seconds before the worker replaces a consumer that cannot recover. If two consumers have the same
    /// `group.instance.id`, each new one fences the other. The pause makes such fencing rare.
    static let replacementSeconds = 5.0
    /// The longest time, in milliseconds, for the broker to tell the first and last offsets of newly assigned
    /// partitions.
    static let offsetCheckMilliseconds: Int32 = 5_000
    /// If the worker takes over a partition within this number of seconds after the database fell back, it assumes that
    /// the database lost decisions on the partition's records.
    static let fallBackSeconds = 60.0
    /// The longest time, in seconds, for the database to read or write the checkpoints of newly assigned partitions.
    /// The group waits meanwhile.
    static let durableReadSeconds = 3.0
    /// The seconds after which the worker sends a new commit although the last commit has no result. librdkafka
    /// normally gives up the last commit earlier.
    static let commitPatienceSeconds = 90.0
    /// The seconds between two comparisons of the checkpoints with the database.
    static let historyCheckSeconds = 10.0
    /// The longest time, in seconds, for the database to store checkpoints while the consumer's thread waits.
    /// `finalCommitSeconds` is the longest for the broker to commit.
    static let finalCheckpointSeconds = 2.0
    static let finalCommitSeconds = 5.0
    /// The longest time, in seconds, for a consumer to leave its group. librdkafka itself would wait longer.
    static let closeSeconds = 3.0
    /// The seconds between two attempts to commit the isolated record's offset, or to clear the suspicion of a row.
    static let namingRetrySeconds = 1.0
    /// The seconds between two attempts to store an accusation, or its withdrawal.
    static let accusingRetrySeconds = 0.5
    /// The seconds for which a worker leases nothing beside a suspect. After this time the worker stores no further
    /// accusation against the suspect. An accusation that is already stored counts until the worker withdraws it.
    static let isolatedSeconds = 60.0
    /// The milliseconds that a poll waits while no record is in memory. A record ends the wait; a task's message does
    /// not.
    static let idlePollMilliseconds: Int32 = 250
    /// The most records that the consumer's loop handles before it does its other work.
    static let recordsPerTurn = 256
    /// The mean seconds between two queries for events of dead replicas. Each pause is random, from half to one and a
    /// half times this.
    static let orphanSeconds = 5.0
    static let orphanBatch = 500
    /// The mean seconds between two queries for events of operators' decisions. Each pause is random in the same range.
    static let handedOverSeconds = 1.0
    /// The bytes of a dead letter's excerpt. A dead letter becomes an excerpt if its topic refuses the whole value as
    /// too large.
    static let deadLetterExcerptBytes = 64 * 1024
    /// The bytes that a header takes in memory in addition to its name and value.
    static let bytesPerHeader = 32
    /// The seconds before the second attempt to publish. The pause doubles with each further attempt, up to the
    /// maximum.
    static let publishRetrySeconds = 0.2
    static let publishRetryMaximumSeconds = 5.0
    /// The mean seconds between two queries for due announced purchases.
    static let leaseSeconds = 1.0
    /// The most parked submissions that are leased at a time. The worker leases parked submissions with the same proofs
    /// together with them, at most as many again.
    static let parkedBatch = 20
    /// The seconds between two queries for suspects among parked, held and announced rows. `suspectSpacingSeconds` is
    /// the time between two suspects, in which other rows are leased.
    static let suspectSeconds = 5.0
    static let suspectSpacingSeconds = 1.0
    /// The seconds for which the worker tries to clear a row's suspicion if PostgreSQL cannot be reached.
    static let forgivingSeconds = 60.0
    /// The most holds that are leased at a time.
    static let holdBatch = 50
    /// The most announced purchases that are leased at a time, and delivered in one SQL transaction.
    static let announcedBatch = 100
    /// The shortest time between two tries of a hold, in seconds. The time grows with each failure.
    static let holdRetrySeconds = 1.0
    /// The most deliveries that one replica reports to Apple concurrently. Apple allows fifty requests a second.
    static let finishConcurrency = 8
    /// The most refund requests that one replica answers concurrently.
    static let refundRequestConcurrency = 4
    /// The seconds until the next try of a refund request while Kafka has not acknowledged the grant's event.
    static let unacknowledgedSeconds = 2.0
    /// The seconds between two tries of a hold whose app is not in the catalog.
    static let unknownAppRetrySeconds = 300.0
    /// The most subscriptions that one replica checks with Apple concurrently, for all apps. `subscriptionsOfOneApp` is
    /// the most for one app.
    static let subscriptionConcurrency = 32
    static let subscriptionsOfOneApp = 16
    /// The shortest time, in seconds, until the next check after a failure at Apple. `blockedSubscriptionSeconds`
    /// applies after refused settings. Each pause is random, from once to twice the time.
    static let troubledSubscriptionSeconds = 60.0
    static let blockedSubscriptionSeconds = 600.0
    /// The most pages of Apple's history that the worker reads for one window of missed periods. A page has 20
    /// transactions.
    static let missedPeriodPages = 20
    /// The number of time windows that one try reads for missed periods. If a window has more than `missedPeriodPages`
    /// pages, a narrower window follows.
    static let missedPeriodWindows = 4
    /// The seconds for which a stopping process waits for leased work.
    static let leaseDrainSeconds = 5.0
    /// The most transactions of one submission that the worker looks up concurrently. `lookUpsOfOneTry` is the most in
    /// one try.
    static let lookUpsAtOnce = 4
    static let lookUpsOfOneTry = 200
    /// The most pages of an account's history that the worker reads for one submission. A page has 20 transactions. The
    /// request names one product and a range of two hours. If the history has more pages, the submission waits.
    static let historyPages = 50
    /// The most rejected receipts that the worker checks with Apple concurrently.
    static let refusalChecksAtOnce = 4
    /// The most claims that one statement restores after the database fell back. `claimsInMemory` is the most claims of
    /// published events in memory.
    static let claimsBatch = 1_000
    static let claimsInMemory = 200_000
    /// After this number of seconds without a record, reading published events fails. The database also has this number
    /// of seconds to store one batch of owners or subscriptions. `claimsRetrySeconds` is the pause between two
    /// attempts.
    static let publishedSilenceSeconds = 30.0
    static let claimsRetrySeconds = 1.0
    /// The number of events that the worker reads from the end of a partition if the broker returns no offset for the
    /// start time.
    static let publishedTail: Int64 = 10_000
    /// The number of events that the worker reads from the end of each partition, to see whether the database has their
    /// grants.
    static let publishedWitnesses: Int64 = 200
    /// The worker makes an app's blocked submissions due at most once in this number of seconds. Without this pause the
    /// worker would send requests without end for an app that stays blocked.
    static let wakeSeconds = 300.0
}
