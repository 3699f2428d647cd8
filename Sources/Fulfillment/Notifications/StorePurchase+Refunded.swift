extension StorePurchase {
    /// The refund that Apple shows with the purchase; nil if there is none, or if receiptd cannot read the refunded
    /// share. A period that the player gave up for another plan counts as not refunded.
    public var refunded: GrantRevocations.Revocation? {
        isUpgraded || isUnreadable("isUpgraded", "is_upgraded") ? nil : revocation
    }

    /// The refund that Apple still shows after it reversed another refund; nil if there is none, or if receiptd cannot
    /// read the refunded share. An upgraded period counts too if Apple names the kind or the share of the refund, which
    /// Apple does not do for a mere upgrade.
    var leftRefunded: GrantRevocations.Revocation? {
        revocationType != nil || refundedMilliPercent != nil ? revocation : refunded
    }

    private var revocation: GrantRevocations.Revocation? {
        guard let cancelledAt else { return nil }
        let isRevoked = revocationType.map { $0 == Self.familyRevocation } ?? isFamilyShared
        guard isRevoked || !isUnreadable(Self.refundedPart) else { return nil }
        return GrantRevocations.Revocation(
            at: cancelledAt, reason: isRevoked ? .revoke : .refund,
            milliPercent: isRevoked ? nil : refundedMilliPercent)
    }

    /// True if Apple has refunded all units, or cancelled a period that the player gave up for another plan. If
    /// receiptd cannot read the quantity, only a refund of 100 percent counts.
    var isWhollyRefunded: Bool {
        guard let refunded else { return cancelledAt != nil && unreadable.isEmpty }
        return isUnreadable("quantity")
            ? refunded.milliPercent == GrantRevocations.whole : !refunded.leavesUnits(of: quantity)
    }

    /// Apple's name of the field that holds the refunded share.
    static let refundedPart = "revocationPercentage"
    private static let familyRevocation = "FAMILY_REVOKE"
}

extension GrantRevocations.Revocation {
    func leavesUnits(of quantity: Int32) -> Bool { units(of: quantity) < quantity }
}
