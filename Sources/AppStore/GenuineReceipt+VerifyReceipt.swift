import Encodings
import Fulfillment
import NamesAndTimes

extension GenuineReceipt {
    /// Reads an answer with status 0 or 21006 about an app receipt (iOS 7) or a single transaction (iOS 6). Keeps the
    /// name of an unreadable fact with its purchase, so that the rules can decide the other purchases. Throws if the
    /// answer names no app, or if a member for purchases is a text, a number, a boolean or an empty object.
    /// - Parameter cameAt: the time at which receiptd got the answer. It replaces a `request_date` that is missing or
    ///   unreadable.
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
        let listed = gathered.purchases.count
        if let latest = root["latest_receipt_info"] { try gathered.add(latest) }

        var reader = FieldReader()
        let account = Self.appTransactionID(receipt)
        let appAppleID = Self.appAppleID(receipt, &reader)
        let environment = Self.environment(root, receipt, &reader) ?? asked
        self.init(
            bundleID: bundleID,
            appAppleID: appAppleID,
            environment: environment,
            purchases: gathered.purchases.map { $0.purchase(by: account, besides: reader.unreadable) },
            isExpiredSubscription: isExpiredSubscription,
            holdsAutoRenewable: isExpiredSubscription || Self.renewalMarks.contains { root.told($0) != nil }
                || gathered.purchases.contains(where: \.mayRenew),
            createdAt: Self.createdAt(receipt))
        nameless = gathered.nameless
        if listed > 0 { listedLater = Set(gathered.purchases.dropFirst(listed).map(\.transactionID)) }
        guard holdsAutoRenewable else { return }
        // From here on an unreadable field counts as absent, because no purchase depends on it.
        answeredAt = receipt.date("request_date_ms", "request_date").told ?? cameAt
        renewals = Self.renewals(root, environment, at: answeredAt)
        latestReceipt = root.text("latest_receipt").told
    }

    private static func renewals(
        _ root: JSONValue, _ environment: StoreEnvironment, at answeredAt: Timestamp?
    ) -> [RenewalInfo] {
        guard let answeredAt, let told = root.told("pending_renewal_info")?.array else { return [] }
        return told.compactMap { element in
            guard let original = element.transactionID("original_transaction_id").told else { return nil }
            return RenewalInfo(
                originalTransactionID: original, productID: element.identifier("product_id").told,
                renewalProductID: element.identifier("auto_renew_product_id").told,
                willRenew: element.flag("auto_renew_status").told,
                isInBillingRetry: element.flag("is_in_billing_retry_period").told ?? false,
                graceExpiresAt: element.date("grace_period_expires_date_ms", "grace_period_expires_date").told,
                environment: environment, signedAt: answeredAt)
        }
    }

    /// The members that Apple sends only for receipts with auto-renewable subscriptions. An empty list counts as
    /// present. If in doubt, receiptd must assume such a subscription and ask Apple again, instead of remembering the
    /// answer.
    private static let renewalMarks = [
        "latest_receipt", "latest_receipt_info", "latest_expired_receipt_info", "pending_renewal_info",
        "auto_renew_status",
    ]

    /// Returns Apple's number of the app. `item_id` in iOS 6 receipts is not the app's number, but the product's.
    private static func appAppleID(_ receipt: JSONValue, _ reader: inout FieldReader) -> Int64? {
        for name in ["adam_id", "app_item_id"] {
            if let number = reader(name, receipt.wholeNumber(name)), number != 0 { return number }
        }
        return nil
    }

    /// Returns the receipt's `app_transaction_id`, which identifies an Apple account in one app. An unreadable id
    /// counts as absent, because only a risk signal depends on it.
    private static func appTransactionID(_ receipt: JSONValue) -> AppTransactionID? {
        if case .value(let id) = receipt.identifier("app_transaction_id") { id } else { nil }
    }

    /// Returns the creation date of an app receipt. An unreadable date counts as absent. If the date is absent,
    /// receiptd does not ask Apple about purchases that the receipt lacks.
    private static func createdAt(_ receipt: JSONValue) -> Timestamp? {
        let told = receipt.date("receipt_creation_date_ms", "receipt_creation_date")
        if case .value(let time) = told { return time }
        return nil
    }

    /// Returns the environment that the answer names; nil if it names none. If nil, the environment of the request
    /// counts.
    private static func environment(
        _ root: JSONValue, _ receipt: JSONValue, _ reader: inout FieldReader
    ) -> StoreEnvironment? {
        for place in [root, receipt] where place.told("environment") != nil {
            let environment = place.text("environment").told.flatMap(StoreEnvironment.init(rawValue:))
            if environment == nil { reader.note("environment") }
            return environment
        }
        guard receipt.told("receipt_type") != nil else { return nil }
        switch receipt.text("receipt_type").told {
        case "Production", "ProductionVPP": return .production
        case "ProductionSandbox", "ProductionVPPSandbox", "Sandbox": return .sandbox
        default:
            reader.note("receipt_type")
            return nil
        }
    }
}

/// The transactions from several members of an answer, one for each id.
private struct PurchaseGathering {
    private(set) var purchases: [PurchaseFields] = []
    private(set) var nameless: [NamelessPurchase] = []
    private var positions: [StoreTransactionID: Int] = [:]

    /// Adds an array of transactions, or a single transaction. Adds nothing for null. Throws for any other value.
    mutating func add(_ value: JSONValue) throws(IncompleteAnswer) {
        switch value {
        case .null: return
        case .array(let elements):
            for element in elements { add(PurchaseFields.read(element)) }
        case .object(let members) where !members.isEmpty: add(PurchaseFields.read(value))
        default: throw IncompleteAnswer()
        }
    }

    private mutating func add(_ reading: PurchaseFields.Reading) {
        switch reading {
        case .purchase(let fields): add(fields)
        case .nameless(let purchase): if !nameless.contains(purchase) { nameless.append(purchase) }
        }
    }

    private mutating func add(_ fields: PurchaseFields) {
        if let position = positions[fields.transactionID] {
            purchases[position].merge(fields)
        } else {
            positions[fields.transactionID] = purchases.count
            purchases.append(fields)
        }
    }
}
