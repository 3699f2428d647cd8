import Fulfillment
import TestSupport

extension ObservedLedger {
    /// Leaves events of a partition's last owner unpublished. `highest` is the owner's highest decided offset.
    func owe(_ partition: Int32, _ events: [OutcomeEvent], highest: Int64) {
        database.owe(events, topic: Sample.submissions, partition: partition, highestOffset: highest)
    }

    /// Leaves events of a replica that died a minute ago unpublished, in a partition that no worker has.
    func orphan(_ events: [OutcomeEvent]) {
        database.owe(events, topic: "a topic of before", partition: 0, highestOffset: 0, ageSeconds: 60)
    }

    /// Leaves events of an operator's command unpublished.
    func handOver(_ events: [OutcomeEvent]) {
        database.owe(events, topic: "a topic of before", partition: 0, highestOffset: 0)
        database.handOver(events.map(\.eventID))
    }
}
