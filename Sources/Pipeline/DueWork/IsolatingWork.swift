/// Due work that shares the slots of new submissions, and whose rows may kill their worker.
protocol IsolatingWork: DueWork {
    var parking: ParkingContext { get }
    /// The most rows that are leased at a time.
    var batch: Int { get }

    /// Counts a death of the process against an isolated row again.
    func accuse(_ item: Item) async throws

    /// Counts no death against an isolated row that only waits.
    func clear(_ item: Item) async throws
}

extension IsolatingWork {
    /// Nil, because a submission's own patience ends its try.
    var trySeconds: Double? { nil }
    var places: DuePlaces { .shared(parking.slots, batch: batch) }

    func putOff(_ item: Item) async throws { try await release(item) }

    func accuse(_ item: Item, isAtWork: Bool) async throws {
        if isAtWork { try await accuse(item) } else { try await clear(item) }
    }
}
