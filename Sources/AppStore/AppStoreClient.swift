import Fulfillment

/// The client of both of Apple's APIs: verifyReceipt for receipts, and the App Store Server API for transactions.
public struct AppStoreClient: ReceiptVerifier {
    public let receipts: VerifyReceiptClient
    public let transactions: ServerAPIClient

    public init(receipts: VerifyReceiptClient, transactions: ServerAPIClient) {
        self.receipts = receipts
        self.transactions = transactions
    }

    public func verify(_ request: VerificationRequest) async -> AppleAnswer {
        switch request.subject {
        case .receipt: await receipts.verify(request)
        case .transaction(let id, let credentials): await transactions.look(up: id, credentials, for: request)
        }
    }

    /// Ends the requests in flight. The answer of each is trouble.
    public func shutdown() async {
        await receipts.shutdown()
        await transactions.shutdown()
    }
}
