import Encodings

/// The JSON body of a request to verifyReceipt.
struct VerifyReceiptRequest {
    private static let names = JSONNames(["receipt-data", "password", "exclude-old-transactions"])

    let receiptData: String?
    let password: String?
    let excludesOldTransactions: Bool

    /// Returns nil if the body is not a JSON object.
    init?(_ body: [UInt8]) {
        guard let value = try? JSONParser.parse(body, keeping: Self.names).value, case .object = value else {
            return nil
        }
        receiptData = value["receipt-data"]?.string
        password = value["password"]?.string
        excludesOldTransactions = value["exclude-old-transactions"] == .bool(true)
    }
}
