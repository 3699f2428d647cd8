import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Kafka

/// A folder of `seeds/cases`: the submissions, Apple's behaviour, and the expected outcomes.
package struct SeedCase: Sendable {
    package struct Fault: Error, CustomStringConvertible {
        package let description: String
    }

    let name: String
    /// The records of the case, one for each round.
    let records: [SeedRecord]
    let arrangements: [SimulatedArrangement]
    /// The events that the record of each round must cause.
    let answers: [[JSONValue]]
    let deadLetters: [JSONValue]
    /// The number of requests to Apple that the whole case must cause; nil if the number depends on timing.
    let appleRequests: Int?

    static func loadAll(in directory: URL) throws -> [SeedCase] {
        let cases = directory.appendingPathComponent("cases")
        let names = try FileManager.default.contentsOfDirectory(atPath: cases.path).sorted()
        return try names.filter { !$0.hasPrefix(".") }.map { try SeedCase(directory: cases.appendingPathComponent($0)) }
    }

    init(directory: URL) throws {
        name = directory.lastPathComponent
        let lines = try Data(contentsOf: directory.appendingPathComponent("submissions.jsonl"))
            .split(separator: UInt8(ascii: "\n"))
        let name = name
        records = try lines.map { try SeedRecord(line: Array($0), caseName: name) }
        let apple = directory.appendingPathComponent("apple.json")
        arrangements =
            FileManager.default.fileExists(atPath: apple.path)
            ? try JSONDecoder().decode([SimulatedArrangement].self, from: Data(contentsOf: apple)) : []
        let text = try Data(contentsOf: directory.appendingPathComponent("expected.json"))
        let expected = try JSONParser.parse(Array(text)).value
        answers = expected["answers"]?.array?.map { $0.array ?? [] } ?? []
        deadLetters = expected["dead_letters"]?.array ?? []
        if case .number(let count)? = expected["apple_requests"] {
            appleRequests = Int(count)
        } else {
            appleRequests = nil
        }
        guard answers.count <= records.count else {
            throw Fault(description: "\(name): expected.json answers more rounds than there are records")
        }
    }

    /// The ids of the case's transactions. Workers ask the App Store Server API about these transactions.
    var transactions: Set<String> {
        Set(records.compactMap(\.transactionID)).union(
            arrangements.compactMap { if case .transaction(let known) = $0 { known.transactionID } else { nil } })
    }

    /// The receipts of the case in the form in which Apple gets them.
    var receipts: Set<String> {
        Set(
            records.compactMap { record in
                guard let text = record.receipt, case .receipt(let sent)? = DecodedProof(.receipt(text))?.material
                else {
                    return nil
                }
                return sent
            })
    }
}

/// A record of a case, or an operator's decision, from a line of `submissions.jsonl`.
struct SeedRecord: Sendable {
    enum Destination: Sendable {
        case submissions, notifications
        /// The topic of players' accounts. The record names the player of an account token.
        case accounts
    }

    let key: [UInt8]
    let value: [UInt8]?
    let headers: [KafkaHeader]
    let destination: Destination
    /// The operator's decision, which the replay does not publish; nil for a record.
    let decision: SeedDecision?
    /// The submission id; nil if it cannot be read.
    let submissionID: String?
    let playerID: String?
    let receipt: String?
    let transactionID: String?

    init(line: [UInt8], caseName: String) throws {
        let special = (try? JSONParser.parse(line).value)?["$record"]
        value = try special.map { try Self.value(of: $0, caseName: caseName) } ?? line
        headers = Self.headers(of: special)
        destination =
            special?["notification"] != nil ? .notifications : special?["account"] != nil ? .accounts : .submissions
        decision = special?["operator"].flatMap(SeedDecision.init)
        let readable = special?["submission"] ?? (try? JSONParser.parse(value ?? []).value)
        submissionID = readable?["submission_id"]?.string
        playerID = readable?["player_id"]?.string
        receipt = readable?["receipt_data"]?.string
        transactionID = readable?["transaction_id"]?.string
        if let account = special?["account"], let app = account["bundle_id"]?.string,
            let token = account["app_account_token"]?.string
        {
            key = Array("\(app)/\(token)".utf8)
            return
        }
        // A dead letter has the key of its record, so the key must name the case.
        key = Array((playerID?.hasPrefix(caseName + "/") == true ? playerID : nil).map(\.utf8) ?? "\(caseName)/-".utf8)
    }

    private static func value(of special: JSONValue, caseName: String) throws -> [UInt8]? {
        if special["tombstone"] != nil { return nil }
        if let told = special["operator"] {
            guard SeedDecision(told) != nil else {
                throw SeedCase.Fault(
                    description: """
                        \(caseName): `operator` must name reject, release, revoke or reinstate, with a transaction id
                        """)
            }
            return nil
        }
        if let player = special["account"]?["player_id"]?.string {
            var writer = JSONWriter()
            writer.beginObject()
            writer.name("player_id")
            writer.string(player)
            writer.endObject()
            return writer.bytes
        }
        if let body = special["notification"] {
            if let text = body.string { return Array(text.utf8) }
            var writer = JSONWriter()
            writer.value(body)
            return writer.bytes
        }
        if let text = special["text"]?.string { return Array(text.utf8) }
        if let base64 = special["base64"]?.string, let bytes = Base64.decode(base64.utf8) { return bytes }
        guard case .object(let members)? = special["submission"] else {
            throw SeedCase.Fault(
                description:
                    "\(caseName): a $record that is none of notification, account, operator, text, base64, tombstone, submission"
            )
        }
        var writer = JSONWriter()
        writer.beginObject()
        for member in members {
            writer.name(member.name)
            writer.value(member.value)
        }
        if case .number(let depth)? = special["nest"], let depth = Int(depth) {
            writer.name("extra")
            writer.raw(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        }
        if case .number(let size)? = special["pad_to"], let size = Int(size) {
            writer.name("padding")
            writer.string(String(repeating: "x", count: max(0, size - writer.bytes.count - 3)))
        }
        writer.endObject()
        return writer.bytes
    }

    private static func headers(of special: JSONValue?) -> [KafkaHeader] {
        guard case .object(let members)? = special?["headers"] else { return [] }
        return members.map { KafkaHeader(name: $0.name, value: $0.value.string.map { Array($0.utf8) }) }
    }
}
