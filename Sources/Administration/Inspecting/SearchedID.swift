import AppleProofs
import Encodings
import Foundation
import Fulfillment
import Kafka
import NamesAndTimes

/// An id to find in records. The search parses a record only if the record may have the id.
package struct SearchedID: Sendable {
    let text: String
    private let bytes: [UInt8]
    /// True if JSON never escapes a character of the id. Then a record without the id's bytes does not have the id.
    private let isPlain: Bool
    private let isTransaction: Bool
    private let proofs: ProofReader

    package init(_ text: String, roots: AppleRoots) {
        self.text = text
        bytes = Array(text.utf8)
        isPlain = bytes.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x40, 0x5F: true
            default: false
            }
        }
        isTransaction = TransactionIDText.isSound(text)
        proofs = ProofReader(roots: roots)
    }

    var key: [UInt8] { bytes }

    /// Returns the submission in a record if the submission has the id; nil otherwise.
    func submission(in record: ConsumerRecord) -> Submission? {
        guard let value = record.value else { return nil }
        // A transaction id may be inside of the proof. The proof is encoded, so the record's bytes do not show the id.
        guard isTransaction || !isPlain || record.key == bytes || Self.holds(value, bytes) else { return nil }
        guard case .submission(let submission) = SubmissionDecoder().decode(value, signatureHeaders: []) else {
            return nil
        }
        let id = Identifier(text)
        if submission.playerID == id || submission.submissionID == id || submission.orderID == text {
            return submission
        }
        return isTransaction && isOf(submission.proof) ? submission : nil
    }

    private func isOf(_ proof: Submission.Proof) -> Bool {
        let id = Identifier(text)
        if case .transactionID(let told) = proof { return told == id }
        // The search decides nothing, so it checks no signature.
        let parsed = try? DecodedProof(proof)?.parsed(by: proofs, provingWhere: { _ in false })
        return (parsed?.content?.purchases ?? []).contains { $0.transactionID == id || $0.originalTransactionID == id }
    }

    /// Returns the rejection in a record of the outcomes topic if the rejection has the id; nil otherwise.
    func answer(in record: ConsumerRecord) -> KafkaFindings.Answer? {
        guard let value = record.value, !isPlain || record.key == bytes || Self.holds(value, bytes),
            let event = try? JSONParser.parse(value).value,
            event["type"]?.string == OutcomeEvent.Kind.rejected.rawValue
        else { return nil }
        let names = ["player_id", "submission_id", "order_id", "event_id"].map { event[$0]?.string }
        let listed = (event["transactions"]?.array ?? []).map { $0["transaction_id"]?.string }
        let id = Identifier(text)
        guard (names + listed).contains(where: { $0.map { Identifier($0) } == id }) else { return nil }
        return KafkaFindings.Answer(
            eventID: event["event_id"]?.string ?? "?", reason: event["reason"]?.string ?? "?",
            detail: event["detail"]?.string ?? "", detailCode: event["detail_code"]?.string,
            submissionID: event["submission_id"]?.string ?? "?",
            playerID: event["player_id"]?.string ?? "?", occurredAt: event["occurred_at"]?.string ?? "?",
            partition: record.topicPartition.partition, offset: record.offset)
    }

    /// Returns true if `part` occurs in `value`, or is empty.
    static func holds(_ value: [UInt8], _ part: [UInt8]) -> Bool {
        guard let first = part.first else { return true }
        return value.withUnsafeBytes { value in
            part.withUnsafeBytes { part in
                guard let start = value.baseAddress, let sought = part.baseAddress else { return false }
                var index = 0
                while index + part.count <= value.count {
                    let left = value.count - part.count + 1 - index
                    guard let found = memchr(start + index, Int32(first), left) else { return false }
                    if memcmp(found, sought, part.count) == 0 { return true }
                    index = UnsafeRawPointer(found) - start + 1
                }
                return false
            }
        }
    }
}
