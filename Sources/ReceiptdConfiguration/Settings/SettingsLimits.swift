/// The range of each number among the settings; both ends are allowed.
enum SettingsLimits {
    static let poolSize = 1...1000
    /// With longer waits a submission would wait for the ledger rather than for Apple.
    static let gatheringSeconds = 0.0...1
    static let maxConcurrency = 1...10_000
    static let maxRequestsPerSecond = 0.0...1_000_000
    /// Zero is excluded, because a request needs some time.
    static let timeoutSeconds = 0.001...3600
    /// Seconds of a delay, at most a week.
    static let delaySeconds = 0.0...604_800
    static let maxInFlight = 1...100_000
    /// Megabytes of parked proofs, at most a terabyte.
    static let parkedMegabytes = 0...1_000_000
    static let retentionDays = 1...3650
    /// Apple keeps notifications for 180 days.
    static let historyDays = 1...180
    /// Apple takes an answer within twelve hours of the request.
    static let consumptionWaitSeconds = 0.0...36_000
    static let refusalChecks = 0...6000
    static let port = 0...65_535
    static let graceSeconds = 0.0...86_400

    /// Bytes of the settings file.
    static let fileSize = 1_048_576
    /// Characters of a Kafka topic's name (`org.apache.kafka.common.internals.Topic`).
    static let topicLength = 249
    /// UTF-8 bytes of a consumer group's name.
    static let groupLength = 255
}
