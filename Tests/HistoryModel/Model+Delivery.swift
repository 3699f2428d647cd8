/// Judges promises that are not about events or grants: when workers commit offsets, and when they send requests to
/// Apple.
extension Model {
    /// Checks that workers commit an offset only after the outcome of every earlier record is durable ("Delivery").
    func commits() -> [Difference] {
        seen.commits.flatMap { look in
            facts.submissions.filter { submission in
                submission.place.offset < look.committed[submission.place.partition] ?? 0
                    && !look.durable.contains(submission.place)
            }.map { .init(.commits, "\($0.id) was committed, and neither decided nor parked") }
        }
    }

    /// Checks that all replicas keep to `Retry-After` (docs/contract/reasons.md). Also checks that workers pause
    /// consumption while Apple fails as a whole ("Delivery").
    func spared() -> [Difference] {
        seen.quiets.filter { $0.asked > $0.allowed }.map {
            .init(.appleSpared, "\($0.cause): \($0.asked) questions, at most \($0.allowed)")
        }
    }
}
