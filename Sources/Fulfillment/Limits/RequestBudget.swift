/// One replica's part of the fleet's request budget. It counts the leased requests that are left, and says when
/// to lease more.
///
/// A lease is for a slice of time. If the replica does not send a request within the slice, the right to that request
/// is lost. So no replica saves up requests, and no burst follows a pause. A replica leases no more requests than it is
/// about to send, so that few are lost.
public struct RequestBudget: Sendable {
    /// One lease has at most the requests that the rate allows in these seconds, but at least one request.
    static let chunkSeconds = 0.2
    /// The seconds after a slice's end in which the replica may still send the slice's last requests. `graceSeconds`
    /// and `chunkSeconds` limit how far the fleet exceeds the rate.
    public static let graceSeconds = 0.1
    /// The replica leases the next slice this many seconds before a slice's end, so that no request waits for a lease.
    static let leadSeconds = 0.5
    /// The seconds until the replica asks for a lease again after a refusal or a failure. Jitter at most doubles this
    /// time.
    static let retrySeconds = 0.1

    private struct Slice {
        let from: Double
        let until: Double
        var left: Int
    }

    /// The right to send one request of a lease.
    public struct Token: Sendable {
        let validUntil: Double
    }

    public let perSecond: Double
    private var slices: [Slice] = []
    private var isLeasing = false
    private var leaseAgainAt = 0.0
    private var arrivals = Arrivals()

    /// - Parameter perSecond: the requests a second of the whole fleet, above 0.
    public init(perSecond: Double) {
        self.perSecond = perSecond
    }

    public var chunk: Int { max(1, Int(perSecond * Self.chunkSeconds)) }

    /// Counts a request that is ready to be sent.
    public mutating func arrived(now: Double) { arrivals.count(now: now) }

    /// Returns the right to send one request of a lease; nil if the request must wait.
    public mutating func take(now: Double) -> Token? {
        slices.removeAll { $0.until + Self.graceSeconds <= now || $0.left == 0 }
        guard let index = slices.firstIndex(where: { $0.from <= now }) else { return nil }
        slices[index].left -= 1
        return Token(validUntil: slices[index].until + Self.graceSeconds)
    }

    /// Returns the number of requests to lease now; nil for none. If the result is a number, the caller must call
    /// `leased` or `failed` once.
    public mutating func toLease(waiting: Int, now: Double) -> Int? {
        guard waiting > 0, !isLeasing, now >= leaseAgainAt else { return nil }
        let inHand = slices.reduce(0) { $0 + ($1.until + Self.graceSeconds > now ? $1.left : 0) }
        if let last = slices.last, last.until - now > Self.leadSeconds { return nil }
        // The lease also covers requests that will come soon, so that not every request needs a round trip to the
        // database.
        let wanted = min(chunk, max(waiting, arrivals.recent(now: now)) - inHand)
        guard wanted > 0 else { return nil }
        isLeasing = true
        return wanted
    }

    /// Adds a new lease, or notes that the replica got no lease.
    /// - Parameters:
    ///   - lease: the lease; nil if other replicas have leased too far ahead.
    ///   - jitter: a random number, uniform in 0..<1.
    public mutating func leased(_ lease: BudgetLease?, now: Double, jitter: Double) {
        guard let lease else { return failed(now: now, jitter: jitter) }
        isLeasing = false
        let from = now + lease.startsIn
        slices.append(Slice(from: from, until: from + lease.lasts, left: lease.requests))
    }

    public mutating func failed(now: Double, jitter: Double) {
        isLeasing = false
        leaseAgainAt = now + Self.retrySeconds * (1 + jitter)
    }

    /// Returns the time at which to look for waiting requests again; nil if only the answer about a lease causes the
    /// next look.
    public func nextLook(now: Double) -> Double? {
        let starts = slices.filter { $0.left > 0 && $0.from > now }.map(\.from)
        var times = starts
        if !isLeasing { times.append(max(leaseAgainAt, (slices.last?.until ?? now) - Self.leadSeconds)) }
        return times.min()
    }
}

/// The numbers of requests that came in the current slot of `chunkSeconds` and in the slot before.
private struct Arrivals: Sendable {
    private var slot = 0
    private var current = 0
    private var previous = 0

    mutating func count(now: Double) {
        advance(to: Self.slot(now))
        current += 1
    }

    mutating func recent(now: Double) -> Int {
        advance(to: Self.slot(now))
        return max(current, previous)
    }

    private static func slot(_ now: Double) -> Int { Int(now / RequestBudget.chunkSeconds) }

    private mutating func advance(to slot: Int) {
        guard slot != self.slot else { return }
        previous = slot == self.slot + 1 ? current : 0
        current = 0
        self.slot = slot
    }
}
