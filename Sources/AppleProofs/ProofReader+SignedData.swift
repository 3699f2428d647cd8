import Encodings
import Fulfillment
import Timestamps

extension ProofReader: SignedDataParser {
    static let unreadableContent = "Apple signed it, but it says something that cannot be read"

    public func parse(transactionInfo jws: String) -> SignedReading<NotifiedTransaction> {
        switch readSignedTransaction(jws) {
        case .malformed(let why): return .unusable(why)
        case .notATransaction: return .unusable("not a transaction")
        case .unreadable(let signature): return signature.fault() ?? .unusable("not a transaction")
        case .read(let transaction):
            if let fault: SignedReading<NotifiedTransaction> = transaction.signature.fault() { return fault }
            guard let environment = transaction.environment, transaction.isComplete else {
                return .unusable(Self.unreadableContent)
            }
            return .proven(NotifiedTransaction(transaction, environment))
        }
    }

    public func parse(renewalInfo jws: String) -> SignedReading<RenewalInfo> {
        guard jws.utf8.count <= Self.maximumSize else { return .unusable("longer than 1 MiB") }
        let token: CompactJWS
        do throws(CompactJWS.Fault) {
            token = try CompactJWS(jws)
        } catch {
            return .unusable(error.rawValue)
        }
        let signedAt = token.payload.date("signedDate")
        guard case .told(let time) = signedAt else {
            // Judged at no time: what has no readable date is proven by nobody.
            let signature = token.signature(at: nil, chains: chains)
            return signature.fault() ?? .unusable(signedAt.isTold ? Self.unreadableContent : "it has no signedDate")
        }
        if let fault: SignedReading<RenewalInfo> = token.signature(at: time, chains: chains).fault() { return fault }
        return RenewalInfo.read(token.payload, signedAt: time)
    }
}

extension RenewalInfo {
    /// Of a payload that Apple signed. A transaction is none, although it names an original transaction too.
    fileprivate static func read(_ payload: JSONValue, signedAt: Timestamp) -> SignedReading<RenewalInfo> {
        guard case .told(let original) = payload.identifier("originalTransactionId"),
            payload["transactionId"] == nil,
            payload.integer("autoRenewStatus").isTold || payload.identifier("autoRenewProductId").isTold
        else { return .unusable("not renewal information") }
        var isComplete = true
        let renews = payload.integer("autoRenewStatus").value(noting: &isComplete)
        let environment = payload.text("environment").value(noting: &isComplete)
        let info = RenewalInfo(
            originalTransactionID: original,
            productID: payload.identifier("productId").value(noting: &isComplete),
            renewalProductID: payload.identifier("autoRenewProductId").value(noting: &isComplete),
            // A number that is neither says nothing that could be told.
            willRenew: renews.flatMap { [0: false, 1: true][$0] },
            isInBillingRetry: payload.flag("isInBillingRetryPeriod").value(noting: &isComplete) ?? false,
            graceExpiresAt: payload.date("gracePeriodExpiresDate").value(noting: &isComplete),
            environment: environment.flatMap(StoreEnvironment.init(rawValue:)), signedAt: signedAt)
        // A development machine's, or one that is not known here.
        guard isComplete, environment == nil || info.environment != nil else {
            return .unusable(ProofReader.unreadableContent)
        }
        return .proven(info)
    }
}

extension NotifiedTransaction {
    fileprivate init(_ transaction: SignedTransaction, _ environment: StoreEnvironment) {
        self.init(
            purchase: transaction.purchase, kind: transaction.kind, bundleID: transaction.bundleID,
            environment: environment, refundedMilliPercent: transaction.refundedMilliPercent)
        revocationType = transaction.revocationType
        signedAt = transaction.signedDate
        subscriptionGroupID = transaction.subscriptionGroupID
        previousOriginalTransactionID = transaction.previousOriginalTransactionID
    }
}

extension LocalSignature {
    /// Nil where it is proven.
    func fault<Value>() -> SignedReading<Value>? {
        switch self {
        case .proven: nil
        case .forged(let forgery): .unusable(forgery.rawValue)
        case .notProvable(let doubt): .notProvable(doubt.rawValue)
        }
    }
}
