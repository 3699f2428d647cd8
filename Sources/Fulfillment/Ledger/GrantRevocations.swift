import NamesAndTimes

/// The revocations of a grant: Apple's and an operator's. Apple and the operator each reverse only their own
/// revocation.
public struct GrantRevocations: Sendable, Equatable {
    /// A whole purchase in thousandths of a percent.
    public static let whole: Int32 = 100_000

    /// A revocation of a grant, in whole or in part.
    public struct Revocation: Sendable, Equatable {
        public let at: Timestamp
        /// `.refund`, `.revoke` or `.revokedByOperator`.
        public let reason: Reason
        /// The share revoked in all, in thousandths of a percent, from 1 to `whole`.
        public let milliPercent: Int32

        /// - Parameter milliPercent: the share revoked in all; nil, or a value that no part can have, means the whole.
        public init(at: Timestamp, reason: Reason, milliPercent: Int32? = nil) {
            self.at = at
            self.reason = reason
            self.milliPercent = milliPercent.flatMap { (1..<whole).contains($0) ? $0 : nil } ?? whole
        }

        /// Returns the revoked units of `quantity`, rounded to the nearest and at least 1.
        public func units(of quantity: Int32) -> Int32 {
            let nearest = (Int64(quantity) * Int64(milliPercent) + Int64(whole) / 2) / Int64(whole)
            return Int32(clamping: max(1, nearest))
        }
    }

    /// The change for the player that a revocation or its reversal makes.
    public enum Change: Sendable, Equatable {
        /// The new total of revocation, larger or smaller than before.
        case revoked(Revocation)
        case reinstated
    }

    /// Apple's revocation; nil if there is none or Apple has reversed it.
    public private(set) var apple: Revocation?
    /// The time of an operator's revocation, which always covers the whole grant; nil without one.
    public private(set) var operatorRevokedAt: Timestamp?

    public init(apple: Revocation? = nil, operatorRevokedAt: Timestamp? = nil) {
        self.apple = apple
        self.operatorRevokedAt = operatorRevokedAt
    }

    /// The revocation that counts; nil if the grant is whole. Apple's revocation of the whole counts before the
    /// operator's, and the operator's before Apple's of a part.
    public var revocation: Revocation? {
        if let apple, apple.milliPercent == Self.whole { return apple }
        return operatorRevokedAt.map { Revocation(at: $0, reason: .revokedByOperator) } ?? apple
    }

    /// The revocation that counts, as a change to tell the player; `.reinstated` if the grant is whole.
    var standing: Change { revocation.map(Change.revoked) ?? .reinstated }

    /// The time of the earlier one of the two revocations; nil if the grant is whole.
    public var revokedAt: Timestamp? {
        guard let apple = apple?.at, let operatorRevokedAt else { return apple?.at ?? operatorRevokedAt }
        return min(apple, operatorRevokedAt)
    }

    /// The revoked units of `quantity`, 0 if the grant is whole.
    public func revokedUnits(of quantity: Int32) -> Int32 { revocation?.units(of: quantity) ?? 0 }

    /// Replaces Apple's revocation with `word`, the revocation that Apple's notices leave in force; nil if they leave
    /// none. A `word` of the same share changes nothing.
    /// - Returns: the change to publish; nil if nothing changes for the player.
    public mutating func follow(apple word: Revocation?) -> Change? {
        guard word?.milliPercent != apple?.milliPercent else { return nil }
        return change { $0.apple = word }
    }

    /// Enters an operator's revocation. A second one changes nothing.
    /// - Returns: the change to publish; nil if nothing changes for the player.
    public mutating func revoke(byOperatorAt time: Timestamp) -> Change? {
        change { $0.operatorRevokedAt = $0.operatorRevokedAt ?? time }
    }

    public mutating func reinstateByOperator() -> Change? {
        change { $0.operatorRevokedAt = nil }
    }

    private mutating func change(_ body: (inout GrantRevocations) -> Void) -> Change? {
        let before = revocation?.milliPercent
        body(&self)
        return revocation?.milliPercent == before ? nil : standing
    }
}
