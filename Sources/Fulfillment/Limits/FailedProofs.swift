/// The proofs that failed lately. A new submission of one of these proofs does not count as a first try.
public struct FailedProofs: Sendable {
    static let maximum = 4096
    static let seconds = 600.0

    /// The time of the last failure, by the proof's hash.
    private var failedAt: [Int: Double] = [:]

    public init() {}

    public func contains(_ proof: Int, now: Double) -> Bool {
        failedAt[proof].map { now - $0 < Self.seconds } ?? false
    }

    public mutating func note(_ proof: Int, now: Double) {
        if failedAt.count >= Self.maximum, failedAt[proof] == nil { makeRoom(now) }
        failedAt[proof] = now
    }

    public mutating func answered(_ proof: Int) {
        if !failedAt.isEmpty { failedAt[proof] = nil }
    }

    private mutating func makeRoom(_ now: Double) {
        failedAt = failedAt.filter { now - $0.value < Self.seconds }
        guard failedAt.count > Self.maximum / 2 else { return }
        let middle = failedAt.values.sorted()[failedAt.count / 2]
        failedAt = failedAt.filter { $0.value > middle }
    }
}
