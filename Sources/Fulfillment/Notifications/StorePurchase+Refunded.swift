extension StorePurchase {
    /// The refund that Apple named with the purchase; nil without one, and if its share cannot be read, because nobody
    /// guesses that. A period that is given up for another plan is not refunded.
    public var refunded: GrantRevocations.Revocation? {
        guard let cancelledAt, !isUpgraded, !isUnreadable("isUpgraded", "is_upgraded") else { return nil }
        let isRevoked = revocationType.map { $0 == Self.familyRevocation } ?? isFamilyShared
        guard isRevoked || !isUnreadable(Self.refundedPart) else { return nil }
        return GrantRevocations.Revocation(
            at: cancelledAt, reason: isRevoked ? .revoke : .refund,
            milliPercent: isRevoked ? nil : refundedMilliPercent)
    }

    /// True if Apple has taken back all units. If the quantity cannot be read, a part may leave some.
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
