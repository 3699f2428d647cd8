import Encodings
import NamesAndTimes

extension OutcomeEvent {
    /// Makes the event from its stored bytes; nil if the row is damaged, so that the bytes are not an event.
    /// - Parameter period: the period that a grant pays for; nil for every other kind of event.
    public init?(stored value: [UInt8], period: StoreTransactionID? = nil) {
        guard let json = try? JSONParser.parse(value).value,
            let id = json["event_id"]?.string.flatMap(NameBasedUUID.init(text:)),
            let kind = json["type"]?.string.flatMap(Kind.init(rawValue:)),
            let playerID = json["player_id"]?.string,
            let occurredAt = json["occurred_at"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let subject = json["transaction_id"]?.string ?? json["submission_id"]?.string
                ?? json["original_transaction_id"]?.string
        else { return nil }
        self.init(
            eventID: id, kind: kind, reason: json["reason"]?.string.flatMap(Reason.init(rawValue:)),
            playerID: PlayerID(playerID), bundleID: json["bundle_id"]?.string.map { BundleID($0) },
            subject: Identifier(subject), occurredAt: occurredAt,
            risk: (json["risk"]?.array ?? []).compactMap { $0.string.flatMap(RiskSignal.init(rawValue:)) }, value: value
        )
        self.period = period
    }
}

extension NameBasedUUID {
    public init?(text: String) {
        guard let normalized = UUIDText.normalized(text) else { return nil }
        let digits = normalized.utf8.compactMap(HexDigit.value(of:))
        guard digits.count == 32 else { return nil }
        self.init(
            high: digits[..<16].reduce(0) { $0 << 4 | UInt64($1) },
            low: digits[16...].reduce(0) { $0 << 4 | UInt64($1) })
    }
}
