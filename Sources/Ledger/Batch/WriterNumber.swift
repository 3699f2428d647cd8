/// The writer's number in `partition_progress`. Each writer has rows of its own, so two writers never wait for each
/// other's rows.
///
/// A writer that left a hanging session behind takes another number, because that session may lock the old number's
/// rows.
struct WriterNumber {
    /// The count of different numbers that a writer uses in turn.
    private static let turns: Int32 = 8

    private let number: Int32
    private let writers: Int32
    private var turn: Int32 = 0

    init(_ number: Int, of writers: Int) {
        self.number = Int32(number)
        self.writers = Int32(writers)
    }

    var current: Int32 { number + turn * writers }

    mutating func change() { turn = (turn + 1) % Self.turns }
}
