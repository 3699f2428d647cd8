/// Due work whose rows may kill their worker. It shares the slots of new submissions.
protocol IsolatingWork: DueWork {
    var parking: ParkingContext { get }
    /// The most rows that are leased at a time.
    var batch: Int { get }

    /// Accuses an isolated row that goes on with its work: a death of the process counts against the row again.
    func accuse(_ item: Item) async throws

    /// Clears an isolated row that only waits: no death of the process counts against the row.
    func clear(_ item: Item) async throws
}

extension IsolatingWork {
    /// The time limit; nil, because a submission's own retry policy ends its try.
    var trySeconds: Double? { nil }
    var places: DuePlaces { .shared(parking.slots, batch: batch) }

    func putOff(_ item: Item) async throws { try await release(item) }

    func accuse(_ item: Item, isAtWork: Bool) async throws {
        if isAtWork { try await accuse(item) } else { try await clear(item) }
    }
}
