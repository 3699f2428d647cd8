import Fulfillment
import Kafka

/// The submissions and their expected results. The generator knows these results without the worker.
struct Plan: Sendable {
    var records: [PlannedRecord] = []
    /// The expected events, by submission id.
    var truths: [String: Truth] = [:]
    /// The reason of each expected dead letter, by record key.
    var deadLetters: [String: String] = [:]
    /// The groups of transactions of which the worker grants exactly one, to the player who comes first.
    var contests: [[String]] = []
    /// The transactions that the worker grants in every order of submissions.
    var certainGrants: Set<String> = []

    /// The receipts that only one record holds, with the record's index in `records`.
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
    /// The submission's id; nil where the worker cannot read an id in the record.
    var submissionID: String?
    var playerID: String
    /// The receipt that the worker sends to Apple; nil where the worker sends none.
    var receipt: String?
}

/// The sets of events that a submission may yield. The submission must yield exactly one set, with one id per event.
struct Truth: Sendable {
    enum Expected: Hashable, Sendable {
        case granted(String)
        case rejected(String)
        case held(String)
    }

    var alternatives: [Set<Expected>]
    /// True where the worker answers without Apple. Such an answer overtakes earlier submissions.
    var isLocal = false

    static func always(_ events: Expected..., isLocal: Bool = false) -> Truth {
        Truth(alternatives: [Set(events)], isLocal: isLocal)
    }
}
