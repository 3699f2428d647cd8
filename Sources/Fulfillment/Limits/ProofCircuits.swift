/// The two circuits of one scope: of proofs that are proven here, and of those that are not.
///
/// Anybody can send what is not proven, and Apple may fail because of it. So its failures hold back only its like. A
/// proven proof speaks for Apple: once one is answered, others' failures are their own.
public struct ProofCircuits: Sendable {
    /// A kind of which nothing has come for so many seconds is not in use.
    public static let inUseSeconds = 60.0

    /// The circuit of proven proofs, and of receiptd's own questions.
    public private(set) var ofProven = CircuitBreaker()
    private(set) var ofUnproven = CircuitBreaker()
    /// Monotonic seconds at which a submission of the kind last came or waited.
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

    /// A submission of the kind came, or waits.
    mutating func came(_ kind: RequestKind, now: Double) {
        guard kind.work == .submission else { return }
        if kind.isProven { provenCameAt = now } else { unprovenCameAt = now }
    }

    /// Whether the circuit is open that tells of Apple: that of proven proofs, while any come.
    public func isOpen(now: Double) -> Bool { self[isProven: !areOnlyUnproven(now: now)].isOpen }

    /// Whether what this kind meets says anything of Apple.
    func speaksOfApple(_ kind: RequestKind, now: Double) -> Bool { kind.isProven || areOnlyUnproven(now: now) }

    mutating func succeeded(_ pass: CircuitBreaker.Pass, of kind: RequestKind, now: Double) {
        self[kind].succeeded(pass, now: now)
        if kind.isProven { ofUnproven.othersAnswered(now: now) }
    }

    private func areOnlyUnproven(now: Double) -> Bool {
        now - provenCameAt >= Self.inUseSeconds && now - unprovenCameAt < Self.inUseSeconds
    }
}
