import Fulfillment

/// The client of Apple's two APIs: verifyReceipt for receipts, and the App Store Server API for transactions.
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

    /// Ends the requests in flight. Each of these requests gets trouble as its answer.
    public func shutdown() async {
        await receipts.shutdown()
        await transactions.shutdown()
    }
}
