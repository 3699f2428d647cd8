/// Successes and failures of the last seconds, in constant memory.
struct FailureWindow: Sendable {
    static let seconds = 10
    /// Failures that someone may have brought about count once so many have.
    static let minimumSuspects = 3

    private struct Second {
        var number = -1
        var successes = 0
        var failures = 0
        var blameless = 0
    }

    private var ring = [Second](repeating: Second(), count: seconds)
    private var failuresInARow = 0
    /// Of the window's failures; the first few are enough.
    private var suspects: [Int] = []
    private var suspectsSince = 0.0

    mutating func succeeded(now: Double) {
        failuresInARow = 0
        record(now) { $0.successes += 1 }
    }

    mutating func failed(suspect: Int?, now: Double) {
        failuresInARow += 1
        record(now) { second in
            second.failures += 1
            if suspect == nil { second.blameless += 1 }
        }
        if now - suspectsSince > Double(Self.seconds) {
            suspects.removeAll(keepingCapacity: true)
            suspectsSince = now
        }
        if let suspect, suspects.count < Self.minimumSuspects, !suspects.contains(suspect) { suspects.append(suspect) }
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
        if suspects.count < Self.minimumSuspects {
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
