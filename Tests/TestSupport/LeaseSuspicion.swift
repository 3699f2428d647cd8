/// Counts the expired leases of a row, as the database does. After `leasesOfSuspect` of them the row is a suspect.
struct LeaseSuspicion {
    private static let leasesOfSuspect = 3
    private static let deathsOfPoison = 3

    /// The number of leases that no worker ended.
    var leases = 0
    var isIsolated = false
    private(set) var deathsInIsolation = 0

    var isSuspect: Bool { leases >= Self.leasesOfSuspect }
    var isPoison: Bool { deathsInIsolation >= Self.deathsOfPoison }

    /// Takes back the last lease, which then does not count as a death.
    mutating func released() {
        leases = max(0, leases - 1)
        isIsolated = false
    }

    /// The suspicion of a row that a worker stored after the row's record had killed workers.
    static let ofCrashed = LeaseSuspicion(leases: leasesOfSuspect, deathsInIsolation: deathsOfPoison)

    init(leases: Int = 0, deathsInIsolation: Int = 0) {
        self.leases = leases
        self.deathsInIsolation = deathsInIsolation
    }

    /// Begins the row's isolation, or the row's last try. Returns nil if the worker may lease the row. Otherwise
    /// returns true if the row becomes due again, and false if the row waits for an operator.
    mutating func beginIsolationOrLastTry() -> Bool? {
        if isIsolated { deathsInIsolation += 1 }
        isIsolated = !(isIsolated && isPoison)
        return isIsolated ? nil : deathsInIsolation == Self.deathsOfPoison
    }

    /// Begins the isolation of the row. Returns nil if the worker may lease the row. Otherwise returns the number of
    /// deaths, and the row must wait for an operator.
    mutating func beginIsolation() -> Int? {
        deathsInIsolation += isIsolated ? 1 : 0
        isIsolated = !isPoison
        guard isPoison else { return nil }
        leases = 0
        return deathsInIsolation
    }
}
