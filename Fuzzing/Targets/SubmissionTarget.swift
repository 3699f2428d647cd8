import Encodings
import Fulfillment
import NamesAndTimes

extension FuzzTarget {
    /// The value of a record of the submissions topic.
    static let submission = FuzzTarget(
        name: "submission",
        seeds: { try SeedFiles.submissions() },
        check: { bytes in
            switch SubmissionDecoder().decode(bytes, signatureHeaders: []) {
            case .submission(let submission):
                mustHold(bytes.count <= SubmissionLimits.maximumBytes, "a submission is no larger than the limit")
                mustHold(isWithinLimits(submission), "no name is empty, too long or holds NUL")
                let again = SubmissionDecoder().decode(encoded(submission), signatureHeaders: [])
                mustHold(again == .submission(submission), "an accepted submission, written again, decodes to itself")
            case .deadLetter(let letter):
                mustHold(letter.detail.utf8.count < 256, "the detail is one sentence")
                mustHold(
                    letter.detail.utf8.allSatisfy { (0x20..<0x7F).contains($0) },
                    "the detail holds nothing that was sent")
            }
        },
        read: { _ = SubmissionDecoder().decode($0, signatureHeaders: []) },
        families: [
            .repeating("\"player_id\":\"p\",", after: "{"), .repeating("\"x\":{},", after: "{"),
            .repeating(
                "A", after: "{\"submission_id\":\"s\",\"player_id\":\"p\",\"bundle_id\":\"b\",\"receipt_data\":\"",
                before: "\"}", size: 1_000_000),
            .repeating("é", after: "{\"player_id\":\"", before: "\"}"),
            .repeating("[", after: "{\"submission_id\":\"s\",\"player_id\":\"p\",\"x\":"),
        ],
        words: [
            "submission_id", "player_id", "bundle_id", "receipt_data", "signed_transaction", "transaction_id",
            "product_id",
            "order_id", "app_account_token", "device_id", "currency", "submitted_at", "\\u0000", "null",
        ])

    private static func isWithinLimits(_ submission: Submission) -> Bool {
        let names = [submission.submissionID, submission.playerID] + [submission.deviceID].compactMap { $0 }
        guard names.allSatisfy({ (1...SubmissionLimits.maximumNameScalars).contains($0.text.unicodeScalars.count) }),
            (1...SubmissionLimits.maximumBundleIDScalars).contains(submission.bundleID.text.unicodeScalars.count)
        else { return false }
        return !(names + [submission.bundleID]).contains { $0.text.utf8.contains(0) }
    }

    private static func encoded(_ submission: Submission) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("submission_id", submission.submissionID.text)
        writer.member("player_id", submission.playerID.text)
        writer.member("bundle_id", submission.bundleID.text)
        switch submission.proof {
        case .receipt(let text): writer.member("receipt_data", text)
        case .signedTransaction(let text): writer.member("signed_transaction", text)
        case .transactionID(let id): writer.member("transaction_id", id.text)
        }
        writer.member("product_id", ifPresent: submission.productID?.text)
        writer.member("order_id", ifPresent: submission.orderID)
        writer.member("app_account_token", ifPresent: submission.appAccountToken)
        writer.member("device_id", ifPresent: submission.deviceID?.text)
        writer.member("currency", ifPresent: submission.currency)
        writer.member("submitted_at", ifPresent: submission.submittedAt?.rfc3339)
        writer.endObject()
        return writer.bytes
    }
}
