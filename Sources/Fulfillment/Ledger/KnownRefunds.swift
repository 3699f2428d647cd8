/// Refunds and reversals that Apple told of, whether their transactions were granted or not.
public struct KnownRefunds: Sendable {
    private var revocations: [RefundKey: GrantRevocations.Revocation] = [:]
    /// Refunded before; Apple reversed the whole refund since.
    public var reversed: Set<RefundKey> = []

    public init() {}

    public var isEmpty: Bool { revocations.isEmpty }

    /// Nil where nothing of the transaction is refunded now.
    public subscript(key: RefundKey) -> GrantRevocations.Revocation? {
        get { revocations[key] }
        set { revocations[key] = newValue }
    }
}
