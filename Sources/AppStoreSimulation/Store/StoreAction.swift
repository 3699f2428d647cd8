/// A change of the store, as JSON in a request to the control API.
///
/// `{"action":"buy","bundle_id":"…","account":"lena","product":"gems","token":"…","quantity":3,"offer":{"type":1}}`,
/// `{"action":"refund","transaction_id":"…","milli_percent":33333}` and so on; `Name` lists all actions.
struct StoreAction: Decodable {
    enum Name: String, Decodable, CaseIterable {
        case buy
        case restore
        case finish
        case renew
        case turnOff = "turn_off"
        case turnOn = "turn_on"
        case failToRenew = "fail_to_renew"
        case endGrace = "end_grace"
        case expire
        case upgrade
        case downgrade
        case raisePrice = "raise_price"
        case agreeToPrice = "agree_to_price"
        case extend
        case requestRefund = "request_refund"
        case refund
        case reverseRefund = "reverse_refund"
        case declineRefund = "decline_refund"
        case revoke
        case send
    }

    struct Missing: Error, CustomStringConvertible {
        let field: String
        var description: String { "\(field) is missing" }
    }

    let action: Name
    /// The id of the transaction, or of any period of the subscription; nil for an action that needs neither.
    private let transactionID: String?
    private let bundleID: String?
    private let account: String?
    private let environment: SimulatedEnvironment?
    private let product: String?
    private let token: String?
    private let quantity: Int?
    private let offer: SimulatedOffer?
    private let ownership: String?
    /// The reason of the subscription's end (1 to 4), for `expire`; nil for another action.
    private let end: StoreSubscription.End?
    private let reason: String?
    private let milliseconds: Int64?
    private let milliPercent: Int?
    /// The notification's type, for `send`; nil for another action.
    private let type: String?
    private let subtype: String?

    enum CodingKeys: String, CodingKey {
        case action
        case transactionID = "transaction_id"
        case bundleID = "bundle_id"
        case account
        case environment
        case product
        case token
        case quantity
        case offer
        case ownership
        case end
        case reason
        case milliseconds
        case milliPercent = "milli_percent"
        case type
        case subtype
    }

    /// Performs the action.
    /// - Returns: the id of the transaction that the action made or changed.
    func perform(in store: inout SimulatedStore) throws -> String {
        if action == .buy {
            let account = SimulatedAccount(
                try needed(account, "account"), bundleID: try needed(bundleID, "bundle_id"),
                environment: environment ?? .production)
            var terms = SimulatedTerms(accountToken: token, quantity: quantity ?? 1, offer: offer)
            if let ownership { terms.ownership = ownership }
            return try store.buy(needed(product, "product"), by: account, terms).id
        }
        let id = try needed(transactionID, "transaction_id")
        switch action {
        case .restore: return try store.restore(id).id
        case .renew: return try store.renew(id).id
        case .upgrade: return try store.upgrade(id, to: needed(product, "product")).id
        case .downgrade: try store.downgrade(id, to: needed(product, "product"))
        case .turnOff, .turnOn: try store.setRenewal(of: id, isOn: action == .turnOn)
        case .failToRenew: try store.failToRenew(id)
        case .endGrace: try store.endGrace(id)
        case .expire: try store.expire(id, end ?? .customerCancelled)
        case .raisePrice, .agreeToPrice: try store.raisePrice(of: id, isAgreed: action == .agreeToPrice)
        case .extend: try store.extend(id, milliseconds: needed(milliseconds, "milliseconds"))
        default: try performOnPurchase(id, in: &store)
        }
        return id
    }

    private func performOnPurchase(_ id: String, in store: inout SimulatedStore) throws {
        switch action {
        case .requestRefund: try store.requestRefund(of: id, reason: reason ?? "UNINTENDED_PURCHASE")
        case .refund: try store.refund(id, milliPercent: milliPercent, subtype: subtype)
        case .reverseRefund: try store.reverseRefund(of: id)
        case .declineRefund: try store.declineRefund(of: id)
        case .revoke: try store.revoke(id)
        case .send: try store.send(needed(type, "type"), subtype, of: id)
        default: try store.finish(id)
        }
    }

    private func needed<Value>(_ value: Value?, _ field: String) throws -> Value {
        guard let value else { throw Missing(field: field) }
        return value
    }
}
