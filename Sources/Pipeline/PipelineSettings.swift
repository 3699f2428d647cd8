import Fulfillment
import Kafka

/// The settings of the pipeline.
public struct PipelineSettings: Sendable {
    public var submissionsTopic = "receipt-submissions"
    public var outcomesTopic = "receipt-outcomes"
    public var deadLettersTopic = "receipt-dead-letters"
    /// Everything that librdkafka's consumer is given.
    public var consumerProperties: KafkaProperties
    public var producerProperties: KafkaProperties
    /// Submissions in memory.
    public var maximumInFlight = 2000
    public var retry = RetryDelay()
    /// Seconds that a retrying submission waits in memory before it is parked.
    public var parkAfterSeconds = 30.0
    public var apple = AppleUse()
    /// Secrets, any of which may sign a submission; empty: nothing is checked.
    public var signingKeys: [String] = []
    /// Seconds for finishing what is in flight when the process stops.
    public var shutdownGraceSeconds = 25.0
    /// The voice of all of the pipeline's Kafka clients about brokers in trouble.
    public var kafkaVoice = KafkaVoice()

    public init(consumerProperties: KafkaProperties, producerProperties: KafkaProperties) {
        self.consumerProperties = consumerProperties
        self.producerProperties = producerProperties
    }
}

/// The part of Apple that the pipeline may use.
public struct AppleUse: Sendable {
    /// Requests that may be in flight: a fifth of it is for parked work.
    public var concurrency = 256
    /// Receipts that are refused here and put to Apple afterwards; 0 none.
    public var refusalChecksPerMinute = 0
    /// Seconds that a refund request waits for what the game says of it, before Apple is answered.
    public var consumptionWaitSeconds = 3600.0
}

/// The limits of the pipeline that are no settings.
enum PipelineLimits {
    /// The seconds between two commits of one partition.
    static let commitSeconds = 1.0
    /// Work under way at a revocation may finish within it; librdkafka waits meanwhile, the group with it.
    static let revocationDrainSeconds = 10.0
    /// Before a consumer that is beyond repair is replaced: two that fence one another shall not do so all the time.
    static let replacementSeconds = 5.0
    /// The limit for asking the broker whether newly assigned partitions still have their committed offsets.
    static let offsetCheckMilliseconds: Int32 = 5_000
    /// Partitions that are taken over within this time of a fall back may have lost decisions, whatever their offsets show.
    static let fallBackSeconds = 60.0
    /// The limit for asking the database how far newly assigned partitions are durable, while the group waits.
    static let durableReadSeconds = 3.0
    /// After which a commit is sent although the outcome of the last one never came: longer than librdkafka tries.
    static let commitPatienceSeconds = 90.0
    /// The seconds between two looks whether the database is still the one it was.
    static let historyCheckSeconds = 10.0
    /// The limit for the database to take checkpoints, and then for the broker to commit them, when the loop waits for
    /// it.
    static let finalCheckpointSeconds = 2.0
    static let finalCommitSeconds = 5.0
    /// The limit for the broker to hear that a consumer leaves its group. Librdkafka itself would wait for longer.
    static let closeSeconds = 3.0
    /// The seconds between two tries to name the record that is to be isolated.
    static let namingRetrySeconds = 1.0
    /// The seconds between two tries to make an accusation, or to withdraw it.
    static let accusingRetrySeconds = 0.5
    /// The time that nothing else is leased beside a suspect: as long as its lease, behind which it is not accused
    /// either.
    static let isolatedSeconds = 60.0
    /// The wait for a record while none is in memory; a record ends it, and messages of tasks do not.
    static let idlePollMilliseconds: Int32 = 250
    /// Records handled between two looks at everything else.
    static let recordsPerTurn = 256
    /// The seconds between two looks for the events of dead replicas; each is drawn from half of it to one and a half.
    static let orphanSeconds = 5.0
    static let orphanBatch = 500
    /// The seconds between two looks for the events of operators' decisions, drawn likewise.
    static let handedOverSeconds = 1.0
    /// Bytes of a value that go to the dead-letter topic where it does not take the whole.
    static let deadLetterExcerptBytes = 64 * 1024
    /// Bytes that a header takes in memory besides its name and value.
    static let bytesPerHeader = 32
    /// Seconds before the second try to publish; each further one waits twice as long, up to the maximum.
    static let publishRetrySeconds = 0.2
    static let publishRetryMaximumSeconds = 5.0
    /// The seconds between two looks for parked submissions, or holds, that are due.
    static let leaseSeconds = 1.0
    /// Parked submissions leased at a time; those of the same proof that come along double it at most.
    static let parkedBatch = 20
    /// The seconds between two looks for suspects among parked, held and announced rows; and while there are some, the
    /// time for others.
    static let suspectSeconds = 5.0
    static let suspectSpacingSeconds = 1.0
    /// The limit for clearing the suspicion of an isolated one, while the database is out of reach.
    static let forgivingSeconds = 60.0
    /// Holds leased at a time.
    static let holdBatch = 50
    /// Announced purchases leased at a time, and delivered in one SQL transaction.
    static let announcedBatch = 100
    /// The shortest time between two tries of a hold; Apple's trouble makes it longer.
    static let holdRetrySeconds = 1.0
    /// The seconds until a hold is tried again whose end the database would not take.
    static let holdFailureSeconds = 60.0
    /// Deliveries that Apple is told of at the same time, by one replica: fifty a second are allowed.
    static let finishConcurrency = 8
    /// Refund requests that Apple is answered about at the same time, by one replica.
    static let refundRequestConcurrency = 4
    /// The seconds between two looks at a refund request whose grant's event is not acknowledged yet. Seconds.
    static let unacknowledgedSeconds = 2.0
    /// The seconds until a released hold of an app that the catalog lacks is looked at again.
    static let unknownAppRetrySeconds = 300.0
    /// Subscriptions that Apple is asked about at a time, by one replica: all together, and of one app.
    static let subscriptionConcurrency = 32
    static let subscriptionsOfOneApp = 16
    /// The seconds until a subscription is asked about again if Apple is in trouble, or our settings are wrong; up to
    /// twice as long.
    static let troubledSubscriptionSeconds = 60.0
    static let blockedSubscriptionSeconds = 600.0
    /// Pages of Apple's history that are looked through for periods that were missed: 20 transactions each.
    static let missedPeriodPages = 20
    /// The number of times that one try narrows the time whose periods it reads, if they have more pages.
    static let missedPeriodWindows = 4
    /// The time that the process waits at its end for leased work that is under way.
    static let leaseDrainSeconds = 5.0
    /// Transactions of one submission that are looked up at the same time, and in one try at most.
    static let lookUpsAtOnce = 4
    static let lookUpsOfOneTry = 200
    /// The most pages of an account's history for one submission: 20 transactions each. They are one product's of two
    /// hours; a submission whose history is longer waits.
    static let historyPages = 50
    /// Receipts that were refused here and are put to Apple, at the same time.
    static let refusalChecksAtOnce = 4
    /// After the database fell back: claims entered in one statement, and those of published events in memory at a time.
    static let claimsBatch = 1_000
    static let claimsInMemory = 200_000
    /// The time that Kafka may bring nothing of the published events that are to be read.
    static let publishedSilenceSeconds = 30.0
    static let claimsRetrySeconds = 1.0
    /// Events read of the end of each partition whose broker does not tell where a time begins.
    static let publishedTail: Int64 = 10_000
    /// The seconds between two wakings of an app's blocked submissions: one that stays blocked must not be asked for
    /// all the time.
    static let wakeSeconds = 300.0
}
