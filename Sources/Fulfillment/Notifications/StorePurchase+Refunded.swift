extension StorePurchase {
    /// The refund that Apple named with the purchase itself. A period that is given up for another plan is not
    /// refunded. Of what part, or whether at all, is never guessed: nil where that cannot be read.
    public var refunded: GrantRevocations.Revocation? {
        guard let cancelledAt, !isUpgraded, !isUnreadable("isUpgraded", "is_upgraded") else { return nil }
        let isRevoked = revocationType.map { $0 == Self.familyRevocation } ?? isFamilyShared
        guard isRevoked || !isUnreadable(Self.refundedPart) else { return nil }
        return GrantRevocations.Revocation(
            at: cancelledAt, reason: isRevoked ? .revoke : .refund,
            milliPercent: isRevoked ? nil : refundedMilliPercent)
    }

    /// Apple has taken back all of its units. A part may leave some where the quantity cannot be read.
    var isWhollyRefunded: Bool {
        guard let refunded else { return cancelledAt != nil && unreadable.isEmpty }
        return isUnreadable("quantity")
            ? refunded.milliPercent == GrantRevocations.whole : !refunded.leavesUnits(of: quantity)
    }

    /// Apple's name of the part that was refunded.
    static let refundedPart = "revocationPercentage"
    private static let familyRevocation = "FAMILY_REVOKE"
}

extension GrantRevocations.Revocation {
    func leavesUnits(of quantity: Int32) -> Bool { units(of: quantity) < quantity }
}
