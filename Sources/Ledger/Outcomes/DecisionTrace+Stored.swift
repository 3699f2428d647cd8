import Encodings
import Fulfillment
import NamesAndTimes

extension PendingDecision {
    /// The most Unicode scalars of a product id that are stored. The client chooses the id, and nothing else limits its
    /// length.
    private static let maximumClaim = 128

    /// The submission and its decision's trace, as JSON with short names; nil if there is no trace. The JSON contains
    /// neither the receipt nor the token.
    var storedTrace: [UInt8]? {
        guard let trace else { return nil }
        var json = JSONWriter(capacity: 192 + 80 * trace.tries.count)
        json.beginObject()
        json.member("proof", submission.proof.name)
        json.member("signature", ifPresent: trace.signature?.name)
        json.member("source", trace.source.rawValue)
        json.member("operator", ifPresent: trace.operatorName)
        json.name("catalog")
        json.number(catalogVersion)
        if let product = submission.productID?.text {
            // A text has no more scalars than bytes.
            let isBrief = product.utf8.count <= Self.maximumClaim
            let claim = product.unicodeScalars.prefix(Self.maximumClaim)
            json.member("product", isBrief ? product : String(String.UnicodeScalarView(claim)))
        }
        json.member("order", ifPresent: submission.orderID)
        json.member("device", ifPresent: submission.deviceID?.text)
        json.member("currency", ifPresent: submission.currency)
        json.member("submitted_at", ifPresent: submission.submittedAt?.rfc3339)
        if submission.appAccountToken != nil {
            json.name("token")
            json.bool(true)
        }
        if !trace.tries.isEmpty {
            json.name("tries")
            json.write(trace.tries)
        }
        json.endObject()
        return json.bytes
    }
}

extension Submission.Proof {
    /// The name of the submission's field with the proof.
    var name: String {
        switch self {
        case .receipt: "receipt_data"
        case .signedTransaction: "signed_transaction"
        case .transactionID: "transaction_id"
        }
    }
}

extension ParsedProof.Signature {
    fileprivate var name: String {
        switch self {
        case .proven: "proven"
        case .forged: "forged"
        case .notProvable: "not_provable"
        }
    }
}
