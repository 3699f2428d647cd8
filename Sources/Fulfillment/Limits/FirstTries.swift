/// The results of first tries (`RequestKind.isFirst`), which show whether Apple answers any request.
///
/// A proof that failed may fail for ever, and its further failures say nothing new about Apple. So only first tries
/// count, and each player and each proof counts once. Apple is down only if Apple answers no first try. The smaller the
/// share of first tries that Apple answered before, the more failures in a row are needed to show that Apple is down.
/// If Apple answered one in five, thirty failures in a row may be chance.
struct FirstTries: Sendable {
    /// The fewest suspects that must fail in a row. Fewer suspects may all have sent proofs that Apple never answers.
    static let fewestFailures = 20
    /// This many failures in a row are enough, even if Apple answered very few requests before.
    static let mostFailures = 200
    /// The seconds after which a failure no longer counts in the row.
    static let rowSeconds = 60.0
    /// The negative natural logarithm of 0.001. A row of failures with a probability above 0.001 counts as chance.
    private static let certainty = 6.9
    /// The approximate number of last results in the average `answeredShare`.
    private static let memory = 80.0

    private struct Failure {
        let suspect: Suspect
        let at: Double
        let isNew: Bool
    }

    /// The failures in a row since Apple's last answer, one for each suspect.
    private var row: [Failure] = []
    /// The share of first tries that Apple answered before the present row. Older results weigh less.
    private(set) var answeredShare = 1.0
    private var recent = RecentFailures()

    /// Counts an answer, which ends the row of failures.
    /// - Parameter isFirst: true for a first try. Only answers to first tries raise `answeredShare`.
    mutating func succeeded(isFirst: Bool) {
        endRow()
        if isFirst { answeredShare += (1 - answeredShare) / Self.memory }
    }

    /// Counts the failure of a first try.
    /// - Parameter isNew: true if the request came after Apple last answered a probe. Older requests may all have
    ///   proofs that Apple never answers.
    mutating func failed(by suspect: Suspect, isNew: Bool = true, now: Double) {
        recent.note(suspect, now: now)
        row.removeAll { $0.at < now - Self.rowSeconds }
        guard row.count < Self.mostFailures, !row.contains(where: { $0.suspect.isSame(as: suspect) }) else { return }
        row.append(Failure(suspect: suspect, at: now, isNew: isNew))
    }

    /// Ends the row of failures and lowers `answeredShare`, even if the row opened the circuit. The lower share makes a
    /// longer row necessary next time, because this row may have been chance.
    mutating func endRow() {
        guard !row.isEmpty else { return }
        for _ in row { answeredShare -= answeredShare / Self.memory }
        row = []
    }

    /// True if enough first tries have failed in a row to show that Apple answers none.
    var areHopeless: Bool { row.count >= Self.mostFailures || row.count(where: \.isNew) >= failuresNeeded }

    /// Returns whether many different suspects have failed lately, so that a few receipts cannot be the cause.
    func areWidespread(now: Double) -> Bool { recent.isHandful(now: now) }

    var failuresNeeded: Int {
        let needed = Self.certainty / max(answeredShare, Self.certainty / Double(Self.mostFailures))
        return max(Self.fewestFailures, Int(needed.rounded(.up)))
    }
}

/// The failures of the last `seconds`: the newest of each suspect, and at most `handful` in all.
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
