import Fulfillment
import NamesAndTimes

/// An app receipt's facts about its app and its purchases.
struct ReceiptPayload {
    private(set) var bundleID: BundleID?
    private(set) var appAppleID: Int64?
    private(set) var environment: StoreEnvironment?
    /// True if a development machine issued the receipt.
    private(set) var isLocal = false
    private(set) var creationDate: Timestamp?
    private(set) var purchases: [StorePurchase] = []
    private(set) var kinds: [ProductKind?] = []
    private(set) var unreadablePurchases = 0
    private(set) var holdsAutoRenewable = false
    /// True if Apple's number of the app is present but unreadable.
    private(set) var hasUnreadableFields = false

    /// Throws if the bytes are not a payload. If an attribute other than a purchase comes twice, the first readable
    /// value counts.
    init(_ bytes: [UInt8]) throws(BERFault) {
        var attributes = try ReceiptAttributeReader(bytes, in: 0..<bytes.count)
        while let (type, value) = try attributes.next() {
            switch type {
            case ReceiptAttribute.environment where environment == nil:
                let type = attributes.text(value)
                environment = type.flatMap(StoreEnvironment.init(receiptType:))
                isLocal = type.map { ["Xcode", "LocalTesting"].contains($0) } ?? false
            case ReceiptAttribute.appAppleID where appAppleID == nil:
                appAppleID = attributes.integer(value)
                if appAppleID == nil, !value.isEmpty { hasUnreadableFields = true }
            case ReceiptAttribute.bundleID where bundleID == nil:
                bundleID = attributes.identifier(value)
            case ReceiptAttribute.creationDate where creationDate == nil:
                creationDate = attributes.text(value).flatMap(Timestamp.init(rfc3339:))
            case ReceiptAttribute.purchase:
                append(ReceiptPurchase(bytes, in: value))
            default: break
            }
        }
    }

    private mutating func append(_ purchase: ReceiptPurchase?) {
        guard let purchase else {
            unreadablePurchases += 1
            return
        }
        purchases.append(purchase.purchase)
        kinds.append(purchase.kind)
        if purchase.isAutoRenewable { holdsAutoRenewable = true }
    }
}

extension StoreEnvironment {
    /// Reads `Production`, `ProductionVPP`, `ProductionSandbox`, `ProductionVPPSandbox` or `Sandbox`. Returns nil for
    /// other types, such as a development machine's.
    init?(receiptType: String) {
        switch receiptType {
        case "Production", "ProductionVPP": self = .production
        case "ProductionSandbox", "ProductionVPPSandbox", "Sandbox": self = .sandbox
        default: return nil
        }
    }
}

/// The limits of the names in a receipt. PostgreSQL can store every name within these limits.
enum ReceiptText {
    static let maximumIdentifierSize = 256

    /// Returns nil if the name is empty or too long, or if it has a NUL, which PostgreSQL cannot store in text.
    static func identifier(_ text: String) -> Identifier? {
        var text = text
        let isName = text.withUTF8 { utf8 in
            !utf8.isEmpty && utf8.count <= maximumIdentifierSize && !utf8.contains(0)
        }
        return isName ? Identifier(text) : nil
    }
}
