import Fulfillment

/// App Store Server Notifications, version 2: a JWS around what happened, with the transaction in a JWS of its own
/// (source: Apple's `responseBodyV2DecodedPayload`).
extension ProofReader: NotificationParser {
    public func parse(notification body: [UInt8]) -> NotificationReading {
        guard body.count <= Self.maximumSize else { return .unusable("longer than 1 MiB") }
        guard let json = try? JSONParser.parse(body).value, case .object = json else {
            return .unusable("not a JSON object")
        }
        guard let jws = json["signedPayload"]?.string else { return .unusable("it has no signedPayload") }
        let token: CompactJWS
        do throws(CompactJWS.Fault) {
            token = try CompactJWS(jws)
        } catch {
            return .unusable(error.rawValue)
        }
        let payload = token.payload
        guard case .told(let signedAt) = payload.date("signedDate") else {
            let isTold = payload.date("signedDate").isTold
            return .unusable(isTold ? "its signedDate cannot be read" : "it has no signedDate")
        }
        switch token.signature(at: signedAt, chains: chains) {
        case .proven: break
        case .forged(let forgery): return .unusable(forgery.rawValue)
        case .notProvable(let doubt): return .unusable(doubt.rawValue)
        }
        guard let id = payload["notificationUUID"]?.string.flatMap({ ReceiptText.identifier($0) }),
            let type = payload["notificationType"]?.string
        else { return .unusable("Apple signed it, but it is no notification") }
        let data = payload["data"]
        let appAppleID = data?.integer("appAppleId") ?? .absent
        if case .unreadable = appAppleID { return .unusable("its appAppleId cannot be read") }
        return .read(
            StoreNotification(
                id: id, type: type, signedAt: signedAt,
                bundleID: data?["bundleId"]?.string.flatMap { ReceiptText.identifier($0) },
                appAppleID: appAppleID.told,
                environment: data?["environment"]?.string.flatMap(StoreEnvironment.init(rawValue:)),
                transaction: transaction(data?["signedTransactionInfo"]?.string)))
    }

    private func transaction(_ jws: String?) -> StoreNotification.Transaction {
        guard let jws else { return .none }
        switch readSignedTransaction(jws) {
        case .malformed(let why): return .unusable(why)
        case .notATransaction: return .unusable("not a transaction")
        case .unreadable(let signature): return .unusable(signature.fault ?? "not a transaction")
        case .read(let transaction):
            if let fault = transaction.signature.fault { return .unusable(fault) }
            guard let environment = transaction.environment, transaction.isComplete else {
                return .unusable("Apple signed it, but it says something that cannot be read")
            }
            return .told(
                NotifiedTransaction(
                    purchase: transaction.purchase, kind: transaction.kind, bundleID: transaction.bundleID,
                    environment: environment,
                    refundedMilliPercent: transaction.refundedMilliPercent))
        }
    }
}

extension LocalSignature {
    /// Nil where it is proven.
    fileprivate var fault: String? {
        switch self {
        case .proven: nil
        case .forged(let forgery): forgery.rawValue
        case .notProvable(let doubt): doubt.rawValue
        }
    }
}
