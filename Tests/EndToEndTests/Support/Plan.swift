import Fulfillment
import Kafka

/// The submissions and the results that they must have: known to the generator, not asked of the worker.
struct Plan: Sendable {
    var records: [PlannedRecord] = []
    /// The truths by submission id.
    var truths: [String: Truth] = [:]
    /// Reasons by record key.
    var deadLetters: [String: String] = [:]
    /// The groups of which exactly one transaction is granted, to whoever comes first.
    var contests: [[String]] = []
    /// Transactions that are granted whatever the order.
    var certainGrants: Set<String> = []

    /// Receipts that only one record holds, with its place in `records`.
    var unsharedReceipts: [String: Int] {
        var places: [String: [Int]] = [:]
        for (index, record) in records.enumerated() {
            if let receipt = record.receipt { places[receipt, default: []].append(index) }
        }
        return places.compactMapValues { $0.count == 1 ? $0[0] : nil }
    }
}

struct PlannedRecord: Sendable {
    var key: [UInt8]
    var value: [UInt8]?
    var headers: [KafkaHeader] = []
    var timestampMilliseconds: Int64?
    /// Nil where none can be read.
    var submissionID: String?
    var playerID: String
    /// The receipt as it reaches Apple; nil if it never does.
    var receipt: String?
}

/// The events that a submission must yield, each with one event id; or one of several such sets.
struct Truth: Sendable {
    enum Expected: Hashable, Sendable {
        case granted(String)
        case rejected(String)
        case held(String)
    }

    var alternatives: [Set<Expected>]
    /// Answered without Apple, so that its answer overtakes.
    var isLocal = false

    static func always(_ events: Expected..., isLocal: Bool = false) -> Truth {
        Truth(alternatives: [Set(events)], isLocal: isLocal)
    }
}
