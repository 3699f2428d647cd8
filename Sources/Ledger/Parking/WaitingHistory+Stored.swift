import Fulfillment
import Postgres

extension WaitingHistory {
    /// `{"no_purchase":2}`.
    var storedDoubts: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for (reason, count) in doubts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            json.name(reason.rawValue)
            json.number(count)
        }
        json.endObject()
        return json.bytes
    }

    /// Of columns that follow one another: failures, doubts, first failure, parkings.
    init(_ rows: PostgresRows, _ row: Int, firstColumn column: Int, tries: Int) {
        var doubts: [Reason: Int] = [:]
        if let bytes = rows.jsonb(row, column + 1), case .object(let members)? = try? JSONParser.parse(bytes).value {
            for member in members {
                guard let reason = Reason(rawValue: member.name), case .number(let text) = member.value
                else { continue }
                doubts[reason] = Int(text)
            }
        }
        self.init(
            failures: Int(rows.int4(row, column) ?? 0), doubts: doubts,
            firstFailureAt: rows.timestamp(row, column + 2), parkings: Int(rows.int4(row, column + 3) ?? 0),
            tries: [AppleTry](stored: rows.text(row, tries)))
    }
}

extension PostgresRows {
    func timestamp(_ row: Int, _ column: Int) -> Timestamp? {
        timestampMicroseconds(row, column).map { Timestamp(milliseconds: $0 / 1000) }
    }
}
