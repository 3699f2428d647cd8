import Encodings

/// The form of a record on one of receiptd's topics. The member names of the record's JSON object show its form.
public enum RecordForm: Sendable, CaseIterable {
    case submission
    case notification
    case account
    case consumption
    case outcome

    /// Makes the form of a record; nil if its value has none of the forms.
    /// - Parameter value: a record's value.
    public init?(of value: [UInt8]) {
        guard value.count <= SubmissionLimits.maximumBytes, let document = try? JSONParser.parse(value),
            case .object(let members) = document.value
        else { return nil }
        let names = Set(members.map(\.name))
        // The first matching form counts, because an outcome also has a submission's names, and a submission also has
        // `player_id`.
        let form = Self.signs.first { !$0.names.isDisjoint(with: names) }?.form
        guard let form = form ?? (names == ["player_id"] ? .account : nil) else { return nil }
        self = form
    }

    private static let signs: [(form: RecordForm, names: Set<String>)] = [
        (.outcome, ["event_id"]),
        (.notification, ["signedPayload"]),
        (.consumption, ["consumption_percentage", "refund_preference", "customer_consented"]),
        (.submission, ["submission_id", "receipt_data", "signed_transaction"]),
    ]

    /// The form's name with an article, and the setting that names the form's topic.
    private var words: (name: String, setting: String) {
        switch self {
        case .submission: ("a submission", "KAFKA_SUBMISSIONS_TOPIC")
        case .notification: ("one of Apple's notifications", "KAFKA_NOTIFICATIONS_TOPIC")
        case .account: ("a player's account", "KAFKA_ACCOUNTS_TOPIC")
        case .consumption: ("a consumption report", "KAFKA_CONSUMPTION_TOPIC")
        case .outcome: ("one of receiptd's own events", "KAFKA_OUTCOMES_TOPIC")
        }
    }

    fileprivate var hint: String { "it looks like \(words.name), whose topic is \(words.setting)" }
}

extension DeadLetter {
    /// Returns the dead letter. If the record has the form of another topic's records, adds that topic's setting to the
    /// detail.
    /// - Parameters:
    ///   - form: the form of the records on the topic from which the record came.
    ///   - value: the record's value.
    public func naming(formOf value: [UInt8]?, in form: RecordForm) -> DeadLetter {
        guard reason == .malformedMessage || reason == .badSignature, let value, let own = RecordForm(of: value),
            own != form
        else { return self }
        return DeadLetter(
            reason: reason, detail: "\(detail); \(own.hint)", code: cause.code, sender: sender, lastOffset: lastOffset)
    }

    /// Makes the dead letter of a record on the notifications topic that is not a notification.
    /// - Parameter why: one sentence, with nothing from the record.
    public init(notification value: [UInt8], unreadable why: String) {
        self = DeadLetter(reason: .malformedMessage, detail: why).naming(formOf: value, in: .notification)
    }
}
