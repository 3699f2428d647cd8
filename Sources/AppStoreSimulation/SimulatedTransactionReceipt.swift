import Encodings
import NamesAndTimes

/// An iOS 6 style receipt of one transaction. It is the base64 of a NeXTSTEP-style property list. A value of this list
/// is the base64 of a second list, which has the purchase. Like the bytes of a `SimulatedReceipt`, the receipt contains
/// all data for the simulated App Store's answer.
public struct SimulatedTransactionReceipt: Sendable, Hashable, Codable {
    /// The spaces around `=`. Real receipts have both forms.
    public enum Spacing: String, Sendable, Hashable, Codable, CaseIterable {
        /// `"pod" = "22";`
        case spaced
        /// `"pod"="22";`
        case compact
    }

    public var bundleID: String
    public var appAppleID: Int64
    public var environment: SimulatedEnvironment
    public var applicationVersion: String
    /// The purchase. A purchase with an `expiresDateMilliseconds` is an auto-renewable subscription. The format has no
    /// place for ownership, trial and token.
    public var purchase: SimulatedPurchase
    public var spacing: Spacing
    public var behaviour: SimulatedBehaviour?

    public init(
        bundleID: String,
        appAppleID: Int64 = 0,
        environment: SimulatedEnvironment = .production,
        applicationVersion: String = "1.0",
        purchase: SimulatedPurchase,
        spacing: Spacing = .spaced,
        behaviour: SimulatedBehaviour? = nil
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.applicationVersion = applicationVersion
        self.purchase = purchase
        self.spacing = spacing
        self.behaviour = behaviour
    }

    /// Returns the base64 for `receipt-data`.
    public func base64Encoded() -> String {
        var outer = [
            (key: "signature", value: Base64.encode([UInt8](repeating: 0x5A, count: 256))),
            (key: "purchase-info", value: Base64.encode(Array(purchaseInfo().utf8))),
        ]
        if environment == .sandbox { outer.append((key: "environment", value: "Sandbox")) }
        outer.append((key: "pod", value: "22"))
        outer.append((key: "signing-status", value: "0"))
        if let behaviour {
            outer.append((key: Self.behaviourKey, value: Base64.encode(Array(behaviour.json.utf8))))
        }
        return Base64.encode(Array(PropertyListText.write(outer, isCompact: spacing == .compact).utf8))
    }

    /// Reads `receipt-data`. Returns nil if the text is not a transaction receipt.
    public init?(parsing base64: String) {
        guard let bytes = Base64.decode(base64.utf8, .standard), let parsed = ParsedTransactionReceipt(bytes) else {
            return nil
        }
        self = parsed.receipt
        behaviour = parsed.behaviourText.flatMap { SimulatedBehaviour(json: $0) }
        spacing = bytes.starts(with: "{\n".utf8) ? .spaced : .compact
    }

    /// The outer key with the base64 of the behaviour's JSON. No real receipt has it.
    static let behaviourKey = "simulated-behaviour"

    private func purchaseInfo() -> String {
        var pairs: [(key: String, value: String)] = []
        func add(_ key: String, _ value: String) { pairs.append((key, value)) }
        func addDate(_ key: String, _ milliseconds: Int64) {
            let time = Timestamp(milliseconds: milliseconds / 1000 * 1000)
            let space = UInt8(ascii: " ")
            add(key + "-pst", CivilTime(PacificTime.local(time)).text(separator: space) + " America/Los_Angeles")
            add(key + "-ms", String(milliseconds))
            add(key, CivilTime(time).text(separator: space) + " Etc/GMT")
        }
        addDate("original-purchase-date", purchase.originalPurchaseDateMilliseconds)
        addDate("purchase-date", purchase.purchaseDateMilliseconds)
        add("unique-identifier", "0000000000000000000000000000000000000000")
        add("original-transaction-id", purchase.originalTransactionID)
        add("bvrs", applicationVersion)
        add("app-item-id", String(appAppleID))
        add("transaction-id", purchase.transactionID)
        add("quantity", String(purchase.quantity))
        add("unique-vendor-identifier", "00000000-0000-0000-0000-000000000000")
        add("item-id", String(AnswerConstants.itemID))
        add("version-external-identifier", String(AnswerConstants.versionExternalID))
        add("product-id", purchase.productID)
        add("bid", bundleID)
        if let expires = purchase.expiresDateMilliseconds { add("expires-date", String(expires)) }
        if let line = purchase.webOrderLineItemID { add("web-order-line-item-id", String(line)) }
        return PropertyListText.write(pairs, isCompact: spacing == .compact)
    }
}

/// A transaction receipt as read from the decoded base64. The behaviour stays text here: `SimulationState` decodes it,
/// and caches the result.
struct ParsedTransactionReceipt {
    var receipt: SimulatedTransactionReceipt
    var behaviourText: String?

    init?(_ bytes: [UInt8]) {
        guard bytes.first == UInt8(ascii: "{"), let outer = PropertyListText.read(bytes),
            let info = outer["purchase-info"], let infoBytes = Base64.decode(info.utf8, .standard),
            let inner = PropertyListText.read(infoBytes),
            let transactionID = inner["transaction-id"], let productID = inner["product-id"],
            let bundleID = inner["bid"]
        else { return nil }
        func number(_ key: String) -> Int64? { inner[key].flatMap { Int64($0) } }
        func date(_ key: String) -> Int64 {
            // The oldest receipts have only a text such as `2012-02-18 19:23:27 Etc/GMT`.
            let text = Array((inner[key] ?? "").utf8.prefix(CivilTime.length)) + [UInt8(ascii: "Z")]
            return number(key + "-ms") ?? Timestamp(rfc3339: text)?.milliseconds ?? 0
        }
        let expires = number("expires-date")
        let purchase = SimulatedPurchase(
            transactionID: transactionID,
            originalTransactionID: inner["original-transaction-id"],
            productID: productID,
            quantity: number("quantity").map { Int($0) } ?? 1,
            kind: expires == nil ? .consumable : .autoRenewableSubscription,
            purchaseDateMilliseconds: date("purchase-date"),
            originalPurchaseDateMilliseconds: date("original-purchase-date"),
            expiresDateMilliseconds: expires,
            webOrderLineItemID: number("web-order-line-item-id"))
        receipt = SimulatedTransactionReceipt(
            bundleID: bundleID,
            appAppleID: number("app-item-id") ?? 0,
            environment: outer["environment"] == "Sandbox" ? .sandbox : .production,
            applicationVersion: inner["bvrs"] ?? "",
            purchase: purchase)
        behaviourText = outer[SimulatedTransactionReceipt.behaviourKey]
            .flatMap { Base64.decode($0.utf8, .standard) }.map { String(decoding: $0, as: UTF8.self) }
    }
}
