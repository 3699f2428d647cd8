/// The tasks (followers) that wait for Apple's answer to a request. Another task (the leader) has sent this request.
struct AnswerFollowers<Waiter> {
    typealias Key = SharedAnswers.Key

    /// The waiting followers, by the request of their leader.
    private var waiting: [Key: [UInt64: Waiter]] = [:]
    private var lastTicket: UInt64 = 0

    /// Returns a ticket for a new follower. Returns nil if no leader has sent this request, so that the caller becomes
    /// the leader.
    ///
    /// Tickets are unique across all requests. A follower may start to wait after its leader ended and a new leader
    /// began. If tickets were unique only for one leader, two followers could have one ticket. The second follower
    /// would overwrite the first, which would wait for ever.
    mutating func enter(_ key: Key) -> UInt64? {
        guard waiting[key] != nil else {
            waiting[key] = [:]
            return nil
        }
        lastTicket += 1
        return lastTicket
    }

    /// Adds a waiting follower. Returns false if the leader has ended and there is no new leader.
    mutating func wait(_ waiter: Waiter, for key: Key, ticket: UInt64) -> Bool {
        guard waiting[key] != nil else { return false }
        waiting[key]?[ticket] = waiter
        return true
    }

    /// Removes a waiting follower before the answer comes, and returns it. Returns nil if the follower does not wait.
    mutating func leave(_ key: Key, ticket: UInt64) -> Waiter? {
        waiting[key]?.removeValue(forKey: ticket)
    }

    /// Removes the leader. Returns the followers, which get the answer.
    mutating func end(_ key: Key) -> [Waiter] {
        waiting.removeValue(forKey: key).map { Array($0.values) } ?? []
    }

    func count(_ key: Key) -> Int { waiting[key]?.count ?? 0 }
}
