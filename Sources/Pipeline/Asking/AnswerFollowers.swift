/// The tasks that wait for the answer to each question.
struct AnswerFollowers<Waiter> {
    typealias Key = SharedAnswers.Key

    /// The waiting followers of each question that a leader is asking.
    private var waiting: [Key: [UInt64: Waiter]] = [:]
    private var lastTicket: UInt64 = 0

    /// Returns a ticket for a follower; nil if nobody asks the question, so that the caller becomes its leader.
    ///
    /// Tickets are unique across all questions. A follower may begin to wait after its leader has ended and a new
    /// leader asks. If each question counted its own tickets, another follower could get the same ticket and overwrite
    /// the first one, which would wait for ever.
    mutating func enter(_ key: Key) -> UInt64? {
        guard waiting[key] != nil else {
            waiting[key] = [:]
            return nil
        }
        lastTicket += 1
        return lastTicket
    }

    /// Lets a follower wait. Returns false if the leader has ended and nobody asks the question now.
    mutating func wait(_ waiter: Waiter, for key: Key, ticket: UInt64) -> Bool {
        guard waiting[key] != nil else { return false }
        waiting[key]?[ticket] = waiter
        return true
    }

    /// Ends a follower's wait early. Returns nil if the follower does not wait.
    mutating func leave(_ key: Key, ticket: UInt64) -> Waiter? {
        waiting[key]?.removeValue(forKey: ticket)
    }

    /// Ends the leader's question. Returns the followers that get the answer.
    mutating func end(_ key: Key) -> [Waiter] {
        waiting.removeValue(forKey: key).map { Array($0.values) } ?? []
    }

    func count(_ key: Key) -> Int { waiting[key]?.count ?? 0 }
}
