/// Due work whose rows may kill their worker. It uses the same slots as new submissions.
protocol IsolatingWork: DueWork {
    var parking: ParkingContext { get }
    /// The most rows that are leased at a time.
    var batch: Int { get }

    /// Stores that a death of the process counts against the isolated row from now on, because the work on the row
    /// continues.
    func accuse(_ item: Item) async throws

    /// Stores that no death of the process counts against the isolated row, because the work on the row now waits.
    func clear(_ item: Item) async throws
}

extension IsolatingWork {
    /// The time limit; nil, because a submission's retry policy ends its try.
    var trySeconds: Double? { nil }
    var places: DuePlaces { .shared(parking.slots, batch: batch) }

    func putOff(_ item: Item) async throws { try await release(item) }

    func accuse(_ item: Item, isAtWork: Bool) async throws {
        if isAtWork { try await accuse(item) } else { try await clear(item) }
    }
}
