import Encodings
import Fulfillment
import NamesAndTimes

extension Submission {
    /// The submission in the form of a record of the submissions topic, which `SubmissionDecoder` can read.
    var storedBytes: [UInt8] {
        var json = JSONWriter(capacity: 512 + proof.length)
        json.beginObject()
        json.member("submission_id", submissionID.text)
        json.member("player_id", playerID.text)
        json.member("bundle_id", bundleID.text)
        switch proof {
        case .receipt(let text): json.proof(text, in: envelope, as: "receipt_data")
        case .signedTransaction(let text): json.proof(text, in: envelope, as: "signed_transaction")
        case .transactionID(let id): json.member("transaction_id", id.text)
        }
        json.member("product_id", ifPresent: productID?.text)
        json.member("order_id", ifPresent: orderID)
        json.member("app_account_token", ifPresent: appAccountToken)
        json.member("device_id", ifPresent: deviceID?.text)
        json.member("currency", ifPresent: currency)
        json.member("submitted_at", ifPresent: submittedAt?.rfc3339)
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func proof(_ text: String, in envelope: UnityEnvelope?, as name: StaticString) {
        guard let envelope else { return member(name, text) }
        self.name(name)
        beginObject()
        member("Store", ifPresent: envelope.store)
        member("TransactionID", ifPresent: envelope.transactionID)
        member("Payload", text)
        endObject()
    }
}

extension Submission.Proof {
    /// The length in bytes.
    var length: Int {
        switch self {
        case .receipt(let text), .signedTransaction(let text): text.utf8.count
        case .transactionID(let id): id.text.utf8.count
        }
    }
}
