import Encodings
import NamesAndTimes

/// The object that Unity IAP gives a game in place of a receipt: `Product.receipt` with `Store`, `TransactionID` and
/// `Payload` (source: Unity's manual, "Purchase receipts").
public struct UnityEnvelope: Sendable, Equatable {
    /// The store; nil if the envelope names none.
    public let store: String?
    /// The transaction id; nil if the envelope names none.
    public let transactionID: String?

    static let members = ["Store", "TransactionID", "Payload"]
    /// Unity's names of Apple's two stores.
    private static let appleStores = ["appleappstore", "macappstore"]

    /// Returns the cause if the envelope cannot belong to a proof with these purchases; nil if it may belong to the
    /// proof.
    /// - Parameter purchases: the proof's purchases; empty if the proof lists none that receiptd can read.
    public func cause(against purchases: [StorePurchase]) -> Cause? {
        if let causeAgainstStore { return causeAgainstStore }
        guard let named = transactionID.map({ StoreTransactionID($0) }), !purchases.isEmpty else { return nil }
        let isListed = purchases.contains { $0.transactionID == named || $0.originalTransactionID == named }
        return isListed ? nil : .envelopeMismatch
    }

    /// The cause if the envelope names a store that is not Apple's; nil if the store is Apple's or unknown.
    var causeAgainstStore: Cause? {
        guard let store else { return nil }
        if Self.appleStores.contains(store.lowercased()) { return nil }
        return store == "GooglePlay" ? .googlePlay : .otherStore
    }

    /// Reads the envelope and its payload. Returns nil if `Payload` is missing or empty, or if one of the three members
    /// is not text.
    /// - Parameter value: a JSON object.
    static func read(_ value: JSONValue) -> (envelope: UnityEnvelope, payload: String)? {
        guard case .object(let members) = value else { return nil }
        var texts: [String: String] = [:]
        for member in members where Self.members.contains(member.name) {
            switch member.value {
            case .null: continue
            case .string(let text) where texts[member.name] == nil && !text.utf8.contains(0): texts[member.name] = text
            default: return nil
            }
        }
        guard let payload = texts["Payload"], !payload.isEmpty else { return nil }
        func named(_ member: String) -> String? { texts[member].flatMap { $0.isEmpty ? nil : $0 } }
        return (UnityEnvelope(store: named("Store"), transactionID: named("TransactionID")), payload)
    }
}

extension Cause {
    /// True if the envelope around a proof is the fault. Apple's answer about the proof cannot change this fault.
    public var isOfEnvelope: Bool { [.googlePlay, .otherStore, .envelopeMismatch].contains(self) }
}
