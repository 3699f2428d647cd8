/// The refunds and reversals that Apple reported for granted and ungranted transactions.
public struct KnownRefunds: Sendable {
    private var revocations: [RefundKey: GrantRevocations.Revocation] = [:]
    /// The transactions and periods whose refund Apple has reversed.
    public var reversed: Set<RefundKey> = []

    public init() {}

    public var isEmpty: Bool { revocations.isEmpty }

    /// The unreversed refund of a transaction or a period; nil if there is none.
    public subscript(key: RefundKey) -> GrantRevocations.Revocation? {
        get { revocations[key] }
        set { revocations[key] = newValue }
    }
}
