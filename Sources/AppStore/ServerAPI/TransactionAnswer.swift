import Encodings
import Fulfillment
import NamesAndTimes

/// The content of one answer to the App Store Server API's "Get Transaction Info".
///
/// Apple's reference defines the error codes (https://developer.apple.com/documentation/appstoreserverapi/error-codes).
public enum TransactionAnswer: Sendable, Equatable {
    case answer(AppleAnswer)
    /// 4040010: this environment does not know the transaction, but the other environment may.
    case notFound

    public struct Response {
        let status: Int
        let body: [UInt8]
        /// The end of the wait that the response's `Retry-After` asks for; nil if the header is missing.
        let retryNotBefore: Timestamp?

        public init(status: Int, body: [UInt8], retryNotBefore: Timestamp? = nil) {
            self.status = status
            self.body = body
            self.retryNotBefore = retryNotBefore
        }
    }

    /// - Parameters:
    ///   - asked: the transaction that the request named.
    ///   - proofs: the parser that proves the signed part of the answer, with the same root certificates as for
    ///     players' proofs.
    public static func parse(
        _ response: Response, asked: StoreTransactionID, proofs: any ProofParser
    ) -> TransactionAnswer {
        let status = response.status
        func trouble(_ kind: AppleAnswer.TroubleKind) -> TransactionAnswer {
            .answer(.trouble(.init(kind, retryNotBefore: response.retryNotBefore)))
        }
        switch status {
        // The body of a 401 is empty.
        case 401: return .answer(.blocked(.serverAPI))
        case 429: return trouble(.rateLimited)
        case 500...: return trouble(.serverError)
        default: break
        }
        guard let document = try? JSONParser.parse(response.body), case .object = document.value else {
            return trouble(.notJSON)
        }
        if status == 200 {
            guard !document.exceededDepth, let text = document.value["signedTransactionInfo"]?.string else {
                return trouble(.incomplete)
            }
            let reading = proofs.parse(signedTransaction: text)
            if case .unreadable(let cause) = reading, cause.isOfNamelessPurchase {
                return .answer(.refused(.unreadable))
            }
            guard case .read(let content?, .proven, _) = reading,
                content.purchases.map(\.transactionID) == [asked]
            else { return trouble(.unproven) }
            // `asReceipt` is nil if the content lacks the environment or the app.
            guard let receipt = content.asReceipt else { return trouble(.incomplete) }
            return .answer(.genuine(receipt))
        }
        switch document.value["errorCode"]?.wholeNumber {
        // 4000048 means that the id is an app transaction's, which is not a purchase.
        case 4_000_006, 4_000_048: return .answer(.refused(.invalidTransaction))
        case 4_040_010: return .notFound
        case 4_290_000: return trouble(.rateLimited)
        case 5_000_000, 5_000_001: return trouble(.serverError)
        // The other codes include 4040002, 4040004 and 4040006.
        default: return trouble(.status)
        }
    }

    /// The label value of `receiptd_apple_requests_total{result}`: `genuine`, `refused`, `blocked`, `not_found`, or the
    /// kind of trouble.
    public var label: String {
        switch self {
        case .notFound: "not_found"
        case .answer(.genuine): "genuine"
        case .answer(.refused): "refused"
        case .answer(.blocked): "blocked"
        case .answer(.trouble(let trouble)): trouble.kind.rawValue
        }
    }
}
