import Encodings
import Fulfillment
import NamesAndTimes
import Postgres

extension RefundState {
    /// The columns of `find_refund_states`.
    struct Columns {
        let signedAt, revokedAt, reason, share, parts, period: PostgresColumn

        init(_ rows: PostgresRows) throws(PostgresError) {
            signedAt = try rows.column("signed_at")
            revokedAt = try rows.column("revoked_at")
            reason = try rows.column("reason")
            share = try rows.column("refunded_milli_percent")
            parts = try rows.column("earlier_parts")
            period = try rows.column("period_id")
        }
    }

    init?(_ rows: PostgresRows, _ row: Int, _ columns: Columns) {
        guard let signedAt = rows.timestamp(row, columns.signedAt) else { return nil }
        var parts = rows.text(row, columns.parts).map(Self.earlierParts) ?? []
        if let time = rows.timestamp(row, columns.revokedAt) {
            parts.append(
                GrantRevocations.Revocation(
                    at: time, reason: rows.text(row, columns.reason).flatMap(Reason.init(rawValue:)) ?? .refund,
                    milliPercent: rows.int4(row, columns.share).flatMap { Int32(exactly: $0) }))
        }
        self.init(
            signedAt: signedAt, parts: parts,
            period: rows.text(row, columns.period).map { StoreTransactionID($0) })
    }

    /// Null where the whole is taken back, or nothing.
    var storedMilliPercent: Int32? {
        revocation.flatMap { $0.milliPercent == GrantRevocations.whole ? nil : $0.milliPercent }
    }

    /// Null where there are none.
    var storedEarlierParts: String? {
        let earlier = parts.dropLast()
        guard !earlier.isEmpty else { return nil }
        var json = JSONWriter()
        json.beginArray()
        for part in earlier {
            json.beginArray()
            json.number(part.milliPercent)
            json.number(part.at.milliseconds)
            json.endArray()
        }
        json.endArray()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// A part that was taken back is a refund: anything else is the whole.
    private static func earlierParts(_ text: String) -> [GrantRevocations.Revocation] {
        guard let pairs = try? JSONParser.parse(Array(text.utf8)).value.array else { return [] }
        return pairs.compactMap { pair in
            guard let numbers = pair.array, numbers.count == 2, case .number(let share) = numbers[0],
                case .number(let time) = numbers[1], let share = Int32(share), let time = Int64(time)
            else { return nil }
            return GrantRevocations.Revocation(
                at: Timestamp(milliseconds: time), reason: .refund, milliPercent: share)
        }
    }
}
