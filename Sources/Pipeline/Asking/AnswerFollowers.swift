/// A value that knows the waiting tasks of each question.
struct AnswerFollowers<Waiter> {
    typealias Key = SharedAnswers.Key

    /// The followers of each question that a leader asks.
    private var waiting: [Key: [UInt64: Waiter]] = [:]
    private var lastTicket: UInt64 = 0

    /// Returns a follower's ticket; nil if nobody asks, so that the caller is the leader from now on.
    ///
    /// No ticket is given twice. A follower may begin to wait only after its leader has left and another one asks. If
    /// each question counted its own tickets, the next follower would take that one's place, and it would wait for
    /// ever.
    mutating func enter(_ key: Key) -> UInt64? {
        guard waiting[key] != nil else {
            waiting[key] = [:]
            return nil
        }
        lastTicket += 1
        return lastTicket
    }

    /// Returns false if the answer came meanwhile and nobody asks any more.
    mutating func wait(_ waiter: Waiter, for key: Key, ticket: UInt64) -> Bool {
        guard waiting[key] != nil else { return false }
        waiting[key]?[ticket] = waiter
        return true
    }

    /// Ends a follower's wait early. Returns nil if it does not wait yet, or no longer.
    mutating func leave(_ key: Key, ticket: UInt64) -> Waiter? {
        waiting[key]?.removeValue(forKey: ticket)
    }

    /// Ends the leader's question. Returns the followers to hand the answer to.
    mutating func end(_ key: Key) -> [Waiter] {
        waiting.removeValue(forKey: key).map { Array($0.values) } ?? []
    }

    func count(_ key: Key) -> Int { waiting[key]?.count ?? 0 }
}
