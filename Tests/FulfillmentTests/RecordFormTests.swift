import Fulfillment
import Testing

@Suite("Records on the wrong topic")
struct RecordFormTests {
    private static let records: [(form: RecordForm, value: String)] = [
        (.submission, #"{"submission_id":"s","player_id":"p","bundle_id":"b","receipt_data":"MIIB"}"#),
        (.notification, #"{"signedPayload":"e30.e30.e30"}"#), (.account, #"{"player_id":"p"}"#),
        (.consumption, #"{"transaction_id":"1","bundle_id":"b","consumption_percentage":100}"#),
        (.outcome, #"{"event_id":"e","type":"receipt.granted","submission_id":"s","player_id":"p"}"#),
    ]

    /// The hints, which name the record's form and the setting of its topic.
    private static let hints: [RecordForm: String] = [
        .submission: "it looks like a submission, whose topic is KAFKA_SUBMISSIONS_TOPIC",
        .notification: "it looks like one of Apple's notifications, whose topic is KAFKA_NOTIFICATIONS_TOPIC",
        .account: "it looks like a player's account, whose topic is KAFKA_ACCOUNTS_TOPIC",
        .consumption: "it looks like a consumption report, whose topic is KAFKA_CONSUMPTION_TOPIC",
        .outcome: "it looks like one of receiptd's own events, whose topic is KAFKA_OUTCOMES_TOPIC",
    ]

    private func refusal(of value: [UInt8], on topic: RecordForm, keys: [String] = []) -> String? {
        let key = Array("com.example.game/6e3b2f50-0c1d-4a5e-9f70-112233445566".utf8)
        switch topic {
        case .submission:
            guard
                case .deadLetter(let letter) = SubmissionDecoder(signingKeys: keys).decode(
                    key: key, value, signatureHeaders: [])
            else { return nil }
            return letter.detail
        case .account:
            guard
                case .deadLetter(let letter) = PlayerAccountDecoder(signingKeys: keys).decode(
                    key: key, value: value, signatureHeaders: [])
            else { return nil }
            return letter.detail
        case .consumption:
            guard
                case .deadLetter(let letter) = ConsumptionReportDecoder(signingKeys: keys).decode(
                    key: key, value, signatureHeaders: [])
            else { return nil }
            return letter.detail
        case .notification: return DeadLetter(notification: value, unreadable: "it has no signedPayload").detail
        case .outcome: return nil
        }
    }

    @Test("the dead letter of a record on the wrong topic names the record's form and the setting of the right topic")
    func wrongTopic() throws {
        for topic in RecordForm.allCases where topic != .outcome {
            for (form, value) in Self.records where form != topic {
                for keys in [[], ["a signing key"]] {
                    let detail = try #require(refusal(of: Array(value.utf8), on: topic, keys: keys))
                    let hint = try #require(Self.hints[form])
                    #expect(detail.hasSuffix("; \(hint)"), "\(form) on the topic of \(topic): \(detail)")
                }
            }
        }
    }

    @Test("if a malformed record has its own topic's form or no known form, its dead letter names no other topic")
    func ownTopic() throws {
        for (topic, value) in [
            (RecordForm.submission, #"{"submission_id":"s"}"#), (.account, #"{"player_id":7}"#),
            (.consumption, #"{"refund_preference":"PERHAPS"}"#), (.notification, #"{"signedPayload":7}"#),
            (.submission, "[1]"), (.account, "not JSON"), (.consumption, "{}"), (.notification, #"{"a":1}"#),
        ] {
            let detail = try #require(refusal(of: Array(value.utf8), on: topic))
            #expect(!detail.contains("looks like"), "\(value): \(detail)")
        }
    }
}
