import Fulfillment
import TestSupport

extension ObservedLedger {
    /// What a partition's last owner left unpublished, and what its highest decided offset was.
    func owe(_ partition: Int32, _ events: [OutcomeEvent], highest: Int64) {
        database.owe(events, topic: Sample.submissions, partition: partition, highestOffset: highest)
    }

    /// What a replica that died a minute ago left unpublished, in a partition that nobody has.
    func orphan(_ events: [OutcomeEvent]) {
        database.owe(events, topic: "a topic of before", partition: 0, highestOffset: 0, ageSeconds: 60)
    }

    /// What an operator's command left just now.
    func handOver(_ events: [OutcomeEvent]) {
        database.owe(events, topic: "a topic of before", partition: 0, highestOffset: 0)
        database.handOver(events.map(\.eventID))
    }
}
