import Encodings
import Fulfillment
import NamesAndTimes

/// Reads App Store Server Notifications, version 2. A notification is a JWS, with the transaction in a JWS of its own
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
        case .notProvable(let doubt): return .notProvable(doubt.rawValue)
        }
        guard let id = payload["notificationUUID"]?.string.flatMap({ ReceiptText.identifier($0) }),
            let type = payload["notificationType"]?.string
        else { return .unusable("Apple signed it, but it is no notification") }
        let data = payload["data"]
        // In payloads without `data`, such as a summary, another member names the app (source: Apple's
        // `responseBodyV2DecodedPayload`).
        let app = data ?? payload["summary"] ?? payload["appData"] ?? payload["externalPurchaseToken"]
        let appAppleID = app?.integer("appAppleId") ?? .absent
        if case .unreadable = appAppleID { return .unusable("its appAppleId cannot be read") }
        var notification = StoreNotification(
            id: id, type: type, subtype: payload["subtype"]?.string, signedAt: signedAt,
            bundleID: app?["bundleId"]?.string.flatMap { ReceiptText.identifier($0) }, appAppleID: appAppleID.told,
            environment: app?["environment"]?.string.flatMap(StoreEnvironment.init(rawValue:)),
            transaction: part(data?["signedTransactionInfo"], parse(transactionInfo:)),
            renewal: part(data?["signedRenewalInfo"], parse(renewalInfo:)))
        // A state that receiptd does not know counts as absent.
        notification.state = data?.integer("status").told.flatMap(SubscriptionState.init(status:))
        notification.consumptionRequestReason = data?.identifier("consumptionRequestReason").told?.text
        return .read(notification)
    }

    private func part<Value>(_ claim: JSONValue?, _ read: (String) -> SignedReading<Value>) -> SignedPart<Value> {
        switch claim {
        case nil, .null?: return .none
        case let claim?:
            guard let jws = claim.string else { return .unusable("it is not text") }
            return switch read(jws) {
            case .proven(let value): .told(value)
            case .notProvable(let why): .notProvable(why)
            case .unusable(let why): .unusable(why)
            case .unreadable(let why): .unreadable(why)
            }
        }
    }
}
