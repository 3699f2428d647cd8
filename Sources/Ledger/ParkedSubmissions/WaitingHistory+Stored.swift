import Encodings
import Fulfillment
import NamesAndTimes
import Postgres

extension WaitingHistory {
    private static let lookedUpName = "looked_up"

    /// The counts of doubtful answers and the looked-up transactions as JSON: `{"no_purchase":2,"looked_up":["1000"]}`.
    var storedDoubts: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for (reason, count) in doubts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            json.name(reason.rawValue)
            json.number(count)
        }
        if !lookedUp.isEmpty {
            json.name(Self.lookedUpName)
            json.beginArray()
            for transaction in lookedUp.sorted() { json.string(transaction.text) }
            json.endArray()
        }
        json.endObject()
        return json.bytes
    }

    init(_ row: PostgresRow<ParkedColumn>) {
        var doubts: [Reason: Int] = [:]
        var lookedUp: Set<StoreTransactionID> = []
        if let bytes = row.jsonb(.doubts), case .object(let members)? = try? JSONParser.parse(bytes).value {
            for member in members {
                if member.name == Self.lookedUpName {
                    lookedUp = Set((member.value.array ?? []).compactMap { $0.string.map { Identifier($0) } })
                }
                guard let reason = Reason(rawValue: member.name), case .number(let text) = member.value
                else { continue }
                doubts[reason] = Int(text)
            }
        }
        self.init(
            failures: row.integer(.failures) ?? 0, doubts: doubts, firstFailureAt: row.timestamp(.firstFailureAt),
            parkings: row.integer(.parkings) ?? 0, tries: [AppleTry](stored: row.text(.tries)))
        self.lookedUp = lookedUp
    }
}
