/// The suspicion against a row by leases without an end, as the database counts them.
struct LeaseSuspicion {
    private static let leasesOfSuspect = 3
    private static let deathsOfPoison = 3

    /// The number of leases without an end.
    var leases = 0
    var isIsolated = false
    private(set) var deathsInIsolation = 0

    var isSuspect: Bool { leases >= Self.leasesOfSuspect }
    var isPoison: Bool { deathsInIsolation >= Self.deathsOfPoison }

    /// Clears the lease as if it had never been.
    mutating func released() {
        leases = max(0, leases - 1)
        isIsolated = false
    }

    /// The row's workers died of it before it was a row.
    static let ofCrashed = LeaseSuspicion(leases: leasesOfSuspect, deathsInIsolation: deathsOfPoison)

    init(leases: Int = 0, deathsInIsolation: Int = 0) {
        self.leases = leases
        self.deathsInIsolation = deathsInIsolation
    }

    /// Begins the isolation, or the last try behind its deaths. Returns nil where it is to be leased; else whether it
    /// is due again.
    mutating func beginIsolationOrLastTry() -> Bool? {
        if isIsolated { deathsInIsolation += 1 }
        isIsolated = !(isIsolated && isPoison)
        return isIsolated ? nil : deathsInIsolation == Self.deathsOfPoison
    }

    /// Returns how often its workers died of it, where that is often enough to set it aside; nil where it is to be leased.
    mutating func beginIsolation() -> Int? {
        deathsInIsolation += isIsolated ? 1 : 0
        isIsolated = !isPoison
        guard isPoison else { return nil }
        leases = 0
        return deathsInIsolation
    }
}
