import Fulfillment
import Kafka

/// Submissions with their expected results. The generator knows the results without the worker.
struct Plan: Sendable {
    var records: [PlannedRecord] = []
    /// The expected events of each submission, by submission id.
    var truths: [String: Truth] = [:]
    /// The reason of each expected dead letter, by record key.
    var deadLetters: [String: String] = [:]
    /// Groups of transactions. The worker grants exactly one transaction of each group, to the player whose submission
    /// comes first.
    var contests: [[String]] = []
    /// The transactions that the workers grant, whatever the order of their decisions.
    var certainGrants: Set<String> = []

    /// The receipts that only one record contains, each with this record's index in `records`.
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
    /// The submission id; nil if the record has no readable submission id.
    var submissionID: String?
    var playerID: String
    /// The receipt that the worker sends to Apple; nil if the worker sends no receipt.
    var receipt: String?
}

/// The sets of events with which workers may answer a submission. The answer must be exactly one of these sets, each
/// event with one id.
struct Truth: Sendable {
    enum Expected: Hashable, Sendable {
        case granted(String)
        case rejected(String)
        case held(String)
    }

    var alternatives: [Set<Expected>]
    /// True if the worker answers without Apple. Such an answer may come before the answer to an earlier submission.
    var isLocal = false

    static func always(_ events: Expected..., isLocal: Bool = false) -> Truth {
        Truth(alternatives: [Set(events)], isLocal: isLocal)
    }
}
