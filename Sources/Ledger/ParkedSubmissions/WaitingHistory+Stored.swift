import Encodings
import Fulfillment
import NamesAndTimes
import Postgres

extension WaitingHistory {
    private static let lookedUpName = "looked_up"

    /// The counts of doubtful answers and the look-ups as JSON, such as
    /// `{"no_purchase":2,"looked_up":{"since":1700000000000,"settled":["1000"],"told":[]}}`. An earlier release wrote
    /// an array of ids instead of the `looked_up` object. This release ignores such an array.
    var storedDoubts: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for (reason, count) in doubts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            json.name(reason.rawValue)
            json.number(count)
        }
        if !lookUps.isEmpty {
            json.name(Self.lookedUpName)
            json.write(lookUps)
        }
        json.endObject()
        return json.bytes
    }

    init(_ row: PostgresRow<ParkedColumn>) {
        var doubts: [Reason: Int] = [:]
        var lookUps = RememberedLookUps()
        if let bytes = row.jsonb(.doubts), case .object(let members)? = try? JSONParser.parse(bytes).value {
            for member in members {
                if member.name == Self.lookedUpName { lookUps = RememberedLookUps(stored: member.value) }
                guard let reason = Reason(rawValue: member.name), case .number(let text) = member.value
                else { continue }
                doubts[reason] = Int(text)
            }
        }
        self.init(
            failures: row.integer(.failures) ?? 0, doubts: doubts, firstFailureAt: row.timestamp(.firstFailureAt),
            parkings: row.integer(.parkings) ?? 0, tries: [AppleTry](stored: row.text(.tries)))
        self.lookUps = lookUps
    }
}

extension RememberedLookUps {
    fileprivate init(stored json: JSONValue) {
        self.init(
            settled: Set((json["settled"]?.array ?? []).compactMap { $0.string.map { Identifier($0) } }),
            told: (json["told"]?.array ?? []).compactMap(StorePurchase.init(stored:)),
            since: json["since"]?.integer(Int64.self).map(Timestamp.init(milliseconds:)))
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ lookUps: RememberedLookUps) {
        beginObject()
        milliseconds("since", lookUps.since)
        name("settled")
        beginArray()
        for transaction in lookUps.settled.sorted() { string(transaction.text) }
        endArray()
        name("told")
        beginArray()
        for purchase in lookUps.told { write(purchase) }
        endArray()
        endObject()
    }
}
