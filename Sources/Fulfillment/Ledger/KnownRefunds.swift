/// Refunds and reversals that Apple reported, whether their transactions were granted or not.
public struct KnownRefunds: Sendable {
    private var revocations: [RefundKey: GrantRevocations.Revocation] = [:]
    /// The transactions whose whole refund Apple has reversed.
    public var reversed: Set<RefundKey> = []

    public init() {}

    public var isEmpty: Bool { revocations.isEmpty }

    /// The refund in force; nil if nothing of the transaction is refunded.
    public subscript(key: RefundKey) -> GrantRevocations.Revocation? {
        get { revocations[key] }
        set { revocations[key] = newValue }
    }
}
