/// The two circuit breakers of one scope: one for proven proofs (receiptd found that Apple signed them for this app),
/// one for unproven proofs.
///
/// Anybody can send unproven proofs that Apple never answers. So failures of unproven proofs hold back only unproven
/// proofs. An answer to a proven proof closes both circuits.
public struct ProofCircuits: Sendable {
    /// If for this many seconds no submission with a kind of proof came or waited, the kind counts as not in use.
    public static let inUseSeconds = 60.0

    /// The circuit of proven proofs, and of receiptd's own requests.
    public private(set) var ofProven = CircuitBreaker()
    private(set) var ofUnproven = CircuitBreaker()
    /// The monotonic seconds at which a submission with a proven proof last came or waited.
    private var provenCameAt = -Double.infinity
    private var unprovenCameAt = -Double.infinity

    public init() {}

    public subscript(isProven isProven: Bool) -> CircuitBreaker {
        get { isProven ? ofProven : ofUnproven }
        _modify { if isProven { yield &ofProven } else { yield &ofUnproven } }
    }

    public subscript(kind: RequestKind) -> CircuitBreaker {
        get { self[isProven: kind.isProven] }
        _modify { yield &self[isProven: kind.isProven] }
    }

    /// Stores that a submission of the kind came or waits.
    mutating func came(_ kind: RequestKind, now: Double) {
        guard kind.work == .submission else { return }
        if kind.isProven { provenCameAt = now } else { unprovenCameAt = now }
    }

    /// Returns whether Apple counts as down. The circuit of proven proofs decides, or the circuit of unproven proofs if
    /// only unproven proofs come.
    public func isOpen(now: Double) -> Bool { self[isProven: !areOnlyUnproven(now: now)].isOpen }

    /// Returns whether results of this kind show Apple's state. Results of unproven proofs show it only if no proven
    /// proofs come.
    func speaksOfApple(_ kind: RequestKind, now: Double) -> Bool { kind.isProven || areOnlyUnproven(now: now) }

    mutating func succeeded(_ pass: CircuitBreaker.Pass, of kind: RequestKind, now: Double) {
        self[kind].succeeded(pass, now: now)
        if kind.isProven { ofUnproven.othersAnswered(now: now) }
    }

    private func areOnlyUnproven(now: Double) -> Bool {
        now - provenCameAt >= Self.inUseSeconds && now - unprovenCameAt < Self.inUseSeconds
    }
}
