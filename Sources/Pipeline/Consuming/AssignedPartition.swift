import Kafka

/// What the consumer's thread knows of one partition while it owns it.
struct AssignedPartition {
    let assignment: UInt64
    var tracker = OffsetTracker()
    var inFlight: [Int64: InFlightRecord] = [:]
    /// Nil until the outbox of the partition is swept; records that come before wait in `early`.
    var preparation: Preparation?
    var early: [ConsumerRecord] = []
    /// The offset that Kafka is known to have.
    var committed: Int64?
    /// The offset of the commit on its way.
    var committing: Int64?

    struct Preparation {
        /// The highest offset ever decided here, by anyone.
        let highestDecided: Int64?
    }

    init(assignment: UInt64, committed: Int64?) {
        self.assignment = assignment
        self.committed = committed
    }

    /// What is to be committed, nil where Kafka has it already.
    var commitDue: Int64? {
        guard let offset = tracker.committable, offset != committed else { return nil }
        return offset
    }
}
