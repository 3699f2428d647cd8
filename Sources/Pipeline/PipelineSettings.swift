import Fulfillment
import Kafka

/// The settings of the pipeline.
public struct PipelineSettings: Sendable {
    public var submissionsTopic = "receipt-submissions"
    public var outcomesTopic = "receipt-outcomes"
    public var deadLettersTopic = "receipt-dead-letters"
    /// All properties of librdkafka's consumer.
    public var consumerProperties: KafkaProperties
    public var producerProperties: KafkaProperties
    /// The most submissions in memory.
    public var maximumInFlight = 2000
    public var retry = RetryDelay()
    /// The seconds that a retrying submission waits in memory before it is parked.
    public var parkAfterSeconds = 30.0
    public var apple = AppleUse()
    /// Secrets, any of which may sign a submission. If empty, signatures are not checked.
    public var signingKeys: [String] = []
    /// The seconds for finishing what is in flight when the process stops.
    public var shutdownGraceSeconds = 25.0
    /// The log of all the pipeline's Kafka clients about brokers in trouble.
    var kafkaVoice = KafkaVoice()

    public init(consumerProperties: KafkaProperties, producerProperties: KafkaProperties) {
        self.consumerProperties = consumerProperties
        self.producerProperties = producerProperties
    }
}

/// The part of Apple that the pipeline may use.
public struct AppleUse: Sendable {
    /// The most requests in flight. Parked work has a fifth of them.
    public var concurrency = 256
    /// The refused receipts a minute that are put to Apple afterwards; 0 for none.
    public var refusalChecksPerMinute = 0
    /// The seconds that a refund request waits for the game's report before Apple is answered.
    public var consumptionWaitSeconds = 3600.0
}

/// The pipeline's limits that are no settings.
enum PipelineLimits {
    /// The seconds between two rounds of checkpoints and commits. A new checkpoint is committed before the next round.
    static let commitSeconds = 1.0
    /// The seconds in which work under way at a revocation may finish. librdkafka waits meanwhile, and the group with
    /// it.
    static let revocationDrainSeconds = 10.0
    /// The seconds before a consumer that is beyond repair is replaced. Two that fence one another must not do so all
    /// the time.
    static let replacementSeconds = 5.0
    /// The milliseconds for asking the broker whether newly assigned partitions still have their committed offsets.
    static let offsetCheckMilliseconds: Int32 = 5_000
    /// The seconds after a fall back in which a partition that is taken over may have lost decisions, whatever its
    /// offsets show.
    static let fallBackSeconds = 60.0
    /// The seconds for asking the database how far newly assigned partitions are durable, while the group waits.
    static let durableReadSeconds = 3.0
    /// The seconds after which a commit is sent although the last one has no outcome: longer than librdkafka tries.
    static let commitPatienceSeconds = 90.0
    /// The seconds between two looks whether the database is still the same.
    static let historyCheckSeconds = 10.0
    /// The seconds for the database to take checkpoints, and again for the broker to commit them, when the loop waits
    /// for it.
    static let finalCheckpointSeconds = 2.0
    static let finalCommitSeconds = 5.0
    /// The seconds for the broker to hear that a consumer leaves its group. librdkafka itself would wait longer.
    static let closeSeconds = 3.0
    /// The seconds between two tries to name the record that is to be isolated.
    static let namingRetrySeconds = 1.0
    /// The seconds between two tries to make an accusation, or to withdraw it.
    static let accusingRetrySeconds = 0.5
    /// The seconds that nothing else is leased beside a suspect. They are as long as its lease, after which no death
    /// counts against it.
    static let isolatedSeconds = 60.0
    /// The milliseconds that a poll waits while no record is in memory. A record ends the wait, messages of tasks do
    /// not.
    static let idlePollMilliseconds: Int32 = 250
    /// The most records that are handled between two looks at everything else.
    static let recordsPerTurn = 256
    /// The seconds between two looks for the events of dead replicas. Each pause is drawn from half of it to one and a
    /// half.
    static let orphanSeconds = 5.0
    static let orphanBatch = 500
    /// The seconds between two looks for the events of operators' decisions, drawn in the same way.
    static let handedOverSeconds = 1.0
    /// The bytes of a value that go to the dead-letter topic if it does not take the whole.
    static let deadLetterExcerptBytes = 64 * 1024
    /// The bytes that a header takes in memory besides its name and value.
    static let bytesPerHeader = 32
    /// The seconds before the second try to publish. Each further try waits twice as long, up to the maximum.
    static let publishRetrySeconds = 0.2
    static let publishRetryMaximumSeconds = 5.0
    /// The seconds between two looks for due parked submissions and holds.
    static let leaseSeconds = 1.0
    /// The most parked submissions that are leased at a time. Those that come along with the same proof double it at
    /// most.
    static let parkedBatch = 20
    /// The seconds between two looks for suspects among parked, held and announced rows. While there are some, others
    /// have that time in between.
    static let suspectSeconds = 5.0
    static let suspectSpacingSeconds = 1.0
    /// The seconds for clearing the suspicion of an isolated row while the database is out of reach.
    static let forgivingSeconds = 60.0
    /// The most holds that are leased at a time.
    static let holdBatch = 50
    /// The most announced purchases that are leased at a time, and delivered in one SQL transaction.
    static let announcedBatch = 100
    /// The shortest time between two tries of a hold, in seconds. Each failure makes it longer.
    static let holdRetrySeconds = 1.0
    /// The most deliveries that one replica reports to Apple at the same time. Apple allows fifty a second.
    static let finishConcurrency = 8
    /// The most refund requests that one replica answers at the same time.
    static let refundRequestConcurrency = 4
    /// The seconds between two looks at a refund request whose grant's event is not acknowledged yet.
    static let unacknowledgedSeconds = 2.0
    /// The seconds between two looks at a released hold of an app that the catalog lacks.
    static let unknownAppRetrySeconds = 300.0
    /// The most subscriptions that one replica asks Apple about at a time: of all apps, and of one.
    static let subscriptionConcurrency = 32
    static let subscriptionsOfOneApp = 16
    /// The seconds until a subscription is checked again if Apple is in trouble, or our settings are wrong; up to twice
    /// as long.
    static let troubledSubscriptionSeconds = 60.0
    static let blockedSubscriptionSeconds = 600.0
    /// The most pages of Apple's history that are read for missed periods. A page has 20 transactions.
    static let missedPeriodPages = 20
    /// The number of times that one try narrows the time whose periods it reads, if they have more pages.
    static let missedPeriodWindows = 4
    /// The seconds that the process waits at its end for leased work that is under way.
    static let leaseDrainSeconds = 5.0
    /// The most transactions of one submission that are looked up at the same time, and in one try.
    static let lookUpsAtOnce = 4
    static let lookUpsOfOneTry = 200
    /// The most pages of an account's history for one submission, 20 transactions each. They are one product's of two
    /// hours. A submission with a longer history waits.
    static let historyPages = 50
    /// The most refused receipts that are put to Apple at the same time.
    static let refusalChecksAtOnce = 4
    /// The most claims that are entered in one statement after the database fell back, and the most claims of published
    /// events in memory.
    static let claimsBatch = 1_000
    static let claimsInMemory = 200_000
    /// The seconds for which Kafka may bring none of the published events that are to be read.
    static let publishedSilenceSeconds = 30.0
    static let claimsRetrySeconds = 1.0
    /// The number of events that are read from the end of each partition whose broker does not tell where a time
    /// begins.
    static let publishedTail: Int64 = 10_000
    /// The number of events that are read from the end of each partition to see whether the database has their grants.
    static let publishedWitnesses: Int64 = 200
    /// The seconds between two wakings of an app's blocked submissions. An app that stays blocked must not be asked for
    /// all the time.
    static let wakeSeconds = 300.0
}
