/// Successes and failures of the last seconds, in constant memory.
///
/// A failure speaks against Apple only by who had it: one suspect counts once in the window, so that a receipt that
/// fails for ever is one failure and not one for each try. Once as many as a handful have failed, each failure counts.
struct FailureWindow: Sendable {
    static let seconds = 10
    /// Failures that a receipt may have brought about count once so many suspects had some.
    static let minimumSuspects = 3
    /// Suspects that are told apart: more of them are no few players' doing.
    static let handful = 10
    /// For how long a suspect's failures do not count after others were answered beside it.
    static let clearingSeconds = 300.0

    private struct Second {
        var number = -1
        var successes = 0
        var failures = 0
        var blameless = 0
    }

    private struct Entry {
        let suspect: Suspect
        let isDoubtful: Bool
        let second: Int
    }

    private var ring = [Second](repeating: Second(), count: seconds)
    private var failuresInARow = 0
    /// Of this window's failures, at most a handful.
    private var entries: [Entry] = []
    /// Suspects whose failures do not count, with the end of that; at most two handfuls.
    private var cleared: [(suspect: Suspect, until: Double)] = []

    mutating func succeeded(now: Double) {
        failuresInARow = 0
        record(now) { $0.successes += 1 }
    }

    /// - Parameter isDoubtful: the receipt may have brought it about; otherwise it speaks of Apple or the network alone.
    mutating func failed(by suspect: Suspect, isDoubtful: Bool, now: Double) {
        let oldest = Int(now) - Self.seconds
        entries.removeAll { $0.second <= oldest }
        guard counts(suspect, isDoubtful: isDoubtful, now: now) else { return }
        failuresInARow += 1
        record(now) { second in
            second.failures += 1
            if !isDoubtful { second.blameless += 1 }
        }
    }

    private mutating func counts(_ suspect: Suspect, isDoubtful: Bool, now: Double) -> Bool {
        if let index = cleared.firstIndex(where: { $0.suspect.isSame(as: suspect) }) {
            if now < cleared[index].until {
                cleared[index].until = now + Self.clearingSeconds
                return false
            }
            cleared.remove(at: index)
        }
        guard !isWidespread else { return true }
        if entries.contains(where: { $0.suspect.isSame(as: suspect) }) { return false }
        entries.append(Entry(suspect: suspect, isDoubtful: isDoubtful, second: Int(now)))
        return true
    }

    /// A handful have failed: nobody's failures are told apart any more.
    var isWidespread: Bool { entries.count >= Self.handful }

    /// It is one of those whose failures are told apart, or do not count.
    func isKnown(_ suspect: Suspect) -> Bool {
        entries.contains { $0.suspect.isSame(as: suspect) } || cleared.contains { $0.suspect.isSame(as: suspect) }
    }

    /// Apple answers others: whoever failed before and fails again does so by what they sent. Begins a window anew.
    /// - Parameter probes: whose failures kept the circuit open.
    mutating func clear(_ probes: [Suspect], now: Double) {
        let suspects = probes + entries.map(\.suspect)
        cleared.removeAll { one in now >= one.until || suspects.contains { $0.isSame(as: one.suspect) } }
        cleared = (suspects.map { ($0, now + Self.clearingSeconds) } + cleared).prefix(2 * Self.handful).map { $0 }
        entries = []
        failuresInARow = 0
        ring = [Second](repeating: Second(), count: Self.seconds)
    }

    func isConclusive(now: Double) -> Bool {
        let oldest = Int(now) - Self.seconds
        var successes = 0
        var failures = 0
        var blameless = 0
        for second in ring where second.number > oldest {
            successes += second.successes
            failures += second.failures
            blameless += second.blameless
        }
        // What a few players' receipts do does not count.
        if entries.count(where: { $0.isDoubtful && $0.second > oldest }) < Self.minimumSuspects {
            failures = blameless
            guard blameless >= CircuitBreaker.failuresInARow else { return false }
        }
        if failures >= CircuitBreaker.failuresInARow, failuresInARow >= CircuitBreaker.failuresInARow { return true }
        let results = successes + failures
        return results >= CircuitBreaker.minimumResults
            && Double(failures) >= Double(results) * CircuitBreaker.failureShare
    }

    private mutating func record(_ now: Double, _ change: (inout Second) -> Void) {
        let number = Int(now)
        let index = number % Self.seconds
        if ring[index].number != number { ring[index] = Second(number: number) }
        change(&ring[index])
    }
}
