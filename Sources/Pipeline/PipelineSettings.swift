import Fulfillment
import Kafka

/// A worker's settings for topics, Kafka's clients, retries, parking and the shutdown.
public struct PipelineSettings: Sendable {
    public var submissionsTopic = "receipt-submissions"
    public var outcomesTopic = "receipt-outcomes"
    public var deadLettersTopic = "receipt-dead-letters"
    /// The complete properties of librdkafka's consumer.
    public var consumerProperties: KafkaProperties
    public var producerProperties: KafkaProperties
    /// The most submissions in memory.
    public var maximumInFlight = 2000
    public var retry = RetryDelay()
    /// The seconds that a retrying submission waits in memory before it is parked.
    public var parkAfterSeconds = 30.0
    public var apple = AppleUse()
    /// The secrets with which game servers may sign submissions. If there are none, signatures are not checked.
    public var signingKeys: [String] = []
    /// The seconds that work in flight may take to finish when the process stops.
    public var shutdownGraceSeconds = 25.0
    /// The common log of broker trouble for all Kafka clients of the pipeline.
    var kafkaVoice = KafkaVoice()

    public init(consumerProperties: KafkaProperties, producerProperties: KafkaProperties) {
        self.consumerProperties = consumerProperties
        self.producerProperties = producerProperties
    }
}

/// The limits on the pipeline's use of Apple.
public struct AppleUse: Sendable {
    /// The most requests to Apple in flight. Parked work may use a fifth of them.
    public var concurrency = 256
    /// The number of refused receipts a minute that the worker puts to Apple after its answer; 0 for none.
    public var refusalChecksPerMinute = 0
    /// The seconds that a refund request waits for the game's report before the worker answers Apple.
    public var consumptionWaitSeconds = 3600.0
}

/// The pipeline's fixed limits, which no setting changes.
enum PipelineLimits {
    /// The seconds between two rounds of checkpoints and commits. A new checkpoint is committed before the next round.
    static let commitSeconds = 1.0
    /// The seconds in which work under way may finish when partitions are revoked. librdkafka and the whole group wait
    /// meanwhile.
    static let revocationDrainSeconds = 10.0
    /// The seconds before the worker replaces a consumer that cannot recover. The pause keeps two consumers that fence
    /// each other from doing so all the time.
    static let replacementSeconds = 5.0
    /// The milliseconds for asking the broker whether newly assigned partitions still have their committed offsets.
    static let offsetCheckMilliseconds: Int32 = 5_000
    /// The seconds after a fall back of the database in which the worker assumes that a partition which it takes over
    /// has lost decisions, whatever Kafka's offsets show.
    static let fallBackSeconds = 60.0
    /// The seconds that the database may take to read or write the checkpoints of newly assigned partitions. The group
    /// waits meanwhile.
    static let durableReadSeconds = 3.0
    /// The seconds after which the worker sends a new commit although it knows no outcome of the last one. librdkafka
    /// gives up earlier.
    static let commitPatienceSeconds = 90.0
    /// The seconds between two checks that the database is still the same.
    static let historyCheckSeconds = 10.0
    /// The seconds that the database may take to store checkpoints, and then the broker to commit the offsets, when the
    /// consumer's loop waits for them.
    static let finalCheckpointSeconds = 2.0
    static let finalCommitSeconds = 5.0
    /// The seconds that a consumer may take to tell the broker that it leaves its group. librdkafka itself would wait
    /// longer.
    static let closeSeconds = 3.0
    /// The seconds between two tries to name the isolated record in Kafka, or to clear the suspicion of a row.
    static let namingRetrySeconds = 1.0
    /// The seconds between two tries to make an accusation, or to withdraw it.
    static let accusingRetrySeconds = 0.5
    /// The seconds for which nothing else is leased beside a suspect. The suspect's lease is as long, and after the
    /// lease no death counts against the suspect.
    static let isolatedSeconds = 60.0
    /// The milliseconds that a poll waits while no record is in memory. A record ends the wait; a message from a task
    /// does not.
    static let idlePollMilliseconds: Int32 = 250
    /// The most records that the consumer's loop handles in a row before it turns to its other work.
    static let recordsPerTurn = 256
    /// The seconds between two looks for the events of dead replicas. Each pause is drawn at random from half to one
    /// and a half times as long.
    static let orphanSeconds = 5.0
    static let orphanBatch = 500
    /// The seconds between two looks for the events of operators' decisions. Each pause is drawn in the same way.
    static let handedOverSeconds = 1.0
    /// The bytes of a value that go to the dead-letter topic if the topic refuses the whole value as too large.
    static let deadLetterExcerptBytes = 64 * 1024
    /// The bytes that a header takes in memory besides its name and value.
    static let bytesPerHeader = 32
    /// The seconds before the second try to publish. The pause doubles with each further try, up to the maximum.
    static let publishRetrySeconds = 0.2
    static let publishRetryMaximumSeconds = 5.0
    /// The seconds between two looks for due parked submissions and holds.
    static let leaseSeconds = 1.0
    /// The most parked submissions that are leased at a time. Parked submissions with the same proof come along, and at
    /// most double the number.
    static let parkedBatch = 20
    /// The seconds between two looks for suspects among parked, held and announced rows, and the seconds between two
    /// suspects. Other rows are leased in between.
    static let suspectSeconds = 5.0
    static let suspectSpacingSeconds = 1.0
    /// The seconds for which the worker tries to clear the suspicion of a row while the database is out of reach.
    static let forgivingSeconds = 60.0
    /// The most holds that are leased at a time.
    static let holdBatch = 50
    /// The most announced purchases that are leased at a time, and delivered in one SQL transaction.
    static let announcedBatch = 100
    /// The shortest time between two tries of a hold, in seconds. The time grows with each failure.
    static let holdRetrySeconds = 1.0
    /// The most deliveries that one replica reports to Apple at the same time. Apple allows fifty requests a second.
    static let finishConcurrency = 8
    /// The most refund requests that one replica answers at the same time.
    static let refundRequestConcurrency = 4
    /// The seconds between two looks at a refund request while Kafka has not acknowledged the grant's event.
    static let unacknowledgedSeconds = 2.0
    /// The seconds between two tries of a hold whose app the catalog lacks.
    static let unknownAppRetrySeconds = 300.0
    /// The most subscriptions about which one replica asks Apple at the same time: of all apps, and of one app.
    static let subscriptionConcurrency = 32
    static let subscriptionsOfOneApp = 16
    /// The seconds until a subscription is checked again after trouble at Apple, and after refused settings. Each pause
    /// is drawn from once to twice as long.
    static let troubledSubscriptionSeconds = 60.0
    static let blockedSubscriptionSeconds = 600.0
    /// The most pages of Apple's history that the worker reads at a time for missed periods. A page has 20
    /// transactions.
    static let missedPeriodPages = 20
    /// The number of time windows that one try reads for missed periods. If a window has more pages than
    /// `missedPeriodPages`, a narrower window follows.
    static let missedPeriodWindows = 4
    /// The seconds that a stopping process waits for leased work under way.
    static let leaseDrainSeconds = 5.0
    /// The most transactions of one submission that the worker looks up at the same time, and in one try.
    static let lookUpsAtOnce = 4
    static let lookUpsOfOneTry = 200
    /// The most pages that the worker reads of an account's history for one submission. A page has 20 transactions. The
    /// worker reads the purchases of one product within two hours. A submission with a longer history waits.
    static let historyPages = 50
    /// The most refused receipts that the worker puts to Apple at the same time.
    static let refusalChecksAtOnce = 4
    /// The most claims that one statement enters after the database fell back, and the most claims of published events
    /// in memory.
    static let claimsBatch = 1_000
    static let claimsInMemory = 200_000
    /// The seconds without a record after which reading published events fails, and the seconds that the database may
    /// take to enter one batch of them.
    static let publishedSilenceSeconds = 30.0
    static let claimsRetrySeconds = 1.0
    /// The number of events that the worker reads from the end of a partition if the broker cannot tell the offset of a
    /// time.
    static let publishedTail: Int64 = 10_000
    /// The number of events that the worker reads from the end of each partition to see whether the database has their
    /// grants.
    static let publishedWitnesses: Int64 = 200
    /// The shortest time between two wakings of an app's blocked submissions, in seconds. Without it the worker would
    /// ask Apple all the time about an app that stays blocked.
    static let wakeSeconds = 300.0
}
