/// The suspicion against a row by expired leases, as the database counts them.
struct LeaseSuspicion {
    private static let leasesOfSuspect = 3
    private static let deathsOfPoison = 3

    /// The number of leases that no worker ended.
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

    /// The suspicion of a row whose record killed workers before the worker stored the row.
    static let ofCrashed = LeaseSuspicion(leases: leasesOfSuspect, deathsInIsolation: deathsOfPoison)

    init(leases: Int = 0, deathsInIsolation: Int = 0) {
        self.leases = leases
        self.deathsInIsolation = deathsInIsolation
    }

    /// Begins the isolation, or the last try after the deaths. Returns nil if the worker may lease the row, else
    /// whether the row becomes due again.
    mutating func beginIsolationOrLastTry() -> Bool? {
        if isIsolated { deathsInIsolation += 1 }
        isIsolated = !(isIsolated && isPoison)
        return isIsolated ? nil : deathsInIsolation == Self.deathsOfPoison
    }

    /// Begins the isolation. Returns nil if the worker may lease the row, else the number of deaths, which are enough
    /// to set the row aside.
    mutating func beginIsolation() -> Int? {
        deathsInIsolation += isIsolated ? 1 : 0
        isIsolated = !isPoison
        guard isPoison else { return nil }
        leases = 0
        return deathsInIsolation
    }
}
