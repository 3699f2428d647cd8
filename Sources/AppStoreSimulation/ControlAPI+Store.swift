import Foundation
import NIOCore

/// Serves the store over the control API:
///
/// - `POST /control/apps`: `{"bundleID":"…","appAppleID":1,"products":{…},"hasNotificationURL":true}`
/// - `POST /control/store`: performs a `StoreAction`; answers with the transaction's id and JWS
/// - `GET /control/store`: the state of the store now, a `StoreSummary`
/// - `GET /control/notifications?from=0`: the notifications, `{id,type,subtype,transaction_id,body}`, oldest first
/// - `GET /control/receipt?bundle_id=…&account=…&environment=sandbox`: the app receipt on the account's device
extension ControlAPI {
    private static let notificationLimit = 1000

    struct Told: Encodable {
        let id: String
        let type: String
        let subtype: String?
        let transactionID: String?
        let body: String

        enum CodingKeys: String, CodingKey {
            case id
            case type
            case subtype
            case transactionID = "transaction_id"
            case body
        }
    }

    /// Returns the answer to a request about the store; nil for every other path.
    func answerOfStore(_ isPost: Bool, _ uri: String, _ body: ByteBuffer) throws -> Reply? {
        let store = service.store
        let now = service.now()
        let components = URLComponents(string: uri)
        func value(_ name: String) -> String? { components?.queryItems?.last { $0.name == name }?.value }
        switch (isPost, uri.prefix { $0 != "?" }) {
        case (true, "/control/apps"):
            let app = try decode(SimulatedApp.self, body)
            store.change(now: now) { $0.add(app) }
            return .done
        case (true, "/control/store"):
            let action = try decode(StoreAction.self, body)
            let id = try store.change(now: now) { try action.perform(in: &$0) }
            let claims = try store.read { try $0.transaction(id).claims(signedAt: now) }
            return try json(["transaction_id": id, "signed_transaction_info": store.sign(claims)])
        case (false, "/control/store"): return try json(store.read { $0.summary(at: now) })
        case (false, "/control/notifications"):
            let first = value("from").flatMap { Int($0) } ?? 0
            let told = store.notifications(from: max(0, first), limit: Self.notificationLimit).map {
                Told(id: $0.id, type: $0.type, subtype: $0.subtype, transactionID: $0.transactionID, body: $0.body)
            }
            return try json(told)
        case (false, "/control/receipt"):
            let account = SimulatedAccount(
                value("account") ?? "", bundleID: value("bundle_id") ?? "",
                environment: value("environment") == "sandbox" ? .sandbox : .production)
            let receipt = store.read { $0.receipt(of: account, createdAt: now) }
            return try json(["receipt_data": store.encoded(receipt)])
        default: return nil
        }
    }
}
