/// Counts the expired leases of a row, by which the row becomes suspect, as the database does.
struct LeaseSuspicion {
    private static let leasesOfSuspect = 3
    private static let deathsOfPoison = 3

    /// The number of leases that no worker ended.
    var leases = 0
    var isIsolated = false
    private(set) var deathsInIsolation = 0

    var isSuspect: Bool { leases >= Self.leasesOfSuspect }
    var isPoison: Bool { deathsInIsolation >= Self.deathsOfPoison }

    /// Takes back the last lease, which then does not count.
    mutating func released() {
        leases = max(0, leases - 1)
        isIsolated = false
    }

    /// The suspicion of a row whose record had killed workers before it was stored.
    static let ofCrashed = LeaseSuspicion(leases: leasesOfSuspect, deathsInIsolation: deathsOfPoison)

    init(leases: Int = 0, deathsInIsolation: Int = 0) {
        self.leases = leases
        self.deathsInIsolation = deathsInIsolation
    }

    /// Begins the isolation of the row, or its last try. Returns nil if the worker may lease the row. Otherwise returns
    /// true if the row becomes due again.
    mutating func beginIsolationOrLastTry() -> Bool? {
        if isIsolated { deathsInIsolation += 1 }
        isIsolated = !(isIsolated && isPoison)
        return isIsolated ? nil : deathsInIsolation == Self.deathsOfPoison
    }

    /// Begins the isolation of the row. Returns nil if the worker may lease the row. Otherwise returns the number of
    /// deaths, and the row is set aside.
    mutating func beginIsolation() -> Int? {
        deathsInIsolation += isIsolated ? 1 : 0
        isIsolated = !isPoison
        guard isPoison else { return nil }
        leases = 0
        return deathsInIsolation
    }
}
