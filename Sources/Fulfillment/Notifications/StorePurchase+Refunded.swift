extension StorePurchase {
    /// What Apple says with the purchase itself. A period that is given up for another plan is not refunded.
    public var refunded: GrantRevocations.Revocation? {
        guard let cancelledAt, !isUpgraded else { return nil }
        let isRevoked = revocationType.map { $0 == Self.familyRevocation } ?? isFamilyShared
        return GrantRevocations.Revocation(
            at: cancelledAt, reason: isRevoked ? .revoke : .refund,
            milliPercent: isRevoked ? nil : refundedMilliPercent)
    }

    /// Apple has taken back all of its units.
    var isWhollyRefunded: Bool { refunded.map { !$0.leavesUnits(of: quantity) } ?? (cancelledAt != nil) }

    private static let familyRevocation = "FAMILY_REVOKE"
}

extension GrantRevocations.Revocation {
    public func leavesUnits(of quantity: Int32) -> Bool { units(of: quantity) < quantity }
}
