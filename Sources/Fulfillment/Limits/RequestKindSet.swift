/// A set of request kinds, with one bit for each kind at its place in `RequestKind.all`.
struct RequestKindSet: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ kinds: some Sequence<RequestKind>) {
        rawValue = kinds.reduce(0) { $0 | 1 << UInt8($1.index) }
    }

    static let fresh = Self(RequestKind.all.filter(\.isFresh))
    static let freshAndProven = Self(RequestKind.all.filter { $0.isFresh && $0.isProven })
    /// The kinds of submissions with proven proofs.
    static let proven = Self(RequestKind.submissions.filter(\.isProven))
    static let unproven = Self(RequestKind.submissions.filter { !$0.isProven })
    static let freshAndUnproven = Self(RequestKind.submissions.filter { $0.isFirst && !$0.isProven })
    /// The proven kinds, including receiptd's own requests.
    static let anyProven = Self(RequestKind.all.filter(\.isProven))
    /// The proven kinds of requests that have not failed before.
    static let firstAndProven = Self(RequestKind.all.filter { $0.isFirst && $0.isProven })
    static let deferrable = Self(RequestKind.deferrable)
    static let own = Self(RequestKind.own)
    static let background = Self(RequestKind.all.filter { $0.work == .background })

    /// The places in `RequestKind.all`, in order.
    var indexes: some Sequence<Int> {
        sequence(state: rawValue) { bits -> Int? in
            guard bits != 0 else { return nil }
            defer { bits &= bits - 1 }
            return bits.trailingZeroBitCount
        }
    }

    func contains(_ kind: RequestKind) -> Bool { rawValue & 1 << UInt8(kind.index) != 0 }

    func overlaps(_ other: Self) -> Bool { rawValue & other.rawValue != 0 }
}
