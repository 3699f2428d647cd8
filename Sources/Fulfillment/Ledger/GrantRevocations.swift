import NamesAndTimes

/// The revocations of a grant: Apple's and an operator's. Apple's reversal ends only Apple's revocation. An operator's
/// reinstatement ends only the operator's revocation. `RefundNotice` describes the steps from Apple's notification to
/// the revocation.
public struct GrantRevocations: Sendable, Equatable {
    /// A whole purchase in thousandths of a percent.
    public static let whole: Int32 = 100_000

    /// A revocation of a grant, in whole or in part.
    public struct Revocation: Sendable, Equatable {
        public let at: Timestamp
        /// `.refund`, `.revoke` or `.revokedByOperator`.
        public let reason: Reason
        /// The share of the grant that is revoked in total, in thousandths of a percent, from 1 to `whole`.
        public let milliPercent: Int32

        /// - Parameter milliPercent: the share that is revoked in total; nil or a value outside 1..<`whole` means the
        ///   whole.
        public init(at: Timestamp, reason: Reason, milliPercent: Int32? = nil) {
            self.at = at
            self.reason = reason
            self.milliPercent = milliPercent.flatMap { (1..<whole).contains($0) ? $0 : nil } ?? whole
        }

        /// Returns the revoked units of `quantity`, rounded to the nearest unit, and at least 1.
        public func units(of quantity: Int32) -> Int32 {
            let nearest = (Int64(quantity) * Int64(milliPercent) + Int64(whole) / 2) / Int64(whole)
            return Int32(clamping: max(1, nearest))
        }
    }

    /// The change that a revocation or its reversal makes for the player.
    public enum Change: Sendable, Equatable {
        /// The new revocation, whose share is larger or smaller than before.
        case revoked(Revocation)
        case reinstated
    }

    /// Apple's revocation; nil if there is none, or if Apple has reversed it.
    public private(set) var apple: Revocation?
    /// The time of an operator's revocation, which always covers the whole grant; nil without one.
    public private(set) var operatorRevokedAt: Timestamp?

    public init(apple: Revocation? = nil, operatorRevokedAt: Timestamp? = nil) {
        self.apple = apple
        self.operatorRevokedAt = operatorRevokedAt
    }

    /// The revocation that counts; nil if nothing is revoked. Apple's revocation of the whole takes precedence over the
    /// operator's revocation. The operator's revocation takes precedence over Apple's revocation of a part.
    public var revocation: Revocation? {
        if let apple, apple.milliPercent == Self.whole { return apple }
        return operatorRevokedAt.map { Revocation(at: $0, reason: .revokedByOperator) } ?? apple
    }

    /// The change to publish for the revocation that counts; `.reinstated` if nothing is revoked.
    var standing: Change { revocation.map(Change.revoked) ?? .reinstated }

    /// The time of Apple's or the operator's revocation, whichever is earlier; nil if nothing is revoked.
    public var revokedAt: Timestamp? {
        guard let apple = apple?.at, let operatorRevokedAt else { return apple?.at ?? operatorRevokedAt }
        return min(apple, operatorRevokedAt)
    }

    /// Returns the revoked units of `quantity`; 0 if nothing is revoked.
    public func revokedUnits(of quantity: Int32) -> Int32 { revocation?.units(of: quantity) ?? 0 }

    /// Replaces Apple's revocation with `word`. If `word` has the same share as Apple's present revocation, nothing
    /// changes.
    /// - Parameter word: the revocation that Apple's notices leave in force; nil if they leave none.
    /// - Returns: the change to publish; nil if nothing changes for the player.
    public mutating func follow(apple word: Revocation?) -> Change? {
        guard word?.milliPercent != apple?.milliPercent else { return nil }
        return change { $0.apple = word }
    }

    /// Adds an operator's revocation. If the operator's revocation is there already, nothing changes.
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
