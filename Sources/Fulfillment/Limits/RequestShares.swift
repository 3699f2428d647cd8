/// Counts the requests under way, and limits the places of each kind. Each request under way uses one place.
///
/// Retries and receiptd's own requests together get at most half of the places, and at most a fifth while fresh
/// submissions wait. These requests may hang until their time-outs, and fresh requests must find free places.
/// Background requests go only while no other request waits.
///
/// Unproven proofs get at most a fifth of the places while proven proofs wait. While proven proofs come but none waits,
/// unproven proofs get at most four fifths.
public struct RequestShares: Sendable {
    /// After this many unproven requests in a row, no place stays free for proven requests.
    static let provenIsRareAfter = 500

    public private(set) var total = 0
    private var deferrable = 0
    private var notProven = 0
    private var sinceProven = Self.provenIsRareAfter

    public init() {}

    /// Returns whether one more request of the kind may go.
    public func admits<Element>(_ kind: RequestKind, beside waiting: RequestQueue<Element>, limit: Int) -> Bool {
        guard total < limit else { return false }
        if !kind.isProven, notProven >= mostNotProven(beside: waiting, limit: limit) { return false }
        if kind.isFresh { return true }
        if kind.work == .background, !waiting.kinds.isSubset(of: .background) { return false }
        // A fresh submission that may not go does not hold back other requests.
        let isFreshWaiting =
            waiting.kinds.overlaps(.freshAndProven)
            || waiting.hasFresh && notProven < mostNotProven(beside: waiting, limit: limit)
        return deferrable < (isFreshWaiting ? Self.fifth(of: limit) : max(1, limit / 2))
    }

    public mutating func began(_ kind: RequestKind) {
        count(kind, 1)
        guard kind.work == .submission else { return }
        sinceProven = kind.isProven ? 0 : min(sinceProven + 1, Self.provenIsRareAfter)
    }

    public mutating func ended(_ kind: RequestKind) { count(kind, -1) }

    private mutating func count(_ kind: RequestKind, _ change: Int) {
        total += change
        if !kind.isFresh { deferrable += change }
        if !kind.isProven { notProven += change }
    }

    private func mostNotProven<Element>(beside waiting: RequestQueue<Element>, limit: Int) -> Int {
        if waiting.hasProven { return Self.fifth(of: limit) }
        return sinceProven < Self.provenIsRareAfter ? max(1, limit - Self.fifth(of: limit)) : limit
    }

    private static func fifth(of limit: Int) -> Int { max(1, limit / 5) }
}
