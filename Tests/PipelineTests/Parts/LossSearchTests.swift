import Fulfillment
import Kafka
import Testing

@testable import Pipeline

@Suite("Search for partitions whose decisions the database lost")
struct LossSearchTests {
    @Test("a partition's decisions count as lost if its checkpoint is behind Kafka's offset, but not if it has none")
    func lost() {
        func checkpoint(_ offset: Int64) -> OffsetCheckpoint {
            OffsetCheckpoint(nextOffset: offset, writer: 1, version: 1)
        }
        let stored = StoredCheckpoints(
            history: DatabaseHistory("1/2/3"), checkpoints: [0: checkpoint(10), 1: checkpoint(9), 2: checkpoint(12)],
            departures: [:])
        #expect(LossSearch.lost([0: 10, 1: 10, 2: 10, 3: 10], stored) == [1: 10])
    }

    @Test("if a topic's broker does not answer, the search for lost decisions reports this, and reads the other topic")
    func unread() async throws {
        let cluster = try MockCluster(topics: ["there": 1])
        defer { cluster.close() }
        func topic(_ name: String, _ broker: String) -> LossSearch.Topic {
            .init(name: name, properties: KafkaProperties([("bootstrap.servers", broker), ("group.id", "group")]))
        }
        let search = LossSearch(
            topics: [topic("away", "127.0.0.1:1"), topic("there", cluster.bootstrapServers)], log: { _ in })
        let (found, unread) = try await blocking {
            var unread: [String] = []
            let found = search.committed { topic, _ in unread.append(topic.name) }
            return (found, unread)
        }
        #expect(unread == ["away"])
        #expect(found == ["there": [:]])
    }
}
