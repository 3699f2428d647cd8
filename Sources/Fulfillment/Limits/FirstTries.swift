/// Whether Apple answers anybody, as far as first tries tell, in bounded memory.
///
/// A proof that failed may fail for ever, and each further failure says nothing new about Apple. So only first tries
/// count, each player and each proof once. Apple is down only if it answers none of them. How many must fail in a row
/// depends on how many it answered before: if that is one in five, thirty in a row fail by chance.
struct FirstTries: Sendable {
    /// The fewest different suspects that must have failed in a row. Fewer may all have sent what Apple never answers.
    static let fewestFailures = 20
    /// The number of failures that is enough, however few were answered before.
    static let mostFailures = 200
    /// The seconds after which a failure does not count.
    static let rowSeconds = 60.0
    /// The unlikelihood by chance that a run must have, as a natural logarithm: one in a thousand.
    private static let certainty = 6.9
    /// The number of last results over which the answered share is averaged, about.
    private static let memory = 80.0

    private struct Failure {
        let suspect: Suspect
        let at: Double
        let isNew: Bool
    }

    /// The failures of different suspects since the last answer.
    private var row: [Failure] = []
    /// The share of answers before the run of failures. Older results weigh less.
    private(set) var answeredShare = 1.0
    private var recent = RecentFailures()

    /// - Parameter isFirst: true for a first try. Any answer ends the run, but only answers to first tries are compared
    ///   with failures.
    mutating func succeeded(isFirst: Bool) {
        endRow()
        if isFirst { answeredShare += (1 - answeredShare) / Self.memory }
    }

    /// - Parameter isNew: true if the request came since Apple last answered a probe. Those that waited by then may all
    ///   be of one kind.
    mutating func failed(by suspect: Suspect, isNew: Bool = true, now: Double) {
        recent.note(suspect, now: now)
        row.removeAll { $0.at < now - Self.rowSeconds }
        guard row.count < Self.mostFailures, !row.contains(where: { $0.suspect.isSame(as: suspect) }) else { return }
        row.append(Failure(suspect: suspect, at: now, isNew: isNew))
    }

    /// Ends the run, even if it opened the circuit. If it was chance, the next run has to be longer.
    mutating func endRow() {
        guard !row.isEmpty else { return }
        for _ in row { answeredShare -= answeredShare / Self.memory }
        row = []
    }

    /// True if Apple answers no first try.
    var areHopeless: Bool { row.count >= Self.mostFailures || row.count(where: \.isNew) >= failuresNeeded }

    /// Returns whether many different suspects have failed lately, so that a few receipts cannot be the cause.
    func areWidespread(now: Double) -> Bool { recent.isHandful(now: now) }

    var failuresNeeded: Int {
        let needed = Self.certainty / max(answeredShare, Self.certainty / Double(Self.mostFailures))
        return max(Self.fewestFailures, Int(needed.rounded(.up)))
    }
}

/// The last seconds' failures of different suspects, at most a handful.
private struct RecentFailures: Sendable {
    static let handful = 10
    static let seconds = 10.0

    private var failures: [(suspect: Suspect, at: Double)] = []

    mutating func note(_ suspect: Suspect, now: Double) {
        failures.removeAll { $0.at < now - Self.seconds || $0.suspect.isSame(as: suspect) }
        failures.append((suspect, now))
        if failures.count > Self.handful { failures.removeFirst() }
    }

    func isHandful(now: Double) -> Bool { failures.count { $0.at >= now - Self.seconds } >= Self.handful }
}
