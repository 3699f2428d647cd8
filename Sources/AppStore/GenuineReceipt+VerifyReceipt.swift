import Encodings
import Fulfillment
import Timestamps

extension GenuineReceipt {
    /// Reads an answer of status 0 or 21006, of an app receipt (iOS 7) or of a single transaction (iOS 6). All of it or
    /// nothing: one transaction that cannot be read makes the whole answer incomplete, for it may be the paid one.
    /// - Parameter cameAt: taken where the answer has no time of Apple's own.
    init(
        _ root: JSONValue, isExpiredSubscription: Bool, asked: StoreEnvironment, cameAt: Timestamp?
    ) throws(IncompleteAnswer) {
        guard let receipt = root["receipt"], case .object = receipt else { throw IncompleteAnswer() }
        let named = try receipt.identifier("bundle_id").optional()
        let namedInOldStyle = try receipt.identifier("bid").optional()
        guard let bundleID = named ?? namedInOldStyle else { throw IncompleteAnswer() }

        var gathered = PurchaseGathering()
        if let purchases = receipt["in_app"] {
            try gathered.add(purchases)
        } else if receipt["transaction_id"] != nil || receipt["product_id"] != nil {
            try gathered.add(receipt)
        }
        if let latest = root["latest_receipt_info"] { try gathered.add(latest) }

        let account = Self.appTransactionID(receipt)
        self.init(
            bundleID: bundleID,
            appAppleID: try Self.appAppleID(receipt),
            environment: try Self.environment(root, receipt) ?? asked,
            purchases: gathered.purchases.map { $0.purchase(by: account) },
            isExpiredSubscription: isExpiredSubscription,
            holdsAutoRenewable: isExpiredSubscription || Self.renewalMarks.contains { root.told($0) != nil }
                || gathered.purchases.contains(where: \.mayRenew),
            createdAt: Self.createdAt(receipt))
        guard holdsAutoRenewable else { return }
        // What cannot be read of the rest counts as absent: no purchase waits for it.
        answeredAt = receipt.date("request_date_ms", "request_date").told ?? cameAt
        renewals = Self.renewals(root, environment, at: answeredAt)
        latestReceipt = root.text("latest_receipt").told
    }

    private static func renewals(
        _ root: JSONValue, _ environment: StoreEnvironment, at answeredAt: Timestamp?
    ) -> [RenewalInfo] {
        guard let answeredAt, let told = root.told("pending_renewal_info")?.array else { return [] }
        return told.compactMap { element in
            guard let original = element.identifier("original_transaction_id").told else { return nil }
            return RenewalInfo(
                originalTransactionID: original, productID: element.identifier("product_id").told,
                renewalProductID: element.identifier("auto_renew_product_id").told,
                willRenew: element.flag("auto_renew_status").told,
                isInBillingRetry: element.flag("is_in_billing_retry_period").told ?? false,
                graceExpiresAt: element.date("grace_period_expires_date_ms", "grace_period_expires_date").told,
                environment: environment, signedAt: answeredAt)
        }
    }

    /// Members that Apple sends only for receipts with auto-renewable subscriptions. An empty one counts: in doubt an
    /// answer is not remembered.
    private static let renewalMarks = [
        "latest_receipt", "latest_receipt_info", "latest_expired_receipt_info", "pending_renewal_info",
        "auto_renew_status",
    ]

    /// `item_id`, beside them in iOS 6 receipts, is the product's number, not the app's.
    private static func appAppleID(_ receipt: JSONValue) throws(IncompleteAnswer) -> Int64? {
        for name in ["adam_id", "app_item_id"] {
            if let number = try receipt.wholeNumber(name).optional(), number != 0 { return number }
        }
        return nil
    }

    /// One account's, for a receipt is one account's in one app. Only a signal depends on it: what cannot be read counts as absent.
    private static func appTransactionID(_ receipt: JSONValue) -> AppTransactionID? {
        if case .value(let id) = receipt.identifier("app_transaction_id") { id } else { nil }
    }

    /// Of an app receipt. One that cannot be read counts as absent: then nothing that is not in the receipt counts.
    private static func createdAt(_ receipt: JSONValue) -> Timestamp? {
        let told = receipt.date("receipt_creation_date_ms", "receipt_creation_date")
        if case .value(let time) = told { return time }
        return nil
    }

    /// Nil where nothing says so: then it is the environment that was asked.
    private static func environment(
        _ root: JSONValue, _ receipt: JSONValue
    ) throws(IncompleteAnswer) -> StoreEnvironment? {
        for place in [root, receipt] {
            guard let told = try place.text("environment").optional() else { continue }
            guard let environment = StoreEnvironment(rawValue: told) else { throw IncompleteAnswer() }
            return environment
        }
        switch try receipt.text("receipt_type").optional() {
        case "Production", "ProductionVPP": return .production
        case "ProductionSandbox", "ProductionVPPSandbox", "Sandbox": return .sandbox
        case nil: return nil
        default: throw IncompleteAnswer()
        }
    }
}

/// Transactions from several places of an answer, one for each id.
private struct PurchaseGathering {
    private(set) var purchases: [PurchaseFields] = []
    private var positions: [StoreTransactionID: Int] = [:]

    /// Takes an array of transactions, or a single one.
    mutating func add(_ value: JSONValue) throws(IncompleteAnswer) {
        switch value {
        case .null: return
        case .array(let elements):
            for element in elements { try add(PurchaseFields(element)) }
        default: try add(PurchaseFields(value))
        }
    }

    private mutating func add(_ fields: PurchaseFields) throws(IncompleteAnswer) {
        if let position = positions[fields.transactionID] {
            try purchases[position].merge(fields)
        } else {
            positions[fields.transactionID] = purchases.count
            purchases.append(fields)
        }
    }
}
