/// The waiting tasks of each question, as a value.
struct AnswerFollowers<Waiter> {
    typealias Key = SharedAnswers.Key

    /// The waiting ones by question that someone asks.
    private var waiting: [Key: [UInt64: Waiter]] = [:]
    private var lastTicket: UInt64 = 0

    /// Nil: nobody asks, and whoever called does from now on.
    ///
    /// No ticket is given twice. A follower may come to wait only after its leader has left and another one asks: with
    /// tickets that are counted for each question anew, the next follower would take its place, and it would wait for ever.
    mutating func enter(_ key: Key) -> UInt64? {
        guard waiting[key] != nil else {
            waiting[key] = [:]
            return nil
        }
        lastTicket += 1
        return lastTicket
    }

    /// False where the answer came meanwhile, and nobody asks any more.
    mutating func wait(_ waiter: Waiter, for key: Key, ticket: UInt64) -> Bool {
        guard waiting[key] != nil else { return false }
        waiting[key]?[ticket] = waiter
        return true
    }

    /// The follower gives up. Nil where it does not wait yet, or no longer.
    mutating func leave(_ key: Key, ticket: UInt64) -> Waiter? {
        waiting[key]?.removeValue(forKey: ticket)
    }

    /// The leader has its answer: these are to be told.
    mutating func end(_ key: Key) -> [Waiter] {
        waiting.removeValue(forKey: key).map { Array($0.values) } ?? []
    }

    func count(_ key: Key) -> Int { waiting[key]?.count ?? 0 }
}
