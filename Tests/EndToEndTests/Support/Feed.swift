import Kafka
import TestSupport

/// Submits a plan piece by piece, and keeps the partition and offset of each record.
struct Feed: Sendable {
    let bed: Testbed
    let plan: Plan
    private(set) var places: [Delivery] = []

    init(bed: Testbed, plan: Plan) {
        self.bed = bed
        self.plan = plan
    }

    /// Submits the next `count` records, or all that are left if they are fewer.
    mutating func send(_ count: Int) async throws {
        places += try await bed.submit(plan.records[places.count...].prefix(count))
    }

    /// Submits `count` records, and returns once the outcomes topic has a new event.
    mutating func sendAndAwaitProgress(_ count: Int = 60) async throws {
        let before = bed.outcomes.content.events.count
        try await send(count)
        try await bed.outcomes.until("more is answered") { $0.events.count > before }
    }
}
