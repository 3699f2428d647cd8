import Encodings

/// The facts about a customer that verifyReceipt takes from the store, not from the request's receipt.
struct StoreReceipt: Sendable {
    /// An entry of `pending_renewal_info`.
    struct PendingRenewal: Sendable {
        let subscription: StoreSubscription
        let isOver: Bool
    }

    /// The purchases, newest first, without finished consumables.
    let purchases: [SimulatedPurchase]
    /// The customer's newest app receipt, for `latest_receipt`.
    let newest: SimulatedReceipt
    let renewals: [PendingRenewal]
}

extension SimulatedStore {
    /// Returns the app receipt that the account's device would get from Apple now.
    public func receipt(of account: SimulatedAccount, createdAt: Int64) -> SimulatedReceipt {
        SimulatedReceipt(
            bundleID: account.bundleID, appAppleID: apps[account.bundleID]?.appAppleID ?? 0,
            environment: account.environment, creationDateMilliseconds: createdAt, purchases: purchases(of: account))
    }

    /// Returns the facts about the customer who has one of these transactions; nil if the store knows none of these
    /// transactions in this app.
    func receipt(holding ids: [String], of bundleID: String, now: Int64) -> StoreReceipt? {
        let known = ids.lazy.compactMap { self.transactions[$0] }.first { $0.account.bundleID == bundleID }
        guard let account = known?.account else { return nil }
        return StoreReceipt(
            purchases: purchases(of: account).sorted { $0.purchaseDateMilliseconds > $1.purchaseDateMilliseconds },
            newest: receipt(of: account, createdAt: now),
            renewals: subscriptions(of: account).map {
                .init(subscription: $0, isOver: $0.hasEnded || $0.renewal.isInBillingRetry || $0.expiresAt <= now)
            })
    }

    private func purchases(of account: SimulatedAccount) -> [SimulatedPurchase] {
        transactions(of: account).filter { !($0.isFinished && $0.product.kind == .consumable) }.map(\.purchase)
    }
}

extension StoreTransaction {
    /// The purchase as receipts and verifyReceipt show it, without the refund of a consumable.
    var purchase: SimulatedPurchase {
        var purchase = SimulatedPurchase(
            transactionID: id, originalTransactionID: originalID, productID: product.id, quantity: terms.quantity,
            kind: product.kind, purchaseDateMilliseconds: purchasedAt,
            originalPurchaseDateMilliseconds: originallyPurchasedAt, expiresDateMilliseconds: expiresAt,
            cancellationDateMilliseconds: product.kind == .consumable ? nil : revocation?.at ?? upgradedAt,
            isTrial: terms.offer?.isFreeTrial ?? false,
            ownershipType: isPurchased ? .purchased : .familyShared, appAccountToken: terms.accountToken,
            webOrderLineItemID: product.plan == nil ? nil : webOrderLineItemID)
        if let plan = product.plan {
            purchase.told = .init(
                subscriptionGroupID: plan.groupID, isUpgraded: upgradedAt != nil,
                isInIntroOffer: terms.offer.map { $0.type == 1 && !$0.isFreeTrial } ?? false)
        }
        return purchase
    }
}
