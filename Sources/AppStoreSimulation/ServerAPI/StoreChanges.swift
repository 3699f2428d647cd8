import Encodings

/// Performs the requests of the App Store Server API that change the store.
enum StoreChanges {
    private static let deliveryStatuses: Set<String> = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
        "UNDELIVERED_OTHER",
    ]
    private static let refundPreferences: Set<String> = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]

    static func finish(_ transaction: StoreTransaction, in store: inout SimulatedStore) throws -> ServerAPIAnswer {
        try store.finish(transaction.id)
        return .done(status: 200)
    }

    /// Performs Send Consumption Information, version 2. Returns status 202 for a report that Apple accepts.
    static func consumption(
        of transaction: StoreTransaction, _ body: [UInt8], in store: inout SimulatedStore
    ) throws -> ServerAPIAnswer {
        guard transaction.isPurchased else { throw ServerAPIFault.familyTransaction }
        let told = try read(body)
        try check(told, of: transaction)
        store.consumption[transaction.id, default: []].append(told)
        return .done(status: 202)
    }

    private static func read(_ body: [UInt8]) throws -> ConsumptionInformation {
        guard let value = try? JSONParser.parse(body).value, case .object = value else {
            throw ServerAPIFault.badRequest
        }
        guard value["customerConsented"] == .bool(true) else { throw ServerAPIFault.invalidCustomerConsented }
        guard let delivery = value["deliveryStatus"]?.string, deliveryStatuses.contains(delivery) else {
            throw ServerAPIFault.invalidDeliveryStatus
        }
        guard case .bool(let isSampled) = value["sampleContentProvided"] else {
            throw ServerAPIFault.invalidSampleContentProvided
        }
        var percentage: Int?
        switch value["consumptionPercentage"] {
        case nil: break
        case .number(let text):
            guard let number = Int(text), (0...SimulatedStore.wholePercent).contains(number) else {
                throw ServerAPIFault.percentageOutOfRange
            }
            percentage = number
        default: throw ServerAPIFault.percentageOutOfRange
        }
        let preference = value["refundPreference"]
        if let preference, !refundPreferences.contains(preference.string ?? "") {
            throw ServerAPIFault.invalidRefundPreference
        }
        return ConsumptionInformation(
            customerConsented: true, deliveryStatus: delivery, sampleContentProvided: isSampled,
            consumptionPercentage: percentage, refundPreference: preference?.string)
    }

    private static func check(_ told: ConsumptionInformation, of transaction: StoreTransaction) throws {
        let isSubscription = transaction.product.plan != nil
        if isSubscription, told.consumptionPercentage != nil { throw ServerAPIFault.percentageOfSubscription }
        if told.deliveryStatus != "DELIVERED", !isSubscription, told.consumptionPercentage != 0 {
            throw ServerAPIFault.percentageOfUndelivered
        }
        if told.refundPreference == "GRANT_PRORATED", !isSubscription,
            !(1..<SimulatedStore.wholePercent).contains(told.consumptionPercentage ?? 0)
        {
            throw ServerAPIFault.percentageOutOfRange
        }
    }
}
