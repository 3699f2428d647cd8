/// What leases without an end say of a row, as the database counts them.
struct LeaseSuspicion {
    private static let leasesOfSuspect = 3
    private static let deathsOfPoison = 3

    /// Without an end.
    var leases = 0
    var isIsolated = false
    private var deathsInIsolation = 0

    var isSuspect: Bool { leases >= Self.leasesOfSuspect }
    var isPoison: Bool { deathsInIsolation >= Self.deathsOfPoison }

    /// As if it had never been leased.
    mutating func released() {
        leases = max(0, leases - 1)
        isIsolated = false
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
