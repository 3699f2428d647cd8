import Encodings
import Fulfillment
import NamesAndTimes
import Postgres

extension RefundState {
    /// The columns of `find_refund_states`.
    struct Columns {
        let signedAt, revokedAt, reason, share, words, period: PostgresColumn

        init(_ rows: PostgresRows) throws(PostgresError) {
            signedAt = try rows.column("signed_at")
            revokedAt = try rows.column("revoked_at")
            reason = try rows.column("reason")
            share = try rows.column("refunded_milli_percent")
            words = try rows.column("earlier_parts")
            period = try rows.column("period_id")
        }
    }

    init?(_ rows: PostgresRows, _ row: Int, _ columns: Columns) {
        guard let signedAt = rows.timestamp(row, columns.signedAt) else { return nil }
        let revocation = rows.timestamp(row, columns.revokedAt).map { time in
            GrantRevocations.Revocation(
                at: time, reason: rows.text(row, columns.reason).flatMap(Reason.init(rawValue:)) ?? .refund,
                milliPercent: rows.int4(row, columns.share).flatMap { Int32(exactly: $0) })
        }
        var words = rows.text(row, columns.words).map([RefundWord].init(stored:)) ?? []
        if words.last?.time != signedAt { words.append(RefundWord(inForce: revocation, since: signedAt)) }
        self.init(words: words, period: rows.text(row, columns.period).map { StoreTransactionID($0) })
    }

    /// The stored share; nil if all or nothing is refunded.
    var storedMilliPercent: Int32? {
        revocation.flatMap { $0.milliPercent == GrantRevocations.whole ? nil : $0.milliPercent }
    }

    /// Apple's reports (words) in their stored form; nil if there is only one report, which the other columns have.
    var storedWords: String? {
        guard let signedAt, words != [RefundWord(inForce: revocation, since: signedAt)] else { return nil }
        return words.stored
    }
}

extension RefundWord {
    /// Creates the report that makes this revocation the one in force. If the revocation is nil, the report is a
    /// reversal.
    fileprivate init(inForce revocation: GrantRevocations.Revocation?, since time: Timestamp) {
        self.init(time: time, total: revocation, isReversal: revocation == nil)
    }
}

extension [RefundWord] {
    /// Reads stored reports; none if the text has another form. An earlier version wrote pairs: a smaller share and its
    /// date.
    fileprivate init(stored text: String) {
        let all = (try? JSONParser.parse([UInt8](text.utf8)).value.array) ?? []
        self = all.compactMap { json in
            if let pair = json.array, pair.count == 2, let share = pair[0].integer, let time = pair[1].integer {
                return RefundWord(
                    shown: GrantRevocations.Revocation(
                        at: Timestamp(milliseconds: time), reason: .refund, milliPercent: Int32(clamping: share)))
            }
            guard let time = json["time"]?.integer else { return nil }
            let total = json["at"]?.integer.map { at in
                GrantRevocations.Revocation(
                    at: Timestamp(milliseconds: at),
                    reason: json["reason"]?.string.flatMap(Reason.init(rawValue:)) ?? .refund,
                    milliPercent: json["share"]?.integer.map { Int32(clamping: $0) })
            }
            return RefundWord(
                time: Timestamp(milliseconds: time), total: total, isReversal: json["reversal"] == .bool(true),
                isTold: json["told"] == .bool(true))
        }
    }

    fileprivate var stored: String {
        var json = JSONWriter()
        json.beginArray()
        for word in self {
            json.beginObject()
            json.name("time")
            json.number(word.time.milliseconds)
            json.name("reversal")
            json.bool(word.isReversal)
            json.name("told")
            json.bool(word.isTold)
            if let total = word.total {
                json.name("at")
                json.number(total.at.milliseconds)
                json.name("share")
                json.number(total.milliPercent)
                json.member("reason", total.reason.rawValue)
            }
            json.endObject()
        }
        json.endArray()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension JSONValue {
    fileprivate var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }
}
