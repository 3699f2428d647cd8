import NIOCore
import NamesAndTimes

/// The body of verifyReceipt's answer with status 0 or 21006, in the shape of Apple's real answers.
struct AppleAnswer {
    /// The time of the answer, in milliseconds since 1970.
    var requestDate: Int64
    var excludesOldTransactions = false
    /// True to keep `in_app` empty.
    var hidesPurchases = false
    /// The customer's data in the store, and the customer's newest receipt in base64. Nil if the store does not know
    /// the customer.
    var known: (receipt: StoreReceipt, encoded: String)?

    // MARK: iOS 7 and later

    /// - Parameter receiptData: the request's `receipt-data`. If the store has no newer receipt, the answer repeats
    ///   this text as `latest_receipt`.
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
            let told = Dictionary(known?.receipt.purchases.map { ($0.transactionID, $0) } ?? []) { $1 }
            for purchase in receipt.purchases {
                write(told[purchase.transactionID] ?? purchase, isLatest: false, into: &body)
            }
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

    /// Writes the fields that Apple's answer has only for a receipt with auto-renewable subscriptions.
    /// `latest_receipt_info` lists all purchases, newest first.
    private func writeLatest(
        _ receipt: SimulatedReceipt, receiptData: String, into body: inout ByteBuffer
    ) {
        var latest =
            known?.receipt.purchases
            ?? receipt.purchases.sorted { $0.purchaseDateMilliseconds > $1.purchaseDateMilliseconds }
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
        let encoded = known?.encoded ?? receiptData
        // A line break inside the base64 would make the JSON not valid.
        if encoded.utf8.contains(where: { $0 <= 0x20 }) {
            body.writeBytes(encoded.utf8.filter { $0 > 0x20 })
        } else {
            body.writeString(encoded)
        }
        body.writeStaticString("\",\"pending_renewal_info\":[")
        if let known {
            for renewal in known.receipt.renewals { write(renewal, into: &body) }
        } else {
            for purchase in newest { writeRenewal(after: purchase, into: &body) }
        }
        body.dropComma()
        body.writeStaticString("],")
    }

    /// Writes the renewal of a subscription that the store does not know. The answer says that the subscription will
    /// renew, unless its period has ended.
    private func writeRenewal(after purchase: SimulatedPurchase, into body: inout ByteBuffer) {
        let isExpired = (purchase.expiresDateMilliseconds ?? .max) < requestDate
        body.writeStaticString("{")
        body.writeField("\"auto_renew_product_id\":", purchase.productID)
        body.writeField("\"product_id\":", purchase.productID)
        body.writeField("\"original_transaction_id\":", purchase.originalTransactionID)
        if isExpired { body.writeStaticString("\"expiration_intent\":\"1\",") }
        body.writeStaticString(isExpired ? "\"auto_renew_status\":\"0\"}," : "\"auto_renew_status\":\"1\"},")
    }

    private func write(_ pending: StoreReceipt.PendingRenewal, into body: inout ByteBuffer) {
        let subscription = pending.subscription
        let renewal = subscription.renewal
        body.writeStaticString("{")
        body.writeField("\"auto_renew_product_id\":", renewal.product.id)
        body.writeField("\"product_id\":", subscription.product.id)
        body.writeField("\"original_transaction_id\":", subscription.originalID)
        body.writeField("\"auto_renew_status\":", quoting: renewal.isOn ? 1 : 0)
        if let end = renewal.end, pending.isOver {
            body.writeField("\"expiration_intent\":", quoting: Int64(end.rawValue))
        }
        if pending.isOver {
            body.writeField("\"is_in_billing_retry_period\":", quoting: renewal.isInBillingRetry ? 1 : 0)
        }
        if let grace = renewal.graceExpiresAt { body.writeDates("grace_period_expires_date", milliseconds: grace) }
        if let consent = renewal.priceIncreaseStatus {
            body.writeField("\"price_consent_status\":", quoting: Int64(consent))
        }
        body.dropComma()
        body.writeStaticString("},")
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
            let isInIntroOffer = purchase.told?.isInIntroOffer ?? false
            body.writeField("\"is_in_intro_offer_period\":", isInIntroOffer ? "true" : "false")
        }
        if isLatest, let told = purchase.told {
            if told.isUpgraded { body.writeField("\"is_upgraded\":", "true") }
            if let group = told.subscriptionGroupID { body.writeField("\"subscription_group_identifier\":", group) }
        }
        if isLatest, let token = purchase.appAccountToken {
            body.writeField("\"app_account_token\":", token)
        }
        body.writeField("\"in_app_ownership_type\":", purchase.ownershipType.rawValue)
        body.dropComma()
        body.writeStaticString("},")
    }

    // MARK: iOS 6

    /// - Returns: the status: 21006 for an auto-renewable subscription that has ended, else 0. The body has the receipt
    ///   in both cases.
    func write(_ receipt: SimulatedTransactionReceipt, into body: inout ByteBuffer) -> Int {
        body.writeStaticString("{\"receipt\":")
        writeOldStyle(receipt.purchase, of: receipt, into: &body)
        let newest = known?.receipt.purchases.first {
            $0.originalTransactionID == receipt.purchase.originalTransactionID
        }
        let expires = (newest ?? receipt.purchase).expiresDateMilliseconds
        let status = (expires ?? .max) < requestDate ? 21006 : 0
        if let newest, expires != nil, let known {
            body.writeStaticString(status == 0 ? ",\"latest_receipt_info\":" : ",\"latest_expired_receipt_info\":")
            writeOldStyle(newest, of: receipt, into: &body)
            if status == 0 {
                body.writeStaticString(",\"latest_receipt\":")
                var latest = receipt
                latest.purchase = newest
                latest.behaviour = nil
                body.writeQuoted(latest.base64Encoded())
            }
            let subscription = known.receipt.renewals.first {
                $0.subscription.originalID == newest.originalTransactionID
            }
            if let pending = subscription {
                let renewal = pending.subscription.renewal
                body.writeStaticString(",\"auto_renew_product_id\":")
                body.writeQuoted(renewal.product.id)
                // In iOS 6 answers these values are numbers, not text.
                body.writeStaticString(renewal.isOn ? ",\"auto_renew_status\":1" : ",\"auto_renew_status\":0")
                if pending.isOver {
                    let isRetried = renewal.isInBillingRetry
                    body.writeStaticString(",\"is_in_billing_retry_period\":")
                    body.writeStaticString(isRetried ? "\"1\"" : "\"0\"")
                    if let end = renewal.end { body.writeString(",\"expiration_intent\":\"\(end.rawValue)\"") }
                }
            }
        }
        body.writeStaticString(",\"status\":")
        body.writeDecimal(Int64(status))
        body.writeStaticString("}")
        return status
    }

    private func writeOldStyle(
        _ purchase: SimulatedPurchase, of receipt: SimulatedTransactionReceipt, into body: inout ByteBuffer
    ) {
        body.writeStaticString("{")
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
        if purchase.told != nil, let cancelled = purchase.cancellationDateMilliseconds {
            body.writeDates("cancellation_date", milliseconds: cancelled)
        }
        body.dropComma()
        body.writeStaticString("}")
    }

    /// Writes the expiry date in the three forms of iOS 6 answers: `expires_date` in milliseconds, and as text
    /// `expires_date_formatted` (GMT) and `expires_date_formatted_pst` (Los Angeles).
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
