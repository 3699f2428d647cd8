import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// The answer to "where is my purchase?" in a few sentences, which `inspect` prints above the rows.
package struct InspectionSummary {
    /// The most rows of a kind that get a sentence. The summary only counts the other rows.
    static let maximumTold = 10

    package let id: String
    package let inspection: Inspection
    package let kafka: KafkaFindings
    /// The lines about Apple's state; empty if no submission is undecided.
    package var apple: [String] = []

    package init(id: String, inspection: Inspection, kafka: KafkaFindings, apple: [String] = []) {
        self.id = id
        self.inspection = inspection
        self.kafka = kafka
        self.apple = apple
    }

    private var outcomes: [JSONValue] { rows("outcomes") }

    func rows(_ name: String) -> [JSONValue] { inspection.sections.first { $0.name == name }?.rows ?? [] }

    package var undecided: [KafkaFindings.Waiting] { kafka.undecided(outcomes: outcomes, parked: rows("parked")) }

    var untold: [KafkaFindings.Answer] { kafka.untold(outcomes: outcomes + rows("local_refusals")) }

    package var sentences: [String] {
        let undecided = undecided
        let untold = untold
        var lines: [String] = []
        if undecided.isEmpty, untold.isEmpty, inspection.sections.allSatisfy(\.rows.isEmpty) {
            lines.append("receiptd knows nothing of \(ShownText.quoted(id))")
        }
        if !inspection.names.isEmpty {
            let names = inspection.names.map { ShownText.quoted($0) }.joined(separator: ", ")
            lines.append("\(ShownText.quoted(id)) is the id of an order or event, and belongs to \(names)")
        }
        lines += undecided.prefix(Self.maximumTold).map(Self.sentence)
        if undecided.count > Self.maximumTold {
            lines.append("and \(undecided.count - Self.maximumTold) more submissions that are not decided yet")
        }
        lines += apple
        lines += verdicts
        lines += untold.suffix(Self.maximumTold).map(Self.sentence)
        if untold.count > Self.maximumTold { lines.append("and \(untold.count - Self.maximumTold) older answers") }
        lines.append(looks)
        return lines
    }

    private static func sentence(_ record: KafkaFindings.Waiting) -> String {
        let place = "\(ShownText.plain(record.topic))/\(record.partition) at \(record.offset)"
        let since = record.receivedAt.map { ", there since \($0.rfc3339)" } ?? ""
        let waiting =
            record.ahead == 0
            ? "it is the partition's first uncommitted record" : "\(record.ahead) uncommitted records are before it"
        let key =
            record.isKeyedByPlayer
            ? "" : "; its key is not the player's id: the player's records may be decided out of order"
        let ignored = record.ignored.map { "; its \(ShownText.plain($0)) cannot be read and is ignored" }.joined()
        return "not decided yet: submission \(ShownText.quoted(record.submissionID)) of player "
            + "\(ShownText.quoted(record.playerID)) for \(ShownText.plain(record.bundleID)) is record \(place)\(since): "
            + "a worker has it in memory, or no worker has read it yet; \(waiting); the partition's lag is "
            + "\(record.lag)\(key)\(ignored)"
    }

    private static func sentence(_ answer: KafkaFindings.Answer) -> String {
        let how = isLocal(answer.reason) ? "refused without asking Apple" : "refused"
        return "\(how): submission \(ShownText.quoted(answer.submissionID)) of player "
            + "\(ShownText.quoted(answer.playerID)): \(ShownText.plain(answer.reason)), "
            + "\(ShownText.plain(answer.detail, limit: 300)) (\(ShownText.plain(answer.occurredAt)), event \(ShownText.plain(answer.eventID)))"
    }

    /// Returns true if screening gives this reason. Apple's answer can lead to the same reason. Then PostgreSQL has the
    /// event as an outcome, and the summary gets no such event from Kafka.
    private static func isLocal(_ reason: String) -> Bool {
        [
            "malformed_submission", "unknown_app", "malformed_receipt", "foreign_app", "unauthentic_receipt",
            "sandbox_not_allowed",
        ].contains(reason)
    }

    /// The sentence about the searched records. It shows whether the search was complete.
    private var looks: String {
        let told = kafka.looks.map { look in
            "\(look.records) records of \(look.partitions) partitions of \(ShownText.plain(look.topic))"
        }
        let looked =
            told.isEmpty ? "inspect did not search Kafka" : "searched in Kafka: \(told.joined(separator: ", "))"
        guard let fault = kafka.fault else { return looked }
        return "\(looked); \(fault): more submissions may wait in Kafka, "
            + "and a worker may have refused others without asking Apple"
    }

    /// Kafka's findings as sections of the JSON document. They come after PostgreSQL's sections.
    package var sections: [(name: String, rows: [JSONValue])] {
        func text(_ name: String, _ text: String?) -> JSONMember {
            JSONMember(name: name, value: text.map { .string($0) } ?? .null)
        }
        func number(_ name: String, _ number: some BinaryInteger) -> JSONMember {
            JSONMember(name: name, value: .number("\(number)"))
        }
        return [
            (
                "undecided",
                undecided.map { record in
                    .object([
                        text("submission_id", record.submissionID), text("player_id", record.playerID),
                        text("bundle_id", record.bundleID), text("topic", record.topic),
                        number("partition", record.partition), number("offset", record.offset),
                        text("received_at", record.receivedAt?.rfc3339), number("ahead", record.ahead),
                        number("lag", record.lag),
                        JSONMember(name: "keyed_by_player", value: .bool(record.isKeyedByPlayer)),
                        JSONMember(name: "ignored_fields", value: .array(record.ignored.map { .string($0) })),
                    ])
                }
            ),
            (
                "answers_on_topic",
                untold.map { answer in
                    .object([
                        text("submission_id", answer.submissionID), text("player_id", answer.playerID),
                        text("reason", answer.reason), text("detail_code", answer.detailCode),
                        text("detail", answer.detail),
                        text("occurred_at", answer.occurredAt), text("event_id", answer.eventID),
                        number("partition", answer.partition), number("offset", answer.offset),
                    ])
                }
            ),
        ]
    }
}
