/// Judges what is promised beside events and grants: when offsets are committed, and when Apple is asked.
extension Model {
    /// Delivery: an offset is committed only after the outcome of every record before it is durable.
    func commits() -> [Difference] {
        seen.commits.flatMap { look in
            facts.submissions.filter { submission in
                submission.place.offset < look.committed[submission.place.partition] ?? 0
                    && !look.durable.contains(submission.place)
            }.map { .init(.commits, "\($0.id) was committed, and neither decided nor parked") }
        }
    }

    /// Checks that all replicas honour `Retry-After` (the contract's reasons), and that consumption pauses while Apple
    /// as a whole is down (Delivery).
    func spared() -> [Difference] {
        seen.quiets.filter { $0.asked > $0.allowed }.map {
            .init(.appleSpared, "\($0.cause): \($0.asked) questions, at most \($0.allowed)")
        }
    }
}
