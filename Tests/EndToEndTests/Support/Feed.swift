import Kafka
import TestSupport

/// Sends a plan piece by piece, and knows where each record is.
struct Feed: Sendable {
    let bed: Testbed
    let plan: Plan
    private(set) var places: [Delivery] = []

    init(bed: Testbed, plan: Plan) {
        self.bed = bed
        self.plan = plan
    }

    /// The next `count` records, or as many as there are left.
    mutating func send(_ count: Int) async throws {
        places += try await bed.submit(plan.records[places.count...].prefix(count))
    }

    /// Returns when more was answered than before.
    mutating func sendAndAwaitProgress(_ count: Int = 60) async throws {
        let before = bed.outcomes.content.events.count
        try await send(count)
        try await bed.outcomes.until("more is answered") { $0.events.count > before }
    }
}
