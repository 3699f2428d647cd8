import Encodings
import Fulfillment
import NamesAndTimes

extension ProofReader: SignedDataParser {
    static func unreadable(_ field: String) -> String { "its \(field) cannot be read" }

    public func parse(transactionInfo jws: String) -> SignedReading<NotifiedTransaction> {
        switch readSignedTransaction(jws) {
        case .malformed(let why): return .unusable(why)
        case .notATransaction: return .unusable("not a transaction")
        case .nameless(let field): return .unreadable(Self.unreadable(field))
        case .unreadable(let signature): return signature.fault() ?? .unusable("not a transaction")
        case .read(let transaction):
            if let fault: SignedReading<NotifiedTransaction> = transaction.signature.fault() { return fault }
            guard let environment = transaction.environment else {
                return .unreadable(Self.unreadable("environment"))
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
            // `at: nil` checks everything but the chain's validity at a time. Data without a readable date is never
            // proven.
            let signature = token.signature(at: nil, chains: chains)
            return signature.fault()
                ?? (signedAt.isTold ? .unreadable(Self.unreadable("signedDate")) : .unusable("it has no signedDate"))
        }
        if let fault: SignedReading<RenewalInfo> = token.signature(at: time, chains: chains).fault() { return fault }
        return RenewalInfo.read(token.payload, signedAt: time)
    }
}

extension RenewalInfo {
    /// Reads renewal information that Apple signed. Refuses a transaction, which has an original transaction too.
    fileprivate static func read(_ payload: JSONValue, signedAt: Timestamp) -> SignedReading<RenewalInfo> {
        guard payload.transactionID("originalTransactionId").isTold, payload["transactionId"] == nil,
            payload.integer("autoRenewStatus").isTold || payload.identifier("autoRenewProductId").isTold
        else { return .unusable("not renewal information") }
        guard case .told(let original) = payload.transactionID("originalTransactionId") else {
            return .unreadable(ProofReader.unreadable("originalTransactionId"))
        }
        var claim = ClaimReader(payload)
        let info = RenewalInfo(
            originalTransactionID: original,
            productID: claim("productId", JSONValue.identifier),
            renewalProductID: claim("autoRenewProductId", JSONValue.identifier),
            // A number other than 0 and 1 counts as absent.
            willRenew: claim("autoRenewStatus", JSONValue.integer).flatMap { [0: false, 1: true][$0] },
            isInBillingRetry: claim("isInBillingRetryPeriod", JSONValue.flag) ?? false,
            graceExpiresAt: claim("gracePeriodExpiresDate", JSONValue.date),
            // The environment of a development machine, or an unknown environment, counts as unreadable.
            environment: claim("environment", JSONValue.storeEnvironment), signedAt: signedAt)
        if let field = claim.unreadable.first { return .unreadable(ProofReader.unreadable(field)) }
        return .proven(info)
    }
}

extension JSONValue {
    fileprivate func storeEnvironment(_ name: String) -> Claim<StoreEnvironment> {
        Claim(self[name]) { $0.string.flatMap(StoreEnvironment.init(rawValue:)) }
    }
}

extension NotifiedTransaction {
    fileprivate init(_ transaction: SignedTransaction, _ environment: StoreEnvironment) {
        self.init(
            purchase: transaction.purchase, kind: transaction.kind, bundleID: transaction.bundleID,
            environment: environment)
        signedAt = transaction.signedDate
        subscriptionGroupID = transaction.purchase.subscriptionGroupID
        previousOriginalTransactionID = transaction.purchase.previousOriginalTransactionID
    }
}

extension LocalSignature {
    /// Returns the fault of a signature that is not proven; nil if the signature is proven.
    func fault<Value>() -> SignedReading<Value>? {
        switch self {
        case .proven: nil
        case .forged(let forgery): .unusable(forgery.rawValue)
        case .notProvable(let doubt): .notProvable(doubt.rawValue)
        }
    }
}
