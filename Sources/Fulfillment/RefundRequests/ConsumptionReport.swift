import Encodings
import NamesAndTimes

/// The game's report about a transaction whose refund a player requested, or may request. The catalog gives the values
/// that the report leaves out.
public struct ConsumptionReport: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public var content: Content

    public struct Content: Sendable, Equatable {
        /// The consumed share in thousandths of a percent; nil if the report leaves it out.
        public var consumedMilliPercent: Int32?
        public var refundPreference: ConsumptionPolicy.RefundPreference?
        public var isConsented: Bool?

        public init(
            consumedMilliPercent: Int32? = nil, refundPreference: ConsumptionPolicy.RefundPreference? = nil,
            isConsented: Bool? = nil
        ) {
            self.consumedMilliPercent = consumedMilliPercent
            self.refundPreference = refundPreference
            self.isConsented = isConsented
        }
    }

    /// The consumed share of a wholly consumed purchase, in thousandths of a percent.
    static let wholeInMilliPercent: Int32 = 100_000
    /// The days for which receiptd keeps a report, because the refund request may come later.
    public static let keptDays: Int32 = 30

    public init(transactionID: StoreTransactionID, bundleID: BundleID, content: Content = Content()) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.content = content
    }
}

/// Decodes a record of the game's reports (docs/contract/catalog.md).
public struct ConsumptionReportDecoder: Sendable {
    public enum Decoded: Sendable, Equatable {
        case report(ConsumptionReport)
        case deadLetter(DeadLetter)
    }

    private let signature: RecordSignature

    /// - Parameter signingKeys: the secrets. The signature of a record must be made with one of them. If there are
    ///   none, the decoder checks no signatures.
    public init(signingKeys: [String] = []) {
        signature = RecordSignature(keys: signingKeys, of: .consumption)
    }

    /// - Parameter signatureHeaders: the values of every header `receiptd-signature`.
    public func decode(key: [UInt8]?, _ value: [UInt8]?, signatureHeaders: [[UInt8]]) -> Decoded {
        switch read(key, value, signatureHeaders) {
        case .report(let report): .report(report)
        case .deadLetter(let letter): .deadLetter(letter.naming(formOf: value, in: .consumption))
        }
    }

    private func read(_ key: [UInt8]?, _ value: [UInt8]?, _ signatureHeaders: [[UInt8]]) -> Decoded {
        guard let value else { return Self.malformed("the value is null") }
        if let refusal = signature.refusal(ofKey: key, value: value, headers: signatureHeaders) {
            return .deadLetter(refusal)
        }
        guard value.count <= SubmissionLimits.maximumBytes else {
            let detail = "the record holds more than \(SubmissionLimits.maximumBytes) bytes"
            return .deadLetter(DeadLetter(reason: .tooLarge, detail: detail))
        }
        guard let json = try? JSONParser.parse(value).value, case .object(let members) = json else {
            return Self.malformed("the value is not a JSON object")
        }
        // A record of another topic must not count as a report, even if its signature is valid.
        guard members.allSatisfy({ Self.members.contains($0.name) }), Set(members.map(\.name)).count == members.count
        else { return Self.malformed("it has a member that does not belong in this topic, or has a member twice") }
        do throws(Fault) { return .report(try Self.report(json)) } catch { return Self.malformed(error.detail) }
    }

    private static let members: Set<String> = [
        "transaction_id", "bundle_id", "consumption_percentage", "refund_preference", "customer_consented",
    ]

    private struct Fault: Error {
        let detail: String
    }

    private static func report(_ json: JSONValue) throws(Fault) -> ConsumptionReport {
        guard let transaction = json["transaction_id"]?.string, TransactionIDText.isSound(transaction) else {
            throw Fault(detail: "`transaction_id` must be \(TransactionIDText.requirement)")
        }
        guard let bundle = json["bundle_id"]?.string, !bundle.utf8.contains(0),
            (1...SubmissionLimits.maximumBundleIDScalars).contains(bundle.unicodeScalars.count)
        else {
            throw Fault(
                detail: "`bundle_id` must be a string of 1 to \(SubmissionLimits.maximumBundleIDScalars) characters")
        }
        var content = ConsumptionReport.Content()
        if let told = json["consumption_percentage"], told != .null {
            guard case .number(let text) = told, let number = Int32(text),
                (0...ConsumptionReport.wholeInMilliPercent).contains(number)
            else { throw Fault(detail: "`consumption_percentage` must be a whole number from 0 to 100000") }
            content.consumedMilliPercent = number
        }
        if let told = json["refund_preference"], told != .null {
            guard let preference = told.string.flatMap(ConsumptionPolicy.RefundPreference.init(rawValue:)) else {
                let words = ConsumptionPolicy.RefundPreference.allCases.map(\.rawValue).joined(separator: ", ")
                throw Fault(detail: "`refund_preference` must be one of \(words)")
            }
            content.refundPreference = preference
        }
        if let told = json["customer_consented"], told != .null {
            guard case .bool(let isConsented) = told else {
                throw Fault(detail: "`customer_consented` must be true or false")
            }
            content.isConsented = isConsented
        }
        return ConsumptionReport(transactionID: Identifier(transaction), bundleID: Identifier(bundle), content: content)
    }

    private static func malformed(_ detail: String) -> Decoded {
        .deadLetter(DeadLetter(reason: .malformedMessage, detail: detail))
    }
}
