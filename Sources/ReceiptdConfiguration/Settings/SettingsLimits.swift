/// The range of each numeric setting, with both ends included.
enum SettingsLimits {
    static let poolSize = 1...1000
    /// The range of seconds for gathering a batch. With a longer wait, a submission would wait longer for the ledger
    /// than for Apple.
    static let gatheringSeconds = 0.0...1
    static let maxConcurrency = 1...10_000
    static let maxRequestsPerSecond = 0.0...1_000_000
    /// The range is above 0, because every request needs some time.
    static let timeoutSeconds = 0.001...3600
    /// The range of a delay in seconds, up to a week.
    static let delaySeconds = 0.0...604_800
    static let maxInFlight = 1...100_000
    /// The range of megabytes of parked proofs, up to a terabyte.
    static let parkedMegabytes = 0...1_000_000
    static let retentionDays = 1...3650
    /// The range of days of the notification history. Apple keeps notifications for 180 days.
    static let historyDays = 1...180
    /// The range of seconds for which a refund request waits for the game server's report. Apple accepts a report
    /// within twelve hours of the refund request.
    static let consumptionWaitSeconds = 0.0...36_000
    static let refusalChecks = 0...6000
    static let port = 0...65_535
    static let graceSeconds = 0.0...86_400

    /// The most bytes of the settings file.
    static let fileSize = 1_048_576
    /// The most characters of a Kafka topic's name (`org.apache.kafka.common.internals.Topic`).
    static let topicLength = 249
    /// The most UTF-8 bytes of a consumer group's name.
    static let groupLength = 255
}
