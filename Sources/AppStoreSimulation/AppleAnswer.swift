import NIOCore
import Timestamps

/// The body of an answer of status 0 (or 21006) in the shape of Apple's real ones.
struct AppleAnswer {
    /// Milliseconds since 1970.
    var requestDate: Int64
    var excludesOldTransactions = false
    /// Keeps `in_app` empty.
    var hidesPurchases = false

    // MARK: iOS 7 and later

    /// - Parameter receiptData: the request's, returned as `latest_receipt`.
    func write(_ receipt: SimulatedReceipt, receiptData: String, into body: inout ByteBuffer) {
        let isProduction = receipt.environment == .production
        body.writeStaticString("{\"receipt\":{\"receipt_type\":\"")
        body.writeStaticString(receipt.environment.receiptType)
        body.writeStaticString("\",")
        body.writeField("\"adam_id\":", number: isProduction ? receipt.appAppleID : 0)
        body.writeField("\"app_item_id\":", number: isProduction ? receipt.appAppleID : 0)
        body.writeField("\"bundle_id\":", receipt.bundleID)
        body.writeField("\"application_version\":", receipt.applicationVersion)
        body.writeField("\"download_id\":", number: isProduction ? AnswerConstants.downloadID : 0)
        body.writeField(
            "\"version_external_identifier\":", number: isProduction ? AnswerConstants.versionExternalID : 0)
        body.writeDates("receipt_creation_date", milliseconds: receipt.creationDateMilliseconds)
        body.writeDates("request_date", milliseconds: requestDate)
        body.writeDates("original_purchase_date", milliseconds: receipt.creationDateMilliseconds)
        body.writeField("\"original_application_version\":", receipt.applicationVersion)
        body.writeStaticString("\"in_app\":[")
        if !hidesPurchases {
            for purchase in receipt.purchases { write(purchase, isLatest: false, into: &body) }
            body.dropComma()
        }
        body.writeStaticString("]},\"environment\":\"")
        body.writeStaticString(receipt.environment.appleName)
        body.writeStaticString("\",")
        if !hidesPurchases, receipt.purchases.contains(where: { $0.kind == .autoRenewableSubscription }) {
            writeLatest(receipt, receiptData: receiptData, into: &body)
        }
        body.writeStaticString("\"status\":0}")
    }

    /// What only receipts with auto-renewable subscriptions have: newest first, other purchases included.
    private func writeLatest(
        _ receipt: SimulatedReceipt, receiptData: String, into body: inout ByteBuffer
    ) {
        var latest = receipt.purchases.sorted { $0.purchaseDateMilliseconds > $1.purchaseDateMilliseconds }
        var seen: Set<String> = []
        let newest = latest.filter { $0.kind == .autoRenewableSubscription }
            .filter { seen.insert($0.originalTransactionID).inserted }
        if excludesOldTransactions {
            let kept = Set(newest.map(\.transactionID))
            latest.removeAll { $0.kind == .autoRenewableSubscription && !kept.contains($0.transactionID) }
        }
        body.writeStaticString("\"latest_receipt_info\":[")
        for purchase in latest { write(purchase, isLatest: true, into: &body) }
        body.dropComma()
        body.writeStaticString("],\"latest_receipt\":\"")
        // Base64 that was broken into lines loses its line breaks, which JSON does not allow.
        if receiptData.utf8.contains(where: { $0 <= 0x20 }) {
            body.writeBytes(receiptData.utf8.filter { $0 > 0x20 })
        } else {
            body.writeString(receiptData)
        }
        body.writeStaticString("\",\"pending_renewal_info\":[")
        for purchase in newest {
            let isExpired = (purchase.expiresDateMilliseconds ?? .max) < requestDate
            body.writeStaticString("{")
            body.writeField("\"auto_renew_product_id\":", purchase.productID)
            body.writeField("\"product_id\":", purchase.productID)
            body.writeField("\"original_transaction_id\":", purchase.originalTransactionID)
            if isExpired { body.writeStaticString("\"expiration_intent\":\"1\",") }
            body.writeStaticString(isExpired ? "\"auto_renew_status\":\"0\"}," : "\"auto_renew_status\":\"1\"},")
        }
        body.dropComma()
        body.writeStaticString("],")
    }

    private func write(_ purchase: SimulatedPurchase, isLatest: Bool, into body: inout ByteBuffer) {
        body.writeStaticString("{")
        body.writeField("\"quantity\":", quoting: Int64(purchase.quantity))
        body.writeField("\"product_id\":", purchase.productID)
        body.writeField("\"transaction_id\":", purchase.transactionID)
        body.writeField("\"original_transaction_id\":", purchase.originalTransactionID)
        body.writeDates("purchase_date", milliseconds: purchase.purchaseDateMilliseconds)
        body.writeDates("original_purchase_date", milliseconds: purchase.originalPurchaseDateMilliseconds)
        if let expires = purchase.expiresDateMilliseconds {
            body.writeDates("expires_date", milliseconds: expires)
        }
        if let line = purchase.webOrderLineItemID {
            body.writeField("\"web_order_line_item_id\":", quoting: line)
        }
        if let cancellation = purchase.cancellationDateMilliseconds {
            body.writeDates("cancellation_date", milliseconds: cancellation)
            body.writeStaticString("\"cancellation_reason\":\"0\",")
        }
        body.writeStaticString(purchase.isTrial ? "\"is_trial_period\":\"true\"," : "\"is_trial_period\":\"false\",")
        if purchase.kind == .autoRenewableSubscription {
            body.writeStaticString("\"is_in_intro_offer_period\":\"false\",")
        }
        if isLatest, let token = purchase.appAccountToken {
            body.writeField("\"app_account_token\":", token)
        }
        body.writeField("\"in_app_ownership_type\":", purchase.ownershipType.rawValue)
        body.dropComma()
        body.writeStaticString("},")
    }

    // MARK: iOS 6

    /// - Returns: the status written: 21006 with the body still decoded for an expired auto-renewable, else 0.
    func write(_ receipt: SimulatedTransactionReceipt, into body: inout ByteBuffer) -> Int {
        let purchase = receipt.purchase
        body.writeStaticString("{\"receipt\":{")
        body.writeDates("original_purchase_date", milliseconds: purchase.originalPurchaseDateMilliseconds)
        body.writeDates("purchase_date", milliseconds: purchase.purchaseDateMilliseconds)
        body.writeField("\"original_transaction_id\":", purchase.originalTransactionID)
        body.writeField("\"transaction_id\":", purchase.transactionID)
        body.writeField("\"quantity\":", quoting: Int64(purchase.quantity))
        body.writeField("\"product_id\":", purchase.productID)
        if receipt.environment == .production {
            body.writeField("\"app_item_id\":", quoting: receipt.appAppleID)
            body.writeField("\"version_external_identifier\":", quoting: AnswerConstants.versionExternalID)
        }
        body.writeField("\"item_id\":", quoting: AnswerConstants.itemID)
        body.writeField("\"bid\":", receipt.bundleID)
        body.writeField("\"bvrs\":", receipt.applicationVersion)
        if let expires = purchase.expiresDateMilliseconds { writeExpiry(expires, into: &body) }
        if let line = purchase.webOrderLineItemID {
            body.writeField("\"web_order_line_item_id\":", quoting: line)
        }
        body.dropComma()
        let status = (purchase.expiresDateMilliseconds ?? .max) < requestDate ? 21006 : 0
        body.writeStaticString("},\"status\":")
        body.writeDecimal(Int64(status))
        body.writeStaticString("}")
        return status
    }

    /// In this style `expires_date` is the milliseconds and the texts are called `_formatted`.
    private func writeExpiry(_ milliseconds: Int64, into body: inout ByteBuffer) {
        let time = Timestamp(milliseconds: milliseconds / 1000 * 1000)
        body.writeField("\"expires_date\":", quoting: milliseconds)
        body.writeStaticString("\"expires_date_formatted\":\"")
        body.writeCivil(time)
        body.writeStaticString(" Etc/GMT\",\"expires_date_formatted_pst\":\"")
        body.writeCivil(PacificTime.local(time))
        body.writeStaticString(" America/Los_Angeles\",")
    }
}
