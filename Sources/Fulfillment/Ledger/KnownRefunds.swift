/// Apple's reports about refunds of transactions and periods, whether granted or not.
public struct KnownRefunds: Sendable {
    private var states: [RefundKey: RefundState] = [:]

    public init() {}

    public var isEmpty: Bool { states.isEmpty }

    /// The reports about a transaction or a period; nil if Apple never reported a refund of it.
    public subscript(key: RefundKey) -> RefundState? {
        get { states[key] }
        set { states[key] = newValue }
    }
}
