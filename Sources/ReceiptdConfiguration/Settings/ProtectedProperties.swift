/// The librdkafka properties on which receiptd's guarantees depend. The operator may set them only to receiptd's value
/// (https://github.com/confluentinc/librdkafka/blob/v2.0.2/CONFIGURATION.md).
struct ProtectedProperties {
    /// The first librdkafka version with safe commits during cooperative rebalances. This is 2.10, in the form of
    /// `rd_kafka_version()`.
    static let safeCooperativeVersion: Int32 = 0x020A_0000
    /// The most requests in flight with which an idempotent producer keeps the order of records.
    static let maximumRequestsInFlight = 5

    let bootstrapServers: String
    let groupID: String
    let libraryVersion: Int32

    /// The name and the synonyms of each property, and the texts that mean receiptd's value. The first text is the
    /// usual one.
    private static let fixed: [(names: [String], values: [String])] = [
        (["enable.auto.commit", "auto.commit.enable"], ["false", "f", "0"]),
        (["enable.auto.offset.store"], ["false", "f", "0"]),
        (["auto.offset.reset"], ["earliest", "smallest", "beginning"]),
        (["offset.store.method"], ["broker"]),
        (["acks", "request.required.acks"], ["all", "-1"]),
        (["enable.idempotence"], ["true", "t", "1"]),
        (["isolation.level"], ["read_committed"]),
        (["partitioner"], ["murmur2_random"]),
        (["queuing.strategy"], ["fifo"]),
        (["delivery.report.only.error"], ["false", "f", "0"]),
        (["group.protocol"], ["classic"]),
    ]

    /// Returns the fault of a property, as words that follow its name; nil if there is none. The words never contain
    /// the operator's value.
    func fault(of name: String, value: String) -> String? {
        let given = value
        let value = given.lowercased()
        if let rule = Self.fixed.first(where: { $0.names.contains(name) }) {
            return rule.values.contains(value)
                ? nil : "must be \(rule.values[0]): receiptd's promises depend on it"
        }
        switch name {
        case "max.in.flight", "max.in.flight.requests.per.connection":
            let isSound = Int(value).map { (1...Self.maximumRequestsInFlight).contains($0) } ?? false
            return isSound
                ? nil : "must be a number from 1 to \(Self.maximumRequestsInFlight), or events lose their order"
        case "retries", "message.send.max.retries":
            return Int(value).map { $0 >= 1 } ?? false ? nil : "must be a number of 1 or more, or events get lost"
        case "bootstrap.servers", "metadata.broker.list":
            return value == bootstrapServers.lowercased()
                ? nil : "differs from \(SettingName.kafkaBootstrapServers.rawValue): leave it out"
        case "group.id":
            return given == groupID ? nil : "differs from \(SettingName.kafkaGroupID.rawValue): leave it out"
        case "transactional.id":
            return "must not be given: receiptd uses PostgreSQL's transactions, not Kafka's"
        case "partition.assignment.strategy":
            let isSafe = !value.contains("cooperative") || libraryVersion >= Self.safeCooperativeVersion
            return isSafe ? nil : "must not be cooperative-sticky before librdkafka 2.10"
        default:
            return nil
        }
    }
}
