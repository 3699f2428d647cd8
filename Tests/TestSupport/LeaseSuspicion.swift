/// What leases without an end say of a row, as the database counts them.
struct LeaseSuspicion {
    private static let leasesOfSuspect = 3
    private static let deathsOfPoison = 3

    /// Without an end.
    var leases = 0
    var isIsolated = false
    private(set) var deathsInIsolation = 0

    var isSuspect: Bool { leases >= Self.leasesOfSuspect }
    var isPoison: Bool { deathsInIsolation >= Self.deathsOfPoison }

    /// As if it had never been leased.
    mutating func released() {
        leases = max(0, leases - 1)
        isIsolated = false
    }

    /// Its workers died of it before it was a row.
    static let ofCrashed = LeaseSuspicion(leases: leasesOfSuspect, deathsInIsolation: deathsOfPoison)

    init(leases: Int = 0, deathsInIsolation: Int = 0) {
        self.leases = leases
        self.deathsInIsolation = deathsInIsolation
    }

    /// Of a row that is tried once more behind its deaths. Returns nil where it is to be leased; else whether it is due again.
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
