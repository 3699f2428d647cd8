/// The number of a writer's rows in `partition_progress`, by which no two writers wait for each other's rows.
///
/// A writer that left a session behind takes another number: its rows may be locked for as long as that session hangs.
struct WriterNumber {
    /// The count of numbers that a writer takes in turn.
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
