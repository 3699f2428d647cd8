/// Refunds and reversals that Apple reported, whether their transactions were granted or not.
public struct KnownRefunds: Sendable {
    private var revocations: [RefundKey: GrantRevocations.Revocation] = [:]
    /// The transactions and periods whose refund Apple has reversed, so that nothing of them is refunded.
    public var reversed: Set<RefundKey> = []

    public init() {}

    public var isEmpty: Bool { revocations.isEmpty }

    /// The refund in force of a transaction or a period; nil if nothing of it is refunded.
    public subscript(key: RefundKey) -> GrantRevocations.Revocation? {
        get { revocations[key] }
        set { revocations[key] = newValue }
    }
}
